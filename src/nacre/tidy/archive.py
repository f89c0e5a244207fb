"""Daily logs that have entered their week move to the archive, their bytes unchanged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nacre.errors import ChangedOutside, NacreError, PathEscape
from nacre.model.plan import Plan, Step
from nacre.model.problem import Problem
from nacre.tidy.compress import CompressPlan
from nacre.tidy.days import Log, said
from nacre.tidy.room import Room
from nacre.vault import atomic, trail
from nacre.vault.history import REWRITE, Change
from nacre.vault.operation import Operation
from nacre.vault.rewrite import BYTE_ORDER_MARK, expect, move, remove, write_over
from nacre.vault.trail import Pressed
from nacre.words import say


@dataclass(frozen=True)
class Move:
    """A living log on its way: to a free place, or behind what was archived of its day before."""

    log: Log
    to: Path
    week: str  # the digest that has taken it in
    marks: frozenset[str]  # must all have entered when it comes to it
    onto: Log | None = None
    data: bytes | None = None  # what the archived log will hold; None where it holds this log already
    size: int = 0  # of all that is archived of the day then


@dataclass(frozen=True)
class ArchivePlan:
    """Which logs move where."""

    plan: Plan = field(default_factory=Plan)
    moves: tuple[Move, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def steps(self) -> tuple[Step, ...]:
        return self.plan.steps

    def __bool__(self) -> bool:
        return bool(self.moves)


def plan(room: Room, compressed: CompressPlan) -> ArchivePlan:
    """Where the living logs go that the digests have taken in, or will have once the plan for them is carried out."""
    moves: list[Move] = []
    steps: list[Step] = []
    problems: list[Problem] = []
    archived: dict[str, list[Log]] = {}
    for log in compressed.logs:
        if log.day.archived:
            archived.setdefault(log.day.path.name, []).append(log)
    for log in compressed.logs:
        if log.day.archived:
            continue
        try:
            week = compressed.weeks[log.day.date.isoformat()]
            found = destined(room, log, week, archived.get(log.day.path.name, []))
        except NacreError as trouble:
            problems.append(Problem("log left as it is", str(trouble), room.workspace.relative(log.day.path)))
            continue
        moves.append(found)
        steps.append(_step(room, found))
    return ArchivePlan(Plan(tuple(steps)), tuple(moves), tuple(problems))


def destined(room: Room, log: Log, week: str, archived: Sequence[Log]) -> Move:
    """Where a log goes: behind what was archived of its day, else to a place of its own."""
    marks = frozenset(one.mark for one in log.said)
    if not archived:
        return Move(log, place(room, log), week, marks)
    onto = min(archived, key=lambda one: one.day.path)  # where capture adds to the day as well
    old = expect(room.workspace, onto.day.path, onto.hash) or b""
    new = expect(room.workspace, log.day.path, log.hash) or b""
    data = joined(room, onto, old, new)
    size = sum(one.size for one in archived) - onto.size + len(old if data is None else data)
    return Move(log, onto.day.path, week, marks, onto, data, size)


def place(room: Room, log: Log) -> Path:
    """Where a log goes of whose day nothing is archived yet."""
    date = log.day.date
    folder = f"{date:%Y}" if room.config.archive.layout == "year" else f"{date:%Y-%m}"
    return room.workspace.archive / folder / log.day.path.name


def joined(room: Room, onto: Log, old: bytes, new: bytes) -> bytes | None:
    """The archived log with the living one behind it; None when it ends with it already.

    The title of the day is not repeated, unless the first lines would come to stand under a heading of the archived log:
    that may be another project's, or a group's, which could read them then.
    """
    day = onto.day.date.isoformat()
    body = new.removeprefix(BYTE_ORDER_MARK)
    first, end, rest = body.partition(b"\n")
    title = b"# " + day.encode()
    bare = rest if first.rstrip() == title else body
    if not bare.strip() or old.endswith(bare):
        return None
    newline = b"\r\n" if first.endswith(b"\r") else b"\n"
    gap = (b"" if old.endswith(b"\n") or not old else newline) + (b"" if bare.startswith((b"\n", b"\r\n")) else newline)
    titled = gap + (first + end if bare is rest else title + newline) + bare
    told = [(one.mark, one.project, one.group) for data in (old, new) for one in said(day, data)]
    for behind in (gap + bare, titled):
        if [(one.mark, one.project, one.group) for one in said(day, old + behind)] == told:
            return old + behind
    raise NacreError(
        say(
            f"A later log of {day} cannot follow {room.workspace.relative(onto.day.path)}: a code fence there is never closed. "
            "Close it.",
            f"{day} 之后的日志无法接在 {room.workspace.relative(onto.day.path)} 后面：其中有未闭合的代码块。请将其闭合。",
        )
    )


def _step(room: Room, one: Move) -> Step:
    shown = room.workspace.relative
    if one.onto is not None:
        reason = say("its day is archived already; it goes behind that", "该日已归档，接在其后")
        return Step("append", shown(one.log.day.path), reason, shown(one.to))
    if not one.log.said:
        reason = say("older than the days that are kept, and says nothing", "已超过保留天数，且没有内容")
    else:
        count = len(one.log.said)
        reason = say(f"all it says ({count}) is in {one.week}", f"其全部内容（{count} 条）已在 {one.week} 中")
    return Step("move", shown(one.log.day.path), reason, shown(one.to))


def apply(room: Room, op: Operation, planned: ArchivePlan, *, pressed: bool = True) -> tuple[Problem, ...]:
    """Move the logs; those that somebody changed meanwhile are left for the next run, and told. `pressed`: only those whose week
    has taken them in."""
    if not planned.moves:
        return ()
    left: list[Problem] = []
    behind: list[Pressed] = []
    entered = trail.read(room.workspace).entered()
    for one in planned.moves:
        day = one.log.day.date.isoformat()
        if pressed and not one.marks <= entered.get(day, set()):
            continue  # its week was left, which has been told
        try:
            if one.onto is None:
                move(op, one.log.day.path, one.to, read=one.log.hash)
            else:
                _append(op, one, one.onto)
                behind += [Pressed(day, one.week, (), one.size)] if pressed else []
        except (ChangedOutside, PathEscape) as trouble:
            left.append(Problem("left for the next run", str(trouble), room.workspace.relative(one.log.day.path)))
    trail.write(op, behind)
    return tuple(left)


def _append(op: Operation, one: Move, onto: Log) -> None:
    """First the archived log grows, then the living one goes: killed between the two, nothing is lost and nothing comes twice."""
    op.place(one.to)
    op.place(one.log.day.path)
    before = expect(op.workspace, one.to, onto.hash)
    expect(op.workspace, one.log.day.path, one.log.hash)
    assert before is not None
    if one.data is not None:
        after = atomic.digest(one.data)
        op.record([Change(op.workspace.relative(one.to), REWRITE, onto.hash, after)], [before, one.data])
        write_over(op, one.to, before, one.data)
    remove(op, one.log.day.path, read=one.log.hash)
