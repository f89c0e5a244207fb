"""The chunks worth scoring: the best by words, the best by meaning, and their neighbours."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from nacre.index.store import Generation
from nacre.search.query import Question

Where = tuple[str, list[str]]  # an SQL condition over `chunks c` and its values
EVERYTHING: Where = ("", [])
_T = TypeVar("_T")
MANY = 5000  # chunks above which very common words no longer choose candidates


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

    @property
    def words(self) -> frozenset[str]:
        return frozenset(self.body.split())


class Terms(NamedTuple):
    """The words of a question with their weight in this corpus; `chosen` are rare enough to choose candidates by."""

    weights: dict[str, float]
    chosen: tuple[str, ...]
    total: int  # chunks in all
    size: float = 0.0  # mean tokens of a chunk, where the scope is narrower than the index


def weigh_terms(
    db: sqlite3.Connection,
    generation: Generation,
    tokens: Sequence[str],
    weightless: frozenset[str] = frozenset(),
    scope: Where = EVERYTHING,
) -> Terms:
    """Inverse document frequency of each word inside the scope; in a large corpus very common words choose nothing.

    The `weightless` ones choose too, but it does not matter whether they are covered.
    """
    counts: dict[str, int] = {}
    if scope[0]:
        query = f"select count(*), total(size) from chunks c where c.generation = ? and {scope[0]}"
        total, size = db.execute(query, (generation.id, *scope[1])).fetchone()
        for body, heading in _matching(db, generation, tokens, scope).values():
            for token in set(tokens) & {*body, *heading}:
                counts[token] = counts.get(token, 0) + 1
    else:
        total, size = db.execute(f"select count(*) from {generation.words}_docsize").fetchone()[0], 0
        for group in _groups(tokens):
            query = f"select term, doc from {generation.words}_terms where term in ({','.join('?' * len(group))})"
            counts |= dict(db.execute(query, group).fetchall())
    weights = {
        token: math.log(1 + (total - counts.get(token, 0) + 0.5) / (counts.get(token, 0) + 0.5)) for token in tokens
    }
    if weightless < set(tokens):
        weights |= dict.fromkeys(weightless, 0.0)
    known = sorted(counts, key=lambda token: counts[token])
    chosen = known if total <= MANY else [t for i, t in enumerate(known) if i < 3 or counts[t] <= total / 20]
    return Terms(weights, tuple(chosen[:64]), total, size / total if total else 0.0)


def by_words(
    db: sqlite3.Connection,
    generation: Generation,
    terms: Terms,
    where: Where,
    count: int,
    scope: Where = EVERYTHING,
) -> dict[int, float]:
    """The best chunks by BM25, with their score as a positive number."""
    if not terms.chosen:
        return {}
    if scope[0]:
        scores = _bm25_in_scope(_matching(db, generation, terms.chosen, where), terms)
        return dict(sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:count])
    match = " OR ".join(f'"{token}"' for token in terms.chosen)
    name = generation.words
    if where[0]:
        query = (
            f"select w.rowid, -bm25({name}, 1.0, 0.5) as s from {name} w join chunks c on c.id = w.rowid"
            f" where {name} match ? and {where[0]} order by s desc limit ?"
        )
        rows = db.execute(query, (match, *where[1], count))
    else:
        rows = db.execute(
            f"select rowid, -bm25({name}, 1.0, 0.5) as s from {name} where {name} match ? order by s desc limit ?",
            (match, count),
        )
    return dict(rows.fetchall())


def _matching(
    db: sqlite3.Connection, generation: Generation, tokens: Sequence[str], where: Where
) -> dict[int, tuple[list[str], list[str]]]:
    """The tokens (body, heading) of every chunk that holds one of these."""
    name = generation.words
    query = f"select w.rowid, w.body, w.heading from {name} w join chunks c on c.id = w.rowid where {name} match ? and {where[0]}"
    rows: dict[int, tuple[list[str], list[str]]] = {}
    for group in _groups(tokens, 64):
        match = " OR ".join(f'"{token}"' for token in group)
        rows |= {row[0]: (row[1].split(), row[2].split()) for row in db.execute(query, (match, *where[1]))}
    return rows


def _bm25_in_scope(rows: dict[int, tuple[list[str], list[str]]], terms: Terms) -> dict[int, float]:
    """BM25 as FTS5 computes it, but with the term weights and sizes of the scope alone: those of the whole index would tell a
    group which words stand in private memory."""
    scores: dict[int, float] = {}
    for number, (body, heading) in rows.items():
        longer = 1.2 * (0.25 + 0.75 * (len(body) + len(heading)) / (terms.size or 1.0))
        often = ((token, body.count(token) + 0.5 * heading.count(token)) for token in terms.chosen)
        scores[number] = sum(terms.weights[token] * f * 2.2 / (f + longer) for token, f in often if f)
    return scores


def by_days(db: sqlite3.Connection, generation: Generation, question: Question, where: Where, count: int) -> list[int]:
    """What was written on the days that the question names."""
    extra = f" and {where[0]}" if where[0] else ""
    query = f"select c.id from chunks c where c.generation = ? and c.date between ? and ?{extra} order by c.date desc, c.id limit ?"
    rows = db.execute(query, (generation.id, question.first_day, question.last_day, *where[1], count))
    return [row[0] for row in rows]


def by_hash(
    db: sqlite3.Connection, generation: Generation, hashes: Sequence[bytes], where: Where
) -> list[tuple[int, bytes]]:
    """The chunks that hold these passages."""
    rows: list[tuple[int, bytes]] = []
    extra = f" and {where[0]}" if where[0] else ""
    for group in _groups(hashes):
        query = (
            f"select p.chunk, p.hash from passages p join chunks c on c.id = p.chunk"
            f" where p.hash in ({','.join('?' * len(group))}) and c.generation = ?{extra}"
        )
        rows += db.execute(query, (*group, generation.id, *where[1])).fetchall()
    return rows


def every_passage(db: sqlite3.Connection, generation: Generation, where: Where) -> list[tuple[int, bytes]]:
    """Each passage that meets the condition, with its chunk."""
    query = (
        f"select p.chunk, p.hash from passages p join chunks c on c.id = p.chunk where c.generation = ? and {where[0]}"
    )
    return db.execute(query, (generation.id, *where[1])).fetchall()


def load(db: sqlite3.Connection, ids: Iterable[int]) -> dict[int, Candidate]:
    found: dict[int, Candidate] = {}
    for group in _groups(list(ids)):
        marks = ",".join("?" * len(group))
        for row in db.execute(f"select id, file, position, date, layer, size from chunks where id in ({marks})", group):
            found[row[0]] = Candidate(*row)
    return found


def neighbours(
    db: sqlite3.Connection, candidates: Iterable[Candidate], reach: int, where: Where
) -> dict[int, Candidate]:
    """What stands up to `reach` chunks before and after these, in the same files."""
    places = [place for one in candidates for place in (one.file, one.position)]
    if not places:
        return {}
    extra = f" and {where[0]}" if where[0] else ""
    query = (
        "select distinct c.id, c.file, c.position, c.date, c.layer, c.size"
        f" from (values {','.join(['(?,?)'] * (len(places) // 2))}) v join chunks c on c.file = v.column1"
        f" and c.position between v.column2 - {reach:d} and v.column2 + {reach:d}{extra}"
    )
    return {row[0]: Candidate(*row) for row in db.execute(query, (*places, *where[1]))}


def read_words(db: sqlite3.Connection, generation: Generation, candidates: dict[int, Candidate], terms: Terms) -> None:
    """Fill in the tokens of each candidate, and how much of the question's weight they cover."""
    whole = sum(terms.weights.values()) or 1.0
    asked = [(f" {token} ", weight / whole) for token, weight in terms.weights.items()]
    for group in _groups([one.id for one in candidates.values() if not one.body]):
        marks = ",".join("?" * len(group))
        query = f"select rowid, body, heading from {generation.words} where rowid in ({marks})"
        for number, body, heading in db.execute(query, group):
            one = candidates[number]
            # Tokens hold no spaces, so a padded search finds whole tokens, five times faster than a set of them.
            one.body = within = f" {body} "
            lacking = [(token, share) for token, share in asked if token not in within]
            one.coverage = 1.0 - sum(share for _, share in lacking)
            if lacking and heading:
                above = f" {heading} "
                one.coverage += 0.5 * sum(share for token, share in lacking if token in above)


def passage_hashes(db: sqlite3.Connection, ids: Iterable[int]) -> list[tuple[int, bytes]]:
    rows: list[tuple[int, bytes]] = []
    for group in _groups(list(ids)):
        rows += db.execute(
            f"select chunk, hash from passages where chunk in ({','.join('?' * len(group))})", group
        ).fetchall()
    return rows


def _groups(items: Sequence[_T], size: int = 500) -> list[Sequence[_T]]:
    return [items[start : start + size] for start in range(0, len(items), size)]
