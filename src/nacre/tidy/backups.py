"""Old backups of each MEMORY.md thin out: the last of so many days, weeks and months is kept, counted by their names alone."""

from __future__ import annotations

import datetime as dt
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nacre.errors import ChangedOutside, NacreError
from nacre.model.plan import Plan, Step
from nacre.model.problem import Problem
from nacre.tidy.room import Room
from nacre.vault.atomic import digest, read_bytes
from nacre.vault.operation import Operation
from nacre.vault.rewrite import remove
from nacre.vault.workspace import Workspace
from nacre.words import say

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


def plan(room: Room) -> BackupPlan:
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


def apply(room: Room, op: Operation, planned: BackupPlan) -> tuple[Problem, ...]:
    """Remove them, so that it can be undone; one that was changed meanwhile stays, and is told."""
    left: list[Problem] = []
    for path, read in planned.removals:
        try:
            remove(op, path, read=read)
        except ChangedOutside as trouble:
            left.append(Problem("left for the next run", str(trouble), room.workspace.relative(path)))
    return tuple(left)
