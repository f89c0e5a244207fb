"""One look of a process that stays: run what is due, capture sessions that ended, and say when to look again.

Also what a daemon starts when jobs are due: one look, in a process of its own.
"""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

from nacre.clock import duration
from nacre.errors import NacreError
from nacre.jobs.due import BUSY, PlannedRun, capture_due, learn_hours, next_look, next_time
from nacre.jobs.journal import Journal, read_journal
from nacre.jobs.run import JobReport, due_now, run_due, run_planned, runner_for
from nacre.jobs.schedule import SYNC
from nacre.model.session import SessionFile

if TYPE_CHECKING:
    from nacre.memory import Memory

ONLY_QUEUED = "--only-queued"  # the jobs are not run at their times, but what hooks queued is captured


def last_capture(memory: Memory, known: Journal) -> dt.datetime | None:
    """When the last capture began that went through, by a job or by a command; none before the first."""
    now, synced = memory.clock.now(), memory.synced()
    times = [at for at in (known.looked(SYNC, now), synced) if at and at <= now]
    return max(times, default=None) if synced else None


def _capture_run(memory: Memory, sessions: list[SessionFile], known: Journal, *, timed: bool) -> PlannedRun | None:
    # Where no fixed time follows to which failures could be left, it is tried again for ever, after longer and longer waits.
    retries = memory.config.jobs.retries if timed else sys.maxsize
    silence, looked = duration(memory.config.jobs.silence), last_capture(memory, known)
    return capture_due(sessions, memory.clock.now(), known, retries, silence=silence, looked=looked)


def _wake(memory: Memory, sessions: list[SessionFile], active: dt.datetime | None, *, timed: bool) -> dt.datetime:
    runner, known = runner_for(memory), read_journal(memory.workspace)
    now, moment = memory.clock.now(), memory.clock.now().astimezone(dt.UTC)
    times = [at for job in runner.jobs if timed and (at := next_time(job, now, known, runner.rules))]
    if memory.config.jobs.adaptive:
        said = [session.changed for session in sessions]
        said += [run.started for run in known.of(SYNC) if run.result == "done"]
        silence, looked = duration(memory.config.jobs.silence), last_capture(memory, known)
        hours = learn_hours(said, now)
        times.append(next_look(now, sessions, hours, silence=silence, looked=looked, active=active))
    return max(min(times, default=moment + dt.timedelta(days=1)), moment + BUSY / 6)


class Tick(NamedTuple):
    """What was run, and when to come back."""

    reports: tuple[JobReport, ...]
    wake: dt.datetime


def tick(memory: Memory, *, ended: Collection[str] = (), active: dt.datetime | None = None, timed: bool = True) -> Tick:
    """Do what is to be done now. `ended` names transcripts whose agent says that they are over, `active` is when something was last
    asked. Who is not to run the jobs at their times captures what hooks queued, and no more. `Locked` when another runner is at it."""
    runner = runner_for(memory)
    reports = run_due(runner) if timed else ()
    sessions = memory.session_files(ended, only_queued=not timed) if memory.config.jobs.adaptive else []

    def plan(known: Journal) -> list[PlannedRun]:
        run = _capture_run(memory, sessions, known, timed=timed)
        return [run] if run else []

    if plan(read_journal(memory.workspace)):
        reports += run_planned(runner, plan)
    return Tick(reports, _wake(memory, sessions, active, timed=timed))


class Look(NamedTuple):
    """Whether `tick` would run anything now, and when to look again."""

    wanted: bool
    wake: dt.datetime


def look(memory: Memory, *, ended: Collection[str] = (), active: dt.datetime | None = None, timed: bool = True) -> Look:
    """What a process that lets another do the running has to know. Runs and writes nothing."""
    sessions = memory.session_files(ended, only_queued=not timed) if memory.config.jobs.adaptive else []
    wanted = timed and bool(due_now(runner_for(memory)))
    capture = _capture_run(memory, sessions, read_journal(memory.workspace), timed=timed)
    return Look(wanted or capture is not None, _wake(memory, sessions, active, timed=timed))


def main(arguments: list[str]) -> int:
    """Run what is due in a workspace; transcripts are those whose agents said that they are over."""
    from nacre.memory import Memory

    timed = arguments[:1] != [ONLY_QUEUED]
    root, *over = arguments if timed else arguments[1:]
    try:
        with Memory.open(root) as memory:
            done = tick(memory, ended=over, timed=timed)
    except NacreError as error:
        return error.exit_code
    return int(any(report.error for report in done.reports))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
