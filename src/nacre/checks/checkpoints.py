"""Health of checkpoints: those in the wrong layer, those that fade next, copies, counts without a file."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from shlex import quote

from nacre.checks.daily import Fade
from nacre.checks.snapshot import COPY, UNCOUNTED, UNSORTED, Finding, Snapshot, unreadable
from nacre.clock import Clock
from nacre.errors import NacreError
from nacre.i18n import say
from nacre.layers import organise
from nacre.layers.layer import DELETE, FORGET, MOVE, LayerRules, Placement, decide_layer
from nacre.layers.organise import OrganisePlan, Transition
from nacre.model.context import Context
from nacre.model.report import Problem
from nacre.vault import disk, refcount
from nacre.vault.checkpoints import FORGOTTEN, GIST, Family, stem_of
from nacre.vault.files import TIERS

AHEAD = 3  # days that are looked ahead
_SINKS = (MOVE, FORGET, DELETE)


@dataclass(frozen=True)
class Layers:
    """What organising would do now, and the rules by which every later day can be told."""

    made: OrganisePlan
    rules: LayerRules | None = None

    def sinking(self, turn: Transition, clock: Clock) -> Placement | None:
        """Where a checkpoint sinks to at a moment; none while it stays or rises."""
        assert self.rules is not None
        found = decide_layer(turn.family.layer, turn.dated, turn.kept, self.rules, clock)
        return found if found.action in _SINKS and found.layer != turn.family.layer else None

    def due(self, turn: Transition, desk: Snapshot) -> Placement | None:
        """Where one should be since yesterday: a day is what organising may take to come round."""
        now = self.sinking(turn, desk.clock)
        return now if now and self.sinking(turn, _moved(desk, -1)) else None


def plan_layers(desk: Snapshot) -> Layers:
    """Read the layers once. Settings of theirs that mean nothing are a finding, and nothing is said about what fades."""
    try:
        return Layers(organise.plan(Context(desk.workspace, desk.config, desk.clock)), LayerRules.of(desk.config.tiers))
    except NacreError as trouble:
        return Layers(OrganisePlan(left=(Problem("layers not looked at", str(trouble)),)))


def _moved(desk: Snapshot, days: float) -> Clock:
    try:
        return desk.clock.at(desk.clock.now() + dt.timedelta(days=days))
    except OverflowError:
        return desk.clock


def checkpoint_findings(desk: Snapshot, layers: Layers) -> list[Finding]:
    """Everything about checkpoints that is not as it should be."""
    made = layers.made
    return [
        *map(unreadable, (*made.left, *made.notes)),
        *_unsorted(desk, layers),
        *_uncounted(made),
        *_copies(desk, made),
    ]


def _unsorted(desk: Snapshot, layers: Layers) -> Iterator[Finding]:
    for turn in layers.made.turns:
        if due := layers.due(turn, desk):
            path = desk.workspace.relative(turn.family.lead.path)
            yield Finding(UNSORTED, due.reason, path, command="nacre organise")


def _uncounted(made: OrganisePlan) -> Iterator[Finding]:
    """Counts of checkpoints that are nowhere any more; one that comes by the same name would take them for its own. Those of
    forgotten ones go by themselves when their time has come."""
    stems = {turn.family.stem for turn in made.turns}
    for key, entry in made.counts.entries.items():
        layer, _, name = key.partition("/")
        if layer not in TIERS or stem_of(name) in stems or _ends_by_itself(entry, ended=key in made.finished):
            continue
        message = say(
            f"refcount.json counts {key}, which is gone.", f"refcount.json 中有 {key} 的计数，但该文件已不存在。"
        )
        hand = say(f'take the entry "{key}" out of refcount.json', f"请从 refcount.json 中删除“{key}”条目")
        command = "nacre organise" if key in made.finished and made.turns else ""
        yield Finding(UNCOUNTED, message, "refcount.json", command=command, by_hand="" if command else hand)


def _ends_by_itself(entry: object, *, ended: bool) -> bool:
    return (
        isinstance(entry, dict) and bool(entry.get(refcount.FORGOTTEN)) and not entry.get("user_marked") and not ended
    )


def _copies(desk: Snapshot, made: OrganisePlan) -> Iterator[Finding]:
    """Checkpoints whose content another one has, under another name. Only those of one length are read."""
    by_size: dict[int, list[Family]] = {}
    for turn in made.turns:
        if turn.family.original and turn.family.original.size:
            by_size.setdefault(turn.family.original.size, []).append(turn.family)
    shown = desk.workspace.relative
    for alike in by_size.values():
        first: dict[str, Family] = {}
        for one in sorted(alike, key=_warmth) if len(alike) > 1 else ():
            other = first.setdefault(_digest(one), one)
            if other is not one:
                message = say(
                    f"It holds the same as {shown(other.lead.path)}.", f"内容与 {shown(other.lead.path)} 相同。"
                )
                files = say(" and ", " 和 ").join(shown(piece.path) for piece in one.pieces)
                hand = say(f"delete {files}", f"请删除 {files}")
                yield Finding(COPY, message, shown(one.lead.path), by_hand=hand)


def _warmth(one: Family) -> tuple[int, str]:
    return TIERS.index(one.layer), one.lead.place


def _digest(one: Family) -> str:
    try:
        data = disk.read_bytes(one.lead.path)
    except NacreError:
        data = None
    return one.lead.place if data is None else disk.digest(data)


def fading_checkpoints(desk: Snapshot, layers: Layers) -> Iterator[Fade]:
    """Checkpoints that the next days move down or delete, each on the first day that does; not those that are overdue."""
    clocks = [_moved(desk, day) for day in range(AHEAD + 1)]
    for turn in layers.made.turns:
        if not layers.sinking(turn, clocks[-1]) or layers.due(turn, desk):
            continue
        clock, sinks = _first(
            layers, turn, desk, next(day for day, clock in enumerate(clocks) if layers.sinking(turn, clock))
        )
        path = desk.workspace.relative(turn.family.lead.path)
        rule = sinks.reason.partition(say(": ", "："))[2]  # in front of it stands the age on that day
        day = clock.today().isoformat()
        yield Fade(day, path, _what(sinks.layer), rule or sinks.reason, keep=f"nacre get {quote(path)}")


def _first(layers: Layers, turn: Transition, desk: Snapshot, day: int) -> tuple[Clock, Placement]:
    """The first hour that lets a checkpoint sink which the days before leave where it is."""
    begin, end = 24 * (day - 1), 24 * day
    while day and end - begin > 1:
        middle = (begin + end) // 2
        begin, end = (begin, middle) if layers.sinking(turn, _moved(desk, middle / 24)) else (middle, end)
    clock = _moved(desk, end / 24)
    found = layers.sinking(turn, clock)
    assert found is not None
    return clock, found


def _what(layer: str | None) -> str:
    """What becomes of a checkpoint that sinks to a layer, or out of the last."""
    if layer is None:
        return say("is deleted", "被删除")
    if layer == FORGOTTEN:
        return say("is forgotten", "被遗忘")
    if layer == GIST:
        return say("gets a summary in gist", "在 gist 中生成摘要")
    return say(f"moves to {layer}", f"移入 {layer}")
