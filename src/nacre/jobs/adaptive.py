"""Beyond the fixed times: a talk that ended or fell silent is captured soon, busy hours are learned, an idle machine is left alone."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nacre.jobs.due import TALK, Rules, Run, wait
from nacre.jobs.journal import Journal
from nacre.jobs.schedule import SYNC

BUSY, QUIET = dt.timedelta(seconds=30), dt.timedelta(minutes=15)  # the shortest and the longest time between two looks
IDLE = dt.timedelta(hours=3)  # without a word, after which a machine is left alone
UNLEARNED = dt.timedelta(minutes=1)  # between two looks while nothing is known of the user's hours
_HOURS = 7 * 24
_HALF = dt.timedelta(days=14)  # after which what was learned counts half
_OLDEST = dt.timedelta(days=56)
_ENOUGH = 20  # moments from which something can be learned


@dataclass(frozen=True)
class Talk:
    """A transcript: when it last changed, and whether its agent said that it is over; `told` where it says so just now."""

    key: str
    changed: dt.datetime
    ended: bool = False
    told: bool = False


def waiting(talks: Iterable[Talk], looked: dt.datetime | None) -> list[Talk]:
    """The talks that went on since the last capture began, or whose agent says just now that they are over: those leave the queue.
    Before the first capture none: that one is the user's to start."""
    return [one for one in talks if looked and (one.told or one.changed > looked)]


def silent(talks: Iterable[Talk], now: dt.datetime, silence: dt.timedelta, looked: dt.datetime | None) -> list[Talk]:
    """Of these, the ones that ended or fell silent."""
    return [one for one in waiting(talks, looked) if one.ended or now - one.changed >= silence]


def capture_due(
    talks: Iterable[Talk],
    now: dt.datetime,
    journal: Journal,
    given: Rules,
    *,
    silence: dt.timedelta,
    looked: dt.datetime | None,
) -> Run | None:
    """The capture that silent talks call for; after failures it waits, and then leaves it to the fixed times."""
    if not silent(talks, now, silence, looked):
        return None
    failed = journal.failures(SYNC)
    if not failed:
        return Run(SYNC, None, 1, TALK)
    until = failed[-1].known_until
    if len(failed) > given.retries or (until <= now < until + wait(len(failed))):
        return None
    return Run(SYNC, None, len(failed) + 1, TALK)


@dataclass(frozen=True)
class Hours:
    """How much happens in each hour of the week, from 0 to 1; empty while too little is known."""

    shares: tuple[float, ...] = ()

    def at(self, moment: dt.datetime) -> float | None:
        return self.shares[_hour(moment)] if self.shares else None


def _hour(moment: dt.datetime) -> int:
    return moment.weekday() * 24 + moment.hour


def learned(moments: Iterable[dt.datetime], now: dt.datetime) -> Hours:
    """The user's hours, from the moments at which something was said. `now` is in the user's time zone."""
    counts = [0.0] * _HOURS
    number = 0
    for moment in moments:
        age = now - moment
        if dt.timedelta() <= age <= _OLDEST:
            number += 1
            counts[_hour(moment.astimezone(now.tzinfo))] += 0.5 ** (age / _HALF)
    if number < _ENOUGH:
        return Hours()
    # The hour before and the hour after count a little: nobody begins on the stroke.
    spread = [counts[at] + (counts[at - 1] + counts[(at + 1) % _HOURS]) / 2 for at in range(_HOURS)]
    most = max(spread)
    return Hours(tuple(one / most for one in spread))


def interval(now: dt.datetime, hours: Hours, last: dt.datetime | None, silence: dt.timedelta) -> dt.timedelta:
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
    talks: Sequence[Talk],
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
    at = moment + interval(now, hours, max(said, default=None), silence)
    ends = [one.changed + silence for one in waiting(talks, looked)]
    return min([at, *(one for one in ends if one > moment)])
