"""When each job runs: cron expressions in the user's time zone, in words, and in the form of each scheduler."""

from __future__ import annotations

import contextlib
import datetime as dt
import heapq
import os
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from nacre.clock import Clock
from nacre.config.settings import Config
from nacre.errors import BadSetting
from nacre.i18n import language, say

SYNC, TIDY, ORGANISE, HEARTBEAT = JOB_NAMES = ("memory-sync", "memory-tidy", "organise", "heartbeat")
_LOCALTIME = Path("/etc/localtime")
_LARGEST_CHANGE = dt.timedelta(hours=3)  # no clock is put back by more
# How far back the last time of an expression may lie, tried one after the other: most are found in the first.
_SPANS = tuple(dt.timedelta(minutes=minutes) for minutes in (65, 1500, 8 * 1440, 32 * 1440, 367 * 1440, 4200 * 1440))


@dataclass(frozen=True)
class Job:
    """A job and its times. Without an expression it runs only when somebody asks."""

    name: str
    expressions: tuple[str, ...]
    zone: dt.tzinfo


def jobs(config: Config, clock: Clock) -> tuple[Job, ...]:
    zone = zone_of(clock)
    return tuple(Job(name, expressions(config, name), zone) for name in JOB_NAMES)


def expressions(config: Config, name: str) -> tuple[str, ...]:
    """The cron expressions of a job; several where its times differ in their minutes."""
    wanted = config.jobs
    if name == SYNC and wanted.sync is None:
        return _times_of_day("sync.times", config.sync.times)
    if name == TIDY and wanted.tidy is None:
        return _times_of_day("tidy.time", [config.tidy.time])
    setting = {SYNC: "sync", TIDY: "tidy"}.get(name, name)
    return _checked(f"jobs.{setting}", getattr(wanted, setting))


def _checked(setting: str, expression: str) -> tuple[str, ...]:
    from cronsim import CronSim, CronSimError

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
        f'{setting} is "{expression}", which is no cron expression that ever comes; write five fields such as "0 3 * * *", or "off".',
        f"{setting} 为“{expression}”，不是会触发的 cron 表达式；请写五个字段，例如“0 3 * * *”，或写“off”。",
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


def windows(job: Job, after: dt.datetime) -> Iterator[dt.datetime]:
    """The times of a job after a moment, in UTC, each once. A time of the day that the clock skips comes when it has skipped it,
    one that it repeats comes the first time; what runs by the hour or the minute comes as often as the clock shows it."""
    last = after.astimezone(dt.UTC)
    for moment in heapq.merge(*(_moments(expression, job.zone, last) for expression in job.expressions)):
        if moment > last:
            yield moment
            last = moment


def _moments(expression: str, zone: dt.tzinfo, after: dt.datetime) -> Iterator[dt.datetime]:
    """The walk goes along the clock on the wall alone, and each of its times is then looked up in the zone: cronsim's own walk
    through a zone loses times where a clock changes by half an hour."""
    from cronsim import CronSim

    minute, hour = expression.split(" ")[:2]
    by_the_day = not minute.startswith("*") and not hour.startswith("*")
    # From what the clock shows, or some hours before where it changes just now.
    start = after.astimezone(zone).replace(tzinfo=None, fold=0)
    offsets = {(after + hours).astimezone(zone).utcoffset() for hours in (-_LARGEST_CHANGE, _LARGEST_CHANGE)}
    coming: list[dt.datetime] = []
    for wall in CronSim(expression, start if len(offsets) == 1 else start - _LARGEST_CHANGE):
        first, again = _instants(wall, zone)
        if first is None and by_the_day:
            while first is None:  # after the gap
                wall += dt.timedelta(minutes=1)  # noqa: PLW2901 - the time that the clock shows next
                first = _instants(wall, zone)[0]
        if first is None:
            continue
        heapq.heappush(coming, first)
        if again and not by_the_day:
            heapq.heappush(coming, again)  # waits until the times between are given
        while coming and coming[0] <= first:
            yield heapq.heappop(coming)


