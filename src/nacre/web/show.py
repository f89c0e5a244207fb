"""How values are shown: moments, links in text, and the difference of two wordings. Every word is escaped."""

from __future__ import annotations

import datetime as dt
import difflib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape

from nacre.i18n import say
from nacre.memory import without_unseen

_LINK = re.compile(r"(?:https?://|mailto:)[^\s<>\"'`，。；、）】」]+[^\s<>\"'`.,;:!?)\]，。；、）】」]")
_WORD = re.compile(r"\s+|[\w.\-/@]+|[^\w\s]", re.ASCII)
_BARS = 366  # days
_BAR = Markup(
    '<a href="/timeline?since={0}&amp;until={0}" aria-label="{1}: {2}"><rect class="hit-area" x="{3}" width="10" height="48"/>'
    '<rect class="{4}" x="{5}" y="{6}" width="8" height="{7}" rx="1"><title>{1}: {2}</title></rect></a>'
)


def plain(value: Any) -> Any:
    """A value as a template prints it: text without what the eye cannot see. What is markup already was made of such text."""
    return without_unseen(value) if type(value) is str else value


def homely(path: str) -> str:
    """A path as people name it: from their home on."""
    home = str(Path.home())
    return f"~{path[len(home) :]}" if path.startswith(f"{home}/") else path


def speaker(value: str) -> str:
    """Whose words a message holds."""
    names = {"owner": ("you", "你"), "agent": ("agent", "智能体"), "other": ("somebody else", "他人")}
    return say(*names.get(value, (value, value)))


def day(value: str | None) -> str:
    return (value or "")[:10]


def moment(value: str | None) -> str:
    return (value or "")[:16].replace("T", " ")


def day_name(value: str) -> str:
    """A day as people name it."""
    date = dt.date.fromisoformat(value[:10])
    return say(f"{date:%a} {date.day} {date:%b}", f"{date.month} 月 {date.day} 日 周{'一二三四五六日'[date.weekday()]}")


def day_bars(counts: Mapping[str, int], since: str, until: str) -> Markup:
    """A bar for each day, each leading to that day; those of the range are marked. Days behind the range stay, to choose another."""
    last = dt.date.fromisoformat(max(until, *counts) if counts else until).toordinal()
    first = max(1, last - _BARS + 1, min(dt.date.fromisoformat(day).toordinal() for day in (since, *counts)))
    days = [dt.date.fromordinal(number).isoformat() for number in range(min(first, last), last + 1)]
    most, bars = max(counts.values(), default=1) or 1, []
    for place, day in enumerate(days):
        if count := counts.get(day):
            height, inside = max(3, round(46 * count / most)), "in" if since <= day <= until else "out"
            values = day, day_name(day), count, place * 10, inside, place * 10 + 1, 48 - height, height
            bars.append(_BAR.format(*values))
    svg = Markup(
        '<svg class="days" viewBox="0 0 {} 48" preserveAspectRatio="none" role="group" data-first="{}">{}</svg>'
    )
    ends = Markup('<p class="axis"><span>{}</span><span>{}</span></p>').format(day_name(days[0]), day_name(days[-1]))
    return svg.format(len(days) * 10, days[0], Markup("").join(bars)) + ends


def linked(text: str | None) -> Markup:
    """The text with links to the web and to mail addresses, and to nothing else."""
    parts, at, text = [], 0, without_unseen(text or "")
    for match in _LINK.finditer(text):
        parts += [escape(text[at : match.start()])]
        parts += [Markup('<a href="{0}" rel="noopener noreferrer" target="_blank">{0}</a>').format(match[0])]
        at = match.end()
    return Markup("").join([*parts, escape(text[at:])])


def diff(after: str, before: str) -> Markup:
    """The new words, with what is gone and what came marked."""
    old, new = _WORD.findall(without_unseen(before)), _WORD.findall(without_unseen(after))
    parts = []
    for tag, first, last, start, end in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal" and first < last:
            parts.append(Markup("<del>{}</del>").format("".join(old[first:last])))
        if start < end:
            words = "".join(new[start:end])
            parts.append(escape(words) if tag == "equal" else Markup("<ins>{}</ins>").format(words))
    return Markup("").join(parts)
