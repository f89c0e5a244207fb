"""The days that a question names: 2026-02-10, February 5, 2月5日, yesterday, 上周, last month."""

from __future__ import annotations

import datetime as dt
import re
from typing import NamedTuple

from nacre.clock import monday

_MONTHS = "january february march april may june july august september october november december".split()
_NAME = r"(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
_DAY_FIRST = rf"\b(\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?{_NAME}\b\.?,?(?:\s+(\d{{4}}))?"
_MONTH_FIRST = rf"\b{_NAME}\.?\s+(\d{{1,2}})(?:st|nd|rd|th)?\b(?!:)(?:,?\s+(\d{{4}}))?"
_MONTH_YEAR = rf"\b{_NAME},?\s+(\d{{4}})\b"
_ISO_DAY = r"\b(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})\b"
_ISO_MONTH = r"\b(\d{4})-(\d{2})\b(?![-/.]\d)"
_HAN_DAY = r"(?:(\d{4})\s*年\s*)?(\d{1,2})\s*月\s*(\d{1,2})\s*[日号]"
_HAN_MONTH = r"(\d{4})\s*年\s*(\d{1,2})\s*月"
# Words for days relative to today: from how many days ago until how many.
_RELATIVE = (
    (r"\bday before yesterday\b|前天", 2, 2),
    (r"\byesterday\b|昨天|昨日", 1, 1),
    (r"\btoday\b|今天|今日", 0, 0),
)
_WEEKS = (
    (r"\blast week\b|上个?(?:星期|礼拜|周)(?![一二三四五六日天末])", 1),
    (r"\bthis week\b|[这本]个?(?:星期|礼拜|周)(?![一二三四五六日天末])", 0),
)


_HINTS = ("yesterday", "today", "week", "month", "天", "日", "周", "星期", "礼拜", "月")


class Days(NamedTuple):
    """The first and the last day, both included, and the words that named them."""

    first: str
    last: str
    words: str


def days_named(text: str, today: dt.date) -> Days | None:
    """What the question names, if anything; a day without a year is the latest one that has come."""
    for find in (_exact, _in_words, _relative):
        if found := find(text, today):
            return found
    return None


def _exact(text: str, today: dt.date) -> Days | None:
    if not any(character.isdigit() for character in text):
        return None
    if match := re.search(_ISO_DAY, text) or re.search(_HAN_DAY, text):
        year, month, day = match.groups()
        return _day(year, int(month), int(day), match[0], today)
    if match := re.search(_ISO_MONTH, text) or re.search(_HAN_MONTH, text):
        return _month(int(match[1]), int(match[2]), match[0])
    return None


def _in_words(text: str, today: dt.date) -> Days | None:
    lower = text.lower()
    if not any(month[:3] in lower for month in _MONTHS) or not any(character.isdigit() for character in text):
        return None
    if match := re.search(_DAY_FIRST, lower):
        return _day(match[3], _number(match[2]), int(match[1]), match[0], today)
    if match := re.search(_MONTH_YEAR, lower):
        return _month(int(match[2]), _number(match[1]), match[0])
    if match := re.search(_MONTH_FIRST, lower):
        return _day(match[3], _number(match[1]), int(match[2]), match[0], today)
    return None


def _relative(text: str, today: dt.date) -> Days | None:
    lower = text.lower()
    if not any(hint in lower for hint in _HINTS):  # a pattern costs more to compile than all of these to look for
        return None
    for words, first, last in _RELATIVE:
        if match := re.search(words, lower):
            return Days(_ago(today, first), _ago(today, last), match[0])
    for words, weeks in _WEEKS:
        if match := re.search(words, lower):
            start = monday(today) - dt.timedelta(days=7 * weeks)
            return Days(start.isoformat(), (start + dt.timedelta(days=6)).isoformat(), match[0])
    if match := re.search(r"\blast month\b|上个?月", lower):
        end = today.replace(day=1) - dt.timedelta(days=1)
        return Days(end.replace(day=1).isoformat(), end.isoformat(), match[0])
    return None


def _number(name: str) -> int:
    return next(at for at, month in enumerate(_MONTHS, 1) if month.startswith(name[:3]))


def _ago(today: dt.date, days: int) -> str:
    return (today - dt.timedelta(days=days)).isoformat()


def _day(year: str | None, month: int, day: int, words: str, today: dt.date) -> Days | None:
    try:
        named = dt.date(int(year) if year else today.year, month, day)
        if not year and named > today:
            named = named.replace(year=today.year - 1)
    except ValueError:
        return None
    return Days(named.isoformat(), named.isoformat(), words)


def _month(year: int, month: int, words: str) -> Days | None:
    if not 1 <= month <= 12 or year < 1:
        return None
    return Days(f"{year:04}-{month:02}-01", f"{year:04}-{month:02}-31", words)
