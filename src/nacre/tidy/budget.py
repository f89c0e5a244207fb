"""What an entry is worth, when it is outdated, and how room is made in a full MEMORY.md: merge, shorten, demote."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from nacre.brain.local.wording import joined, pieces
from nacre.i18n import say
from nacre.text.tokens import STOP_WORDS, language_of
from nacre.tidy.collect import LogLine
from nacre.tidy.memory_files import Line, LongTermFile
from nacre.vault.ledger import EntryState

GRACE = 7  # days after a date before an entry about it counts as over
_ISO = re.compile(r"(?<!\d)(\d{4})-(\d{2})-(\d{2})(?!\d)")
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_DAY_MONTH = re.compile(
    r"\b(\d{1,2})(?:st|nd|rd|th)?\s+(?:of\s+)?(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?(?:,?\s+(\d{4}))?\b",
    re.IGNORECASE,
)
_MONTH_DAY = re.compile(
    r"\b(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\s+(\d{1,2})(?:st|nd|rd|th)?(?:,?\s+(\d{4}))?\b",
    re.IGNORECASE,
)
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
    """The day up to which an entry held, when it is over by more than a week; none for what comes again every year.

    A day without a year is the first such day after the entry was written down.
    """
    if not _UNTIL.search(text) or _EVERY.search(text):
        return None
    begun = _date(*since[:10].split("-")) if since else None
    begun = begun or today
    days = [_date(*match) for match in _ISO.findall(text)]
    named = [(year, _MONTHS.index(month.lower()) + 1, day) for day, month, year in _DAY_MONTH.findall(text)]
    named += [(year, _MONTHS.index(month.lower()) + 1, day) for month, day, year in _MONTH_DAY.findall(text)]
    named += [(year, month, day) for year, month, day in _HAN_DATE.findall(text)]
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


# Making room in a full MEMORY.md: merge, shorten, demote; the least needed first, never what the user pinned or wrote.

MERGE, SHORTEN, DEMOTE = "merge", "shorten", "demote"
_LONG = {"en": 120, "zh": 50}  # characters above which a line may lose a statement


@dataclass(frozen=True)
class Worth:
    """What speaks for an entry: how sure we are of it, how often it was recalled, whether its time is over."""

    confidence: float
    recalls: int = 0
    outdated: str = ""  # why it may be no longer needed
    age: int = 0  # days

    @property
    def value(self) -> float:
        if self.outdated:
            return 0.0
        return self.confidence + min(self.recalls, 10) * 0.05 - min(self.age, 1000) / 4000


@dataclass(frozen=True)
class Cut:
    """One step towards room: what happens to a line, into which words, and why."""

    action: str
    line: Line
    words: str | None
    reason: str


def may_change(line: Line, state: EntryState | None) -> bool:
    """Whether a line may be changed or taken out without asking: ours, not pinned, one line long."""
    if state is None or state.pinned or line.pinned or not line.whole:
        return False
    if any("answer" in record.more for record in state.records):
        return False  # the user decided about it in review
    return state.verdict in ("admitted", "restored")


def make_space(
    file: LongTermFile,
    fits: Callable[[], bool],
    states: Mapping[str, EntryState],
    worth: Callable[[Line], Worth],
    nearly_same: Callable[[Sequence[Line]], tuple[Line, Line] | None],
    value: float,
) -> list[Cut] | None:
    """The cuts after which something of this value fits, made in the planned file; None when it is worth less than all that
    could go, and then nothing is cut."""
    kept = file.doc
    cuts: list[Cut] = []
    for action in (MERGE, SHORTEN, DEMOTE):
        while not fits():
            loose = [line for line in file.lines if may_change(line, states.get(line.id))]
            cut = _next_cut(action, loose, worth, nearly_same, value)
            line = file.find(cut.line.id) if cut else None
            if cut is None or line is None:
                break
            if cut.words is None:
                file.remove(line)
            else:
                file.replace(line, cut.words)
            cuts.append(cut)
    if fits():
        return cuts
    file.doc = kept
    return None


def _next_cut(
    action: str,
    loose: Sequence[Line],
    worth: Callable[[Line], Worth],
    nearly_same: Callable[[Sequence[Line]], tuple[Line, Line] | None],
    value: float,
) -> Cut | None:
    if action == MERGE:  # of two lines that say nearly the same the surer one stays
        pair = nearly_same(loose)
        if pair is None:
            return None
        weaker, stronger = sorted(pair, key=lambda line: worth(line).value)
        return Cut(MERGE, weaker, None, say(f"says the same as “{stronger.words}”", f"与“{stronger.words}”意思相同"))
    if action == SHORTEN:  # the longest line that has more than one statement loses its last
        for line in sorted(loose, key=lambda line: -len(line.words.encode())):
            parts = pieces(line.words)
            if len(parts) > 1 and len(line.words) > _LONG[language_of(line.words)]:
                words = joined([part.text for part in parts[:-1]], parts[0].language)
                reason = say("shortened to its main statement to make room", "为腾出空间，仅保留主要内容")
                return Cut(SHORTEN, line, words, reason)
        return None
    # What is over, then what is least recalled and least sure; only what is worth less than the newcomer.
    weakest = min(loose, key=lambda line: worth(line).value, default=None)
    if weakest is None or (least := worth(weakest)).value >= value:
        return None
    reason = least.outdated or say(
        f"least needed: recalled {least.recalls} times, confidence {least.confidence:.2f}",
        f"最不需要：被召回 {least.recalls} 次，置信度 {least.confidence:.2f}",
    )
    return Cut(DEMOTE, weakest, None, reason)
