"""What a session was given already, by digests of its lines: nothing is said to it twice, and no word of it is kept here."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from nacre.recall.pack import Line, has_content, without_empty_sections
from nacre.vault import scratch
from nacre.vault.workspace import Workspace

MOST_LINES = 2000  # digests of a session; the oldest are forgotten first
MOST_SESSIONS = 200
OLDEST = 14 * 86_400.0  # seconds, after which a session that comes back is told everything anew
# What an entry carries beside its words: its bullet, kind or time, its source.
_MARKS = re.compile(r"\A\s*(?:[-*+]\s+)?(?:\[[^\]]{1,20}\]\s*)?|\s*\(src: [^)]*\)\s*\Z")
_NO_WORD = re.compile(r"[\W_]+")
_SHORT = 4  # characters below which a line says too little to be a repetition


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
    told = scratch.read_json(os.path.join(_folder(workspace), _name(session)))
    at, lines = told.get("at"), told.get("lines")
    if not isinstance(at, int | float) or not isinstance(lines, list):
        return Told()
    return Told(float(at), tuple(one for one in lines if isinstance(one, str))[-MOST_LINES:])


def save(workspace: Workspace, session: str, told: Told, now: float) -> None:
    """Keep it, in one small file of the session; those of long ago go."""
    if not session:
        return
    folder = _folder(workspace)
    scratch.put_json(folder, _name(session), {"at": told.at, "lines": told.lines})
    if told.at == now:  # once a session, not with every prompt
        scratch.sweep(folder, older_than=OLDEST, most=MOST_SESSIONS, now=now)


def unsaid(lines: Sequence[Line], told: Told) -> list[Line]:
    """The lines without those that the session knows; none where nothing but headings would be left."""
    known = set(told.lines)
    kept = [line for line in lines if _digest(line.text) not in known]
    if len(kept) < len(lines):
        kept = list(without_empty_sections(kept))
    return kept if has_content(kept) else []


def digests(lines: Iterable[str]) -> list[str]:
    return [found for line in lines if (found := _digest(line))]


def _digest(line: str) -> str:
    """A line by its words; empty for one that says nothing, such as a heading."""
    if line.lstrip().startswith(("#", ">", "<")):
        return ""
    words = _NO_WORD.sub(" ", _MARKS.sub("", line)).strip().casefold()
    if len(words) < _SHORT:
        return ""
    return hashlib.blake2b(words.encode("utf-8", "replace"), digest_size=6).hexdigest()


def _folder(workspace: Workspace) -> str:
    return str(workspace.machine / "hooks")


def _name(session: str) -> str:
    return hashlib.blake2b(session.encode("utf-8", "replace"), digest_size=12).hexdigest() + ".json"
