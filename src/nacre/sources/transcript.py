"""Transcripts: where they lie, how far one was read, and what every source reads with: growing files, lists, databases."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import os
import sqlite3
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from nacre.model import ORDER_MARK, Kind, Message, Session, Speaker

# What an entry of another form makes a reader raise: it is counted and passed over.
MALFORMED = (AttributeError, LookupError, TypeError, ValueError, ArithmeticError, RecursionError)

# The variable that moves an agent's folder (Cursor and Gemini have none), and the usual one.
ROOTS = {
    "openclaw": ("OPENCLAW_STATE_DIR", ".openclaw"),
    "claude-code": ("CLAUDE_CONFIG_DIR", ".claude"),
    "codex": ("CODEX_HOME", ".codex"),
    "cursor": ("", ".cursor"),
    "gemini": ("", ".gemini"),
}


@dataclass(frozen=True)
class Places:
    """Where transcripts lie: the home folder, the environment, and the paths from the settings by agent."""

    home: Path
    env: Mapping[str, str] = field(default_factory=dict)
    paths: Mapping[str, str] = field(default_factory=dict)

    def root(self, agent: str) -> Path:
        """An agent's folder: the one in the settings, else in its own variable, else the usual one."""
        variable, usual = ROOTS[agent]
        chosen = self.paths.get(agent) or self.env.get(variable)
        return Path(os.path.expanduser(chosen)) if chosen else self.home / usual


@dataclass(frozen=True, slots=True)
class Transcript:
    """A transcript as listed. The same stamp as before means that it did not change."""

    agent: str
    path: Path
    key: str  # names it in the cursors: the path, and the session where one file holds many; no ids of people
    stamp: tuple[int, ...]  # size and time of change, or what a database offers
    changed: float  # seconds since 1970: no message can be younger
    facts: Mapping[str, Any] = field(default_factory=dict)  # what the listing knows of it: its kind, its owner's ids

    @property
    def session(self) -> str:
        """The id of a session in a database."""
        return self.key.removeprefix(f"{self.path}#")


