"""The index of sessions, opt-in by `index.sessions`: transcripts → consent → redacted messages → chunks, by deltas.

It is a file of its own beside the index of memory, so that a search of memory is the same with it and without. The transcripts
stay where they are: the index knows how far it read each (`transcripts`), and reads only what was added.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import sqlite3
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from nacre.clock import Clock
from nacre.config.settings import Config
from nacre.guard.secrets import hash_name, storable_name
from nacre.index import update
from nacre.index.freshness import MemoryIndex
from nacre.index.store import Generation, Store, index_file, overwrite_deleted, scrub, wanted_settings
from nacre.index.update import Progress, TextReport
from nacre.model.session import Kind, Message, Session
from nacre.model.workspace import Workspace
from nacre.sources import consent
from nacre.sources.reading import Mark, Places, Source, Transcript, open_readonly
from nacre.sources.registry import belongs_to, places_of
from nacre.vault.discover import project_places

SESSION_TABLES = (
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
INDEXED, EXCLUDED, NOT_A_SESSION = "taken", "left out", "no talk"


class TranscriptRow(NamedTuple):
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
    before: TranscriptRow | None
    anew: bool


def make_session_tables(store: Store) -> None:
    """Make the tables where they are not."""
    there = "select 1 from sqlite_master where name = 'transcripts'"
    if store.db.execute(there).fetchone():
        return
    with store.writing() as db:
        if not db.execute(there).fetchone():
            for statement in SESSION_TABLES:
                db.execute(statement)


def load_rows(db: sqlite3.Connection, generation: Generation) -> dict[str, TranscriptRow]:
    rows = db.execute(
        f"select {','.join(TranscriptRow._fields)} from transcripts where generation = ?", (generation.id,)
    )
    return {row[0]: TranscriptRow(*row) for row in rows}


def find_row(db: sqlite3.Connection, generation: Generation, path: str) -> TranscriptRow | None:
    """The transcript behind a document."""
    row = db.execute(
        f"select {','.join('t.' + name for name in TranscriptRow._fields)} from transcripts t join files f on f.id = t.file"
        " where f.generation = ? and f.path = ?",
        (generation.id, path),
    ).fetchone()
    return TranscriptRow(*row) if row else None


def message_lines(db: sqlite3.Connection, known: TranscriptRow) -> list[tuple[str, int, int]]:
    """The messages of a document: the id of each, its first line and its last."""
    query = "select message, first, last from said where file = ? order by position"
    return db.execute(query, (known.file,)).fetchall()


def save_message_lines(
    db: sqlite3.Connection, file: int, position: int, places: Sequence[tuple[str, int, int]]
) -> None:
    """Put down which lines messages took, from a position on; what stood there is no more."""
    db.execute("delete from said where file = ? and position >= ?", (file, position))
    rows = [(file, at, *place) for at, place in enumerate(places, position)]
    db.executemany("insert into said values(?,?,?,?,?)", rows)


def stamp_text(transcript: Transcript) -> str:
    return " ".join(map(str, transcript.stamp))


def mark_text(mark: Mark) -> str:
    return json.dumps([mark.offset, mark.fingerprint, dict(mark.facts)], ensure_ascii=False)


def listed_kind(transcript: Transcript) -> str:
    """What the listing says of a session's kind and group; empty when nothing."""
    return " ".join(str(told) for name in ("kind", "group") if (told := transcript.facts.get(name)))


def last_read(db: sqlite3.Connection, generation: Generation, key: str) -> int | None:
    """When a transcript was last read by anybody; None when it never was."""
    query = "select read_at from transcripts where generation = ? and key = ?"
    row = db.execute(query, (generation.id, key)).fetchone()
    return int(row[0]) if row else None


def save_row(db: sqlite3.Connection, generation: Generation, known: TranscriptRow) -> None:
    names, marks = ",".join(TranscriptRow._fields), ",".join("?" * len(known))
    query = f"insert or replace into transcripts(generation,{names}) values(?,{marks})"
    db.execute(query, (generation.id, *known))


def delete_row(db: sqlite3.Connection, generation: Generation, key: str) -> None:
    db.execute("delete from transcripts where generation = ? and key = ?", (generation.id, key))


def count_sessions(db: sqlite3.Connection, generation: Generation | None) -> tuple[int, int]:
    """How many sessions are in the index, and how many messages."""
    if generation is None or not db.execute("select 1 from sqlite_master where name = 'transcripts'").fetchone():
        return 0, 0
    query = "select count(*), coalesce(sum(messages), 0) from transcripts where generation = ? and file is not null"
    sessions, messages = db.execute(query, (generation.id,)).fetchone()
    return int(sessions), int(messages)


# What the user leaves out of the index of sessions, as it stands for one run.


