"""The section of a session in a daily log: its heading, the messages of its day, and the provenance of its lines."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from nacre.capture.cursors import Reached, Section, storable
from nacre.clock import Clock
from nacre.guard.secrets import redact
from nacre.model.session import Message, Speaker
from nacre.model.workspace import slug_of
from nacre.sources.registry import group_stamp
from nacre.text.stamps import stamp_of
from nacre.vault import disk
from nacre.vault.entries import bullet_id, words_of
from nacre.vault.provenance import Captured

SHORT = 8
_COUNT = re.compile(r"\|\s*(\d{1,7}) messages?\b")


class SessionHeading(NamedTuple):
    """A session's heading in a day's log."""

    heading: str
    session: str
    time: str
    messages: int


def read_headings(log: bytes | None) -> list[SessionHeading]:
    headings: list[SessionHeading] = []
    for line in (log or b"").decode("utf-8", errors="replace").splitlines():
        if line.startswith("## ") and "session:" in line:
            title = line[3:].strip()
            stamp, count = stamp_of(title), _COUNT.search(title)
            if stamp.session and stamp.time:
                headings.append(SessionHeading(title, stamp.session, stamp.time, int(count[1]) if count else 0))
    return headings


_read_at = lru_cache(maxsize=400)(lambda path, _size, _modified: read_headings(disk.read_bytes(path)))


def log_headings(path: Path) -> Sequence[SessionHeading]:
    """The session headings of a day's log; read again only when the file was changed."""
    try:
        about = path.stat()
    except FileNotFoundError:
        return ()
    return _read_at(path, about.st_size, about.st_mtime_ns)


def headings_of(session: str, headings: Iterable[SessionHeading]) -> list[SessionHeading]:
    """The headings that name a session. Where one that shares its first characters stands there too, the longer name is its."""
    plain = plain_id(session)
    fitting = [
        heading
        for heading in headings
        if heading.session == plain or (len(heading.session) >= SHORT and plain.startswith(heading.session))
    ]
    longest = max((len(heading.session) for heading in fitting), default=0)
    return [heading for heading in fitting if len(heading.session) == longest]


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
    """The first eight characters of a session's id; more where these begin the id of another session, by whose name it is known."""
    plain = plain_id(session)
    rivals = [plain_id(other) for other in others.values()]
    length = min(SHORT, len(plain))
    while length < len(plain) and any(other.startswith(plain[:length]) for other in rivals):
        length += 1
    name, number = plain[:length], 2
    while name in others:
        name, number = f"{plain}-{number}", number + 1
    return name


def plain_id(session: str) -> str:
    """An id as a heading can carry it."""
    return "".join(sign for sign in storable(session) if sign.isalnum() or sign in "-_.") or "unnamed"


def reached_by(messages: Sequence[Message]) -> Reached:
    last = max(message.at for message in messages)
    return Reached(last, tuple(storable(message.id) for message in messages if message.at == last))


def owner_count(messages: Iterable[Message]) -> int:
    return sum(message.speaker is Speaker.OWNER for message in messages)


def by_day(messages: Sequence[Message], clock: Clock) -> list[tuple[dt.date, list[Message]]]:
    """The messages of each local day on which the owner spoke; what others said goes with the owner's words before it, at the
    very beginning with those after it."""
    days: dict[dt.date, list[Message]] = {}
    day = next((clock.local(message.at).date() for message in messages if message.speaker is Speaker.OWNER), None)
    if day is None:
        return []
    for message in messages:
        if message.speaker is Speaker.OWNER:
            day = clock.local(message.at).date()
        days.setdefault(day, []).append(message)
    return sorted(days.items())


def must_wait(
    messages: Sequence[Message], captured: int, least: int, now: dt.datetime, patience: dt.timedelta, clock: Clock
) -> bool:
    """Whether new messages are too few for a section of their own and may still be followed by others.

    A session counts once its owner has spoken often enough in all. A lone remark later on waits for company until the session
    has been silent for a while or its day is over.
    """
    users = owner_count(messages)
    if users == 0 or captured + users < least:
        return True
    if captured == 0 or users >= least:
        return False
    last = max(message.at for message in messages)
    return now - last < patience and clock.local(last).date() == clock.local(now).date()


def provenance_of(section: Section, log: bytes | None) -> Captured | None:
    """The messages behind each bullet of a section, by its words as they stand in the log. None when it no longer has its bullets."""
    lines = (log or b"").decode("utf-8", errors="replace").splitlines()
    places = [at for at, line in enumerate(lines) if line.startswith("## ") and line[3:].strip() == section.heading]
    bullets: list[str] = []
    for line in lines[places[section.before] + 1 :] if len(places) > section.before else ():
        if line.startswith("#"):
            break
        if line.startswith("- "):
            bullets.append(bullet_id(words_of(line[2:])))
    if not section.sources or len(bullets) < len(section.sources):
        return None
    sources: dict[str, tuple[str, ...]] = {}
    for bullet, ids in zip(bullets, section.sources, strict=False):
        sources[bullet] = tuple(dict.fromkeys((*sources.get(bullet, ()), *ids)))
    agents = tuple(dict.fromkeys(bullets[place] for place in section.agents if place < len(bullets)))
    day = section.day.isoformat()
    return Captured(day, section.name, section.agent, sources, section.session, section.place, agents)
