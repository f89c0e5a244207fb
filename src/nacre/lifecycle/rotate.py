"""What a recall does at once: a checkpoint of warm or gist returns to hot, a forgotten one to warm, marked by its user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nacre.clock import Clock
from nacre.config import Config
from nacre.errors import Locked, NacreError
from nacre.lifecycle.ages import dated, head_of
from nacre.lifecycle.fold import Kept, gathered
from nacre.vault import refcount
from nacre.vault.operation import operation
from nacre.vault.refcount import Entry
from nacre.vault.tiers import FORGOTTEN, HOT, WARM, Checkpoint, Family, Shelf, carry_out, families, held, listed
from nacre.vault.workspace import Workspace

WAIT = 2.0  # seconds that an answer waits for others to finish; what then stays is moved by the next organise


def rotated(workspace: Workspace, clock: Clock, config: Config, found: Sequence[Checkpoint]) -> dict[str, str]:
    """Rotate what was recalled; where each file lay → where it lies now. What cannot be moved stays, and can still be read.

    The counts are written first: should the move be cut short, a forgotten checkpoint is marked and no longer dies.
    """
    shown = workspace.relative
    places = {shown(one.path): shown(one.path) for one in found}
    wanted = {one.path for one in found if one.layer != HOT}
    if not wanted:
        return places
    with operation(workspace, clock, "recall", config, timeout=WAIT) as op, held(workspace, config, timeout=WAIT):
        try:
            counts = refcount.read(workspace, config)
            entries = dict(counts.entries)
            shelf, settled = Shelf(workspace, config), []
            for family, kept in _recalled(workspace, clock, config, wanted, entries):
                settled.append(one := shelf.settle(family, WARM if family.layer == FORGOTTEN else HOT))
                entry = _entry(family, kept, clock)
                if entry is not None:
                    entries = refcount.moved(entries, kept.keys, one.family.lead.place, entry)
            refcount.write(op, counts, entries)
        except Locked:
            raise
        except (NacreError, OSError):  # organise says what is wrong; the answer does not wait for that
            return places
        for deed in (deed for one in settled for deed in one.deeds):
            try:
                carry_out(op, deed)
            except Locked:
                raise
            except NacreError:
                continue
            if (lay := shown(deed.piece.path)) in places:
                places[lay] = shown(deed.to)
    return places


def _recalled(
    workspace: Workspace, clock: Clock, config: Config, wanted: set[Path], entries: Mapping[str, Any]
) -> list[tuple[Family, Kept]]:
    """The families of the files, each with what is known of it."""
    every = families(listed(workspace, config))
    known = zip(every, gathered(workspace, config, clock, every, entries, ()), strict=True)
    return [(family, kept) for family, kept in known if not wanted.isdisjoint(one.path for one in family.pieces)]


def _entry(family: Family, kept: Kept, clock: Clock) -> Entry | None:
    """What the counts say from now on; nothing where they said nothing and need not."""
    if kept.strange or (kept.entry is None and family.layer != FORGOTTEN):
        return None
    lead, known = family.lead, kept.entry or {}
    when = dated(head_of(lead.path), lead.name, known.get("created"), lead.modified / 1e9, clock)
    entry = refcount.whole(known, when.noted)
    if family.layer == FORGOTTEN:
        entry["user_marked"] = True
    entry.pop(refcount.FORGOTTEN, None)
    return entry
