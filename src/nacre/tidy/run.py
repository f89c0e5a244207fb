"""A night's tidying: press old days into weeks, distil what lasts, archive; each phase planned, then carried out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from nacre.model.plan import Step
from nacre.model.problem import Problem
from nacre.tidy import archive, backups, compress, distil, write
from nacre.tidy.compress import CompressPlan
from nacre.tidy.days import Said
from nacre.tidy.distil import Only
from nacre.tidy.planned import DistilPlan
from nacre.tidy.room import Room
from nacre.vault.operation import operation
from nacre.words import say

COMPRESS, DISTIL, ARCHIVE = "compress", "distil", "archive"
Progress = Callable[[str], None]


@dataclass(frozen=True)
class TidyReport:
    """What was done, or would be: the steps of each phase with their reasons, trouble, and what was left for the next run."""

    steps: tuple[tuple[str, Step], ...] = ()
    problems: tuple[Problem, ...] = ()
    left: tuple[Problem, ...] = ()
    dry_run: bool = False
    recovered: int = 0
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def changed(self) -> bool:
        return bool(self.steps)


def run(room: Room, *, dry_run: bool = False, progress: Progress | None = None) -> TidyReport:
    """All three phases under one lock and as one operation, so that one `undo` takes the night back."""
    tell = progress or (lambda _phase: None)
    if dry_run:
        return _planned_only(room, tell)
    left: list[Problem] = []
    with operation(room.workspace, room.clock, "tidy", room.config) as op:
        recovered = write.recover(room, op)
        tell(COMPRESS)
        pressed = _pressed(room)
        left += compress.apply(room, op, pressed)
        tell(DISTIL)
        distilled, refused = distilled_with_care(room)
        left += [*refused, *write.apply(room, op, distilled)]
        tell(ARCHIVE)
        moved = archive.plan(room, pressed)
        left += archive.apply(room, op, moved)
        thinned = backups.plan(room)
        left += backups.apply(room, op, thinned)
    if distilled.meant:
        room.judge().keep(distilled.meant, distilled.lately)
    problems = (*pressed.problems, *distilled.problems)
    phases = ((COMPRESS, pressed.steps), (DISTIL, distilled.steps), (ARCHIVE, (*moved.plan.steps, *thinned.plan.steps)))
    return _report(phases, problems, left, recovered=recovered)


def _pressed(room: Room) -> CompressPlan:
    """The plan for the weeks; none where the user chose to keep daily logs for `nacre decay`, which is told."""
    if room.config.tidy.retention == "weekly":
        return compress.plan(room)
    sentence = say(
        'tidy.retention is "decay": daily logs stay as they are, nothing is pressed into weeks or archived; "nacre decay" does that.',
        "tidy.retention 为“decay”：每日日志保持原样，不压缩进周报，也不归档；归档由“nacre decay”进行。",
    )
    return CompressPlan(problems=(Problem("kept for decay", sentence, remedy="nacre decay"),))


def distilled_with_care(
    room: Room, only: Only | None = None, said: Sequence[Said] | None = None
) -> tuple[DistilPlan, tuple[Problem, ...]]:
    """The plan of the night; one that would take out too much is made again with care, and asks instead. One that still would
    is not carried out at all, and is told."""
    planned = distil.plan(room, only=only, said=said)
    if not write.too_much_lost(room, planned):
        return planned, ()
    careful = distil.plan(room, careful=True, only=only, said=said)
    problem = write.too_much_lost(room, careful)
    return (DistilPlan(problems=careful.problems), (problem,)) if problem else (careful, ())


def _planned_only(room: Room, tell: Progress) -> TidyReport:
    tell(COMPRESS)
    pressed = _pressed(room)
    tell(DISTIL)
    distilled, refused = distilled_with_care(room)
    tell(ARCHIVE)
    moved, thinned = archive.plan(room, pressed), backups.plan(room)
    phases = ((COMPRESS, pressed.steps), (DISTIL, distilled.steps), (ARCHIVE, (*moved.plan.steps, *thinned.plan.steps)))
    return _report(phases, (*pressed.problems, *distilled.problems), refused, dry_run=True)


def _report(
    phases: Sequence[tuple[str, Sequence[Step]]],
    problems: Sequence[Problem],
    left: Sequence[Problem],
    *,
    dry_run: bool = False,
    recovered: int = 0,
) -> TidyReport:
    steps = tuple((phase, step) for phase, found in phases for step in found)
    counts = Counter(f"{phase} {step.action}" for phase, step in steps)
    once = tuple(dict.fromkeys(problems))
    return TidyReport(steps, once, tuple(left), dry_run, recovered, counts)
