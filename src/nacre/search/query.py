"""What a search asks for: the tokens of the question, the time it names, whether it asks how things stand or stood, and what narrows it."""

from __future__ import annotations

import datetime as dt
import json
import math
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from nacre.errors import BadInput
from nacre.model import LAYERS, Scope
from nacre.search.time import Period, period_named
from nacre.text.tokens import compiled, query_tokens, stop_tokens, tokens

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


# How things were before; not "what is used" nor "what to do before the upgrade", 升级之前要做什么.
_BEFORE = (
    r"\b(?:originally|previously|initially|formerly|used to|earlier|at first|back then)\b"
    r"|\b(?:was|were|did|had)\b.*\bbefore\b|之前(?!要|得|必须|先|应该|需要|记得)|以前|原来|原先|最初|起初|一开始|当初"
)

# A weekday alone is a day that was where the question is about something that happened then.
_WEEKDAY = r"(?:周|星期|礼拜)[一二三四五六日天]|(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_ASKS_OF_DAY = (
    r"[?？了过谁哪吗呢说聊]|[一二三四五六日天]的|什么|怎么|多少|(?i:\b(?:said|happened|discussed|decided|talked)\b)"
)


@cache
def _about_anything() -> frozenset[str]:
    """Tokens of words that ask what there was without saying about what."""
    words = (
        "what happened happen did i we was were write wrote written say said note notes log decide decided work worked talk talked go going went up"
        " 发生了什么 做了什么 做过什么 写了什么 说了什么 聊了什么 记了什么 干了什么 讨论了什么 决定了什么 有什么事 有哪些事情 忙了什么 忙什么 干嘛 忙些什么 都 些"
    )
    return frozenset(tokens(words))


class Question(NamedTuple):
    """A question, its telling tokens, and the time it is about where it names any."""

    text: str
    tokens: tuple[str, ...]
    present: bool = False  # asks how things stand
    past: bool = False  # asks how they were before
    now: bool = False  # and says so: "now", 现在
    period: Period | None = None  # the time that it names
    of_dates: frozenset[str] = frozenset()  # tokens of that time, and of "now": they may match, but need not be covered
    only_days: bool = False  # asks for nothing but what there was then
    help: float = 0.0  # the odds, from 0 to 1, that it asks for help rather than for what was said


def parse_question(text: str, today: dt.date) -> Question:
    """Read a question as it is asked today. One without any word is refused: there is nothing to look for."""
    bare = text.strip()
    if not bare:
        raise BadInput("The query is empty; enter what to search for.", "查询为空；请输入要搜索的内容。")
    bare = bare[:LONGEST_QUESTION]
    telling = tuple(query_tokens(bare))
    if not telling:
        raise BadInput(
            "The query contains no word or number to search for; enter a few words.",
            "查询中没有可搜索的文字或数字；请输入几个词。",
        )
    period = period_named(bare, today)
    only_days = False
    if period:
        rest = tokens(compiled("我们|咱们|大家|[我你都]").sub(" ", " ".join(bare.split(period.words, 1))))
        only_days = all(token in _about_anything() or token in stop_tokens() for token in rest)
    words = {word.strip('.,;:!?"()') for word in bare.lower().replace("’", "'").split()}
    if (
        period and not only_days and compiled(_WEEKDAY).fullmatch(period.words.lower())
    ):  # 周二发布: a release on Tuesdays
        asks = words & (_NOW | _THEN | {"on", "from", "since"}) or compiled(_ASKS_OF_DAY).search(bare)
        period = period if asks else None
    of_then = bool(words & _THEN) or any(word in bare for word in _THEN_HAN)
    now = [*(words & _NOW_ITSELF), *(word for word in _NOW_ITSELF_HAN if word in bare)]
    return Question(
        text=bare,
        tokens=telling,
        present=not of_then and (bool(words & _NOW) or any(word in bare for word in _NOW_HAN)),
        past=bool(compiled(_BEFORE).search(bare.lower())),
        now=bool(now),
        period=period,
        of_dates=frozenset(query_tokens(" ".join([period.words if period else "", *now]))),
        only_days=only_days,
        help=likely("help", bare),
    )


# What single words tell of questions and entries, as `training/words.py` learned it.


@cache
def learned_words() -> Any:
    return json.loads(Path(__file__).with_name("words.json").read_text(encoding="utf-8"))


def likely(table: str, text: str) -> float:
    """How likely a text is what the table tells of, from 0 to 1."""
    worth = learned_words()[table]
    return 1 / (1 + math.exp(-worth[""] - sum(worth.get(word, 0.0) for word in words_of(text))))


def words_of(text: str) -> set[str]:
    """The tokens of a text, and each two that stand side by side."""
    every = tokens(text)
    return {*every, *map(" ".join, pairwise(every))}


# What narrows a search: the caller's filters and the scope.

Where = tuple[str, list[str]]  # an SQL condition over `chunks c` and its values; empty when everything may be seen


class Filters(NamedTuple):
    """What the caller narrows the search to. Dates are ISO days, both included."""

    since: str | None = None
    until: str | None = None
    layers: tuple[str, ...] = ()
    type: str | None = None
    tag: str | None = None
    path: str | None = None
    project: str | None = None  # this project and what belongs to none; None: every project


def checked(filters: Filters) -> Filters:
    """The filters if they can be used, else an error that names what there is."""
    for layer in filters.layers:
        if layer not in LAYERS:
            names = ", ".join(LAYERS)
            raise BadInput(f'"{layer}" is not a layer; use one of {names}.', f"“{layer}”不是有效的层；可用：{names}。")
    if filters.since and filters.until and filters.since > filters.until:
        raise BadInput(
            f"{filters.since} is later than {filters.until}; swap the two dates.",
            f"{filters.since} 晚于 {filters.until}；请调换两个日期。",
        )
    return filters


def condition(scope: Scope, filters: Filters, today: str | None, moment: str | None = None) -> Where:
    """The SQL condition over `chunks c`, and its values. `today` hides what was written later: a question put as of a
    day knows nothing of the days after it. `moment` does the same to the second, for messages of sessions: of them the
    time is known as an ISO time, of entries in logs at best the minute."""
    conditions = {
        "(c.date is null or c.date <= ?)": today,
        "julianday(c.time) <= julianday(?)": moment,
        "c.date >= ?": filters.since,
        "c.date <= ?": filters.until,
        "c.label = ? collate nocase": filters.type,
        "exists(select 1 from json_each(c.tags) t where t.value = ? collate nocase)": (filters.tag or "").lstrip("#"),
        "exists(select 1 from files f where f.id = c.file and f.path glob ?)": filters.path,
        "(c.project is null or c.project = ?)": filters.project,
    }
    chosen = {sql: value for sql, value in conditions.items() if value}
    if scope.group is not None:
        chosen["(c.audience = '*' or c.audience = ?)"] = scope.group
    parts, values = list(chosen), list(chosen.values())
    if filters.layers:
        parts.append(f"c.layer in ({','.join('?' * len(filters.layers))})")
        values += filters.layers
    return " and ".join(parts), values
