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
from collections.abc import Iterator, Sequence
from pathlib import Path

from nacre.clock import Clock
from nacre.config import Config
from nacre.guard.secrets import hashed, name_kept
from nacre.index import rows, transcripts
from nacre.index.keeper import Keeper
from nacre.index.left_out import LeftOut
from nacre.index.scrub import overwrite_deleted, scrub
from nacre.index.store import Generation, Store, index_file, wanted_settings
from nacre.index.transcripts import LEFT_OUT, Known, Task
from nacre.index.update import Progress, TextReport
from nacre.sources import consent
from nacre.sources.readonly import looking_into
from nacre.sources.transcript import Places, Source, Transcript
from nacre.sources.whose import belongs_to, places_of
from nacre.vault.projects import project_places
from nacre.vault.workspace import Workspace

FILE = "sessions.sqlite"
RENDERING = 1  # goes up when the same message would take other lines than before


def sessions_file(workspace: Workspace) -> Path:
    return index_file(workspace.index, FILE)


def delete(workspace: Workspace) -> bool:
    """Delete the index of sessions, as when the user no longer wants one; whether there was any."""
    folder = sessions_file(workspace).parent
    found = sorted(folder.glob(f"{FILE}*")) if folder.is_dir() else []
    for one in found:
        one.unlink(missing_ok=True)
    return bool(found)


class SessionKeeper(Keeper):
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
        return transcripts.counts(self.store.db, self.store.live())

    def count_changed(self) -> int:
        """How many transcripts differ from what the index knows of them; those that are gone count too."""
        live = self.store.live()
        if live is None:
            return sum(1 for _ in self._found())
        transcripts.prepare(self.store)
        known = transcripts.load(self.store.db, live)
        tasks, hidden = self._plan(known, self._left_out(known), every=False)
        return len(tasks) + len(hidden) + len(known)

    def lines(self, path: str, first: int, last: int, until: dt.datetime | None) -> list[str] | None:
        """The document of a session, its messages between two lines read from the transcript and redacted at this moment.

        All other messages are empty lines. Those after `until` are not there at all. None when the path is no session's.
        """
        from nacre.index import talk

        generation = self.current()
        known = transcripts.find(self.store.db, generation, path)
        if known is None or known.key not in self._listed:
            return None
        source, transcript = self._listed[known.key]
        try:
            session = source.read(transcript, None, None).session
        except OSError:
            return None
        if session is None:
            return None
        messages = {name_kept(message.id): message for message in session.messages}
        shown = [f"# {talk.about(self.workspace, session).title}", *[""] * known.lines]
        end_of_all = 1
        for name, begin, end in transcripts.said(self.store.db, known):
            message = messages.get(name)
            if message is None or (until and message.at > until):
                continue
            end_of_all = max(end_of_all, end)
            if begin <= last and end >= first:
                block = talk.lines_of(message, self.clock.local)[: end - begin + 1]
                shown[begin - 1 : begin - 1 + len(block)] = block
        return shown[:end_of_all]

    def _left_out(self, known: dict[str, Known]) -> LeftOut:
        folders = {str(Path.home()), *project_places(self.workspace).values(), *(one.cwd for one in known.values())}
        return LeftOut(self.config, consent.pauses(self.workspace), folders)

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
        transcripts.prepare(self.store)
        report = TextReport()
        known = transcripts.load(self.store.db, generation)
        left_out = self._left_out(known)
        tasks, hidden = self._plan(known, left_out, every=every_file)
        overwrite_deleted(self.store)
        gone = [one for one in known.values() if not self._cannot_tell(one)]
        if gone or hidden:
            with self.store.writing() as db:
                for one in (*gone, *hidden):
                    report.removed += _remove(db, generation, one, keep=one in hidden)
        replaced = False
        if tasks:
            from nacre.index.intake import Intake  # only what is new pays for the machinery of chunks and secrets

            intake = Intake(self.workspace, self.store, generation, self.clock, left_out, report)
            for number, task in enumerate(tasks, 1):
                replaced |= intake.take(task)
                if progress:
                    progress(number, len(tasks))
        if gone or hidden or replaced:
            scrub(self.store, generation)
        report.files = transcripts.counts(self.store.db, generation)[0]
        return report

    def _plan(self, known: dict[str, Known], left_out: LeftOut, *, every: bool) -> tuple[list[Task], list[Known]]:
        """What to read, and what to take out because it is left out now. What is gone remains in `known`."""
        tasks: list[Task] = []
        hidden: list[Known] = []
        listed: dict[str, tuple[Source, Transcript]] = {}
        for source, transcript in self._found():
            before = known.pop(transcript.key, None) or known.pop(hashed(transcript.key), None)
            listed[before.key if before else transcript.key] = (source, transcript)
            if before is None:
                tasks.append(Task(source, transcript, None, anew=True))
                continue
            # What is left out is not even read; where its folder is not known, what was added may tell it.
            if left_out.holds(before) and (before.cwd or before.stamp == transcripts.stamp(transcript)):
                hidden += [before] if before.file is not None else []
                continue
            kind = transcripts.told(transcript)
            anew = (
                every
                or before.state == LEFT_OUT
                or before.cwd.startswith("#")  # a hash: only the transcript can tell whether it is left out
                or bool(kind and kind != before.told)
                or before.pauses != left_out.pauses_in(before.span)
            )
            if anew or before.stamp != transcripts.stamp(transcript) or not before.whole:
                tasks.append(Task(source, transcript, before, anew))
        self._listed = listed
        return tasks, hidden

    def _cannot_tell(self, one: Known) -> bool:
        """Whether a transcript that was not listed may be there all the same: in a database that is busy just now."""
        if not consent.settings_of(self.config, one.agent).enabled or not os.path.isfile(one.place):
            return False
        try:
            with looking_into(Path(one.place)) as connection:
                connection.execute("select 1 from sqlite_master limit 1").fetchall()
        except sqlite3.OperationalError:
            return True
        except sqlite3.Error:
            pass  # no database
        return False


def _remove(db: sqlite3.Connection, generation: Generation, one: Known, *, keep: bool) -> int:
    """Take a session out of the index; `keep` that there is one, so that it need not be read to be left out."""
    if transcripts.version(db, generation, one.key) != one.read_at:
        return 0  # another process was faster
    if one.file is not None:
        rows.remove(db, generation, one.file)
    if keep:
        out = one._replace(state=LEFT_OUT, file=None, messages=0, chunks=0, lines=0, read_at=time.time_ns())
        transcripts.save(db, generation, out)
    else:
        transcripts.forget(db, generation, one.key)
    return one.file is not None
