"""The index of sessions, opt-in by `index.sessions`: transcripts → consent → redacted messages → chunks.

It is a file of its own beside the index of memory, so that a search of memory is the same with it and without. The transcripts
stay where they are; one that changed is read whole, and what is the same in it keeps its chunks.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import re
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from nacre.guard import privacy
from nacre.guard.sanitise import clean
from nacre.guard.secrets import hash_name, redact, redact_messages, storable_name
from nacre.index.document import Part, stretches
from nacre.index.freshness import MemoryIndex, Progress, TextReport, remove_file, replace_chunks
from nacre.index.store import Store, wanted_settings
from nacre.model import Context, Kind, Message, Session, Speaker, slug_of
from nacre.sources.registry import (
    belongs_to,
    group_stamp,
    left_out,
    opted_out,
    outside_pauses,
    pauses,
    places_of,
    project_name,
    settings_of,
    sources,
)
from nacre.sources.transcript import Places, Source, Transcript
from nacre.text.blocks import Stamp
from nacre.vault.discover import project_places

_RENDERING = 1  # goes up when the same message would take other lines than before
_LAYER = "session"
_FIRST_LINE = 3  # where the first message begins: the title and an empty line stand above it
_NAMES = {Speaker.OWNER: "Owner", Speaker.AGENT: "Agent", Speaker.OTHER: "Other"}
_UNUSUAL = re.compile(r"[^\w.-]+")
_LONGEST_NAME = 100
_EXCLUDED = "left out"
_TABLE = """create table if not exists transcripts(
  key text primary key, agent text not null, stamp text not null, allowed text not null, made_with text not null,
  session text not null, cwd text not null, chat text not null, read_at integer not null, file integer,
  messages integer not null) without rowid"""


class _Row(NamedTuple):
    """One transcript as it was when it was last read. Plain values: most of them are only compared."""

    key: str
    agent: str
    stamp: str
    allowed: str  # what the listing said of its kind, and the pauses; or that it is left out
    made_with: str  # the settings
    session: str
    cwd: str
    chat: str  # what the group is called
    read_at: int
    file: int | None = None
    messages: int = 0

    def save(self, db: sqlite3.Connection) -> None:
        db.execute(f"insert or replace into transcripts values({','.join('?' * len(self))})", self)


_Task = tuple[Source, Transcript, _Row | None, str]  # a transcript to be read, its row so far, what of it may be read
_Excluded = Callable[[Session], bool]
_Block = tuple[Message, int, list[str]]  # a message, the first of its lines in the document, and its lines


class SessionIndex(MemoryIndex):
    """Keeps the index of sessions true to the transcripts: a look at their sizes and times, then at those that changed."""

    to_the_second = True

    def __init__(self, context: Context, store: Store, *, places: Places | None = None) -> None:
        super().__init__(context, store)
        self._places = places or places_of(context.config)
        self._listed: dict[str, tuple[Source, Transcript]] = {}

    @property
    def wanted(self) -> str:
        """As for memory; besides, messages are dated by the user's own day."""
        zone = self.context.config.timezone or "/".join(time.tzname)
        return wanted_settings(self.context.config, zone=zone, rendering=_RENDERING)

    def counts(self) -> tuple[int, int]:
        rows = [row for row in self._rows().values() if row.file is not None]
        return len(rows), sum(row.messages for row in rows)

    def count_changed(self) -> int:
        """How many transcripts differ from what the index knows of them; those that are gone count too."""
        rows = self._rows()
        tasks, hidden = self._plan(rows, _excluded_by(self.context, rows.values()))
        return len(tasks) + len(hidden) + len(rows)

    def lines(self, path: str, until: dt.datetime | None) -> list[str] | None:
        """The document of a session, read from the transcript and redacted at this moment, without what was said after
        `until`. None when the path is no session's."""
        self.current()
        query = "select key from transcripts where file in (select id from files where path = ?)"
        row = self.store.db.execute(query, (path,)).fetchone()
        if row is None or row[0] not in self._listed:
            return None
        source, transcript = self._listed[row[0]]
        try:
            session = source.read(transcript, None, None).session
        except OSError:
            return None
        if session is None:
            return None
        shown = [f"# {_about(self.context, session)[0]}"]
        for message, first, lines in self._blocks(session):
            if not until or message.at <= until:
                shown += [""] * (first - 1 - len(shown)) + lines
        return shown

    def _blocks(self, session: Session) -> list[_Block]:
        """What of a session may be indexed, redacted, an empty line after each message."""
        kept = privacy.drop_private(outside_pauses(session.messages, pauses(self.context.workspace)))
        blocks: list[_Block] = []
        first = _FIRST_LINE
        for message in redact_messages([message for message in kept if message.speaker is not Speaker.OTHER]):
            if lines := _render(message, self.context):
                blocks.append((message, first, lines))
                first += len(lines) + 1
        return blocks

    def _transcripts(self) -> Iterator[tuple[Source, Transcript]]:
        """The transcripts of the agents that are not left out, as far as they belong to this workspace."""
        belongs_here = belongs_to(self.context.workspace, self.context.config)
        for source in sources():
            if settings_of(self.context.config, source.agent).enabled:
                yield from ((source, transcript) for transcript in filter(belongs_here, source.find(self._places)))

    def _rows(self) -> dict[str, _Row]:
        if not self.store.db.execute("select 1 from sqlite_master where name = 'transcripts'").fetchone():
            with self.store.writing() as db:
                db.execute(_TABLE)
        return {row[0]: _Row(*row) for row in self.store.db.execute("select * from transcripts")}

    def _bring_up(self, progress: Progress | None, *, every_file: bool = False, outdated: bool = False) -> TextReport:
        report = TextReport()
        rows = self._rows()
        excluded = _excluded_by(self.context, rows.values())
        tasks, hidden = self._plan(rows, excluded, every=every_file, outdated=outdated)
        self.store.db.execute("pragma secure_delete = on")  # what is taken out is overwritten
        words_went = bool(rows or hidden)
        if words_went:
            with self.store.writing() as db:
                for row in (*rows.values(), *hidden):
                    same = "select 1 from transcripts where key = ? and read_at = ?"
                    if not db.execute(same, (row.key, row.read_at)).fetchone():
                        continue  # another process was faster
                    if row.file is not None:
                        remove_file(db, row.file)
                        report.removed += 1
                    if row in hidden:  # that there is one is kept, so that it need not be read to be left out
                        row._replace(allowed=_EXCLUDED, file=None, messages=0, read_at=time.time_ns()).save(db)
                    else:
                        db.execute("delete from transcripts where key = ?", (row.key,))
        for number, task in enumerate(tasks, 1):
            words_went |= self._take(task, excluded, report)
            if progress:
                progress(number, len(tasks))
        if words_went:
            self.store.scrub()
        report.files = self.counts()[0]
        return report

    def _plan(
        self, rows: dict[str, _Row], excluded: _Excluded, *, every: bool = False, outdated: bool = False
    ) -> tuple[list[_Task], list[_Row]]:
        """What to read, and what to take out because it is left out now. What is gone remains in `rows`."""
        tasks: list[_Task] = []
        hidden: list[_Row] = []
        self._listed = {}
        spans = pauses(self.context.workspace)
        for source, transcript in self._transcripts():
            before = rows.pop(transcript.key, None) or rows.pop(hash_name(transcript.key), None)
            self._listed[before.key if before else transcript.key] = (source, transcript)
            touching = [pause for pause in spans if pause.begin.timestamp() <= transcript.changed]
            allowed = repr((transcript.facts.get("kind"), transcript.facts.get("group"), touching))
            if before:
                unchanged = before.stamp == _stamp(transcript)
                # What is left out is not even read; where its folder is not known, what was added may tell it.
                stored = Session(before.session, before.agent, Kind.MAIN, (), cwd=before.cwd, group=before.chat)
                if (before.cwd or unchanged) and excluded(stored):
                    hidden += [before] if before.file is not None else []
                    continue
                # A folder that is a hash: only the transcript can tell whether it is left out.
                current = unchanged and before.allowed == allowed and not before.cwd.startswith("#")
                if current and not every and not (outdated and before.made_with != self.wanted):
                    continue
            tasks.append((source, transcript, before, allowed))
        return tasks, hidden

    def _take(self, task: _Task, excluded: _Excluded, report: TextReport) -> bool:
        """Read a transcript and store it in the place of what was stored before; whether words went with that."""
        source, transcript, before, allowed = task
        read_at = time.time_ns()
        try:
            reading = source.read(transcript, None, None)
        except OSError:
            report.unreadable.append(str(transcript.path))
            return False
        session = reading.session
        if session is None and not reading.whole and not reading.unknown:
            return False  # its database is busy: the next time
        report.read += 1
        blocks: list[_Block] = []
        if session and excluded(session):
            allowed = _EXCLUDED
        elif session and session.kind is not Kind.ISOLATED:
            blocks = self._blocks(session)
        row = _Row(
            key=storable_name(transcript.key),
            agent=transcript.agent,
            stamp=_stamp(transcript),
            allowed=allowed,
            made_with=self.wanted,
            session=storable_name(session.id) if session else "",
            cwd=storable_name(session.cwd) if session else "",
            chat=storable_name(session.group) if session else "",
            read_at=read_at,
            messages=len(blocks),
        )
        with self.store.writing() as db:
            stored = db.execute("select read_at from transcripts where key = ?", (row.key,)).fetchone()
            if stored != ((before.read_at,) if before else None):
                return False  # another process was faster
            file = before.file if before else None
            keys = {key for (key,) in db.execute("select key from chunks where file = ?", (file,))}
            if file is not None and (not blocks or (before and before.made_with != row.made_with)):
                remove_file(db, file)  # nothing of it is as it would be made now
                report.removed += not blocks
                file = None
            if session and blocks:
                path, file = _document(db, file, session, row)
                parts = _parts(self.context, session, path, blocks)
                replace_chunks(db, file, _LAYER, parts)
                keys -= {part.key for part in parts}
                report.changed += 1
            row._replace(file=file).save(db)
        return bool(keys)


