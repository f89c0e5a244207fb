"""What the index knows of each transcript: how far it was read, whose it is, which lines its messages took.

These tables stand only in the index of sessions. They hold paths, positions and ids, never a word that was said.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

from nacre.index.store import Generation, Store
from nacre.sources.transcript import Mark, Source, Transcript

TABLES = (
    """create table transcripts(
  generation integer not null, key text not null, place text not null, agent text not null, state text not null,
  stamp text not null, mark text not null, whole integer not null, told text not null,
  session text not null, kind text not null, cwd text not null, chat text not null, begun text, ended text, pauses text not null,
  file integer, messages integer not null, chunks integer not null, lines integer not null, read_at integer not null,
  primary key(generation, key)) without rowid""",
    "create index transcript_file on transcripts(file)",
    """create table said(
  file integer not null, position integer not null, message text not null, first integer not null, last integer not null,
  primary key(file, position)) without rowid""",
    "create trigger said_goes after delete on files begin delete from said where file = old.id; end",
    """create trigger transcripts_go after delete on generations begin
  delete from transcripts where generation = old.id; end""",
)
Span = tuple[str, str]  # from one moment to another, both included
TAKEN, LEFT_OUT, NO_TALK = "taken", "left out", "no talk"


class Known(NamedTuple):
    """One transcript as it was when it was last read. Plain values: most of them are only compared."""

    key: str
    place: str  # the file that holds it
    agent: str
    state: str
    stamp: str
    mark: str
    whole: bool | int
    told: str  # what the listing said of its kind and group
    session: str
    kind: str
    cwd: str
    chat: str  # what the group is called
    begun: str | None  # its first and its last message, pauses or not
    ended: str | None
    pauses: str  # those that fell into it
    file: int | None = None
    messages: int = 0
    chunks: int = 0
    lines: int = 0
    read_at: int = 0

    @property
    def read_to(self) -> Mark:
        return Mark(*json.loads(self.mark))

    @property
    def span(self) -> Span | None:
        return (self.begun, self.ended) if self.begun and self.ended else None


class Task(NamedTuple):
    """A transcript to be read: on from where it was left, or from its beginning."""

    source: Source
    transcript: Transcript
    before: Known | None
    anew: bool


def prepare(store: Store) -> None:
    """Make the tables where they are not."""
    there = "select 1 from sqlite_master where name = 'transcripts'"
    if store.db.execute(there).fetchone():
        return
    with store.writing() as db:
        if not db.execute(there).fetchone():
            for statement in TABLES:
                db.execute(statement)


def load(db: sqlite3.Connection, generation: Generation) -> dict[str, Known]:
    rows = db.execute(f"select {','.join(Known._fields)} from transcripts where generation = ?", (generation.id,))
    return {row[0]: Known(*row) for row in rows}


def find(db: sqlite3.Connection, generation: Generation, path: str) -> Known | None:
    """The transcript behind a document."""
    row = db.execute(
        f"select {','.join('t.' + name for name in Known._fields)} from transcripts t join files f on f.id = t.file"
        " where f.generation = ? and f.path = ?",
        (generation.id, path),
    ).fetchone()
    return Known(*row) if row else None


def said(db: sqlite3.Connection, known: Known) -> list[tuple[str, int, int]]:
    """The messages of a document: the id of each, its first line and its last."""
    query = "select message, first, last from said where file = ? order by position"
    return db.execute(query, (known.file,)).fetchall()


def note_said(db: sqlite3.Connection, file: int, position: int, places: Sequence[tuple[str, int, int]]) -> None:
    """Put down which lines messages took, from a position on; what stood there is no more."""
    db.execute("delete from said where file = ? and position >= ?", (file, position))
    rows = [(file, at, *place) for at, place in enumerate(places, position)]
    db.executemany("insert into said values(?,?,?,?,?)", rows)


def stamp(transcript: Transcript) -> str:
    return " ".join(map(str, transcript.stamp))


def as_text(mark: Mark) -> str:
    return json.dumps([mark.offset, mark.fingerprint, dict(mark.facts)], ensure_ascii=False)


def told(transcript: Transcript) -> str:
    """What the listing says of a session's kind and group; empty when nothing."""
    return " ".join(str(told) for name in ("kind", "group") if (told := transcript.facts.get(name)))


def version(db: sqlite3.Connection, generation: Generation, key: str) -> int | None:
    """When a transcript was last read by anybody; None when it never was."""
    query = "select read_at from transcripts where generation = ? and key = ?"
    row = db.execute(query, (generation.id, key)).fetchone()
    return int(row[0]) if row else None


def save(db: sqlite3.Connection, generation: Generation, known: Known) -> None:
    names, marks = ",".join(Known._fields), ",".join("?" * len(known))
    query = f"insert or replace into transcripts(generation,{names}) values(?,{marks})"
    db.execute(query, (generation.id, *known))


def forget(db: sqlite3.Connection, generation: Generation, key: str) -> None:
    db.execute("delete from transcripts where generation = ? and key = ?", (generation.id, key))


def counts(db: sqlite3.Connection, generation: Generation | None) -> tuple[int, int]:
    """How many sessions are in the index, and how many messages."""
    if generation is None or not db.execute("select 1 from sqlite_master where name = 'transcripts'").fetchone():
        return 0, 0
    query = "select count(*), coalesce(sum(messages), 0) from transcripts where generation = ? and file is not null"
    sessions, messages = db.execute(query, (generation.id,)).fetchone()
    return int(sessions), int(messages)
