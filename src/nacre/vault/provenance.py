"""Provenance of every entry of a log: the messages it was captured from, whether it was offered to long-term memory, and its weekly digest.

Kept in `memory/trail.jsonl`, one object a line, append-only: days, ids and hashes, never a word that was said. Losing it loses
no memory: entries are then known by their words alone, and `nacre why` ends at the session."""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from nacre.model import Workspace, slug_of
from nacre.vault.history import Operation
from nacre.vault.storage import LineIndex, dump_row, read, read_rows, storage_of
from nacre.vault.writing import REDACT, append

_LETTERS = str.maketrans("0123456789", "ghijklmnop")


class Captured(NamedTuple):
    """A section of a day's log: its session, and for each bullet the entries of the transcript that it rests on."""

    day: str
    session: str  # as its heading names it
    agent: str
    bullets: Mapping[str, tuple[str, ...]]  # by `bullet_id`
    transcript: str = ""  # the whole id of the session
    place: str = ""  # the folder it was held in, where its section is stamped with a project
    agents: tuple[str, ...] = ()  # the bullets that are the agent's word alone


class Digested(NamedTuple):
    """Bullets of a day that stand in a week's digest, and how long the day's log was when they entered."""

    day: str
    week: str  # the file, relative to the workspace
    bullets: tuple[str, ...]
    size: int
    # Lines of the digest in other words: what each is made of.
    worded: Mapping[str, tuple[str, ...]] = MappingProxyType({})


class Offered(NamedTuple):
    """Bullets of a day that were put to the tests of long-term memory; the ledger tells what became of them."""

    day: str
    bullets: tuple[str, ...]


class Provenance(NamedTuple):
    captured: tuple[Captured, ...] = ()
    pressed: tuple[Digested, ...] = ()
    offered: tuple[Offered, ...] = ()


def write_provenance(op: Operation, lines: Iterable[Captured | Digested | Offered]) -> None:
    """Append to the trail; part of the operation, so that undoing it takes the lines back as well."""
    if text := "".join(map(provenance_line, lines)):
        append(op, op.workspace.trail, text, on_secret=REDACT)


def write_provenance_once(op: Operation, line: Captured) -> None:
    if provenance_line(line).encode() not in (read(op.workspace, op.workspace.trail) or b""):
        write_provenance(op, [line])


def message_mark(session: str, message: str) -> str:
    """The mark of a message in a checkpoint: a hash of its id and its session's, in letters that are not taken for a secret."""
    return hashlib.sha256(f"{session}\n{message}".encode("utf-8", "replace")).hexdigest()[:8].translate(_LETTERS)


def messages_behind(captured: Iterable[Captured], bullets: Container[str]) -> frozenset[str]:
    """The marks of the messages that bullets were captured from."""
    return frozenset(
        message_mark(section.transcript, message)
        for section in captured
        for bullet, messages in section.bullets.items()
        if bullet in bullets
        for message in messages
    )


def undone_mark(entry: str) -> str:
    """The mark of an entry that an undo took out of long-term memory: it is not added again unasked."""
    return f"undone:{entry}"


def provenance_line(line: Captured | Digested | Offered) -> str:
    if isinstance(line, Offered):
        return dump_row({"day": line.day, "offered": line.bullets})
    if isinstance(line, Digested):
        worded = {"worded": dict(line.worded)} if line.worded else {}
        return dump_row({"day": line.day, "week": line.week, "pressed": line.bullets, "size": line.size, **worded})
    value: dict[str, Any] = {"day": line.day, "session": line.session, "agent": line.agent}
    value |= {name: held for name in ("transcript", "place", "agents") if (held := getattr(line, name))}
    return dump_row(value | {"captured": dict(line.bullets)})


def read_provenance(workspace: Workspace) -> Provenance:
    """The trail as far as it can be read; a torn or foreign line is passed over."""
    return _provenance(row.value for row in read_rows(storage_of(workspace), workspace.relative(workspace.trail)).rows)


def _provenance(rows: Iterable[Mapping[str, Any]]) -> Provenance:
    lines = [line for row in rows if (line := _line(row))]
    return Provenance(
        tuple(line for line in lines if isinstance(line, Captured)),
        tuple(line for line in lines if isinstance(line, Digested)),
        tuple(line for line in lines if isinstance(line, Offered)),
    )


