"""The section of a session in a daily log: its heading, the messages of its day, and the provenance of its lines."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from nacre.capture.cursors import Pending, Reached, storable
from nacre.guard.secrets import redact
from nacre.model.session import Message, Speaker
from nacre.model.workspace import slug_of
from nacre.sources.registry import group_stamp
from nacre.text.stamps import stamp_of
from nacre.vault.entries import bullet_id, words_of
from nacre.vault.provenance import Captured

SHORT = 8
_COUNT = re.compile(r"\|\s*(\d{1,7}) messages?\b")


class SessionHeading(NamedTuple):
    """A session's heading in a day's log."""

    heading: str
    session: str
    time: str
    messages: int  # how many it tells


def read_headings(log: bytes | None) -> list[SessionHeading]:
    """Every session heading of a log, in order."""
    found: list[SessionHeading] = []
    for line in (log or b"").decode("utf-8", errors="replace").splitlines():
        if line.startswith("## ") and "session:" in line:
            title = line[3:].strip()
            stamp, count = stamp_of(title), _COUNT.search(title)
            if stamp.session and stamp.time:
                found.append(SessionHeading(title, stamp.session, stamp.time, int(count[1]) if count else 0))
    return found


def headings_of(session: str, headings: Iterable[SessionHeading]) -> list[SessionHeading]:
    """The headings that name a session. Where one that shares its first characters stands there too, the longer name is its."""
    plain = _plain_id(session)
    fitting = [
        one for one in headings if one.session == plain or (len(one.session) >= SHORT and plain.startswith(one.session))
    ]
    longest = max((len(one.session) for one in fitting), default=0)
    return [one for one in fitting if len(one.session) == longest]


def session_heading(
    session: str,
    last: dt.datetime,
    count: int,
    *,
    continued: bool = False,
    project: str = "",
    group: str = "",
    chat: str = "",
) -> str:
    """`14:05 session:61871d67 | 12 messages | continued | project:shop-api | group:team-3f9a1c`."""
    parts = [f"{last:%H:%M} session:{session}", f"{count} message{'' if count == 1 else 's'}"]
    parts += ["continued"] if continued else []
    parts += [f"project:{slug_of(redact(project).text)}"] if project else []
    parts += [f"group:{group_stamp(group, chat)}"] if group else []
    return " | ".join(parts)


def short_id(session: str, others: Mapping[str, str]) -> str:
    """The first eight characters of a session's id; more where these begin the id of another session, which has its name."""
    plain = _plain_id(session)
    rivals = [_plain_id(other) for other in others.values()]
    length = min(SHORT, len(plain))
    while length < len(plain) and any(other.startswith(plain[:length]) for other in rivals):
        length += 1
    name, number = plain[:length], 2
    while name in others:
        name, number = f"{plain}-{number}", number + 1
    return name


def _plain_id(session: str) -> str:
    """An id as a heading can carry it: given as it is, or as kept."""
    return "".join(one for one in storable(session) if one.isalnum() or one in "-_.") or "unnamed"


# Which messages of a session make a section of which day, and which wait. Decides; touches nothing.

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
    return Reached(last, tuple(storable(message.id) for message in messages if message.at == last))


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


# What each written line rests on: a section as it stands in its log → the line of the trail that follows it to its
# messages.


def provenance_of(section: Pending, log: bytes | None) -> Captured | None:
    """The entries of the transcript behind each bullet, by its words as they really stand in the log, where secrets are
    blacked out. None when the bullets are no longer there to be told apart."""
    bullets = _bullets_below(
        section.heading, section.before, (log or b"").decode("utf-8", errors="replace").splitlines()
    )
    if not section.sources or len(bullets) < len(section.sources):
        return None
    found: dict[str, tuple[str, ...]] = {}
    for bullet, sources in zip(bullets, section.sources, strict=False):
        mark = bullet_id(words_of(bullet))
        found[mark] = tuple(dict.fromkeys((*found.get(mark, ()), *sources)))
    agents = tuple(
        dict.fromkeys(bullet_id(words_of(bullets[place])) for place in section.agents if place < len(bullets))
    )
    return Captured(section.day, section.name, section.agent, found, section.session, section.place, agents)


def _bullets_below(heading: str, before: int, lines: Sequence[str]) -> list[str]:
    """The bullets under a heading; `before` says how many like it stand above the one that is meant."""
    places = [place for place, line in enumerate(lines) if line.startswith("## ") and line[3:].strip() == heading]
    if len(places) <= before:
        return []
    found: list[str] = []
    for line in lines[places[before] + 1 :]:
        if line.startswith("#"):
            break
        if line.startswith("- "):
            found.append(line[2:])
    return found
