"""What a night of distilling comes to, as values: shown, or carried out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from nacre.model.plan import Plan, Step
from nacre.model.problem import Problem
from nacre.vault.ledger import Record
from nacre.vault.longterm import Edit
from nacre.vault.review import Item
from nacre.vault.trail import Offered

if TYPE_CHECKING:
    from nacre.brain.local.judge import Meant


@dataclass(frozen=True)
class Demoted:
    """An entry that leaves MEMORY.md; it stays in the digest of its week."""

    text: str
    day: str
    project: str | None
    kind: str


@dataclass(frozen=True)
class DistilPlan:
    """New bytes for the memory files, the lines of the ledger that tell why, and questions for the user."""

    plan: Plan = field(default_factory=Plan)
    edits: tuple[Edit, ...] = ()
    records: tuple[Record, ...] = ()
    asks: tuple[Item, ...] = ()
    settled: tuple[str, ...] = ()  # questions that answered themselves
    demoted: tuple[Demoted, ...] = ()
    notes: tuple[str, ...] = ()  # for today's log
    offered: tuple[Offered, ...] = ()  # what need not be looked at again
    problems: tuple[Problem, ...] = ()
    meant: tuple[Meant, ...] = ()  # the entries that were held against the new lines
    lately: tuple[str, ...] = ()  # what the last days say: it will be pressed into its week

    @property
    def steps(self) -> tuple[Step, ...]:
        return self.plan.steps

    def __bool__(self) -> bool:
        return bool(self.edits or self.records or self.asks or self.settled or self.offered)
