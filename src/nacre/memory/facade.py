"""The facade: the only place where the parts are wired together."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from nacre.memory import opening
from nacre.memory.tending import Tending
from nacre.memory.writing import Writing

if TYPE_CHECKING:
    from nacre.embed.protocol import Embedder
    from nacre.memory.refreshing import Refreshed


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

    def refresh(
        self, session: str | None = None, *, apply: bool = False, budget: int | None = None, dry_run: bool = False
    ) -> Refreshed:
        """Put the talk that goes on into the hot layer, organise, promote, and give a fresh context."""
        from nacre.memory.refreshing import refresh

        return refresh(self, session, apply=apply, budget=budget, dry_run=dry_run)
