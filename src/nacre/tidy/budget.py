"""When an entry is outdated, and which entries may be changed or leave a full MEMORY.md without asking."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from functools import cache

from nacre.i18n import say
from nacre.text.tokens import STOP_WORDS
from nacre.tidy.collect import LogLine
from nacre.tidy.memory_files import Line
from nacre.vault.ledger import IN_MEMORY, EntryState

GRACE = 7  # days after a date before an entry about it counts as over
_ISO = re.compile(r"(?<!\d)(\d{4})-(\d{2})-(\d{2})(?!\d)")
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_MONTH = rf"({'|'.join(_MONTHS)})[a-z]*\.?"
_DAY, _YEAR = r"(\d{1,2})(?:st|nd|rd|th)?", r"(?:,?\s+(\d{4}))?\b"
_DAY_MONTH = re.compile(rf"\b{_DAY}\s+(?:of\s+)?{_MONTH}{_YEAR}", re.IGNORECASE)
_MONTH_DAY = re.compile(rf"\b{_MONTH}\s+{_DAY}{_YEAR}", re.IGNORECASE)
_HAN_DATE = re.compile(r"(?:(\d{4})年)?(\d{1,2})月(\d{1,2})[日号]")
_UNTIL = re.compile(
    r"\b(?:by|before|until|till|due|deadline|ends?|expires?|launch\w*|release\w*|ships?|on|goes live|inspection|exam|trip|move)\b"
    r"|截止|之前|以前|到期|前交|上线|交付|结束|为止|发布|期限|考试|出发",
    re.IGNORECASE,
)
_EVERY = re.compile(
    r"\b(?:every|each|yearly|annual\w*|birthday|anniversary|born|since|from)\b|每年|每月|生日|纪念日|出生|起|以来|从",
    re.IGNORECASE,
)
_HAN_PROJECT = re.compile(r"(?:\A|[，。；,;、：:“「 ])([\u4e00-\u9fff]{2,6}?)(?=项目|系统|平台|小程序|活动)")
_OVER = re.compile(
    r"\b(?:is|was|has been|are|were|been)\s+(?:now\s+|finally\s+|all\s+)?(?:finished|shipped|delivered|done for good|archived|closed down|over|retired|sunset)\b"
    r"|\b(?:cancell?ed|abandoned|discontinued|scrapped|wound down|shut down|decommissioned)\b"
    r"|\b(?:gave up on|given up on|pulled the plug on|stopped (?:working on|using))\b"
    r"|项目(?:已经?)?(?:结束|完结|收尾|取消|下线)|(?:已经?)?(?:结项|交付完|不做了|砍了|砍掉|下线了|停服|关停|弃用|废弃)",
    re.IGNORECASE,
)


def expired_on(text: str, since: str | None, today: dt.date) -> dt.date | None:
    """The day up to which an entry held, when it is over by more than a week; none for what comes again every year. A day without a
    year is the first such day after the entry was written down."""
    if not _UNTIL.search(text) or _EVERY.search(text):
        return None
    begun = (_date(*since[:10].split("-")) if since else None) or today
    days: list[dt.date | None] = []
    named = [*_ISO.findall(text), *_HAN_DATE.findall(text)]
    named += [(year, _MONTHS.index(month.lower()) + 1, day) for day, month, year in _DAY_MONTH.findall(text)]
    named += [(year, _MONTHS.index(month.lower()) + 1, day) for month, day, year in _MONTH_DAY.findall(text)]
    for year, month, day in named:
        date = _date(year or begun.year, month, day)
        if not year and date and (begun - date).days > 60:
            date = _date(begun.year + 1, month, day)
        days.append(date)
    last = max(filter(None, days), default=None)
    return last if last and (today - last).days > GRACE else None


def _date(year: str | int = "", month: str | int = "", day: str | int = "", *_: str) -> dt.date | None:
    try:
        return dt.date(int(year), int(month), int(day))
    except ValueError:
        return None


@cache
def _subjects(text: str) -> frozenset[str]:
    """The names that a text turns on: words with capitals, digits or signs in them, and what a Han name stands before."""
    names = {
        word.lower().strip(".-+")
        for word in re.findall(r"[A-Za-z][A-Za-z0-9_.+-]*", text)
        if not word.islower() or re.search(r"[\d_.+-]", word.strip(".-+"))
    }
    return frozenset((names - STOP_WORDS) | set(_HAN_PROJECT.findall(text)))


def ended_by(text: str, lines: Sequence[LogLine]) -> LogLine | None:
    """The line of the logs that tells the end of what an entry is about: it names the same thing and says that it is over."""
    subjects = _subjects(text)
    if not subjects or _OVER.search(text):
        return None  # what tells of an end itself is not over by it
    ends = (line for line in lines if len(line.words) < 200 and subjects & _subjects(line.words))
    return next((line for line in ends if _OVER.search(line.words)), None)


def outdated_reason(text: str, since: str | None, today: dt.date, lines: Sequence[LogLine]) -> str | None:
    if day := expired_on(text, since, today):
        return say(f"its date, {day.isoformat()}, has passed", f"其日期 {day.isoformat()} 已过")
    if end := ended_by(text, lines):
        return say(f"the log of {end.day} says: {end.words}", f"{end.day} 的日志写道：{end.words}")
    return None


# What may be changed or make room without asking: never what the user pinned or wrote.


def may_change(line: Line, state: EntryState | None) -> bool:
    """Whether a line may be changed or taken out without asking: ours, not pinned, one line long."""
    if state is None or state.pinned or line.pinned or not line.whole:
        return False
    if any("answer" in record.more for record in state.records):
        return False  # the user decided about it in review
    return state.verdict in ("admitted", "restored")


def is_confirmed(line: Line, state: EntryState | None) -> bool:
    """Whether the person pinned an entry, asked to remember it, answered that it stays, or put it in these words."""
    if line.pinned or state is None or not state.in_memory:
        return line.pinned
    more = [record.more for record in state.records if record.verdict in IN_MEMORY]
    return state.pinned or any("answer" in said or said.get("explicit") or said.get("by") == "hand" for said in more)


def may_go(line: Line, state: EntryState | None) -> bool:
    """Whether a line may leave to make room: one that may be changed, and that the person did not ask to remember."""
    explicit = state is not None and any(record.more.get("explicit") for record in state.records)
    return may_change(line, state) and not explicit
