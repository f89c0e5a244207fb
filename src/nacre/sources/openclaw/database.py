"""OpenClaw since 2026.9: one database for each agent below ~/.openclaw/agents (OPENCLAW_STATE_DIR moves it).

It is looked into while OpenClaw writes to it, and never written. A session's events are numbered from 0. They are only ever
added, until something rewrites them; then the session gets another generation, and is read again from its beginning.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import re
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from nacre.sources.openclaw import cold
from nacre.sources.openclaw.about import EVENTS, REWRITES, WINDOWS, About, about, tables
from nacre.sources.openclaw.events import AGENT, Taker, session_of
from nacre.sources.openclaw.payload import event
from nacre.sources.reading import (
    Mark,
    Notes,
    Places,
    Reading,
    Source,
    Transcript,
    as_text,
    last_written,
    open_readonly,
    parse_time,
)

# By the primary key of the events alone: one step down the index for each session, whatever its length. The time stands
# in the last row, so that row is the only one touched.
_SESSIONS = """
    SELECT w.session_id, w.session_key, w.transcript_updated_at,
           (SELECT seq FROM transcript_events e WHERE e.session_id = w.session_id ORDER BY seq DESC LIMIT 1),
           (SELECT created_at FROM transcript_events e WHERE e.session_id = w.session_id ORDER BY seq DESC LIMIT 1)
    FROM session_windows w ORDER BY w.session_id
