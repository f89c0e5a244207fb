"""Old daily logs move to the archive with their bytes unchanged or compressed; old backups of MEMORY.md thin out."""

from __future__ import annotations

import datetime as dt
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nacre.errors import ChangedOutside, NacreError, PathEscape
from nacre.i18n import say
from nacre.model.report import Plan, Problem, Step
from nacre.model.workspace import Workspace
from nacre.tidy.collect import FIELD_NOTE, Day, LineKeys, Log, TidyContext, log_lines
from nacre.tidy.compress import CompressPlan
from nacre.vault import disk, provenance
from nacre.vault.disk import COMPRESSED, compress, decompress, digest, read_bytes
from nacre.vault.history import REWRITE, Change, Operation
from nacre.vault.provenance import Digested
from nacre.vault.writing import (
    BYTE_ORDER_MARK,
    changed_outside,
    expect,
    move_file,
    remove_file,
    write_over,
    write_recorded,
)


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


def plan(room: TidyContext, compressed: CompressPlan) -> ArchivePlan:
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


def destined(room: TidyContext, log: Log, week: str, archived: Sequence[Log]) -> Move:
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


def place(room: TidyContext, log: Log) -> Path:
    """Where a log goes of whose day nothing is archived yet."""
    date = log.day.date
    folder = f"{date:%Y}" if room.config.archive.layout == "year" else f"{date:%Y-%m}"
    return room.workspace.archive / folder / log.day.path.name


def joined(room: TidyContext, onto: Log, old: bytes, new: bytes) -> bytes | None:
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
    told = [(one.mark, one.project, one.group) for data in (old, new) for one in log_lines(day, data)]
    for behind in (gap + bare, titled):
        if [(one.mark, one.project, one.group) for one in log_lines(day, old + behind)] == told:
            return old + behind
    raise NacreError(
        say(
            f"A later log of {day} cannot follow {room.workspace.relative(onto.day.path)}: a code fence there is never closed. "
            "Close it.",
            f"{day} 之后的日志无法接在 {room.workspace.relative(onto.day.path)} 后面：其中有未闭合的代码块。请将其闭合。",
        )
    )


def _step(room: TidyContext, one: Move) -> Step:
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


def apply(room: TidyContext, op: Operation, planned: ArchivePlan, *, pressed: bool = True) -> tuple[Problem, ...]:
    """Move the logs; those that somebody changed meanwhile are left for the next run, and told. `pressed`: only those whose week
    has taken them in."""
    if not planned.moves:
        return ()
    left: list[Problem] = []
    behind: list[Digested] = []
    entered = provenance.read_provenance(room.workspace).entered()
    for one in planned.moves:
        day = one.log.day.date.isoformat()
        if pressed and not one.marks <= entered.get(day, set()):
            continue  # its week was left, which has been told
        try:
            if one.onto is None:
                move_file(op, one.log.day.path, one.to, read=one.log.hash)
            else:
                _append(op, one, one.onto)
                behind += [Digested(day, one.week, (), one.size)] if pressed else []
        except (ChangedOutside, PathEscape) as trouble:
            left.append(Problem("left for the next run", str(trouble), room.workspace.relative(one.log.day.path)))
    provenance.write_provenance(op, behind)
    return tuple(left)


def _append(op: Operation, one: Move, onto: Log) -> None:
    """First the archived log grows, then the living one goes: killed between the two, nothing is lost and nothing comes twice."""
    op.place(one.to)
    op.place(one.log.day.path)
    before = expect(op.workspace, one.to, onto.hash)
    expect(op.workspace, one.log.day.path, one.log.hash)
    assert before is not None
    if one.data is not None:
        after = disk.digest(one.data)
        op.record([Change(op.workspace.relative(one.to), REWRITE, onto.hash, after)], [before, one.data])
        write_over(op, one.to, before, one.data)
    remove_file(op, one.log.day.path, read=one.log.hash)


# A log that goes into the archive compressed: never before long-term memory has seen all that it says.


@dataclass(frozen=True)
class Packing:
    """A log on its way into a compressed file, which must still be what was read; `data` is none where it holds the log already."""

    log: Log
    to: Path
    read: str | None
    data: bytes | None


def is_decided(log: Log, known: LineKeys) -> bool:
    """Whether long-term memory has seen all that a log says: what waits for room must stay where tidying reads it."""
    return all((one.day, one.mark) in known or FIELD_NOTE.match(one.words) for one in log.said)


def plan_packing(room: TidyContext, log: Log) -> Packing:
    """The log compressed; behind what was compressed of its day before."""
    to = place(room, log)
    to = to.with_name(to.name + COMPRESSED)
    new = expect(room.workspace, log.day.path, log.hash) or b""
    if os.path.islink(to):
        raise changed_outside(room.workspace.relative(to))
    there = disk.read_bytes(to)
    if there is None:
        return Packing(log, to, None, compress(new))
    old = decompress(there, room.workspace.relative(to))
    onto = Log(Day(log.day.date, to, archived=True, size=len(old)), disk.digest(there), len(old), ())
    whole = None if old == new else joined(room, onto, old, new)
    return Packing(log, to, onto.hash, None if whole is None else compress(whole))


