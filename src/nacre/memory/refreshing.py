"""A fresh start: the talk that goes on is put away, the layers are put in order, and a new session is told what it should know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from nacre.errors import NotFound

if TYPE_CHECKING:
    from nacre.lifecycle.organise import OrganiseReport
    from nacre.lifecycle.promote import PromotePlan
    from nacre.memory.facade import Memory
    from nacre.memory.writing import Written
    from nacre.recall.pack import ContextPack


@dataclass(frozen=True)
class Refreshed:
    """What each of the four steps came to. Without a talk to put away, `missing` says so."""

    checkpoint: Written | None
    missing: str
    organised: OrganiseReport
    promoted: PromotePlan
    context: ContextPack


def refresh(memory: Memory, session: str | None, *, apply: bool, budget: int | None, dry_run: bool) -> Refreshed:
    """checkpoint → organise → promote → context. A session that is named must be there; without one, none is missed."""
    put_away, missing = None, ""
    try:
        put_away = memory.checkpoint(session, dry_run=dry_run)
    except NotFound as trouble:
        if session is not None:
            raise
        missing = str(trouble)
    organised = memory.organise(dry_run=dry_run)
    promoted = memory.promote(apply=apply, dry_run=dry_run)
    return Refreshed(put_away, missing, organised, promoted, memory.context(budget, noted=not dry_run))
