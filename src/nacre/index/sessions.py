"""The index of sessions, opt-in by `index.sessions`: transcripts → consent → redacted messages → chunks, by deltas.

It is a file of its own beside the index of memory, so that a search of memory is the same with it and without. The transcripts
stay where they are: the index knows how far it read each (`transcripts`), and reads only what was added.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import os
import re
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from nacre.guard import privacy
from nacre.guard.sanitise import clean
from nacre.guard.secrets import hash_name, redact, redact_messages, storable_name
from nacre.index.document import Part
from nacre.index.freshness import MemoryIndex, Progress, TextReport, add_chunk, remove_file, replace_chunks
from nacre.index.store import Store, index_file, wanted_settings
from nacre.model.context import Context
from nacre.model.session import Kind, Message, Session, Speaker
from nacre.model.workspace import Workspace, slug_of
from nacre.sources import consent
from nacre.sources.registry import belongs_to, group_stamp, places_of, project_name
from nacre.sources.transcript import Mark, Places, Source, Transcript, open_readonly
from nacre.text.chunk import stretches
from nacre.text.stamps import Stamp
from nacre.vault.discover import project_of, project_places

SESSIONS_FILE = "sessions.sqlite"
_RENDERING = 1  # goes up when the same message would take other lines than before
_LAYER = "session"
_FIRST_LINE = 3  # where the first message begins: the title and an empty line stand above it
_NAMES = {Speaker.OWNER: "Owner", Speaker.AGENT: "Agent", Speaker.OTHER: "Other"}
_UNUSUAL = re.compile(r"[^\w.-]+")
_LONGEST_NAME = 100
_INDEXED, _EXCLUDED, _NOT_A_SESSION = "taken", "left out", "no talk"
_TABLES = (
    """create table transcripts(
  key text primary key, place text not null, agent text not null, state text not null, made_with text not null,
  stamp text not null, mark text not null, whole integer not null, listed text not null,
  session text not null, kind text not null, cwd text not null, chat text not null, begun text, ended text, pauses text not null,
  file integer, messages integer not null, chunks integer not null, lines integer not null, read_at integer not null) without rowid""",
    "create index transcript_file on transcripts(file)",
    """create table said(
  file integer not null, position integer not null, message text not null, first integer not null, last integer not null,
  primary key(file, position)) without rowid""",
    "create trigger said_goes after delete on files begin delete from said where file = old.id; end",
)
_HAS_TABLES = "select 1 from sqlite_master where name = 'transcripts'"


class _Row(NamedTuple):
    """One transcript as it was when it was last read. Plain values: most of them are only compared."""

    key: str
    place: str  # the file that holds it
    agent: str
    state: str
    made_with: str  # the settings
    stamp: str
    mark: str
    whole: bool | int
    listed: str  # what the listing said of its kind and group
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

    def save(self, db: sqlite3.Connection) -> None:
        db.execute(f"insert or replace into transcripts({_COLUMNS}) values({','.join('?' * len(self))})", self)


_COLUMNS = ",".join(_Row._fields)


class _Task(NamedTuple):
    """A transcript to be read: on from where it was left, or from its beginning."""

    source: Source
    transcript: Transcript
    before: _Row | None
    anew: bool


def sessions_file(workspace: Workspace) -> Path:
    return index_file(workspace.index, SESSIONS_FILE)


def delete_sessions_index(workspace: Workspace) -> bool:
    """Delete the index of sessions, as when the user no longer wants one; whether there was any."""
    files = list(sessions_file(workspace).parent.glob(f"{SESSIONS_FILE}*"))
    for file in files:
        file.unlink(missing_ok=True)
    return bool(files)


class SessionIndex(MemoryIndex):
    """Keeps the index of sessions true to the transcripts: a look at their sizes and times, then what is new in them."""

    to_the_second = True

    def __init__(self, context: Context, store: Store, *, places: Places | None = None) -> None:
        super().__init__(context, store)
        self._sources: Sequence[Source] | None = None
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
        tasks, hidden = self._plan(rows, _Exclusions(self.context, rows.values()))
        return len(tasks) + len(hidden) + len(rows)

    def lines(self, path: str, first: int, last: int, until: dt.datetime | None) -> list[str] | None:
        """The document of a session, its messages between two lines read from the transcript and redacted at this
        moment. All other messages are empty lines. Those after `until` are not there at all. None when the path is no
        session's."""
        self.current()
        db = self.store.db
        query = "select key, file, lines from transcripts where file in (select id from files where path = ?)"
        row = db.execute(query, (path,)).fetchone()
        if row is None or row[0] not in self._listed:
            return None
        source, transcript = self._listed[row[0]]
        try:
            session = source.read(transcript, None, None).session
        except OSError:
            return None
        if session is None:
            return None
        messages = {storable_name(message.id): message for message in session.messages}
        title, _, _ = _about(self.context, session)
        shown = [f"# {title}", *[""] * row[2]]
        end = 1
        query = "select message, first, last from said where file = ? order by position"
        for name, begins, ends in db.execute(query, (row[1],)):
            message = messages.get(name)
            if message is None or (until and message.at > until):
                continue
            end = max(end, ends)
            if begins <= last and ends >= first:
                block = _render(message, self.context)[: ends - begins + 1]
                shown[begins - 1 : begins - 1 + len(block)] = block
        return shown[:end]

    def _transcripts(self) -> Iterator[tuple[Source, Transcript]]:
        """The transcripts of the agents that are not left out, as far as they belong to this workspace."""
        if self._sources is None:
            from nacre.sources.registry import sources

            self._sources = sources()
        belongs_here = belongs_to(self.context.workspace, self.context.config)
        for source in self._sources:
            if consent.settings_of(self.context.config, source.agent).enabled:
                yield from ((source, transcript) for transcript in filter(belongs_here, source.find(self._places)))

    def _rows(self) -> dict[str, _Row]:
        if not self.store.db.execute(_HAS_TABLES).fetchone():
            with self.store.writing() as db:
                for statement in _TABLES if not db.execute(_HAS_TABLES).fetchone() else ():
                    db.execute(statement)
        return {row[0]: _Row(*row) for row in self.store.db.execute(f"select {_COLUMNS} from transcripts")}

    def _bring_up(self, progress: Progress | None, *, every_file: bool = False, outdated: bool = False) -> TextReport:
        report = TextReport()
        rows = self._rows()
        exclusions = _Exclusions(self.context, rows.values())
        tasks, hidden = self._plan(rows, exclusions, every=every_file, outdated=outdated)
        self.store.db.execute("pragma secure_delete = on")  # what is taken out is overwritten
        gone = [row for row in rows.values() if not self._may_be_there(row)]
        if gone or hidden:
            with self.store.writing() as db:
                for row in (*gone, *hidden):
                    same = "select 1 from transcripts where key = ? and read_at = ?"
                    if not db.execute(same, (row.key, row.read_at)).fetchone():
                        continue  # another process was faster
                    if row.file is not None:
                        remove_file(db, row.file)
                        report.removed += 1
                    if row in hidden:  # that there is one is kept, so that it need not be read to be left out
                        out = row._replace(state=_EXCLUDED, file=None, messages=0, chunks=0, lines=0)
                        out._replace(read_at=time.time_ns()).save(db)
                    else:
                        db.execute("delete from transcripts where key = ?", (row.key,))
        replaced = False
        for number, task in enumerate(tasks, 1):
            replaced |= self._take(task, exclusions, report)
            if progress:
                progress(number, len(tasks))
        if gone or hidden or replaced:
            self.store.scrub()
        report.files = self.counts()[0]
        return report

    def _plan(
        self, rows: dict[str, _Row], exclusions: _Exclusions, *, every: bool = False, outdated: bool = False
    ) -> tuple[list[_Task], list[_Row]]:
        """What to read, and what to take out because it is left out now. What is gone remains in `rows`."""
        tasks: list[_Task] = []
        hidden: list[_Row] = []
        self._listed = {}
        for source, transcript in self._transcripts():
            before = rows.pop(transcript.key, None) or rows.pop(hash_name(transcript.key), None)
            self._listed[before.key if before else transcript.key] = (source, transcript)
            if before is None:
                tasks.append(_Task(source, transcript, None, anew=True))
                continue
            unchanged = before.stamp == " ".join(map(str, transcript.stamp))
            # What is left out is not even read; where its folder is not known, what was added may tell it.
            stored = Session(before.session, before.agent, Kind.MAIN, None, (), cwd=before.cwd, group=before.chat)
            if (before.cwd or unchanged) and exclusions.excludes(stored):
                hidden += [before] if before.file is not None else []
                continue
            kind = _listed_kind(transcript)
            anew = (
                every
                or (before.made_with != self.wanted and (outdated or not unchanged))
                or before.state == _EXCLUDED
                or before.cwd.startswith("#")  # a hash: only the transcript can tell whether it is left out
                or bool(kind and kind != before.listed)
                or before.pauses != exclusions.pauses_between(before.begun, before.ended)
            )
            if anew or not unchanged or not before.whole:
                tasks.append(_Task(source, transcript, before, anew))
        return tasks, hidden

    def _may_be_there(self, row: _Row) -> bool:
        """Whether a transcript that was not listed may be there all the same: in a database that is busy just now."""
        if not consent.settings_of(self.context.config, row.agent).enabled or not os.path.isfile(row.place):
            return False
        try:
            with open_readonly(Path(row.place)) as connection:
                connection.execute("select 1 from sqlite_master limit 1").fetchall()
        except sqlite3.DatabaseError as error:
            return isinstance(error, sqlite3.OperationalError)  # else it is no database
        return False

    def _take(self, task: _Task, exclusions: _Exclusions, report: TextReport) -> bool:
        """Read a transcript and store it; returns whether it took the place of what was stored before."""
        before, transcript = task.before, task.transcript
        read_at = time.time_ns()
        left_at = Mark(*json.loads(before.mark)) if before and not task.anew else None
        try:
            reading = task.source.read(transcript, left_at, None)
        except OSError:
            report.unreadable.append(str(transcript.path))
            return False
        session = reading.session
        if session is None and not reading.whole and not reading.unknown:
            return False  # its database is busy: the next time
        report.read += 1
        if session is None or session.kind is Kind.ISOLATED:
            state = _NOT_A_SESSION
        else:
            state = _EXCLUDED if exclusions.excludes(session) else _INDEXED
        anew = task.anew or reading.rewritten
        if before and session and state == _INDEXED and not anew:
            # What is new can stand below what was read before where it is the same session, of the same kind.
            stored = (before.state, before.session, before.kind, before.cwd, before.chat)
            same = stored == (state, session.id, session.kind.value, session.cwd, session.group)
            if not same or privacy.reaches_back(session.messages):
                return self._take(task._replace(anew=True), exclusions, report)
        moments = [message.at for message in session.messages] if session else []
        if before and before.begun and before.ended and not anew:
            moments += [dt.datetime.fromisoformat(before.begun), dt.datetime.fromisoformat(before.ended)]
        begun, ended = (min(moments).isoformat(), max(moments).isoformat()) if moments else (None, None)
        names = {"key": transcript.key, "place": str(transcript.path), "session": "", "cwd": "", "chat": ""}
        if session:
            names |= {"session": session.id, "cwd": session.cwd, "chat": session.group}
        storable: dict[str, Any] = {field: storable_name(name) for field, name in names.items()}
        mark = reading.mark if storable == names else Mark()  # a name holds a secret: all is read again the next time
        row = _Row(
            **storable,
            agent=transcript.agent,
            state=state,
            made_with=self.wanted,
            stamp=" ".join(map(str, transcript.stamp)),
            mark=json.dumps([mark.offset, mark.fingerprint, dict(mark.facts)], ensure_ascii=False),
            whole=reading.whole or session is None,
            listed=_listed_kind(transcript) or (before.listed if before else ""),
            kind=session.kind.value if session else "",
            begun=begun,
            ended=ended,
            pauses=exclusions.pauses_between(begun, ended),
            read_at=read_at,
        )
        # Stored below what is there, or in its place. Of what is not to be indexed nothing stays.
        appends = before is not None and before.file is not None and not anew and state == _INDEXED
        if before and appends:
            row = row._replace(file=before.file, messages=before.messages, chunks=before.chunks, lines=before.lines)
        blocks: list[tuple[Message, int, list[str]]] = []  # with the first line of each, and an empty one after it
        if session and state == _INDEXED:
            kept = privacy.drop_private(consent.outside_pauses(session.messages, exclusions.pauses))
            first = row.lines or _FIRST_LINE
            for message in redact_messages([message for message in kept if message.speaker is not Speaker.OTHER]):
                if lines := _render(message, self.context):
                    blocks.append((message, first, lines))
                    first += len(lines) + 1
        with self.store.writing() as db:
            stored = db.execute("select read_at from transcripts where key = ?", (row.key,)).fetchone()
            if stored != ((before.read_at,) if before else None):
                return anew and before is not None  # another process was faster
            if before and before.file is not None and before.made_with != row.made_with:
                remove_file(db, before.file)  # nothing of it is as it would be made now
                before = before._replace(file=None)
            if session and blocks:
                path, file = _document(db, before.file if before else None, session, row)
                parts = _parts(self.context, session, path, blocks)
                if appends:
                    for position, part in enumerate(parts, row.chunks):
                        add_chunk(db, file, _LAYER, position, part)
                else:
                    replace_chunks(db, file, _LAYER, parts)
                db.execute("delete from said where file = ? and position >= ?", (file, row.messages))
                for position, (message, first, lines) in enumerate(blocks, row.messages):
                    said = (file, position, storable_name(message.id), first, first + len(lines) - 1)
                    db.execute("insert into said values(?,?,?,?,?)", said)
                report.changed += 1
                row = row._replace(
                    file=file,
                    messages=row.messages + len(blocks),
                    chunks=row.chunks + len(parts),
                    lines=said[-1] + 2,
                )
            elif before and before.file is not None and not appends:
                remove_file(db, before.file)
                report.removed += 1
            row.save(db)
        return anew and before is not None


