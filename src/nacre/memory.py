"""The facade over every part: open a workspace, then write, search, capture and look after it."""

from __future__ import annotations

import dataclasses
import datetime as dt
import os
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from nacre import config as settings
from nacre.clock import Clock, duration, zone
from nacre.config.settings import Config
from nacre.errors import BadInput, ModelUnusable, NacreError, NotFound, NoWorkspace
from nacre.i18n import language, say, use_language
from nacre.model.context import Context, Scope
from nacre.model.report import Problem
from nacre.model.workspace import Workspace
from nacre.search.filters import Filters, checked
from nacre.vault.discover import check_own_files

if TYPE_CHECKING:
    from nacre.brain.local.judge import Judge
    from nacre.capture.importing import Importable
    from nacre.capture.importing_notes import ImportReport
    from nacre.capture.sync import Capturable, SyncReport
    from nacre.capture.sync import Progress as SyncProgress
    from nacre.context.pack import ContextPack
    from nacre.embed.protocol import Embedder
    from nacre.forget.entry import PinPlan, Why
    from nacre.forget.forgetting import Choose, ForgetReport
    from nacre.forget.target import ForgetContext
    from nacre.guard.finding import Redaction
    from nacre.index.freshness import MemoryIndex
    from nacre.index.sessions import SessionIndex
    from nacre.index.update import Progress, TextReport
    from nacre.layers.flush import Flush, FlushAnswer, FlushCheck
    from nacre.layers.organise import OrganiseReport
    from nacre.layers.promote import PromotePlan
    from nacre.model.entry import Bullet, Entry
    from nacre.model.hit import Hit, SearchReport
    from nacre.model.report import Problem, Step
    from nacre.model.verdict import Verdict
    from nacre.search.layered import RecallReport
    from nacre.search.meaning import MeaningSource
    from nacre.search.read import Excerpt
    from nacre.search.search import Corpus, SearchRequest
    from nacre.tidy.answers import AdoptPlan, Answer
    from nacre.tidy.collect import TidyContext as Desk
    from nacre.tidy.run import DecayReport, TidyReport
    from nacre.vault.files import MemoryFile
    from nacre.vault.review import Question
    from nacre.vault.undo import UndoPlan
    from nacre.vault.wal import Edit, Planner, Snapshot, SnapshotPlan
    from nacre.vault.working import State


MODES = ("hybrid", "text", "vector")
MAX_HITS = 1000  # hits of one search


def search_request(
    config: Config,
    clock: Clock,
    scope: Scope,
    *,
    limit: int | None,
    min_score: float | None,
    mode: str,
    filters: Filters | None,
) -> SearchRequest:
    """What the search is told beside its words."""
    from nacre.search.search import SearchRequest

    if mode not in MODES:
        raise BadInput(
            f'"{mode}" is not a mode; use hybrid, text or vector.',
            f"“{mode}”不是有效模式；请用 hybrid、text 或 vector。",
        )
    wanted = config.search.max_results if limit is None else limit
    if wanted < 1:
        raise BadInput("Ask for at least one result.", "请至少要求一条结果。")
    return SearchRequest(
        limit=min(wanted, MAX_HITS),
        mode=mode,
        min_score=min_score,
        filters=filters or Filters(),
        scope=scope,
        clock=clock,
        settings=config.search,
        as_of=clock.fixed is not None,
    )


def day_of(given: str | None, clock: Clock) -> str | None:
    """A day that a filter names: an ISO date, or a length of time before now such as "7d"."""
    if not given:
        return None
    if given[0].isdigit() and given[-1].isalpha():
        try:
            return (clock.now() - duration(given)).date().isoformat()
        except OverflowError:
            return "0001-01-01"  # before anything that was ever written down
    return clock.parse(given).date().isoformat()


# Which workspace is meant, and what it is opened with: its settings, its clock, trouble found on the way.


@dataclass(frozen=True)
class Opened:
    """A workspace with what holds for it."""

    workspace: Workspace
    config: Config
    clock: Clock
    problems: tuple[Problem, ...] = ()


def init_workspace(path: str | Path | None, now: str | None) -> Opened:
    """The folder as a workspace, made one where it is none yet."""
    from nacre.vault import create

    root = Path(path).expanduser() if path else default_place()
    check_own_files(Workspace(root))
    config, clock = _set_up(root, now)
    return Opened(create.init(root.absolute(), clock, language=language(), config=config), config, clock)


def find_workspace(path: str | Path | None, now: str | None, agent: str | None) -> Opened:
    """The workspace named, by its path or its agent, or the one that discovery finds."""
    from nacre.vault.discover import find_workspace

    place = find_workspace(path or (_workspace_of(agent) if agent else None), config=settings.load())
    check_own_files(place.workspace)
    config, clock = _set_up(place.workspace.root, now)
    return Opened(place.workspace, config, clock, tuple(place.problems))


