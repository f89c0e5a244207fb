"""One look of a process that stays: run what is due, capture talks that fell silent, and say when to look again."""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from nacre.clock import duration
from nacre.jobs import journal
from nacre.jobs.adaptive import BUSY, Talk, capture_due, learned, next_look
from nacre.jobs.due import Run, next_time
from nacre.jobs.run import Desk, Report, desk_of, due_now, run_all, run_due
from nacre.jobs.schedule import SYNC
from nacre.jobs.talks import talks

if TYPE_CHECKING:
    from nacre.memory import Memory


@dataclass(frozen=True)
class Tick:
    """What was run, and when to come back."""

    reports: tuple[Report, ...]
    wake: dt.datetime


def tick(memory: Memory, *, ended: Collection[str] = (), active: dt.datetime | None = None, timed: bool = True) -> Tick:
    """Do what is to be done now. `ended` names transcripts whose agent says that they are over, `active` is when something was last
    asked. Who is not to run the jobs at their times captures what hooks queued, and no more. `Locked` when another runner is at it."""
    desk = desk_of(memory)
    reports = run_due(desk) if timed else ()
    if not memory.config.jobs.adaptive:
        return Tick(reports, _wake(desk, (), timed=timed))
    found = talks(memory, ended, only_queued=not timed)
    reports += _capture(memory, desk, found, timed=timed)
    return Tick(reports, _wake(desk, found, looked(memory), active, timed=timed))


def _capture(memory: Memory, desk: Desk, found: Collection[Talk], *, timed: bool) -> tuple[Report, ...]:
    def wanted(known: journal.Journal) -> list[Run]:
        run = _called_for(memory, desk, found, known, timed=timed)
        return [run] if run else []

    return run_all(desk, wanted) if wanted(journal.read(memory.workspace)) else ()


def _called_for(
    memory: Memory, desk: Desk, found: Collection[Talk], known: journal.Journal, *, timed: bool
) -> Run | None:
    now, silence = memory.clock.now(), duration(memory.config.jobs.silence)
    # Where no fixed time follows to which failures could be left, it is tried again for ever, after longer and longer waits.
    given = desk.rules if timed else replace(desk.rules, retries=sys.maxsize)
    return capture_due(found, now, known, given, silence=silence, looked=looked(memory, known))


def looked(memory: Memory, known: journal.Journal | None = None) -> dt.datetime | None:
    """When the last capture began that went through, by a job or by a command; none before the first."""
    now = memory.clock.now()
    by_job = (known or journal.read(memory.workspace)).looked(SYNC, now)
    synced = memory.synced()
    times = [one for one in (by_job, synced) if one and one <= now]
    return max(times, default=None) if synced else None


def _wake(
    desk: Desk,
    found: Collection[Talk],
    since: dt.datetime | None = None,
    active: dt.datetime | None = None,
    *,
    timed: bool,
) -> dt.datetime:
    now, known = desk.clock.now(), journal.read(desk.workspace)
    times = [at for job in desk.jobs() if timed and (at := next_time(job, now, known, desk.rules))]
    if desk.config.jobs.adaptive:
        said = [one.changed for one in found]
        said += [one.started for one in known.of(SYNC) if one.result == "done"]
        silence = duration(desk.config.jobs.silence)
        hours = learned(said, now)
        times.append(next_look(now, list(found), hours, silence=silence, looked=since, active=active))
    moment = now.astimezone(dt.UTC)
    return max(min(times, default=moment + dt.timedelta(days=1)), moment + BUSY / 6)


@dataclass(frozen=True)
class Look:
    """Whether `tick` would run anything now, and when to look again."""

    wanted: bool
    wake: dt.datetime


def look(memory: Memory, *, ended: Collection[str] = (), active: dt.datetime | None = None, timed: bool = True) -> Look:
    """What a process that lets another do the running has to know. Runs and writes nothing."""
    desk = desk_of(memory)
    wanted = timed and bool(due_now(desk))
    if not memory.config.jobs.adaptive:
        return Look(wanted, _wake(desk, (), timed=timed))
    found = talks(memory, ended, only_queued=not timed)
    known = journal.read(memory.workspace)
    capture = _called_for(memory, desk, found, known, timed=timed)
    return Look(wanted or capture is not None, _wake(desk, found, looked(memory, known), active, timed=timed))