class _Exclusions:
    """What the user leaves out: agents, projects and chats by the settings, folders by their own sign, spans of time by the pauses."""

    def __init__(self, context: Context, rows: Iterable[_Row]) -> None:
        self._config = context.config
        self.pauses = consent.pauses(context.workspace)
        self._folders = {str(Path.home()), *project_places(context.workspace).values(), *(row.cwd for row in rows)}
        self._signs: dict[str, bool] = {}  # whether a folder carries the sign: asked once in a run

    def excludes(self, session: Session) -> bool:
        patterns = consent.settings_of(self._config, session.agent).exclude
        if (patterns and consent.is_left_out(session, patterns)) or self._signed(session.cwd):
            return True
        return consent.lacks_folder(session) and (bool(patterns) or any(map(self._signed, self._folders)))

    def _signed(self, folder: str) -> bool:
        if folder not in self._signs:
            self._signs[folder] = consent.opted_out(folder)
        return self._signs[folder]

    def pauses_between(self, begun: str | None, ended: str | None) -> str:
        """The pauses that touch a span, as far as they do: where one begins before it or ends after it makes no difference."""
        if not begun or not ended or not self.pauses:
            return ""
        first, last = dt.datetime.fromisoformat(begun), dt.datetime.fromisoformat(ended)
        touching = [
            (max(pause.begin, first).isoformat(), pause.end.isoformat() if pause.end and pause.end <= last else None)
            for pause in self.pauses
            if pause.begin <= last and (pause.end is None or pause.end > first)
        ]
        return json.dumps(touching) if touching else ""


def _listed_kind(transcript: Transcript) -> str:
    """What the listing says of a session's kind and group; empty when nothing."""
    return " ".join(str(fact) for name in ("kind", "group") if (fact := transcript.facts.get(name)))


def _plain(name: str) -> str:
    return _UNUSUAL.sub("-", redact(name).text)[:_LONGEST_NAME].strip(".-") or "unnamed"


def _about(context: Context, session: Session) -> tuple[str, str | None, str | None]:
    """The title of a session's document, and the project and group it is stamped with."""
    workspace = context.workspace
    name = project_name(session, lambda cwd: project_of(workspace, Path(cwd)), str(workspace.root))
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


def _parts(context: Context, session: Session, path: str, blocks: list[tuple[Message, int, list[str]]]) -> list[Part]:
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