def several_agents() -> tuple[str, ...]:
    """The agents whose workspaces are meant together where nobody names one; none when there is only one, or when the
    current folder or the environment names a workspace."""
    from nacre.vault.discover import find_workspace

    names = tuple(name for name, place in _agents().items() if place.is_dir())
    if len(names) > 1 and find_workspace(None, config=settings.load()).origin in ("openclaw", "settings", "default"):
        return names
    return ()


def default_place() -> Path:
    """Where a workspace is made when nobody names a place."""
    for name in ("NACRE_WORKSPACE", "OPENCLAW_WORKSPACE"):
        if os.environ.get(name):
            return Path(os.environ[name]).expanduser()
    chosen = settings.load().workspace
    if chosen:
        return Path(chosen).expanduser()
    from nacre.vault.discover import openclaw_workspace

    home = Path.home()
    return openclaw_workspace(settings.load(), os.environ, home) or home / ".nacre" / "workspace"


def _workspace_of(agent: str) -> Path:
    known = _agents()
    if agent.lower() in known:
        return known[agent.lower()]
    names = ", ".join(known) or "-"
    raise NoWorkspace(
        f'No agent "{agent}" is configured; there are: {names}.', f"没有配置代理“{agent}”；现有：{names}。"
    )


def _agents() -> dict[str, Path]:
    from nacre.vault.discover import agent_workspaces

    return agent_workspaces(settings.load())


def _set_up(root: Path, now: str | None) -> tuple[Config, Clock]:
    """The settings and the clock of a workspace."""
    config = settings.load(root)
    if config.language != "auto":
        use_language(config.language)
    clock = Clock(zone(config.timezone)).at(now or os.environ.get("NACRE_NOW") or None)
    return config, clock


# The indexes of a workspace, opened when first needed, once for all threads; and bringing them up to date.


@dataclass(frozen=True)
class IndexReport:
    """What bringing the index up to date did. `reason` says why there are no vectors, when there are none."""

    text: TextReport | None = None
    embedded: int = 0
    reason: str | None = None


