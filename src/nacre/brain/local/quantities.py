"""The quantities that a text names, each in the base unit of its kind, so that 3 两 and 150 g, or 18:45 and quarter to seven, are equal."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple


class Quantity(NamedTuple):
    kind: str  # "clock", "day", "date", "number", or what a unit measures
    value: float  # clock times in minutes after noon or midnight: people leave out which

    def equals(self, other: Quantity) -> bool:
        """Whether both are the same amount, however it was rounded; a bare number may be anybody's telephone, and is not rounded."""
        rounded = 0.0 if self.kind == "number" else 0.004 * max(abs(self.value), abs(other.value))
        return self.kind == other.kind and abs(self.value - other.value) <= rounded


# What is measured, how many base units one is, and how it is written.
_MEASURES: dict[str, dict[float, str]] = {
    "length": {1e-3: "mm millimet(?:er|re)s? 毫米", 1e-2: "cm centimet(?:er|re)s? 厘米 公分", 1: "m met(?:er|re)s? 米", 1e3: "km kilomet(?:er|re)s? 公里 千米",
        500: "里地 里", 0.0254: "inch(?:es)?", 0.3048: "ft foot feet", 1609.34: "mi miles? 英里"},
    "mass": {1e-3: "mg milligrams? 毫克", 1: "g grams? 克", 1e3: "kg kilos? kilograms? 公斤 千克", 500: "斤", 50: "两", 453.592: "lbs? 磅", 28.3495: "oz ounces?", 1e6: "tons? tonnes? 吨"},
    "volume": {1e-3: "ml 毫升", 1: "l lit(?:er|re)s? 升"},
    "area": {1: "m2 sqm m² square met(?:er|re)s? 平方米 平米 平方", 1e4: "ha hectares? 公顷", 4046.86: "acres?", 666.667: "亩"},
    "duration": {1e-3: "ms milliseconds? 毫秒", 1: "s secs? seconds? 秒钟 秒", 60: "min mins minutes? 分钟", 900: "刻钟", 3600: "h hrs? hours? 个?小时 钟头 个?钟头", 86400: "days? 天",
        604800: "weeks? 个?星期 个?礼拜 周", 2592000: "months? 个?月", 31536000: "yrs? years? 年"},
    "data": {1024: "kb kib", 1024**2: "mb mib megs? 兆", 1024**3: "gb gib gigs? [Gg]", 1024**4: "tb tib"},
    "temperature": {1: "°c degrees? celsius 摄氏度 度"},
    "share": {0.01: "% percent per cent", 0.1: "成 折"},
    "money": {1: "£ pounds? quid dollars? euros? bucks 元 块钱 块 rmb", 1e4: "万元"},
}  # fmt: skip
_UNITS = {
    name: (kind, factor)
    for kind, rows in _MEASURES.items()
    for factor, names in rows.items()
    for name in re.findall(r"square met\S+|per cent|degrees\? celsius|\S+", names)
}
_BY_LENGTH = sorted(_UNITS, key=len, reverse=True)
_UNIT = "|".join(f"(?:{name})" + (r"(?![a-zA-Z])" if name[0].isascii() else "") for name in _BY_LENGTH)
_WHOLE = [(re.compile(name, re.IGNORECASE), _UNITS[name]) for name in _BY_LENGTH]

