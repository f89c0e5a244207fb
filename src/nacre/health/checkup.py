"""The examination as a whole: what memory holds, every finding with what mends it, what fades next, and a grade."""

from __future__ import annotations

from dataclasses import dataclass

from nacre.errors import BadInput
from nacre.health import layers, likeness, logbook, origins, passing, state, stock
from nacre.health.desk import laid_out
from nacre.health.finding import KINDS, Finding, unreadable
from nacre.health.grade import Grade, graded
from nacre.health.logs import Logs
from nacre.health.origins import Loose
from nacre.health.passing import Fade
from nacre.health.stock import Stock
from nacre.memory import Memory
from nacre.words import say


@dataclass(frozen=True)
class Health:
    """How a memory is kept. `meaning` are the languages in which likeness was judged with an embedding model."""

    grade: Grade
    findings: tuple[Finding, ...]
    fading: tuple[Fade, ...]
    stock: Stock
    loose: Loose
    meaning: tuple[str, ...]


def report(memory: Memory) -> Health:
    """Examine a memory. Reads, and changes nothing; a file that cannot be read is a finding."""
    if memory.scope.group is not None:
        raise BadInput(
            say(
                "In a group nothing is told about private memory; run this without a scope.",
                "群组范围内不会透露私人记忆的情况；请去掉范围再运行。",
            )
        )
    desk = laid_out(memory)
    files = stock.walked(desk)
    logs, tiers = Logs(desk), layers.laid_out(desk)
    findings = [
        *map(unreadable, desk.problems),
        *stock.over(desk),
        *likeness.compared(desk),
        *likeness.questions(desk),
        *passing.faded(desk),
        *state.left_behind(desk),
        *origins.unknown(desk),
        *origins.gone(desk, logs),
        *logbook.untyped(desk),
        *logbook.waiting(desk),
        *layers.examined(desk, tiers),
        *origins.sourceless(desk, logs),
    ]
    order = {kind: place for place, kind in enumerate(KINDS)}
    findings.sort(key=lambda one: (order[one.kind], one.path, one.line or 0))
    once = tuple(dict.fromkeys(findings))
    fading = (*layers.fading(desk, tiers), *passing.dated(desk), *passing.logs(desk))
    return Health(
        graded(once),
        once,
        tuple(sorted(fading, key=lambda one: (one.day, one.path, one.line or 0))),
        stock.taken(desk, files),
        origins.loose(desk, logs, files),
        memory.brain.with_vectors,
    )
