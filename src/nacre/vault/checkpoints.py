"""Checkpoints: whole conversations in the hot layer, secrets blacked out."""

from __future__ import annotations

from itertools import count
from pathlib import Path

from nacre.clock import Clock
from nacre.config import Config
from nacre.errors import NacreError
from nacre.vault import atomic, refcount
from nacre.vault.append import REDACT, guarded
from nacre.vault.operation import Operation, operation
from nacre.vault.rewrite import rewrite
from nacre.vault.tiers import FORGOTTEN, HOT, Family, Shelf, carry_out, content, families, held, listed, of_name
from nacre.vault.workspace import Workspace


def write(workspace: Workspace, clock: Clock, name: str, text: str, config: Config) -> tuple[Path, bool]:
    """Write a checkpoint, or bring one of that name up to date; where it lies, and whether anything changed.

    One that has sunk into a colder layer comes back to hot, unless there is nothing new and it is not about to go.
    """
    path = workspace.tiers(config.tiers.path) / HOT / name
    data = (guarded(text, REDACT).rstrip("\n") + "\n").encode()
    with operation(workspace, clock, "checkpoint", config) as op, held(workspace, config):
        sunk = _sunk(workspace, config, name)
        if sunk and sunk.original:
            if sunk.layer != FORGOTTEN and content(workspace, sunk.original) == data:
                return sunk.original.path, False
            _bring_back(op, sunk)
        before = atomic.read_bytes(path)
        if before == data:
            return path, bool(sunk)
        rewrite(op, path, data, read=None if before is None else atomic.digest(before))
    return path, True


def write_text(workspace: Workspace, clock: Clock, name: str, text: str, config: Config) -> tuple[Path, bool]:
    """Write a text as a checkpoint of its own: nothing else goes by its name, and the same text is not kept twice."""
    data = (guarded(text, REDACT).rstrip("\n") + "\n").encode()
    with operation(workspace, clock, "checkpoint", config) as op, held(workspace, config):
        for one in listed(workspace, config):
            if one.size == len(data) and one.layer != FORGOTTEN and atomic.read_bytes(one.path) == data:
                return one.path, False
        stem = name.removesuffix(".md")
        free = (f"{stem}{'' if number == 1 else f'-{number}'}.md" for number in count(1))
        path = (
            workspace.tiers(config.tiers.path) / HOT / next(one for one in free if not of_name(workspace, config, one))
        )
        rewrite(op, path, data, read=None)
    return path, True


def _sunk(workspace: Workspace, config: Config, name: str) -> Family | None:
    """The checkpoint of that name in a colder layer, when none is in hot."""
    found = [one for one in families(of_name(workspace, config, name)) if one.original]
    return None if not found or any(one.layer == HOT for one in found) else found[0]


def _bring_back(op: Operation, sunk: Family) -> None:
    settled = Shelf(op.workspace, op.config).settle(sunk, HOT)
    for deed in settled.deeds:
        carry_out(op, deed)
    try:
        counts = refcount.read(op.workspace, op.config)
    except NacreError:
        return  # organise says what is wrong with it, and finds the entry by its name once it is mended
    keys = [one.place for one in sunk.pieces if isinstance(counts.entries.get(one.place), dict)]
    for key in keys[-1:]:  # that of the original, where both were counted
        entry = {name: value for name, value in counts.entries[key].items() if name != refcount.FORGOTTEN}
        refcount.write(op, counts, refcount.moved(counts.entries, [key], settled.family.lead.place, entry))
