"""What Cursor puts around a user's words: the time, files, rules, notes of the program. Only the query is the user's."""

from __future__ import annotations

import datetime as dt
import re

AGENT = "cursor"
_QUERY = re.compile(r"<user_query>((?:(?!<user_query>).)*?)</user_query>", re.DOTALL)
_TIME = re.compile(r"<timestamp>([^<]{1,80})</timestamp>\s*")
_TOLD = re.compile(
    r"([A-Z][a-z]{2})[a-z]* (\d{1,2}), (\d{4}), (\d{1,2}):(\d{2}) ?([AP]M)(?: \(UTC([+-]\d{1,2})?(?::(\d{2}))?\))?"
)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_TAGGED = re.compile(r"<[a-z][a-z_-]*[ >]")
_REDACTED = re.compile(r"^[ \t]*\[REDACTED\][ \t]*$\n?", re.MULTILINE)


def own_words(text: str) -> str:
    """What the user typed: all queries in a message, else the message itself unless it begins with the program's tags."""
    if queries := _QUERY.findall(text):
        return "\n".join(query.strip() for query in queries if query.strip())
    text = _TIME.sub("", text).strip()
    return "" if _TAGGED.match(text) else text


def answer(text: str) -> str:
    """What the agent said, without the marks that stand for thoughts that were left out."""
    return _REDACTED.sub("", text).strip()


def sent_at(text: str) -> dt.datetime | None:
    """When a message was sent, if it says so ("Friday, Sep 4, 2026, 2:21 AM (UTC+8)")."""
    stamp = _TIME.search(text, 0, 4000)
    told = _TOLD.search(stamp[1]) if stamp else None
    if not told or told[1] not in _MONTHS:
        return None
    month, day, year, hour, minute, half, hours, minutes = told.groups()
    try:
        at = dt.datetime(  # noqa: DTZ001 (the offset follows)
            int(year), _MONTHS.index(month) + 1, int(day), int(hour) % 12 + 12 * (half == "PM"), int(minute)
        )
        if "(UTC" not in told[0]:
            return at.astimezone(dt.UTC)  # the time of this machine
        ahead = dt.timedelta(
            hours=int(hours or 0), minutes=int(minutes or 0) * (-1 if (hours or "").startswith("-") else 1)
        )
        return at.replace(tzinfo=dt.timezone(ahead)).astimezone(dt.UTC)
    except (ValueError, OverflowError):
        return None
