"""The indexes of a workspace, opened when first needed, once for all threads; and bringing them up to date."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from nacre.clock import Clock
from nacre.config import Config
from nacre.errors import BadInput, ModelUnusable
from nacre.vault.workspace import Workspace
from nacre.words import say

if TYPE_CHECKING:
    from nacre.embed.protocol import Embedder
    from nacre.index.keeper import Keeper
    from nacre.index.sessions import SessionKeeper
    from nacre.index.update import Progress, TextReport
    from nacre.recall.corpora import Corpus
    from nacre.recall.meaning import MeaningSource
    from nacre.vault.files import Found


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
        self._keeper: Keeper | None = None
        self._meaning: MeaningSource | None = None
        self._session_keeper: SessionKeeper | None = None
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
    def keeper(self) -> Keeper:
        """The index of memory."""
        with self._lock:
            if self._keeper is None:
                from nacre.index.keeper import Keeper
                from nacre.index.store import Store, index_file

                store = Store(index_file(self.workspace.index), of=self.workspace.root)
                self._keeper = Keeper(self.workspace, self.config, store, for_group=self.group)
            return self._keeper

    @property
    def meaning(self) -> MeaningSource:
        """The embedder, and the vectors of memory."""
        with self._lock:
            if self._meaning is None:
                from nacre.recall.meaning import MeaningSource

                self._meaning = MeaningSource(self.config, self.keeper.store, self._given_embedder)
            return self._meaning

    @property
    def sessions(self) -> SessionKeeper | None:
        """The index of the transcripts themselves; none unless the user wants one, and never for a group."""
        if not self.config.index.sessions or self.group:
            return None
        with self._lock:
            if self._session_keeper is None:
                from nacre.index.sessions import SessionKeeper, sessions_file
                from nacre.index.store import Store

                store = Store(sessions_file(self.workspace), of=self.workspace.root)
                self._session_keeper = SessionKeeper(self.workspace, self.config, store, self.clock)
            return self._session_keeper

    def corpora(self, named: str) -> list[Corpus]:
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
        if named == "memory" or self.group:
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
        return replace(self.embed(progress=progress), text=text)

    def update(self, *, progress: Progress | None = None, full: bool = False) -> TextReport:
        """Bring the text up to date. A new generation takes over at once when no vectors are to be made."""

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

    def waiting(self, found: Sequence[Found] | None = None) -> tuple[int, int]:
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

    def _keepers(self) -> list[Keeper]:
        return [self.keeper, *([self.sessions] if self.sessions else [])]
