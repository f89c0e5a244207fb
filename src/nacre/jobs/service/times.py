"""When jobs run, in the words of each scheduler: cron fields become calendar events, and move where a scheduler knows no zone."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

from nacre.clock import Clock
from nacre.errors import BadSetting
from nacre.words import say

MINUTES, HOURS = frozenset(range(60)), frozenset(range(24))
DAYS, MONTHS, WEEKDAYS = frozenset(range(1, 32)), frozenset(range(1, 13)), frozenset(range(7))
_NAMES = ("Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat")
_MOST_EVENTS = 1000
_DAY = 24 * 60


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


def parse(expression: str) -> Times:
    """The expression as sets; `BadSetting` for what only our own scheduler understands."""
    from cronsim import CronSim

    found = CronSim(expression, dt.datetime(2026, 1, 1, tzinfo=dt.UTC))
    weekdays: set[object] = set(found.weekdays)
    if any(not isinstance(one, int) or one < 0 for one in (*found.days, *weekdays)):  # the last Friday, the last day
        raise _beyond(expression)
    return Times(
        expression.upper(),
        frozenset(found.minutes),
        frozenset(found.hours),
        frozenset(found.days),
        frozenset(found.months),
        frozenset(one % 7 for one in weekdays if isinstance(one, int)),
        both=found.day_and,
    )


def _beyond(expression: str) -> BadSetting:
    return BadSetting(
        say(
            f'"{expression}" cannot be told to this machine\'s scheduler; use five plain fields, or let the daemon run the jobs '
            f'("nacre serve").',
            f"本机的计划程序无法表达“{expression}”；请使用五个普通字段，或让守护进程运行任务（“nacre serve”）。",
        )
    )


def difference(clock: Clock) -> dt.timedelta:
    """How far the user's time is ahead of the system's now."""
    return _ahead(clock, clock.now())


def changes_within_a_year(clock: Clock) -> bool:
    """Whether the user's and the system's clocks drift apart or together in the coming year, as clock changes make them."""
    now = clock.now()
    return len({_ahead(clock, now + dt.timedelta(days=days)) for days in range(0, 366, 7)}) > 1


def _ahead(clock: Clock, moment: dt.datetime) -> dt.timedelta:
    mine, its = clock.local(moment).utcoffset(), moment.astimezone(None).utcoffset()
    return (mine or dt.timedelta()) - (its or dt.timedelta())


def moved(times: Times, ahead: dt.timedelta) -> tuple[Times, ...]:
    """The same moments by a clock that is behind by that much."""
    if not ahead:
        return (times,)
    if times.names_days and times.both:
        raise _beyond(times.expression)
    behind = round(ahead.total_seconds() / 60)
    at: defaultdict[int, set[tuple[int, int]]] = defaultdict(set)
    for hour, minute in product(times.hours, times.minutes):
        day, rest = divmod(hour * 60 + minute - behind, _DAY)
        at[day].add(divmod(rest, 60))
    if set(at) != {0} and (times.days != DAYS or times.months != MONTHS):
        raise BadSetting(
            say(
                f'"{times.expression}" falls on another day by this system\'s clock, and its scheduler knows no time zones. '
                f'Leave days and months out of it, or let the daemon run the jobs ("nacre serve").',
                f"按本机时钟，“{times.expression}”会落在另一天，而本机的计划程序不支持时区。请不要限定日期和月份，"
                f"或让守护进程运行任务（“nacre serve”）。",
            )
        )
    if times.weekdays == WEEKDAYS:
        at = defaultdict(set, {0: set().union(*at.values())})
    return tuple(
        _written(replace(times, minutes=minutes, hours=hours, weekdays=_later(times.weekdays, day)))
        for day in sorted(at)
        for hours, minutes in _fields(at[day])
    )


def _later(weekdays: frozenset[int], days: int) -> frozenset[int]:
    return frozenset((one + days) % 7 for one in weekdays)


def _fields(moments: set[tuple[int, int]]) -> Iterator[tuple[frozenset[int], frozenset[int]]]:
    """Moments of a day as few pairs of hours and minutes."""
    by_minute: defaultdict[int, set[int]] = defaultdict(set)
    for hour, minute in moments:
        by_minute[minute].add(hour)
    by_hours: defaultdict[frozenset[int], set[int]] = defaultdict(set)
    for minute, hours in by_minute.items():
        by_hours[frozenset(hours)].add(minute)
    for which, minutes in sorted(by_hours.items(), key=lambda one: sorted(one[1])):
        yield which, frozenset(minutes)


def _written(times: Times) -> Times:
    parts = [
        _list(times.minutes, MINUTES),
        _list(times.hours, HOURS),
        _list(times.days, DAYS),
        _list(times.months, MONTHS),
        _list(times.weekdays, WEEKDAYS),
    ]
    return replace(times, expression=" ".join(parts))


def _list(some: frozenset[int], everything: frozenset[int], width: int = 0) -> str:
    return "*" if some == everything else ",".join(f"{one:0{width}d}" for one in sorted(some))


def calendar_events(times: Times, zone: str | None) -> tuple[str, ...]:
    """The times as systemd writes them (OnCalendar)."""
    clock = f"{_list(times.hours, HOURS, 2)}:{_list(times.minutes, MINUTES, 2)}:00"
    suffix = f" {zone}" if zone else ""
    events = []
    for days, weekdays in _days(times):
        named = "" if weekdays == WEEKDAYS else ",".join(_NAMES[one] for one in sorted(weekdays)) + " "
        events.append(f"{named}*-{_list(times.months, MONTHS, 2)}-{_list(days, DAYS, 2)} {clock}{suffix}")
    return tuple(events)


def calendar_intervals(times: Times) -> tuple[dict[str, int], ...]:
    """The times as launchd wants them (StartCalendarInterval): one for each moment, what is not named being any."""
    if times.names_days and times.both:
        raise _beyond(times.expression)
    found: list[dict[str, int]] = []
    for days, weekdays in _days(times):
        named = [
            [(name, one) for one in sorted(some)]
            for name, some, everything in (
                ("Month", times.months, MONTHS),
                ("Day", days, DAYS),
                ("Weekday", weekdays, WEEKDAYS),
                ("Hour", times.hours, HOURS),
                ("Minute", times.minutes, MINUTES),
            )
            if some != everything
        ]
        found += [dict(one) for one in product(*named)]
    if len(found) > _MOST_EVENTS:
        raise _beyond(times.expression)
    return tuple(found)


def _days(times: Times) -> tuple[tuple[frozenset[int], frozenset[int]], ...]:
    """Days of the month with weekdays; where cron means "either", each alone."""
    if times.names_days and not times.both:
        return (times.days, WEEKDAYS), (DAYS, times.weekdays)
    return ((times.days, times.weekdays),)
