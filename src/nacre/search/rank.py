"""Which chunks are worth scoring and their scores: words and meaning fused, neighbours, time, diversity, and the confidence that
the best answers at all."""

from __future__ import annotations

import datetime as dt
import math
import sqlite3
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from nacre.index.store import CHECKPOINT_WORDS, IN_TIERS, WORDS, in_groups
from nacre.search.query import Question, Where

MANY = 5000  # chunks above which very common words no longer choose candidates
Tokens = tuple[list[str], list[str]]  # of the body and of the headings
_COLUMNS = "c.id, c.file, c.position, c.date, c.layer, c.size"


@dataclass(slots=True)
class Candidate:
    """A chunk under consideration, with what each way of looking says of it."""

    id: int
    file: int
    position: int
    date: str | None
    layer: str
    size: int  # in tokens
    bm25: float = 0.0
    coverage: float = 0.0
    cosines: dict[int, float] = field(default_factory=dict)  # by model
    body: str = ""  # its tokens, each between spaces
    text: float = 0.0
    vector: float = 0.0
    base: float = 0.0  # words and meaning together
    lift: float = 0.0  # by good neighbours
    time: float = 0.0  # what its date adds

    @property
    def score(self) -> float:
        return self.base + self.lift

    @property
    def final(self) -> float:
        return self.score + self.time


class Terms(NamedTuple):
    """The words of a question with their weight in this corpus; `chosen` are rare enough to choose candidates by."""

    weights: dict[str, float]
    chosen: tuple[str, ...]
    total: int  # chunks in all
    size: float  # mean tokens of a chunk, where the scope is narrower than the index