_ONES = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_SPELLED: dict[str, float] = {word: value for value, word in enumerate(_ONES)}
_SPELLED |= {word: 20 + 10 * place for place, word in enumerate(_TENS)}
_SPELLED |= {word: place for place, word in enumerate("fourth fifth sixth seventh eighth ninth tenth".split(), start=4)}
_SPELLED |= {
    "half": 0.5,
    "hundred": 100,
    "thousand": 1000,
    "dozen": 12,
    "twelfth": 12,
    "twentieth": 20,
    "thirtieth": 30,
}
_ENGLISH = re.compile(rf"\b({'|'.join(sorted(_SPELLED, key=len, reverse=True))})(?:[ -]({'|'.join([*_ONES[1:10], 'hundred', 'thousand'])}))?\b", re.IGNORECASE)  # fmt: skip
_HAN = {sign: value for value, sign in enumerate("零一二三四五六七八九")} | {"两": 2, "〇": 0}
_HAN_NUMBER = re.compile("(?:(?<![一二三四五六七八九十百半])两|[零〇一二三四五六七八九十百千万亿半])+")
_HAN_STEP = {"十": 10, "百": 100, "千": 1000}
_NUMBER = r"\d+(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_MONTH = "(" + "|".join(_MONTHS) + r")[a-z]*\.?"
_HAN_DAYS = dict(zip("一二三四五六日天末", (1, 2, 3, 4, 5, 6, 7, 7, 6), strict=True))
_WEEKDAYS = {name: place for place, name in enumerate("mon tue wed thu fri sat sun".split(), start=1)}
# Dates and clock times, first the longer forms; the groups are what `_when` counts with.
_DATES = [re.compile(source, re.IGNORECASE) for source in (
    r"(?P<y>\d{4})[-/.年](?P<m>\d{1,2})[-/.月](?P<d>\d{1,2})[日号]?",
    rf"(?P<name>{_MONTH})\s+(?:the\s+)?(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,?\s*\d{{4}})?",
    rf"(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<name>{_MONTH})\b(?:,?\s*\d{{4}})?",
    r"(?P<m>\d{1,2})月(?P<d>\d{1,2})[日号]?",
    r"\b(?:the\s+)?(?P<d>\d{1,2})(?:st|nd|rd|th)\b|(?P<e>\d{1,2})[日号](?![库线楼店机院门码服])",
)]  # fmt: skip
_CLOCKS = [re.compile(source, re.IGNORECASE) for source in (
    r"\bhalf past (?P<h>\d{1,2})(?P<half>)",
    r"\bquarter (?P<way>to|past) (?P<h>\d{1,2})",
    r"(?P<h>\d{1,2})点(?P<half>半)",
    r"(?P<h>\d{1,2})点(?P<quarters>\d)刻",
    r"(?P<h>\d{1,2})点(?:钟|整)?(?:(?P<mm>\d{1,2})分?)?(?!\d|[几些])",
    r"(?<![\d.:])(?P<h>\d{1,2}):(?P<mm>\d{2})(?![\d:])",
    r"\b(?P<h>\d{1,2})\s?(?:[ap]\.?m\b|o'?clock)",
)]  # fmt: skip
_DAY = re.compile(r"\b(mon|tue|wed|thu|fri|sat|sun)(?:s|nes|rs|ur)?(?:day)?s?\b|(?:周|星期|礼拜)([一二三四五六日天末])", re.IGNORECASE)  # fmt: skip
_MEASURED = re.compile(rf"{_UNIT}|[点号月日刻]|个半")
_HALF_MORE = re.compile(rf"({_NUMBER})(个|{_UNIT})半")
_MEASURE = re.compile(rf"(?<![A-Za-z0-9_.])({_NUMBER})(?:\san?\s|\s|-)?({_UNIT})?(?:(?<=[成])(\d))?(?:\s?(°?f\b|fahrenheit\b|°?c\b))?(k\b|万|亿)?", re.IGNORECASE)  # fmt: skip


@lru_cache(maxsize=8192)
def quantities(text: str) -> frozenset[Quantity]:
    """Every amount, date and time that a text names."""
    result = {
        Quantity("day", _WEEKDAYS[match[1].lower()] if match[1] else _HAN_DAYS[match[2]])
        for match in _DAY.finditer(text)
    }
    text = _HAN_NUMBER.sub(_from_han, _ENGLISH.sub(_from_english, _DAY.sub(" ", text)))
    for patterns, read in ((_DATES, _dates), (_CLOCKS, _clocks)):
        for pattern in patterns:
            for match in pattern.finditer(text):
                result |= set(read(match))
            text = pattern.sub(" ", text)
    text = _HALF_MORE.sub(lambda match: f"{float(match[1]) + 0.5}{match[2]}", text)
    result |= {quantity for match in _MEASURE.finditer(text) for quantity in _measures(match, text)}
    return frozenset(result)


