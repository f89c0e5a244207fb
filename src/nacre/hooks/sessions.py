"""What a session was given already, by digests of its lines: nothing is said to it twice, and no word of it is kept here."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from nacre.recall.pack import Line, has_content, without_empty_sections
from nacre.vault import scratch
from nacre.vault.given import digest, session_file
from nacre.vault.workspace import Workspace

MOST_LINES = 2000  # digests of a session; the oldest are forgotten first
MOST_SESSIONS = 200
OLDEST = 14 * 86_400.0  # seconds, after which a session that comes back is told everything anew


class Told(NamedTuple):
    """When the session was last given its context, and the lines that it knows."""

    at: float = 0.0
    lines: tuple[str, ...] = ()

    def with_lines(self, text: str, at: float | None = None) -> Told:
        """This and the lines of a text."""
        known = dict.fromkeys((*self.lines, *digests(text.splitlines())))
        return Told(self.at if at is None else at, tuple(known)[-MOST_LINES:])


def load(workspace: Workspace, session: str) -> Told:
    """What a session was told; nothing where that is not known."""
    if not session:
        return Told()
    told = scratch.read_json(os.path.join(*session_file(workspace, session)))
    at, lines = told.get("at"), told.get("lines")
    if not isinstance(at, int | float) or not isinstance(lines, list):
        return Told()
    return Told(float(at), tuple(one for one in lines if isinstance(one, str))[-MOST_LINES:])


def save(workspace: Workspace, session: str, told: Told, now: float) -> None:
    """Keep it, in one small file of the session; those of long ago go. Where nothing can be written it is told again: giving counts."""
    with contextlib.suppress(OSError):
        _put(workspace, session, told, now)


def _put(workspace: Workspace, session: str, told: Told, now: float) -> None:
    if not session:
        return
    folder, name = session_file(workspace, session)
    new = not os.path.exists(os.path.join(folder, name))
    scratch.put_json(folder, name, {"at": told.at, "lines": told.lines})
    if new:  # also where no session is ever begun with us
        scratch.thin(folder, MOST_SESSIONS)
    if told.at == now:  # once a session, not with every prompt
        scratch.sweep(folder, older_than=OLDEST, most=MOST_SESSIONS, now=now)


def unsaid(lines: Sequence[Line], told: Told) -> list[Line]:
    """The lines without those that the session knows; none where nothing but headings would be left."""
    known = set(told.lines)
    kept = [line for line in lines if digest(line.text) not in known]
    if len(kept) < len(lines):
        kept = list(without_empty_sections(kept))
    return kept if has_content(kept) else []


def digests(lines: Iterable[str]) -> list[str]:
    return [known for line in lines if (known := digest(line))]