class Indexes:
    """The index of memory and, where the user wants one, that of the sessions; each with its vectors."""

    def __init__(
        self, workspace: Workspace, config: Config, clock: Clock, *, embedder: Embedder | None, group: bool
    ) -> None:
        self.workspace = workspace
        self.config = config
        self.clock = clock
        self.group = group  # whether a group listens: for it sessions do not exist
        self._given_embedder = embedder
        self._lock = threading.RLock()
        self._keeper: MemoryIndex | None = None
        self._meaning: MeaningSource | None = None
        self._session_keeper: SessionIndex | None = None
        self._session_meaning: MeaningSource | None = None

    def close(self) -> None:
        """Let go of the files; the next use opens them again."""
        with self._lock:
            for keeper in (self._keeper, self._session_keeper):
                if keeper:
                    keeper.close()
            if self._meaning:
                self._meaning.close()
            self._keeper = self._meaning = self._session_keeper = self._session_meaning = None

    @property
    def keeper(self) -> MemoryIndex:
        """The index of memory."""
        with self._lock:
            if self._keeper is None:
                from nacre.index.freshness import MemoryIndex
                from nacre.index.store import Store, index_file

                store = Store(index_file(self.workspace.index), of=self.workspace.root)
                self._keeper = MemoryIndex(self.workspace, self.config, store, for_group=self.group)
            return self._keeper

    @property
    def meaning(self) -> MeaningSource:
        """The embedder, and the vectors of memory."""
        with self._lock:
            if self._meaning is None:
                from nacre.search.meaning import MeaningSource

                self._meaning = MeaningSource(self.config, self.keeper.store, self._given_embedder)
            return self._meaning

    @property
    def sessions(self) -> SessionIndex | None:
        """The index of the transcripts themselves; none unless the user wants one, and never for a group."""
        if not self.config.index.sessions or self.group:
            return None
        with self._lock:
            if self._session_keeper is None:
                from nacre.index.sessions import SessionIndex, sessions_file
                from nacre.index.store import Store

                store = Store(sessions_file(self.workspace), of=self.workspace.root)
                self._session_keeper = SessionIndex(self.workspace, self.config, store, self.clock)
            return self._session_keeper

    def corpora(self, named: str) -> list[Corpus]:
        """What a search is to look at. For a group sessions do not exist, whatever it asks for."""
        from nacre.search.search import CORPORA, Corpus

        if named not in CORPORA:
            raise BadInput(
                f'"{named}" is not a corpus; use memory, sessions or all.',
                f"“{named}”不是有效的语料；请用 memory、sessions 或 all。",
            )
        found = [Corpus(self.keeper, self.meaning)] if named != "sessions" else []
        if named == "memory" or self.group:
            return found
        keeper = self.sessions
        if keeper is None:
            raise BadInput(
                'Sessions are not indexed; "nacre config set --user index.sessions true" turns it on.',
                "会话未被索引；运行“nacre config set --user index.sessions true”即可开启。",
            )
        with self._lock:
            if self._session_meaning is None:
                self._session_meaning = self.meaning.over(keeper.store)
            return [*found, Corpus(keeper, self._session_meaning, to_the_second=True)]

    def embedder(self) -> tuple[Embedder | None, str | None]:
        """Who makes the vectors and, where something is missing or sent away, a line about it."""
        return self.meaning.chosen

    def index(self, *, progress: Progress | None = None, full: bool = False) -> IndexReport:
        """Bring text and vectors up to date with the files and the settings, and wait."""
        text = self.update(progress=progress, full=full)
        return replace(self.embed(progress=progress), text=text)

    def update(self, *, progress: Progress | None = None, full: bool = False) -> TextReport:
        """Bring the text up to date. A new generation takes over at once when no vectors are to be made."""

        def work(keeper: MemoryIndex) -> TextReport:
            report = keeper.rebuild(progress, every_file=full)
            if not self.embedder()[0]:
                keeper.finish()
            return report

        report, *others = [keeper.store.safely(partial(work, keeper)) for keeper in self._keepers()]
        report.sessions = others[0] if others else None
        if not self.config.index.sessions:
            from nacre.index.sessions import delete_sessions_index

            delete_sessions_index(self.workspace)
        return report

    def embed(self, *, progress: Progress | None = None) -> IndexReport:
        """Make the vectors that are missing, then let what was built take over."""
        from nacre.index.embedding import fill, prune

        embedder, reason = self.embedder()
        keepers = self._keepers()

        def work(keeper: MemoryIndex) -> int:
            keeper.current()
            done = fill(keeper.store, embedder, progress=progress) if embedder else 0
            keeper.finish()
            prune(keeper.store)
            return done

        try:
            done = sum(keeper.store.safely(partial(work, keeper)) for keeper in keepers)
            return IndexReport(embedded=done, reason=reason)
        except ModelUnusable as trouble:
            for keeper in keepers:
                keeper.store.safely(keeper.finish)
            return IndexReport(reason=str(trouble))

    def waiting(self, found: Sequence[MemoryFile] | None = None) -> tuple[int, int]:
        """How many files and transcripts differ from the index, and how many passages have no vector yet; who has walked over
        the files already says what was found."""
        from nacre.index.embedding import batch_for, waiting_count
        from nacre.index.update import count_changed
        from nacre.vault.files import memory_files

        store = self.keeper.store
        live = store.safely(store.live)
        found = list(memory_files(self.workspace, self.config)) if found is None else found
        files = count_changed(store, live, found) if live else len(found)
        files += self.sessions.store.safely(self.sessions.count_changed) if self.sessions else 0
        embedder = self.embedder()[0]
        stores = [keeper.store for keeper in self._keepers()]
        return files, sum(waiting_count(one.db, batch_for(one, embedder)) for one in stores) if embedder else 0

    def _keepers(self) -> list[MemoryIndex]:
        return [self.keeper, *([self.sessions] if self.sessions else [])]


# Working memory of one workspace: what is being done now, on disk before the agent answers.


