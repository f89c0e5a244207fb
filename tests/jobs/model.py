"""When jobs have their times, worked out a minute at a time and without the code that is tested."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection
from functools import cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

MINUTE, SPARE = dt.timedelta(minutes=1), dt.timedelta(days=3)

# Each with a month in which its clock changes, but for Shanghai; in Samoa a whole day was left out.
MONTHS = [
    ("Europe/Berlin", dt.date(2026, 3, 10)),
    ("Europe/Berlin", dt.date(2026, 10, 10)),
    ("America/New_York", dt.date(2026, 3, 1)),
    ("America/New_York", dt.date(2026, 10, 20)),
    ("Australia/Lord_Howe", dt.date(2026, 3, 20)),
    ("Australia/Lord_Howe", dt.date(2026, 9, 20)),
    ("Asia/Shanghai", dt.date(2026, 2, 1)),
    ("Pacific/Apia", dt.date(2011, 12, 10)),
]


class Times(NamedTuple):
    """Times of the day: by the clock on the wall, or at these minutes of these hours as often as they come."""

    hours: frozenset[int]
    minutes: frozenset[int]
    by_the_clock: bool = True
    pairs: frozenset[tuple[int, int]] = frozenset()

    def holds(self, moment: dt.datetime) -> bool:
        if self.pairs:
            return (moment.hour, moment.minute) in self.pairs
        return moment.hour in self.hours and moment.minute in self.minutes


def daily(*times: str) -> Times:
    pairs = frozenset((int(one[:2]), int(one[3:])) for one in times)
    return Times(frozenset(), frozenset(), pairs=pairs)


def repeated(hours: Collection[int], minutes: Collection[int]) -> Times:
    return Times(frozenset(hours), frozenset(minutes), by_the_clock=False)


def month_of(zone: str, first: dt.date) -> tuple[dt.datetime, dt.datetime]:
    begin = dt.datetime.combine(first, dt.time(12), ZoneInfo(zone)).astimezone(dt.UTC)
    return begin, begin + dt.timedelta(days=31)


@cache
def model(times: Times, zone: str, first: dt.date) -> tuple[dt.datetime, ...]:
    """Every time in a month, and in three days before and after it."""
    begin, end = (edge + days for edge, days in zip(month_of(zone, first), (-SPARE, SPARE), strict=True))
    place = ZoneInfo(zone)
    found: list[dt.datetime] = []
    moment = begin - MINUTE
    before = moment.astimezone(place).replace(tzinfo=None)
    while moment < end:
        moment += MINUTE
        local = moment.astimezone(place)
        wall = local.replace(tzinfo=None)
        if not times.by_the_clock:
            hit = times.holds(local)
        else:
            hit = times.holds(local) and not local.fold
            skipped = before + MINUTE
            while skipped < wall:  # the clock jumped over these
                hit = hit or times.holds(skipped)
                skipped += MINUTE
        if hit:
            found.append(moment)
        before = wall
    return tuple(found)
