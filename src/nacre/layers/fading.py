"""What fades next: when each checkpoint sinks to the next layer and why, and bringing one back."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import NamedTuple

from nacre.errors import NacreError, NotFound
from nacre.guard.secrets import excerpt
from nacre.layers import organise
from nacre.model import Context
from nacre.vault import refcount
from nacre.vault.checkpoints import FORGOTTEN, GIST, HOT, WARM, Family, families, list_checkpoints
from nacre.vault.storage import TIERS, read
from nacre.vault.writing import changed_outside

_TITLE = 100  # characters
_MOST_DATES = 50_000
# The dates of checkpoints as read on a day: reading the heads of all of them takes too long for a page.
_dates: dict[tuple[object, ...], organise.CheckpointDate] = {}


class Fading(NamedTuple):
    """A checkpoint, and when, where to and by which rule it moves next if nobody recalls it (`next` is None when it will be deleted).
    All three are None for one that the user marked."""

    path: str
    layer: str
    title: str
    date: str
    recalls: int
    recalled: str | None  # last
    marked: bool
    next: str | None
    at: str | None
    why: str | None


class Layers(NamedTuple):
    """The number of checkpoints in each layer, the next to fade, and the checkpoints of one layer, latest first."""

    counts: dict[str, int]
    next: tuple[Fading, ...]
    checkpoints: tuple[Fading, ...]


class _Aged(NamedTuple):
    family: Family
    counts: organise.CheckpointCounts
    dated: organise.CheckpointDate
    entry: refcount.Count
    fades: float | None  # when it sinks


def read_layers(context: Context, layer: str, start: int, most: int, soonest: int) -> Layers:
    """The counts, the `soonest` that fade next, and `most` checkpoints of a layer from the `start`th on."""
    aged = _aged(context, families(list_checkpoints(context.workspace, context.config)))
    counts = {name: sum(item.family.layer == name for item in aged) for name in TIERS}
    fading = sorted((item for item in aged if item.fades is not None), key=lambda item: (item.fades, item.family.stem))
    listed = sorted(
        (item for item in aged if item.family.layer == layer), key=lambda item: (-item.dated.at, item.family.stem)
    )
    shown = (
        tuple(_fading(context, item) for item in part) for part in (fading[:soonest], listed[start : start + most])
    )
    return Layers(counts, *shown)


def _aged(context: Context, grouped: Sequence[Family]) -> list[_Aged]:
    clock, limits = context.clock, organise.limits_of(context.config.tiers)
    entries = refcount.read_counts(context.workspace, context.config).entries
    recalls = refcount.read_recalls(context.workspace).recalls
    forgotten = min(limits["forget_after"], max(limits["warm"], limits["gist"]))
    stays = {HOT: min(limits["hot"], forgotten), WARM: min(limits["warm"], forgotten), GIST: forgotten}
    aged, root, today, now = [], str(context.workspace.root), clock.today(), clock.now().timestamp()
    if len(_dates) > _MOST_DATES:
        _dates.clear()
    for family, counts in zip(grouped, organise.gather_counts(context, grouped, entries, recalls), strict=True):
        lead = family.lead
        key = (root, lead.place, lead.size, lead.modified, repr(counts.entry and counts.entry.get("created")), today)
        if (dated := _dates.get(key)) is None:
            try:
                dated = _dates[key] = organise.date_checkpoint(context, lead, counts.entry)
            except (NacreError, OSError):
                continue  # unreadable: doctor says so
        entry, _ = organise.fold_recalls(counts.entry or {}, counts.recalls, clock)
        layer, moments = family.layer, refcount.moments(entry, clock)
        if layer == FORGOTTEN:
            mark = refcount.moment(entry.get(refcount.FORGOTTEN), clock) or now
            fades = None if entry.get("user_marked") else mark + limits["delete_after"]
        else:
            fades = max([dated.at, *moments]) + stays[layer]
        aged.append(_Aged(family, counts, dated, entry, fades))
    return aged


def _fading(context: Context, item: _Aged) -> Fading:
    clock, workspace, to, at, why = context.clock, context.workspace, None, None, None
    if item.fades is not None:
        then = clock.at(max(dt.datetime.fromtimestamp(item.fades, dt.UTC), clock.now()))
        placed = organise.decide_layer(item.family.layer, item.dated, item.counts, context.config.tiers, then)
        to, at, why = placed.layer, _shown(then.now()), placed.rule
    lead = item.family.lead
    lines = (read(workspace, lead.path) or b"")[:2000].decode("utf-8", "replace").splitlines()
    title = next((line.lstrip("# ") for line in lines if line.startswith("# ")), item.family.stem)
    moments = refcount.moments(item.entry, clock)
    recalled = _shown(organise.local_time(max(moments), clock)) if moments else None
    return Fading(
        workspace.relative(lead.path),
        item.family.layer,
        excerpt(title, _TITLE),
        _shown(organise.local_time(item.dated.at, clock)),
        len(moments),
        recalled,
        bool(item.entry.get("user_marked")),
        to,
        at,
        why,
    )


def _shown(at: dt.datetime) -> str:
    return at.isoformat(timespec="minutes")


def bring_back(context: Context, path: str) -> str:
    """Move a checkpoint as a recall would: to hot, a forgotten one to warm; returns its new path."""
    checkpoints = (piece for piece in list_checkpoints(context.workspace, context.config) if piece.layer != HOT)
    sunk = next((piece for piece in checkpoints if context.workspace.relative(piece.path) == path), None)
    if sunk is None:
        raise NotFound(f"{path} is not a checkpoint in an older layer.", f"{path} 不是较旧层中的检查点。")
    moved = organise.rotate_recalled(context, [sunk])[path]
    if moved == path:
        raise changed_outside(path)
    recall = refcount.new_recall(context.clock, moved, "", (1, 1), refcount.ROTATED)
    refcount.write_recalls(context.workspace, [recall])
    return moved