@dataclass(frozen=True, slots=True)
class Mark:
    """How far a transcript was read. The fingerprint shows whether that part is still the same."""

    offset: int = 0  # bytes of a file, or entries of a database
    fingerprint: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)  # what only the part before the offset tells (plain JSON)


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read of a transcript: the part after a mark and up to a moment."""

    session: Session | None  # None where nothing in it could be a session
    mark: Mark
    whole: bool = True  # False when entries younger than the moment asked for, or a torn last line, remain
    unknown: int = 0  # entries that could not be understood
    rewritten: bool = False  # what was read before is no longer there, so all was read again from its beginning


@dataclass(frozen=True)
class Source:
    """One agent: how its transcripts are found, and how one is read after a mark and up to a moment."""

    agent: str
    find: Callable[[Places], Iterator[Transcript]]
    read: Callable[[Transcript, Mark | None, dt.datetime | None], Reading]


def list_files(agent: str, paths: Iterable[Path]) -> Iterator[Transcript]:
    for path in paths:
        try:
            about = path.stat()
        except OSError:
            continue
        if stat.S_ISREG(about.st_mode):  # a pipe would be waited for
            yield Transcript(agent, path, str(path), (about.st_size, about.st_mtime_ns), about.st_mtime)


# Values of entries


def parse_time(value: object) -> dt.datetime | None:
    """A time as transcripts write it: ISO 8601, or milliseconds or seconds since 1970; None for anything else."""
    try:
        if isinstance(value, str):
            at = dt.datetime.fromisoformat(value.strip())
            at = (at if at.tzinfo else at.replace(tzinfo=dt.UTC)).astimezone(dt.UTC)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            at = dt.datetime.fromtimestamp(value / 1000 if abs(value) > 1e11 else value, dt.UTC)
        else:
            return None
    except (ValueError, OverflowError, OSError):
        return None
    return at if dt.MINYEAR < at.year < dt.MAXYEAR else None  # those at the ends do not exist in every time zone


def as_text(value: object) -> str:
    """The value if it is a string, else an empty string."""
    return value if isinstance(value, str) else ""


def text_blocks(content: Any) -> list[str]:
    """The texts of a message: its content, or the blocks of it that are text."""
    if isinstance(content, str):
        return [content]
    return [block["text"] for block in content or () if block.get("type") == "text"]


def parse_json(raw: object) -> dict[str, Any] | None:
    """The JSON object in a text; None when it is something else, or no text at all."""
    data = raw.encode("utf-8", errors="replace") if isinstance(raw, str) else raw
    if not isinstance(data, bytes):
        return None
    try:
        value = json.loads(data.decode("utf-8", errors="replace"))
        if b"\\ud" in data or b"\\uD" in data:  # half of a character, cut off by a tool, could never be written again
            value = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", errors="replace"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def digest_of(texts: Sequence[str]) -> str:
    """A short digest of some texts, such as the ids of the entries that were read; empty for none."""
    if not texts:
        return ""
    return hashlib.blake2b("\0".join(texts).encode("utf-8", errors="replace"), digest_size=8).hexdigest()


# Entries, one after the other

_HEAD = 200  # characters of a first message in which an order says that it is one


@dataclass
class Notes:
    """What is gathered while reading: facts about the session (plain JSON, kept in the mark) and its messages."""

    facts: dict[str, Any] = field(default_factory=dict)
    resumed: bool = False  # an earlier reading gave out what stands before
    messages: list[Message] = field(default_factory=list)
    scratch: dict[str, Any] = field(default_factory=dict)  # what a source must know during this reading alone
    unknown: int = 0

    def add(self, name: object, at: dt.datetime | None, speaker: Speaker, text: str, called: str = "") -> None:
        """Add a message where it says something; one without a time is malformed."""
        if at is None or not isinstance(text, str):
            raise ValueError("no message")
        if text:
            self.messages.append(Message(str(name), at, speaker, text, called))

    def session(
        self, name: str, agent: str, kind: Kind = Kind.MAIN, *, isolated: object = False, **group: str
    ) -> Session:
        """The session of these messages; the folder it worked in is among the facts. An isolated session, or one that answers an order, has no person in it."""
        if not self.resumed and self.messages and ORDER_MARK in self.messages[0].text[:_HEAD]:
            self.facts["order"] = True
        kind = Kind.ISOLATED if isolated or self.facts.get("order") else kind
        return Session(name, agent, kind, tuple(self.messages), as_text(self.facts.get("cwd")), **group)


Take = Callable[[Any, dt.datetime | None, str, Notes], None]  # takes in an entry, given its time and its place or id
When = Callable[[Any, Notes], dt.datetime | None]  # the time of an entry
Make = Callable[[Notes], Session]


class Unfinished(Exception):
    """Raised for an entry that is still being written: it is read again the next time."""


class TakenBack(Exception):
    """Raised for an entry that takes back messages of an earlier reading: everything is read again."""


def time_field(name: str) -> When:
    """A function for the time in a field of an entry; an entry without one has that of the entry before."""

    def when(entry: dict[str, Any], notes: Notes) -> dt.datetime | None:
        if at := parse_time(entry.get(name)):
            notes.facts["at"] = at.isoformat()
            return at
        return parse_time(notes.facts.get("at"))

    return when


def _timestamp(entry: dict[str, Any], _: Notes) -> dt.datetime | None:
    return parse_time(entry.get("timestamp"))


def take_entries(
    entries: Iterable[tuple[Any, str, int]],
    begin: int,
    notes: Notes,
    until: dt.datetime | None,
    take: Take,
    time: When = _timestamp,
) -> tuple[int, bool]:
    """Take in entries, each given with its id and the offset of the next one: the offset reached, and whether all were taken. Empty
    entries are skipped; None, and those that raise an error, are counted as unknown."""
    for entry, name, end in entries:
        try:
            at = time(entry, notes) if entry else None
            if until and at and at > until:
                return begin, False
            if entry:
                take(entry, at, name, notes)
            notes.unknown += entry is None
        except Unfinished:
            return begin, False
        except MALFORMED:
            notes.unknown += 1
        begin = end
    return begin, True


# Following a JSONL file that grows: from where it was left, one line in memory at a time, never past a torn last line.

_EDGE = 512  # bytes at the beginning and before the mark that the fingerprint covers


def follow(
    path: Path,
    mark: Mark | None,
    until: dt.datetime | None,
    take: Take,
    make: Make,
    *,
    skip: Callable[[bytes], object] = lambda _: False,
    time: When = _timestamp,
) -> Reading:
    """Read the lines of a file after the mark and up to the moment; lines for whose first bytes `skip` is true are not parsed."""
    with path.open("rb") as file:
        begin = mark or Mark()
        rewritten = begin.offset > 0 and _fingerprint(file, begin.offset) != begin.fingerprint
        begin = Mark() if rewritten else begin
        notes = Notes(dict(begin.facts), begin.offset > 0)
        try:
            entries = _entries(file, begin.offset, skip)
            offset, is_whole = take_entries(entries, begin.offset, notes, until, take, time)
        except TakenBack:
            return replace(follow(path, None, until, take, make, skip=skip, time=time), rewritten=True)
        is_whole = is_whole and offset >= file.seek(0, 2)
        reached = Mark(offset, _fingerprint(file, offset), notes.facts)
    return Reading(make(notes), reached, is_whole, notes.unknown, rewritten)


def _entries(file: IO[bytes], offset: int, skip: Callable[[bytes], object]) -> Iterator[tuple[Any, str, int]]:
    file.seek(offset)
    for raw in file:
        if not raw.endswith(b"\n"):
            return
        end = offset + len(raw)
        yield {} if not raw.strip() or skip(raw[:2048]) else parse_json(raw), str(offset), end
        offset = end


def _fingerprint(file: IO[bytes], offset: int) -> str:
    """A short digest of a file's first bytes and of the last ones before an offset; empty when it is shorter than that."""
    if offset == 0 or file.seek(0, 2) < offset:
        return ""
    file.seek(0)
    head = file.read(min(_EDGE, offset))
    file.seek(max(0, offset - _EDGE))
    return hashlib.blake2b(head + b"\0" + file.read(min(_EDGE, offset)), digest_size=8).hexdigest()


