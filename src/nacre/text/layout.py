"""Text for a terminal: columns, of which a Han character takes two, lines that fit, and how long ago something was."""

from __future__ import annotations

import datetime as dt
import re
from unicodedata import combining, east_asian_width

from nacre.i18n import say

# What stays together on a line: a Han character or a word, with the marks before and behind it.
_PIECE = re.compile(
    r"\s+|[（《「【]*(?:[^\s\u2e80-\u9fff\uac00-\ud7ff\uf900-\uffef]+|\S)[，。；：、！？）》」】…\u201d\u2019]*"
)
TAKEN_OUT = re.compile(r"\[redacted[^\]\n]*\]")
_UNITS = ((365, "year", "年"), (30, "month", "个月"), (7, "week", "周"), (1, "day", "天"))  # with their days


def width_of(text: str) -> int:
    """How many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(sign) else 2 if east_asian_width(sign) in "WF" else 1 for sign in text)


def stretch(text: str, start: int, most: int) -> str:
    """At most this many characters of a text; the mark of what was taken out of it is there whole or not at all."""
    end = start + most
    for match in TAKEN_OUT.finditer(text):
        start = match.end() if match.start() < start < match.end() else start
        end = match.start() if match.start() < end < match.end() else end
    return text[start:end]


def beginning(text: str, most: int) -> str:
    return stretch(text, 0, most)


def shortened(text: str, most: int) -> str:
    """A text of at most this many characters, with a sign that it went on."""
    return text if len(text) <= most else beginning(text, most - 1).rstrip() + "…"


def cut(text: str, width: int) -> str:
    """As much of a text as fits."""
    if width_of(text) <= width:
        return text
    while width_of(text) > width - 1:
        text = beginning(text, max(0, min(len(text) - 1, width)))
    return text.rstrip() + "…"


def cut_path(path: str, width: int) -> str:
    """A path that fits: its middle is left out, its end and beginning tell most."""
    if width_of(path) <= width:
        return path
    head, tail = path[: width // 3], path
    while tail and width_of(head) + 1 + width_of(tail) > width:
        tail = tail[1:]
    return f"{head}…{tail}"


def nested_quotes(text: str) -> str:
    """A Chinese sentence that quotes what holds quotation marks: those inside are single ones. As it is when they do not pair."""
    depth, signs = 0, []
    for sign in text:
        depth -= sign == "”"
        signs.append({"“": "‘", "”": "’"}.get(sign, sign) if depth else sign)
        depth += sign == "“"
        if depth < 0:
            return text
    return text if depth else "".join(signs)


def padded(text: str, width: int) -> str:
    return text + " " * (width - width_of(text))


def wrapped(text: str, width: int) -> list[str]:
    """A paragraph as lines that fit, broken at spaces and between Han characters."""
    lines, line = [], ""
    for piece in _PIECE.findall(" ".join(text.split())):
        if line and width_of(line + piece.rstrip()) > width:
            lines.append(line.rstrip())
            line = ""
        line += piece if line else piece.lstrip()
        while width_of(line.rstrip()) > width:  # a word that is longer than a line
            fits = max(1, len(cut(line, width + 1)) - 1)
            lines.append(line[:fits])
            line = line[fits:]
    return [*lines, line.rstrip()] if line.strip() else lines


def age(moment: dt.datetime | dt.date, now: dt.datetime) -> str:
    """How long ago something was: to the minute where its time is known, else to the day; what is still to come by its date."""
    day = moment.date() if isinstance(moment, dt.datetime) else moment
    days = (now.date() - day).days
    if days < 0:
        return day.isoformat()
    if isinstance(moment, dt.datetime):
        minutes = int((now - moment).total_seconds() // 60)
        if minutes < 1:
            return say("just now", "刚刚")
        if minutes < 60:
            return _ago(minutes, "minute", "分钟")
        if days == 0 or minutes < 12 * 60:
            return _ago(minutes // 60, "hour", "小时")
    if days <= 1:
        return say("yesterday", "昨天") if days else say("today", "今天")
    size, unit, chinese = next(unit for unit in _UNITS if days >= 2 * unit[0])
    return _ago(days // size, unit, chinese)


def _ago(count: int, unit: str, chinese: str) -> str:
    return say(f"{count} {unit}{'' if count == 1 else 's'} ago", f"{count} {chinese}前")
