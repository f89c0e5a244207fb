"""What an import would do, as a value: each step with its reason, and the writes behind it; and carrying it out as one change."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nacre.clock import Clock
from nacre.config import Config, user_config_file
from nacre.model.plan import Step
from nacre.vault import atomic
from nacre.vault.operation import operation
from nacre.vault.rewrite import rewrite
from nacre.vault.settings import set_key
from nacre.vault.workspace import Workspace

COMMAND = "import"
CREATE, CHANGE, CAPTURE, SET, SKIP = "create", "change", "capture", "set", "skip"


@dataclass(frozen=True)
class Write:
    """A file to be made, or changed while it is still what was read; with the time of its content, where that matters."""

    path: Path
    data: bytes
    read: str | None = None
    modified: int | None = None


@dataclass(frozen=True)
class ImportPlan:
    """Every step, also those that do nothing; what is to be written; which settings are to be set."""

    steps: tuple[Step, ...] = ()
    writes: tuple[Write, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    unreadable: tuple[str, ...] = ()

    def __add__(self, other: ImportPlan) -> ImportPlan:
        return ImportPlan(
            self.steps + other.steps,
            self.writes + other.writes,
            {**self.settings, **other.settings},
            self.unreadable + other.unreadable,
        )


@dataclass(frozen=True)
class ImportReport:
    """What was imported, or would be."""

    kind: str  # "checkpoints", "notes", "workspace", "refcount", "settings" or "export"
    origin: str
    steps: tuple[Step, ...] = ()
    unreadable: tuple[str, ...] = ()
    paused: bool = False

    @property
    def changed(self) -> int:
        """How many steps changed something."""
        return sum(step.action != SKIP for step in self.steps)

    @property
    def wrote(self) -> bool:
        """Whether files of the workspace changed, so that the index must follow."""
        return any(step.action in (CREATE, CHANGE, CAPTURE) for step in self.steps)


def apply(made: ImportPlan, workspace: Workspace, clock: Clock, config: Config) -> None:
    """Write everything as one operation, which one undo takes back. Settings are the user's: they lie outside of history."""
    if made.writes:
        with operation(workspace, clock, COMMAND, config) as op:
            for one in made.writes:
                # A dated note is a log, to which only ever is added: making one is the one thing allowed.
                rewrite(op, one.path, one.data, read=one.read, log=one.read is None)
                if one.modified is not None:
                    atomic.keep_time(one.path, one.modified)
    for key, value in made.settings.items():
        set_key(user_config_file(os.environ), key, value)
