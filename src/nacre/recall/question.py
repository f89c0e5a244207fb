"""What a question asks for, beyond its words: how things stand now, or a certain day."""

from __future__ import annotations

import datetime as dt
from functools import cache
from typing import NamedTuple

from nacre.errors import BadInput
from nacre.recall.dates import days_named
from nacre.text.tokens import query_tokens, stop_tokens, tokens
from nacre.words import say

LONGEST = 2000  # characters that are looked at; a pasted page says what it is about in its first screens

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
    """A question, its telling tokens, and the days it is about (both included) where it names any."""

    text: str
    tokens: tuple[str, ...]
    present: bool = False  # asks how things stand
    now: bool = False  # and says so: "now", 现在
    first_day: str | None = None
    last_day: str | None = None
    of_dates: frozenset[str] = frozenset()  # tokens of the days named: they may match, but need not be covered
    only_days: bool = False  # asks for nothing but what there was on those days


def understand(text: str, today: dt.date) -> Question:
    """Read a question as it is asked today. One without any word is refused: there is nothing to look for."""
    bare = text.strip()
    if not bare:
        raise BadInput(say("The question is empty; say what to look for.", "问题为空；请说明要查找什么。"))
    bare = bare[:LONGEST]
    telling = tuple(query_tokens(bare))
    if not telling:
        raise BadInput(
            say(
                "The question holds no word or number to look for; write a few words.",
                "问题中没有可供查找的文字或数字；请写几个词。",
            )
        )
    days = days_named(bare, today)
    of_dates = frozenset(query_tokens(days.words)) if days else frozenset()
    words = {word.strip('.,;:!?"()') for word in bare.lower().replace("’", "'").split()}
    return Question(
        text=bare,
        tokens=telling,
        present=_asks_of_now(bare, words),
        now=bool(words & _NOW_ITSELF) or any(word in bare for word in _NOW_ITSELF_HAN),
        first_day=days.first if days else None,
        last_day=days.last if days else None,
        of_dates=of_dates,
        only_days=days is not None and _says_nothing_else(bare, days.words),
    )


def _asks_of_now(text: str, words: set[str]) -> bool:
    """Whether the question is how things stand, as against how they were or why."""
    if words & _THEN or any(word in text for word in _THEN_HAN):
        return False
    return bool(words & _NOW) or any(word in text for word in _NOW_HAN)


def _says_nothing_else(text: str, words: str) -> bool:
    at = text.lower().find(words.lower())
    rest = f"{text[:at]} {text[at + len(words) :]}"
    return not [token for token in tokens(rest) if token not in _about_anything() and token not in stop_tokens()]
