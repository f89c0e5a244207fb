"""What is to run now: each scheduled time once, missed ones caught up once, failed ones tried again after longer and longer waits."""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from nacre.clock import duration
from nacre.config import JobsSettings
from nacre.jobs.journal import Journal, Ran
from nacre.jobs.schedule import Job, following, latest

TIME, MISSED, RETRY, ASKED, TALK = "time", "missed", "retry", "asked", "talk"
_LATE = dt.timedelta(minutes=10)  # after which a run counts as caught up


@dataclass(frozen=True)
class Run:
    """A run to be made: the scheduled time that it stands for, if any, and why it is made."""

    job: str
    window: dt.datetime | None = None
    attempt: int = 1
    why: str = TIME


@dataclass(frozen=True)
class Rules:
    """What the settings say of all jobs, on this machine."""

    jitter: dt.timedelta
    retries: int
    machine: str

    def shift(self, job: str) -> dt.timedelta:
        """By how much a job begins after its time: the same at every time, another on another machine."""
        most = int(self.jitter.total_seconds())
        name = hashlib.blake2b(f"{self.machine}\0{job}".encode(), digest_size=8).digest()
        return dt.timedelta(seconds=int.from_bytes(name) % (most + 1))


def rules(settings: JobsSettings, machine: str) -> Rules:
    return Rules(min(duration(settings.jitter), dt.timedelta(hours=1)), settings.retries, machine)


def due(now: dt.datetime, journal: Journal, jobs: Sequence[Job], given: Rules) -> list[Run]:
    """What is to run now, in the order in which the jobs stand. A job that never ran is due for its last time."""
    moment = now.astimezone(dt.UTC)  # in a zone of its own, a time would count along the wall clock, over its jumps
    return [run for job in jobs if (run := _due(job, moment, journal, given))]


def _due(job: Job, now: dt.datetime, journal: Journal, given: Rules) -> Run | None:
    window = _window(job, now, given)
    if window is None:
        return None
    known = journal.of(job.name)
    tried = [one for one in known if one.window == window]
    if not tried:
        if is_over(window, known, now):
            return None
        late = now - window - given.shift(job.name) > _LATE
        return Run(job.name, window, 1, MISSED if late else TIME)
    again = _again(tried, known, now, given)
    return Run(job.name, window, len(tried) + 1, RETRY) if again and again <= now else None


def is_over(window: dt.datetime, known: Sequence[Ran], now: dt.datetime) -> bool:
    """Whether a later time was run for already. What a clock that went wrong dated after now does not count."""
    return any(one.window and window < one.window <= now for one in known)


def _again(tried: Sequence[Ran], known: Sequence[Ran], now: dt.datetime, given: Rules) -> dt.datetime | None:
    """When a time that was tried is tried again; none when it went through, was tried enough, or is over."""
    if any(one.went_through for one in tried) or len(tried) > given.retries:
        return None
    assert tried[0].window
    if is_over(tried[0].window, known, now):
        return None
    until = tried[-1].known_until
    return now if until > now else until + wait(len(tried))


def wait(failures: int) -> dt.timedelta:
    """How long after so many failures: 1, 4, 16, 64 minutes, then 256."""
    return dt.timedelta(minutes=4 ** min(failures - 1, 4) if failures else 0)


def _window(job: Job, now: dt.datetime, given: Rules) -> dt.datetime | None:
    try:
        return latest(job, now - given.shift(job.name))
    except OverflowError:  # the calendar begins
        return None


def next_time(job: Job, now: dt.datetime, journal: Journal, given: Rules) -> dt.datetime | None:
    """When, after now, a job is to run next: at its next time, or to be tried again."""
    now = now.astimezone(dt.UTC)
    shift = given.shift(job.name)
    try:
        coming = following(job, now - shift)
        times = [coming + shift] if coming else []
    except OverflowError:
        return None
    if window := _window(job, now, given):
        known = journal.of(job.name)
        tried = [one for one in known if one.window == window]
        again = _again(tried, known, now, given) if tried else None
        times += [again] if again and again > now else []
    return min(times, default=None)


def asked(job: Job, now: dt.datetime, journal: Journal) -> Run:
    """The run that somebody asks for by name: it stands for the job's last time, if nothing went through for that yet."""
    window = latest(job, now)
    known = journal.of(job.name)
    tried = [one for one in known if one.window == window]
    if window is None or any(one.went_through for one in tried) or is_over(window, known, now):
        return Run(job.name, None, 1, ASKED)
    return Run(job.name, window, len(tried) + 1, ASKED)
