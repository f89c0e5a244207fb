"""What becomes of every checkpoint when the layers are organised: where each goes, why, and what its counts will say."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from nacre.clock import Clock
from nacre.config import Config
from nacre.errors import NacreError
from nacre.lifecycle.ages import Dated, dated, head_of
from nacre.lifecycle.fold import Kept, gathered
from nacre.lifecycle.layer import DELETE, FORGET, MOVE, RISE, STAY, Belongs, Rules, belongs
from nacre.model.plan import Plan, Step
from nacre.model.problem import Problem
from nacre.vault import atomic, recalls, refcount
from nacre.vault.files import TIERS
from nacre.vault.refcount import SUMMARY_OF, Counts
from nacre.vault.tiers import (
    GIST,
    WARM,
    Checkpoint,
    Family,
    Settled,
    Shelf,
    content,
    families,
    place_of,
    stem_of,
    survey,
)
from nacre.vault.workspace import Workspace
from nacre.words import say

DROP, SUMMARISE = "drop", "summarise"
# The coldest first: what leaves a layer makes room for what comes into it.
_ORDER = (DELETE, FORGET, MOVE, STAY, RISE)


class Noted(NamedTuple):
    """What refcount.json will say of a checkpoint, and under which place; nothing where the entry is None."""

    key: str
    entry: Mapping[str, Any] | None


@dataclass(frozen=True)
class Turn:
    """What becomes of one checkpoint. Without `settled` it goes for good."""

    family: Family
    kept: Kept
    dated: Dated
    belongs: Belongs
    settled: Settled | None = None
    steps: tuple[Step, ...] = ()
    makes_summary: bool = False

    def noted(self, settled: Settled | None, **more: Any) -> Noted:
        """Its counts when it lies as settled. A new entry that says nothing is not written."""
        if settled is None or self.kept.strange:
            return Noted(self.family.lead.place, None)
        key, entry = settled.family.lead.place, {**self.belongs.entry, **more}
        is_empty = self.kept.entry is None and entry == refcount.new(self.dated.noted)
        return Noted(key, None if is_empty and not self.dated.by_file else entry)


class Seen(NamedTuple):
    """What a plan was made of: the files of the layers as the walk saw them, and the hashes of the counts and the recalls."""

    checkpoints: tuple[Checkpoint, ...] = ()
    counts: str | None = None
    recalls: str | None = None


def seen(workspace: Workspace, config: Config) -> Seen:
    """What a plan made now would be made of: as long as it is the same, so is the plan."""
    return _seen(workspace, config, survey(workspace, config)[0])


def _seen(workspace: Workspace, config: Config, found: Iterable[Checkpoint]) -> Seen:
    return Seen(tuple(found), hash_of(workspace.refcount(config.tiers.path)), hash_of(workspace.recalls))


def hash_of(path: Path) -> str | None:
    """The hash of what a plan is made of; None where there is nothing, or nothing that can be read."""
    try:
        data = atomic.read_bytes(path)
    except NacreError:
        return None  # who reads it for the plan says what is wrong
    return None if data is None else atomic.digest(data)


@dataclass(frozen=True)
class OrganisePlan:
    """The turns in the order in which they are taken, and what is known beside them."""

    plan: Plan = field(default_factory=Plan)
    families: tuple[Family, ...] = ()  # all there are, also those that are left alone
    turns: tuple[Turn, ...] = ()
    counts: Counts = field(default_factory=lambda: Counts({}, None))
    finished: frozenset[str] = frozenset()  # entries whose checkpoints were deleted by a run that was cut short
    left: tuple[Problem, ...] = ()
    notes: tuple[Problem, ...] = ()
    seen: Seen = Seen()

    @property
    def steps(self) -> tuple[Step, ...]:
        return self.plan.steps

    def entries(self, done: Mapping[int, Noted]) -> dict[str, Any]:
        """The counts once some of the turns are taken; what belongs to the others, or to nobody here, stays as it is."""
        mine = {key: at for at in done for key in self.turns[at].kept.keys}
        after: dict[str, Any] = {}
        for key, value in self.counts.entries.items():
            if key in mine:
                if self.turns[mine[key]].kept.keys[0] == key:
                    refcount.put(after, *done[mine[key]])
            elif key not in self.finished:
                refcount.put(after, key, value)
        for key, entry in sorted(noted for at, noted in done.items() if not self.turns[at].kept.keys and noted.entry):
            refcount.put(after, key, entry)
        return after


def plan(workspace: Workspace, clock: Clock, config: Config) -> OrganisePlan:
    """What would become of every checkpoint. Nothing at all where the counts cannot be read: who was recalled is unknown."""
    rules = Rules.of(config.tiers)
    found, problems = survey(workspace, config)
    made_of = _seen(workspace, config, found)
    known = families(found)
    try:
        counts = refcount.read(workspace, config)
    except NacreError as trouble:
        shown = workspace.relative(workspace.refcount(config.tiers.path))
        sentence = say(
            f"{trouble} Nothing was organised: who was recalled is not known.",
            f"{trouble} 没有整理任何内容：无法得知哪些检查点被调用过。",
        )
        left = (*problems, Problem("unreadable counts", sentence, shown))
        return OrganisePlan(families=tuple(known), left=left, seen=made_of)
    told = recalls.read(workspace)
    turns: list[Turn] = []
    for family, kept in zip(
        known, gathered(workspace, config, clock, known, counts.entries, told.recalls), strict=True
    ):
        try:
            turns.append(_turn(workspace, family, kept, rules, clock))
        except (NacreError, OSError) as trouble:
            problems.append(Problem("left alone", str(trouble), workspace.relative(family.lead.path)))
            continue
        if kept.strange:
            problems.append(_strange(workspace, config, family))
    ordered, troubles = _settled(workspace, config, turns)
    return OrganisePlan(
        Plan(tuple(step for turn in ordered for step in turn.steps)),
        tuple(known),
        tuple(ordered),
        counts,
        _finished(counts, known, rules, clock),
        (*problems, *troubles),
        told.problems,
        made_of,
    )


def without_summaries(workspace: Workspace, config: Config, made: OrganisePlan, of: Container[Family]) -> OrganisePlan:
    """The plan where no summary can be made of some checkpoints: they stay warm."""
    turns = [
        replace(turn, belongs=replace(turn.belongs, layer=WARM), makes_summary=False) if turn.family in of else turn
        for turn in made.turns
    ]
    ordered, troubles = _settled(workspace, config, turns)
    made = replace(made, left=(*made.left, *troubles))
    return replace(made, plan=Plan(tuple(step for turn in ordered for step in turn.steps)), turns=tuple(ordered))


def _turn(workspace: Workspace, family: Family, kept: Kept, rules: Rules, clock: Clock) -> Turn:
    lead = family.lead
    created = kept.entry.get("created") if kept.entry else None
    when = dated(head_of(lead.path), lead.name, created, lead.modified / 1e9, clock)
    where = belongs(family.layer, when, kept, rules, clock)
    entry, makes = where.entry, False
    if family.original and where.layer:
        makes = where.layer == GIST and family.summary is None
        if family.summary and (where.layer == GIST or SUMMARY_OF not in entry):
            mark = mark_of(content(workspace, family.original))
            makes = where.layer == GIST and entry.get(SUMMARY_OF, mark) != mark
            entry.setdefault(SUMMARY_OF, mark)
    if family.summary and where.layer:
        entry["summarized"] = True
    return Turn(family, kept, when, where, makes_summary=makes)


def mark_of(data: bytes) -> str:
    """The beginning of the hash by which a text is known again."""
    return atomic.digest(data)[:10]


def _strange(workspace: Workspace, config: Config, family: Family) -> Problem:
    shown = workspace.relative(workspace.refcount(config.tiers.path))
    sentence = say(
        f"What {shown} says of {family.lead.place} is no entry; it stays as it is and its recalls are not counted.",
        f"{shown} 中关于 {family.lead.place} 的内容不是有效条目；保持原样，其调用次数不会计入。",
    )
    return Problem("strange entry", sentence, shown)


def _settled(workspace: Workspace, config: Config, turns: Iterable[Turn]) -> tuple[list[Turn], list[Problem]]:
    """The turns in the order in which they are taken, each with its places; and what has no place to go to."""
    shelf = Shelf(workspace, config)
    ordered: list[Turn] = []
    problems: list[Problem] = []
    for turn in sorted(
        turns,
        key=lambda turn: (
            _ORDER.index(turn.belongs.action),
            -TIERS.index(turn.belongs.layer or TIERS[-1]),
            turn.family.lead.place,
        ),
    ):
        if turn.belongs.layer is None:
            shelf.clear(turn.family)
            ordered.append(replace(turn, steps=tuple(_deletions(workspace, turn))))
            continue
        wants = turn.makes_summary and turn.family.summary is None
        try:
            settled = shelf.settle(turn.family, turn.belongs.layer, with_summary=wants)
        except NacreError as trouble:
            problems.append(Problem("left alone", str(trouble), workspace.relative(turn.family.lead.path)))
            continue
        ready = replace(turn, settled=settled)
        ordered.append(replace(ready, steps=tuple(_steps(workspace, config, ready, settled))))
    return ordered, problems


def _deletions(workspace: Workspace, turn: Turn) -> Iterable[Step]:
    return (Step(DELETE, workspace.relative(one.path), turn.belongs.reason) for one in turn.family.pieces)


def _steps(workspace: Workspace, config: Config, turn: Turn, settled: Settled) -> Iterable[Step]:
    shown = workspace.relative
    if turn.makes_summary and turn.family.original:
        place = workspace.tiers(config.tiers.path) / place_of(GIST, settled.family.stem, summary=True)
        reason = turn.belongs.reason
        if turn.family.summary:
            reason = say("it has changed since its summary was made", "生成摘要之后内容有改动")
        yield Step(SUMMARISE, shown(turn.family.original.path), reason, shown(place))
    for deed in settled.deeds:
        if deed.is_there:
            reason = say("the same bytes lie there already", "相同内容已在该处")
            yield Step(DROP, shown(deed.piece.path), reason, shown(deed.to))
        else:
            action = MOVE if turn.belongs.action == STAY else turn.belongs.action
            yield Step(action, shown(deed.piece.path), turn.belongs.reason, shown(deed.to))


def _finished(counts: Counts, known: Iterable[Family], rules: Rules, clock: Clock) -> frozenset[str]:
    """Entries of checkpoints that are gone, and whose time had come: their deletion was cut short before it was noted."""
    now, stems = clock.now().timestamp(), {family.stem for family in known}
    found: set[str] = set()
    for key, entry in counts.entries.items():
        layer, _, name = key.partition("/")
        if layer not in TIERS or not isinstance(entry, dict) or entry.get("user_marked"):
            continue
        mark = refcount.moment(entry.get(refcount.FORGOTTEN), clock)
        is_gone = stem_of(name) not in stems
        if is_gone and mark is not None and now - mark >= rules.delete:
            found.add(key)
    return frozenset(found)
