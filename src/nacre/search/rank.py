"""Scores candidates: words and meaning fused, neighbours, time, diversity, and the confidence that the best answers at all."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from nacre.search.candidates import Candidate
from nacre.search.query import Question


class Weights(NamedTuple):
    """How much each signal counts. The defaults were learned on public question sets, see docs/search.md."""

    vector: float = 0.5
    vector_when_uncovered: float = 0.1  # added as the words of the question are found less and less
    vector_when_covered: float = (
        0.35  # taken off as the best candidate covers more than COVERED of the question, to all of it
    )
    coverage: float = 0.3  # share of coverage within the text signal; the rest is BM25
    beside: float = 0.15
    two_away: float = 0.05
    same_file: float = 0.15


# Neighbours matter where entries are short, as the turns of a talk; passages of this many tokens stand for themselves.
SHORT, LONG = 50, 90
COVERED = 0.6


@dataclass(slots=True)
class Scored:
    candidate: Candidate
    text: float
    vector: float
    base: float
    lift: float = 0.0

    @property
    def score(self) -> float:
        return self.base + self.lift


def fuse(candidates: Mapping[int, Candidate], weights: Weights, *, text_only: bool) -> list[Scored]:
    """The candidates with their base scores, from 0 to 1."""
    every = list(candidates.values())
    if not every:
        return []
    best_bm25 = max(one.bm25 for one in every) or 1.0
    best_coverage = max(one.coverage for one in every)
    share = 0.0 if text_only else _share_of_meaning(best_coverage, weights)
    meaning = _meaning(every)
    scored = []
    for one in every:
        text = (1 - weights.coverage) * one.bm25 / best_bm25 + weights.coverage * one.coverage
        vector = meaning.get(one.id, 0.0)
        scored.append(Scored(one, text, vector, (1 - share) * text + share * vector))
    return scored


def _share_of_meaning(coverage: float, weights: Weights) -> float:
    """The weight of meaning against words: little where one candidate holds every word that was asked for."""
    exact = max(0.0, (coverage - COVERED) / (1 - COVERED))
    share = weights.vector + weights.vector_when_uncovered * (1 - coverage) - weights.vector_when_covered * exact
    return min(1.0, max(0.0, share))


def _meaning(every: list[Candidate]) -> dict[int, float]:
    """For each candidate its best cosine, scaled within each model from the least of the candidates (0) to the best (1)."""
    ranges: dict[int, tuple[float, float]] = {}
    for one in every:
        for model, cosine in one.cosines.items():
            low, high = ranges.get(model, (cosine, cosine))
            ranges[model] = (min(low, cosine), max(high, cosine))
    found: dict[int, float] = {}
    for one in every:
        for model, cosine in one.cosines.items():
            low, high = ranges[model]
            scaled = (cosine - low) / (high - low) if high > low else 1.0
            found[one.id] = max(found.get(one.id, 0.0), scaled)
    return found


def lift(scored: list[Scored], weights: Weights) -> None:
    """Let an entry gain from good neighbours: in a log of short entries an answer often stands next to what was asked for."""
    share = need_of_neighbours(scored)
    if not share:
        return
    places = {(one.candidate.file, one.candidate.position): one.base for one in scored}
    by_file: dict[int, list[float]] = {}
    for one in scored:
        by_file.setdefault(one.candidate.file, []).append(one.base)
    common = {file: sum(sorted(bases)[-3:]) / 3 for file, bases in by_file.items() if len(bases) > 1}

    def at(file: int, position: int) -> float:
        return places.get((file, position), 0.0)

    for one in scored:
        file, position = one.candidate.file, one.candidate.position
        one.lift = share * (
            weights.beside * max(at(file, position - 1), at(file, position + 1))
            + weights.two_away * max(at(file, position - 2), at(file, position + 2))
            + weights.same_file * common.get(file, 0.0)
        )


def need_of_neighbours(scored: list[Scored]) -> float:
    """How much the candidates need their neighbours, from 0 to 1, by how short they are on average."""
    if not scored:
        return 0.0
    length = sum(one.candidate.size for one in scored) / len(scored)
    return min(1.0, max(0.0, (LONG - length) / (LONG - SHORT)))


# What time does to a ranking: the present prefers the newest, a named day prefers itself, age otherwise breaks near
# ties.

EVERGREEN = frozenset({"longterm", "note", "extra"})
NEAR_TIE = 0.005  # how much of the best score age may move a hit by
CONTENDER = 0.8  # of two statements this near to each other the newer is more likely how things stand now
NEWER = 0.1
NOW = 0.25  # instead, when the question says "now"
KEPT = 0.5  # how new long-term memory counts: kept as true, but when was it written?
NAMED_DAY = 0.35


def weigh_time(
    scored: list[Scored], question: Question, today: dt.date, decay: str, half_life: float
) -> dict[int, float]:
    """What to add to each score for its date, by candidate; with `multiply`, OpenClaw's own form, what is lost to age."""
    if not scored:
        return {}
    best = max(one.score for one in scored) or 1.0
    changes: dict[int, float] = {}
    for one in scored:
        date = one.candidate.date
        change = 0.0
        if date and question.first_day and question.last_day and question.first_day <= date <= question.last_day:
            change += NAMED_DAY * best
        fresh = 1.0 if decay == "off" else freshness(date, one.candidate.layer, today, half_life)
        if decay == "multiply":
            change -= one.score * (1 - fresh)
        elif decay == "tie":
            change += NEAR_TIE * best * fresh
        changes[one.candidate.id] = change
    if question.present and decay == "tie":
        weight = NOW if question.now else NEWER
        for number, share in _newest_first(scored, CONTENDER * best).items():
            changes[number] += weight * best * share
    return changes


