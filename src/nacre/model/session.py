"""A session between a person and an agent, as a transcript tells it: whose words, when, in which order."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from enum import StrEnum

ORDER_MARK = (
    "nacre-order v1"  # how every order to the user's own model begins: the session that it leaves behind is nobody's
)


class Speaker(StrEnum):
    """Whose words they are. Only the owner's become preferences and decisions; tools and pages never speak here."""

    OWNER = "owner"
    AGENT = "agent"
    OTHER = "other"  # somebody else in a group


class Kind(StrEnum):
    """What kind of session it is. Isolated ones (cron, hooks, sub-agents, internal runs) are nobody's."""

    MAIN = "main"
    GROUP = "group"
    ISOLATED = "isolated"


@dataclass(frozen=True, slots=True)
class Message:
    """What one speaker said at one moment, without what the agent's program put around it."""

    id: str  # of its entry in the transcript; told apart from all others of the session
    at: dt.datetime  # aware
    speaker: Speaker
    text: str
    name: str = ""  # how a group calls the speaker; never an id or a phone number


@dataclass(frozen=True, slots=True)
class Session:
    """One session, or the part of it that was not read before."""

    id: str
    agent: str
    kind: Kind
    started: dt.datetime | None
    messages: tuple[Message, ...]
    cwd: str = ""
    group: str = ""  # what a group chat is called
    chat: str = ""  # a sign of that chat, made of its id, where that is known


@dataclass(frozen=True, slots=True)
class SessionFile:
    """A transcript: when it last changed, and whether its agent said that it is over; `now` where it says so just now."""

    key: str
    changed: dt.datetime
    ended: bool = False
    now: bool = False