def _instants(wall: dt.datetime, zone: dt.tzinfo) -> tuple[dt.datetime | None, dt.datetime | None]:
    """When the clock shows a time: never, once, or twice."""
    first, again = (wall.replace(tzinfo=zone, fold=fold).astimezone(dt.UTC) for fold in (0, 1))
    if first > again or first.astimezone(zone).replace(tzinfo=None, fold=0) != wall:
        return None, None
    return first, again if again != first else None


def latest(job: Job, now: dt.datetime) -> dt.datetime | None:
    """The last time of a job up to a moment; none when there was none for years."""
    now = now.astimezone(dt.UTC)
    for span in _SPANS:
        last = None
        for window in windows(job, now - span):
            if window > now:
                break
            last = window
        if last:
            return last
    return None


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
    with contextlib.suppress(OSError, ValueError):
        if not named:
            with _LOCALTIME.open("rb") as file:
                return ZoneInfo.from_file(file)
    return clock.now().tzinfo or dt.UTC


def in_words(expressions: tuple[str, ...]) -> str:
    """When a job runs; an expression that is not of the usual kinds is told as it stands."""
    if not expressions:
        return say("only when asked", "仅在要求时")
    daily = [re.fullmatch(r"(\d+) ([\d,]+) \* \* \*", expression) for expression in expressions]
    if all(daily):
        times = sorted(f"{int(hour):02}:{int(match[1]):02}" for match in daily if match for hour in match[2].split(","))
        return say(f"daily at {', '.join(times)}", f"每天 {'、'.join(times)}")
    return say("; ", "；").join(map(_expression_in_words, expressions))


def _expression_in_words(expression: str) -> str:
    if expression == "* * * * *":
        return say("every minute", "每分钟")
    if match := re.fullmatch(r"\*/(\d+) \* \* \* \*", expression):
        return say(f"every {match[1]} minutes", f"每 {match[1]} 分钟")
    if match := re.fullmatch(r"(\d+) \* \* \* \*", expression):
        return say(f"hourly, at minute {match[1]}", f"每小时第 {match[1]} 分")
    if language() == "zh":
        return expression  # there is no library that says it in Chinese
    from cronsim.explain import explain

    words = explain(expression)
    return words[0].lower() + words[1:]


# When jobs run, in the words of each scheduler: cron fields become calendar events, and move where a scheduler knows
# no zone.

MINUTES, HOURS = frozenset(range(60)), frozenset(range(24))
DAYS, MONTHS, WEEKDAYS = frozenset(range(1, 32)), frozenset(range(1, 13)), frozenset(range(7))
_WEEKDAY_NAMES = ("Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat")
_MOST_EVENTS = 1000
_DAY_MINUTES = 24 * 60


@dataclass(frozen=True)
class Times:
    """A cron expression as sets of numbers; Sunday is weekday 0."""

    expression: str
    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    both: bool = False  # a day must fit the month's day and the weekday; else one of two named ones will do

    @property
    def names_days(self) -> bool:
        return self.days != DAYS and self.weekdays != WEEKDAYS

    @property
    def day_sets(self) -> list[tuple[frozenset[int], frozenset[int]]]:
        """Days of the month with weekdays; where cron means "either", each alone."""
        if self.names_days and not self.both:
            return [(self.days, WEEKDAYS), (DAYS, self.weekdays)]
        return [(self.days, self.weekdays)]


def parse_cron(expression: str) -> Times:
    """The expression as sets; `BadSetting` for what only our own scheduler understands."""
    from cronsim import CronSim

    cron = CronSim(expression, dt.datetime(2026, 1, 1, tzinfo=dt.UTC))
    days: set[object] = {*cron.days, *cron.weekdays}
    if any(not isinstance(day, int) or day < 0 for day in days):  # the last Friday, the last day
        raise _not_expressible(expression)
    fields = (
        cron.minutes,
        cron.hours,
        cron.days,
        cron.months,
        {day % 7 for day in cron.weekdays if isinstance(day, int)},
    )
    minutes, hours, month_days, months, weekdays = (frozenset(field) for field in fields)
    return Times(expression.upper(), minutes, hours, month_days, months, weekdays, both=cron.day_and)


