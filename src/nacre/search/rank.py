"""Scores candidates: words and meaning fused, neighbours, time, diversity, and the confidence that the best answers at all."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Collection, Sequence
from typing import NamedTuple

from nacre.search.candidates import Candidate
from nacre.search.query import Question


class Weights(NamedTuple):
    """How much each signal counts. The defaults were learned on public question sets, see docs/search.md."""

    vector: float = 0.5
    vector_when_uncovered: float = 0.1  # added as the words of the question are found less and less
    vector_when_covered: float = 0.35  # taken off as the best candidate covers more than COVERED of the question
    coverage: float = 0.3  # share of coverage within the text signal; the rest is BM25
    beside: float = 0.15
    two_away: float = 0.05
    same_file: float = 0.15


# Neighbours matter where entries are short, as the turns of a session; passages of this many tokens stand for themselves.
SHORT, LONG = 50, 90
COVERED = 0.6


def fuse(candidates: Collection[Candidate], weights: Weights, *, text_only: bool) -> None:
    """Give the candidates their base scores, from 0 to 1."""
    best_bm25 = max((candidate.bm25 for candidate in candidates), default=0.0) or 1.0
    coverage = max((candidate.coverage for candidate in candidates), default=0.0)
    # The weight of meaning against words: little where one candidate holds every word that was asked for.
    exact = max(0.0, (coverage - COVERED) / (1 - COVERED))
    share = weights.vector + weights.vector_when_uncovered * (1 - coverage) - weights.vector_when_covered * exact
    share = 0.0 if text_only else min(1.0, max(0.0, share))
    ranges: dict[int, tuple[float, float]] = {}  # of the cosines, by model
    for candidate in candidates:
        for model, cosine in candidate.cosines.items():
            low, high = ranges.get(model, (cosine, cosine))
            ranges[model] = (min(low, cosine), max(high, cosine))
    for candidate in candidates:
        candidate.text = (1 - weights.coverage) * candidate.bm25 / best_bm25 + weights.coverage * candidate.coverage
        candidate.vector = 0.0
        for model, cosine in candidate.cosines.items():
            low, high = ranges[model]
            candidate.vector = max(candidate.vector, (cosine - low) / (high - low) if high > low else 1.0)
        candidate.base = (1 - share) * candidate.text + share * candidate.vector


def need_of_neighbours(candidates: Collection[Candidate]) -> float:
    """How much the candidates need their neighbours, from 0 to 1, by how short they are on average."""
    if not candidates:
        return 0.0
    length = sum(candidate.size for candidate in candidates) / len(candidates)
    return min(1.0, max(0.0, (LONG - length) / (LONG - SHORT)))


def lift(candidates: Collection[Candidate], weights: Weights) -> None:
    """Let an entry gain from good neighbours: in a log of short entries an answer often stands next to what was asked for."""
    share = need_of_neighbours(candidates)
    places = {(candidate.file, candidate.position): candidate.base for candidate in candidates}
    by_file: dict[int, list[float]] = {}
    for candidate in candidates:
        by_file.setdefault(candidate.file, []).append(candidate.base)
    common = {file: sum(sorted(bases)[-3:]) / 3 for file, bases in by_file.items() if len(bases) > 1}
    for candidate in candidates:
        file, position = candidate.file, candidate.position
        near = [places.get((file, position + offset), 0.0) for offset in (-1, 1, -2, 2)]
        candidate.lift = share * (
            weights.beside * max(near[:2])
            + weights.two_away * max(near[2:])
            + weights.same_file * common.get(file, 0.0)
        )


# What time does to a ranking: the present prefers the newest, a named day prefers itself, age otherwise breaks near ties.

EVERGREEN = frozenset({"longterm", "note", "extra"})
NEAR_TIE = 0.005  # how much of the best score age may move a hit by
CONTENDER = 0.8  # of two statements this near to each other the newer is more likely how things stand now
NEWER = 0.1
NOW = 0.25  # instead, when the question says "now"
KEPT = 0.5  # how new long-term memory counts: kept as true, but when was it written?
NAMED_DAY = 0.35


def weigh_time(
    candidates: Collection[Candidate], question: Question, today: dt.date, decay: str, half_life: float
) -> None:
    """Set what each score gains by its date; with `multiply`, OpenClaw's own form, what is lost to age."""
    best = max((candidate.score for candidate in candidates), default=0.0) or 1.0
    for candidate in candidates:
        date = candidate.date
        candidate.time = 0.0
        if date and question.days and question.days[0] <= date <= question.days[1]:
            candidate.time += NAMED_DAY * best
        fresh = 1.0
        if date and candidate.layer not in EVERGREEN and half_life > 0:
            fresh = math.pow(0.5, max(0, (today - dt.date.fromisoformat(date)).days) / half_life)
        if decay == "multiply":
            candidate.time -= candidate.score * (1 - fresh)
        elif decay == "tie":
            candidate.time += NEAR_TIE * best * fresh
    if not question.present or decay != "tie":
        return
    # How new the contenders are among themselves, from 0 to 1: by day, then by place in the log. Long-term memory is meant to hold
    # how things stand; an undated note says nothing of when.
    weight = (NOW if question.now else NEWER) * best
    contenders = [candidate for candidate in candidates if candidate.score >= CONTENDER * best]
    dated = [candidate for candidate in contenders if candidate.date]
    dated.sort(key=lambda candidate: (candidate.date or "", candidate.file, candidate.position))
    for at, candidate in enumerate(dated):
        if candidate.layer != "longterm" and len(dated) > 1:
            candidate.time += weight * (at / (len(dated) - 1))
    for candidate in contenders:
        if candidate.layer == "longterm" and len(contenders) > 1:
            candidate.time += weight * KEPT


