"""A memory_fs from elsewhere: each checkpoint into the same layer under the same name, with the time of its content."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import Path
from typing import NamedTuple

from nacre.capture.imports import refcount
from nacre.capture.imports.files import Content, content_of, safe, shown_path, with_number
from nacre.capture.imports.plan import CREATE, SKIP, ImportPlan, Write
from nacre.config import Config
from nacre.errors import BadInput
from nacre.model.plan import Step
from nacre.vault import atomic
from nacre.vault.files import TIERS
from nacre.vault.workspace import Workspace
from nacre.words import say

NAME = "memory_fs"


class _One(NamedTuple):
    """A checkpoint to be taken in."""

    layer: str
    name: str  # below its layer, with "/"
    path: Path
    data: bytes
    modified: int


def layers_in(folder: Path) -> Path | None:
    """The folder that holds the layers: this one, or the memory_fs in it."""
    for place in (folder, folder / NAME):
        if any((place / layer).is_dir() for layer in TIERS):
            return place
    return None


def counts_of(layers: Path) -> Path | None:
    """The refcount.json that belongs to the layers: among them, beside them or above."""
    places = (layers, layers.parent, layers.parent.parent)
    return next((place / refcount.NAME for place in places if (place / refcount.NAME).is_file()), None)


def plan(layers: Path, workspace: Workspace, config: Config, home: Path) -> ImportPlan:
    """What of the layers is not here yet. What is here under the same name stays as it is."""
    made = _Making(workspace, config, home)
    found, passed = _read(layers, home)
    families: dict[str, list[_One]] = defaultdict(list)
    for one in found:
        families[_family(one.name)].append(one)
    for family in families.values():
        made.take(family)
    result = ImportPlan((*passed.steps, *made.steps), tuple(made.writes), unreadable=passed.unreadable)
    counts = counts_of(layers)
    if counts is None or atomic.real(counts) == atomic.real(workspace.refcount(config.tiers.path)):
        return result
    try:
        return result + refcount.plan(counts, workspace, config, home, made.renamed)
    except BadInput as trouble:
        return result + ImportPlan((Step(SKIP, shown_path(counts, home), str(trouble)),), unreadable=(str(counts),))


def _read(layers: Path, home: Path) -> tuple[list[_One], ImportPlan]:
    found: list[_One] = []
    steps: list[Step] = []
    unreadable: list[str] = []
    for layer in TIERS:
        for path in sorted(_files(layers / layer)):
            name = path.relative_to(layers / layer).as_posix()
            shown = shown_path(path, home)
            if not name.endswith(".md"):
                steps.append(Step(SKIP, shown, say("no Markdown", "不是 Markdown")))
                continue
            content = content_of(path, layers)
            if isinstance(content, Content):
                found.append(_One(layer, name, path, safe(content.data), content.modified))
                continue
            steps.append(Step(SKIP, shown, content.reason))
            unreadable += [str(path)] if content.trouble else []
    return found, ImportPlan(tuple(steps), unreadable=tuple(unreadable))


def _files(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name[0] != "."]
        yield from (Path(place) / name for name in names if name[0] != ".")


def _family(name: str) -> str:
    """A checkpoint and its summaries go by one name: `x.md` in warm and gist, `x.gist.md` in hot."""
    return name.removesuffix(".gist.md").removesuffix(".md")


class _Making:
    """The steps and writes so far, and under which names the checkpoints go here."""

    def __init__(self, workspace: Workspace, config: Config, home: Path) -> None:
        self.workspace = workspace
        self.target = workspace.tiers(config.tiers.path)
        self.home = home
        self.steps: list[Step] = []
        self.writes: list[Write] = []
        self.planned: set[Path] = set()
        self.renamed: dict[str, str] = {}

    def take(self, family: list[_One]) -> None:
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

    def _is_here(self, one: _One) -> bool:
        """Whether the same content goes by this name already, in any layer: checkpoints wander between them."""
        for number in count(1):
            name = with_number(one.name, number)
            there = [layer for layer in TIERS if os.path.lexists(self.target / layer / name)]
            if not there:
                return False
            for layer in sorted(there, key=lambda layer: layer != one.layer):
                path = self.target / layer / name
                if path.is_file() and atomic.read_bytes(path) == one.data:
                    self.renamed[f"{one.layer}/{one.name}"] = f"{layer}/{name}"
                    self._say(SKIP, path, say("the same is here already", "相同内容已存在"), one)
                    return True
        return False

    def _all_free(self, family: Iterable[_One], number: int) -> bool:
        places = [self.target / one.layer / with_number(one.name, number) for one in family]
        return not any(place in self.planned or os.path.lexists(place) for place in places)

    def _say(self, action: str, path: Path, reason: str, one: _One) -> None:
        self.steps.append(Step(action, self.workspace.relative(path), reason, shown_path(one.path, self.home)))