def _excluded_by(context: Context, rows: Iterable[_Row]) -> _Excluded:
    """What the user leaves out: agents, projects and chats by the settings, folders by their own sign."""
    folders = {str(Path.home()), *project_places(context.workspace).values(), *(row.cwd for row in rows)}
    is_signed = cache(lambda: any(map(opted_out, folders)))
    return lambda session: bool(left_out(session, settings_of(context.config, session.agent).exclude, signed=is_signed))


def _stamp(transcript: Transcript) -> str:
    return " ".join(map(str, transcript.stamp))


def _plain(name: str) -> str:
    return _UNUSUAL.sub("-", redact(name).text)[:_LONGEST_NAME].strip(".-") or "unnamed"


def _about(context: Context, session: Session) -> tuple[str, str | None, str | None]:
    """The title of a session's document, and the project and group it is stamped with."""
    name = project_name(session, context.workspace)
    project = slug_of(redact(name).text) if name else None
    group = group_stamp(session.group, session.chat) if session.kind is Kind.GROUP and session.group else None
    parts = [f"{session.agent} session:{_plain(storable_name(session.id))}"]
    parts += [f"project:{project}"] if project else []
    parts += [f"group:{group}"] if group else []
    return " | ".join(parts), project, group


def _render(message: Message, context: Context) -> list[str]:
    words = redact(clean(message.text)).text.strip()
    if not words:
        return []
    return [f"## {context.clock.local(message.at):%Y-%m-%d %H:%M} {_NAMES[message.speaker]}", *words.split("\n")]


