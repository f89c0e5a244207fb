"""The facade: the only place where the parts are wired together."""

from __future__ import annotations

import dataclasses
import datetime as dt
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from nacre import config as settings
from nacre.clock import Clock, zone
from nacre.config import Config
from nacre.errors import BadInput, ModelUnusable, NoWorkspace
from nacre.recall.filters import Filters, Scope, checked
from nacre.vault.ownfiles import check_own_files
from nacre.vault.workspace import Workspace
from nacre.words import language, say, use_language

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
    from nacre.model.bullet import Bullet
    from nacre.model.entry import Entry
    from nacre.model.hit import Hit, SearchReport
    from nacre.model.problem import Problem
    from nacre.recall.corpora import Corpus
    from nacre.recall.meaning import MeaningSource
    from nacre.recall.read import Excerpt

MODES = ("hybrid", "text", "vector")


@dataclass(frozen=True)
class Written:
    """Where something was put, and whether that changed anything."""

    path: str
    changed: bool


@dataclass(frozen=True)
class IndexReport:
    """What bringing the index up to date did. `reason` says why there are no vectors, when there are none."""

    text: TextReport | None = None
    embedded: int = 0
    reason: str | None = None


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
        self._given_embedder = embedder
        self._lock = threading.RLock()
        self._keeper: Keeper | None = None
        self._meaning: MeaningSource | None = None
        self._session_keeper: SessionKeeper | None = None
        self._session_meaning: MeaningSource | None = None
        self._judge: Judge | None = None

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
        from nacre.vault import create

        root = Path(path).expanduser() if path else default_place()
        check_own_files(Workspace(root))
        config, clock = _set_up(root, now)
        workspace = create.init(Path(root).absolute(), clock, language=language(), config=config)
        return cls(workspace, config, clock, scope=scope, embedder=embedder)

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
        if agent and not path:
            named = _agents().get(agent.lower())
            if named is None:
                known = ", ".join(_agents()) or "-"
                raise NoWorkspace(
                    say(
                        f'No agent "{agent}" is configured; there are: {known}.',
                        f"没有配置代理“{agent}”；现有：{known}。",
                    )
                )
            path = named
        from nacre.vault.discover import find

        found = find(path, config=settings.load())
        check_own_files(found.workspace)
        config, clock = _set_up(found.workspace.root, now)
        memory = cls(found.workspace, config, clock, scope=scope, problems=found.problems, embedder=embedder)
        memory.agent = agent
        return memory

    @classmethod
    def open_all(
        cls, path: str | Path | None = None, *, now: str | None = None, agent: str | None = None, scope: str = "main"
    ) -> Iterator[Memory]:
        """The workspace that `open` would open; every agent's, when several are configured and none is named."""
        several = {} if path or agent else {name: place for name, place in _agents().items() if place.is_dir()}
        if len(several) > 1:
            from nacre.vault.discover import find

            if find(None, config=settings.load()).origin in ("openclaw", "settings", "default"):
                for name in several:
                    yield cls.open(None, now=now, agent=name, scope=scope)
                return
        yield cls.open(path, now=now, agent=agent, scope=scope)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the index; the next use opens it again."""
        with self._lock:
            for keeper in (self._keeper, self._session_keeper):
                if keeper:
                    keeper.close()
            self._keeper = self._meaning = self._session_keeper = self._session_meaning = None

    @property
    def keeper(self) -> Keeper:
        """The index of this memory; opened when first needed, once for all threads."""
        with self._lock:
            if self._keeper is None:
                from nacre.index.keeper import Keeper
                from nacre.index.store import Store, index_file

                self._keeper = Keeper(self.workspace, self.config, Store(index_file(self.workspace.index)))
            return self._keeper

    @property
    def meaning(self) -> MeaningSource:
        """The embedder and vectors of this memory."""
        with self._lock:
            if self._meaning is None:
                from nacre.recall.meaning import MeaningSource

                self._meaning = MeaningSource(self.config, self.keeper.store, self._given_embedder)
            return self._meaning

    @property
    def sessions(self) -> SessionKeeper | None:
        """The index of the transcripts themselves; none unless the user wants one, and never for a group."""
        if not self.config.index.sessions or self.scope.group is not None:
            return None
        with self._lock:
            if self._session_keeper is None:
                from nacre.index.sessions import SessionKeeper, sessions_file
                from nacre.index.store import Store

                store = Store(sessions_file(self.workspace))
                self._session_keeper = SessionKeeper(self.workspace, self.config, store, self.clock)
            return self._session_keeper

    def _keepers(self) -> list[Keeper]:
        return [self.keeper, *([self.sessions] if self.sessions else [])]

    def _corpora(self, named: str) -> list[Corpus]:
        """What a search is to look at. For a group sessions do not exist, whatever it asks for."""
        from nacre.recall.corpora import CORPORA, Corpus

        if named not in CORPORA:
            raise BadInput(
                say(
                    f'"{named}" is not a corpus; use memory, sessions or all.',
                    f"“{named}”不是有效的语料；请用 memory、sessions 或 all。",
                )
            )
        found = [Corpus(self.keeper, self.meaning)] if named != "sessions" else []
        if named == "memory" or self.scope.group is not None:
            return found
        keeper = self.sessions
        if keeper is None:
            raise BadInput(
                say(
                    'Sessions are not indexed; "nacre config set --user index.sessions true" turns it on.',
                    "会话未被索引；运行“nacre config set --user index.sessions true”即可开启。",
                )
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
        return dataclasses.replace(self.embed(progress=progress), text=text)

    def update(self, *, progress: Progress | None = None, full: bool = False) -> TextReport:
        """Bring the text of the index up to date. A new generation takes over at once when no vectors are to be made."""

        def work(keeper: Keeper) -> TextReport:
            report = keeper.rebuild(progress, every_file=full)
            if not self.embedder()[0]:
                keeper.finish()
            return report

        report, *others = [keeper.store.safely(partial(work, keeper)) for keeper in self._keepers()]
        report.sessions = others[0] if others else None
        if not self.config.index.sessions:
            from nacre.index.sessions import delete

            delete(self.workspace)
        return report

    def embed(self, *, progress: Progress | None = None) -> IndexReport:
        """Make the vectors that are missing, then let what was built take over."""
        from nacre.index.embedding import fill, prune

        embedder, reason = self.embedder()
        keepers = self._keepers()

        def work(keeper: Keeper) -> int:
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
        days = self._day(since), self._day(until)
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
        from nacre.recall.search import Asked

        if mode not in MODES:
            raise BadInput(
                say(
                    f'"{mode}" is not a mode; use hybrid, text or vector.',
                    f"“{mode}”不是有效模式；请用 hybrid、text 或 vector。",
                )
            )
        wanted = self.config.search.max_results if limit is None else limit
        if wanted < 1:
            raise BadInput(say("Ask for at least one result.", "请至少要求一条结果。"))
        clock = self.clock.at(now)
        question = understand(query, clock.today())
        asked = Asked(
            limit=min(wanted, 1000),
            mode=mode,
            min_score=min_score,
            filters=filters or Filters(),
            scope=self.scope,
            clock=clock,
            settings=self.config.search,
            as_of=clock.fixed is not None,
        )
        return merged([answer(one, question, asked) for one in self._corpora(corpus)], asked.limit)

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

        if self.scope.group is not None:
            raise BadInput(say("In a group nothing is written to private memory.", "群组范围内不会写入私人记忆。"))
        if dry_run:
            from nacre.model.entry import Entry

            kind, words = daily.checked(text, type)
            return Entry(words, self.workspace.relative(self.workspace.day(self.clock.today())), 0, kind)
        return daily.note(self.workspace, self.clock, text, type, config=self.config)

    @property
    def judge(self) -> Judge:
        """Who says what a sentence is: our classifiers with the local models, or without where these are not installed."""
        with self._lock:
            if self._judge is None:
                from nacre.brain.local.judge import Judge
                from nacre.embed.local import LocalEmbedder

                embedder = LocalEmbedder()
                self._judge = Judge(embedder if embedder.models() else None)
            return self._judge

    def classify(self, text: str) -> str:
        """The kind of memory that a statement is: PREF, PROJ, TECH, LESSON, PEOPLE or TEMP."""
        return self.judge.read([text])[0].best("type")

    def category(self, text: str) -> str:
        """What a statement is in a weekly digest: decision, discovery, preference or task."""
        from nacre.brain.local.classifier import CATEGORIES

        odds = self.judge.read([text])[0].odds["category"]
        return CATEGORIES[int(odds[: CATEGORIES.index("-")].argmax())]

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

        if self.scope.group is not None:
            raise BadInput(say("In a group nothing is written to private memory.", "群组范围内不会写入私人记忆。"))
        report = run(
            self.workspace,
            self.config,
            self.clock,
            lambda: self.judge,
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
        from nacre.capture.told import told

        found = told(text, self.clock, self.judge)
        if write and found:
            from nacre.vault import daily

            daily.notes(self.workspace, self.clock, "extract", [one.line for one in found], config=self.config)
        return found

    def untyped(self, *, apply: bool = False) -> list[Entry]:
        """The lines of notes that have no type, with the one each would get, or now has when asked for."""
        from nacre.capture.classify import give_types, untyped

        found = untyped(self.workspace, self.judge)
        return give_types(self.workspace, self.clock, self.config, found) if apply and found else found

    def checkpoint(
        self, session: str | None = None, *, text: str | None = None, title: str | None = None, dry_run: bool = False
    ) -> Written:
        """Write a whole conversation to the hot layer: a session, by the beginning of its id or the last one; or a text."""
        from nacre.capture.checkpoint import of_session, of_text
        from nacre.capture.run import setting_of
        from nacre.vault import checkpoints

        setting = setting_of(self.workspace, self.config, self.clock, lambda: self.judge)
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

        setting = setting_of(self.workspace, self.config, self.clock, lambda: self.judge, exclude=exclude)
        return survey(setting, moment_of(since, self.clock) if since is not None else None)

    def import_(
        self, what: str, *, since: str | None = None, progress: SyncProgress | None = None, dry_run: bool = False
    ) -> ImportReport:
        """Take in existing memories: a path, or an agent's name. Nothing is overwritten; doing it again changes nothing."""
        from nacre.capture.imports.run import import_

        if self.scope.group is not None:
            raise BadInput(say("In a group nothing is written to private memory.", "群组范围内不会写入私人记忆。"))
        parts = (self.workspace, self.config, self.clock, lambda: self.judge)
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

    def waiting(self) -> tuple[int, int]:
        """How many files and transcripts differ from the index, and how many passages have no vector yet."""
        from nacre.index.embedding import batch_for, waiting_count
        from nacre.index.update import count_changed
        from nacre.vault.files import memory_files

        store = self.keeper.store
        live = store.safely(store.live)
        found = memory_files(self.workspace, self.config)
        files = count_changed(store, live, found) if live else sum(1 for _ in found)
        files += self.sessions.store.safely(self.sessions.count_changed) if self.sessions else 0
        embedder = self.embedder()[0]
        stores = [keeper.store for keeper in self._keepers()]
        return files, sum(waiting_count(one.db, batch_for(one, embedder)) for one in stores) if embedder else 0

    def project_here(self) -> str | None:
        """The project whose folder the current one lies in, by the path named at the head of its MEMORY.md."""
        from nacre.vault.projects import project_of

        return project_of(self.workspace, Path.cwd())

    def redact(self, text: str) -> Redaction:
        """The text without its secrets, and what kinds were found where."""
        from nacre.guard.secrets import redact

        return redact(text)

    def _day(self, given: str | None) -> str | None:
        """A day that a filter names: an ISO date, or a length of time before now such as "7d"."""
        if not given:
            return None
        if given[0].isdigit() and given[-1].isalpha():
            from nacre.clock import duration

            try:
                return (self.clock.now() - duration(given)).date().isoformat()
            except OverflowError:
                return "0001-01-01"  # before anything that was ever written down
        return self.clock.parse(given).date().isoformat()


def default_place() -> Path:
    """Where a workspace is made when nobody names a place."""
    import os

    for name in ("NACRE_WORKSPACE", "OPENCLAW_WORKSPACE"):
        if os.environ.get(name):
            return Path(os.environ[name]).expanduser()
    chosen = settings.load().workspace
    if chosen:
        return Path(chosen).expanduser()
    openclaw = Path.home() / ".openclaw" / "workspace"
    return openclaw if openclaw.is_dir() else Path.home() / ".nacre" / "workspace"


def _agents() -> dict[str, Path]:
    from nacre.vault.agents import agents

    return agents(settings.load())


def _set_up(root: Path, now: str | None) -> tuple[Config, Clock]:
    """The settings and the clock of a workspace."""
    import os

    config = settings.load(root)
    if config.language != "auto":
        use_language(config.language)
    clock = Clock(zone(config.timezone)).at(now or os.environ.get("NACRE_NOW") or None)
    return config, clock
