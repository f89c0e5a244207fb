"""Readers of JSON values, of files of JSON lines that grow, of lists, and of databases that others write."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import sqlite3
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from nacre.model.session import Kind, Message, Session
from nacre.sources.transcript import Mark, Reading, Transcript


def parse_time(value: object) -> dt.datetime | None:
    """A time as transcripts write it: ISO 8601, or milliseconds or seconds since 1970; None for anything else."""
    if isinstance(value, bool):
        return None
    try:
        if isinstance(value, str):
            at = dt.datetime.fromisoformat(value.strip())
            at = (at if at.tzinfo else at.replace(tzinfo=dt.UTC)).astimezone(dt.UTC)
        elif isinstance(value, int | float):
            at = dt.datetime.fromtimestamp(value / 1000 if abs(value) > 1e11 else value, dt.UTC)
        else:
            return None
    except (ValueError, OverflowError, OSError):
        return None
    return at if dt.MINYEAR < at.year < dt.MAXYEAR else None  # those at the ends do not exist in every time zone


def as_text(value: object) -> str:
    """A value that should be a word: an id, a role; empty for anything else, which may nest too deep to be written out."""
    return value if isinstance(value, str) else ""


def as_dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def text_blocks(content: object) -> list[str]:
    """The texts of a message: its content, or the blocks of it that are text."""
    if isinstance(content, str):
        return [content]
    blocks = map(as_dict, as_list(content))
    return [block["text"] for block in blocks if block.get("type") == "text" and isinstance(block.get("text"), str)]


def list_files(agent: str, paths: Iterable[Path]) -> Iterator[Transcript]:
    for path in paths:
        try:
            about = path.stat()
        except OSError:
            continue
        if stat.S_ISREG(about.st_mode):  # a pipe would be waited for
            yield Transcript(agent, path, str(path), (about.st_size, about.st_mtime_ns), about.st_mtime)


def parse_json(raw: str | bytes) -> dict[str, Any] | None:
    """The JSON object in a text; None when it is something else, or nothing at all."""
    data = raw.encode("utf-8", errors="replace") if isinstance(raw, str) else raw
    try:
        value = json.loads(data.decode("utf-8", errors="replace"))
        if b"\\ud" in data or b"\\uD" in data:  # half of a character, cut off by a tool, could never be written again
            value = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", errors="replace"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


# Following a JSONL file that grows: from where it was left, one line in memory at a time, never past a torn last line.

_EDGE = 512  # bytes at the beginning and before the mark that the fingerprint covers


@dataclass
class Notes:
    """What is gathered on the way: facts about the session (plain JSON, kept in the mark) and its messages."""

    facts: dict[str, Any] = field(default_factory=dict)
    messages: list[Message] = field(default_factory=list)
    taken_back: bool = False  # an entry takes back what an earlier reading gave out: all is to be read again

    def session(self, name: str, agent: str, kind: Kind, *, started: object = None, **group: str) -> Session:
        """The session of these messages; when and where it began is among the facts."""
        at, cwd = parse_time(started or self.facts.get("started")), str(self.facts.get("cwd", ""))
        return Session(name, agent, kind, at, tuple(self.messages), cwd=cwd, **group)


Take = Callable[[dict[str, Any], dt.datetime | None, int, Notes], bool]
"""Takes one entry in, given its time and where it begins; False when its form is not known."""

When = Callable[[dict[str, Any], Notes], dt.datetime | None]
"""The time of an entry, where it takes more than one field to tell it."""


def time_field(*fields: str) -> When:
    """The time in the first field that holds one, else that of the entry before: messages are not lost for want of it."""

    def when(entry: dict[str, Any], notes: Notes) -> dt.datetime | None:
        for name in fields:
            if at := parse_time(entry.get(name)):
                notes.facts["at"] = at.isoformat()
                return at
        return parse_time(notes.facts.get("at"))

    return when


def follow(
    path: Path,
    mark: Mark | None,
    until: dt.datetime | None,
    take: Take,
    *,
    skip: Callable[[bytes], object] = lambda _: False,
    time: When = lambda entry, _: parse_time(entry.get("timestamp")),
) -> tuple[Reading, Notes]:
    """Read the entries after the mark and not after the moment. The facts noted are those of the mark, also when added to later.

    `skip` looks at the first bytes of a line and says that it need not be parsed (tool output of megabytes).
    """
    with path.open("rb") as file:
        before = mark or Mark()
        rewritten = before.offset > 0 and _fingerprint(file, before.offset) != before.fingerprint
        begin = Mark() if rewritten else before
        notes = Notes(dict(begin.facts))
        unknown, offset, whole = 0, begin.offset, True
        file.seek(offset)
        for raw in file:
            if not raw.endswith(b"\n") or (notes.taken_back and begin.offset):
                break
            if raw.strip() and not skip(raw[:2048]):
                entry = parse_json(raw)
                at = time(entry, notes) if entry else None
                if until and at and at > until:
                    whole = False
                    break
                # What says its kind must be a word: no reader need ask before it looks a kind up.
                has_kind = entry and all(isinstance(entry.get(name), str | None) for name in ("type", "role"))
                unknown += entry is None or (bool(entry) and not (has_kind and take(entry, at, offset, notes)))
            offset += len(raw)
        file.seek(0, 2)
        whole = whole and offset >= file.tell()
        reached = Mark(offset, _fingerprint(file, offset), notes.facts)
    if notes.taken_back and begin.offset:
        again, notes = follow(path, None, until, take, skip=skip, time=time)
        return replace(again, rewritten=True), notes
    return Reading(None, reached, whole, unknown, rewritten), notes


def _fingerprint(file: IO[bytes], offset: int) -> str:
    """A short digest of a file's first bytes and of the last ones before an offset; empty when it is shorter than that."""
    if offset == 0 or file.seek(0, 2) < offset:
        return ""
    file.seek(0)
    head = file.read(min(_EDGE, offset))
    file.seek(max(0, offset - _EDGE))
    return hashlib.blake2b(head + b"\0" + file.read(min(_EDGE, offset)), digest_size=8).hexdigest()


# Transcripts that are lists, not files that grow: how many of their entries were read, and whether those still stand.


def digest_of(ids: Sequence[str]) -> str:
    """A short digest of the entries that were read, by their ids; empty for none."""
    if not ids:
        return ""
    return hashlib.blake2b("\0".join(ids).encode("utf-8", errors="replace"), digest_size=8).hexdigest()


def resume_at(ids: Sequence[str], mark: Mark | None) -> tuple[int, bool]:
    """How many of the entries an earlier reading gave out, and whether they were rewritten since (then: none)."""
    if mark is None or mark.offset == 0:
        return 0, False
    if mark.offset <= len(ids) and digest_of(ids[: mark.offset]) == mark.fingerprint:
        return mark.offset, False
    return 0, True


# Databases of programs that run meanwhile: looked into, never written, never waited for.

_PATIENCE = 0.25  # seconds; who holds the database longer than that is asked again the next time


@contextmanager
def open_readonly(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that can only read. Not `immutable`: that would miss what the program has not yet moved into the file."""
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=_PATIENCE)
    connection.text_factory = lambda raw: raw.decode("utf-8", errors="replace")
    try:
        yield connection
    finally:
        connection.close()


def last_written(path: Path) -> float:
    """When a database was last written to, in seconds since 1970, its log included; 0 when there is none."""
    places = (path, path.with_name(f"{path.name}-wal"))
    return max((place.stat().st_mtime for place in places if place.exists()), default=0.0)
