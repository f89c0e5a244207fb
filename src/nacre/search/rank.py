"""The scores of statements by learned weights, which of them is out of date, how sure we are of the best, and variety.

`weights.json` holds what `training/rank.py` learned: for each feature its worth and how that changes with the context, once for searches by
words and meaning and once for words alone; the odds that a newer statement takes the place of an older one; the odds that a hit answers.
"""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from nacre.search.evidence import FEATURES, Statement
from nacre.search.query import Question
from nacre.search.relations import LIKELY, LONGEST, Odds
from nacre.text.tokens import cjk_count, compiled, tokens
from nacre.vault.storage import TIERS

TEMPERATURE = 1.5  # a hit that scores this much less than the best is shown with e times less confidence
_OF_WORDS = frozenset({"words", "coverage", "filled", "phrase"})
_OF_MEANING = frozenset({"meaning", "near"})


@cache
def learned() -> Any:
    return json.loads(Path(__file__).with_name("weights.json").read_text(encoding="utf-8"))


def score(
    statements: Sequence[Statement], context: Sequence[float], *, text_only: bool, share: float | None = None
) -> list[Statement]:
    """Score the statements that have features; they are returned, best first. `share` is how much of the score the user wants to come
    from meaning; without it the learned balance holds."""
    table = learned()["text" if text_only else "hybrid"]
    worth = [sum(value * factor for value, factor in zip(table[name], context, strict=True)) for name in FEATURES]
    if share is not None:
        for at, name in enumerate(FEATURES):
            worth[at] *= 2 * (1 - share) if name in _OF_WORDS else 2 * share if name in _OF_MEANING else 1.0
    ranked = [statement for statement in statements if statement.features]
    for statement in ranked:
        statement.score = sum(map(float.__mul__, worth, statement.features))
    ranked.sort(key=lambda statement: -statement.score)
    return with_leader(ranked)


_LEADS = 0.8  # of the words' score of the best by words, at most, for all others
_PLACE = 2  # from 0, that the leader has at least


def with_leader(ranked: list[Statement]) -> list[Statement]:
    """The ranking with whatever is by far the best by words in third place at least: who types the very words of a note wants that note."""
    by_words = sorted(range(len(ranked)), key=lambda at: -ranked[at].words)[:2]
    if len(by_words) == 2 and by_words[0] > _PLACE and ranked[by_words[1]].words < _LEADS * ranked[by_words[0]].words:
        leader = ranked.pop(by_words[0])
        leader.score = ranked[_PLACE].score
        ranked.insert(_PLACE, leader)
    return ranked


# Of two statements about the same thing the newer one holds.

