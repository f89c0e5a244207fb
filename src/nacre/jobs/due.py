"""Which jobs are due now: scheduled times, missed and failed runs, and sessions that ended or fell silent."""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nacre.clock import duration
from nacre.config.settings import JobsSettings
from nacre.jobs.journal import JobRun, Journal
from nacre.jobs.schedule import SYNC, Job, following, latest
from nacre.model.session import SessionFile

TIME, MISSED, RETRY, REQUESTED, SESSION = "time", "missed", "retry", "asked", "talk"
_LATE = dt.timedelta(minutes=10)  # after which a run counts as caught up


@dataclass(frozen=True)
class PlannedRun:
    """A run to be made: the scheduled time that it stands for, if any, and why."""

    job: str
    window: dt.datetime | None = None
    attempt: int = 1
    why: str = TIME


@dataclass(frozen=True)
class Rules:
    jitter: dt.timedelta
    retries: int
    machine: str

    def shift(self, job: str) -> dt.timedelta:
        """By how much a job begins after its time: the same at every time, another on another machine."""
        most = int(self.jitter.total_seconds())
        digest = hashlib.blake2b(f"{self.machine}\0{job}".encode(), digest_size=8).digest()
        return dt.timedelta(seconds=int.from_bytes(digest) % (most + 1))


def rules(settings: JobsSettings, machine: str) -> Rules:
    return Rules(min(duration(settings.jitter), dt.timedelta(hours=1)), settings.retries, machine)


def due(now: dt.datetime, journal: Journal, jobs: Sequence[Job], rules: Rules) -> list[PlannedRun]:
    """What is to run now, in the order in which the jobs stand. A job that never ran is due for its last time."""
    now = now.astimezone(dt.UTC)  # in a zone of its own, a time would count along the wall clock, over its jumps
    planned: list[PlannedRun] = []
    for job in jobs:
        shift = rules.shift(job.name)
        window, tried = _open_window(job, now, journal, shift)
        if window and not tried:
            planned.append(PlannedRun(job.name, window, 1, MISSED if now - window - shift > _LATE else TIME))
        elif window and len(tried) <= rules.retries and _retry_at(tried, now) <= now:
            planned.append(PlannedRun(job.name, window, len(tried) + 1, RETRY))
    return planned


def _open_window(
    job: Job, now: dt.datetime, journal: Journal, shift: dt.timedelta = dt.timedelta()
) -> tuple[dt.datetime | None, list[JobRun]]:
    """The last time of a job, and the runs that failed for it; None when one went through for it or a later time was run for."""
    window = latest(job, now - shift)
    runs = journal.of(job.name)
    tried = [run for run in runs if run.window == window]
    # What a clock that went wrong dated after now does not count.
    is_over = window and any(run.window and window < run.window <= now for run in runs)
    return (None if is_over or any(run.went_through for run in tried) else window), tried


def _retry_at(tried: Sequence[JobRun], now: dt.datetime) -> dt.datetime:
    until = tried[-1].ended or tried[-1].started
    return now if until > now else until + retry_wait(len(tried))


def retry_wait(failures: int) -> dt.timedelta:
    """How long after so many failures: 1, 4, 16, 64 minutes, then 256."""
    return dt.timedelta(minutes=4 ** min(failures - 1, 4) if failures else 0)


def next_time(job: Job, now: dt.datetime, journal: Journal, rules: Rules) -> dt.datetime | None:
    """When, after now, a job is to run next: at its next time, or to be tried again."""
    now, shift = now.astimezone(dt.UTC), rules.shift(job.name)
    coming = following(job, now - shift)
    times = [coming + shift] if coming else []
    window, tried = _open_window(job, now, journal, shift)
    if window and tried and len(tried) <= rules.retries and (again := _retry_at(tried, now)) > now:
        times.append(again)
    return min(times, default=None)


def requested_run(job: Job, now: dt.datetime, journal: Journal) -> PlannedRun:
    """The run that somebody asks for by name: it stands for the job's last time, if nothing went through for that yet."""
    window, tried = _open_window(job, now, journal)
    return PlannedRun(job.name, window, len(tried) + 1 if window else 1, REQUESTED)


# Beyond the fixed times: a session that ended or fell silent is captured soon, an idle machine is left alone.

LOOK, IDLE_LOOK = dt.timedelta(minutes=1), dt.timedelta(minutes=15)  # between two looks, in use and not
IDLE = dt.timedelta(hours=3)  # without a word, after which a machine is not in use


def _uncaptured(sessions: Iterable[SessionFile], looked: dt.datetime | None) -> list[SessionFile]:
    """The sessions that went on since the last capture began, or whose agent says that they are over. Before the first capture none:
    that one is the user's to start."""
    return [session for session in sessions if looked and (session.now or session.changed > looked)]


def capture_due(
    sessions: Iterable[SessionFile],
    now: dt.datetime,
    journal: Journal,
    retries: int,
    *,
    silence: dt.timedelta,
    looked: dt.datetime | None,
) -> PlannedRun | None:
    """The capture that ended or silent sessions call for; after failures it waits, and then leaves it to the fixed times."""
    if not any(session.ended or now - session.changed >= silence for session in _uncaptured(sessions, looked)):
        return None
    failed = journal.failures(SYNC)
    until = (failed[-1].ended or failed[-1].started) if failed else now
    if len(failed) > retries or (until <= now < until + retry_wait(len(failed))):
        return None
    return PlannedRun(SYNC, None, len(failed) + 1, SESSION)


def next_look(
    now: dt.datetime,
    sessions: Sequence[SessionFile],
    *,
    silence: dt.timedelta,
    looked: dt.datetime | None,
    active: dt.datetime | None = None,
) -> dt.datetime:
    """When to look again, in UTC: soon while the machine is in use, or when a session that goes on would have fallen silent. `active` is
    when something was last asked."""
    now = now.astimezone(dt.UTC)
    last = max((at for at in (active, *(session.changed for session in sessions)) if at and at <= now), default=None)
    interval = IDLE_LOOK if last is None or now - last > IDLE else LOOK
    ends = [session.changed + silence for session in _uncaptured(sessions, looked)]
    return min([now + interval, *(end for end in ends if end > now)])