def same_and_other(old: str, new: str) -> tuple[bool, bool, bool]:
    """Whether two texts name an equal amount; one of the same kind that differs; the new one something of which the old one has none."""
    before, after = quantities(old), quantities(new)
    left = [a for a in before if not any(map(a.equals, after))]
    added = [b for b in after if not any(map(b.equals, before))]
    other = any(a.kind == b.kind for a in left for b in added)
    return len(left) < len(before), other, bool(added)


def _from_english(match: re.Match[str]) -> str:
    value = _SPELLED[match[1].lower()]
    if match[2]:
        step = _SPELLED[match[2].lower()]
        value = value * step if step >= 100 else value + step
    elif value == 1:
        return match[0]  # rarely an amount
    return f"{value:g}"


def _from_han(match: re.Match[str]) -> str:
    """A Chinese number in digits; a lone 半 is one half, and behind a unit it stays for what reads "一秒半"."""
    text = match[0]
    if text == "一" and not _MEASURED.match(match.string, match.end()):
        return text  # 一些, 一起
    if text == "半":
        return text if match.start() and match.string[match.start() - 1] in "秒天月年点斤里个时" else "0.5"
    total = section = digit = 0
    for sign in text:
        if sign in _HAN:
            digit = digit * 10 + _HAN[sign] if digit and text.isdigit() else _HAN[sign]
        elif sign in _HAN_STEP:
            section, digit = section + (digit or 1) * _HAN_STEP[sign], 0
        elif sign in "万亿":
            total, section, digit = (total + section + digit) * (10_000 if sign == "万" else 100_000_000), 0, 0
    if len(text) > 1 and all(sign in _HAN for sign in text):
        return "".join(str(_HAN[sign]) for sign in text)
    return f"{total + section + digit}" + ("半" if text.endswith("半") else "")


def _dates(match: re.Match[str]) -> Iterable[Quantity]:
    groups = match.groupdict()
    day = int(groups.get("d") or groups.get("e") or 0)
    if 1 <= day <= 31:
        yield Quantity("date", day)
    month = _MONTHS.index(groups["name"][:3].lower()) + 1 if groups.get("name") else int(groups.get("m") or 0)
    if month:
        yield Quantity("month", month)


def _clocks(match: re.Match[str]) -> Iterable[Quantity]:
    groups = match.groupdict()
    minutes = int(groups.get("mm") or 0) + 15 * int(groups.get("quarters") or 0)
    if groups.get("half") is not None:
        minutes = 30
    if groups.get("way"):
        minutes = 15 if groups["way"].lower() == "past" else -15
    yield Quantity("clock", (int(groups["h"]) * 60 + minutes) % 720)


def _measures(match: re.Match[str], text: str) -> Iterable[Quantity]:
    number, unit, tenth, degrees, many = match.groups()
    value = float(number.replace(",", "")) * {"k": 1e3, "万": 1e4, "亿": 1e8}.get((many or "").lower(), 1)
    if degrees:
        yield Quantity("temperature", (value - 32) / 1.8 if "f" in degrees.lower() else value)
    elif unit:
        kind, factor = next(unit_ for pattern, unit_ in _WHOLE if pattern.fullmatch(unit))
        value = (value + int(tenth) / 10 if tenth else value) * factor
        if unit == "折" and value > 1:
            value /= 10
        if unit == "成" and re.search(f"(?:便宜|降|减|少|让){number}成", text):
            value = 1 - value
        yield Quantity(kind, value)
    else:
        yield Quantity("number", value)
