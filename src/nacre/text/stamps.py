"""What a heading or a bullet says about itself: time, session, project, group, type, category, source day."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from typing import NamedTuple

_TIME = re.compile(r"(\d{1,2}:\d{2})(?!\d)")
_DATE = re.compile(r"(?<!\d)[0-9]{4}-[0-9]{2}-[0-9]{2}(?!\d)")
_SESSION = re.compile(r"\bsession:([^\s|]+)")
_FIELD = re.compile(r"(project|group):\s*(\S.*)")
# What a heading that only says when is made of: times, dates, the fields of a stamp, and the words that we write beside them.
_WHEN = re.compile(
    r"(?:\d{4}-\d{2}-\d{2}(?=[T\s|,]|$)|T?\d{1,2}:\d{2}(?::\d{2})?(?:\.\d+)?(?!\d)|(?:session|project|group):[^\s|]+|\d+ messages?\b"
    r"|(?:note|agent|continued|UTC|GMT|Z)(?!\w)|[+-]\d{2}:?\d{2}|\(?(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*\)?(?!\w)|[\s|,])+"
)
LABELS = (
    *("PREF", "PROJ", "TECH", "LESSON", "PEOPLE", "TEMP"),
    *("决策", "发现", "偏好", "任务", "Decision", "Discovery", "Preference", "Task"),
)
_LABEL = re.compile(r"\[([A-Z]{4,6}|决策|发现|偏好|任务|Decision|Discovery|Preference|Task)\]\s*")
_PROJECT = re.compile(r"project:\s*([^\s|*][^|]*)")
_HEAD_PROJECT = re.compile(r"project:(\S+)")
_TAG = re.compile(r"(?:^|(?<=\s))#([^\W\d_][\w/-]*)")
_TAG_LINE = re.compile(r"(?im)^(?:Tags|标签)[:\uff1a][ \t]*(.+)$")
_MARKER = re.compile(r"\A\s*(?:[-*+]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?")


class Stamp(NamedTuple):
    """The stamp of a log section: `## 14:05 session:61871d67 | 12 messages | project:shop-api | group:team`, `## 14:05 note | agent`."""

    time: str | None = None
    session: str | None = None
    project: str | None = None
    group: str | None = None
    by: str | None = None  # "agent" where an agent wrote a note down

    @property
    def by_agent(self) -> bool:
        return self.by == "agent"

    def within(self, outer: Stamp) -> Stamp:
        """This stamp, with the fields of an outer heading's where it names none."""
        return Stamp(*(own or others for own, others in zip(self, outer, strict=True)))


def stamp_of(heading: str) -> Stamp:
    """What the heading of a log section says of it. Only our own form counts, a time and then fields between bars: a heading
    that merely mentions a group must not open a private section to it."""
    first, *rest = (part.strip() for part in heading.split("|"))
    time = _TIME.match(first)
    if not time:
        return Stamp()
    session = _SESSION.search(first)
    fields = {match[1]: match[2] for part in rest if (match := _FIELD.fullmatch(part)) and match[2] != "*"}
    by = "agent" if "agent" in rest else None
    return Stamp(time[1], session[1] if session else None, fields.get("project"), fields.get("group"), by)


def project_named(heading: str) -> str | None:
    """The project of what stands under a heading of a weekly digest that is nothing but its name: `#### project:shop-api`."""
    match = _PROJECT.fullmatch(heading.strip())
    return match[1] if match else None


MESSAGE_MARK = re.compile(r"(?m)^(\*\*.{1,100}\*\* \d{4}-\d{2}-\d{2} \d{2}:\d{2}) <!-- [a-p]{8} -->$")


def without_message_marks(text: str) -> str:
    """A checkpoint as it is shown and searched: without the marks by which `forget` finds the messages of an entry."""
    return MESSAGE_MARK.sub(r"\1", text)


def project_in_head(lines: Sequence[str]) -> str | None:
    """The project that a checkpoint or its summary names below its title: `session:… | project:shop-api | …`, or a line alone."""
    for line in lines[:6]:
        first, *rest = (part.strip() for part in line.split("|"))
        fields = rest if first.startswith("session:") else [] if rest else [first]
        if match := next(filter(None, map(_HEAD_PROJECT.fullmatch, fields)), None):
            return match[1]
    return None


def is_structural(heading: str) -> bool:
    """Whether a heading only says when something was, so that its words tell nothing of the content."""
    return bool(_WHEN.fullmatch(heading.strip()))


def date_in(text: str) -> str | None:
    """The first day that a text names; none when the calendar does not know it."""
    match = _DATE.search(text)
    return real_day(match[0]) if match else None


def real_day(day: str) -> str | None:
    """The day, unless it is one like 2026-02-30: what sorts and counts days must be able to trust them."""
    try:
        return dt.date.fromisoformat(day).isoformat()
    except ValueError:
        return None


def label_of(text: str) -> str | None:
    """The type or category at the head of a bullet: `[PREF]`, `[决策]`."""
    return split_label(text)[0]


def split_label(bullet: str) -> tuple[str | None, str]:
    """The label of a bullet, and what stands behind its marker and label."""
    body = _MARKER.sub("", bullet, count=1)
    label = _LABEL.match(body)
    return (label[1], body[label.end() :]) if label else (None, body)


def labelled_spans(lines: Sequence[str]) -> list[tuple[int, int]]:
    """A paragraph in which each line carries a label, as in weekly digests, by entries: the slices of its lines. None where the
    first line has no label."""
    starts = [at for at, line in enumerate(lines) if label_of(line)]
    return list(zip(starts, [*starts[1:], len(lines)], strict=True)) if starts[:1] == [0] else []


def tags_in(text: str) -> tuple[str, ...]:
    """Hashtags, and the tags of a `Tags: a, b` or `标签: a, b` line."""
    tags = dict.fromkeys(_TAG.findall(text)) if "#" in text else {}
    for listed in _TAG_LINE.findall(text):
        tags |= dict.fromkeys(part.strip() for part in re.split(r"[,\uff0c、]", listed) if part.strip())
    return tuple(tags)
