"""A workspace with checkpoints in its layers, for tests of how they sink and rise."""

from __future__ import annotations

import datetime as dt
import json
import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from nacre.clock import Clock
from nacre.config.settings import Config
from nacre.layers.organise import OrganiseReport, organise, rotate_recalled
from nacre.model import Context, Workspace
from nacre.vault import refcount
from nacre.vault.checkpoints import list_checkpoints
from nacre.vault.undo import undo

NOW = dt.datetime(2031, 3, 20, 10, 0, tzinfo=dt.UTC)


def brief(text: str) -> str:
    """Stands for the brain's summaries: quick, and told apart by the first line."""
    return f"# Summary\n\nTags: a, b\n\n- {text.splitlines()[0] if text.strip() else 'empty'}\n"


@dataclass
class Layers:
    """The layers of one workspace at a moment that the test sets."""

    root: Path
    now: dt.datetime = NOW
    config: Config = field(default_factory=Config)
    zone: dt.tzinfo = dt.UTC

    def __post_init__(self) -> None:
        (self.root / "memory").mkdir(parents=True, exist_ok=True)
        (self.root / ".nacre").mkdir(mode=0o700, exist_ok=True)

    @property
    def workspace(self) -> Workspace:
        return Workspace(self.root)

    @property
    def clock(self) -> Clock:
        return Clock(self.zone, self.now)

    @property
    def context(self) -> Context:
        return Context(self.workspace, self.config, self.clock)

    @property
    def folder(self) -> Path:
        return self.workspace.tiers(self.config.tiers.path)

    @property
    def refcount(self) -> Path:
        return self.workspace.refcount(self.config.tiers.path)

    def set(self, **tiers: Any) -> None:
        self.config = replace(self.config, tiers=replace(self.config.tiers, **tiers))

    def put(self, place: str, text: str = "# A talk\n\nWe moved the shop.\n", *, age: str = "0h") -> Path:
        """A file whose time is so long ago: "3h", "8d"."""
        path = self.folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf8", newline="")
        self.touch(place, self.ago(age))
        return path

    def touch(self, place: str, at: dt.datetime) -> None:
        os.utime(self.folder / place, (at.timestamp(), at.timestamp()))

    def ago(self, age: str) -> dt.datetime:
        unit = {"m": "minutes", "h": "hours", "d": "days"}[age[-1]]
        return self.now - dt.timedelta(**{unit: float(age[:-1])})

    def count(self, entries: dict[str, Any]) -> None:
        self.refcount.write_text(json.dumps(entries), "utf8")

    def counts(self) -> dict[str, Any]:
        return json.loads(self.refcount.read_text("utf8")) if self.refcount.exists() else {}

    def get(self, place: str, at: dt.datetime | None = None, via: str = "get") -> None:
        """A line of recalls.jsonl, as a reader writes it."""
        path = self.workspace.relative(self.folder / place)
        refcount.write_recalls(
            self.workspace, [refcount.new_recall(Clock(self.zone, at or self.now), path, "", (1, 2), via)]
        )

    def organise(self, *, dry_run: bool = False) -> OrganiseReport:
        return organise(self.context, brief, dry_run=dry_run)

    def recall(self, *places: str) -> dict[str, str]:
        """What `nacre recall` does with what it found: rotate it, then write down that it was read."""
        found = [one for one in list_checkpoints(self.workspace, self.config) if one.place in places]
        moved = rotate_recalled(self.context, found)
        told = [refcount.new_recall(self.clock, path, "", (1, 2), "recall") for path in moved.values()]
        refcount.write_recalls(self.workspace, told)
        return moved

    def undo(self, n: int = 1) -> None:
        undo(self.context, last=n)

    def places(self) -> list[str]:
        top = str(self.folder)
        walk = ((os.path.relpath(place, top), names) for place, _, names in os.walk(top))
        return sorted(name if place == "." else f"{place}/{name}" for place, names in walk for name in names)

    def tree(self) -> dict[str, bytes]:
        """Every byte of the layers and their counts."""
        top = self.folder
        files = {path: (top / path).read_bytes() for path in self.places()}
        return files | ({"refcount.json": self.refcount.read_bytes()} if self.refcount.exists() else {})
