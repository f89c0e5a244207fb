"""When each job runs: cron expressions in the user's time zone, in words, and which are due now."""

from __future__ import annotations

import datetime as dt
import heapq
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, repeat
from pathlib import Path
from typing import Any

from nacre.clock import Clock
from nacre.config.settings import Config, JobsSettings
from nacre.errors import BadSetting
from nacre.i18n import say
from nacre.jobs.journal import JobRun, Journal
from nacre.model import SessionFile

SYNC, TIDY, ORGANISE, HEARTBEAT = JOB_NAMES = ("memory-sync", "memory-tidy", "organise", "heartbeat")
_LOCALTIME = Path("/etc/localtime")
_LARGEST_CHANGE = dt.timedelta(hours=3)  # no clock is put back by more


@dataclass(frozen=True)
class Job:
    """A job and its times; without an expression it runs only when somebody asks."""

    name: str
    expressions: tuple[str, ...]
    zone: dt.tzinfo


def jobs(config: Config, clock: Clock) -> tuple[Job, ...]:
    return tuple(Job(name, expressions(config, name), zone_of(clock)) for name in JOB_NAMES)


def expressions(config: Config, name: str) -> tuple[str, ...]:
    """The cron expressions of a job; several where its times differ in their minutes."""
    from cronsim import CronSim, CronSimError

    setting = {SYNC: "sync", TIDY: "tidy"}.get(name, name)
    expression = getattr(config.jobs, setting)
    if expression is None:
        by_default = ("sync.times", config.sync.times) if name == SYNC else ("tidy.time", [config.tidy.time])
        return _times_of_day(*by_default)
    if expression.strip().lower() in ("", "off"):
        return ()
    fields = " ".join(expression.split())
    try:
        # Seconds, a sixth field, are beyond every scheduler that jobs can be handed to.
        if len(fields.split(" ")) == 5 and next(CronSim(fields, dt.datetime(2024, 1, 1)), None):  # noqa: DTZ001 - only a test
            return (fields,)
    except (CronSimError, ValueError):
        pass
    raise BadSetting(
        f'jobs.{setting} is "{expression}", which is not a valid cron expression or never fires; write five fields such as "0 3 * * *", or "off".',
        f"jobs.{setting} 的值“{expression}”不是有效的 cron 表达式，或永远不会触发；请写五个字段，例如“0 3 * * *”，或写“off”。",
    )


def check_times(key: str, value: object) -> None:
    """An error where a setting says when jobs run and cannot be understood."""
    section, _, name = key.partition(".")
    job = {"sync": SYNC, "tidy": TIDY}.get(name, name)
    if key in ("sync.times", "tidy.time"):
        _times_of_day(key, value if isinstance(value, list) else [str(value)])
    elif section == "jobs" and job in JOB_NAMES and isinstance(value, str):
        changed: dict[str, Any] = {name: value}
        expressions(Config(jobs=JobsSettings(**changed)), job)


def _times_of_day(setting: str, times: Sequence[str]) -> tuple[str, ...]:
    """Times of the day as expressions: one for each minute that they share."""
    hours: defaultdict[int, set[int]] = defaultdict(set)
    for time in times:
        if not (match := re.fullmatch(r"([01]?\d|2[0-3]):([0-5]\d)", str(time).strip())):
            raise BadSetting(
                f'{setting} contains "{time}", which is not a time of day; write it as 14:00.',
                f"{setting} 中的“{time}”不是时刻；请写成 14:00。",
            )
        hours[int(match[2])].add(int(match[1]))
    return tuple(f"{minute} {','.join(map(str, sorted(at)))} * * *" for minute, at in sorted(hours.items()))


def windows(job: Job, moment: dt.datetime, *, backwards: bool = False) -> Iterator[dt.datetime]:
    """The times of a job after a moment, or back from it, in UTC, each once. A time of the day that the clock skips comes when it has
    skipped it, one that it repeats comes the first time; what runs by the hour or the minute comes as often as the clock shows it."""
    from cronsim import CronSim

    # From some hours away: the walk cannot begin between two times that the clock shows alike.
    start = (moment.astimezone(dt.UTC) + (_LARGEST_CHANGE if backwards else -_LARGEST_CHANGE)).astimezone(job.zone)
    walks = (CronSim(expression, start, reverse=backwards) for expression in job.expressions)
    last = None
    for time in heapq.merge(*(map(dt.datetime.astimezone, walk, repeat(dt.UTC)) for walk in walks), reverse=backwards):
        if time != last and (time <= moment if backwards else time > moment):
            yield time
            last = time


def zone_of(clock: Clock) -> dt.tzinfo:
    """The zone that the user's clock changes by; where the system does not name its own, the offset of this moment."""
    from zoneinfo import ZoneInfo

    if clock.zone:
        return clock.zone
    named = os.environ.get("TZ", "").lstrip(":")
    for name in (named, named.partition("zoneinfo/")[2], os.path.realpath(_LOCALTIME).partition("zoneinfo/")[2]):
        try:
            if name:
                return ZoneInfo(name)
        except (OSError, ValueError, KeyError):  # a rule such as CET-1CEST, or a file that is not there
            continue
    return clock.now().tzinfo or dt.UTC


