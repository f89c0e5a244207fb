"""How an entry stands to those like it: found out when it is indexed, because the model that tells is too slow while somebody waits.

Each entry of a log is compared once with the few nearest to it; the odds stay in the index, by the words of the two, so that they hold
for copies in digests and in long-term memory too. What an agent tells of its own work is not compared: it changes no fact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from nacre.index.store import Store, in_groups
from nacre.text.blocks import AGENT_MARK
from nacre.text.tokens import asks, language_of
from nacre.vault.entries import bare_words, entry_id

if TYPE_CHECKING:
    import sqlite3

    from nacre.index.vectors import Scanner
    from nacre.search.evidence import Statement

LONGEST = 60  # tokens of an entry that is compared; longer ones say many things
MOST = 1000  # entries compared in one run; older ones that were waiting are left out
LIKELY = 0.7  # odds from which an entry is brought in with the one that it replaces
_NEAREST = 4  # entries that each is compared with
_LOOKED_AT = 40  # passages, for that many entries: the same words stand in several files
_AT_ONCE = 16  # entries whose odds are stored together
_AGENT = tuple(AGENT_MARK.values())
_LAYERS = ("daily", "archive")
_APART = {"en": 0.3, "zh": 0.42}  # cosine under which two entries are of different matters


class Odds(NamedTuple):
    """How likely the newer of two statements says the same, takes the place of the older one, or stands beside it."""

    same: float
    replaces: float
    beside: float


_BESIDE = Odds(0.0, 0.0, 1.0)
Compare = Callable[[Sequence[tuple[str, str]]], Sequence[Odds | None]]  # of (older, newer) texts


class _Entry(NamedTuple):
    chunk: int
    hash: bytes
    text: str
    date: str | None

    @property
    def words(self) -> str:
        return bare_words(self.text)

    @property
    def order(self) -> tuple[str, int]:
        return self.date or "", self.chunk


_COLUMNS = "select p.chunk, p.hash, c.text, c.date, c.layer, c.size from passages p join chunks c on c.id = p.chunk"


def _entries(rows: Iterable[tuple[int, bytes, str, str | None, str, int]]) -> list[_Entry]:
    """Those of the rows that are statements of their own."""
    entries = [_Entry(*row[:4]) for row in rows if row[4] in _LAYERS and row[5] <= LONGEST and not asks(row[2])]
    return [entry for entry in entries if entry.words and not entry.words.startswith(_AGENT)]


def relate(store: Store, scanner: Scanner, compare: Compare, most: int = MOST) -> int:
    """Compare the entries that are new in the index, the newest first; how many were."""
    query = f"{_COLUMNS} where p.compared is null and p.batch > 0 order by p.chunk desc limit ?"
    rows = store.db.execute(query, (4 * most,)).fetchall()
    if not rows:
        return 0
    new = _entries(rows)[:most]
    for start in range(0, len(new), _AT_ONCE):
        _relate(store, scanner, new[start : start + _AT_ONCE], compare)
    with store.writing() as db:
        db.execute(
            "update passages set compared = 1 where compared is null and batch > 0 and chunk <= ?", (rows[0][0],)
        )
    return len(new)


def _relate(store: Store, scanner: Scanner, new: Sequence[_Entry], compare: Compare) -> None:
    pairs: dict[tuple[str, str], tuple[_Entry, _Entry]] = {}
    for entry in new:
        for other in _nearest(store.db, scanner, entry):
            older, newer = sorted((entry, other), key=lambda either: either.order)
            key = entry_id(older.words), entry_id(newer.words)
            if not store.db.execute("select 1 from relations where older = ? and newer = ?", key).fetchone():
                pairs[key] = older, newer
    odds = compare([(older.words, newer.words) for older, newer in pairs.values()])
    with store.writing() as db:
        rows = [(*key, *made, pairs[key][1].hash) for key, made in zip(pairs, odds, strict=True) if made]
        db.executemany("insert or replace into relations values(?,?,?,?,?,?)", rows)
        db.executemany("update passages set compared = 1 where chunk = ?", [(entry.chunk,) for entry in new])


def _nearest(db: sqlite3.Connection, scanner: Scanner, entry: _Entry) -> list[_Entry]:
    """The entries most like this one, in its language and in other words."""
    cosines: dict[bytes, float] = {}
    for (model,) in db.execute("select id from models").fetchall():
        if vector := scanner.rows(model, [entry.hash]):
            cosines |= dict(scanner.nearest(model, vector[entry.hash], _LOOKED_AT))
    language = language_of(entry.words)
    near = [key for key, cosine in cosines.items() if cosine >= _APART[language]]
    others = {entry_id(entry.words): entry}
    candidates = _entries(in_groups(db, f"{_COLUMNS} where p.hash in (%s)", near))
    for other in sorted(candidates, key=lambda other: (-cosines[other.hash], other.order)):
        if language_of(other.words) == language:
            others.setdefault(entry_id(other.words), other)
    return list(others.values())[1 : _NEAREST + 1]


def successors(db: sqlite3.Connection, statements: Sequence[Statement]) -> list[int]:
    """The chunks of entries that likely take the place of one of these statements."""
    query = "select distinct p.chunk from relations r join passages p on p.hash = r.hash where r.older in (%s) and r.replaces >= ?"
    return [chunk for (chunk,) in in_groups(db, query, sorted(set().union(*map(_ids, statements))), LIKELY)]


def relations_between(
    db: sqlite3.Connection, statements: Sequence[Statement]
) -> Callable[[Statement, Statement], Odds | None]:
    """What is known of any two of these statements, the older one first. Two that stand in logs and were not found to be near each other
    stand side by side; None where one of them was not looked at."""
    names = {id(statement): _ids(statement) for statement in statements}
    ids = sorted(set().union(*names.values()))
    rows = in_groups(db, "select older, newer, same, replaces, beside from relations where newer in (%s)", ids)
    known = {(older, newer): Odds(*odds) for older, newer, *odds in rows}
    logged = {copy.id: id(statement) for statement in statements for copy in statement.copies if copy.layer in _LAYERS}
    looked_at = "select chunk from passages where chunk in (%s) and compared is not null"
    compared = {logged[chunk] for (chunk,) in in_groups(db, looked_at, list(logged))}

    def relation(older: Statement, newer: Statement) -> Odds | None:
        pairs = product(names.get(id(older), ()), names.get(id(newer), ())) if known else ()
        if odds := [known[pair] for pair in pairs if pair in known]:
            return max(odds, key=lambda row: row.replaces)
        return _BESIDE if id(older) in compared and id(newer) in compared else None

    return relation


def _ids(statement: Statement) -> set[str]:
    return {entry_id(bare_words(copy.text)) for copy in statement.copies if copy.size <= LONGEST}
