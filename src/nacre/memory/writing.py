"""Taking new things into memory: notes, talks, checkpoints, what other tools kept."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nacre.memory.reading import Reading

if TYPE_CHECKING:
    from nacre.capture.imports.plan import ImportReport
    from nacre.capture.imports.survey import Importable
    from nacre.capture.survey import Found
    from nacre.capture.sync import Progress as SyncProgress
    from nacre.capture.sync import SyncReport
    from nacre.guard.secrets import Redaction
    from nacre.model.bullet import Bullet
    from nacre.model.entry import Entry


@dataclass(frozen=True)
class Written:
    """Where something was put, and whether that changed anything."""

    path: str
    changed: bool


class Writing(Reading):
    """What comes in."""

    def remember(
        self,
        text: str,
        type: str | None = None,  # noqa: A002 - the word users know
        *,
        importance: int | None = None,
        project: str | None = None,
        here: str | None = None,
        dry_run: bool = False,
        by_agent: bool = False,
    ) -> Entry:
        """Write one thing down in today's log, at once. A secret is refused. The importance becomes OpenClaw's mark on the line.

        It is stamped with a project: the one that is named, none for "*", else that of `here` or of the current folder.
        What was forgotten is learned again when the person says it again, not when an agent does (`by_agent`);
        before what an agent wrote becomes long-term memory the person is asked.
        """
        from nacre.vault import daily

        self._must_be_private()
        if importance is not None:
            daily.checked(text, type)  # the mark must not make words of none
            text = f"{text.rstrip()} <!-- importance: {importance} -->"
        if dry_run:
            from nacre.model.entry import Entry

            kind, words = daily.checked(text, type)
            path = self.workspace.relative(self.workspace.day(self.clock.today()))
            return Entry(words, path, 0, kind, project=self._stamp(project, here)[0])
        from nacre.vault import trail
        from nacre.vault.operation import operation
        from nacre.vault.tombstones import lift

        with operation(self.workspace, self.clock, "remember", self.config) as op:
            slug, folder = self._stamp(project, here)
            entry = daily.note(
                self.workspace, self.clock, text, type, project=slug, by_agent=by_agent, config=self.config
            )
            if not by_agent:
                lift(op, entry.text)
            if folder:  # from there tidying knows where the project lies
                trail.write_once(op, trail.Captured(self.clock.today().isoformat(), "", "", {}, place=folder))
        return entry

    def _stamp(self, project: str | None, here: str | None = None) -> tuple[str, str]:
        """The slug of the project that a note is about, and its folder where nobody set that project up; empty for none."""
        from nacre.guard.secrets import redact
        from nacre.model.entry import EVERYWHERE
        from nacre.vault.projects import project_at, project_of, root_of
        from nacre.vault.workspace import slug_of

        if project is not None:
            return ("", "") if project.strip() in ("", EVERYWHERE) else (slug_of(redact(project).text), "")
        try:
            folder = here or os.getcwd()
        except OSError:  # deleted under us
            return "", ""
        name = redact(project_at(self.workspace, folder)).text
        is_known = not name or project_of(self.workspace, Path(folder))
        return slug_of(name) if name else "", "" if is_known else root_of(folder)

    def sync(
        self,
        *,
        since: str | None = None,
        exclude: Sequence[str] = (),
        progress: SyncProgress | None = None,
        dry_run: bool = False,
    ) -> SyncReport:
        """Read what was said since the last time and write it into the daily logs; then bring the index up to date."""
        from nacre.capture.run import run

        self._must_be_private()
        report = run(
            self.workspace,
            self.config,
            self.clock,
            lambda: self.brain,
            since=since,
            exclude=exclude,
            progress=progress,
            dry_run=dry_run,
        )
        if report.sections and not dry_run:
            self.index()
        return report

    def extract(self, text: str, *, write: bool = False) -> list[Bullet]:
        """What of a text is worth remembering, as lines with their types; written into today's log when asked for."""
        from nacre.capture.forgotten import not_forgotten
        from nacre.capture.told import told
        from nacre.vault import tombstones

        found = not_forgotten(tombstones.load(self.workspace), told(text, self.clock, self.brain))
        if write and found:
            from nacre.vault import daily

            self._must_be_private()

            lines, project = [one.line for one in found], self._stamp(None)[0]
            daily.notes(self.workspace, self.clock, "extract", lines, project=project, config=self.config)
        return found

    def untyped(self, *, apply: bool = False) -> list[Entry]:
        """The lines of notes that have no type, with the one each would get, or now has when asked for."""
        from nacre.capture.classify import give_types, untyped
        from nacre.vault.lock import lock

        self._must_be_private()
        if apply:
            with lock(self.workspace):  # whoever takes it completes the edit of a log that was killed
                pass
        found = untyped(self.workspace, self.brain)
        return give_types(self.workspace, self.clock, self.config, found) if apply and found else found

    def checkpoint(
        self, session: str | None = None, *, text: str | None = None, title: str | None = None, dry_run: bool = False
    ) -> Written:
        """Write a whole conversation to the hot layer: a session, by the beginning of its id or the last one; or a text."""
        from nacre.capture.checkpoint import of_session, of_text
        from nacre.capture.run import setting_of
        from nacre.vault import checkpoints

        self._must_be_private()
        setting = setting_of(self.workspace, self.config, self.clock, lambda: self.brain)
        made = of_session(setting, session) if text is None else of_text(setting, text, title)
        if dry_run:
            place = self.workspace.tiers(self.config.tiers.path) / "hot" / made.name
            return Written(self.workspace.relative(place), changed=False)
        put = checkpoints.write if made.is_talk else checkpoints.write_text
        path, changed = put(self.workspace, self.clock, made.name, made.text, self.config)
        return Written(self.workspace.relative(path), changed)

    def survey(
        self, since: str | None = None, *, exclude: Sequence[str] = (), progress: SyncProgress | None = None
    ) -> list[Found]:
        """The agents, projects and chats that `sync` would capture, with counts. Writes nothing."""
        from nacre.capture.run import moment_of, setting_of
        from nacre.capture.survey import survey

        self._must_be_private()
        setting = setting_of(self.workspace, self.config, self.clock, lambda: self.brain, exclude=exclude)
        return survey(setting, moment_of(since, self.clock) if since is not None else None, progress)

    def import_(
        self, what: str, *, since: str | None = None, progress: SyncProgress | None = None, dry_run: bool = False
    ) -> ImportReport:
        """Take in existing memories: a path, or an agent's name. Nothing is overwritten; doing it again changes nothing."""
        from nacre.capture.imports.run import import_

        self._must_be_private()
        parts = (self.workspace, self.config, self.clock, lambda: self.brain)
        report = import_(what, *parts, since=since, progress=progress, dry_run=dry_run)
        if report.wrote and not dry_run:
            self.index()
        return report

    def importable(self) -> list[Importable]:
        """What on this machine `import_` could take in, with counts. Writes nothing."""
        from nacre.capture.imports.survey import survey

        self._must_be_private()
        return survey(self.workspace, self.config, self.clock)

    def synced(self) -> dt.datetime | None:
        """When what was said was last captured; none before the first time."""
        from nacre.capture.cursors import load

        return load(self.workspace).synced

    def classify(self, text: str) -> str:
        """The kind of memory that a statement is: PREF, PROJ, TECH, LESSON, PEOPLE or TEMP."""
        return self.brain.read([text])[0].best("type")

    def category(self, text: str) -> str:
        """What a statement is in a weekly digest: decision, discovery, preference or task."""
        from nacre.tidy.compress import categories

        return categories(self.brain, [text])[0]

    def redact(self, text: str) -> Redaction:
        """The text without its secrets, and what kinds were found where."""
        from nacre.guard.secrets import redact

        return redact(text)
