"""Which messages of a session make a section of which day, and which wait. Decides; touches nothing."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from nacre.capture.cursors import Reached, kept
from nacre.model.session import Message, Speaker

Local = Callable[[dt.datetime], dt.datetime]


@dataclass(frozen=True)
class Part:
    """What was said in one session on one local day and is not in its log yet."""

    day: dt.date
    messages: tuple[Message, ...]

    @property
    def users(self) -> int:
        return owner_count(self.messages)

    @property
    def reached(self) -> Reached:
        return reached_by(self.messages)

    def last(self, local: Local) -> dt.datetime:
        """When it ended, as the clock showed on its day: an answer after midnight belongs to it, but not that time."""
        return local(max(message.at for message in self.messages if local(message.at).date() == self.day))


def reached_by(messages: Sequence[Message]) -> Reached:
    last = max(message.at for message in messages)
    return Reached(last, tuple(kept(message.id) for message in messages if message.at == last))


def owner_count(messages: Iterable[Message]) -> int:
    return sum(message.speaker is Speaker.OWNER for message in messages)


def by_day(messages: Sequence[Message], local: Local) -> list[Part]:
    """One part for each local day on which the owner spoke; what others said goes with the owner's words before it, at the
    very beginning with those after it."""
    days: dict[dt.date, list[Message]] = {}
    current = next((local(one.at).date() for one in messages if one.speaker is Speaker.OWNER), None)
    if current is None:
        return []
    for message in messages:
        if message.speaker is Speaker.OWNER:
            current = local(message.at).date()
        days.setdefault(current, []).append(message)
    return [Part(day, tuple(said)) for day, said in sorted(days.items())]


def must_wait(
    messages: Sequence[Message],
    *,
    captured: int,
    least: int,
    now: dt.datetime,
    patience: dt.timedelta,
    local: Local,
) -> bool:
    """Whether new messages are too few for a section of their own and may still be followed by others.

    A session counts once its owner has spoken often enough in all. A lone remark later on waits for company until the talk
    has been silent for a while or its day is over.
    """
    users = owner_count(messages)
    if users == 0 or captured + users < least:
        return True
    if captured == 0 or users >= least:
        return False
    last = max(message.at for message in messages)
    return now - last < patience and local(last).date() == local(now).date()


def with_the_owner(messages: Iterable[Message]) -> list[Message]:
    """What the owner said and was answered: without other people in a group, and what the agent said to them."""
    found: list[Message] = []
    asked_by = Speaker.OWNER
    for message in messages:
        if message.speaker is not Speaker.AGENT:
            asked_by = message.speaker
        if asked_by is Speaker.OWNER:
            found.append(message)
    return found