def _newest_first(scored: list[Scored], least: float) -> dict[int, float]:
    """For the contenders how new they are among themselves, from 0 to 1: by day, then by place in the log.

    Long-term memory is meant to hold how things stand; an undated note says nothing of when.
    """
    contenders = [one.candidate for one in scored if one.score >= least]
    dated = sorted((one for one in contenders if one.date), key=lambda one: (one.date or "", one.file, one.position))
    last = len(dated) - 1
    shares = {one.id: at / last for at, one in enumerate(dated)} if last > 0 else {}
    if len(contenders) > 1:
        shares |= {one.id: KEPT for one in contenders if one.layer == "longterm"}
    return shares


def freshness(date: str | None, layer: str, today: dt.date, half_life: float) -> float:
    """1 for today and for what never fades, halving with every half-life."""
    if not date or layer in EVERGREEN or half_life <= 0:
        return 1.0
    try:
        age = (today - dt.date.fromisoformat(date)).days
    except ValueError:
        return 1.0
    return math.pow(0.5, max(0, age) / half_life)


# How sure we are that the best candidate answers at all, so that a question nobody answered gets an honest nothing.

SURE_OF_DAYS = 0.6  # a question for nothing but a day is answered by what was written on it
FLOOR = 0.2  # on the questions it was fitted to, in English: about 98 of 100 answers kept, more than half of the others dropped


class _Curve(NamedTuple):
    start: float
    coverage: float
    cosine: float


# By script of the question, because each has its own embedding model; Han is also covered by chance more easily.
_WORDS = {"latin": _Curve(-3.0, 8.9, 0.0), "han": _Curve(-2.2, 7.5, 0.0)}
_BOTH = {"latin": _Curve(-5.4, 5.5, 8.9), "han": _Curve(-4.8, 3.9, 6.4)}


# The best of many unrelated passages comes nearer to a question than the best of few: by the medians of three sets about this much in cosine
# for every e-fold of passages. The curves hold for a memory of TYPICAL size.
_BY_CHANCE = 0.029
_TYPICAL = 200


def confidence(scored: list[Scored], script: str, total: int, *, text_only: bool) -> float:
    """From 0 to 1, by the best three candidates out of a memory of `total` passages."""
    if not scored:
        return 0.0
    best = scored[:3]
    coverage = max(one.candidate.coverage for one in best)
    cosine = max((max(one.candidate.cosines.values(), default=0.0) for one in best), default=0.0)
    cosine -= _BY_CHANCE * math.log(max(1, total) / _TYPICAL) if cosine else 0.0
    curve = (_WORDS if text_only else _BOTH)[script]
    return 1 / (1 + math.exp(-(curve.start + curve.coverage * coverage + curve.cosine * cosine)))


# Variety among the results: what says nearly the same as a better hit moves down (maximal marginal relevance).


def diversify(scores: Sequence[float], words: Sequence[frozenset[str]], balance: float, count: int) -> list[int]:
    """The positions of the best `count`, in order. `balance` 1 is relevance alone, 0 variety alone.

    `scores` are best first and at most 1. Only near-copies are worth a place: what merely shares a topic is not pushed down.
    """
    waiting = list(range(len(scores)))
    if balance >= 1:
        return waiting[:count]
    taken: list[int] = []
    nearest = [0.0] * len(scores)
    while waiting and len(taken) < count:
        best = max(waiting, key=lambda at: balance * scores[at] - (1 - balance) * nearest[at])
        waiting.remove(best)
        taken.append(best)
        for at in waiting:
            nearest[at] = max(nearest[at], _copy(words[best], words[at]))
    return taken


def _copy(one: frozenset[str], other: frozenset[str]) -> float:
    """0 for texts that share less than half of their words, rising to 1 for the same words."""
    shared = len(one & other)
    if not shared:
        return 0.0
    return max(0.0, 2 * shared / (len(one) + len(other) - shared) - 1)
