"""Which chunks are worth scoring: found by words, by meaning, by day or beside a good one; each with what the index knows of it."""

from __future__ import annotations

import math
import sqlite3
import string
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

from nacre.index.store import CHECKPOINT_WORDS, IN_TIERS, WORDS, in_groups
from nacre.search.query import Where, learned_words
from nacre.search.time import Period
from nacre.text.tokens import CJK, compiled, tokens

MANY = 5000  # chunks above which very common words no longer choose candidates
Tokens = tuple[list[str], list[str]]  # of the body and of the headings
_ASKING = 0.3  # of its weight: a word that keeps less belongs to the question, and chooses nothing
_MOST_MEANT = 3  # words of a question that are looked at as misspelt
_MEANT = 0.6  # of the weight of a word that is in no document goes to those that it may be meant for
_BEGINNING = 600  # characters of a chunk that are looked at for what they say
_COLUMNS = f"c.id, c.file, c.position, c.date, c.time, c.layer, c.size, substr(c.text, 1, {_BEGINNING})"


@dataclass(slots=True)
class Candidate:
    """A chunk under consideration, with what each way of looking says of it."""

    id: int
    file: int
    position: int
    date: str | None
    time: str | None
    layer: str
    size: int  # in tokens
    text: str  # its beginning
    bm25: float = 0.0
    coverage: float = 0.0
    cosines: dict[int, float] = field(default_factory=dict)  # by model
    body: str = ""  # its tokens, each between spaces
    holds: int = 0  # a bit for each word of the question that is among them


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
        self._and_where = f" and {where[0]}" if where[0] else ""
        self._and_kind = self._and_where + (f" and {IN_TIERS}" if checkpoints else f" and not {IN_TIERS}")

    def weigh_terms(self, tokens: Sequence[str], weightless: frozenset[str], text: str = "") -> Terms:
        """Inverse document frequency of each word inside the scope; in a large corpus very common words choose nothing.
        The `weightless` ones choose only where there are no others, and it does not matter whether they are covered. Where a word of
        the question's `text` is in no document, those that it may be a misspelling of take over a part of its weight."""
        counts: dict[str, int] = {}
        meant: dict[str, list[str]] = {}
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
            # Not within a scope: the words that stand outside of it must not show.
            if text and (unknown := {*tokens} - counts.keys() - weightless):
                for word, near in self._meant(unknown, text, total).items():
                    meant[word] = [term for term in near if term not in counts]
                    counts |= near
        weights = {
            token: math.log(1 + (total - counts.get(token, 0) + 0.5) / (counts.get(token, 0) + 0.5))
            for token in (*tokens, *chain.from_iterable(meant.values()))
        }
        for word, terms in meant.items():
            for term in terms:
                weights[term] *= _MEANT / len(terms)
            weights[word] *= 1 - _MEANT if terms else 1
        asking = learned_words()["asking"]
        for token in asking.keys() & weights.keys():
            weights[token] *= asking[token]
        if weightless < set(tokens):
            weights |= dict.fromkeys(weightless, 0.0)
        telling = {token for token in counts.keys() - weightless if asking.get(token, 1.0) > _ASKING}
        rarest = sorted(telling or counts.keys() - weightless or counts, key=lambda token: (counts[token], token))
        if total > MANY:
            rarest = [token for at, token in enumerate(rarest) if at < 3 or counts[token] <= total / 20]
        return Terms(weights, tuple(rarest[:64]), total, size / total if total else 0.0)

    def _meant(self, unknown: set[str], text: str, total: int) -> dict[str, dict[str, int]]:
        """For the words of a question that are in no document those that they may be misspellings of, with their counts."""
        words = [word for word in plain_words(text) if word in unknown][:_MOST_MEANT]
        for table in {WORDS, CHECKPOINT_WORDS} - {self._words}:
            rows = in_groups(self.db, f"select term from {table}_terms where term in (%s)", words)
            words = [word for word in words if (word,) not in rows]
        return {word: near_words(self.db, self._words, word, max(3, total // 20)) for word in words}

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
        join = " join chunks c on c.id = w.rowid" if self._and_where else ""
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

    def by_period(self, period: Period, count: int) -> list[int]:
        """What was said in a time, the newest first; within a part of the day only where the hour is known."""
        query = f"select c.id from chunks c where c.date between ? and ?{self._and_kind}"
        values: list[object] = [period.first, period.last, *self._where[1]]
        if period.hours:
            query += " and (c.time is null or c.time not glob '[0-2][0-9]:*' or (c.time >= ? and c.time < ?))"
            values += [f"{hour:02d}" for hour in period.hours]
        return [row[0] for row in self.db.execute(f"{query} order by c.date desc, c.id limit ?", (*values, count))]

    def passages(self, hashes: Sequence[bytes] | None = None) -> list[tuple[int, bytes]]:
        query = f"select p.chunk, p.hash from passages p join chunks c on c.id = p.chunk where %s{self._and_kind}"
        if hashes is None:
            return self.db.execute(query % "true", self._where[1]).fetchall()
        return in_groups(self.db, query % "p.hash in (%s)", hashes, *self._where[1])

    def load(self, ids: Iterable[int], *, filtered: bool = False) -> dict[int, Candidate]:
        """The candidates of these chunks; `filtered`: of those among them that the search may see."""
        where, values = (self._and_where, self._where[1]) if filtered else ("", ())
        rows = in_groups(self.db, f"select {_COLUMNS} from chunks c where c.id in (%s){where}", list(ids), *values)
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
        wanted = [(token, f" {token} ", 1 << at) for at, token in enumerate(terms.weights)]
        shares = [weight / whole for weight in terms.weights.values()]

        query = f"select rowid, body, heading from {self._words} where rowid in (%s)"
        for number, body, heading in in_groups(self.db, query, list(candidates)):
            # Tokens hold no spaces, so a padded search finds whole tokens, five times faster than a set of them; most are nowhere in it.
            candidate = candidates[number]
            candidate.body = padded = f" {body} "
            candidate.holds = holds = sum(bit for token, alone, bit in wanted if token in body and alone in padded)
            candidate.coverage = 1.0 - sum(share for at, share in enumerate(shares) if not holds >> at & 1)
            if heading and candidate.coverage < 1.0:
                above = f" {heading} "
                others = (at for at, (_, alone, bit) in enumerate(wanted) if not holds & bit and alone in above)
                candidate.coverage += 0.5 * sum(shares[at] for at in others)


def _any_of(tokens: Sequence[str]) -> str:
    return " OR ".join(f'"{token}"' for token in tokens)


# Misspelt names: words of the index that a word which is in no document is likely meant for.

_SHORTEST = {False: 6, True: 5}  # letters of a word that can be misspelt, by whether it begins as a name does
_LONG = 8  # letters from which two edits are allowed
_SUFFIX = 3  # letters that stemming took away from an ordinary word of English, which is no name
_MOST_NEAR = 3  # words that each may be meant for
_TRIED = 3  # letters in which an edit is tried out; after them, whatever begins in the same way is compared
# A word that stands alone: no part of a path, an address, a version or a name in code.
_PLAIN = rf"(?<![A-Za-z0-9_@/.`-])[^\W\d_{CJK}]{{4,64}}(?:['’]s)?(?![A-Za-z0-9_@/`-]|\.\w)"


def plain_words(text: str) -> list[str]:
    """The tokens of the words in a text that can be misspelt names: of letters alone, and nothing that only code writes in that way."""
    pairs = ((word, tokens(word)) for word in compiled(_PLAIN).findall(text) if word[1:].islower())
    single = ((word, parts[0]) for word, parts in pairs if len(parts) == 1 and parts[0].isascii())
    long = (token for word, token in single if len(word) - _SUFFIX < len(token) >= _SHORTEST[word[0].isupper()])
    return list(dict.fromkeys(long))


def near_words(db: sqlite3.Connection, table: str, word: str, at_most: int) -> dict[str, int]:
    """The words of a full text that are one edit away, of a long word two, with the count of their documents: the nearest, the rarest
    first, at most three. The first letter is the same, or has changed places with the second; what is in more than `at_most` documents
    is not what is looked for."""
    most = 2 if len(word) >= _LONG else 1
    # Behind the beginning an edit is found by comparing, in it by trying: few words begin with each of these.
    tried, end = (word, "") if most == 1 else (word[: _TRIED + 2], "~")  # of two, a second edit may follow
    ranges = [(word[:_TRIED], word[:_TRIED] + "~"), *((edited, edited + end) for edited in _edited(tried))]
    query = (
        f"select distinct w.term, w.doc from (values {','.join(['(?,?)'] * len(ranges))}) v cross join {table}_terms w"
        " where w.term >= v.column1 and w.term <= v.column2"
    )
    terms = db.execute(query, list(chain.from_iterable(ranges))).fetchall()
    letters = {*word}
    alike = (row for row in terms if abs(len(row[0]) - len(word)) <= most and len(letters ^ {*row[0]}) <= 2 * most)
    near = ((edits_between(word, term, most), count, term) for term, count in alike if count <= at_most)
    nearest = sorted(row for row in near if row[0] <= most)
    return {term: count for edits, count, term in nearest[:_MOST_NEAR] if edits == nearest[0][0]}


def _edited(word: str) -> Iterator[str]:
    """The word with one edit in its beginning, but for its first letter."""
    for at in range(_TRIED):
        yield word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    for at in range(1, _TRIED):
        yield word[:at] + word[at + 1 :]
        for letter in string.ascii_lowercase:
            yield word[:at] + letter + word[at + 1 :]
            yield word[:at] + letter + word[at:]


def edits_between(first: str, second: str, most: int) -> int:
    """How many letters were left out, put in, changed, or have changed places with the next; more than `most` where it is more."""
    while first and second and first[0] == second[0]:
        first, second = first[1:], second[1:]
    while first and second and first[-1] == second[-1]:
        first, second = first[:-1], second[:-1]
    if not first or not second or most == 0:
        return len(first) + len(second)
    ways = [(first[1:], second), (first, second[1:]), (first[1:], second[1:])]
    if first[:2] == second[1::-1]:
        ways.append((first[2:], second[2:]))
    return 1 + min(edits_between(*way, most - 1) for way in ways)
