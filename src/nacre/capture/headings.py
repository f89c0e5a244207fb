"""The headings under which sessions stand in a daily log."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from nacre.capture.cursors import kept
from nacre.guard.secrets import redact
from nacre.sources.chats import group_stamp
from nacre.text.stamps import stamp_of
from nacre.vault.workspace import slug_of

SHORT = 8
_COUNT = re.compile(r"\|\s*(\d{1,7}) messages?\b")


class Standing(NamedTuple):
    """A session's heading in a day's log."""

    heading: str
    session: str
    time: str
    messages: int  # how many it tells


def standing(log: bytes | None) -> list[Standing]:
    """Every session heading of a log, in order."""
    found: list[Standing] = []
    for line in (log or b"").decode("utf-8", errors="replace").splitlines():
        if line.startswith("## ") and "session:" in line:
            title = line[3:].strip()
            stamp, count = stamp_of(title), _COUNT.search(title)
            if stamp.session and stamp.time:
                found.append(Standing(title, stamp.session, stamp.time, int(count[1]) if count else 0))
    return found


def of_session(session: str, headings: Iterable[Standing]) -> list[Standing]:
    """The headings that name a session. Where one that shares its first characters stands there too, the longer name is its."""
    plain = _plain(session)
    fitting = [
        one for one in headings if one.session == plain or (len(one.session) >= SHORT and plain.startswith(one.session))
    ]
    longest = max((len(one.session) for one in fitting), default=0)
    return [one for one in fitting if len(one.session) == longest]


def heading(
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
    plain = _plain(session)
    rivals = [_plain(other) for other in others.values()]
    length = min(SHORT, len(plain))
    while length < len(plain) and any(other.startswith(plain[:length]) for other in rivals):
        length += 1
    name, number = plain[:length], 2
    while name in others:
        name, number = f"{plain}-{number}", number + 1
    return name


def _plain(session: str) -> str:
    """An id as a heading can carry it: given as it is, or as kept."""
    return "".join(one for one in kept(session) if one.isalnum() or one in "-_.") or "unnamed"