def in_words(expressions: tuple[str, ...]) -> str:
    """When a job runs; an expression that is not of the usual kinds is shown as it is."""
    if not expressions:
        return say("only on demand", "仅手动运行")
    daily = [re.fullmatch(r"(\d+) ([\d,]+) \* \* \*", expression) for expression in expressions]
    if all(daily):
        times = sorted(f"{int(hour):02}:{int(match[1]):02}" for match in daily if match for hour in match[2].split(","))
        return say(f"daily at {', '.join(times)}", f"每天 {'、'.join(times)}")
    words: list[str] = []
    for expression in expressions:
        if match := re.fullmatch(r"\*/(\d+) \* \* \* \*", expression):
            words.append(say(f"every {match[1]} minutes", f"每 {match[1]} 分钟"))
        elif match := re.fullmatch(r"(\d+) \* \* \* \*", expression):
            words.append(say(f"hourly at minute {match[1]}", f"每小时第 {match[1]} 分"))
        else:
            words.append(expression)
    return say("; ", "；").join(words)


# Which jobs are due now: scheduled times, missed and failed runs, and sessions that ended or fell silent.

TIME, MISSED, RETRY, REQUESTED, SESSION = "time", "missed", "retry", "asked", "talk"
_LATE = dt.timedelta(minutes=10)  # after which a run counts as caught up


@dataclass(frozen=True)
class PlannedRun:
    """A run to be made: the scheduled time that it stands for, if any, and why."""

    job: str
    window: dt.datetime | None = None
    attempt: int = 1
    why: str = TIME


def due(now: dt.datetime, journal: Journal, jobs: Sequence[Job], retries: int) -> list[PlannedRun]:
    """What is to run now, in the order in which the jobs stand. A job that never ran is due for its last time."""
    now = now.astimezone(dt.UTC)  # in a zone of its own, a time would count along the wall clock, over its jumps
    planned: list[PlannedRun] = []
    for job in jobs:
        window, tried = _open_window(job, now, journal)
        if window and not tried:
            planned.append(PlannedRun(job.name, window, 1, MISSED if now - window > _LATE else TIME))
        elif window and len(tried) <= retries and _retry_at(tried, now) <= now:
            planned.append(PlannedRun(job.name, window, len(tried) + 1, RETRY))
    return planned


def _open_window(job: Job, now: dt.datetime, journal: Journal) -> tuple[dt.datetime | None, list[JobRun]]:
    """The last time of a job, and the runs that failed for it; None when one went through for it."""
    window = next(windows(job, now, backwards=True), None)
    tried = [run for run in journal.of(job.name) if run.window == window]
    return (None if any(run.went_through for run in tried) else window), tried


def _retry_at(tried: Sequence[JobRun], now: dt.datetime) -> dt.datetime:
    until = tried[-1].ended or tried[-1].started
    return now if until > now else until + retry_wait(len(tried))


def retry_wait(failures: int) -> dt.timedelta:
    """How long after so many failures: 1, 4, 16, 64 minutes, then 256."""
    return dt.timedelta(minutes=4 ** min(failures - 1, 4) if failures else 0)


def next_time(job: Job, now: dt.datetime, journal: Journal, retries: int) -> dt.datetime | None:
    """When, after now, a job is to run next: at its next time, or to be tried again."""
    now = now.astimezone(dt.UTC)
    times = list(islice(windows(job, now), 1))
    window, tried = _open_window(job, now, journal)
    if window and tried and len(tried) <= retries and (again := _retry_at(tried, now)) > now:
        times.append(again)
    return min(times, default=None)


def requested_run(job: Job, now: dt.datetime, journal: Journal) -> PlannedRun:
    """The run that somebody asks for by name: it stands for the job's last time, if nothing went through for that yet."""
    window, tried = _open_window(job, now, journal)
    return PlannedRun(job.name, window, len(tried) + 1 if window else 1, REQUESTED)


# Beyond the fixed times: a session that ended or fell silent is captured soon, an idle machine is left alone.


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
    if len(failed) > retries or (failed and now < _retry_at(failed, now)):
        return None
    return PlannedRun(SYNC, None, len(failed) + 1, SESSION)


def next_look(
    now: dt.datetime, sessions: Iterable[SessionFile], *, silence: dt.timedelta, looked: dt.datetime | None
) -> dt.datetime:
    """When to look again, in UTC: when a session that goes on would have fallen silent, and often enough to see one begin before that."""
    now = now.astimezone(dt.UTC)
    ends = [session.changed + silence for session in _uncaptured(sessions, looked)]
    return min([now + silence / 2, *(end for end in ends if end > now)])
