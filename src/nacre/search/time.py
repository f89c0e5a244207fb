"""The time that a question names, in English and Chinese: "last Friday evening", "3 to 9 March", 三月初, 国庆后.

text → times by pattern → nested (Friday of last week) → beside (the day after Christmas) → ranges → open ends → the best
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache, partial
from typing import NamedTuple

from nacre.clock import monday


class Period(NamedTuple):
    """The days that a question names; an open end is the first or the last day of the calendar."""

    first: str  # ISO day, included
    last: str  # ISO day, included
    hours: tuple[int, int] | None = None  # part of the day: from this hour, to before that hour
    words: str = ""  # the words of the question that named it, as they stand there


_Days = tuple[dt.date, dt.date]  # the first and the last, both included
_Within = Callable[[_Days], _Days | None]
_Match = re.Match[str]


class _Time(NamedTuple):
    """A time found in the text. A weak one counts only beside another: "morning", "early", "may"."""

    start: int
    end: int
    unit: str  # day, week, weekend, month, quarter, year, holiday, part (of a day), days (any number)
    days: _Days | None = None
    hours: tuple[int, int] | None = None
    every: str = ""  # the unit in which it recurs: a year for March, a week for Tuesday; "*" for "early"
    within: _Within | None = None  # where it lies in such a unit
    weak: bool = False
    joined: bool = False  # a range


# Words. Names of one thing are separated by "|" and may be patterns.

_PARTS = {
    (5, 12): "morning|早上|早晨|清晨|一早|早|晨",
    (6, 12): "上午",
    (11, 14): "noon|midday|lunchtime|中午",
    (12, 18): "afternoon|下午|午后",
    (16, 20): "傍晚",
    (18, 24): "evening|night|晚上|晚间|夜里|夜晚|深夜|半夜|晚|夜",
    (0, 6): "凌晨",
}
_DAYS_AWAY = {
    -3: "大前天",
    -2: "the day before yesterday|day before yesterday|(?<![以之目提])前天|(?<![以之目提])前(?=晚)",
    -1: "yesterday|last(?= night)|last(?= evening)|昨天|昨日|昨(?=[早晚夜晨])",
    0: "today|tonight|this(?= morning)|this(?= afternoon)|this(?= evening)|今天|今日|今(?=[早晚夜晨])",
    1: "tomorrow|明天|明日|(?<![说证表声])明(?=[早晚晨])",
    2: "the day after tomorrow|day after tomorrow|(?<![以之今最然先天])后天",
    3: "大后天",
}
_YEARS_AWAY = {-3: "大前年", -2: "前年", -1: "去年", 0: "今年|本年", 1: "明年", 2: "后年"}
_HOLIDAYS = """
01-01  new year's day|new year's|元旦
01-mon-3  mlk day|martin luther king day
02-14  valentine's day|valentines day|情人节
03-08  women's day|妇女节|三八节
05-01  may day|labour day
05-01 0 5  五一|劳动节|五一劳动节|五一假期
05-sun-2  mother's day|母亲节
05-mon-0  memorial day
06-01  children's day|儿童节|六一儿童节
06-18  (?<![a-z0-9.])618(?=大促)|(?<![a-z0-9.])618(?=购物)|(?<![a-z0-9.])618(?=活动)|(?<=年)618(?![0-9])
06-sun-3  father's day|父亲节
07-04  independence day|fourth of july|4th of july
09-mon-1  labor day
10-01 0 7  国庆|国庆节|国庆假期|十一假期|十一长假|十一黄金周
10-31  halloween|万圣节
11-11  veterans day|singles' day|双十一|双11|光棍节
11-thu-4  thanksgiving|thanksgiving day|感恩节
11-thu-4 1  black friday|黑色星期五
12-12  双十二|双12
12-24  christmas eve|平安夜
12-25  christmas|christmas day|xmas|圣诞|圣诞节
12-26  boxing day
12-31  new year's eve|跨年|跨年夜
easter  easter|easter sunday|复活节
easter -2  good friday|耶稣受难日
easter -2 4  easter weekend
easter 1  easter monday
清明  qingming|qingming festival|清明|清明节
春节 -1  除夕|除夕夜|大年三十|年三十
春节  大年初一|年初一
春节 -1 7  chinese new year|lunar new year|spring festival|春节|春节假期
春节 14  lantern festival|元宵|元宵节
端午  dragon boat festival|端午|端午节
七夕  qixi|七夕|七夕节
中秋  mid-autumn festival|moon festival|中秋|中秋节|八月十五
重阳  double ninth festival|重阳|重阳节
"""  # month-day, month-weekday-which (0: the last) or what _holiday computes; days to add; length in days
_LUNAR = {  # month and day in each year from 2015 to 2040
    "春节": "0219 0208 0128 0216 0205 0125 0212 0201 0122 0210 0129 0217 0206 0126 0213 0203 0123 0211 0131 0219 0208 0128 0215 0204 0124 0212",
    "端午": "0620 0609 0530 0618 0607 0625 0614 0603 0622 0610 0531 0619 0609 0528 0616 0605 0624 0612 0601 0620 0610 0530 0618 0607 0527 0614",
    "七夕": "0820 0809 0828 0817 0807 0825 0814 0804 0822 0810 0829 0819 0808 0826 0816 0805 0824 0812 0801 0820 0810 0828 0817 0807 0826 0814",
    "中秋": "0927 0915 1004 0924 0913 1001 0921 0910 0929 0917 1006 0925 0915 1003 0922 0912 1001 0919 0908 0927 0916 1004 0924 0913 1002 0920",
    "重阳": "1021 1009 1028 1017 1007 1025 1014 1004 1023 1011 1029 1018 1008 1026 1016 1005 1024 1012 1001 1020 1009 1027 1017 1007 1026 1014",
}
_NO_TIMES = (
    "24/7|monday.com|easter egg|三月兔|五月天|今日头条|明日方舟|清明上河图|早饭|早餐|早点|早会|早就|早已|晚饭|晚餐|晚点|晚会"
).split("|")
_WHICH = {"last": -1, "previous": -1, "this": 0, "current": 0, "next": 1, "coming": 1, "上个": -1, "这个": 0, "下个": 1}
_WHICH |= {"before last": -2, "after next": 2, "上上": -2, "上": -1, "这": 0, "本": 0, "下": 1, "下下": 2}
_UNITS = {"天": "day", "night": "day", "周": "week", "星期": "week", "礼拜": "week", "月": "month", "年": "year"}
_UNITS |= {"周末": "weekend", "季度": "quarter"}
_NUMBERS = "zero one two three four five six seven eight nine ten eleven twelve".split()
_VAGUE = {"a": (1, 1), "an": (1, 1), "couple": (2, 3), "few": (2, 6), "several": (2, 6), "几": (2, 6)}
_ORDINALS = ["last", "first", "second", "third", "fourth", "fifth"]
_THIRDS = {"early": 0, "beginning of": 0, "start of": 0, "mid": 1, "middle of": 1, "late": 2, "end of": 2}
_THIRDS |= {"初": 0, "上旬": 0, "中": 1, "中旬": 1, "底": 2, "末": 2, "下旬": 2}
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_WEEKDAYS = "mon tue wed thu fri sat sun".split()
_PLAIN_MONTHS = frozenset("january february july september october november december".split())  # never other words
_BEFORE_DAYS = frozenset("on since before after until till by 在".split())  # after one of these, a weak day is strong
_BEFORE_MONTHS = _BEFORE_DAYS | {"in", "of", "during"}
_HINT_CHARACTERS = frozenset("0123456789天日号月年周期拜早晚夜晨午季节旬昨今明夕春夏秋冬庆五双旦诞清阳")
_HINT_WORDS = (
    "day|night|week|month|year|ago|quarter|morning|noon|evening|tomorrow|early|late|christmas|xmas|easter|thanksgiving|halloween|festival|qi"
    "|january|february|march|april|may|june|july|august|september|october|november|december"
).split("|")
_HINT_SHORT = frozenset([*_MONTHS, *_WEEKDAYS[:6], "sept", "tues", "thur", "thurs"])

# Patterns. A name in braces stands for the group below; a pattern in ASCII matches whole words only.

_GROUPS = {
    "{n}": rf"(?P<n>\d{{1,3}}|{'|'.join(_NUMBERS)}|(?:a )?couple(?: of)?|(?:a )?few|several|half an?|an?)",
    "{unit}": r"(?P<unit>day|night|week|weekend|fortnight|month|year)s?",
    "{weekday}": r"(?:mon|tues|wednes|thurs|fri|satur|sun)day",
    "{month}": r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may(?! (?:be|have|not|need|also|still)\b)|june?|july?|"
    r"aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)",
    "{day}": r"(?P<day>\d\d?)(?:st|nd|rd|th)?(?: ?(?:to|until|through|and|-|–) ?(?:the )?(?P<day2>\d\d?)(?:st|nd|rd|th)?)?",
    "{following}": r"(?=\s*(?:$|[^\w\s.-]|\.(?!\w)|[–\u4e00-\u9fff]|(?:of|to|and|or|at|in|on|with|for|when|did|do|was|were|is|are|the|i|we"
    r"|you|my|our|about|before|after|until|through|because|that|who|what|how)\b))",  # before a noun, "Monday" only describes that noun
    "{nth}": r"(?P<nth>first|second|third|fourth|fifth|last)",
    "{year}": r"(?P<year>(?:19|20)\d\d)",
    "{月}": r"(?<![\d每个几.])(?P<month>{日})\s*月",
    "{周}": r"(?P<weekday>[一二三四五六天]|日(?![程志报记常期历]))",
    "{数}": r"(?P<n>\d{1,3}|[一二两三四五六七八九十几]{1,3}|半)",
    "{日}": r"\d\d?|[一二三四五六七八九十]{1,3}",
    "{上}": r"(?P<which>上上|上|这|本|下下|下)一?个?",
}
# What may stand between "Friday" and "last week".
_FILLING = r"(?:[\s,，(（-]|'s|(?:of|in|on|at|during|from|the)(?![a-z])|的|在)*"


@cache
def _regex(pattern: str) -> re.Pattern[str]:
    for name, group in _GROUPS.items():
        pattern = pattern.replace(name, group)
    return re.compile(pattern)


# The calendar.


def _plus(day: dt.date, days: int) -> dt.date:
    return day + dt.timedelta(days=days)


def _months(year: int, month: int, count: int = 1) -> _Days:
    """So many whole months; month 0 is the last of the year before, month 13 the first of the next."""
    begin, end = year * 12 + month - 1, year * 12 + month - 1 + count
    return dt.date(begin // 12, begin % 12 + 1, 1), _plus(dt.date(end // 12, end % 12 + 1, 1), -1)


def _calendar(unit: str, day: dt.date, shift: int = 0) -> _Days:
    """The calendar unit that holds the day, or one so many units later."""
    if unit == "day":
        return _plus(day, shift), _plus(day, shift)
    if unit in {"week", "weekend"}:
        first = _plus(monday(day), 7 * shift)
        return _plus(first, 5 if unit == "weekend" else 0), _plus(first, 6)
    count = {"month": 1, "quarter": 3, "year": 12}[unit]
    return _months(day.year, day.month - (day.month - 1) % count + shift * count, count)


def _moved(day: dt.date, unit: str, count: int) -> dt.date:
    """The day so many units later; the last of the month where there is no such day."""
    if unit in {"day", "week", "weekend"}:
        return _plus(day, count * (1 if unit == "day" else 7))
    first, last = _calendar("month", day, count * (12 if unit == "year" else 1))
    return min(_plus(first, day.day - 1), last)


def _around(day: dt.date, unit: str, low: int, high: int) -> _Days:
    """The days from `low` to `high` units later, as roughly as people count in that unit."""
    if unit in {"year", "weekend"}:
        return _calendar(unit, day, low)[0], _calendar(unit, day, high)[1]
    margin = {"day": 0, "week": 3, "month": 10}[unit]
    return _plus(_moved(day, unit, low), -margin), _plus(_moved(day, unit, high), margin)


def _in(within: _Within, days: _Days) -> _Days | None:
    """Where it lies in these days; None where there is no such day."""
    try:
        return within(days)
    except ValueError:
        return None


def _occurrence(every: str, within: _Within, day: dt.date, step: int = -1) -> _Days | None:
    """The latest occurrence that has begun by the day; with step 1, the next that begins on it or later."""
    # A 29th of February may be eight years away.
    near = (_in(within, _calendar(every, day, step * n)) for n in range(9))
    return next((days for days in near if days and (days[0] - day).days * step >= 0), None)


def _nth(what: str, nth: int, days: _Days) -> _Days | None:
    """The nth day, weekday, weekend or week (the first begins on the 1st) of a month, 0 for the last; the ISO week of a year."""
    length = (days[1] - days[0]).days + 1
    if what == "week" and length > 300:
        return _calendar("week", dt.date.fromisocalendar(days[0].year, nth, 1))
    if what == "week" and nth == 0:
        return _plus(days[1], -6), days[1]
    first = days[0] if what in {"day", "week"} else _plus(days[0], (_weekday(what) - days[0].weekday()) % 7)
    starts = [_plus(first, n) for n in range(0, length, 1 if what == "day" else 7) if _plus(first, n) <= days[1]]
    if not 28 <= length <= 31 or nth > len(starts):
        return None
    return starts[nth - 1], _plus(starts[nth - 1], {"week": 6, "weekend": 1}.get(what, 0))


def _third(which: int, days: _Days) -> _Days:
    """The beginning, middle or end of a month (ten days), a year (three or four months), a quarter or a week."""
    length = (days[1] - days[0]).days + 1
    if length > 300:
        return _months(days[0].year, (1, 5, 10)[which], (3, 4, 3)[which])
    size = 10 if 28 <= length <= 31 else length // 3
    first = _plus(days[0], which * size)
    return first, days[1] if which == 2 else _plus(first, size - 1)


def _holiday(base: str, plus: int, length: int, days: _Days) -> _Days | None:
    """A holiday in the year in which the days begin."""
    year = days[0].year
    if base in _LUNAR:
        dates = dict(enumerate(_LUNAR[base].split(), 2015))
        if year not in dates:
            return None
        first = dt.date(year, int(dates[year][:2]), int(dates[year][2:]))
    elif base == "easter":  # the Gregorian computus of Meeus, Jones and Butcher
        a, (b, c) = year % 19, divmod(year, 100)
        h = (19 * a + b - b // 4 - (b - (b + 8) // 25 + 1) // 3 + 15) % 30
        k = (32 + 2 * (b % 4) + 2 * (c // 4) - h - c % 4) % 7
        m = h + k - 7 * ((a + 11 * h + 22 * k) // 451) + 114
        first = dt.date(year, m // 31, m % 31 + 1)
    elif base == "清明":  # right for the years from 2000 to 2099
        first = dt.date(year, 4, int(year % 100 * 0.2422 + 4.81) - year % 100 // 4)
    else:
        month, day, *which = base.split("-")
        nth = _nth(day, int(which[0]), _months(year, int(month))) if which else None
        first = nth[0] if nth else dt.date(year, int(month), int(day))
    return _plus(first, plus), _plus(first, plus + length - 1)


# Reading one expression. Each reader makes a time from a match; None, or a ValueError of the calendar, where it is none after all.


def _weekday(name: str) -> int:
    """Monday is 0; of a weekend, the Saturday."""
    if not name.isascii():
        return min("一二三四五六日天".index(name), 6)
    return 5 if name == "weekend" else _WEEKDAYS.index(name[:3])


def _count(word: str) -> tuple[int, int]:
    """The least and the greatest number that the word may mean."""
    word = word.removeprefix("a ").removesuffix(" of").replace("两", "二")
    if word in _VAGUE:
        return _VAGUE[word]
    digits = "零一二三四五六七八九"
    if word.isdecimal() or word.isascii():
        number = int(word) if word.isdecimal() else _NUMBERS.index(word)
    elif "十" in word:
        tens, _, ones = word.partition("十")
        number = (digits.index(tens) or 1) * 10 + digits.index(ones)
    else:  # 两三天
        low, high = sorted((digits.index(word[0]), digits.index(word[-1])))
        return low, high
    return number, number


def _amount(n: str, unit: str) -> tuple[int, int, str]:
    """The number, from and to, and the unit of "two weeks", 半个月."""
    unit = _UNITS.get(unit, unit)
    if n in {"半", "half a", "half an"}:
        return {"year": (6, 6, "month"), "month": (2, 2, "week")}.get(unit, (0, 0, "day"))
    low, high = _count(n)
    return (2 * low, 2 * high, "week") if unit == "fortnight" else (low, high, unit)


def _recurring(unit: str, every: str, within: _Within, weak: bool, match: _Match, today: dt.date) -> _Time:
    """The occurrence that the word before it chooses (last, this, next), else the latest that has come; a weekday is not today."""
    before = _regex(r"(?:([a-z]+) +|([上下这]个|在))$").search(match.string, max(0, match.start() - 12), match.start())
    word = (before[1] or before[2]) if before else ""
    if word in {"every", "each"}:
        return _Time(*match.span(), unit)
    if not before or word not in _WHICH or (word, match[0]) == ("this", "may"):
        days = _occurrence(every, within, _plus(today, -1) if (unit, every) == ("day", "week") else today)
        weak = weak and word not in (_BEFORE_DAYS if unit == "day" else _BEFORE_MONTHS)
        return _Time(*match.span(), unit, days, None, every, within, weak)
    shift = _WHICH[word]
    if shift == 0 or (shift > 0 and every == "week"):
        days = _in(within, _calendar(every, today, shift))
    elif shift > 0:
        days = _occurrence(every, within, _plus(today, 1), 1)
    elif (days := _occurrence(every, within, today)) and days[1] >= today:
        days = _occurrence(every, within, _plus(days[0], -1))
    return _Time(before.start(), match.end(), unit, days)


def _read_ago(match: _Match, today: dt.date) -> _Time:
    low, high, unit = _amount(match["n"], match["unit"])
    low, high = (-high, -low) if match["side"] in {"ago", "back", "前"} else (low, high)
    return _Time(*match.span(), "days", _around(today, unit, low, high))


def _read_rolling(match: _Match, today: dt.date) -> _Time | None:
    """The last or next so many days, weeks, months or years; 前几天 ends yesterday, and 前一天 is the day before something else."""
    _, count, unit = _amount(match["n"] or "a", match["unit"])
    if match["side"] in {"next", "coming", "未来", "接下来"}:
        return _Time(*match.span(), "days", (today, _moved(today, unit, count)))
    days = _moved(today, unit, -count), _plus(today, -1 if match["side"] == "前" else 0)
    return _Time(*match.span(), "days", days) if match["side"] != "前" or count > 1 else None


def _read_calendar(match: _Match, today: dt.date) -> _Time:
    """Last week, this month, 上上周, "the month before last"; "the month" counts only in "the end of the month"."""
    unit, which = _UNITS.get(match["unit"], match["unit"]), match["which"]
    return _Time(*match.span(), unit, _calendar(unit, today, _WHICH.get(which, 0)), weak=which == "the")


def _read_weekday(match: _Match, today: dt.date) -> _Time:
    name, which, number = match["weekday"], match.groupdict().get("which"), _weekday(match["weekday"])
    if which:
        return _Time(*match.span(), "day", _calendar("day", _calendar("week", today, _WHICH[which])[0], number))
    whole = name.endswith("day") and (match[0] != name or _regex("{following}").match(match.string, match.end()))
    weak = name.isascii() and not whole
    return _recurring("day", "week", lambda days: _calendar("day", days[0], number), weak, match, today)


def _read_date(match: _Match, today: dt.date) -> _Time:
    """A month, days of a month, or a day of any month."""
    groups = match.groupdict()
    first, last = (_count(groups.get(day) or groups.get("day") or "1")[0] for day in ("day", "day2"))
    if not (name := groups.get("month")):
        return _recurring("day", "month", lambda days: (days[0].replace(day=first),) * 2, False, match, today)
    month = _MONTHS.index(name[:3]) + 1 if name[:3] in _MONTHS else _count(name)[0]
    unit = "month" if not groups.get("day") else "day" if first == last else "days"
    weak = unit == "month" and name[:3] in _MONTHS and name not in _PLAIN_MONTHS

    def within(days: _Days) -> _Days | None:
        named = dt.date(days[0].year, month, first), dt.date(days[0].year, month, last)
        return _calendar("month", named[0]) if unit == "month" else named if first <= last else None

    return _recurring(unit, "year", within, weak, match, today)._replace(joined=unit == "days")


def _read_iso(match: _Match, _: dt.date) -> _Time:
    """2026-03-14, 2026-03 or 2026-W11."""
    groups, year = match.groupdict(), int(match["year"])
    if groups.get("week"):
        return _Time(*match.span(), "week", _calendar("week", dt.date.fromisocalendar(year, int(match["week"]), 1)))
    unit, day = ("day", int(match["day"])) if groups.get("day") else ("month", 1)
    return _Time(*match.span(), unit, _calendar(unit, dt.date(year, int(match["month"]), day)))


def _read_slashes(match: _Match, today: dt.date) -> _Time | None:
    """D/M or M/D where only one of them can be meant, and D.M.Y; without a year it is weak."""
    day, month, year, dots = int(match["a"]), int(match["b"]), match["year"], match["mark"] == "."
    if (dots and not year) or (not dots and day <= 12 and month <= 12 and day != month):
        return None
    day, month = (month, day) if month > 12 else (day, month)
    if year:
        return _Time(*match.span(), "day", _calendar("day", dt.date(int(year), month, day)))
    return _recurring("day", "year", lambda days: (dt.date(days[0].year, month, day),) * 2, True, match, today)


def _read_year(match: _Match, today: dt.date) -> _Time | None:
    """A year; one in bare digits is weak, unless "in" or the like stands before it and no noun after it."""
    year, bare = int(match["year"]), match[0].isdecimal()
    if bare and abs(year - today.year) > 50:
        return None
    before = _regex(r"([a-z]+) $").search(match.string, max(0, match.start() - 8), match.start())
    strong = before and before[1] in _BEFORE_MONTHS and _regex("{following}").match(match.string, match.end())
    return _Time(*match.span(), "year", _months(year, 1, 12), weak=bare and not strong)


def _read_ordinal(match: _Match, today: dt.date) -> _Time:
    """The second week (of a month), week 12, the third quarter; a week by itself only in digits, and then of a year."""
    groups, word = match.groupdict(), match["nth"] or "last"
    nth = _ORDINALS.index(word) if word in _ORDINALS else _count(word)[0]
    if "what" not in groups:
        if groups.get("year"):  # 2025Q1
            return _Time(*match.span(), "quarter", _months(int(groups["year"]), 3 * nth - 2, 3))
        return _recurring("quarter", "year", lambda days: _months(days[0].year, 3 * nth - 2, 3), False, match, today)
    what = _UNITS.get(groups["what"], groups["what"])
    what = _WEEKDAYS[_weekday(groups["weekday"])] if groups.get("weekday") else what
    days = _occurrence("year", partial(_nth, what, nth), today) if what == "week" and word.isdecimal() else None
    unit = what if what == "week" else "day"
    return _Time(*match.span(), unit, days, None, "*", partial(_nth, what, nth), weak=not days)


def _read_third(match: _Match, today: dt.date) -> _Time:
    """Early, mid and late, which count beside a month or the like; 月底 and 年初 are times by themselves."""
    within, unit = partial(_third, _THIRDS[match["third"]]), match.groupdict().get("unit")
    if unit:
        return _recurring("days", _UNITS[unit], within, False, match, today)
    return _Time(*match.span(), "days", None, None, "*", within, weak=True)


def _read_weekend(match: _Match, today: dt.date) -> _Time:
    return _recurring("weekend", "week", lambda days: (_plus(days[0], 5), days[1]), match[0] == "weekend", match, today)


def _read_half(match: _Match, today: dt.date) -> _Time:
    month = 1 if match[0] == "上半年" else 7
    return _recurring("days", "year", lambda days: _months(days[0].year, month, 6), False, match, today)


def _read_away(unit: str, shift: int, match: _Match, today: dt.date) -> _Time:
    return _Time(*match.span(), unit, _calendar(unit, today, shift), (18, 24) if match[0] == "tonight" else None)


def _read_part(hours: tuple[int, int], match: _Match, _: dt.date) -> _Time:
    return _Time(*match.span(), "part", None, hours, "day", lambda days: days, weak=True)


_Reader = Callable[[_Match, dt.date], _Time | None]
# Each behind the words of which one must be in the text; of equal matches the first counts.
_PATTERNS: dict[_Reader, str] = {
    _read_ago: r"""
        ago|back|now            {n}[ -]{unit} (?P<side>ago|back|from now)
        前|后                   (?<![\d第上下这本每]){数}个?多?(?P<unit>天|周|星期|礼拜|(?<=[个多])月|年)[以之]?(?P<side>前|后)(?![端台])""",
    _read_calendar: r"""
        week|month|quarter|year (?P<which>last|previous|this|current|next|coming|the) (?P<unit>week|weekend|month|quarter|year)(?<!the weekend)
        before|after            (?:the )?(?P<unit>week|weekend|month|year) (?P<which>before last|after next){following}
        周|星期|礼拜|月|季度    (?<![以之]){上}(?P<unit>周末|周(?!期(?![末中])|年(?![会终]))|星期|礼拜|月|季度)""",
    _read_rolling: r"""
        last|past|previous|next|coming  (?:the )?(?P<side>last|past|previous|next|coming) {n} {unit}
        past                    (?:the )?(?P<side>past) (?P<n>)(?P<unit>week|month|year)
        近|去|来|这|前          (?P<side>最近|过去|近|未来|接下来|这|前)的?{数}个?(?P<unit>天|周|星期|礼拜|(?<=个)月|年)""",
    _read_weekday: r"""
        day                     (?P<weekday>{weekday})(?:'s)?(?!\.\w)
        mon|tue|wed|thu|fri|sat (?P<weekday>mon|tues?|wed|thu(?:rs?)?|fri|sat)(?!\.\w)
        周|星期|礼拜            (?:{上}|(?<![每个几一二两三四五六七八九十\d]))(?:周|星期|礼拜){周}(?![次个遍份篇])""",
    _read_weekend: r"""
        weekend                 (?:the )?weekend
        周末                    (?<!每)(?<!每个)周末""",
    _read_half: r"""
        半年                    [上下]半年""",
    _read_date: r"""
        {months}                {month}\.? (?:the )?{day}(?![:.]\d|,\d{1,3}(?!\d))
        {months}                (?<![\d.:/-]){day} (?:of )?{month}
        {months}                {month}
        st|nd|rd|th             the (?P<day>\d\d?)(?:st|nd|rd|th){following}
        月                      {月}\s*(?P<day>{日})(?:[日号]?\s*[到至~～-]\s*(?P<day2>{日})[日号]|\s*[日号]|(?<=\d)(?!\d|\s*[个次人元点]))
        月                      {月}份?
        号                      (?<![\d.第编单])(?P<day>{日})号(?![线楼院店机门馆柜床桌码位球员仓库厅车文房室电风])
        日                      (?<![\d.])(?P<day>\d\d?)日(?![元本游])""",
    _read_iso: r"""
        -w                      (?<!\d){year}-w(?P<week>\d\d?)
        -|/|.                   (?<![\d./:-]){year}[-/.](?P<month>\d\d?)[-/.](?P<day>\d\d?)(?:t[\d:.]+z?)?(?![./:-]\d)
        -|/                     (?<![\d./:-]){year}[-/](?P<month>\d\d?)(?![./:-]\d)""",
    _read_slashes: r"""
        /|.                     (?<![\d./:])(?P<a>\d\d?)(?P<mark>[/.])(?P<b>\d\d?)(?:(?P=mark){year})?(?![./:]\d)""",
    _read_year: r"""
        19|20                   (?<![\d./:$#-]){year}(?![.,]\d|[-/:%])
        年                      (?<!\d){year}\s*年(?![代级])""",
    _read_ordinal: r"""
        week                    (?P<what>week) (?P<nth>\d\d?)
        week|day                (?:the )?{nth} (?P<what>day|week|weekend|{weekday})(?= (?:of|in) (?:\w+ )?(?:month|{month}))
        周|星期|礼拜            (?:第(?P<nth>{日})个?|最后一?个?)(?P<what>周末|周|星期|礼拜){周}?
        q                       (?:(?<!\d){year})?q(?P<nth>[1-4])
        quarter                 (?:the )?(?P<nth>first|second|third|fourth) quarter
        季度                    第?(?P<nth>[一二三四1-4])季度""",
    _read_third: r"""
        early|mid|late|of       (?:the )?(?P<third>early|mid|late|beginning of|start of|middle of|end of)
        初|旬|中|底|末          (?<=[月年份])(?P<third>初(?![中一二三次级])|上旬|中旬|中(?![国心午秋间文学])|下旬|底|末)
        初|底|末                (?<![每个少])(?P<unit>月|年)(?P<third>初(?![中一二三次级])|底|末)""",
}


@cache
def _rules() -> list[tuple[list[str], str, _Reader]]:
    """Words of which the text must hold one, pattern, reader. A name without its conditions is itself such a word."""
    rules: list[tuple[list[str], str, _Reader]] = []
    for reader, lines in _PATTERNS.items():
        for hints, pattern in (line.split(maxsplit=1) for line in lines.strip().split("\n")):
            rules.append((hints.replace("{months}", "|".join(_MONTHS)).split("|"), pattern, reader))
    named: list[tuple[str, _Reader]] = [(names, partial(_read_part, hours)) for hours, names in _PARTS.items()]
    named += [(names, partial(_read_away, "day", shift)) for shift, names in _DAYS_AWAY.items()]
    named += [(names, partial(_read_away, "year", shift)) for shift, names in _YEARS_AWAY.items()]
    for spec, names in (line.split("  ") for line in _HOLIDAYS.strip().split("\n")):
        base, plus, length = spec.split() + ["0", "1"][spec.count(" ") :]
        within = partial(_holiday, base, int(plus), int(length))
        named.append((names, partial(_recurring, "holiday", "year", within, False)))
    rules += [([re.sub(r"\(.*?\)", "", name)], name, reader) for names, reader in named for name in names.split("|")]
    whole = r"(?<![a-z])(?:%s)(?![a-z0-9_])"
    return [(hints, whole % pattern if pattern.isascii() else pattern, reader) for hints, pattern, reader in rules]


# Putting times together.


def _apart(times: Iterable[_Time]) -> list[_Time]:
    """The times in their order; of two that overlap, the one that begins first, then the longer."""
    result: list[_Time] = []
    for time in sorted(times, key=lambda time: (time.start, -time.end)):
        if not result or time.start >= result[-1].end:
            result.append(time)
    return result


def _merged(times: list[_Time], join: Callable[[_Time, _Time], _Time | None]) -> list[_Time]:
    """The times, neighbours replaced by what they are together."""
    result: list[_Time] = []
    for time in times:
        right = time
        while result and (both := join(result[-1], right)):
            result.pop()
            right = both
        result.append(right)
    return result


def _nested(text: str, today: dt.date, units: tuple[str, ...], left: _Time, right: _Time) -> _Time | None:
    """Two times that are one: "Friday" in "last week", 初 of 三月, "morning" of a day; also a date with its weekday."""
    if not _regex(_FILLING).fullmatch(text, left.end, right.start):
        return None
    for inner, outer in ((left, right), (right, left)):
        if outer.unit not in units or not outer.days:
            continue
        if inner.within and (inner.every in units or (inner.every == "*" and "day" not in units)):
            days, within = _in(inner.within, outer.days), None
            if outer.within:
                within = partial(_composed, outer.within, inner.within)
                days = days if days and days[0] <= today else _occurrence(outer.every, within, today)
            unit = outer.unit if inner.unit == "part" else inner.unit
            return days and _Time(
                left.start, right.end, unit, days, inner.hours or outer.hours, outer.every, within, joined=inner.joined
            )
        if "day" in units and (inner.unit, inner.every) == ("day", "week") and outer.every != "week":
            return outer._replace(start=left.start, end=right.end, weak=False)
    return None


def _composed(outer: _Within, inner: _Within, days: _Days) -> _Days | None:
    around = outer(days)
    return around and inner(around)


def _beside(text: str, time: _Time) -> _Time:
    """The time that is described by its distance: "the weekend before Easter", 春节前一天, "the week of March 3"."""
    head = _regex(
        r"(?<![a-z])(?:the |last )?(?:{n} )?(?P<unit>day|week|weekend|month|{weekday})s? (?P<side>before|after|of) (?:the )?$"
    )
    tail = _regex(r"[的之以]?(?P<side>前|后|那)(?:的|一?个)?(?:{数}个?)?(?P<unit>天|周末|周|星期|礼拜|月)")
    before, after = head.search(text, max(0, time.start - 40), time.start), tail.match(text, time.end)
    match = before or after
    if not time.days or not match:
        return time
    side, unit = match["side"], _UNITS.get(match["unit"], match["unit"])
    start, end = (before.start(), time.end) if before else (time.start, match.end())
    edge, step = (time.days[0], -1) if side in {"before", "前"} else (time.days[1], 1)
    low, high, counted = _amount(match["n"] or "a", unit)
    if side in {"of", "那"}:
        if unit not in {"week", "weekend"} or time.unit not in {"day", "holiday"}:
            return time
        days = _calendar(unit, edge)
    elif unit == "weekend" or (unit.endswith("day") and unit != "day"):
        wanted = (6 if step < 0 else 5) if unit == "weekend" else _weekday(unit)
        near = next(day for n in range(1, 8) if (day := _plus(edge, step * n)).weekday() == wanted)
        days = (min(near, other := _plus(near, step if unit == "weekend" else 0)), max(near, other))
    elif before and match["n"]:
        days = _around(edge, counted, *sorted((step * low, step * high)))
    elif after and not match["n"]:
        return time
    else:
        near, far = _plus(edge, step), _moved(edge, counted, step * high)
        days = min(near, far), max(near, far)
    return _Time(start, end, "day" if days[0] == days[1] else "days", days)


def _range(text: str, left: _Time, right: _Time) -> _Time | None:
    """From one time to the other; where one of them recurs, the other one says which is meant."""
    link = _regex(r"\s*(?:to|until|till|through|-|–|—|~|～|到|至|(?P<pair>and|和|与))\s*(?:on |the )?")
    head = _regex(r"(?<![a-z])(?:from|between) (?:the )?$|[从自]\s*$").search(text, max(0, left.start - 14), left.start)
    tail = _regex(r"之?间|期间").match(text, right.end)
    between = link.fullmatch(text, left.end, right.start)
    if not between or not left.days or not right.days:
        return None
    if (between["pair"] or (left.weak and right.weak)) and not head and not tail:
        return None
    (first, _), (_, last) = left.days, right.days
    if right.within and (not left.within or left.every != "week"):
        last = (_occurrence(right.every, right.within, first, 1) or right.days)[1]
    elif left.within and first > last:
        first = (_occurrence(left.every, left.within, last) or left.days)[0]
    start, end = head.start() if head else left.start, tail.end() if tail else right.end
    return _Time(start, end, "days", (first, last), joined=True) if first <= last else None


def _open(text: str, today: dt.date, time: _Time) -> _Time:
    """Before, until, after or since a time; before and after a holiday are the seven days beside it."""
    head = _regex(
        r"(?<![a-z])(?:(?P<before>before|prior to)|(?P<until>until|till|up to)|(?P<after>after)|(?P<since>since))(?: the)? $"
    )
    tail = _regex(
        r"(?P<before>以前|之前|前(?![端台面后往期任天辈景言缀]))|(?P<after>以后|之后|后(?![端台面续期天果悔院备门座来]))"
        r"|(?P<since>以来|至今| onwards?(?![a-z]))|(?P<begun>起|开始)"
    )
    before, after = head.search(text, max(0, time.start - 14), time.start), tail.match(text, time.end)
    match = before or after
    if not match or not time.days or time.joined:
        return time
    (first, last), side, near = time.days, match.lastgroup, time.unit == "holiday"
    lead = _regex(r"(?:[从自]|(?<![a-z])from )$").search(text, max(0, time.start - 5), time.start)
    if side == "begun" and not lead:
        return time
    if side == "before":
        days = _plus(first, -7) if near else dt.date.min, _plus(first, -1)
    elif side == "until":
        days = dt.date.min, last
    elif side == "after":
        days = _plus(last, 1), _plus(last, 7) if near else today if last < today else dt.date.max
    else:
        days = first, today if first <= today else last
    start, end = (before.start(), time.end) if before else (lead.start() if lead else time.start, match.end())
    return _Time(start, end, "days", days, weak=time.weak)


def _times(text: str, today: dt.date) -> list[_Time]:
    """All times in the text."""
    times: list[_Time] = []
    for hints, pattern, reader in _rules():
        if any(hint in text for hint in hints):
            for match in _regex(pattern).finditer(text):
                with suppress(ValueError):
                    if time := reader(match, today):
                        times.append(time)
    times = _apart(times)
    day = ("day", "holiday", "weekend")
    for units in (day, ("year",), ("quarter",), ("month",), ("week",)):
        times = _merged(times, partial(_nested, text, today, units))
    times = _apart(_beside(text, time) for time in times)
    times = _merged(times, partial(_nested, text, today, day))
    times = _merged(times, partial(_range, text))
    return [_open(text, today, time) for time in times]


def period_named(text: str, today: dt.date) -> Period | None:
    """The time that the text names, as it is meant today: a range before a single time, a time within another and one in
    brackets before that one, else the first. A time without a year is the latest that has come."""
    lower = text.lower().replace("’", "'")
    if (
        _HINT_CHARACTERS.isdisjoint(lower)
        and not any(hint in lower for hint in _HINT_WORDS)
        and _HINT_SHORT.isdisjoint(lower.replace("?", " ").split())
    ):
        return None
    lower = lower if len(lower) == len(text) else text  # a letter such as İ grows in lower case
    for words in _NO_TIMES:
        lower = lower.replace(words, "\0" * len(words))
    try:
        times = [(time, time.days) for time in _times(lower, today) if time.days and not time.weak]
    except (ValueError, OverflowError):  # outside of the calendar
        return None
    if not times:
        return None
    best, (first, last) = next(((time, days) for time, days in times if time.joined), times[0])
    for time, days in times:
        explains = time.start > 0 and text[time.start - 1] in "(（" and not best.joined  # last Thursday (March 5)
        if explains or (not best.joined and first <= days[0] and days[1] <= last and days != (first, last)):
            best, (first, last) = time, days
    return Period(first.isoformat(), last.isoformat(), best.hours, text[best.start : best.end])