def _not_expressible(expression: str) -> BadSetting:
    return BadSetting(
        f'"{expression}" cannot be told to this machine\'s scheduler; use five plain fields, or let the daemon run the jobs '
        f'("nacre serve").',
        f"本机的计划程序无法表达“{expression}”；请使用五个普通字段，或让守护进程运行任务（“nacre serve”）。",
    )


def zone_difference(clock: Clock, moment: dt.datetime | None = None) -> dt.timedelta:
    """How far the user's time is ahead of the system's, now or at a moment."""
    moment = moment or clock.now()
    mine, system = clock.local(moment).utcoffset(), moment.astimezone(None).utcoffset()
    return (mine or dt.timedelta()) - (system or dt.timedelta())


def changes_within_a_year(clock: Clock) -> bool:
    """Whether the user's and the system's clocks drift apart or together in the coming year, as clock changes make them."""
    now = clock.now()
    return len({zone_difference(clock, now + dt.timedelta(days=days)) for days in range(0, 366, 7)}) > 1


def shifted(times: Times, ahead: dt.timedelta) -> list[Times]:
    """The same moments by a clock that is behind by that much."""
    if not ahead:
        return [times]
    if times.names_days and times.both:
        raise _not_expressible(times.expression)
    behind = round(ahead.total_seconds() / 60)
    at: defaultdict[int, defaultdict[int, set[int]]] = defaultdict(lambda: defaultdict(set))  # day, minute: hours
    for hour, minute in product(times.hours, times.minutes):
        day, rest = divmod(hour * 60 + minute - behind, _DAY_MINUTES)
        at[0 if times.weekdays == WEEKDAYS and times.days == DAYS and times.months == MONTHS else day][rest % 60].add(
            rest // 60
        )
    if set(at) != {0} and (times.days != DAYS or times.months != MONTHS):
        raise BadSetting(
            f'"{times.expression}" falls on another day by this system\'s clock, and its scheduler knows no time zones. '
            f'Leave days and months out of it, or let the daemon run the jobs ("nacre serve").',
            f"按本机时钟，“{times.expression}”会落在另一天，而本机的计划程序不支持时区。请不要限定日期和月份，"
            f"或让守护进程运行任务（“nacre serve”）。",
        )
    moved: list[Times] = []
    for day in sorted(at):
        by_hours: defaultdict[frozenset[int], set[int]] = defaultdict(
            set
        )  # as few pairs of hours and minutes as possible
        for minute, some in at[day].items():
            by_hours[frozenset(some)].add(minute)
        weekdays = frozenset((weekday + day) % 7 for weekday in times.weekdays)
        for hours, minutes in sorted(by_hours.items(), key=lambda pair: sorted(pair[1])):
            fields = (
                (minutes, MINUTES),
                (hours, HOURS),
                (times.days, DAYS),
                (times.months, MONTHS),
                (weekdays, WEEKDAYS),
            )
            expression = " ".join(_field(frozenset(some), everything) for some, everything in fields)
            moved.append(
                replace(times, expression=expression, minutes=frozenset(minutes), hours=hours, weekdays=weekdays)
            )
    return moved


def _field(some: frozenset[int], everything: frozenset[int], width: int = 0) -> str:
    return "*" if some == everything else ",".join(f"{number:0{width}d}" for number in sorted(some))


def calendar_events(times: Times, zone: str | None) -> tuple[str, ...]:
    clock = f"{_field(times.hours, HOURS, 2)}:{_field(times.minutes, MINUTES, 2)}:00"
    suffix = f" {zone}" if zone else ""
    events = []
    for days, weekdays in times.day_sets:
        named = "" if weekdays == WEEKDAYS else ",".join(_WEEKDAY_NAMES[day] for day in sorted(weekdays)) + " "
        events.append(f"{named}*-{_field(times.months, MONTHS, 2)}-{_field(days, DAYS, 2)} {clock}{suffix}")
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
    if len(intervals) > _MOST_EVENTS or (times.names_days and times.both):
        raise _not_expressible(times.expression)
    return tuple(intervals)