class Working:
    """SESSION-STATE.md. Every change is fsynced before its method returns, and can be undone."""

    def __init__(self, workspace: Workspace, config: Config, clock: Clock) -> None:
        self.workspace = workspace
        self.config = config
        self.clock = clock
        self.problems: tuple[Problem, ...] = ()

    @classmethod
    def open(cls, path: str | Path | None = None, *, now: str | None = None, agent: str | None = None) -> Working:
        """Open it alone, without what search needs: an agent waits for every write."""

        place = find_workspace(path, now, agent)
        opened = cls(place.workspace, place.config, place.clock)
        opened.problems = place.problems
        return opened

    def task(self, text: str, *, dry_run: bool = False) -> Edit:
        """Say what is being done now."""
        from nacre.vault import wal

        return self._change("task", lambda desk: wal.task(desk, text), dry_run=dry_run)

    def drop(self, *, dry_run: bool = False) -> Edit:
        """Let the current task go unfinished."""
        from nacre.vault import wal

        return self._change("task", wal.drop, dry_run=dry_run)

    def decide(self, text: str, *, dry_run: bool = False) -> Edit:
        """Write a decision down with its time; the oldest move to today's log when there are too many."""
        from nacre.vault import wal

        return self._change("decide", lambda desk: wal.decide(desk, text), dry_run=dry_run)

    def context(self, key: str, value: str, *, dry_run: bool = False) -> Edit:
        """Keep a value by its key, in the place of the one that it had."""
        from nacre.vault import wal

        return self._change("context", lambda desk: wal.context(desk, key, value), dry_run=dry_run)

    def pending(self, text: str, *, dry_run: bool = False) -> Edit:
        """Write down what is still to be done."""
        from nacre.vault import wal

        return self._change("pending", lambda desk: wal.pending(desk, text), dry_run=dry_run)

    def done(self, which: str | int | None = None, *, dry_run: bool = False) -> Edit:
        """Finish something pending by its number or words, or the current task; today's log says so."""
        from nacre.vault import disk, wal

        wanted = None if which is None else str(which)
        today = disk.read_bytes(self.workspace.day(self.clock.today())) if wanted else None
        log = (today or b"").decode("utf-8", "replace")
        return self._change("done", lambda desk: wal.done(desk, wanted, log=log), dry_run=dry_run)

    def blocker(self, text: str, *, dry_run: bool = False) -> Edit:
        """Write down what stands in the way."""
        from nacre.vault import wal

        return self._change("blocker", lambda desk: wal.blocker(desk, text), dry_run=dry_run)

    def clear(self, which: str | int, *, dry_run: bool = False) -> Edit:
        """Take out a blocker by its number or words; today's log says so."""
        from nacre.vault import wal

        return self._change("blocker", lambda desk: wal.clear(desk, str(which)), dry_run=dry_run)

    def read(self) -> State:
        """The file as it stands."""
        from nacre.vault import working

        return working.read_state(self.workspace, self.clock)

    def shown(self) -> State:
        """The file as it may be shown: without the secrets that somebody wrote into it, and without what the eye cannot see."""
        from nacre.guard.secrets import safe_lines
        from nacre.vault.markdown import document

        state = self.read()
        text = "".join(f"{line}\n" for _, line in safe_lines(list(enumerate(state.document.bare, start=1))))
        return state._replace(document=document(state.document.path, text.encode()))

    def get(self) -> dict[str, Any]:
        """Everything that it says, without secrets: task, context, decisions, pending, blockers."""
        from nacre.vault import working

        return working.as_plain(self.shown())

    def snapshots(self) -> tuple[Snapshot, ...]:
        """The copies that are kept, newest first."""
        from nacre.vault.wal import list_snapshots

        return list_snapshots(self.workspace)

    def snapshot(self, name: str | None = None, *, dry_run: bool = False) -> SnapshotPlan:
        """Keep a copy of it as it is now."""
        from nacre.vault.wal import plan_snapshot, take_snapshot

        if dry_run:
            return plan_snapshot(self.workspace, self.clock, name)
        return take_snapshot(self.workspace, self.clock, self.config, name)

    def restore(self, name: str | None = None, *, dry_run: bool = False) -> SnapshotPlan:
        """Bring a copy back, the newest when none is named."""
        from nacre.vault.wal import plan_restore, restore_snapshot

        if dry_run:
            return plan_restore(self.workspace, name)
        return restore_snapshot(self.workspace, self.clock, self.config, name)

    def _change(self, verb: str, make: Planner, *, dry_run: bool) -> Edit:
        from nacre.vault.wal import change

        return change(self.workspace, self.clock, self.config, verb, make, dry_run=dry_run)


# What every part of the facade holds: the workspace with its settings and clock, its indexes, its brain.


class Held:
    """A workspace opened for one listener."""

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
    def keeper(self) -> MemoryIndex:
        """The index of this memory."""
        return self._indexes.keeper

    @property
    def meaning(self) -> MeaningSource:
        """The embedder and vectors of this memory."""
        return self._indexes.meaning

    @property
    def sessions(self) -> SessionIndex | None:
        """The index of the transcripts themselves; none unless the user wants one, and never for a group."""
        return self._indexes.sessions

    @property
    def brain(self) -> Judge:
        """Who says what a sentence is: our classifiers with the local models, or without where these are not installed."""
        with self._loading:
            if self._brain is None:
                from nacre.brain.local.judge import Judge, VectorCache
                from nacre.embed.local import LocalEmbedder

                embedder = LocalEmbedder()
                kept = VectorCache(self.workspace.index / "statements.npz")
                self._brain = Judge(embedder if embedder.models() else None, kept)
            return self._brain

    @property
    def state(self) -> Working:
        """Working memory, SESSION-STATE.md: the owner's alone."""

        self._must_be_private()
        return Working(self.workspace, self.config, self.clock)

    @property
    def opened(self) -> Context:
        """Workspace, settings, clock and scope as one value."""
        return Context(self.workspace, self.config, self.clock, self.scope)

    def embedder(self) -> tuple[Embedder | None, str | None]:
        """Who makes the vectors and, where something is missing or sent away, a line about it."""
        return self._indexes.embedder()

    def _must_be_private(self) -> None:
        if self.scope.group is not None:
            raise BadInput("In a group nothing is written to private memory.", "群组范围内不会写入私人记忆。")


# Finding and reading what is in memory, and the index that this rests on.


