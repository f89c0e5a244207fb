"""What the user took back is not done again the next night: it is asked about."""

from __future__ import annotations

from nacre.clock import Clock
from nacre.config import Config
from nacre.vault import ledger, trail, undo
from nacre.vault.lock import lock
from nacre.vault.trail import Offered
from nacre.vault.undo import UndoPlan
from nacre.vault.workspace import Workspace

_TAKEN_BACK = "undone:"


def mark(known: str) -> str:
    """How the trail keeps that an entry was taken back."""
    return _TAKEN_BACK + known


def undone(workspace: Workspace, clock: Clock, config: Config, count: int, *, only: int | None) -> UndoPlan:
    """Undo, and note which entries of long-term memory went with it."""
    with lock(workspace):
        before = _in_memory(workspace)
        try:
            return undo.undo(workspace, clock, config, count, only=only)
        finally:  # also of an undo that stopped halfway: what went by then went
            gone = sorted(before - _in_memory(workspace))
            if gone:
                trail.note(workspace, [Offered(clock.today().isoformat(), tuple(mark(known) for known in gone))])


def _in_memory(workspace: Workspace) -> set[str]:
    return {known for known, one in ledger.standing(ledger.read(workspace).records).items() if one.in_memory}
