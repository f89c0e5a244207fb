"""The grade of a memory, by a formula that anybody can follow.

A memory begins with 100 points. Each finding takes the points of its kind away, and no kind takes more than its most:

| kind | each | most |
|---|---|---|
| unreadable: a file or line that is left alone because it cannot be read or is no memory | 5 | 20 |
| over limits: a MEMORY.md that takes nothing new | 20 | 30 |
| contradiction: two entries that cannot both hold | 6 | 24 |
| duplicate: two entries that say the same | 3 | 15 |
| question: something waits for the user's word | 1 | 10 |
| faded: an entry whose time is over | 2 | 10 |
| stale state: a task in SESSION-STATE.md, untouched for more than 7 days | 5 | 5 |
| origin gone: an entry whose day, session or line no longer exists | 2 | 10 |
| unknown entry: MEMORY.md and ledger tell different things | 0.5 | 10 |
| untyped: a note of the last 30 days without a type | 0.5 | 10 |
| unpressed: a log that a night should have put away | 0.5 | 15 |
| unsorted: a checkpoint that belongs in another layer since yesterday | 0.5 | 10 |
| empty log | 0.5 | 5 |
| copy: a checkpoint with the content of another | 0.5 | 5 |
| count without file: a recall count of a checkpoint that is gone | 0.2 | 2 |
| source gone: a line of a digest that names a day without a log | 0.2 | 2 |

What is left, rounded, is the grade: A from 90, B from 80, C from 70, D from 60, else F.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from nacre.health import finding
from nacre.health.finding import Finding

FULL = 100
GRADES = ((90, "A"), (80, "B"), (70, "C"), (60, "D"))
POINTS = {  # by kind: for each finding, and at most
    finding.UNREADABLE: (5.0, 20.0),
    finding.OVER: (20.0, 30.0),
    finding.CONTRADICTION: (6.0, 24.0),
    finding.DUPLICATE: (3.0, 15.0),
    finding.QUESTION: (1.0, 10.0),
    finding.FADED: (2.0, 10.0),
    finding.STATE: (5.0, 5.0),
    finding.ORIGIN: (2.0, 10.0),
    finding.UNKNOWN: (0.5, 10.0),
    finding.UNTYPED: (0.5, 10.0),
    finding.UNPRESSED: (0.5, 15.0),
    finding.UNSORTED: (0.5, 10.0),
    finding.EMPTY: (0.5, 5.0),
    finding.COPY: (0.5, 5.0),
    finding.UNCOUNTED: (0.2, 2.0),
    finding.SOURCE: (0.2, 2.0),
}


@dataclass(frozen=True)
class Deduction:
    """What one kind of finding takes away."""

    kind: str
    count: int
    points: float


@dataclass(frozen=True)
class Grade:
    """The letter, the points that are left, and every deduction, the largest first."""

    letter: str
    points: int
    deductions: tuple[Deduction, ...]


def graded(findings: Iterable[Finding]) -> Grade:
    counts = Counter(one.kind for one in findings)
    lost = [Deduction(kind, counts[kind], _lost(kind, counts[kind])) for kind in finding.KINDS if counts[kind]]
    left = max(0, round(FULL - sum(one.points for one in lost)))
    letter = next((letter for least, letter in GRADES if left >= least), "F")
    return Grade(letter, left, tuple(sorted(lost, key=lambda one: -one.points)))


def _lost(kind: str, count: int) -> float:
    each, most = POINTS[kind]
    return round(min(each * count, most), 1)