class Chunks:
    """The chunks that a search may see: entries or checkpoints that meet `where`. `scope` is its part that the caller cannot
    widen: what stands outside of it has no influence on any score, nor have checkpoints on that of an entry."""

    def __init__(self, db: sqlite3.Connection, where: Where, scope: Where, *, checkpoints: bool = False) -> None:
        self.db = db
        self.scoped = bool(scope[0])
        self._where = where
        self._scope = scope
        self._words = CHECKPOINT_WORDS if checkpoints else WORDS
        self.is_filtered = bool(where[0])
        self._and_where = f" and {where[0]}" if where[0] else ""
        self._and_kind = self._and_where + (f" and {IN_TIERS}" if checkpoints else f" and not {IN_TIERS}")

    def weigh_terms(self, tokens: Sequence[str], weightless: frozenset[str]) -> Terms:
        """Inverse document frequency of each word inside the scope; in a large corpus very common words choose nothing.
        The `weightless` ones choose too, but it does not matter whether they are covered."""
        counts: dict[str, int] = {}
        size = 0.0
        if self.scoped:
            query = f"select count(*), total(size) from chunks c where {self._scope[0]}"
            total, size = self.db.execute(query, self._scope[1]).fetchone()
            for body, heading in self._matching(tokens, self._scope).values():
                for token in set(tokens) & {*body, *heading}:
                    counts[token] = counts.get(token, 0) + 1
        else:
            total = 0
            # Of a few checkpoints nothing tells how rare a word is: for them entries count too.
            for table in {WORDS, self._words}:
                total += self.db.execute(f"select count(*) from {table}_docsize").fetchone()[0]
                query = f"select term, doc from {table}_terms where term in (%s)"
                for token, count in in_groups(self.db, query, tokens):
                    counts[token] = counts.get(token, 0) + count
        weights = {
            token: math.log(1 + (total - counts.get(token, 0) + 0.5) / (counts.get(token, 0) + 0.5)) for token in tokens
        }
        if weightless < set(tokens):
            weights |= dict.fromkeys(weightless, 0.0)
        rarest = sorted(counts, key=lambda token: counts[token])
        if total > MANY:
            rarest = [token for at, token in enumerate(rarest) if at < 3 or counts[token] <= total / 20]
        return Terms(weights, tuple(rarest[:64]), total, size / total if total else 0.0)

    def by_words(self, terms: Terms, count: int) -> dict[int, float]:
        """The best chunks by BM25, with their score as a positive number."""
        if not terms.chosen:
            return {}
        if self.scoped:
            # BM25 as FTS5 computes it, but with the term weights and sizes of the scope alone: those of the whole index would
            # tell a group which words stand in private memory.
            scores: dict[int, float] = {}
            for number, (body, heading) in self._matching(terms.chosen, self._where).items():
                longer = 1.2 * (0.25 + 0.75 * (len(body) + len(heading)) / (terms.size or 1.0))
                often = ((token, body.count(token) + 0.5 * heading.count(token)) for token in terms.chosen)
                scores[number] = sum(terms.weights[token] * f * 2.2 / (f + longer) for token, f in often if f)
            return dict(sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:count])
        join = " join chunks c on c.id = w.rowid" if self.is_filtered else ""
        query = (
            f"select w.rowid, -bm25({self._words}, 1.0, 0.5) as s from {self._words} w{join}"
            f" where {self._words} match ?{self._and_where} order by s desc limit ?"
        )
        return dict(self.db.execute(query, (_any_of(terms.chosen), *self._where[1], count)).fetchall())

    def _matching(self, tokens: Sequence[str], where: Where) -> dict[int, Tokens]:
        query = (
            f"select w.rowid, w.body, w.heading from {self._words} w join chunks c on c.id = w.rowid"
            f" where {self._words} match ? and {where[0]}"
        )
        rows: dict[int, Tokens] = {}
        for start in range(0, len(tokens), 64):
            for number, body, heading in self.db.execute(query, (_any_of(tokens[start : start + 64]), *where[1])):
                rows[number] = body.split(), heading.split()
        return rows

    def by_days(self, first: str, last: str, count: int) -> list[int]:
        query = f"select c.id from chunks c where c.date between ? and ?{self._and_kind}"
        values = (first, last, *self._where[1], count)
        return [row[0] for row in self.db.execute(f"{query} order by c.date desc, c.id limit ?", values)]

    def passages(self, hashes: Sequence[bytes] | None = None) -> list[tuple[int, bytes]]:
        query = f"select p.chunk, p.hash from passages p join chunks c on c.id = p.chunk where %s{self._and_kind}"
        if hashes is None:
            return self.db.execute(query % "true", self._where[1]).fetchall()
        return in_groups(self.db, query % "p.hash in (%s)", hashes, *self._where[1])

    def load(self, ids: Iterable[int]) -> dict[int, Candidate]:
        rows = in_groups(self.db, f"select {_COLUMNS} from chunks c where c.id in (%s)", list(ids))
        return {row[0]: Candidate(*row) for row in rows}

    def neighbours(self, candidates: Iterable[Candidate], reach: int) -> dict[int, Candidate]:
        """What stands up to `reach` chunks before and after these, in the same files."""
        places = [place for candidate in candidates for place in (candidate.file, candidate.position)]
        query = (
            f"select distinct {_COLUMNS}"
            f" from (values {','.join(['(?,?)'] * (len(places) // 2))}) v join chunks c on c.file = v.column1"
            f" and c.position between v.column2 - {reach:d} and v.column2 + {reach:d}{self._and_where}"
        )
        return {row[0]: Candidate(*row) for row in self.db.execute(query, (*places, *self._where[1]))}

    def read_words(self, candidates: dict[int, Candidate], terms: Terms) -> None:
        """Fill in the tokens of each candidate, and how much of the question's weight they cover."""
        whole = sum(terms.weights.values()) or 1.0
        shares = [(f" {token} ", weight / whole) for token, weight in terms.weights.items()]
        query = f"select rowid, body, heading from {self._words} where rowid in (%s)"
        for number, body, heading in in_groups(self.db, query, list(candidates)):
            # Tokens hold no spaces, so a padded search finds whole tokens, five times faster than a set of them.
            padded = candidates[number].body = f" {body} "
            lacking = [(token, share) for token, share in shares if token not in padded]
            coverage = 1.0 - sum(share for _, share in lacking)
            if lacking and heading:
                above = f" {heading} "
                coverage += 0.5 * sum(share for token, share in lacking if token in above)
            candidates[number].coverage = coverage


def _any_of(tokens: Sequence[str]) -> str:
    return " OR ".join(f'"{token}"' for token in tokens)


# The scores.


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