def _document(db: sqlite3.Connection, file: int | None, session: Session, row: _Row) -> tuple[str, int]:
    path = f"sessions/{_plain(session.agent)}/{_plain(storable_name(session.id))}.md"
    taken = db.execute("select id from files where path = ?", (path,)).fetchone()
    if taken and taken[0] != file:
        path = f"{path.removesuffix('.md')}-{hashlib.blake2b(row.key.encode(), digest_size=3).hexdigest()}.md"
    if file is not None:
        db.execute("update files set path = ?, made_with = ? where id = ?", (path, row.made_with, file))
        return path, file
    made = "insert into files(path, layer, made_with, read_at) values(?,?,?,?) returning id"
    return path, int(db.execute(made, (path, _LAYER, row.made_with, row.read_at)).fetchone()[0])


def _parts(context: Context, session: Session, path: str, blocks: list[_Block]) -> list[Part]:
    """The messages as chunks: each one, unless it is long. The first of a message begins with the line that says who speaks."""
    title, project, group = _about(context, session)
    size, overlap = context.config.index.chunk_tokens, context.config.index.chunk_overlap
    parts = []
    for message, first, lines in blocks:
        heading = f"{title} > {lines[0].removeprefix('## ')}"
        at = context.clock.local(message.at)
        for piece, chunk in enumerate(stretches(lines[1:], size=size, overlap=overlap)):
            basis = f"{path}\n{heading}\n{message.id}\n{piece}\n{chunk.text}"
            parts.append(
                Part(
                    key=hashlib.blake2b(basis.encode("utf-8", "surrogatepass"), digest_size=5).hexdigest(),
                    first=first + (chunk.start if piece else 0),
                    last=first + chunk.end,
                    heading=heading,
                    text=chunk.text,
                    date=at.date().isoformat(),
                    stamp=Stamp(at.isoformat(), storable_name(session.id), project, group),
                    project=project,
                    audience=group,
                    label=message.speaker.value,
                    found_by=f"{project or ''} {group or ''}",
                )
            )
    return parts