CONTENDERS = 10  # statements that are compared with one another
FURTHER = 24  # statements that are looked through for one that likely replaces one of them
ALIKE = 0.3  # likeness from which two statements may be about the same
AS_OLD = 0.5  # likeness from which an entry of long-term memory is as old as a line of a log
REACH = 2.5  # by how much less the newer one may score
FAR = 4.5  # the same where it likely replaces the older one
CERTAIN = 2.0  # odds from which the older one is shown as superseded, where the newer speaks of a change
PAIR = (
    "always",
    "likeness",  # cosine of the two
    "shared words",  # as a share of the shorter
    "shared question",  # how much of what each covers of the question both cover
    "margin",  # by how much the newer one fits better
    "behind",  # by how much the older one fits worse than the best
    "newer behind",
    "changes",  # the newer one speaks of a change
    "older changes",
    "other numbers",  # both name numbers, and not the same
    "same numbers",
    "number wanted",  # the newer one lacks the kind of number that is asked for
    "newer asks",  # the newer one is a question or a request
    "older asks",
    "present",
    "past",
    "older longterm",
    "newer longterm",
    "days apart",
    "denied",  # one of them denies something, the other does not
    "other speaker",  # two people say it
    "says the same",  # as the comparing of entries found: 0 where the two were not compared
    "replaces",
    "beside",
    "not compared",
)
_CHANGE = (  # of a text in lower case
    r"\b(?:now|no longer|any ?more|mov(?:e|es|ed|ing)|switch\w*|instead|chang\w+|replac\w+|new|gone|dropp?\w*|stopp?\w*|ended|retired|over to|from now on|again|after all|turns? out|actually"
    r"|postponed|pushed|brought forward|rescheduled|cancell?ed|up to|down to|bumped|raised|lowered|cut to|upgraded|left|took over|takes over|back to|off|correction|finally)\b"
    r"|改|换|不再|现在|以后|挪|推迟|提前|延期|取消|升级|升到|降到|调整|搬|接手|接替|离职|走了|不用了|停了|变成|涨到|降|加到|减到|其实|最终|最后|新的|更正|撤|从此"
)
_SENTENCE_END = r"[.!?;](?:\s|$)|[。！？；\n]|,\s+(?:so|and|but|which)\s"
_WITH_A_NUMBER = 1.2  # what a sentence with a number counts more: what changes mostly is one
_SPEAKER = r"\A[-*+\s]*([^\W\d_]\w{0,20}|[\u4e00-\u9fff]{2,4})[:：]\s"
_DENIAL = r"(?i)\b(?:no|not|never|none|without|\w+n't)\b|[不没无别勿]"
_NUMBERS = r"\d+(?:[.:,/]\d+)*|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day|周[一二三四五六日末]|[一二两三四五六七八九十]+(?=[点号月天个次周年])"
Likeness = Callable[[Statement, Statement], float]
Related = Callable[[Statement, Statement], Odds | None]
Successors = Sequence[tuple[Statement, Statement | None]]  # statements that no longer hold, and what holds instead


class Focus(NamedTuple):
    """What a statement tells of the matter that is asked about."""

    text: str
    words: frozenset[str]


def focus(statement: Statement, weights: Mapping[str, float]) -> Focus:
    """What it says, a long one by the sentence that holds most of the question."""
    shown = statement.shown
    if shown.size > LONGEST:
        return _best_sentence(shown.text, tuple(weights.items()))
    return Focus(shown.text, frozenset(shown.body.split()))


@lru_cache(maxsize=256)
def _best_sentence(text: str, weights: tuple[tuple[str, float], ...]) -> Focus:
    best, most = Focus("", frozenset()), -1.0
    for sentence in compiled(_SENTENCE_END).split(text):
        words = frozenset(tokens(sentence))
        covered = sum(weight for token, weight in weights if token in words)
        if compiled(_NUMBERS).search(sentence):
            covered *= _WITH_A_NUMBER
        if words and covered > most:
            best, most = Focus(sentence, words), covered
    return best


def pair_features(
    older: Statement,
    newer: Statement,
    question: Question,
    best: float,
    weights: Mapping[str, float],
    like: float,
    odds: Odds | None,
) -> list[float]:
    """What speaks for the newer statement taking the place of the older one, in the order of PAIR."""
    first, second = focus(older, weights), focus(newer, weights)
    words, new_words = first.words, second.words
    covered = {token for token in weights if token in words}
    new_covered = {token for token in weights if token in new_words}
    either = sum(weights[token] for token in covered | new_covered) or 1.0
    numbers, new_numbers = (set(compiled(_NUMBERS).findall(text.lower())) for text in (first.text, second.text))
    at = FEATURES.index("when"), FEATURES.index("amount"), FEATURES.index("question")
    first_day, second_day = (dt.date.fromisoformat(side.date) if side.date else None for side in (older, newer))
    days = min(60.0, abs((second_day - first_day).days)) / 60 if first_day and second_day else 0.0
    return [
        1.0,
        like,
        len(words & new_words) / max(1, min(len(words), len(new_words))),
        sum(weights[token] for token in covered & new_covered) / either,
        max(-3.0, min(3.0, newer.score - older.score)) / 3,
        min(3.0, best - older.score) / 3,
        min(3.0, best - newer.score) / 3,
        float(bool(compiled(_CHANGE).search(second.text.lower()))),
        float(bool(compiled(_CHANGE).search(first.text.lower()))),
        float(bool(numbers and new_numbers and not numbers & new_numbers)),
        float(bool(numbers & new_numbers)),
        float(any(older.features[k] > newer.features[k] for k in at[:2])),
        newer.features[at[2]],
        older.features[at[2]],
        float(question.present),
        float(question.past),
        float(older.shown.layer == "longterm"),
        float(newer.shown.layer == "longterm"),
        days,
        float(bool(compiled(_DENIAL).search(first.text)) != bool(compiled(_DENIAL).search(second.text))),
        float(_speaker(older.shown.text) != _speaker(newer.shown.text)),
        *(odds or (0.0, 0.0, 0.0)),
        float(odds is None),
    ]


