"""What nearly every function of the pipeline works with, as one value: the workspace, its settings, the clock, who listens."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from nacre.errors import BadInput

if TYPE_CHECKING:
    from nacre.clock import Clock
    from nacre.config.settings import Config
    from nacre.model.workspace import Workspace


class Scope(NamedTuple):
    """Who listens: the owner alone, or a group, for which only its own sections and public files exist."""

    group: str | None = None

    @property
    def name(self) -> str:
        """As `parse` reads it."""
        return "main" if self.group is None else f"group:{self.group}"

    @classmethod
    def parse(cls, text: str) -> Scope:
        if text == "main":
            return cls()
        kind, _, name = text.partition(":")
        if kind == "group" and name.strip():
            return cls(name.strip())
        raise BadInput(
            f'"{text}" is not a scope; use main or group:NAME.', f"“{text}”不是有效范围；请用 main 或 group:名称。"
        )


@dataclass(frozen=True)
class Context:
    """An opened workspace: passed on whole instead of in parts."""

    workspace: Workspace
    config: Config
    clock: Clock
    scope: Scope = field(default_factory=Scope)
