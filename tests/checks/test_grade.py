"""The grade follows a formula that is written down."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from nacre.checks import health
from nacre.checks.health import CONTRADICTION, KINDS, QUESTION, Deduction, graded, kind_title
from nacre.model import Problem


def test_the_formula_that_is_written_down_is_the_one_that_counts() -> None:
    page = (Path(__file__).parents[2] / "docs" / "health.md").read_text("utf8")
    rows = re.findall(r"^\| `([a-z ]+)` \| .*? \| ([\d.]+) \| ([\d.]+) \|", page, re.MULTILINE)
    points = {kind: about[:2] for kind, about in KINDS.items()}
    assert {kind: (float(each), float(most)) for kind, each, most in rows} == points
    for least, letter in health.GRADES:
        assert f"{letter} from {least}" in page


def test_every_kind_has_a_name() -> None:
    assert all(kind_title(kind) for kind in KINDS)


@pytest.mark.parametrize(
    ("count", "letter", "points"), [(0, "A", 100), (1, "A", 94), (2, "B", 88), (4, "C", 76), (9, "C", 76)]
)
def test_no_kind_takes_more_than_its_most(count: int, letter: str, points: int) -> None:
    told = graded([Problem(CONTRADICTION, "")] * count)
    assert (told.letter, told.points) == (letter, points)


def test_the_largest_deduction_comes_first() -> None:
    told = graded([*[Problem(QUESTION, "")] * 3, Problem(CONTRADICTION, "")])
    assert told.deductions == (Deduction(CONTRADICTION, 1, 6.0), Deduction(QUESTION, 3, 3.0))


def test_all_kinds_together_are_an_f_and_never_less_than_nothing() -> None:
    told = graded([Problem(kind, "") for kind in KINDS for _ in range(99)])
    assert (told.letter, told.points) == ("F", 0)
