"""What every part of the facade holds: the workspace with its settings and clock, its indexes, its brain."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self

from nacre.clock import Clock
from nacre.config import Config
from nacre.errors import BadInput
from nacre.memory.indexes import Indexes
from nacre.recall.filters import Scope
from nacre.vault.workspace import Workspace
from nacre.words import say

if TYPE_CHECKING:
    from nacre.brain.local.judge import Judge
    from nacre.embed.protocol import Embedder
    from nacre.index.keeper import Keeper
    from nacre.index.sessions import SessionKeeper
    from nacre.memory.working import Working
    from nacre.model.problem import Problem
    from nacre.recall.meaning import MeaningSource


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
                from nacre.brain.local.kept import KeptVectors
                from nacre.embed.local import LocalEmbedder

                embedder = LocalEmbedder()
                kept = KeptVectors(self.workspace.index / "statements.npz")
                self._brain = Judge(embedder if embedder.models() else None, kept)
            return self._brain

    @property
    def state(self) -> Working:
        """Working memory, SESSION-STATE.md: the owner's alone."""
        from nacre.memory.working import Working

        self._must_be_private()
        return Working(self.workspace, self.config, self.clock)

    def embedder(self) -> tuple[Embedder | None, str | None]:
        """Who makes the vectors and, where something is missing or sent away, a line about it."""
        return self._indexes.embedder()

    def _must_be_private(self) -> None:
        if self.scope.group is not None:
            raise BadInput(say("In a group nothing is written to private memory.", "群组范围内不会写入私人记忆。"))
