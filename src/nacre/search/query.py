"""What a search asks for: the tokens of the question, the days it names, whether it asks about the present, and what narrows it."""

from __future__ import annotations

import datetime as dt
import re
from functools import cache
from typing import NamedTuple

from nacre.clock import monday
from nacre.errors import BadInput
from nacre.model.entry import LAYERS
from nacre.model.workspace import Scope
from nacre.text.tokens import query_tokens, stop_tokens, tokens

_MONTHS = "january february march april may june july august september october november december".split()
_NAME = r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
# Days and months in digits, then with the month's name, in the order in which they are looked for.
_IN_DIGITS = (
    r"\b(?P<year>\d{4})[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})\b",
    r"(?:(?P<year>\d{4})\s*年\s*)?(?P<month>\d{1,2})\s*月\s*(?P<day>\d{1,2})\s*[日号]",
    r"\b(?P<year>\d{4})-(?P<month>\d{2})\b(?![-/.]\d)",
    r"(?P<year>\d{4})\s*年\s*(?P<month>\d{1,2})\s*月",
)
_BY_NAME = (
    rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?{_NAME}\b\.?,?(?:\s+(?P<year>\d{{4}}))?",
    rf"\b{_NAME},?\s+(?P<year>\d{{4}})\b",
    rf"\b{_NAME}\.?\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b(?!:)(?:,?\s+(?P<year>\d{{4}}))?",
)
# Words for a day, a week or a month, and how many of these ago it is.
_RELATIVE = (
    (r"\bday before yesterday\b|前天", "day", 2),
    (r"\byesterday\b|昨天|昨日", "day", 1),
    (r"\btoday\b|今天|今日", "day", 0),
    (r"\blast week\b|上个?(?:星期|礼拜|周)(?![一二三四五六日天末])", "week", 1),
    (r"\bthis week\b|[这本]个?(?:星期|礼拜|周)(?![一二三四五六日天末])", "week", 0),
    (r"\blast month\b|上个?月", "month", 1),
)
_HINTS = ("yesterday", "today", "week", "month", "天", "日", "周", "星期", "礼拜", "月")

Days = tuple[str, str, str]  # the first and the last day, both included, and the words that named them


def days_named(text: str, today: dt.date) -> Days | None:
    """What the question names, if anything; a day without a year is the latest one that has come."""
    lower = text.lower()
    patterns: tuple[str, ...] = ()
    # A pattern costs more to compile than digits, months and hints to look for.
    if any(character.isdigit() for character in text):
        patterns = _IN_DIGITS
        if any(month[:3] in lower for month in _MONTHS):
            patterns += _BY_NAME
    for pattern in patterns:
        if (match := re.search(pattern, lower)) and (span := _span(today, **match.groupdict())):
            return *span, match[0]
    for pattern, unit, ago in _RELATIVE if any(hint in lower for hint in _HINTS) else ():
        if match := re.search(pattern, lower):
            first = last = today - dt.timedelta(days=ago)
            if unit == "week":
                first = monday(today) - dt.timedelta(days=7 * ago)
                last = first + dt.timedelta(days=6)
            elif unit == "month":
                last = today.replace(day=1) - dt.timedelta(days=1)
                first = last.replace(day=1)
            return first.isoformat(), last.isoformat(), match[0]
    return None


def _span(today: dt.date, month: str, year: str | None = None, day: str | None = None) -> tuple[str, str] | None:
    """The first and last day of a day or a month as they are written; None where there is no such day."""
    number = int(month) if month.isdigit() else 1 + [name[:3] for name in _MONTHS].index(month[:3])
    try:
        named = dt.date(int(year or today.year), number, int(day or 1))
        if not year and named > today:
            named = named.replace(year=today.year - 1)
    except ValueError:
        return None
    return named.isoformat(), named.isoformat() if day else f"{named.isoformat()[:7]}-31"


# What a question asks for, beyond its words: how things stand now, or a certain day.

LONGEST_QUESTION = 2000  # characters that are looked at; a pasted page says what it is about in its first screens

# Words of a question about how things stand, and of one about how they were; sets, because a pattern of this size costs
# more to compile than the whole search.
_NOW = frozenset(
    "what what's how when when's where where's who who's which am does do is are now current currently latest newest today still".split()
)
_THEN = frozenset("why did was were had used ago before previously originally first earlier yesterday last".split())
_NOW_ITSELF = frozenset("now current currently latest newest".split())
_NOW_ITSELF_HAN = ("现在", "目前", "当前", "如今", "最新")
_NOW_HAN = ("现在", "目前", "当前", "如今", "最新", "至今", "多少", "几", "什么", "哪", "谁", "吗")
_THEN_HAN = ("为什么", "为何", "过去", "当时", "之前", "以前", "曾", "那天", "上次", "昨天", "原来", "原先", "最初")


