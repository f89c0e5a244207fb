"""What becomes a candidate: statements taken apart, and joined where one is not understood without the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from nacre.brain.local.judge import Judge, Judged
from nacre.tidy.collect import log_lines
from nacre.tidy.judge import Candidate, make_candidates

LEADS, SHE = (
    "Maria Lopez leads the billing team and signs every invoice",
    "She never reads mail, always ring her instead",
)
ERRAND = "Fixed the typo on line 12 of this page today"


class Tuned(Judge):
    """Stands for the tuned models, which are not installed everywhere: what lasts, and what leans on the words before it."""

    def read(self, texts: Sequence[str], before: Sequence[str] | None = None) -> list[Judged]:
        return [
            replace(judged, lasting=0.1 if judged.text == ERRAND else 0.9, leans=float(judged.text.startswith("She")))
            for judged in super().read(texts, before)
        ]


def candidates(*lines: str, between: str = "") -> list[Candidate]:
    heading = "# 2026-03-19\n\n## 14:05 session:61871d67 | 4 messages"
    log = heading + between.join(f"\n- {line}" for line in lines) + "\n"
    return make_candidates(log_lines("2026-03-19", log.encode()), Tuned(None))


def test_a_line_that_only_says_she_is_joined_to_the_line_above_that_says_who() -> None:
    (joined,) = candidates(LEADS, SHE)
    assert joined.text == f"{LEADS}; {SHE}"
    assert joined.above is not None
    assert (joined.above.words, joined.said.words) == (LEADS, SHE)
    assert not joined.dangling


def test_what_would_be_too_long_for_a_line_is_not_joined() -> None:
    long = f"{LEADS}, {', '.join(f'those of customer {number}' for number in range(8))}"
    found = candidates(long, SHE)
    assert [candidate.text for candidate in found] == [long, SHE]


@pytest.mark.parametrize(
    ("above", "line", "between"),
    [
        (ERRAND, SHE, ""),  # what it would be joined to is not worth keeping
        (LEADS, "She is away only this week, ring Tom", ""),
        (LEADS, SHE, "\n\n## 15:00 session:5e551011 | 2 messages"),
    ],
)
def test_what_is_passing_or_said_elsewhere_is_not_joined(above: str, line: str, between: str) -> None:
    found = candidates(above, line, between=between)
    assert [candidate.above for candidate in found] == [None, None]
    assert found[1].dangling