def is_long(older: Statement, newer: Statement) -> bool:
    """Whether one of the two is compared by a sentence of it."""
    return max(older.shown.size, newer.shown.size) > LONGEST


def _speaker(text: str) -> str:
    match = compiled(_SPEAKER).match(text)
    return match[1].lower() if match else ""


def in_order_of_time(contenders: Sequence[Statement], like: Likeness) -> list[Statement]:
    """The statements whose time is known, oldest first. What long-term memory holds is as old as the entry that it is most like."""
    dated = [statement for statement in contenders if statement.date]
    days = {id(statement): statement.date or "" for statement in dated}
    for statement in contenders:
        if not statement.date and dated:
            nearest = max(dated, key=lambda other: like(statement, other))
            if like(statement, nearest) >= AS_OLD:
                days[id(statement)] = (nearest.date or "") + "~"  # written after it
    timed = [statement for statement in contenders if id(statement) in days]
    return sorted(timed, key=lambda statement: (days[id(statement)], statement.shown.file, statement.shown.position))


def contending(
    ranked: Sequence[Statement], question: Question, weights: Mapping[str, float], like: Likeness, related: Related
) -> Iterator[tuple[Statement, Statement, float]]:
    """The pairs, the older first, that are alike enough to be about the same, with their likeness. The one that would move up may not
    answer far worse, nor lack a number that the question names and the other has."""

    def likely(older: Statement, newer: Statement) -> bool:
        odds = related(older, newer)
        return odds is not None and odds.replaces >= LIKELY

    best = ranked[:CONTENDERS]
    further = ranked[CONTENDERS:FURTHER]
    linked = [new for new in further if any(likely(other, new) or likely(new, other) for other in best)]
    contenders = in_order_of_time([*best, *linked], like)
    named = set(compiled(_NUMBERS).findall(question.text.lower()))
    for at, newer in enumerate(contenders):
        for older in contenders[:at]:
            above, below = (older, newer) if question.past else (newer, older)
            reach = FAR if likely(older, newer) else REACH
            if above.score > below.score - reach and (near := _nearness(older, newer, weights, like)) >= ALIKE:
                has, lacks = (set(compiled(_NUMBERS).findall(side.shown.text.lower())) for side in (below, above))
                if not named & (has - lacks):
                    yield older, newer, near


def _nearness(older: Statement, newer: Statement, weights: Mapping[str, float], like: Likeness) -> float:
    """How alike two statements are; of two of which one is long, what they tell must have a word of the question in common."""
    if not is_long(older, newer):
        return like(older, newer)
    first, second = focus(older, weights).words, focus(newer, weights).words
    shared = first & second
    return 0.0 if shared.isdisjoint(weights) else max(like(older, newer), len(shared) / min(len(first), len(second)))


def supersede(
    ranked: list[Statement],
    question: Question,
    weights: Mapping[str, float],
    like: Likeness,
    related: Related,
    successors: Successors = (),
) -> list[Statement]:
    """The statements with each newer one above the older one that it replaces, as the ledger says or the learned weights find likely; the other
    way round where the question asks how things were before."""
    best = ranked[0].score if ranked else 0.0
    changes: list[tuple[float, Statement, Statement]] = []
    for older, newer, near in contending(ranked, question, weights, like, related):
        row = pair_features(older, newer, question, best, weights, near, related(older, newer))
        table = learned()["supersedes long" if is_long(older, newer) else "supersedes"]
        odds = sum(table[name] * value for name, value in zip(PAIR, row, strict=True))
        if odds > 0:
            changes.append((odds, older, newer))
            certain = odds > CERTAIN and row[PAIR.index("changes")] > 0
            is_whole = older.shown.layer not in TIERS and not is_long(older, newer)  # else the rest of it may hold
            older.superseded = older.superseded or (certain and is_whole)
    for older, successor in successors:
        older.superseded = True
        if successor and successor is not older:
            changes.append((math.inf, older, successor))
    for _, older, newer in sorted(changes, key=lambda change: change[0]):
        above, below = (older, newer) if question.past else (newer, older)
        if above.score <= below.score:
            above.score, below.score = below.score, min(above.score, below.score - 0.01)
    return sorted(ranked, key=lambda statement: -statement.score)


