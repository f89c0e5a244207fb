"""What every phase of tidying works with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nacre.clock import Clock
from nacre.config import Config
from nacre.vault.workspace import Workspace

if TYPE_CHECKING:
    from nacre.brain.local.judge import Judge


@dataclass(frozen=True)
class Room:
    """A workspace with its clock, its settings, and the local brain, loaded when first asked for."""

    workspace: Workspace
    clock: Clock
    config: Config
    judge: Callable[[], Judge]
