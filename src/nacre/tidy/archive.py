"""Old daily logs move to the archive with their bytes unchanged or compressed; old backups of MEMORY.md thin out."""

from __future__ import annotations

import datetime as dt
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nacre.errors import ChangedOutside, NacreError, PathEscape
from nacre.i18n import say
from nacre.model.report import Problem, Step
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
    onto: Log | None = None
    data: bytes | None = None  # what the archived log will hold; None where it holds this log already
    size: int = 0  # of all that is archived of the day then


@dataclass(frozen=True)
class ArchivePlan:
    """Which logs move where."""

    steps: tuple[Step, ...] = ()
    moves: tuple[Move, ...] = ()
    problems: tuple[Problem, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.moves)


def plan(context: TidyContext, compressed: CompressPlan) -> ArchivePlan:
    """Where the living logs go that the digests have taken in, or will have once the plan for them is carried out."""
    moves: list[Move] = []
    steps: list[Step] = []
    problems: list[Problem] = []
    shown = context.workspace.relative
    archived: dict[str, list[Log]] = {}
    for log in compressed.logs:
        if log.day.archived:
            archived.setdefault(log.day.path.name, []).append(log)
    for log in compressed.logs:
        if log.day.archived:
            continue
        week = compressed.weeks[log.day.date.isoformat()]
        try:
            move = plan_move(context, log, week, archived.get(log.day.path.name, []))
        except NacreError as error:
            problems.append(Problem("log left as it is", str(error), shown(log.day.path)))
            continue
        moves.append(move)
        if move.onto:
            reason = say("its day is archived already; it goes behind that", "该日已归档，接在其后")
        elif count := len(log.lines):
            reason = say(f"all it says ({count}) is in {week}", f"其全部内容（{count} 条）已在 {week} 中")
        else:
            reason = say("older than the days that are kept, and says nothing", "已超过保留天数，且没有内容")
        steps.append(Step("append" if move.onto else "move", shown(log.day.path), reason, shown(move.to)))
    return ArchivePlan(tuple(steps), tuple(moves), tuple(problems))


def plan_move(context: TidyContext, log: Log, week: str, archived: Sequence[Log]) -> Move:
    """Where a log goes: behind what was archived of its day, else to a place of its own."""
    if not archived:
        return Move(log, archive_path(context, log), week)
    onto = min(archived, key=lambda other: other.day.path)  # where capture adds to the day as well
    old = expect(context.workspace, onto.day.path, onto.hash) or b""
    new = expect(context.workspace, log.day.path, log.hash) or b""
    data = joined(context, onto, old, new)
    size = sum(other.size for other in archived) - onto.size + len(old if data is None else data)
    return Move(log, onto.day.path, week, onto, data, size)


def archive_path(context: TidyContext, log: Log) -> Path:
    """Where a log goes of whose day nothing is archived yet."""
    date = log.day.date
    folder = f"{date:%Y}" if context.config.archive.layout == "year" else f"{date:%Y-%m}"
    return context.workspace.archive / folder / log.day.path.name


def joined(context: TidyContext, onto: Log, old: bytes, new: bytes) -> bytes | None:
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
    before = [(line.mark, line.project, line.group) for data in (old, new) for line in log_lines(day, data)]
    for behind in (gap + bare, titled):
        if [(line.mark, line.project, line.group) for line in log_lines(day, old + behind)] == before:
            return old + behind
    shown = context.workspace.relative(onto.day.path)
    raise NacreError(
        f"A later log of {day} cannot follow {shown}: a code fence there is never closed. Close it.",
        f"{day} 之后的日志无法接在 {shown} 后面：其中有未闭合的代码块。请将其闭合。",
    )


def apply(context: TidyContext, op: Operation, moves: Sequence[Move], *, digested: bool = True) -> list[Problem]:
    """Move the logs; those that somebody changed meanwhile are problems and left for the next run. `digested`: only those whose
    week has taken them in."""
    if not moves:
        return []
    left: list[Problem] = []
    grown: list[Digested] = []
    entered = provenance.read_provenance(context.workspace).entered()
    for move in moves:
        log, day = move.log, move.log.day.date.isoformat()
        if digested and not {line.mark for line in log.lines} <= entered.get(day, set()):
            continue  # its week was left, which is a problem of its own
        try:
            if move.onto is None:
                move_file(op, log.day.path, move.to, read=log.hash)
            else:
                _append(op, move, move.onto)
                grown += [Digested(day, move.week, (), move.size)] if digested else []
        except (ChangedOutside, PathEscape) as error:
            left.append(Problem("left for the next run", str(error), context.workspace.relative(log.day.path)))
    provenance.write_provenance(op, grown)
    return left


def _append(op: Operation, move: Move, onto: Log) -> None:
    """First the archived log grows, then the living one goes: killed between the two, nothing is lost and nothing comes twice."""
    op.place(move.to)
    op.place(move.log.day.path)
    before = expect(op.workspace, move.to, onto.hash)
    expect(op.workspace, move.log.day.path, move.log.hash)
    assert before is not None
    if move.data is not None:
        after = disk.digest(move.data)
        op.record([Change(op.workspace.relative(move.to), REWRITE, onto.hash, after)], [before, move.data])
        write_over(op, move.to, before, move.data)
    remove_file(op, move.log.day.path, read=move.log.hash)


# A log that goes into the archive compressed: never before long-term memory has seen all that it says.


