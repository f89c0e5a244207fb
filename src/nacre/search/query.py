"""What a question asks for: its tokens, the days it names, and whether it asks about the present."""

from __future__ import annotations

import datetime as dt
import re
from functools import cache
from typing import NamedTuple

from nacre.clock import monday
from nacre.errors import BadInput
from nacre.text.tokens import query_tokens, stop_tokens, tokens

_MONTHS = "january february march april may june july august september october november december".split()
_NAME = r"(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
_DAY_FIRST = rf"\b(\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?{_NAME}\b\.?,?(?:\s+(\d{{4}}))?"
_MONTH_FIRST = rf"\b{_NAME}\.?\s+(\d{{1,2}})(?:st|nd|rd|th)?\b(?!:)(?:,?\s+(\d{{4}}))?"
_MONTH_YEAR = rf"\b{_NAME},?\s+(\d{{4}})\b"
_ISO_DAY = r"\b(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})\b"
_ISO_MONTH = r"\b(\d{4})-(\d{2})\b(?![-/.]\d)"
_HAN_DAY = r"(?:(\d{4})\s*年\s*)?(\d{1,2})\s*月\s*(\d{1,2})\s*[日号]"
_HAN_MONTH = r"(\d{4})\s*年\s*(\d{1,2})\s*月"
# Words for days, by how many days ago they are.
_RELATIVE = (
    (r"\bday before yesterday\b|前天", 2),
    (r"\byesterday\b|昨天|昨日", 1),
    (r"\btoday\b|今天|今日", 0),
)
_WEEKS = (
    (r"\blast week\b|上个?(?:星期|礼拜|周)(?![一二三四五六日天末])", 1),
    (r"\bthis week\b|[这本]个?(?:星期|礼拜|周)(?![一二三四五六日天末])", 0),
)


_HINTS = ("yesterday", "today", "week", "month", "天", "日", "周", "星期", "礼拜", "月")


Days = tuple[str, str, str]  # the first and the last day, both included, and the words that named them


def days_named(text: str, today: dt.date) -> Days | None:
    """What the question names, if anything; a day without a year is the latest one that has come."""
    lower = text.lower()
    days: Days | None = None
    # A pattern costs more to compile than digits, months and hints to look for.
    if any(character.isdigit() for character in text):
        if match := re.search(_ISO_DAY, text) or re.search(_HAN_DAY, text):
            days = _day(match[1], int(match[2]), int(match[3]), match[0], today)
        elif match := re.search(_ISO_MONTH, text) or re.search(_HAN_MONTH, text):
            days = _month(int(match[1]), int(match[2]), match[0])
        if not days and any(month[:3] in lower for month in _MONTHS):
            if match := re.search(_DAY_FIRST, lower):
                days = _day(match[3], _number(match[2]), int(match[1]), match[0], today)
            elif match := re.search(_MONTH_YEAR, lower):
                days = _month(int(match[2]), _number(match[1]), match[0])
            elif match := re.search(_MONTH_FIRST, lower):
                days = _day(match[3], _number(match[1]), int(match[2]), match[0], today)
    if days or not any(hint in lower for hint in _HINTS):
        return days
    for words, ago in _RELATIVE:
        if match := re.search(words, lower):
            day = (today - dt.timedelta(days=ago)).isoformat()
            return day, day, match[0]
    for words, weeks in _WEEKS:
        if match := re.search(words, lower):
            start = monday(today) - dt.timedelta(days=7 * weeks)
            return start.isoformat(), (start + dt.timedelta(days=6)).isoformat(), match[0]
    if match := re.search(r"\blast month\b|上个?月", lower):
        end = today.replace(day=1) - dt.timedelta(days=1)
        return end.replace(day=1).isoformat(), end.isoformat(), match[0]
    return None


def _number(name: str) -> int:
    return next(at for at, month in enumerate(_MONTHS, 1) if month.startswith(name[:3]))


def _day(year: str | None, month: int, day: int, words: str, today: dt.date) -> Days | None:
    try:
        named = dt.date(int(year) if year else today.year, month, day)
        if not year and named > today:
            named = named.replace(year=today.year - 1)
    except ValueError:
        return None
    return named.isoformat(), named.isoformat(), words


def _month(year: int, month: int, words: str) -> Days | None:
    if not 1 <= month <= 12 or year < 1:
        return None
    return f"{year:04}-{month:02}-01", f"{year:04}-{month:02}-31", words


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
