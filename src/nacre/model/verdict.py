"""What the four-way test says of a statement that wants to be remembered for good, and how two statements relate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

KEEP, ASK, REFUSE = "keep", "ask", "refuse"
TESTS = ("prevents_error", "broad", "self_contained", "novel")


@dataclass(frozen=True)
class Verdict:
    """Keep, ask or refuse; where it is not kept, the tests that it failed, the worst first. `scores` are the odds of passing each."""

    decision: str
    failed: tuple[str, ...]
    without_it: str | None
    scores: Mapping[str, float] = field(default_factory=dict)
    worth: float = 0.0  # the odds that it should be kept, everything taken together

    @property
    def admitted(self) -> bool:
        return self.decision == KEEP

    @property
    def odds(self) -> float:
        """How likely it is that all tests are passed."""
        product = 1.0
        for name in TESTS:
            product *= self.scores.get(name, 1.0)
        return product


class Relation(NamedTuple):
    """How a new statement stands to a remembered one: same, replaces, adds, exception or ask; and how sure that is."""

    label: str
    confidence: float
