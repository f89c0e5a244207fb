"""Checkpoints: whole conversations in the hot layer, secrets blacked out."""

from __future__ import annotations

from pathlib import Path

from nacre.clock import Clock
from nacre.config import Config
from nacre.vault import atomic
from nacre.vault.append import REDACT, guarded
from nacre.vault.operation import operation
from nacre.vault.rewrite import rewrite
from nacre.vault.workspace import Workspace


def write(workspace: Workspace, clock: Clock, name: str, text: str, config: Config) -> tuple[Path, bool]:
    """Write a checkpoint, or bring one of that name up to date; where it lies, and whether anything changed."""
    path = workspace.tiers(config.tiers.path) / "hot" / name
    data = (guarded(text, REDACT).rstrip("\n") + "\n").encode()
    with operation(workspace, clock, "checkpoint", config) as op:
        before = atomic.read_bytes(path)
        if before == data:
            return path, False
        rewrite(op, path, data, read=None if before is None else atomic.digest(before))
    return path, True