# The same without reading all of it: the lines of a day, or of a bullet.

_DAY, _SIZE, _ENTERED, _DECIDED, _PLACE, _WORDED = "day ", "size ", "entered ", "decided ", "place ", "worded "


class Trail:
    """The provenance, looked up day by day."""

    def __init__(self, workspace: Workspace) -> None:
        self._lines = LineIndex(workspace, workspace.trail, _keys)
        self._days: dict[str, Provenance] = {}

    def of(self, day: str) -> Provenance:
        if day not in self._days:
            self._days[day] = _provenance(self._lines.rows([f"{_DAY}{day}"]))
        return self._days[day]

    def entered(self, day: str) -> set[str]:
        """The bullets of a day that are in a week's digest."""
        return {bullet for line in self.of(day).pressed for bullet in line.bullets}

    def sizes(self) -> dict[str, int]:
        """By day: how long its log was when it was last pressed."""
        return {day: int(size) for day, _, size in (key.rpartition(" ") for key in self._lines.keys(_SIZE))}

    def captured(self, marks: Iterable[str]) -> tuple[Captured, ...]:
        """The sections that one of the bullets stands in."""
        return _provenance(self._lines.rows(marks)).captured

    def digested(self, marks: Iterable[str]) -> tuple[Digested, ...]:
        """The days whose digest words one of the bullets otherwise, or is one of these lines."""
        return _provenance(self._lines.rows([f"{_WORDED}{mark}" for mark in marks])).pressed

    def place(self, slug: str) -> str | None:
        """The folder of a project, by the last section that tells it."""
        sections = self.captured([f"{_PLACE}{slug}"])
        return sections[-1].place if sections else None

    def was_asked(self, key: str) -> bool:
        """Whether a question was put to the user, or an entry is marked as undone."""
        return ":" in key and key in self._lines

    def is_offered(self, day: str, mark: str) -> bool:
        return f"{_DECIDED}{day} {mark}" in self._lines

    def unoffered(self) -> list[tuple[str, str]]:
        """The bullets that are in a week's digest and were never offered, by their day and mark."""
        keys = self._lines.without(_ENTERED, _DECIDED)
        return [(day, mark) for day, _, mark in (key.partition(" ") for key in keys)]


def _keys(value: dict[str, Any]) -> list[str] | None:
    line = _line(value)
    if line is None:
        return None
    keys = [f"{_DAY}{line.day}"]
    if isinstance(line, Captured):
        place = line.place.replace("\\", "/").rstrip("/").rpartition("/")[2]
        return [*keys, *line.bullets, *([f"{_PLACE}{slug_of(place)}"] if line.place else [])]
    if isinstance(line, Offered):
        return keys + [mark if ":" in mark else f"{_DECIDED}{line.day} {mark}" for mark in line.bullets]
    made_of = {bullet for bullets in line.worded.values() for bullet in bullets}
    keys += [f"{_SIZE}{line.day} {line.size}", *(f"{_WORDED}{mark}" for mark in (*line.worded, *sorted(made_of)))]
    return keys + [f"{_ENTERED}{line.day} {mark}" for mark in line.bullets]


def _line(value: Mapping[str, Any]) -> Captured | Digested | Offered | None:
    if not isinstance(day := value.get("day"), str):
        return None
    if isinstance(bullets := value.get("captured"), dict):
        sources = {mark: tuple(map(str, ids)) for mark, ids in bullets.items() if isinstance(ids, list)}
        named = {name: str(value.get(name, "")) for name in ("session", "agent", "transcript", "place")}
        agents = value.get("agents")
        return Captured(
            day, bullets=sources, agents=tuple(map(str, agents)) if isinstance(agents, list) else (), **named
        )
    if isinstance(marks := value.get("pressed"), list):
        size = value.get("size")
        size = size if isinstance(size, int) else -1
        worded = value.get("worded")
        made_of = {mark: tuple(map(str, of)) for mark, of in worded.items()} if isinstance(worded, dict) else {}
        return Digested(day, str(value.get("week", "")), tuple(map(str, marks)), size, made_of)
    marks = value.get("offered")
    return Offered(day, tuple(map(str, marks))) if isinstance(marks, list) else None
