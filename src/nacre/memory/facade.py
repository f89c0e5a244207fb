"""The facade: the only place where the parts are wired together."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from nacre.clock import Clock
from nacre.config import Config
from nacre.errors import BadInput
from nacre.memory import asking, opening
from nacre.memory.indexes import Indexes, IndexReport
from nacre.recall.filters import Filters, Scope, checked
from nacre.vault.workspace import Workspace
from nacre.words import say

if TYPE_CHECKING:
    from nacre.brain.local.judge import Judge
    from nacre.capture.imports.plan import ImportReport
    from nacre.capture.imports.survey import Importable
    from nacre.capture.survey import Found
    from nacre.capture.sync import Progress as SyncProgress
    from nacre.capture.sync import SyncReport
    from nacre.embed.protocol import Embedder
    from nacre.guard.secrets import Redaction
    from nacre.index.keeper import Keeper
    from nacre.index.sessions import SessionKeeper
    from nacre.index.update import Progress, TextReport
    from nacre.lifecycle.forgetting import Choose, ForgetReport
    from nacre.lifecycle.pin import PinPlan
    from nacre.lifecycle.target import Room
    from nacre.lifecycle.why import Why
    from nacre.model.bullet import Bullet
    from nacre.model.entry import Entry
    from nacre.model.hit import Hit, SearchReport
    from nacre.model.plan import Step
    from nacre.model.problem import Problem
    from nacre.model.verdict import Verdict
    from nacre.recall.meaning import MeaningSource
    from nacre.recall.read import Excerpt
    from nacre.tidy.adopt import AdoptPlan
    from nacre.tidy.answers import Answer
    from nacre.tidy.room import Room as Desk
    from nacre.tidy.run import TidyReport
    from nacre.vault.review import Item
    from nacre.vault.undo import UndoPlan


@dataclass(frozen=True)
class Written:
    """Where something was put, and whether that changed anything."""

    path: str
    changed: bool


class Memory:
    """One workspace, opened for one listener. Safe to use from many threads; many processes may have it open."""

    def __init__(
        self,
        workspace: Workspace,
        config: Config,
        clock: Clock,
        *,
        scope: str = "main",
        problems: Sequence[Problem] = (),
        embedder: Embedder | None = None,
    ) -> None:
        self.workspace = workspace
        self.config = config
        self.clock = clock
        self.scope = Scope.parse(scope)
        self.problems = (*config.problems, *problems)
        self.agent: str | None = None
        group = self.scope.group is not None
        self._indexes = Indexes(workspace, config, clock, embedder=embedder, group=group)
        self._brain: Judge | None = None
        self._loading = threading.Lock()

    @classmethod
    def init(
        cls,
        path: str | Path | None = None,
        *,
        now: str | None = None,
        scope: str = "main",
        embedder: Embedder | None = None,
    ) -> Memory:
        """Make the folder a workspace, or open it when it is one. Without a path: the place that `open` would look at last.

        An `embedder` of your own takes the place of the one that the settings choose.
        """
        made = opening.initialised(path, now)
        return cls(made.workspace, made.config, made.clock, scope=scope, embedder=embedder)

    @classmethod
    def open(
        cls,
        path: str | Path | None = None,
        *,
        now: str | None = None,
        agent: str | None = None,
        scope: str = "main",
        embedder: Embedder | None = None,
    ) -> Memory:
        """Open a workspace: the one named, or the one that discovery finds. Never makes one."""
        found = opening.found(path, now, agent)
        memory = cls(
            found.workspace, found.config, found.clock, scope=scope, problems=found.problems, embedder=embedder
        )
        memory.agent = agent
        return memory

    @classmethod
    def open_all(
        cls, path: str | Path | None = None, *, now: str | None = None, agent: str | None = None, scope: str = "main"
    ) -> Iterator[Memory]:
        """The workspace that `open` would open; every agent's, when several are configured and none is named."""
        several = () if path or agent else opening.several_agents()
        for one in several or (agent,):
            yield cls.open(path, now=now, agent=one, scope=scope)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the index; the next use opens it again."""
        self._indexes.close()

    @property
    def keeper(self) -> Keeper:
        """The index of this memory."""
        return self._indexes.keeper

    @property
    def meaning(self) -> MeaningSource:
        """The embedder and vectors of this memory."""
        return self._indexes.meaning

    @property
    def sessions(self) -> SessionKeeper | None:
        """The index of the transcripts themselves; none unless the user wants one, and never for a group."""
        return self._indexes.sessions

    @property
    def brain(self) -> Judge:
        """Who says what a sentence is: our classifiers with the local models, or without where these are not installed."""
        with self._loading:
            if self._brain is None:
                from nacre.brain.local.judge import Judge
                from nacre.embed.local import LocalEmbedder

                embedder = LocalEmbedder()
                self._brain = Judge(embedder if embedder.models() else None)
            return self._brain

    def embedder(self) -> tuple[Embedder | None, str | None]:
        """Who makes the vectors and, where something is missing or sent away, a line about it."""
        return self._indexes.embedder()

    def index(self, *, progress: Progress | None = None, full: bool = False) -> IndexReport:
        """Bring text and vectors up to date with the files and the settings, and wait."""
        return self._indexes.index(progress=progress, full=full)

    def update(self, *, progress: Progress | None = None, full: bool = False) -> TextReport:
        """Bring the text of the index up to date. A new generation takes over at once when no vectors are to be made."""
        return self._indexes.update(progress=progress, full=full)

    def embed(self, *, progress: Progress | None = None) -> IndexReport:
        """Make the vectors that are missing, then let what was built take over."""
        return self._indexes.embed(progress=progress)

    def waiting(self) -> tuple[int, int]:
        """How many files and transcripts differ from the index, and how many passages have no vector yet."""
        return self._indexes.waiting()

    def search(
        self,
        query: str,
        limit: int | None = None,
        *,
        min_score: float | None = None,
        now: str | dt.date | dt.datetime | None = None,
        since: str | None = None,
        until: str | None = None,
        layers: Sequence[str] | None = None,
        mode: str = "hybrid",
        type: str | None = None,  # noqa: A002 - the word users know
        tag: str | None = None,
        path: str | None = None,
        project: str | None = None,
        corpus: str = "memory",
    ) -> list[Hit]:
        """The passages that answer, best first; none when nothing does. `min_score=0` ranks and never abstains."""
        report = self.ask(
            query,
            limit,
            min_score=min_score,
            now=now,
            mode=mode,
            corpus=corpus,
            filters=self.filters(
                since=since, until=until, layers=layers, type=type, tag=tag, path=path, project=project
            ),
        )
        return list(report.hits)

    def filters(
        self,
        *,
        since: str | None = None,
        until: str | None = None,
        layers: Sequence[str] | None = None,
        type: str | None = None,  # noqa: A002 - the word users know
        tag: str | None = None,
        path: str | None = None,
        project: str | None = None,
    ) -> Filters:
        """Filters as users give them; a day may be a date, or a length of time before now such as "7d"."""
        days = asking.day_of(since, self.clock), asking.day_of(until, self.clock)
        return checked(Filters(*days, tuple(layers or ()), type=type, tag=tag, path=path, project=project))

    def ask(
        self,
        query: str,
        limit: int | None = None,
        *,
        min_score: float | None = None,
        now: str | dt.date | dt.datetime | None = None,
        mode: str = "hybrid",
        filters: Filters | None = None,
        corpus: str = "memory",
    ) -> SearchReport:
        """`search` with how it was come by: mode, model, fallback, whether we abstained."""
        from nacre.recall.corpora import answer, merged
        from nacre.recall.question import understand

        clock = self.clock.at(now)
        asked = asking.asked(
            self.config, clock, self.scope, limit=limit, min_score=min_score, mode=mode, filters=filters
        )
        question = understand(query, clock.today())
        return merged([answer(one, question, asked) for one in self._indexes.corpora(corpus)], asked.limit)

    def get(self, path: str, start_line: int | None = None, lines: int = 20) -> Excerpt:
        """Lines of a memory file, or of a session as search names it. The path may name them itself: `memory/x.md:12`,
        `memory/x.md#L3-L9`."""
        from nacre.recall.read import place, read, read_session

        bare, named, count = place(path)
        if bare.startswith("sessions/") and (sessions := self.sessions):
            wanted = sessions, bare, start_line or named or 1, count or lines, self.clock.fixed
            if excerpt := sessions.store.safely(lambda: read_session(*wanted)):
                return excerpt
        keeper = self.keeper
        seen = (keeper.store, keeper.current()) if self.scope.group is not None else None
        return read(self.workspace, self.config, self.scope, bare, start_line or named or 1, count or lines, seen)

    def remember(self, text: str, type: str | None = None, *, dry_run: bool = False) -> Entry:  # noqa: A002 - the word users know
        """Write one thing down in today's log, at once. A secret is refused."""
        from nacre.vault import daily

        self._must_be_private()
        if dry_run:
            from nacre.model.entry import Entry

            kind, words = daily.checked(text, type)
            return Entry(words, self.workspace.relative(self.workspace.day(self.clock.today())), 0, kind)
        from nacre.capture.forgotten import lift
        from nacre.vault.operation import operation

        with operation(self.workspace, self.clock, "remember", self.config) as op:
            entry = daily.note(self.workspace, self.clock, text, type, config=self.config)
            lift(op, entry.text)
        return entry

    def classify(self, text: str) -> str:
        """The kind of memory that a statement is: PREF, PROJ, TECH, LESSON, PEOPLE or TEMP."""
        return self.brain.read([text])[0].best("type")

    def category(self, text: str) -> str:
        """What a statement is in a weekly digest: decision, discovery, preference or task."""
        from nacre.tidy.compress import categories

        return categories(self.brain, [text])[0]

    def judge(self, text: str, existing: Sequence[str] | None = None) -> Verdict:
        """The four-way test alone: would this text be admitted to long-term memory beside what exists? Writes nothing.

        Without `existing`, what stands in MEMORY.md counts.
        """
        from nacre.tidy.admit import judged_alone
        from nacre.vault import longterm

        if existing is None and self.scope.group is not None:
            existing = []
        if existing is None:
            here = longterm.read(self.workspace.longterm)
            existing = [entry.words for entry in here.entries] if here else []
        return judged_alone(self.brain, text, existing)

    def _desk(self) -> Desk:
        from nacre.tidy.room import Room as Desk

        self._must_be_private()
        return Desk(self.workspace, self.clock, self.config, lambda: self.brain)

    def undo(self, count: int = 1, *, only: int | None = None, dry_run: bool = False) -> UndoPlan:
        """Take the last changes back, or one by its number. What left long-term memory with it is not added again unasked."""
        from nacre.tidy.takenback import undone
        from nacre.vault.undo import plan

        if dry_run:
            return plan(self.workspace, self.config, count, only=only)
        return undone(self.workspace, self.clock, self.config, count, only=only)

    def questions(self) -> list[Item]:
        """What long-term memory could not decide alone; `answer` takes the user's word on it."""
        from nacre.vault import review

        self._must_be_private()
        return review.read(self.workspace)

    def answer(self, answers: list[Answer], *, dry_run: bool = False) -> tuple[Step, ...]:
        """Carry out the user's answers to `questions`."""
        from nacre.tidy.answers import give

        steps = give(self._desk(), answers, dry_run=dry_run)
        if not dry_run:
            self.index()
        return steps

    def adopting(self) -> list[AdoptPlan]:
        """For each MEMORY.md that is over its limits: what would move where. Writes nothing."""
        from nacre.tidy.adopt import plan

        return plan(self._desk())

    def adopt(self, planned: Sequence[AdoptPlan]) -> None:
        """Carry out what `adopting` planned, with the user's consent."""
        from nacre.tidy.adopt import apply

        apply(self._desk(), planned)
        self.index()

    def tidy(self, *, dry_run: bool = False) -> TidyReport:
        """Press old days into weeks, distil what lasts into MEMORY.md, archive; then bring the index up to date."""
        from nacre.tidy.run import run

        report = run(self._desk(), dry_run=dry_run)
        if report.changed and not dry_run:
            self.index()
        return report

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

            daily.notes(self.workspace, self.clock, "extract", [one.line for one in found], config=self.config)
        return found

    def untyped(self, *, apply: bool = False) -> list[Entry]:
        """The lines of notes that have no type, with the one each would get, or now has when asked for."""
        from nacre.capture.classify import give_types, untyped

        found = untyped(self.workspace, self.brain)
        return give_types(self.workspace, self.clock, self.config, found) if apply and found else found

    def checkpoint(
        self, session: str | None = None, *, text: str | None = None, title: str | None = None, dry_run: bool = False
    ) -> Written:
        """Write a whole conversation to the hot layer: a session, by the beginning of its id or the last one; or a text."""
        from nacre.capture.checkpoint import of_session, of_text
        from nacre.capture.run import setting_of
        from nacre.vault import checkpoints

        setting = setting_of(self.workspace, self.config, self.clock, lambda: self.brain)
        made = of_session(setting, session) if text is None else of_text(setting, text, title)
        if dry_run:
            place = self.workspace.tiers(self.config.tiers.path) / "hot" / made.name
            return Written(self.workspace.relative(place), changed=False)
        path, changed = checkpoints.write(self.workspace, self.clock, made.name, made.text, self.config)
        return Written(self.workspace.relative(path), changed)

    def survey(self, since: str | None = None, *, exclude: Sequence[str] = ()) -> list[Found]:
        """The agents, projects and chats that `sync` would capture, with counts. Writes nothing."""
        from nacre.capture.run import moment_of, setting_of
        from nacre.capture.survey import survey

        setting = setting_of(self.workspace, self.config, self.clock, lambda: self.brain, exclude=exclude)
        return survey(setting, moment_of(since, self.clock) if since is not None else None)

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

        return survey(self.workspace, self.config, self.clock)

    def synced(self) -> dt.datetime | None:
        """When what was said was last captured; none before the first time."""
        from nacre.capture.cursors import load

        return load(self.workspace).synced

    def project_here(self) -> str | None:
        """The project whose folder the current one lies in, by the path named at the head of its MEMORY.md."""
        from nacre.vault.projects import project_of

        return project_of(self.workspace, Path.cwd())

    def redact(self, text: str) -> Redaction:
        """The text without its secrets, and what kinds were found where."""
        from nacre.guard.secrets import redact

        return redact(text)

    def forget(
        self,
        id_or_query: str,
        *,
        purge: bool = False,
        dry_run: bool = False,
        similar: bool = False,
        choose: Choose | None = None,
    ) -> ForgetReport:
        """Take a fact out of memory, with every line that says it: by the id of a hit, by `path:line`, or by words that fit one
        thing alone. `choose` is asked where they fit several."""
        from nacre.lifecycle.forgetting import forgetting

        report = forgetting(self._room(), id_or_query, choose=choose, similar=similar, purging=purge, dry_run=dry_run)
        if report.purged and report.purged.rebuilt:
            self.index()
        return report

    def pin(self, id: str, *, off: bool = False, dry_run: bool = False) -> PinPlan:  # noqa: A002 - the word users know
        """Keep an entry of a MEMORY.md whatever happens, or no longer."""
        from nacre.lifecycle import pin
        from nacre.lifecycle.forgetting import one_target

        lines, target = one_target(room := self._room(), id)
        made = pin.plan(room, target, lines, off=off)
        if not dry_run:
            pin.apply(room, made)
        return made

    def why(self, id: str) -> Why:  # noqa: A002 - the word users know
        """Where a memory comes from: the lines, the session and the message behind it, and what the ledger tells."""
        from nacre.lifecycle.forgetting import one_target
        from nacre.lifecycle.why import why

        lines, target = one_target(room := self._room(), id)
        return why(room, target, lines)

    def _room(self) -> Room:
        """What forgetting, pinning and asking why work with; none of it is for a group."""
        from nacre.lifecycle.target import Room

        self._must_be_private()
        return Room(self.workspace, self.clock, self.config, lambda: self.keeper, self.search)

    def _must_be_private(self) -> None:
        if self.scope.group is not None:
            raise BadInput(say("In a group nothing is written to private memory.", "群组范围内不会写入私人记忆。"))
