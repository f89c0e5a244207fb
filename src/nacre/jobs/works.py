"""What each job does, and what came of it in one sentence of numbers: the journal keeps no word of a memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from nacre.jobs.journal import Result
from nacre.jobs.schedule import HEARTBEAT, ORGANISE, SYNC, TIDY
from nacre.words import say

if TYPE_CHECKING:
    from nacre.memory import Memory


@dataclass(frozen=True)
class Outcome:
    """What came of a run; the reports are those of the commands that it ran."""

    result: Result
    said: str
    reports: tuple[object, ...] = ()


Work = Callable[[bool], Outcome]  # told whether it only shows what it would do


def works(memory: Memory) -> Mapping[str, Work]:
    """The work of each job by its name."""
    from nacre.jobs.heartbeat import heartbeat

    does = {SYNC: sync, TIDY: tidy, ORGANISE: organise, HEARTBEAT: heartbeat}
    return {name: partial(work, memory) for name, work in does.items()}


def sync(memory: Memory, dry_run: bool) -> Outcome:
    """Capture what was said."""
    report = memory.sync(dry_run=dry_run)
    count, unread = len(report.sections), len(report.unreadable)
    if report.paused:
        return Outcome("nothing", say("Capture is paused.", "采集已暂停。"), (report,))
    said = say(f"Sections written: {count}.", f"写入 {count} 段。") if count else ""
    if unread:
        said += " " * bool(said) + say(f"Transcripts that cannot be read: {unread}.", f"{unread} 个会话文件无法读取。")
    result: Result = "partly" if unread else "done" if count else "nothing"
    return Outcome(result, said or say("Nothing new was said.", "没有新的对话。"), (report,))


def tidy(memory: Memory, dry_run: bool) -> Outcome:
    """Tidy; where daily logs are kept for decay, that too."""
    reports: list[object] = [night := memory.tidy(dry_run=dry_run)]
    changes, left = len(night.steps), len(night.left)
    if memory.config.tidy.retention == "decay":
        reports.append(faded := memory.decay(dry_run=dry_run))
        changes += len(faded.steps) if faded.changed else 0
        left += len(faded.left)
    return _changed(changes, left, tuple(reports))


def organise(memory: Memory, dry_run: bool) -> Outcome:
    """Put the layers in order."""
    report = memory.organise(dry_run=dry_run)
    return _changed(len(report.steps) + report.counted, len(report.left), (report,))


def _changed(changes: int, left: int, reports: tuple[object, ...]) -> Outcome:
    if left:
        said = say(f"Changes: {changes}; left for the next run: {left}.", f"变更 {changes} 项，{left} 项留待下次。")
        return Outcome("partly", said, reports)
    if changes:
        return Outcome("done", say(f"Changes: {changes}.", f"变更 {changes} 项。"), reports)
    return Outcome("nothing", say("Nothing changed.", "没有变更。"), reports)
