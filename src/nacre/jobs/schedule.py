"""When each job runs: cron expressions in the user's time zone, in words, and in the form of each scheduler."""

from __future__ import annotations

import datetime as dt
import heapq
import os
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product, repeat
from pathlib import Path

from nacre.clock import Clock
from nacre.config.settings import Config
from nacre.errors import BadSetting
from nacre.i18n import language, say

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
        f'jobs.{setting} is "{expression}", which is no cron expression that ever comes; write five fields such as "0 3 * * *", or "off".',
        f"jobs.{setting} 为“{expression}”，不是会触发的 cron 表达式；请写五个字段，例如“0 3 * * *”，或写“off”。",
    )


def _times_of_day(setting: str, times: Sequence[str]) -> tuple[str, ...]:
    """Times of the day as expressions: one for each minute that they share."""
    hours: defaultdict[int, set[int]] = defaultdict(set)
    for time in times:
        if not (match := re.fullmatch(r"([01]?\d|2[0-3]):([0-5]\d)", str(time).strip())):
            raise BadSetting(
                f'{setting} holds "{time}", which is no time of day; write it as 14:00.',
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


def latest(job: Job, now: dt.datetime) -> dt.datetime | None:
    return next(windows(job, now, backwards=True), None)


def following(job: Job, after: dt.datetime) -> dt.datetime | None:
    return next(windows(job, after), None)


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
    """When a job runs; in Chinese an expression that is not of the usual kinds is shown as it is."""
    if not expressions:
        return say("only when asked", "仅在要求时")
    daily = [re.fullmatch(r"(\d+) ([\d,]+) \* \* \*", expression) for expression in expressions]
    if all(daily):
        times = sorted(f"{int(hour):02}:{int(match[1]):02}" for match in daily if match for hour in match[2].split(","))
        return say(f"daily at {', '.join(times)}", f"每天 {'、'.join(times)}")
    words: list[str] = []
    for expression in expressions:
        if expression == "* * * * *":
            words.append(say("every minute", "每分钟"))
        elif match := re.fullmatch(r"\*/(\d+) \* \* \* \*", expression):
            words.append(say(f"every {match[1]} minutes", f"每 {match[1]} 分钟"))
        elif match := re.fullmatch(r"(\d+) \* \* \* \*", expression):
            words.append(say(f"hourly, at minute {match[1]}", f"每小时第 {match[1]} 分"))
        elif language() == "zh":
            words.append(expression)
        else:
            from cronsim.explain import explain

            explained = explain(expression)
            words.append(explained[0].lower() + explained[1:])
    return say("; ", "；").join(words)


# The times in the words of each scheduler: calendar events, moved where a scheduler knows no zones.

MINUTES, HOURS = frozenset(range(60)), frozenset(range(24))
DAYS, MONTHS, WEEKDAYS = frozenset(range(1, 32)), frozenset(range(1, 13)), frozenset(range(7))
_WEEKDAY_NAMES = ("Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat")
_MOST_EVENTS = 1000


@dataclass(frozen=True)
class Times:
    """A cron expression as sets of numbers; Sunday is weekday 0."""

    expression: str
    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]

    @property
    def day_sets(self) -> list[tuple[frozenset[int], frozenset[int]]]:
        """Days of the month with weekdays; where both are named cron means either, so each alone."""
        if self.days != DAYS and self.weekdays != WEEKDAYS:
            return [(self.days, WEEKDAYS), (DAYS, self.weekdays)]
        return [(self.days, self.weekdays)]


def parse_cron(expression: str) -> Times:
    """The expression as sets; `BadSetting` for what only our own scheduler understands."""
    from cronsim import CronSim

    cron = CronSim(expression, dt.datetime(2026, 1, 1, tzinfo=dt.UTC))
    weekdays = frozenset(day % 7 for day in cron.weekdays if isinstance(day, int))
    days = frozenset(cron.days)
    special = min(days) < 0 or not all(isinstance(day, int) for day in cron.weekdays)  # the last Friday, the last day
    if special or (cron.day_and and days != DAYS and weekdays != WEEKDAYS):
        raise _not_expressible(expression)
    minutes, hours, months = map(frozenset, (cron.minutes, cron.hours, cron.months))
    return Times(expression.upper(), minutes, hours, days, months, weekdays)