def line_of(path: Path, name: str) -> int | None:
    """The number of the line of an entry, by its id or offset; None where the transcript is no file of lines."""
    if path.suffix != ".jsonl":
        return None
    offset, quoted = 0, json.dumps(name).encode()
    with path.open("rb") as file:
        for number, raw in enumerate(file, start=1):
            entry = parse_json(raw) if quoted in raw else None
            if name == str(offset) or (entry and name in (entry.get("uuid"), entry.get("id"))):
                return number
            offset += len(raw)
    return None


def follow_list(
    ids: Sequence[str],
    load: Callable[[str], Any],
    mark: Mark | None,
    until: dt.datetime | None,
    take: Take,
    make: Make,
    time: When,
) -> Reading:
    """Read a transcript that is a list of entries: the mark counts them, and its fingerprint is made of their ids."""
    begin = mark or Mark()
    rewritten = begin.offset > len(ids) or digest_of(ids[: begin.offset]) != begin.fingerprint
    begin = Mark() if rewritten else begin
    notes = Notes(dict(begin.facts), begin.offset > 0)
    entries = ((load(name), name, place) for place, name in enumerate(ids[begin.offset :], begin.offset + 1))
    end, is_whole = take_entries(entries, begin.offset, notes, until, take, time)
    return Reading(make(notes), Mark(end, digest_of(ids[:end]), notes.facts), is_whole, notes.unknown, rewritten)


# Databases of programs that run meanwhile: looked into, never written, never waited for.

_PATIENCE = 0.25  # seconds; who holds the database longer than that is asked again the next time


@contextmanager
def open_readonly(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that can only read. Not `immutable`: that would miss what the program has not yet moved into the file."""
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=_PATIENCE)
    connection.text_factory = lambda raw: raw.decode("utf-8", errors="replace")
    connection.row_factory = sqlite3.Row
    try:
        yield connection
    finally:
        connection.close()


def last_written(path: Path) -> float:
    """When a database was last written to, in seconds since 1970, its log included; 0 when there is none."""
    places = (path, path.with_name(f"{path.name}-wal"))
    return max((place.stat().st_mtime for place in places if place.exists()), default=0.0)


def in_database(agent: str, path: Path, session: str, stamp: tuple[int, ...], changed: object) -> Transcript:
    """The transcript of a session in a database; without a time of its own it is as recent as the database."""
    at = parse_time(changed)
    return Transcript(agent, path, f"{path}#{session}", stamp, at.timestamp() if at else last_written(path))


def missing_transcript(mark: Mark | None) -> Reading:
    """The reading of a session that was deleted."""
    return Reading(None, Mark(), rewritten=bool(mark and mark.offset))