# How sure we are that the best candidate answers at all, so that a question nobody answered gets an honest nothing.

SURE_OF_DAYS = 0.6  # a question for nothing but a day is answered by what was written on it
FLOOR = 0.2  # on the questions it was fitted to, in English: about 98 of 100 answers kept, more than half of the others dropped

# Intercept, coverage, cosine; by script of the question, because each has its own embedding model. Han is also covered by chance
# more easily.
_WORDS = {"latin": (-3.0, 8.9, 0.0), "han": (-2.2, 7.5, 0.0)}
_BOTH = {"latin": (-5.4, 5.5, 8.9), "han": (-4.8, 3.9, 6.4)}
# The best of many unrelated passages comes nearer to a question than the best of few: by the medians of three sets about this much in cosine
# for every e-fold of passages. The curves hold for a memory of TYPICAL size.
_BY_CHANCE = 0.029
_TYPICAL = 200


def confidence(candidates: Sequence[Candidate], script: str, total: int, *, text_only: bool) -> float:
    """From 0 to 1, by the best three candidates out of a memory of `total` passages."""
    best = candidates[:3]
    if not best:
        return 0.0
    coverage = max(candidate.coverage for candidate in best)
    cosine = max(max(candidate.cosines.values(), default=0.0) for candidate in best)
    cosine -= _BY_CHANCE * math.log(max(1, total) / _TYPICAL) if cosine else 0.0
    intercept, by_coverage, by_cosine = (_WORDS if text_only else _BOTH)[script]
    return 1 / (1 + math.exp(-(intercept + by_coverage * coverage + by_cosine * cosine)))


def diversify(scores: Sequence[float], words: Sequence[frozenset[str]], balance: float, count: int) -> list[int]:
    """The positions of the best `count`, in order (maximal marginal relevance). `balance` 1 is relevance alone, 0
    variety alone. `scores` are best first and at most 1. Only near-copies move down: what merely shares a topic is not
    pushed down."""
    waiting = list(range(len(scores)))
    if balance >= 1:
        return waiting[:count]
    taken: list[int] = []
    copied = [0.0] * len(scores)  # 0 for texts that share less than half of their words, rising to 1 for the same words
    while waiting and len(taken) < count:
        best = max(waiting, key=lambda at: balance * scores[at] - (1 - balance) * copied[at])
        waiting.remove(best)
        taken.append(best)
        for at in waiting:
            if shared := len(words[best] & words[at]):
                copied[at] = max(copied[at], 2 * shared / len(words[best] | words[at]) - 1)
    return taken
