"""Old daily logs move to the archive with their bytes unchanged or compressed; old backups of MEMORY.md thin out."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Container, Sequence
from dataclasses import dataclass
from pathlib import Path

from nacre import disk
from nacre.disk import COMPRESSED, compress, decompress
from nacre.errors import ChangedOutside, NacreError, PathEscape
from nacre.i18n import say
from nacre.model import Problem, Step
from nacre.text.blocks import real_day
from nacre.tidy.collect import FIELD_NOTE, Log, TidyContext, log_lines
from nacre.tidy.compress import CompressPlan
from nacre.vault import provenance
from nacre.vault.history import Operation
from nacre.vault.provenance import Digested
from nacre.vault.storage import list_backups, read, storage_of
from nacre.vault.writing import BYTE_ORDER_MARK, changed_outside, expect, move_file, remove_file, write_recorded


@dataclass(frozen=True)
class Move:
    """A living log on its way: to a free place, behind what was archived of its day before, or into a compressed file."""

    log: Log
    to: Path
    step: Step
    week: str = ""  # the digest that has taken it in
    read: str | None = None  # the hash of what stands there already
    data: bytes | None = None  # what will stand there; None where the log moves as it is, or stands there already
    size: int = 0  # of all that is archived of the day then


def plan(context: TidyContext, compressed: CompressPlan, problems: list[Problem]) -> list[Move]:
    """Where the living logs go that the digests have taken in, or will have once the plan for them is carried out."""
    moves: list[Move] = []
    for week, log in ((digest, log) for digest in compressed.digests for log in digest.logs):
        if log.day.archived:
            continue
        archived = [other for other in week.logs if other.day.archived and other.day.date == log.day.date]
        if archived:
            reason = say("this day is already archived; added to its archive", "当天已归档，追加到归档末尾")
        elif count := len(log.lines):
            reason = say(
                f"all of its entries ({count}) are in {week.shown}", f"其全部条目（{count} 条）已在 {week.shown} 中"
            )
        else:
            reason = say("past its retention period, and empty", "已超过保留天数，且没有内容")
        try:
            moves.append(plan_move(context, log, reason, archived, week.shown))
        except NacreError as error:
            problems.append(Problem("log left as it is", str(error), context.workspace.relative(log.day.path)))
    return moves


def plan_move(
    context: TidyContext, log: Log, reason: str, archived: Sequence[Log], week: str = "", *, pack: bool = False
) -> Move:
    """Where a log goes: behind what was archived of its day, else to a place of its own, compressed where it is packed."""
    shown, date = context.workspace.relative, log.day.date
    folder = f"{date:%Y}" if context.config.archive.layout == "year" else f"{date:%Y-%m}"
    to = context.workspace.archive / folder / log.day.path.name
    if not archived and not pack:
        return Move(log, to, Step("move", shown(log.day.path), reason, shown(to)), week)
    new = expect(context.workspace, log.day.path, log.hash) or b""
    if archived:
        onto = min(archived, key=lambda other: other.day.path)  # where capture adds to the day as well
        to = onto.day.path
        old = expect(context.workspace, to, onto.hash) or b""
        data = joined(context, to, date, old, new)
        size = sum(other.size for other in archived) - onto.size + len(old if data is None else data)
        step = Step("append", shown(log.day.path), reason, shown(to))
        return Move(log, to, step, week, onto.hash, data, size)
    to = to.with_name(to.name + COMPRESSED)
    stored = storage_of(context.workspace).about(shown(to))
    if stored and stored.is_link:
        raise changed_outside(shown(to))
    there = read(context.workspace, to)
    old = b"" if there is None else decompress(there, shown(to))
    whole = new if there is None else None if old == new else joined(context, to, date, old, new)
    step = Step("compress", shown(log.day.path), reason, shown(to))
    return Move(log, to, step, week, disk.hash_of(there), None if whole is None else compress(whole))


def joined(context: TidyContext, to: Path, date: dt.date, old: bytes, new: bytes) -> bytes | None:
    """The archived log with the living one behind it; None when it ends with it already. The title of the day is repeated only
    where the first lines would else stand under another project's or group's heading."""
    day = date.isoformat()
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
    shown = context.workspace.relative(to)
    raise NacreError(
        f"A later log of {day} cannot be added to {shown}, which has an unclosed code fence. Close it first.",
        f"{day} 的后续日志无法追加到 {shown}：其中有未闭合的代码块。请先将其闭合。",
    )


def apply(context: TidyContext, op: Operation, moves: Sequence[Move]) -> list[Problem]:
    """Move the logs that their weeks have taken in; those that somebody changed meanwhile are left for the next run."""
    if not moves:
        return []
    left: list[Problem] = []
    grown: list[Digested] = []
    trail = provenance.Trail(context.workspace)
    for move in moves:
        log, day = move.log, move.log.day.date.isoformat()
        if move.week and not {line.mark for line in log.lines} <= trail.entered(day):
            continue  # its week was left, which is a problem of its own
        try:
            if move.step.action == "move":
                move_file(op, log.day.path, move.to, read=log.hash)
                continue
            # First the archived log grows, then the living one goes: killed between the two, nothing is lost and nothing comes twice.
            op.place(move.to)
            op.place(log.day.path)
            before = expect(context.workspace, move.to, move.read)
            expect(context.workspace, log.day.path, log.hash)
            if move.data is not None:
                write_recorded(op, move.to, before, move.data)
            remove_file(op, log.day.path, read=log.hash)
            if move.week:
                grown.append(Digested(day, move.week, (), move.size))
        except (ChangedOutside, PathEscape) as error:
            left.append(Problem("left for the next run", str(error), context.workspace.relative(log.day.path)))
    provenance.write_provenance(op, grown)
    return left


def is_decided(log: Log, decided: Container[tuple[str, str]]) -> bool:
    """Whether long-term memory has seen all that a log says: what waits for room must stay where tidying reads it."""
    return all((line.day, line.mark) in decided or FIELD_NOTE.match(line.words) for line in log.lines)


# Old backups of each MEMORY.md thin out: the last of so many days, weeks and months is kept, counted by their names alone.

_BACKUP = re.compile(r"(?:(?P<slug>.+)\.)?MEMORY\.md\.bak-(?P<day>\d{4}-\d{2}-\d{2})(?:-(?P<time>\d{6}))?")


Backup = tuple[str, str, Path]  # its day and its time of day by its name, none for the first of a day


def plan_backups(context: TidyContext) -> list[tuple[Step, Path]]:
    """Which backups are no longer wanted; files of any other name are not looked at."""
    by_file: dict[str, list[Backup]] = {}
    for path in list_backups(context.workspace):
        if (match := _BACKUP.fullmatch(path.name)) and real_day(match["day"]):
            by_file.setdefault(match["slug"] or "", []).append((match["day"], match["time"] or "", path))
    days, weeks, months = keep = context.config.archive.backups
    reason = say(
        f"not among the backups to keep ({days} daily, {weeks} weekly, {months} monthly)",
        f"不在保留之列（每日 {days} 份、每周 {weeks} 份、每月 {months} 份）",
    )
    going = [path for backups in by_file.values() for _, _, path in superfluous(backups, keep)]
    return [(Step("remove", context.workspace.relative(path), reason), path) for path in going]


def superfluous(backups: Sequence[Backup], keep: Sequence[int]) -> list[Backup]:
    """The backups of one file that go, newest first. As in restic's `forget`, the last one of each of so many days, weeks and months
    that have any is kept; the newest always."""
    newest_first = sorted(backups, reverse=True)
    kept = {*newest_first[:1]}
    for form, count in zip(("%Y-%m-%d", "%G-%V", "%Y-%m"), keep, strict=True):
        last_of: dict[str, Backup] = {}  # by day, week or month
        for backup in newest_first:
            last_of.setdefault(dt.date.fromisoformat(backup[0]).strftime(form), backup)
        kept.update(list(last_of.values())[:count])
    return [backup for backup in newest_first if backup not in kept]


def apply_backups(op: Operation, removals: Sequence[tuple[Step, Path]]) -> list[Problem]:
    """Remove them, so that it can be undone; one that cannot be read stays and is a problem."""
    left: list[Problem] = []
    for step, path in removals:
        try:
            remove_file(op, path, read=disk.digest(read(op.workspace, path) or b""))
        except NacreError as error:
            left.append(Problem("left for the next run", str(error), step.path))
    return left