@cache
def _about_anything() -> frozenset[str]:
    """Tokens of words that ask what there was without saying about what."""
    words = (
        "what happened happen did i we write wrote written say said note notes log decide decided work worked talk talked"
        " 发生了什么 做了什么 做过什么 写了什么 说了什么 聊了什么 记了什么 干了什么 讨论了什么 决定了什么 有什么事 有哪些事情"
    )
    return frozenset(tokens(words))


class Question(NamedTuple):
    """A question, its telling tokens, and the days it is about where it names any."""

    text: str
    tokens: tuple[str, ...]
    present: bool = False  # asks how things stand
    now: bool = False  # and says so: "now", 现在
    days: tuple[str, str] | None = None  # the first and the last
    of_dates: frozenset[str] = frozenset()  # tokens of the days named: they may match, but need not be covered
    only_days: bool = False  # asks for nothing but what there was on those days


def parse_question(text: str, today: dt.date) -> Question:
    """Read a question as it is asked today. One without any word is refused: there is nothing to look for."""
    bare = text.strip()
    if not bare:
        raise BadInput("The question is empty; say what to look for.", "问题为空；请说明要查找什么。")
    bare = bare[:LONGEST_QUESTION]
    telling = tuple(query_tokens(bare))
    if not telling:
        raise BadInput(
            "The question holds no word or number to look for; write a few words.",
            "问题中没有可供查找的文字或数字；请写几个词。",
        )
    *days, named = days_named(bare, today) or ("",)
    only_days = False
    if named:
        at = bare.lower().find(named.lower())
        rest = tokens(f"{bare[:at]} {bare[at + len(named) :]}")
        only_days = all(token in _about_anything() or token in stop_tokens() for token in rest)
    words = {word.strip('.,;:!?"()') for word in bare.lower().replace("’", "'").split()}
    of_then = bool(words & _THEN) or any(word in bare for word in _THEN_HAN)
    return Question(
        text=bare,
        tokens=telling,
        present=not of_then and (bool(words & _NOW) or any(word in bare for word in _NOW_HAN)),
        now=bool(words & _NOW_ITSELF) or any(word in bare for word in _NOW_ITSELF_HAN),
        days=(days[0], days[1]) if named else None,
        of_dates=frozenset(query_tokens(named)) if named else frozenset(),
        only_days=only_days,
    )


# What narrows a search: the caller's filters and the scope.

Where = tuple[str, list[str]]  # an SQL condition over `chunks c` and its values; empty when everything may be seen


class Filters(NamedTuple):
    """What the caller narrows the search to. Dates are ISO days, both included."""

    since: str | None = None
    until: str | None = None
    layers: tuple[str, ...] = ()
    type: str | None = None
    tag: str | None = None
    path: str | None = None
    project: str | None = None  # this project and what belongs to none; None: every project


def checked(filters: Filters) -> Filters:
    """The filters if they can be used, else an error that names what there is."""
    for layer in filters.layers:
        if layer not in LAYERS:
            names = ", ".join(LAYERS)
            raise BadInput(f'"{layer}" is not a layer; there are {names}.', f"“{layer}”不是有效的层；可用：{names}。")
    if filters.since and filters.until and filters.since > filters.until:
        raise BadInput(
            f"No day lies between {filters.since} and {filters.until}; turn them round.",
            f"{filters.since} 到 {filters.until} 之间没有日期；请调换顺序。",
        )
    return filters


def condition(scope: Scope, filters: Filters, today: str | None, moment: str | None = None) -> Where:
    """The SQL condition over `chunks c`, and its values. `today` hides what was written later: a question put as of a
    day knows nothing of the days after it. `moment` does the same to the second, for messages of sessions: of them the
    time is known as an ISO time, of entries in logs at best the minute."""
    conditions = {
        "(c.date is null or c.date <= ?)": today,
        "julianday(c.time) <= julianday(?)": moment,
        "c.date >= ?": filters.since,
        "c.date <= ?": filters.until,
        "c.label = ? collate nocase": filters.type,
        "exists(select 1 from json_each(c.tags) t where t.value = ? collate nocase)": (filters.tag or "").lstrip("#"),
        "exists(select 1 from files f where f.id = c.file and f.path glob ?)": filters.path,
        "(c.project is null or c.project = ?)": filters.project,
    }
    chosen = {sql: value for sql, value in conditions.items() if value}
    if scope.group is not None:
        chosen["(c.audience = '*' or c.audience = ?)"] = scope.group
    parts, values = list(chosen), list(chosen.values())
    if filters.layers:
        parts.append(f"c.layer in ({','.join('?' * len(filters.layers))})")
        values += filters.layers
    return " and ".join(parts), values
