"""A session as a document of the index: one block of lines for each redacted message, stored in one transaction."""

from __future__ import annotations

import datetime as dt
import hashlib
import re
import sqlite3
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from nacre.clock import Clock
from nacre.guard import privacy
from nacre.guard.sanitise import clean
from nacre.guard.secrets import redact, redact_messages, storable_name
from nacre.index import sessions, update
from nacre.index.document import Part
from nacre.index.sessions import INDEXED, Exclusions, Span, Task, TranscriptRow
from nacre.index.store import Generation, Store
from nacre.index.update import TextReport
from nacre.model.session import Kind, Message, Session, Speaker
from nacre.model.workspace import Workspace, slug_of
from nacre.sources.reading import Mark
from nacre.sources.registry import group_stamp, project_name
from nacre.text.chunk import stretches
from nacre.text.stamps import Stamp
from nacre.text.tokens import tokens
from nacre.vault.discover import project_of

SESSION_LAYER = "session"
SESSIONS_FOLDER = "sessions/"
FIRST_LINE = 3  # where the first message begins: the title and an empty line stand above it
_NAMES = {Speaker.OWNER: "Owner", Speaker.AGENT: "Agent", Speaker.OTHER: "Other"}
_UNUSUAL = re.compile(r"[^\w.-]+")
_LONGEST_NAME = 100
Local = Callable[[dt.datetime], dt.datetime]


class SessionAbout(NamedTuple):
    """What holds for every message of a session."""

    agent: str
    session: str
    project: str | None = None
    group: str | None = None

    @property
    def title(self) -> str:
        parts = [f"{self.agent} session:{plain_name(self.session)}"]
        parts += [f"project:{self.project}"] if self.project else []
        parts += [f"group:{self.group}"] if self.group else []
        return " | ".join(parts)


class MessageBlock(NamedTuple):
    """One message: its heading, then its words, from line `first` on."""

    message: Message
    at: dt.datetime  # as the user's clock told it
    first: int
    lines: tuple[str, ...]

    @property
    def last(self) -> int:
        return self.first + len(self.lines) - 1


def plain_name(name: str) -> str:
    """A name that can stand in a path and in a heading."""
    return _UNUSUAL.sub("-", redact(name).text)[:_LONGEST_NAME].strip(".-") or "unnamed"


def about_session(workspace: Workspace, session: Session) -> SessionAbout:
    project = project_name(session, lambda cwd: project_of(workspace, Path(cwd)), str(workspace.root))
    group = session.group if session.kind is Kind.GROUP else ""
    stamp = group_stamp(group, session.chat) if group else None
    return SessionAbout(
        session.agent, storable_name(session.id), slug_of(redact(project).text) if project else None, stamp
    )


def document_path(about: SessionAbout) -> str:
    return f"{SESSIONS_FOLDER}{plain_name(about.agent)}/{plain_name(about.session)}.md"


def render_message(message: Message, local: Local) -> tuple[str, ...]:
    """The heading of a message and its words; nothing where no word is left."""
    words = redact(clean(message.text)).text.strip()
    if not words:
        return ()
    return (f"## {local(message.at):%Y-%m-%d %H:%M} {_NAMES[message.speaker]}", *words.split("\n"))


def message_blocks(messages: Iterable[Message], first: int, local: Local) -> list[MessageBlock]:
    """The messages one below the other, from a line on, with an empty line after each."""
    found: list[MessageBlock] = []
    for message in messages:
        if lines := render_message(message, local):
            found.append(MessageBlock(message, local(message.at), first, lines))
            first = found[-1].last + 2
    return found


def block_parts(about: SessionAbout, path: str, block: MessageBlock, *, size: int, overlap: int) -> list[Part]:
    """A message as chunks: one, unless it is long. The first begins with the line that says who speaks."""
    heading = f"{about.title} > {block.lines[0].removeprefix('## ')}"
    found: list[Part] = []
    for piece, chunk in enumerate(stretches(list(block.lines[1:]), size=size, overlap=overlap)):
        basis = f"{path}\n{heading}\n{block.message.id}\n{piece}\n{chunk.text}"
        found.append(
            Part(
                key=hashlib.blake2b(basis.encode("utf-8", "surrogatepass"), digest_size=5).hexdigest(),
                first=block.first + (chunk.start if piece else 0),
                last=block.first + chunk.end,
                heading=heading,
                text=chunk.text,
                date=block.at.date().isoformat(),
                stamp=Stamp(block.at.isoformat(), about.session, about.project, about.group),
                project=about.project,
                audience=about.group,
                label=block.message.speaker.value,
                tags=(),
                context="",
            )
        )
    return found


def session_heading_tokens(part: Part) -> str:
    """The words above a message by which it is found too: its project and its group."""
    return " ".join(tokens(f"{part.project or ''} {part.audience or ''}"))


# One transcript into the index of sessions: read on or anew, then stored in one transaction.


