"""What recalls.jsonl tells of each checkpoint, and the counts of refcount.json that belong to it."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from nacre.clock import Clock
from nacre.config import Config
from nacre.guard.sanitise import clean
from nacre.vault import refcount
from nacre.vault.files import TIERS
from nacre.vault.recalls import ROTATED, Recall
from nacre.vault.refcount import Entry
from nacre.vault.tiers import Family, stem_of
from nacre.vault.workspace import Workspace

_A_DAY = 86400


class Asked(NamedTuple):
    """One recall of a checkpoint: the second, and the way it went."""

    at: int
    via: str


@dataclass(frozen=True)
class Kept:
    """What is known of one family: the places under which it was counted so far, its entry, its recalls in recalls.jsonl."""

    keys: tuple[str, ...] = ()
    entry: Mapping[str, Any] | None = None
    asked: tuple[Asked, ...] = ()
    strange: bool = False  # the file holds something under its place that is no entry


@dataclass
class _Gathered:
    keys: list[str] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)


def gathered(
    workspace: Workspace,
    config: Config,
    clock: Clock,
    found: Sequence[Family],
    entries: Mapping[str, Any],
    recalls: Iterable[Recall],
) -> list[Kept]:
    """For each family what belongs to it: by the place where one of its files lies, else by its name."""
    which = _Which(found)
    made = [_Gathered() for _ in found]
    for key in sorted(entries, key=lambda key: key not in which.by_place):
        at = which.of(key, lambda one: bool(made[one].keys))
        if at is not None:
            made[at].keys.append(key)
    shown = clean(f"{workspace.relative(Path(os.path.normpath(workspace.tiers(config.tiers.path))))}/")
    now = clock.now().timestamp()
    for one in recalls:
        if not one.path.startswith(shown):
            continue
        at, when = which.of(one.path[len(shown) :]), refcount.moment(one.at, clock)
        if at is not None and when is not None and when <= now:
            made[at].asked.append(Asked(int(when), one.via))
    return [_kept(one, entries) for one in made]


def _kept(one: _Gathered, entries: Mapping[str, Any]) -> Kept:
    known = [entries[key] for key in one.keys]
    if not all(isinstance(entry, dict) for entry in known):
        return Kept(asked=tuple(one.asked), strange=True)
    entry = None
    for told in known:
        entry = told if entry is None else refcount.together(entry, told)
    return Kept(tuple(one.keys), entry, tuple(one.asked))


class _Which:
    """The families by the places of their files and by their names."""

    def __init__(self, found: Sequence[Family]) -> None:
        self.by_place: dict[str, int] = {}
        self.by_stem: dict[str, list[int]] = defaultdict(list)
        for at, family in enumerate(found):
            for name in {family.stem, clean(family.stem)}:  # recalls are written without what cannot be seen
                self.by_stem[name].append(at)
            for piece in family.pieces:
                self.by_place.setdefault(clean(piece.place), at)
        self.by_place |= {piece.place: at for at, family in enumerate(found) for piece in family.pieces}

    def of(self, place: str, has_one: Callable[[int], bool] = lambda _: False) -> int | None:
        """The family that a place belongs to; of several by its name, rather one that does not have what is given out."""
        if place in self.by_place:
            return self.by_place[place]
        layer, _, name = place.partition("/")
        if layer not in TIERS or not name.endswith(".md"):
            return None
        return min(self.by_stem.get(stem_of(name), ()), key=has_one, default=None)


def folded(entry: Mapping[str, Any], asked: Sequence[Asked], first: float, clock: Clock) -> tuple[Entry, bool]:
    """The entry with the recalls that it did not know yet, and whether one of them still has to let the checkpoint rise.

    Recalls from before the checkpoint was there were of another one by the same name.
    """
    mine = [one for one in asked if one.at >= first - _A_DAY]
    after, added = refcount.with_recalls(entry, Counter(one.at for one in mine), clock)
    waiting = {one.at for one in mine if one.via != ROTATED}
    return after, any(at in waiting for at in added)