@dataclass(frozen=True)
class Packing:
    """A log on its way into a compressed file, which must still be what was read; `data` is none where it holds the log already."""

    log: Log
    to: Path
    read: str | None
    data: bytes | None


def is_decided(log: Log, decided: LineKeys) -> bool:
    """Whether long-term memory has seen all that a log says: what waits for room must stay where tidying reads it."""
    return all((line.day, line.mark) in decided or FIELD_NOTE.match(line.words) for line in log.lines)


def plan_packing(context: TidyContext, log: Log) -> Packing:
    """The log compressed; behind what was compressed of its day before."""
    to = archive_path(context, log)
    to = to.with_name(to.name + COMPRESSED)
    new = expect(context.workspace, log.day.path, log.hash) or b""
    if os.path.islink(to):
        raise changed_outside(context.workspace.relative(to))
    there = disk.read_bytes(to)
    if there is None:
        return Packing(log, to, None, compress(new))
    old = decompress(there, context.workspace.relative(to))
    onto = Log(Day(log.day.date, to, archived=True, size=len(old)), disk.digest(there), len(old), ())
    whole = None if old == new else joined(context, onto, old, new)
    return Packing(log, to, onto.hash, None if whole is None else compress(whole))


def apply_packing(op: Operation, packing: Packing) -> None:
    """First the compressed file, then the living log goes: killed between the two, the next run finds it there and ends the work."""
    op.place(packing.to)
    before = expect(op.workspace, packing.to, packing.read)
    expect(op.workspace, packing.log.day.path, packing.log.hash)
    if packing.data is not None:
        write_recorded(op, packing.to, before, packing.data)
    remove_file(op, packing.log.day.path, read=packing.log.hash)


# Old backups of each MEMORY.md thin out: the last of so many days, weeks and months is kept, counted by their names alone.

_BACKUP = re.compile(r"(?:(?P<slug>.+)\.)?MEMORY\.md\.bak-(?P<day>\d{4}-\d{2}-\d{2})(?:-(?P<time>\d{6}))?")


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

    steps: tuple[Step, ...] = ()
    removals: tuple[tuple[Path, str], ...] = ()


def plan_backups(context: TidyContext) -> BackupPlan:
    """Which backups are no longer wanted; files of any other name are not looked at."""
    steps: list[Step] = []
    removals: list[tuple[Path, str]] = []
    by_file: dict[str, list[Backup]] = {}
    for backup in _backups(context.workspace):
        by_file.setdefault(backup.slug, []).append(backup)
    for backups in by_file.values():
        for backup, reason in superfluous(backups, context.config.archive.backups):
            try:
                data = read_bytes(backup.path)
            except NacreError:
                continue  # what cannot be read could not be brought back
            if data is not None:
                removals.append((backup.path, digest(data)))
                steps.append(Step("remove", context.workspace.relative(backup.path), reason))
    return BackupPlan(tuple(steps), tuple(removals))


def superfluous(backups: Sequence[Backup], keep: Sequence[int]) -> list[tuple[Backup, str]]:
    """The backups of one file that go, newest first, each with the reason.

    As in restic's `forget`: going back from the newest, the last one of each day, week and month that has any is kept until
    so many days, weeks and months are served. The newest stays whatever the numbers are.
    """
    left = list(keep)
    last: list[tuple[int, ...] | None] = [None, None, None]
    going: list[tuple[Backup, str]] = []
    later: dict[dt.date, Backup] = {}
    for backup in sorted(backups, key=lambda backup: (backup.day, backup.time), reverse=True):
        day, week = backup.day, backup.day.isocalendar()
        kept = not later
        for which, period in enumerate(((day.toordinal(),), (week.year, week.week), (day.year, day.month))):
            if left[which] > 0 and last[which] != period:
                last[which] = period
                left[which] -= 1
                kept = True
        if not kept and day in later:
            name = later[day].path.name
            going.append((backup, say(f"{name} is a later one of the same day", f"{name} 是同一天更晚的备份")))
        elif not kept:
            days, weeks, months = keep
            reason = say(
                f"not the last one of any of the {days} days, {weeks} weeks and {months} months that are kept",
                f"不是所保留的 {days} 天、{weeks} 周、{months} 个月中任何一段的最后一个备份",
            )
            going.append((backup, reason))
        later.setdefault(day, backup)
    return going


def _backups(workspace: Workspace) -> list[Backup]:
    try:
        with os.scandir(workspace.archive) as entries:
            names = [entry.name for entry in entries if ".bak-" in entry.name and entry.is_file(follow_symlinks=False)]
    except OSError:
        return []
    backups: list[Backup] = []
    for name in names:
        if match := _BACKUP.fullmatch(name):
            try:
                moment = dt.datetime.strptime(f"{match['day']} {match['time'] or '000000'}", "%Y-%m-%d %H%M%S")  # noqa: DTZ007
            except ValueError:
                continue  # a time that neither calendar nor clock has
            backups.append(Backup(workspace.archive / name, match["slug"] or "", moment.date(), match["time"] or ""))
    return backups


def apply_backups(context: TidyContext, op: Operation, planned: BackupPlan) -> list[Problem]:
    """Remove them, so that it can be undone; one that was changed meanwhile stays and is a problem."""
    left: list[Problem] = []
    for path, read in planned.removals:
        try:
            remove_file(op, path, read=read)
        except ChangedOutside as error:
            left.append(Problem("left for the next run", str(error), context.workspace.relative(path)))
    return left