class Reading(Held):
    """What a listener may ask."""

    def index(self, *, progress: Progress | None = None, full: bool = False) -> IndexReport:
        """Bring text and vectors up to date with the files and the settings, and wait."""
        return self._indexes.index(progress=progress, full=full)

    def update(self, *, progress: Progress | None = None, full: bool = False) -> TextReport:
        """Bring the text of the index up to date. A new generation takes over at once when no vectors are to be made."""
        return self._indexes.update(progress=progress, full=full)

    def embed(self, *, progress: Progress | None = None) -> IndexReport:
        """Make the vectors that are missing, then let what was built take over."""
        return self._indexes.embed(progress=progress)

    def waiting(self, found: Sequence[MemoryFile] | None = None) -> tuple[int, int]:
        """How many files and transcripts differ from the index, and how many passages have no vector yet."""
        return self._indexes.waiting(found)

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
        days = day_of(since, self.clock), day_of(until, self.clock)
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
        from nacre.search.query import parse_question
        from nacre.search.search import answer_from, merge_reports

        clock = self.clock.at(now)
        asked = search_request(
            self.config, clock, self.scope, limit=limit, min_score=min_score, mode=mode, filters=filters
        )
        question = parse_question(query, clock.today())
        return merge_reports([answer_from(one, question, asked) for one in self._indexes.corpora(corpus)], asked.limit)

    def get(self, path: str, start_line: int | None = None, lines: int = 20, *, via: str = "get") -> Excerpt:
        """Lines of a memory file, or of a session as search names it. The path may name them itself: `memory/x.md:12`,
        `memory/x.md#L3-L9`, `#id`. Outside groups a reading counts as a recall; `via` tells which way it went."""
        from nacre.search.read import parse_place, place_of_id, read_lines, read_session

        bare, named, count = parse_place(path)
        if bare.startswith("#"):
            keeper = self.keeper
            found = keeper.store.safely(lambda: place_of_id(keeper.store, keeper.current(), self.scope, bare))
            if found:
                bare, first, last = found
                count = count or (None if named or start_line else last - first + 1)
                named = named or first
        if bare.startswith("sessions/") and (sessions := self.sessions):
            wanted = sessions, bare, start_line or named or 1, count or lines, self.clock.fixed
            if excerpt := sessions.store.safely(lambda: read_session(*wanted)):
                return excerpt
        seen = (self.keeper.store, self.keeper.current()) if self.scope.group is not None else None
        excerpt = read_lines(
            self.workspace, self.config, self.scope, bare, start_line or named or 1, count or lines, seen
        )
        if self.scope.group is None:
            from nacre.search import read as search_read

            extent = excerpt.start_line, excerpt.end_line
            trouble = search_read.count_reading(self.workspace, self.config, self.clock, excerpt.path, extent, via)
            if trouble and not any(one.kind == trouble.kind for one in self.problems):
                self.problems = (*self.problems, trouble)
        return excerpt

    def recall(self, query: str, *, limit: int = 3, dry_run: bool = False) -> RecallReport:
        """What the checkpoints know: hot, warm, gist, forgotten, as far as the first layer that answers.

        What is found becomes young again at once: it moves to a younger layer and is counted. `dry_run` only looks.
        """
        from nacre.search import layered

        self._must_be_private()
        report = layered.recall(self.workspace, self.config, query, limit)
        if dry_run or not report.found:
            return report
        from nacre.layers.organise import rotate_recalled
        from nacre.search import read

        files = [file for one in report.found for file in one.files]
        try:
            report = layered.report_moved(report, rotate_recalled(self.workspace, self.clock, self.config, files))
        except NacreError as trouble:  # locked, or read-only: the answer is worth more than its place
            report = layered.report_unmoved(report, trouble)
        uncounted = read.count_recalled(self.workspace, self.clock, report.found, query)
        return dataclasses.replace(report, problems=(*report.problems, uncounted)) if uncounted else report

    def context(
        self,
        budget: int | None = None,
        *,
        query: str | None = None,
        project: str | None = None,
        all_files: bool = False,
        mode: str = "text",
        noted: bool = True,
        here: str | None = None,
    ) -> ContextPack:
        """What a new session is given, within a budget of tokens; a group only what is its own or public.

        `query` adds what answers it; `here` is the folder that the session works in, if not the current one; `noted` keeps the pack for `nacre context --last`. Nothing of it counts as recalled: it was given, not asked for.
        """
        from nacre.context.give import give

        return give(self, budget, query=query, project=project, all_files=all_files, mode=mode, noted=noted, here=here)

    def project_here(self, here: str | None = None) -> str | None:
        """The project whose folder the current one lies in, or the one named, by the path at the head of its MEMORY.md."""
        from nacre.vault.discover import project_of

        return project_of(self.workspace, Path(here) if here else Path.cwd())