"""
_GENERATIONS = "SELECT session_id, generation FROM transcript_rewrite_watermarks"
_LAST = "SELECT max(seq) FROM transcript_events WHERE session_id = ?"
_EVENTS = "SELECT * FROM transcript_events WHERE session_id = ? AND seq >= ? ORDER BY seq"
_FAILED = (sqlite3.Error, UnicodeDecodeError)  # of a damaged schema even what SQLite says about it cannot be decoded
_NO_NUMBER = 1 << 62  # no event has such a number; the one after it must still fit into the database's own numbers
_PRIVATE_KEY = re.compile(r":incognito-[^:]*\Z")
_BIRTH = dt.timedelta(seconds=1)  # a channel's first message may be older than its session by some milliseconds


def find(places: Places) -> Iterator[Transcript]:
    """The sessions of every agent: those in its database, and those it put aside."""
    root = places.root(AGENT, "OPENCLAW_STATE_DIR", ".openclaw") / "agents"
    for path in sorted(root.glob("*/agent/openclaw-agent.sqlite")):
        yield from _sessions(path)


def _sessions(path: Path) -> Iterator[Transcript]:
    try:
        with open_readonly(path) as connection:
            there = tables(connection)
            if not {EVENTS, WINDOWS} <= there:
                return
            rows = connection.execute(_SESSIONS).fetchall()
            generations = dict(connection.execute(_GENERATIONS).fetchall()) if REWRITES in there else {}
    except _FAILED:
        return  # busy, or of another form: nothing to tell this time
    aside = cold.stored(path) if any(last is None for *_, last, _newest in rows) else {}
    for name, key, updated, last, newest in rows:
        if not isinstance(name, str) or _PRIVATE_KEY.search(as_text(key)):
            continue
        if isinstance(last, int):
            stamp, place = (_number(as_text(generations.get(name))), last), path
            changed = parse_time(newest)
        elif one := aside.get(name):
            stamp, place = (one.size, one.changed_ns), one.path
            changed = parse_time(updated)
        else:
            continue  # nothing was said yet
        seconds = changed.timestamp() if changed else last_written(path)
        yield Transcript(AGENT, place, f"{path}#{name}", stamp, seconds, {"session": name})


def read(transcript: Transcript, mark: Mark | None, until: dt.datetime | None) -> Reading:
    """What was said after the mark and not after the moment. A busy or damaged database is an OSError: ask again later."""
    name = str(transcript.facts.get("session") or transcript.key.rpartition("#")[2])
    aside = transcript.path if transcript.path.suffix == ".zst" else None
    path = cold.database_of(aside) if aside else transcript.path
    try:
        with open_readonly(path) as connection:
            connection.execute("BEGIN")  # everything below is seen as it stood at one moment
            return _reading(connection, name, aside, mark, until)
    except _FAILED as error:
        raise OSError(f"{path} cannot be read now: {error}") from error


def _reading(
    connection: sqlite3.Connection, name: str, aside: Path | None, mark: Mark | None, until: dt.datetime | None
) -> Reading:
    there = tables(connection)
    told = about(connection, name, there) if EVENTS in there else None
    if told is None:
        return Reading(None, Mark(), rewritten=bool(mark and mark.offset))
    rewritten = mark is not None and not _still_there(connection, name, told, mark, aside)
    begin = Mark() if mark is None or rewritten else mark
    notes = Notes(dict(begin.facts))
    take, copies = Taker(told.known), _Copies(connection, told)
    offset, unknown, whole = begin.offset, 0, True
    rows = cold.rows(aside, begin.offset) if aside else _rows(connection, name, begin.offset)
    for row in rows:
        seq = row.get("seq")
        if not isinstance(seq, int) or seq >= _NO_NUMBER:
            unknown += 1
            continue
        entry = event(row)
        if entry:
            at = parse_time(entry.get("timestamp")) or parse_time(row.get("created_at"))
            if until and at and at > until:
                whole = False
                break
            if not copies.hold(entry, at, notes):
                unknown += not (_has_a_form(entry) and take(entry, at, seq, notes))
        elif entry is None:
            unknown += 1
        offset = seq + 1
    return Reading(
        session_of(notes, name, told.known), Mark(offset, told.generation, notes.facts), whole, unknown, rewritten
    )


def _still_there(connection: sqlite3.Connection, name: str, told: About, mark: Mark, aside: Path | None) -> bool:
    """Whether the events that were read before are what stands there now."""
    if mark.offset == 0:
        return True
    if mark.fingerprint != told.generation:
        return False
    if aside:
        return True
    (last,) = connection.execute(_LAST, (name,)).fetchone()
    return last is None or (isinstance(last, int) and last + 1 >= mark.offset)


def _rows(connection: sqlite3.Connection, name: str, begin: int) -> Iterator[dict[str, Any]]:
    cursor = connection.execute(_EVENTS, (name, begin))
    columns = [column[0] for column in cursor.description]
    for row in cursor:
        yield dict(zip(columns, row, strict=True))


class _Copies:
    """Events that a session began with because it was forked from another, or is what another was wound back to.

    They bear the ids they have in the other session, under which they are captured. Only what is older than the session
    itself (its first event is made anew) can be a copy, so nothing is looked up for what is said later. Where the other
    session is gone, its age alone decides.
    """

    def __init__(self, connection: sqlite3.Connection, told: About) -> None:
        self.connection = connection
        self.sources = told.sources
        self.ids: frozenset[str] | None = None

    def hold(self, entry: dict[str, Any], at: dt.datetime | None, notes: Notes) -> bool:
        if not self.sources or entry.get("type") == "session":
            return False
        born = parse_time(notes.facts.get("started"))
        if born is None or at is None or at > born:
            return False
        if self.ids is None:
            self.ids = frozenset(self._of_the_sources())
        return as_text(entry.get("id")) in self.ids if self.ids else at < born - _BIRTH

    def _of_the_sources(self) -> Iterable[str]:
        for name in self.sources:
            for row in _rows(self.connection, name, 0):
                if one := event(row):
                    yield as_text(one.get("id"))


def _number(generation: str) -> int:
    """A generation as a number, for the stamp."""
    return int.from_bytes(hashlib.blake2b(generation.encode("utf-8", errors="replace"), digest_size=6).digest())


def _has_a_form(entry: dict[str, Any]) -> bool:
    """Whether what says its kind is a word at all."""
    return isinstance(entry.get("type"), str)


SOURCE = Source(AGENT, find, read)
