"""When each job has its times: cron expressions in the user's own time zone, also over clock changes."""

from __future__ import annotations

import datetime as dt
import heapq
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nacre.clock import Clock
from nacre.config import Config
from nacre.errors import BadSetting
from nacre.words import say

SYNC, TIDY, ORGANISE, HEARTBEAT = NAMES = ("memory-sync", "memory-tidy", "organise", "heartbeat")
OFF = ("", "off")
_TIME = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")
_LOCALTIME = Path("/etc/localtime")
_CHANGE = dt.timedelta(hours=3)  # no clock is put back by more
# How far back the last time of an expression may lie, tried one after the other: most are found in the first.
_SPANS = tuple(dt.timedelta(minutes=minutes) for minutes in (65, 1500, 8 * 1440, 32 * 1440, 367 * 1440, 4200 * 1440))


@dataclass(frozen=True)
class Job:
    """A job and its times. Without an expression it runs only when somebody asks."""

    name: str
    expressions: tuple[str, ...]
    zone: dt.tzinfo


def jobs(config: Config, clock: Clock) -> tuple[Job, ...]:
    """Every job as the settings want it; `BadSetting` names the one that cannot be understood."""
    where = zone_of(clock)
    return tuple(Job(name, expressions(config, name), where) for name in NAMES)


def expressions(config: Config, name: str) -> tuple[str, ...]:
    """The cron expressions of a job; several where its times differ in their minutes."""
    wanted = config.jobs
    if name == SYNC:
        return _checked("jobs.sync", wanted.sync) if wanted.sync is not None else _of("sync.times", config.sync.times)
    if name == TIDY:
        return _checked("jobs.tidy", wanted.tidy) if wanted.tidy is not None else _of("tidy.time", [config.tidy.time])
    return _checked(f"jobs.{name}", wanted.organise if name == ORGANISE else wanted.heartbeat)


def _checked(setting: str, expression: str) -> tuple[str, ...]:
    from cronsim import CronSim, CronSimError

    if expression.strip().lower() in OFF:
        return ()
    fields = " ".join(expression.split())
    try:
        # Seconds, a sixth field, are beyond every scheduler that jobs can be handed to.
        if len(fields.split(" ")) == 5 and next(CronSim(fields, dt.datetime(2024, 1, 1)), None):  # noqa: DTZ001 - only a test
            return (fields,)
    except (CronSimError, ValueError):
        pass
    raise BadSetting(
        say(
            f'{setting} is "{expression}", which is no cron expression that ever comes; write five fields such as "0 3 * * *", or "off".',
            f"{setting} 为“{expression}”，不是会触发的 cron 表达式；请写五个字段，例如“0 3 * * *”，或写“off”。",
        )
    )


def _of(setting: str, times: Sequence[str]) -> tuple[str, ...]:
    """Times of the day as expressions: one for each minute that they share."""
    hours: dict[int, set[int]] = {}
    for time in times:
        if not (found := _TIME.fullmatch(str(time).strip())):
            raise BadSetting(
                say(
                    f'{setting} holds "{time}", which is no time of day; write it as 14:00.',
                    f"{setting} 中的“{time}”不是时刻；请写成 14:00。",
                )
            )
        hours.setdefault(int(found[2]), set()).add(int(found[1]))
    return tuple(f"{minute} {','.join(map(str, sorted(at)))} * * *" for minute, at in sorted(hours.items()))


def windows(job: Job, after: dt.datetime) -> Iterator[dt.datetime]:
    """The times of a job after a moment, in UTC, each once. A time of the day that the clock skips comes when it has skipped it,
    one that it repeats comes the first time; what runs by the hour or the minute comes as often as the clock shows it."""
    last = after.astimezone(dt.UTC)
    for moment in heapq.merge(*(_moments(one, job.zone, last) for one in job.expressions)):
        if moment > last:
            yield moment
            last = moment


def _moments(expression: str, zone: dt.tzinfo, after: dt.datetime) -> Iterator[dt.datetime]:
    """The walk goes along the clock on the wall alone, and each of its times is then looked up in the zone: cronsim's own walk
    through a zone loses times where a clock changes by half an hour."""
    from cronsim import CronSim

    minute, hour = expression.split(" ")[:2]
    by_the_day = not minute.startswith("*") and not hour.startswith("*")
    coming: list[dt.datetime] = []
    try:
        for wall in CronSim(expression, _begin(zone, after)):
            first, again = _instants(wall, zone)
            if first is None and by_the_day:
                first = _after_the_gap(wall, zone)
            # A repeated time waits until the times between are given.
            while first and coming and coming[0] < first:
                yield heapq.heappop(coming)
            if first:
                heapq.heappush(coming, first)
            if again and not by_the_day:
                heapq.heappush(coming, again)
            while first and coming and coming[0] <= first:
                yield heapq.heappop(coming)
    except (OverflowError, ValueError):  # the calendar ends
        return


def _begin(zone: dt.tzinfo, after: dt.datetime) -> dt.datetime:
    """Where the walk begins: at what the clock shows, or some hours before where it changes just now."""
    wall = after.astimezone(zone).replace(tzinfo=None, fold=0)
    offsets = {(after + hours).astimezone(zone).utcoffset() for hours in (-_CHANGE, _CHANGE)}
    return wall if len(offsets) == 1 else wall - _CHANGE


def _instants(wall: dt.datetime, zone: dt.tzinfo) -> tuple[dt.datetime | None, dt.datetime | None]:
    """When the clock shows a time: never, once, or twice."""
    first, again = (wall.replace(tzinfo=zone, fold=fold).astimezone(dt.UTC) for fold in (0, 1))
    if first > again or first.astimezone(zone).replace(tzinfo=None, fold=0) != wall:
        return None, None
    return first, again if again != first else None


def _after_the_gap(wall: dt.datetime, zone: dt.tzinfo) -> dt.datetime | None:
    while (found := _instants(wall, zone)[0]) is None:
        wall += dt.timedelta(minutes=1)
    return found


def latest(job: Job, now: dt.datetime) -> dt.datetime | None:
    """The last time of a job up to a moment; none when there was none for years."""
    moment = now.astimezone(dt.UTC)
    for span in _SPANS:
        found = None
        try:
            begin = moment - span
        except OverflowError:
            return None
        for one in windows(job, begin):
            if one > moment:
                break
            found = one
        if found:
            return found
    return None


def following(job: Job, after: dt.datetime) -> dt.datetime | None:
    """The first time of a job after a moment."""
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
    try:
        with _LOCALTIME.open("rb") as file:
            return ZoneInfo.from_file(file) if not named else _offset(clock)
    except (OSError, ValueError):
        return _offset(clock)


def _offset(clock: Clock) -> dt.tzinfo:
    return clock.now().tzinfo or dt.UTC
