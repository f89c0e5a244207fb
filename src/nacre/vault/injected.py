"""Which lines of memory the hooks gave a session, by digests, so that no line is given twice or captured as new."""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
from collections.abc import Callable, Iterable
from typing import NamedTuple

from nacre.model.workspace import Workspace
from nacre.vault import spool
from nacre.vault.entries import line_digest


def _session_file(workspace: Workspace, session: str) -> tuple[str, str]:
    """The folder and the name of the file in which a session's hooks note, by digests, which lines they gave it."""
    name = hashlib.blake2b(session.encode("utf-8", "replace"), digest_size=12).hexdigest()
    return str(workspace.machine / "hooks"), f"{name}.json"


MOST_LINES = 2000  # digests of a session; the oldest are forgotten first
MOST_SESSIONS = 200
OLDEST = 14 * 86_400.0  # seconds, after which a session that comes back is told everything anew


class Delivered(NamedTuple):
    """When a session was last given its context, and digests of the lines that it knows."""

    at: float = 0.0
    lines: tuple[str, ...] = ()

    def knows(self, lines: Iterable[str]) -> list[bool]:
        digests = set(self.lines)
        return [line_digest(line) in digests for line in lines]

    def with_lines(self, text: str, at: float | None = None) -> Delivered:
        """This and the lines of a text."""
        digests = filter(None, map(line_digest, text.splitlines()))
        return Delivered(self.at if at is None else at, tuple(dict.fromkeys((*self.lines, *digests)))[-MOST_LINES:])


def load_delivered(workspace: Workspace, session: str) -> Delivered:
    """What a session was given; nothing where that is not known."""
    row = spool.read_json(os.path.join(*_session_file(workspace, session))) if session else {}
    at, lines = row.get("at"), row.get("lines")
    if not isinstance(at, int | float) or not isinstance(lines, list):
        return Delivered()
    return Delivered(float(at), tuple(line for line in lines if isinstance(line, str))[-MOST_LINES:])


def save_delivered(workspace: Workspace, session: str, delivered: Delivered, now: float) -> None:
    """Keep it; files of long ago go. Where nothing can be written it is told again: giving counts."""
    if not session:
        return
    folder, name = _session_file(workspace, session)
    with contextlib.suppress(OSError):
        new = not os.path.exists(os.path.join(folder, name))
        spool.put_json(folder, name, {"at": delivered.at, "lines": delivered.lines})
        if new or delivered.at == now:  # once a session, not with every prompt
            spool.sweep(folder, older_than=OLDEST, most=MOST_SESSIONS, now=now)


def lines_given_to(workspace: Workspace, session: str, texts: Callable[[], Iterable[str]]) -> list[str]:
    """Those lines of some texts that a session was given by its hooks."""
    known = set(load_delivered(workspace, session).lines)
    return [line for text in texts() for line in text.splitlines() if line_digest(line) in known] if known else []


def forget_delivered(workspace: Workspace) -> None:
    """Take out what sessions know, by whose digests a line could still be recognised, and the words that earlier versions kept."""
    spool.sweep(str(workspace.machine / "hooks"), older_than=0, most=0, now=math.inf)
    with contextlib.suppress(OSError):
        workspace.given.unlink()
