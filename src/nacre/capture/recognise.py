"""Which messages the logs tell already, by their headings alone: for a session that no cursor knows, because it was lost."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nacre.capture.headings import Standing, of_session
from nacre.capture.parts import by_day
from nacre.clock import Clock
from nacre.model.session import Message, Speaker

Headings = Callable[[dt.date], Sequence[Standing]]


@dataclass(frozen=True)
class Recognised:
    """The messages that stand in the logs and those that do not, and what the logs call their session."""

    told: tuple[Message, ...]
    new: tuple[Message, ...]
    name: str = ""


def recognise(session: str, messages: Sequence[Message], headings: Headings, clock: Clock) -> Recognised:
    told: set[int] = set()
    name = ""
    for part in by_day(messages, clock.local):
        mine = of_session(session, headings(part.day))
        if not mine:
            continue
        name = mine[0].session
        count = sum(one.messages for one in mine)
        surely, at_most = _last_minute(part.day, max(one.time for one in mine), clock)
        told |= {
            id(message)
            for place, message in enumerate(part.messages)
            if message.at < surely
            or (place < count and (message.at < at_most or clock.local(message.at).date() > part.day))
        }
    # An answer between two sections went with one of them, whichever it was.
    last = max((place for place, one in enumerate(messages) if id(one) in told), default=-1)
    told |= {id(one) for one in messages[: last + 1] if one.speaker is not Speaker.OWNER}
    return Recognised(
        tuple(one for one in messages if id(one) in told), tuple(one for one in messages if id(one) not in told), name
    )


def _last_minute(day: dt.date, time: str, clock: Clock) -> tuple[dt.datetime, dt.datetime]:
    """The span in which a heading's last message was said: its minute; more where the clock showed that minute twice."""
    hour, minute = (int(part) for part in time.split(":"))
    shown = dt.datetime.combine(day, dt.time(hour % 24, minute % 60), clock.zone)
    first, second = sorted(shown.replace(fold=fold).astimezone(dt.UTC) for fold in (0, 1))
    return first, second + dt.timedelta(minutes=1)
