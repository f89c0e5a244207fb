"""How each job stands: when it runs, what came of the last run, when it runs next, since when it fails."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nacre.jobs import journal, schedule
from nacre.jobs.due import due, next_time, rules
from nacre.jobs.journal import Ran
from nacre.jobs.run import machine
from nacre.jobs.wording import in_words
from nacre.vault import lockfile

if TYPE_CHECKING:
    from nacre.memory import Memory


@dataclass(frozen=True)
class JobState:
    """One job. `next` is none when it never runs by itself."""

    name: str
    expressions: tuple[str, ...]
    words: str
    last: Ran | None = None
    running: bool = False
    due: bool = False
    next: dt.datetime | None = None
    failing_since: dt.datetime | None = None
    failures: int = 0


def state(memory: Memory) -> list[JobState]:
    """Every job as it stands; `BadSetting` when the settings of one cannot be understood."""
    known = journal.read(memory.workspace)
    now = memory.clock.now()
    given = rules(memory.config.jobs, machine())
    jobs = schedule.jobs(memory.config, memory.clock)
    waiting = {run.job for run in due(now, known, jobs, given)}
    found: list[JobState] = []
    for job in jobs:
        runs = known.of(job.name)
        last = runs[-1] if runs else None
        running = last is not None and last.result is None and is_at_work(last)
        broke_off = [one for one in runs[-1:] if one.result is None and not running]
        failed = [*known.failures(job.name), *broke_off]
        coming = next_time(job, now, known, given)
        found.append(
            JobState(
                job.name,
                job.expressions,
                in_words(job.expressions),
                last,
                running=running,
                due=job.name in waiting and not running,
                next=memory.clock.local(coming) if coming else None,
                failing_since=memory.clock.local(failed[0].started) if failed else None,
                failures=len(failed),
            )
        )
    return found


def is_at_work(ran: Ran) -> bool:
    """Whether the process of a run without an end still lives; of another machine nobody knows."""
    pid, host, boot = ran.process
    if host != lockfile.host():
        return True
    return boot == lockfile.boot() and lockfile.is_alive(pid)


def as_plain(one: JobState) -> dict[str, Any]:
    """A job's state as plain values."""
    last = one.last
    broke_off = last is not None and last.result is None and not one.running
    return {
        "name": one.name,
        "expressions": list(one.expressions),
        "when": one.words,
        "running": one.running,
        "due": one.due,
        "last": last.started.isoformat(timespec="seconds") if last else None,
        "result": ("failed" if broke_off else last.result) if last else None,
        "seconds": last.seconds if last else None,
        "said": last.said if last else "",
        "window": last.window.isoformat(timespec="seconds") if last and last.window else None,
        "attempt": last.attempt if last else None,
        "next": one.next.isoformat(timespec="seconds") if one.next else None,
        "failingSince": one.failing_since.isoformat(timespec="seconds") if one.failing_since else None,
        "failures": one.failures,
    }