# Taking new things into memory: notes, talks, checkpoints, what other tools kept.


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
            daily.checked_note(text, type)  # the mark must not make words of none
            text = f"{text.rstrip()} <!-- importance: {importance} -->"
        if dry_run:
            from nacre.model.entry import Entry

            kind, words = daily.checked_note(text, type)
            path = self.workspace.relative(self.workspace.day(self.clock.today()))
            return Entry(words, path, 0, kind, project=self._stamp(project, here)[0])
        from nacre.vault import provenance
        from nacre.vault.history import operation
        from nacre.vault.tombstones import lift_tombstones

        with operation(self.workspace, self.clock, "remember", self.config) as op:
            slug, folder = self._stamp(project, here)
            entry = daily.append_note(
                self.workspace, self.clock, text, type, project=slug, by_agent=by_agent, config=self.config
            )
            if not by_agent:
                lift_tombstones(op, entry.text)
            if folder:  # from there tidying knows where the project lies
                provenance.write_provenance_once(
                    op, provenance.Captured(self.clock.today().isoformat(), "", "", {}, place=folder)
                )
        return entry

    def _stamp(self, project: str | None, here: str | None = None) -> tuple[str, str]:
        """The slug of the project that a note is about, and its folder where nobody set that project up; empty for none."""
        from nacre.guard.secrets import redact
        from nacre.model.entry import EVERYWHERE
        from nacre.model.workspace import slug_of
        from nacre.vault.discover import project_at, project_of, repository_root

        if project is not None:
            return ("", "") if project.strip() in ("", EVERYWHERE) else (slug_of(redact(project).text), "")
        try:
            folder = here or os.getcwd()
        except OSError:  # deleted under us
            return "", ""
        name = redact(project_at(self.workspace, folder)).text
        is_known = not name or project_of(self.workspace, Path(folder))
        return slug_of(name) if name else "", "" if is_known else repository_root(folder)

    def sync(
        self,
        *,
        since: str | None = None,
        exclude: Sequence[str] = (),
        progress: SyncProgress | None = None,
        dry_run: bool = False,
    ) -> SyncReport:
        """Read what was said since the last time and write it into the daily logs; then bring the index up to date."""
        from nacre.capture.sync import run_sync

        self._must_be_private()
        report = run_sync(
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
        from nacre.capture.extract import extract_text, not_forgotten
        from nacre.vault import tombstones

        found = not_forgotten(tombstones.load_tombstones(self.workspace), extract_text(text, self.clock, self.brain))
        if write and found:
            from nacre.vault import daily

            self._must_be_private()

            lines, project = [one.line for one in found], self._stamp(None)[0]
            daily.append_notes(self.workspace, self.clock, "extract", lines, project=project, config=self.config)
        return found

    def untyped(self, *, apply: bool = False) -> list[Entry]:
        """The lines of notes that have no type, with the one each would get, or now has when asked for."""
        from nacre.capture.extract import give_types, untyped
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
        from nacre.capture.checkpoint import checkpoint_of_session, checkpoint_of_text
        from nacre.capture.sync import sync_setup
        from nacre.vault import checkpoints

        self._must_be_private()
        setting = sync_setup(self.workspace, self.config, self.clock, lambda: self.brain)
        made = checkpoint_of_session(setting, session) if text is None else checkpoint_of_text(setting, text, title)
        if dry_run:
            place = self.workspace.tiers(self.config.tiers.path) / "hot" / made.name
            return Written(self.workspace.relative(place), changed=False)
        put = checkpoints.write_checkpoint if made.is_talk else checkpoints.write_text_checkpoint
        path, changed = put(self.workspace, self.clock, made.name, made.text, self.config)
        return Written(self.workspace.relative(path), changed)

    def survey(
        self, since: str | None = None, *, exclude: Sequence[str] = (), progress: SyncProgress | None = None
    ) -> list[Capturable]:
        """The agents, projects and chats that `sync` would capture, with counts. Writes nothing."""
        from nacre.capture.sync import parse_since, survey_sessions, sync_setup

        self._must_be_private()
        setting = sync_setup(self.workspace, self.config, self.clock, lambda: self.brain, exclude=exclude)
        return survey_sessions(setting, parse_since(since, self.clock) if since is not None else None, progress)

    def import_(
        self, what: str, *, since: str | None = None, progress: SyncProgress | None = None, dry_run: bool = False
    ) -> ImportReport:
        """Take in existing memories: a path, or an agent's name. Nothing is overwritten; doing it again changes nothing."""
        from nacre.capture.importing import import_

        self._must_be_private()
        parts = (self.workspace, self.config, self.clock, lambda: self.brain)
        report = import_(what, *parts, since=since, progress=progress, dry_run=dry_run)
        if report.wrote and not dry_run:
            self.index()
        return report

    def importable(self) -> list[Importable]:
        """What on this machine `import_` could take in, with counts. Writes nothing."""
        from nacre.capture.importing import survey_importable

        self._must_be_private()
        return survey_importable(self.workspace, self.config, self.clock)

    def synced(self) -> dt.datetime | None:
        """When what was said was last captured; none before the first time."""
        from nacre.capture.cursors import load_cursors

        return load_cursors(self.workspace).synced

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


# Looking after what is in memory: tidying, deciding, forgetting, fading, taking back.


class Tending(Reading):
    """What is done with memories afterwards."""

    def judge(self, text: str, existing: Sequence[str] | None = None) -> Verdict:
        """The four-way test alone: would this text be admitted to long-term memory beside what exists? Writes nothing.

        Without `existing`, what stands in MEMORY.md counts.
        """
        from nacre.tidy.judge import test_one_text
        from nacre.vault import longterm

        if existing is None and self.scope.group is not None:
            existing = []
        if existing is None:
            here = longterm.read_longterm(self.workspace.longterm)
            existing = [entry.words for entry in here.entries] if here else []
        return test_one_text(self.brain, text, existing)

    def _desk(self) -> Desk:
        from nacre.tidy.collect import TidyContext as Desk

        self._must_be_private()
        return Desk(self.workspace, self.clock, self.config, lambda: self.brain)

    def tidy(self, *, dry_run: bool = False) -> TidyReport:
        """Press old days into weeks, distil what lasts into MEMORY.md, archive; then bring the index up to date."""
        from nacre.tidy.run import run_tidy

        report = run_tidy(self._desk(), dry_run=dry_run)
        if report.changed and not dry_run:
            self.index()
        return report

    def organise(self, *, dry_run: bool = False) -> OrganiseReport:
        """Bring every checkpoint into the layer where its age and its recalls put it; then bring the index up to date."""
        from nacre.layers.organise import by_brain, organise

        self._must_be_private()
        summarise = by_brain(lambda: self.brain)
        report = organise(self.workspace, self.clock, self.config, summarise, dry_run=dry_run)
        if report.steps and not dry_run:
            self.index()
        return report

    def questions(self) -> list[Question]:
        """What long-term memory could not decide alone; `answer` takes the user's word on it."""
        from nacre.vault import review

        self._must_be_private()
        return review.read_review(self.workspace)

    def answer(self, answers: list[Answer], *, dry_run: bool = False) -> tuple[Step, ...]:
        """Carry out the user's answers to `questions`."""
        from nacre.tidy.answers import give_answers

        steps = give_answers(self._desk(), answers, dry_run=dry_run)
        if not dry_run:
            self.index()
        return steps

    def adopting(self) -> list[AdoptPlan]:
        """For each MEMORY.md that is over its limits: what would move where. Writes nothing."""
        from nacre.tidy.answers import plan_adopt

        return plan_adopt(self._desk())

    def adopt(self, planned: Sequence[AdoptPlan]) -> None:
        """Carry out what `adopting` planned, with the user's consent."""
        from nacre.tidy.answers import apply_adopt

        apply_adopt(self._desk(), planned)
        self.index()

    def undo(self, number: int | None = None, *, last: int = 1, dry_run: bool = False) -> UndoPlan:
        """Take an operation back by its number in `history`, or the last ones. What leaves long-term memory with it is not added
        again unasked."""
        from nacre.vault.undo import plan_undo, undo

        self._must_be_private()
        return (plan_undo if dry_run else undo)(self.workspace, self.clock, self.config, number, last=last)

    def forget(
        self,
        id_or_query: str,
        *,
        purge: bool = False,
        dry_run: bool = False,
        similar: bool = False,
        choose: Choose | None = None,
    ) -> ForgetReport:
        """Take a fact out of memory, with every line that says it: by the id of a hit, by its words, or by `path:line` and its words.
        `choose` is asked about everything else: a line number alone, a query, words that fit several things."""
        from nacre.forget.forgetting import forget_memory

        report = forget_memory(
            self._room(), id_or_query, choose=choose, similar=similar, purging=purge, dry_run=dry_run
        )
        if report.purged and report.purged.rebuilt:
            self.index()
        return report

    def pin(self, id: str, *, off: bool = False, dry_run: bool = False) -> PinPlan:  # noqa: A002 - the word users know
        """Keep an entry of a MEMORY.md whatever happens, or no longer."""
        from nacre.forget import entry
        from nacre.forget.forgetting import one_target

        lines, target = one_target(room := self._room(), id)
        made = entry.plan_pin(room, target, lines, off=off)
        if not dry_run:
            entry.apply_pin(room, made)
        return made

    def why(self, id: str) -> Why:  # noqa: A002 - the word users know
        """Where a memory comes from: the lines, the session and the message behind it, and what the ledger tells."""
        from nacre.forget.entry import why
        from nacre.forget.forgetting import one_target

        lines, target = one_target(room := self._room(), id)
        return why(room, target, lines)

    def flush(
        self,
        tokens: int | None = None,
        window: int | None = None,
        *,
        session: str = "default",
        compactions: int | None = None,
        dry_run: bool = False,
    ) -> Flush:
        """Whether the turn before compaction is due, with the prompts for it; without counts only the prompts. Never for a group."""
        from nacre.layers import flush

        if self.scope.group is not None:
            return flush.Flush(flush.GROUP, say("In a group nothing is written down.", "群组范围内不作记录。"))
        place = self.workspace, self.clock, self.config
        if tokens is None or window is None:
            return flush.flush_blocked(*place) or flush.Flush("prompts", "", 0, *flush.flush_prompts_for(*place))
        return flush.ask_flush(*place, tokens, window, session=session, compactions=compactions, dry_run=dry_run)

    def flush_answer(self, text: str, *, session: str = "default", dry_run: bool = False) -> FlushAnswer:
        """Take the agent's answer to the turn before compaction into today's log."""
        from nacre.layers.flush import take_answer

        self._must_be_private()
        return take_answer(self.workspace, self.clock, self.config, text, session=session, dry_run=dry_run)

    def flush_check(self, *, session: str = "default", restore: bool = False) -> tuple[FlushCheck, tuple[str, ...]]:
        """Which reference files changed since a session got the prompts; those that were brought back, where asked for."""
        from nacre.layers import flush

        self._must_be_private()
        checked = flush.check_flush(self.workspace, self.clock, session)
        back = flush.restore_files(self.workspace, self.clock, self.config, checked.touched) if restore else ()
        return checked, back

    def decay(self, *, promote_only: bool = False, dry_run: bool = False) -> DecayReport:
        """Promote what lasts in the oldest logs and archive them, where `tidy.retention` is "decay"."""
        from nacre.tidy.run import run_decay

        report = run_decay(self._desk(), promote_only=promote_only, dry_run=dry_run)
        if report.changed and not dry_run:
            self.index()
        return report

    def promote(self, *, apply: bool = False, dry_run: bool = False) -> PromotePlan:
        """Nominate checkpoints that were recalled often, and write promote_report.md; with `apply`, carry out what it proposes."""
        from nacre.layers import promote

        desk = self._desk()
        if dry_run:
            return promote.plan_promotion(desk)
        made = promote.promote(
            desk,
            lambda op, made: promote.write_report(op, self.promote_report(made, applied=apply)),
            applying=apply,
        )
        if apply and made.promoted:
            self.index()
        return made

    def promote_report(self, made: PromotePlan, *, applied: bool = False) -> str:
        """What `promote` found, as Markdown."""
        from nacre.layers.promote import promotion_report

        when = self.clock.now().isoformat(sep=" ", timespec="minutes")[:16]
        return promotion_report(made, self.workspace, when, applied=applied)

    def _room(self) -> ForgetContext:
        """What forgetting, pinning and asking why work with; none of it is for a group."""
        from nacre.forget.target import ForgetContext

        self._must_be_private()
        return ForgetContext(self.workspace, self.clock, self.config, lambda: self.keeper, self.search)


# A fresh start: the talk that goes on is put away, the layers are put in order, and a new session is told what it
# should know.


@dataclass(frozen=True)
class Refreshed:
    """What each of the four steps came to. Without a talk to put away, `missing` says so."""

    checkpoint: Written | None
    missing: str
    organised: OrganiseReport
    promoted: PromotePlan
    context: ContextPack


def run_refresh(memory: Memory, session: str | None, *, apply: bool, budget: int | None, dry_run: bool) -> Refreshed:
    """checkpoint → organise → promote → context. A session that is named must be there; without one, none is missed."""
    put_away, missing = None, ""
    try:
        put_away = memory.checkpoint(session, dry_run=dry_run)
    except NotFound as trouble:
        if session is not None:
            raise
        missing = str(trouble)
    organised = memory.organise(dry_run=dry_run)
    promoted = memory.promote(apply=apply, dry_run=dry_run)
    return Refreshed(put_away, missing, organised, promoted, memory.context(budget, noted=not dry_run))


# The facade: the only place where the parts are wired together.


class Memory(Writing, Tending):
    """One workspace, opened for one listener. Safe to use from many threads; many processes may have it open."""

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
        made = init_workspace(path, now)
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
        found = find_workspace(path, now, agent)
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
        several = () if path or agent else several_agents()
        for one in several or (agent,):
            yield cls.open(path, now=now, agent=one, scope=scope)

    def refresh(
        self, session: str | None = None, *, apply: bool = False, budget: int | None = None, dry_run: bool = False
    ) -> Refreshed:
        """Put the talk that goes on into the hot layer, organise, promote, and give a fresh context."""

        return run_refresh(self, session, apply=apply, budget=budget, dry_run=dry_run)
