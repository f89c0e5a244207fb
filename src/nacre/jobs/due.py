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

TIME, MISSED, RETRY, REQUESTED, SESSION = "time", "missed", "retry", "asked", "talk"
_LATE = dt.timedelta(minutes=10)  # after which a run counts as caught up


@dataclass(frozen=True)
class PlannedRun:
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


def due(now: dt.datetime, journal: Journal, jobs: Sequence[Job], given: Rules) -> list[PlannedRun]:
    """What is to run now, in the order in which the jobs stand. A job that never ran is due for its last time."""
    moment = now.astimezone(dt.UTC)  # in a zone of its own, a time would count along the wall clock, over its jumps
    return [run for job in jobs if (run := _due(job, moment, journal, given))]


def _due(job: Job, now: dt.datetime, journal: Journal, given: Rules) -> PlannedRun | None:
    window = _window(job, now, given)
    if window is None:
        return None
    known = journal.of(job.name)
    tried = [one for one in known if one.window == window]
    if not tried:
        if is_over(window, known, now):
            return None
        late = now - window - given.shift(job.name) > _LATE
        return PlannedRun(job.name, window, 1, MISSED if late else TIME)
    again = _retry_at(tried, known, now, given)
    return PlannedRun(job.name, window, len(tried) + 1, RETRY) if again and again <= now else None


def is_over(window: dt.datetime, known: Sequence[JobRun], now: dt.datetime) -> bool:
    """Whether a later time was run for already. What a clock that went wrong dated after now does not count."""
    return any(one.window and window < one.window <= now for one in known)


def _retry_at(tried: Sequence[JobRun], known: Sequence[JobRun], now: dt.datetime, given: Rules) -> dt.datetime | None:
    """When a time that was tried is tried again; none when it went through, was tried enough, or is over."""
    if any(one.went_through for one in tried) or len(tried) > given.retries:
        return None
    assert tried[0].window
    if is_over(tried[0].window, known, now):
        return None
    until = tried[-1].known_until
    return now if until > now else until + retry_wait(len(tried))


def retry_wait(failures: int) -> dt.timedelta:
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
        again = _retry_at(tried, known, now, given) if tried else None
        times += [again] if again and again > now else []
    return min(times, default=None)


def requested_run(job: Job, now: dt.datetime, journal: Journal) -> PlannedRun:
    """The run that somebody asks for by name: it stands for the job's last time, if nothing went through for that yet."""
    window = latest(job, now)
    known = journal.of(job.name)
    tried = [one for one in known if one.window == window]
    if window is None or any(one.went_through for one in tried) or is_over(window, known, now):
        return PlannedRun(job.name, None, 1, REQUESTED)
    return PlannedRun(job.name, window, len(tried) + 1, REQUESTED)


# Beyond the fixed times: a talk that ended or fell silent is captured soon, busy hours are learned, an idle machine
# is left alone.

BUSY, QUIET = dt.timedelta(seconds=30), dt.timedelta(minutes=15)  # the shortest and the longest time between two looks
IDLE = dt.timedelta(hours=3)  # without a word, after which a machine is left alone
UNLEARNED = dt.timedelta(minutes=1)  # between two looks while nothing is known of the user's hours
_HOURS = 7 * 24
_HALF_LIFE = dt.timedelta(days=14)  # after which what was learned counts half
_OLDEST = dt.timedelta(days=56)
_ENOUGH_MOMENTS = 20  # moments from which something can be learned


@dataclass(frozen=True)
class SessionFile:
    """A transcript: when it last changed, and whether its agent said that it is over; `told` where it says so just now."""

    key: str
    changed: dt.datetime
    ended: bool = False
    told: bool = False


def uncaptured(talks: Iterable[SessionFile], looked: dt.datetime | None) -> list[SessionFile]:
    """The talks that went on since the last capture began, or whose agent says just now that they are over: those leave the queue.
    Before the first capture none: that one is the user's to start."""
    return [one for one in talks if looked and (one.told or one.changed > looked)]


def ended_or_silent(
    talks: Iterable[SessionFile], now: dt.datetime, silence: dt.timedelta, looked: dt.datetime | None
) -> list[SessionFile]:
    """Of these, the ones that ended or fell silent."""
    return [one for one in uncaptured(talks, looked) if one.ended or now - one.changed >= silence]


def capture_due(
    talks: Iterable[SessionFile],
    now: dt.datetime,
    journal: Journal,
    given: Rules,
    *,
    silence: dt.timedelta,
    looked: dt.datetime | None,
) -> PlannedRun | None:
    """The capture that silent talks call for; after failures it waits, and then leaves it to the fixed times."""
    if not ended_or_silent(talks, now, silence, looked):
        return None
    failed = journal.failures(SYNC)
    if not failed:
        return PlannedRun(SYNC, None, 1, SESSION)
    until = failed[-1].known_until
    if len(failed) > given.retries or (until <= now < until + retry_wait(len(failed))):
        return None
    return PlannedRun(SYNC, None, len(failed) + 1, SESSION)


@dataclass(frozen=True)
class Hours:
    """How much happens in each hour of the week, from 0 to 1; empty while too little is known."""

    shares: tuple[float, ...] = ()

    def at(self, moment: dt.datetime) -> float | None:
        return self.shares[_hour_of_week(moment)] if self.shares else None


def _hour_of_week(moment: dt.datetime) -> int:
    return moment.weekday() * 24 + moment.hour


def learn_hours(moments: Iterable[dt.datetime], now: dt.datetime) -> Hours:
    """The user's hours, from the moments at which something was said. `now` is in the user's time zone."""
    counts = [0.0] * _HOURS
    number = 0
    for moment in moments:
        age = now - moment
        if dt.timedelta() <= age <= _OLDEST:
            number += 1
            counts[_hour_of_week(moment.astimezone(now.tzinfo))] += 0.5 ** (age / _HALF_LIFE)
    if number < _ENOUGH_MOMENTS:
        return Hours()
    # The hour before and the hour after count a little: nobody begins on the stroke.
    spread = [counts[at] + (counts[at - 1] + counts[(at + 1) % _HOURS]) / 2 for at in range(_HOURS)]
    most = max(spread)
    return Hours(tuple(one / most for one in spread))


def look_interval(now: dt.datetime, hours: Hours, last: dt.datetime | None, silence: dt.timedelta) -> dt.timedelta:
    """How long until the next look. `last` is when something was last said or asked.

    Never longer than the silence that ends a talk, or a talk would be found too late; but an idle machine may sleep.
    """
    if last is None or now - last > IDLE:
        return QUIET
    share = hours.at(now)
    if share is None:
        return UNLEARNED
    busy = min(1.0, share * 2)  # from half of the busiest hour on
    span = BUSY * float((QUIET / BUSY) ** (1 - busy))
    return max(BUSY, min(span, QUIET, silence))


def next_look(
    now: dt.datetime,
    talks: Sequence[SessionFile],
    hours: Hours,
    *,
    silence: dt.timedelta,
    looked: dt.datetime | None,
    active: dt.datetime | None = None,
) -> dt.datetime:
    """When to look again, in UTC: after the interval of the hour, or when a talk that goes on would have fallen silent.

    `now` is in the user's time zone, whose hours were learned.
    """
    moment = now.astimezone(dt.UTC)
    said = [one.changed for one in talks if one.changed <= now] + [one for one in (active,) if one and one <= now]
    at = moment + look_interval(now, hours, max(said, default=None), silence)
    ends = [one.changed + silence for one in uncaptured(talks, looked)]
    return min([at, *(one for one in ends if one > moment)])