@dataclass(frozen=True)
class Exclusions:
    """Agents, projects and chats by the settings, folders by their own sign, spans of time by the pauses."""

    config: Config
    pauses: Sequence[consent.Pause]
    folders: Collection[str] = ()  # that we know of
    _signs: dict[str, bool] = field(default_factory=dict)  # whether a folder carries the sign: asked once in a run

    def state(self, session: Session | None) -> str:
        """What becomes of a session that was read."""
        if session is None or session.kind is Kind.ISOLATED:
            return NOT_A_SESSION
        return EXCLUDED if self._holds(session) else INDEXED

    def holds(self, one: TranscriptRow) -> bool:
        """Whether a session is left out now, by what is known of it."""
        return self._holds(Session(one.session, one.agent, Kind.MAIN, None, (), cwd=one.cwd, group=one.chat))

    def _holds(self, session: Session) -> bool:
        patterns = consent.settings_of(self.config, session.agent).exclude
        if patterns and consent.is_left_out(session, patterns):
            return True
        if self._signed(session.cwd):
            return True
        return consent.lacks_folder(session) and (bool(patterns) or any(map(self._signed, self.folders)))

    def _signed(self, folder: str) -> bool:
        if folder not in self._signs:
            self._signs[folder] = consent.opted_out(folder)
        return self._signs[folder]

    def outside_pauses(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        return consent.outside_pauses(messages, self.pauses)

    def pauses_in(self, span: Span | None) -> str:
        """The pauses that touch a span, as far as they do: where one begins before it or ends after it makes no difference."""
        if span is None or not self.pauses:
            return ""
        begun, ended = (dt.datetime.fromisoformat(moment) for moment in span)
        found = [
            (max(one.begin, begun).isoformat(), one.end.isoformat() if one.end and one.end <= ended else None)
            for one in self.pauses
            if one.begin <= ended and (one.end is None or one.end > begun)
        ]
        return json.dumps(found) if found else ""


# The index of sessions, opt-in by `index.sessions`: transcripts → consent → redacted messages → chunks, by deltas.

SESSIONS_FILE = "sessions.sqlite"
RENDERING = 1  # goes up when the same message would take other lines than before


def sessions_file(workspace: Workspace) -> Path:
    return index_file(workspace.index, SESSIONS_FILE)


def delete_sessions_index(workspace: Workspace) -> bool:
    """Delete the index of sessions, as when the user no longer wants one; whether there was any."""
    folder = sessions_file(workspace).parent
    found = sorted(folder.glob(f"{SESSIONS_FILE}*")) if folder.is_dir() else []
    for one in found:
        one.unlink(missing_ok=True)
    return bool(found)


class SessionIndex(MemoryIndex):
    """Keeps the index of sessions true to the transcripts: a look at their sizes and times, then what is new in them."""

    def __init__(
        self,
        workspace: Workspace,
        config: Config,
        store: Store,
        clock: Clock,
        *,
        sources: Sequence[Source] | None = None,
        places: Places | None = None,
    ) -> None:
        super().__init__(workspace, config, store)
        self.clock = clock
        self._sources = sources
        self._places = places or places_of(config)
        self._listed: dict[str, tuple[Source, Transcript]] = {}

    @property
    def wanted(self) -> str:
        """As for memory; besides, messages are dated by the user's own day."""
        zone = self.config.timezone or "/".join(time.tzname)
        made_with = json.loads(wanted_settings(self.config)) | {"zone": zone, "rendering": RENDERING}
        return json.dumps(made_with, sort_keys=True)

    def counts(self) -> tuple[int, int]:
        """How many sessions and messages the index holds at this moment."""
        return count_sessions(self.store.db, self.store.live())

    def count_changed(self) -> int:
        """How many transcripts differ from what the index knows of them; those that are gone count too."""
        live = self.store.live()
        if live is None:
            return sum(1 for _ in self._found())
        make_session_tables(self.store)
        known = load_rows(self.store.db, live)
        tasks, hidden = self._plan(known, self._left_out(known), every=False)
        return len(tasks) + len(hidden) + len(known)

    def lines(self, path: str, first: int, last: int, until: dt.datetime | None) -> list[str] | None:
        """The document of a session, its messages between two lines read from the transcript and redacted at this moment.

        All other messages are empty lines. Those after `until` are not there at all. None when the path is no session's.
        """
        from nacre.index import session_document

        generation = self.current()
        known = find_row(self.store.db, generation, path)
        if known is None or known.key not in self._listed:
            return None
        source, transcript = self._listed[known.key]
        try:
            session = source.read(transcript, None, None).session
        except OSError:
            return None
        if session is None:
            return None
        messages = {storable_name(message.id): message for message in session.messages}
        shown = [f"# {session_document.about_session(self.workspace, session).title}", *[""] * known.lines]
        end_of_all = 1
        for name, begin, end in message_lines(self.store.db, known):
            message = messages.get(name)
            if message is None or (until and message.at > until):
                continue
            end_of_all = max(end_of_all, end)
            if begin <= last and end >= first:
                block = session_document.render_message(message, self.clock.local)[: end - begin + 1]
                shown[begin - 1 : begin - 1 + len(block)] = block
        return shown[:end_of_all]

    def _left_out(self, known: dict[str, TranscriptRow]) -> Exclusions:
        folders = {str(Path.home()), *project_places(self.workspace).values(), *(one.cwd for one in known.values())}
        return Exclusions(self.config, consent.pauses(self.workspace), folders)

    def _found(self) -> Iterator[tuple[Source, Transcript]]:
        """The transcripts of the agents that are not left out, as far as they belong to this workspace."""
        if self._sources is None:
            from nacre.sources.registry import sources

            self._sources = sources()
        mine = belongs_to(self.workspace, self.config)
        for source in self._sources:
            if consent.settings_of(self.config, source.agent).enabled:
                for transcript in source.find(self._places):
                    if mine(transcript):
                        yield source, transcript

    def _bring_up(self, generation: Generation, progress: Progress | None, *, every_file: bool = False) -> TextReport:
        make_session_tables(self.store)
        report = TextReport()
        known = load_rows(self.store.db, generation)
        left_out = self._left_out(known)
        tasks, hidden = self._plan(known, left_out, every=every_file)
        overwrite_deleted(self.store)
        gone = [one for one in known.values() if not self._cannot_tell(one)]
        if gone or hidden:
            with self.store.writing() as db:
                for one in (*gone, *hidden):
                    report.removed += _remove_session(db, generation, one, keep=one in hidden)
        replaced = False
        if tasks:
            from nacre.index.session_document import (
                Intake,  # only what is new pays for the machinery of chunks and secrets
            )

            intake = Intake(self.workspace, self.store, generation, self.clock, left_out, report)
            for number, task in enumerate(tasks, 1):
                replaced |= intake.take(task)
                if progress:
                    progress(number, len(tasks))
        if gone or hidden or replaced:
            scrub(self.store, generation)
        report.files = count_sessions(self.store.db, generation)[0]
        return report

    def _plan(
        self, known: dict[str, TranscriptRow], left_out: Exclusions, *, every: bool
    ) -> tuple[list[Task], list[TranscriptRow]]:
        """What to read, and what to take out because it is left out now. What is gone remains in `known`."""
        tasks: list[Task] = []
        hidden: list[TranscriptRow] = []
        listed: dict[str, tuple[Source, Transcript]] = {}
        for source, transcript in self._found():
            before = known.pop(transcript.key, None) or known.pop(hash_name(transcript.key), None)
            listed[before.key if before else transcript.key] = (source, transcript)
            if before is None:
                tasks.append(Task(source, transcript, None, anew=True))
                continue
            # What is left out is not even read; where its folder is not known, what was added may tell it.
            if left_out.holds(before) and (before.cwd or before.stamp == stamp_text(transcript)):
                hidden += [before] if before.file is not None else []
                continue
            kind = listed_kind(transcript)
            anew = (
                every
                or before.state == EXCLUDED
                or before.cwd.startswith("#")  # a hash: only the transcript can tell whether it is left out
                or bool(kind and kind != before.told)
                or before.pauses != left_out.pauses_in(before.span)
            )
            if anew or before.stamp != stamp_text(transcript) or not before.whole:
                tasks.append(Task(source, transcript, before, anew))
        self._listed = listed
        return tasks, hidden

    def _cannot_tell(self, one: TranscriptRow) -> bool:
        """Whether a transcript that was not listed may be there all the same: in a database that is busy just now."""
        if not consent.settings_of(self.config, one.agent).enabled or not os.path.isfile(one.place):
            return False
        try:
            with open_readonly(Path(one.place)) as connection:
                connection.execute("select 1 from sqlite_master limit 1").fetchall()
        except sqlite3.OperationalError:
            return True
        except sqlite3.Error:
            pass  # no database
        return False


def _remove_session(db: sqlite3.Connection, generation: Generation, one: TranscriptRow, *, keep: bool) -> int:
    """Take a session out of the index; `keep` that there is one, so that it need not be read to be left out."""
    if last_read(db, generation, one.key) != one.read_at:
        return 0  # another process was faster
    if one.file is not None:
        update.remove_file(db, generation, one.file)
    if keep:
        out = one._replace(state=EXCLUDED, file=None, messages=0, chunks=0, lines=0, read_at=time.time_ns())
        save_row(db, generation, out)
    else:
        delete_row(db, generation, one.key)
    return one.file is not None