def apply_packing(op: Operation, one: Packing) -> None:
    """First the compressed file, then the living log goes: killed between the two, the next run finds it there and ends the work."""
    op.place(one.to)
    before = expect(op.workspace, one.to, one.read)
    expect(op.workspace, one.log.day.path, one.log.hash)
    if one.data is not None:
        write_recorded(op, one.to, before, one.data)
    remove_file(op, one.log.day.path, read=one.log.hash)


# Old backups of each MEMORY.md thin out: the last of so many days, weeks and months is kept, counted by their names
# alone.

_NAME = re.compile(r"(?:(?P<slug>.+)\.)?MEMORY\.md\.bak-(?P<day>\d{4}-\d{2}-\d{2})(?:-(?P<time>\d{6}))?")


@dataclass(frozen=True)
class Backup:
    """A backup by its name: of which project's MEMORY.md (none: the global one), and of when."""

    path: Path
    slug: str
    day: dt.date
    time: str  # empty for the first of a day


@dataclass(frozen=True)
class BackupPlan:
    """Which backups go, each with the hash of what it holds."""

    plan: Plan = field(default_factory=Plan)
    removals: tuple[tuple[Path, str], ...] = ()

    @property
    def steps(self) -> tuple[Step, ...]:
        return self.plan.steps

    def __bool__(self) -> bool:
        return bool(self.removals)


def plan_backups(room: TidyContext) -> BackupPlan:
    """Which backups are no longer wanted; files of any other name are not looked at."""
    steps: list[Step] = []
    removals: list[tuple[Path, str]] = []
    by_file: dict[str, list[Backup]] = {}
    for one in _backups(room.workspace):
        by_file.setdefault(one.slug, []).append(one)
    for every in by_file.values():
        for one, reason in superfluous(every, room.config.archive.backups):
            try:
                data = read_bytes(one.path)
            except NacreError:
                continue  # what cannot be read could not be brought back
            if data is not None:
                removals.append((one.path, digest(data)))
                steps.append(Step("remove", room.workspace.relative(one.path), reason))
    return BackupPlan(Plan(tuple(steps)), tuple(removals))


def superfluous(backups: Sequence[Backup], keep: Sequence[int]) -> list[tuple[Backup, str]]:
    """The backups of one file that go, newest first, each with the reason.

    As in restic's `forget`: going back from the newest, the last one of each day, week and month that has any is kept until
    so many days, weeks and months are served. The newest stays whatever the numbers are.
    """
    newest_first = sorted(backups, key=lambda one: (one.day, one.time), reverse=True)
    left = list(keep)
    last: list[tuple[int, ...] | None] = [None, None, None]
    going: list[tuple[Backup, str]] = []
    later: dict[dt.date, Backup] = {}
    for place, one in enumerate(newest_first):
        kept = place == 0
        for which, period in enumerate(_periods(one.day)):
            if left[which] > 0 and last[which] != period:
                last[which] = period
                left[which] -= 1
                kept = True
        if not kept:
            going.append((one, _reason(later.get(one.day), keep)))
        later.setdefault(one.day, one)
    return going


def _periods(day: dt.date) -> tuple[tuple[int, ...], ...]:
    week = day.isocalendar()
    return (day.toordinal(),), (week.year, week.week), (day.year, day.month)


def _reason(later: Backup | None, keep: Sequence[int]) -> str:
    if later:
        return say(f"{later.path.name} is a later one of the same day", f"{later.path.name} 是同一天更晚的备份")
    days, weeks, months = keep
    return say(
        f"not the last one of any of the {days} days, {weeks} weeks and {months} months that are kept",
        f"不是所保留的 {days} 天、{weeks} 周、{months} 个月中任何一段的最后一个备份",
    )


def _backups(workspace: Workspace) -> list[Backup]:
    try:
        with os.scandir(workspace.archive) as entries:
            plain = [entry.name for entry in entries if ".bak-" in entry.name and entry.is_file(follow_symlinks=False)]
    except OSError:
        return []
    return [
        Backup(workspace.archive / name, match["slug"] or "", day, match["time"] or "")
        for name in plain
        if (match := _NAME.fullmatch(name)) and (day := _day(match["day"], match["time"]))
    ]


def _day(day: str, time: str | None) -> dt.date | None:
    """The day of a name; none when the calendar or the clock does not know it."""
    try:
        if time:
            dt.time(int(time[:2]), int(time[2:4]), int(time[4:]))
        return dt.date.fromisoformat(day)
    except ValueError:
        return None


def apply_backups(room: TidyContext, op: Operation, planned: BackupPlan) -> tuple[Problem, ...]:
    """Remove them, so that it can be undone; one that was changed meanwhile stays, and is told."""
    left: list[Problem] = []
    for path, read in planned.removals:
        try:
            remove_file(op, path, read=read)
        except ChangedOutside as trouble:
            left.append(Problem("left for the next run", str(trouble), room.workspace.relative(path)))
    return tuple(left)
