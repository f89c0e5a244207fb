"""One transcript into the index of sessions: read on or anew, then stored in one transaction."""

from __future__ import annotations

import datetime as dt
import hashlib
import sqlite3
import time
from dataclasses import dataclass

from nacre.clock import Clock
from nacre.guard import silence
from nacre.guard.secrets import name_kept
from nacre.guard.together import redacted
from nacre.index import rows, talk, transcripts
from nacre.index.left_out import LeftOut
from nacre.index.store import Generation, Store
from nacre.index.transcripts import TAKEN, Known, Span, Task
from nacre.index.update import TextReport
from nacre.model.session import Session, Speaker
from nacre.sources.transcript import Mark
from nacre.vault.workspace import Workspace


@dataclass(frozen=True)
class Intake:
    """Everything that one run takes transcripts in with."""

    workspace: Workspace
    store: Store
    generation: Generation
    clock: Clock
    left_out: LeftOut
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
        goes_on = before and session and _goes_on(before, session) and not silence.reaches_back(session.messages)
        if before and session and state == TAKEN and not anew and not goes_on:
            return self.take(task._replace(anew=True))
        begun, ended = _span(session, None if anew else before) or (None, None)
        known = Known(
            key=transcript.key,
            place=str(transcript.path),
            agent=transcript.agent,
            state=state,
            stamp=transcripts.stamp(transcript),
            mark=transcripts.as_text(reading.mark),
            whole=reading.whole or session is None,
            told=transcripts.told(transcript) or (before.told if before else ""),
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
        self._store(before, known, session if state == TAKEN else None, anew=anew)
        return anew and before is not None

    def _store(self, before: Known | None, known: Known, session: Session | None, *, anew: bool) -> None:
        """Store what was read: below what is there, or in its place. Without a session nothing of it stays."""
        stands = before is not None and before.file is not None and not anew and session is not None
        if before and stands:
            known = known._replace(file=before.file, messages=before.messages, chunks=before.chunks, lines=before.lines)
        blocks: list[talk.Block] = []
        if session:
            said = silence.kept(self.left_out.outside_pauses(session.messages))
            said = redacted([message for message in said if message.speaker is not Speaker.OTHER])
            blocks = talk.blocks(said, known.lines or talk.FIRST, self.clock.local)
        with self.store.writing() as db:
            if transcripts.version(db, self.generation, known.key) != (before.read_at if before else None):
                return  # another process was faster
            if before and before.file is not None and not blocks and not stands:
                rows.remove(db, self.generation, before.file)
                self.report.removed += 1
            if session and blocks:
                known = self._store_blocks(db, before, known, session, blocks)
                self.report.changed += 1
            transcripts.save(db, self.generation, known)

    def _store_blocks(
        self, db: sqlite3.Connection, before: Known | None, known: Known, session: Session, blocks: list[talk.Block]
    ) -> Known:
        generation, stands = self.generation, known.file is not None
        about = talk.about(self.workspace, session)
        path, file = _document(db, generation, before.file if before else None, talk.path_of(about), known)
        size, overlap = generation.chunk_tokens, generation.chunk_overlap
        parts = [part for block in blocks for part in talk.parts_of(about, path, block, size=size, overlap=overlap)]
        if stands:
            for position, part in enumerate(parts, known.chunks):
                rows.add(db, generation, file, talk.LAYER, position, part, talk.heading_tokens)
        else:
            rows.replace(db, generation, file, talk.LAYER, parts, talk.heading_tokens)
        places = [(name_kept(block.message.id), block.first, block.last) for block in blocks]
        transcripts.note_said(db, file, known.messages, places)
        self.report.chunks += len(parts)
        return known._replace(
            file=file,
            messages=known.messages + len(blocks),
            chunks=known.chunks + len(parts),
            lines=blocks[-1].last + 2,
        )


def _without_secrets(known: Known) -> Known:
    """What is kept of a transcript; where a name holds a secret its hash stands, and all is read again the next time."""
    safe = known._replace(
        key=name_kept(known.key),
        place=name_kept(known.place),
        session=name_kept(known.session),
        cwd=name_kept(known.cwd),
        chat=name_kept(known.chat),
    )
    return safe if safe == known else safe._replace(mark=transcripts.as_text(Mark()))


def _goes_on(before: Known, session: Session) -> bool:
    """Whether what is new can stand below what was read before: the same session, known for the same kind of talk."""
    same = (before.session, before.kind, before.cwd, before.chat)
    return before.state == TAKEN and same == (session.id, session.kind.value, session.cwd, session.group)


def _span(session: Session | None, before: Known | None) -> Span | None:
    """The times of the first and the last message of all that was read."""
    moments = [message.at for message in session.messages] if session else []
    moments += [dt.datetime.fromisoformat(moment) for moment in (before.span if before else None) or ()]
    return (min(moments).isoformat(), max(moments).isoformat()) if moments else None


def _document(
    db: sqlite3.Connection, generation: Generation, file: int | None, wanted: str, known: Known
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
    return path, int(db.execute(made, (generation.id, path, talk.LAYER, known.read_at)).fetchone()[0])