def _not_expressible(expression: str) -> BadSetting:
    return BadSetting(
        f'"{expression}" cannot be told to this machine\'s scheduler; use five plain fields, or let the daemon run the jobs '
        f'("nacre serve").',
        f"本机的计划程序无法表达“{expression}”；请使用五个普通字段，或让守护进程运行任务（“nacre serve”）。",
    )


def zone_difference(clock: Clock, moment: dt.datetime | None = None) -> dt.timedelta:
    """How far the user's time is ahead of the system's, now or at a moment."""
    moment = moment or clock.now()
    own, system = clock.local(moment).utcoffset(), moment.astimezone(None).utcoffset()
    return (own or dt.timedelta()) - (system or dt.timedelta())


def changes_within_a_year(clock: Clock) -> bool:
    """Whether clock changes move the user's and the system's time apart or together in the coming year."""
    now = clock.now()
    return len({zone_difference(clock, now + dt.timedelta(days=days)) for days in range(0, 366, 7)}) > 1


def shifted(times: Times, ahead: dt.timedelta) -> list[Times]:
    """The same moments by a clock that is behind by that much, in as few expressions as possible."""
    if not ahead:
        return [times]
    any_date = times.days == DAYS and times.months == MONTHS
    hours: defaultdict[tuple[int, int], set[int]] = defaultdict(set)  # by the days that they move, and the minute
    for hour, minute in product(times.hours, times.minutes):
        day, rest = divmod(hour * 60 + minute - round(ahead.total_seconds() / 60), 24 * 60)
        hours[0 if any_date and times.weekdays == WEEKDAYS else day, rest % 60].add(rest // 60)
    if not any_date and any(day for day, _ in hours):
        raise BadSetting(
            f'"{times.expression}" falls on another day by this system\'s clock, and its scheduler knows no time zones. '
            f'Leave days and months out of it, or let the daemon run the jobs ("nacre serve").',
            f"按本机时钟，“{times.expression}”会落在另一天，而本机的计划程序不支持时区。请不要限定日期和月份，"
            f"或让守护进程运行任务（“nacre serve”）。",
        )
    minutes: defaultdict[tuple[int, frozenset[int]], set[int]] = defaultdict(set)
    for (day, minute), some in hours.items():
        minutes[day, frozenset(some)].add(minute)
    moved: list[Times] = []
    for (day, at), some in sorted(minutes.items(), key=lambda item: (item[0][0], sorted(item[1]))):
        new = replace(
            times,
            minutes=frozenset(some),
            hours=at,
            weekdays=frozenset((weekday + day) % 7 for weekday in times.weekdays),
        )
        numbers = (new.minutes, new.hours, new.days, new.months, new.weekdays)
        moved.append(replace(new, expression=" ".join(map(_field, numbers, (MINUTES, HOURS, DAYS, MONTHS, WEEKDAYS)))))
    return moved


def _field(some: frozenset[int], everything: frozenset[int], width: int = 0) -> str:
    return "*" if some == everything else ",".join(f"{number:0{width}d}" for number in sorted(some))


def calendar_events(times: Times, zone: str | None) -> tuple[str, ...]:
    """The times as systemd wants them (OnCalendar)."""
    months, hours, minutes = (
        _field(*pair, 2) for pair in ((times.months, MONTHS), (times.hours, HOURS), (times.minutes, MINUTES))
    )
    events = []
    for days, weekdays in times.day_sets:
        named = "" if weekdays == WEEKDAYS else ",".join(_WEEKDAY_NAMES[day] for day in sorted(weekdays)) + " "
        events.append(f"{named}*-{months}-{_field(days, DAYS, 2)} {hours}:{minutes}:00{f' {zone}' if zone else ''}")
    return tuple(events)


def calendar_intervals(times: Times) -> tuple[dict[str, int], ...]:
    """The times as launchd wants them (StartCalendarInterval): one for each moment, what is not named being any."""
    intervals: list[dict[str, int]] = []
    for days, weekdays in times.day_sets:
        fields = (
            ("Month", times.months, MONTHS),
            ("Day", days, DAYS),
            ("Weekday", weekdays, WEEKDAYS),
            ("Hour", times.hours, HOURS),
            ("Minute", times.minutes, MINUTES),
        )
        named = [[(name, number) for number in sorted(some)] for name, some, everything in fields if some != everything]
        intervals += [dict(moment) for moment in product(*named)]
    if len(intervals) > _MOST_EVENTS:
        raise _not_expressible(times.expression)
    return tuple(intervals)
