"""What the four-way test says of a statement that wants to be remembered for good."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

TESTS = ("prevents_error", "broad", "self_contained", "novel")


@dataclass(frozen=True)
class Verdict:
    """Whether it is admitted; if not, the tests that it failed, the worst first. `scores` are the odds of passing each."""

    admitted: bool
    failed: tuple[str, ...]
    without_it: str | None
    scores: Mapping[str, float] = field(default_factory=dict)

    @property
    def odds(self) -> float:
        """How likely it is that all tests are passed."""
        product = 1.0
        for name in TESTS:
            product *= self.scores.get(name, 1.0)
        return product