# How old it is.

NEAR_TIE = 0.02  # the most that age alone adds to a score


def weigh_age(ranked: list[Statement], decay: str) -> None:
    """With `multiply`, OpenClaw's own form, a shown score is multiplied by its freshness; with `tie` age breaks near ties."""
    if decay == "multiply":
        worth = [TEMPERATURE * math.log(max(1e-6, statement.fresh)) for statement in ranked]
    else:
        worth = [NEAR_TIE * statement.fresh for statement in ranked]
    for statement, gained in zip(ranked, worth, strict=True):
        statement.score += gained
    ranked.sort(key=lambda statement: -statement.score)


# How sure we are that the best answers at all.

SURE_OF_DAYS = 0.6  # a question for nothing but a day is answered by what was written on it
WEAK = 0.3  # a hit that scores less hardly answers
SURE = ("always", "coverage", "shared coverage", "cosine", "nearer", "margin", "lead", "size")


def sure_features(ranked: Sequence[Statement], total: int) -> list[float]:
    """What speaks for the best hits answering at all, in the order of SURE."""
    best, few = ranked[:3], ranked[:10]
    cosines = [max((c for copy in hit.copies for c in copy.cosines.values()), default=0.0) for hit in few]
    scores = [hit.score for hit in few]
    coverage, filled = FEATURES.index("coverage"), FEATURES.index("filled")
    return [
        1.0,
        max(hit.features[coverage] for hit in best),
        max(hit.features[coverage] + hit.features[filled] for hit in best),
        max(cosines),
        max(cosines) - sum(cosines) / len(cosines),
        (scores[0] - sum(scores) / len(scores)) / 4,
        (scores[0] - scores[min(1, len(scores) - 1)]) / 4,
        math.log(max(1, total)) / 10,
    ]


def confidence(ranked: Sequence[Statement], question: Question, total: int, *, text_only: bool) -> float:
    """From 0 to 1, by the best candidates out of a memory of `total` passages."""
    kind = ("text " if text_only else "hybrid ") + ("han" if cjk_count(question.text) else "latin")
    table = learned()["answers"][kind]
    odds = sum(table[name] * value for name, value in zip(SURE, sure_features(ranked, total), strict=True))
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, odds))))


# Variety.

VARIED = 10  # statements that are considered for a place, so that how many places there are changes none of them


def diversify(scores: Sequence[float], words: Sequence[frozenset[str]], balance: float, count: int) -> list[int]:
    """The positions of the best `count`, in order (maximal marginal relevance). `balance` 1 is relevance alone, 0
    variety alone. `scores` are best first and at most 1. Only near-copies move down: what merely shares a topic is not
    pushed down."""
    waiting = list(range(len(scores)))
    taken: list[int] = []
    compared = [0] * len(scores)  # with how many of those taken
    copied = [0.0] * len(scores)  # 0 for texts that share less than half of their words, rising to 1 for the same words
    while waiting and len(taken) < count:
        best = max(waiting[:VARIED], key=lambda at: balance * scores[at] - (1 - balance) * copied[at])
        for other in taken[compared[best] :]:
            fewer, more = sorted((len(words[best]), len(words[other])))
            if 2 * fewer > more:
                shared = len(words[best] & words[other])
                copied[best] = max(copied[best], 2 * shared / (fewer + more - shared) - 1)
        if compared[best] == len(taken):  # else it may have moved down: what was not compared with all can only do so
            waiting.remove(best)
            taken.append(best)
        compared[best] = len(taken)
    return taken
