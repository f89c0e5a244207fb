"""From what words, meaning and neighbourhood say of each candidate to one score.

Each signal is scaled within the question's own candidates, because raw BM25 and cosine mean nothing across questions; how
much to trust words against meaning follows from how much of the question the best candidate covers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from nacre.recall.candidates import Candidate


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
