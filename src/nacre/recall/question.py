"""What a question asks for, beyond its words: how things stand now, or a certain day."""

from __future__ import annotations

import datetime as dt
import re
from typing import NamedTuple

from nacre.errors import BadInput
from nacre.text.tokens import query_tokens
from nacre.words import say

LONGEST = 2000  # characters that are looked at; a pasted page says what it is about in its first screens

# Words of a question about how things stand, and of one about how they were; sets, because a pattern of this size costs
# more to compile than the whole search.
_NOW = frozenset(
    "what what's how when when's where where's who who's which am does do is are now current currently latest newest today still".split()
)
_THEN = frozenset("did was were had used ago before previously originally first earlier yesterday last".split())
_NOW_HAN = ("现在", "目前", "当前", "如今", "最新", "至今", "多少", "几", "什么", "哪", "谁", "吗")
_THEN_HAN = ("过去", "当时", "之前", "以前", "曾", "那天", "上次", "昨天", "原来", "原先", "最初")
_DAY = r"\b(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})\b|(\d{4})\s*年\s*(\d{1,2})\s*月\s*(\d{1,2})\s*[日号]"
_MONTH = r"\b(\d{4})-(\d{2})\b(?![-/.]\d)|(\d{4})\s*年\s*(\d{1,2})\s*月(?!\s*\d)"


class Question(NamedTuple):
    """A question, its telling tokens, and the days it is about (both included) where it names any."""

    text: str
    tokens: tuple[str, ...]
    present: bool = False
    first_day: str | None = None
    last_day: str | None = None
    of_dates: frozenset[str] = frozenset()  # tokens of the days named: they may match, but need not be covered


def understand(text: str) -> Question:
    """Read a question. One without any word is refused: there is nothing to look for."""
    bare = text.strip()
    if not bare:
        raise BadInput(say("The question is empty; say what to look for.", "问题为空;请说明要查找什么。"))
    bare = bare[:LONGEST]
    tokens = tuple(query_tokens(bare))
    if not tokens:
        raise BadInput(
            say(
                "The question holds no word or number to look for; write a few words.",
                "问题中没有可供查找的文字或数字;请写几个词。",
            )
        )
    first, last, named = _days(bare)
    of_dates = frozenset(query_tokens(named)) if named else frozenset()
    return Question(bare, tokens, _asks_of_now(bare), first, last, of_dates)


def _asks_of_now(text: str) -> bool:
    """Whether the question is how things stand, as against how they were."""
    words = {word.strip('.,;:!?"()') for word in text.lower().replace("’", "'").split()}
    if words & _THEN or any(word in text for word in _THEN_HAN):
        return False
    return bool(words & _NOW) or any(word in text for word in _NOW_HAN)


def _days(text: str) -> tuple[str | None, str | None, str]:
    """The first and last day that a question names, and the words that name them."""
    nothing = None, None, ""
    if not any(character.isdigit() for character in text):
        return nothing
    if found := re.search(_DAY, text):
        year, month, day = (int(part) for part in found.groups() if part)
        try:
            named = dt.date(year, month, day).isoformat()
        except ValueError:
            return nothing
        return named, named, found[0]
    if found := re.search(_MONTH, text):
        year, month = (int(part) for part in found.groups() if part)
        if 1 <= month <= 12:
            return f"{year:04}-{month:02}-01", f"{year:04}-{month:02}-31", found[0]
    return nothing