@dataclass(frozen=True)
class Intake:
    """Everything that one run takes transcripts in with."""

    workspace: Workspace
    store: Store
    generation: Generation
    clock: Clock
    left_out: Exclusions
    report: TextReport

    def take(self, task: Task) -> bool:
        """Read a transcript and store it; returns whether it took the place of what was stored before."""
        before, transcript = task.before, task.transcript
        read_at = time.time_ns()
        try:
            reading = task.source.read(transcript, before.read_to if before and not task.anew else None, None)
        except OSError:
            self.report.unreadable.append(str(transcript.path))
            return False
        session = reading.session
        if session is None and not reading.whole and not reading.unknown:
            return False  # its database is busy: the next time
        self.report.read += 1
        state = self.left_out.state(session)
        anew = task.anew or reading.rewritten
        goes_on = before and session and _goes_on(before, session) and not privacy.reaches_back(session.messages)
        if before and session and state == INDEXED and not anew and not goes_on:
            return self.take(task._replace(anew=True))
        begun, ended = _span(session, None if anew else before) or (None, None)
        known = TranscriptRow(
            key=transcript.key,
            place=str(transcript.path),
            agent=transcript.agent,
            state=state,
            stamp=sessions.stamp_text(transcript),
            mark=sessions.mark_text(reading.mark),
            whole=reading.whole or session is None,
            told=sessions.listed_kind(transcript) or (before.told if before else ""),
            session=session.id if session else "",
            kind=session.kind.value if session else "",
            cwd=session.cwd if session else "",
            chat=session.group if session else "",
            begun=begun,
            ended=ended,
            pauses="",
            read_at=read_at,
        )
        known = _without_secrets(known._replace(pauses=self.left_out.pauses_in(known.span)))
        self._store(before, known, session if state == INDEXED else None, anew=anew)
        return anew and before is not None

    def _store(
        self, before: TranscriptRow | None, known: TranscriptRow, session: Session | None, *, anew: bool
    ) -> None:
        """Store what was read: below what is there, or in its place. Without a session nothing of it stays."""
        stands = before is not None and before.file is not None and not anew and session is not None
        if before and stands:
            known = known._replace(file=before.file, messages=before.messages, chunks=before.chunks, lines=before.lines)
        blocks: list[MessageBlock] = []
        if session:
            said = privacy.drop_private(self.left_out.outside_pauses(session.messages))
            said = redact_messages([message for message in said if message.speaker is not Speaker.OTHER])
            blocks = message_blocks(said, known.lines or FIRST_LINE, self.clock.local)
        with self.store.writing() as db:
            if sessions.last_read(db, self.generation, known.key) != (before.read_at if before else None):
                return  # another process was faster
            if before and before.file is not None and not blocks and not stands:
                update.remove_file(db, self.generation, before.file)
                self.report.removed += 1
            if session and blocks:
                known = self._store_blocks(db, before, known, session, blocks)
                self.report.changed += 1
            sessions.save_row(db, self.generation, known)

    def _store_blocks(
        self,
        db: sqlite3.Connection,
        before: TranscriptRow | None,
        known: TranscriptRow,
        session: Session,
        blocks: list[MessageBlock],
    ) -> TranscriptRow:
        generation, stands = self.generation, known.file is not None
        about = about_session(self.workspace, session)
        path, file = _document(db, generation, before.file if before else None, document_path(about), known)
        size, overlap = generation.chunk_tokens, generation.chunk_overlap
        parts = [part for block in blocks for part in block_parts(about, path, block, size=size, overlap=overlap)]
        if stands:
            for position, part in enumerate(parts, known.chunks):
                update.add_chunk(db, generation, file, SESSION_LAYER, position, part, session_heading_tokens)
        else:
            update.replace_chunks(db, generation, file, SESSION_LAYER, parts, session_heading_tokens)
        places = [(storable_name(block.message.id), block.first, block.last) for block in blocks]
        sessions.save_message_lines(db, file, known.messages, places)
        self.report.chunks += len(parts)
        return known._replace(
            file=file,
            messages=known.messages + len(blocks),
            chunks=known.chunks + len(parts),
            lines=blocks[-1].last + 2,
        )


def _without_secrets(known: TranscriptRow) -> TranscriptRow:
    """What is kept of a transcript; where a name holds a secret its hash stands, and all is read again the next time."""
    safe = known._replace(
        key=storable_name(known.key),
        place=storable_name(known.place),
        session=storable_name(known.session),
        cwd=storable_name(known.cwd),
        chat=storable_name(known.chat),
    )
    return safe if safe == known else safe._replace(mark=sessions.mark_text(Mark()))


def _goes_on(before: TranscriptRow, session: Session) -> bool:
    """Whether what is new can stand below what was read before: the same session, known for the same kind of talk."""
    same = (before.session, before.kind, before.cwd, before.chat)
    return before.state == INDEXED and same == (session.id, session.kind.value, session.cwd, session.group)


def _span(session: Session | None, before: TranscriptRow | None) -> Span | None:
    """The times of the first and the last message of all that was read."""
    moments = [message.at for message in session.messages] if session else []
    moments += [dt.datetime.fromisoformat(moment) for moment in (before.span if before else None) or ()]
    return (min(moments).isoformat(), max(moments).isoformat()) if moments else None


def _document(
    db: sqlite3.Connection, generation: Generation, file: int | None, wanted: str, known: TranscriptRow
) -> tuple[str, int]:
    """The path and the number of a session's document. One that another transcript has already gets a name of its own."""
    path = wanted
    taken = db.execute("select id from files where generation = ? and path = ?", (generation.id, path)).fetchone()
    if taken and taken[0] != file:
        path = f"{wanted.removesuffix('.md')}-{hashlib.blake2b(known.key.encode(), digest_size=3).hexdigest()}.md"
    if file is not None:
        db.execute("update files set path = ? where id = ?", (path, file))
        return path, file
    made = "insert into files(generation, path, layer, read_at) values(?,?,?,?) returning id"
    return path, int(db.execute(made, (generation.id, path, SESSION_LAYER, known.read_at)).fetchone()[0])
