"""One look of a process that stays: run what is due, capture sessions that ended, and say when to look again."""

from __future__ import annotations

import datetime as dt
import os
import sys
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from nacre.clock import duration
from nacre.errors import Locked, NacreError
from nacre.jobs import journal
from nacre.jobs.due import BUSY, PlannedRun, SessionFile, capture_due, learn_hours, next_look, next_time
from nacre.jobs.run import JobReport, Runner, due_now, run_all, run_due, runner_for
from nacre.jobs.schedule import SYNC

if TYPE_CHECKING:
    from nacre.memory import Memory


def session_files(memory: Memory, ended: Collection[str] = (), *, only_queued: bool = False) -> tuple[SessionFile, ...]:
    """The transcripts that this memory captures; with `only_queued` those that hooks named. `ended` names those, by path, whose agent
    says just now that they are over; the queue, those whose agent said so before."""
    from nacre.capture.read import list_transcripts, read_queue, sync_setup

    given = sync_setup(memory.opened, lambda: memory.brain)
    queue = read_queue(given.context, given.places)
    told = {os.path.realpath(one) for one in ended}
    over = told | {os.path.realpath(one.transcript) for one in queue.waiting if one.now}
    named = over | {os.path.realpath(one.transcript) for one in queue.waiting}
    if only_queued and not named:
        return ()
    found: list[SessionFile] = []
    for _, one in list_transcripts(given.context, given.places, given.sources, queue):
        changed = _file_time(one.changed)
        if not changed or not given.wanted(one):
            continue
        path = os.path.realpath(one.path) if named else ""
        if path in named or not only_queued:
            found.append(SessionFile(one.key, changed, ended=path in over, told=path in told))
    return tuple(found)


def _file_time(seconds: float) -> dt.datetime | None:
    try:
        return dt.datetime.fromtimestamp(seconds, dt.UTC)
    except (ValueError, OverflowError, OSError):  # a file of a time that no calendar has
        return None


# One look of a process that stays: run what is due, capture talks that fell silent, and say when to look again.


@dataclass(frozen=True)
class Tick:
    """What was run, and when to come back."""

    reports: tuple[JobReport, ...]
    wake: dt.datetime


def tick(memory: Memory, *, ended: Collection[str] = (), active: dt.datetime | None = None, timed: bool = True) -> Tick:
    """Do what is to be done now. `ended` names transcripts whose agent says that they are over, `active` is when something was last
    asked. Who is not to run the jobs at their times captures what hooks queued, and no more. `Locked` when another runner is at it."""
    desk = runner_for(memory)
    reports = run_due(desk) if timed else ()
    if not memory.config.jobs.adaptive:
        return Tick(reports, _wake(desk, (), timed=timed))
    found = session_files(memory, ended, only_queued=not timed)
    reports += _run_capture(memory, desk, found, timed=timed)
    return Tick(reports, _wake(desk, found, last_capture(memory), active, timed=timed))


def _run_capture(memory: Memory, desk: Runner, found: Collection[SessionFile], *, timed: bool) -> tuple[JobReport, ...]:
    def wanted(known: journal.Journal) -> list[PlannedRun]:
        run = _capture_run(memory, desk, found, known, timed=timed)
        return [run] if run else []

    return run_all(desk, wanted) if wanted(journal.read_journal(memory.workspace)) else ()


def _capture_run(
    memory: Memory, desk: Runner, found: Collection[SessionFile], known: journal.Journal, *, timed: bool
) -> PlannedRun | None:
    now, silence = memory.clock.now(), duration(memory.config.jobs.silence)
    # Where no fixed time follows to which failures could be left, it is tried again for ever, after longer and longer waits.
    given = desk.rules if timed else replace(desk.rules, retries=sys.maxsize)
    return capture_due(found, now, known, given, silence=silence, looked=last_capture(memory, known))


def last_capture(memory: Memory, known: journal.Journal | None = None) -> dt.datetime | None:
    """When the last capture began that went through, by a job or by a command; none before the first."""
    now = memory.clock.now()
    by_job = (known or journal.read_journal(memory.workspace)).looked(SYNC, now)
    synced = memory.synced()
    times = [one for one in (by_job, synced) if one and one <= now]
    return max(times, default=None) if synced else None


def _wake(
    desk: Runner,
    found: Collection[SessionFile],
    since: dt.datetime | None = None,
    active: dt.datetime | None = None,
    *,
    timed: bool,
) -> dt.datetime:
    now, known = desk.clock.now(), journal.read_journal(desk.workspace)
    times = [at for job in desk.jobs() if timed and (at := next_time(job, now, known, desk.rules))]
    if desk.config.jobs.adaptive:
        said = [one.changed for one in found]
        said += [one.started for one in known.of(SYNC) if one.result == "done"]
        silence = duration(desk.config.jobs.silence)
        hours = learn_hours(said, now)
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
    desk = runner_for(memory)
    wanted = timed and bool(due_now(desk))
    if not memory.config.jobs.adaptive:
        return Look(wanted, _wake(desk, (), timed=timed))
    found = session_files(memory, ended, only_queued=not timed)
    known = journal.read_journal(memory.workspace)
    capture = _capture_run(memory, desk, found, known, timed=timed)
    return Look(wanted or capture is not None, _wake(desk, found, last_capture(memory, known), active, timed=timed))


# What a daemon starts when jobs are due: one look, in a process of its own.

ONLY_QUEUED = "--only-queued"  # the jobs are not run at their times, but what hooks queued is captured


def main(arguments: list[str]) -> int:
    """Run what is due in a workspace; transcripts are those whose agents said that they are over."""
    from nacre.memory import Memory

    timed = arguments[:1] != [ONLY_QUEUED]
    root, *over = arguments if timed else arguments[1:]
    try:
        with Memory.open(root) as memory:
            done = tick(memory, ended=over, timed=timed)
    except Locked:
        return Locked.exit_code  # another runner is at it, which is as good
    except NacreError as trouble:
        return trouble.exit_code
    return int(any(one.trouble for one in done.reports))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
