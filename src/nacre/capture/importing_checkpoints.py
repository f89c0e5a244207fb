"""A memory_fs from elsewhere: each checkpoint into the same layer."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import Path
from typing import NamedTuple

from nacre.capture import importing_refcount
from nacre.capture.importing_notes import (
    CREATE,
    SKIP,
    FileContent,
    ImportPlan,
    Write,
    content_of,
    safe_bytes,
    shown_path,
    with_number,
)
from nacre.config.settings import Config
from nacre.errors import BadInput
from nacre.i18n import say
from nacre.model.report import Step
from nacre.model.workspace import Workspace
from nacre.vault import disk
from nacre.vault.files import TIERS
from nacre.vault.refcount import REFCOUNT_NAME

LAYERS_NAME = "memory_fs"


class _Checkpoint(NamedTuple):
    """A checkpoint to be taken in."""

    layer: str
    name: str  # below its layer, with "/"
    path: Path
    data: bytes
    modified: int


def layers_in(folder: Path) -> Path | None:
    """The folder that holds the layers: this one, or the memory_fs in it."""
    for place in (folder, folder / LAYERS_NAME):
        if any((place / layer).is_dir() for layer in TIERS):
            return place
    return None


def counts_of(layers: Path) -> Path | None:
    """The refcount.json that belongs to the layers: among them, beside them or above."""
    places = (layers, layers.parent, layers.parent.parent)
    return next(
        (place / REFCOUNT_NAME for place in places if (place / REFCOUNT_NAME).is_file()),
        None,
    )


def plan_checkpoints(layers: Path, workspace: Workspace, config: Config, home: Path) -> ImportPlan:
    """What of the layers is not here yet. What is here under the same name stays as it is."""
    made = _CheckpointsPlan(workspace, config, home)
    found, passed = _read_layers(layers, home)
    families: dict[str, list[_Checkpoint]] = defaultdict(list)
    for one in found:
        families[_family(one.name)].append(one)
    for family in families.values():
        made.take(family)
    result = ImportPlan((*passed.steps, *made.steps), tuple(made.writes), unreadable=passed.unreadable)
    counts = counts_of(layers)
    if counts is None or disk.real(counts) == disk.real(workspace.refcount(config.tiers.path)):
        return result
    try:
        return result + importing_refcount.plan_refcount(counts, workspace, config, home, made.renamed)
    except BadInput as trouble:
        return result + ImportPlan((Step(SKIP, shown_path(counts, home), str(trouble)),), unreadable=(str(counts),))


def _read_layers(layers: Path, home: Path) -> tuple[list[_Checkpoint], ImportPlan]:
    found: list[_Checkpoint] = []
    steps: list[Step] = []
    unreadable: list[str] = []
    for layer in TIERS:
        for path in sorted(_layer_files(layers / layer)):
            name = path.relative_to(layers / layer).as_posix()
            shown = shown_path(path, home)
            if not name.endswith(".md"):
                steps.append(Step(SKIP, shown, say("no Markdown", "不是 Markdown")))
                continue
            content = content_of(path, layers)
            if isinstance(content, FileContent):
                found.append(_Checkpoint(layer, name, path, safe_bytes(content.data), content.modified))
                continue
            steps.append(Step(SKIP, shown, content.reason))
            unreadable += [str(path)] if content.trouble else []
    return found, ImportPlan(tuple(steps), unreadable=tuple(unreadable))


def _layer_files(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name[0] != "."]
        yield from (Path(place) / name for name in names if name[0] != ".")


def _family(name: str) -> str:
    """A checkpoint and its summaries go by one name: `x.md` in warm and gist, `x.gist.md` in hot."""
    return name.removesuffix(".gist.md").removesuffix(".md")


class _CheckpointsPlan:
    """The steps and writes so far, and under which names the checkpoints go here."""

    def __init__(self, workspace: Workspace, config: Config, home: Path) -> None:
        self.workspace = workspace
        self.target = workspace.tiers(config.tiers.path)
        self.home = home
        self.steps: list[Step] = []
        self.writes: list[Write] = []
        self.planned: set[Path] = set()
        self.renamed: dict[str, str] = {}

    def take(self, family: list[_Checkpoint]) -> None:
        left = [one for one in family if not self._is_here(one)]
        if not left:
            return
        number = next(number for number in count(1) if self._all_free(left, number))
        for one in left:
            name = with_number(one.name, number)
            path = self.target / one.layer / name
            reason = say("not here yet", "此处尚无")
            if number > 1:
                reason = say("another content goes by its name here", "此处同名文件内容不同")
                self.renamed[f"{one.layer}/{one.name}"] = f"{one.layer}/{name}"
            self.planned.add(path)
            self.writes.append(Write(path, one.data, modified=one.modified))
            self._say(CREATE, path, reason, one)

    def _is_here(self, one: _Checkpoint) -> bool:
        """Whether the same content goes by this name already, in any layer: checkpoints wander between them."""
        for number in count(1):
            name = with_number(one.name, number)
            there = [layer for layer in TIERS if os.path.lexists(self.target / layer / name)]
            if not there:
                return False
            for layer in sorted(there, key=lambda layer: layer != one.layer):
                path = self.target / layer / name
                if path.is_file() and disk.read_bytes(path) == one.data:
                    self.renamed[f"{one.layer}/{one.name}"] = f"{layer}/{name}"
                    self._say(SKIP, path, say("the same is here already", "相同内容已存在"), one)
                    return True
        return False

    def _all_free(self, family: Iterable[_Checkpoint], number: int) -> bool:
        places = [self.target / one.layer / with_number(one.name, number) for one in family]
        return not any(place in self.planned or os.path.lexists(place) for place in places)

    def _say(self, action: str, path: Path, reason: str, one: _Checkpoint) -> None:
        self.steps.append(Step(action, self.workspace.relative(path), reason, shown_path(one.path, self.home)))
