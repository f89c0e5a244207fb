"""Vectors in the index: sign bits in packed blocks to scan, int8 rows to score exactly.

A slot is a position in a model's row of vectors; slot // BLOCK names its block. Slots have no gaps. A vector belongs to a text
(by hash), not to a chunk, so that the same words are embedded once and a moved or restored file costs nothing.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from nacre.embed.models import ModelId
from nacre.errors import ModelUnusable
from nacre.index.store import Store, in_groups

BLOCK = 1024
_CHANGED = "vectors changed"
# Tells every scanner, of every thread and process, that what it holds is old. What is only appended it sees by itself.
_NOTE_CHANGE = f"insert into meta values('{_CHANGED}', 1) on conflict(key) do update set value = value + 1"
_AMONG = 300  # nearest by their signs, at least, that are scored exactly
_SEARCHES = 2  # from which whole vectors are held: a process that searches once reads less
_MOST_HELD = 64_000_000  # bytes of whole vectors of one model; of more, those that are needed are read each time
# SQLite would read all vectors of a model to find some by their hash: 150 ms instead of one in a million.
_BY = {"hash": "indexed by vector_hash", "slot": ""}
Floats = npt.NDArray[np.float32]


def model_number(db: sqlite3.Connection, model: ModelId, dims: int) -> int:
    """The number of a model in this index, given if it had none. The vectors say how many dimensions it has."""
    row = db.execute("select id, dims from models where hash = ?", (model.hash,)).fetchone()
    if row:
        must_fit(model, dims, row[1])
        return int(row[0])
    made = db.execute("insert into models(name, hash, dims) values(?,?,?) returning id", (model.name, model.hash, dims))
    return int(made.fetchone()[0])


def must_fit(model: ModelId, dims: int, stored: int) -> None:
    """An error where a service answers with other dimensions than those of the index: it has changed the model behind the name."""
    if dims != stored:
        raise ModelUnusable(
            f'{model.name} now produces vectors with {dims} dimensions, but those in the index have {stored}. Delete the folder .nacre/index in the workspace and run "nacre index" to rebuild it.',
            f"{model.name} 现在生成 {dims} 维向量，而索引中的是 {stored} 维。请删除工作区中的 .nacre/index 文件夹，再运行“nacre index”重建。",
        )


def add(db: sqlite3.Connection, model: int, hashes: Sequence[bytes], vectors: Floats) -> None:
    """Store unit vectors of texts that have none yet; inside the caller's transaction."""
    rows_of = "select hash from vectors where hash in (%s) and model = ?"
    stored = {row[0] for row in in_groups(db, rows_of, hashes, model)}
    fresh = {key: at for at, key in enumerate(hashes) if key not in stored}
    if not fresh:
        return
    rows = vectors[list(fresh.values())]
    scales = np.maximum(np.abs(rows).max(axis=1), 1e-9) / 127.0
    whole = np.round(rows / scales[:, None]).astype(np.int8)
    slot = int(db.execute("select coalesce(max(slot), -1) + 1 from vectors where model = ?", (model,)).fetchone()[0])
    _insert(db, model, slot, [(key, float(scales[at]), whole[at].tobytes()) for at, key in enumerate(fresh)], rows)


def compact(db: sqlite3.Connection, model: int) -> None:
    """Keep only the vectors that a passage uses, in new slots without gaps."""
    used = "exists(select 1 from passages p where p.hash = vectors.hash)"
    query = f"select hash, scale, data from vectors where model = ? and {used} order by slot"
    rows = db.execute(query, (model,)).fetchall()
    (dims,) = db.execute("select dims from models where id = ?", (model,)).fetchone()
    drop(db, model)
    _insert(db, model, 0, rows, _values(rows, dims))


def drop(db: sqlite3.Connection, model: int) -> None:
    db.execute("delete from vectors where model = ?", (model,))
    db.execute("delete from signs where model = ?", (model,))
    db.execute(_NOTE_CHANGE)


def _insert(
    db: sqlite3.Connection, model: int, slot: int, rows: list[tuple[bytes, float, bytes]], values: npt.NDArray[Any]
) -> None:
    """Append rows (hash, scale, data) from a slot on, and the signs of their values."""
    db.executemany(
        "insert into vectors(model, slot, hash, scale, data) values(?,?,?,?,?)",
        [(model, number, *row) for number, row in enumerate(rows, slot)],
    )
    signs = _signs(values)
    end = slot + len(rows)
    for block in range(slot // BLOCK, (end + BLOCK - 1) // BLOCK):
        row = db.execute("select data from signs where model = ? and block = ?", (model, block)).fetchone()
        first = max(slot, block * BLOCK)
        before = row[0][: (first - block * BLOCK) * signs.shape[1]] if row else b""
        added = signs[first - slot : (block + 1) * BLOCK - slot].tobytes()
        db.execute("insert or replace into signs values(?,?,?)", (model, block, before + added))


def _width(dims: int) -> int:
    """Bytes of one row of signs: whole machine words, so that a scan compares 64 dimensions at a time."""
    return (dims + 63) // 64 * 8


def _signs(rows: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    packed = np.packbits(rows > 0, axis=1)
    return np.pad(packed, ((0, 0), (0, _width(rows.shape[1]) - packed.shape[1])))


def _values(rows: list[tuple[Any, ...]], dims: int) -> npt.NDArray[np.int8]:
    return np.frombuffer(b"".join(row[2] for row in rows), np.int8).reshape(len(rows), dims)


class _Held(NamedTuple):
    """The vectors of a model as they were at a version, by slot: their signs in columns, and all of them where they are held."""

    version: tuple[int, str | None]
    signs: npt.NDArray[np.uint64]
    hashes: tuple[bytes, ...] = ()
    scales: Floats = np.empty(0, np.float32)
    values: npt.NDArray[np.int8] = np.empty((0, 0), np.int8)


class Scanner:
    """Finds the texts nearest to a question. Keeps the signs in memory, in a process that searches again and again also the vectors if
    they are not too large; of what was added since only that is read."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._held: dict[int, _Held] = {}  # by model
        self._searches: Counter[int] = Counter()  # by model

    def nearest(self, model: int, question: Floats, count: int, among: int = _AMONG) -> list[tuple[bytes, float]]:
        """The `count` texts nearest to the question, by hash, with their exact cosine, best first; out of the `among` that
        are nearest by their signs."""
        self._searches[model] += 1
        held = self._hold(model, len(question))
        slots = np.arange(held.signs.shape[1])
        if among < len(slots):
            differing = np.zeros(len(slots), np.uint16)
            for column, sign in zip(held.signs, _signs(question[None, :]).view(np.uint64)[0], strict=True):
                differing += np.bitwise_count(column ^ sign)
            most = np.searchsorted(np.bincount(differing).cumsum(), among)
            closer, as_far = np.flatnonzero(differing < most), np.flatnonzero(differing == most)
            slots = np.sort(np.concatenate((closer, as_far[: among - len(closer)])))
        hashes, scores = self._scores(held, model, question, "slot", slots.tolist())
        return [(hashes[at], float(scores[at])) for at in np.argsort(-scores, kind="stable")[:count].tolist()]

    def _hold(self, model: int, dims: int) -> _Held:
        db = self._store.db
        version = (self._store.epoch, self._store.get_meta(_CHANGED))
        held = self._held.get(model)
        if held is None or held.version != version:
            held = _Held(version, np.empty((_width(dims) // 8, 0), np.uint64), values=np.empty((0, dims), np.int8))
        (count,) = db.execute("select coalesce(max(slot), -1) + 1 from vectors where model = ?", (model,)).fetchone()
        if held.signs.shape[1] < count:
            whole = held.signs.shape[1] // BLOCK
            query = "select data from signs where model = ? and block >= ? order by block"
            data = b"".join(row[0] for row in db.execute(query, (model, whole)))
            added = np.ascontiguousarray(np.frombuffer(data, np.uint64).reshape(-1, len(held.signs)).T)
            held = held._replace(signs=np.concatenate((held.signs[:, : whole * BLOCK], added), axis=1))
        if self._searches[model] >= _SEARCHES and len(held.values) < count and count * dims <= _MOST_HELD:
            query = "select hash, scale, data from vectors where model = ? and slot >= ? order by slot"
            rows = db.execute(query, (model, len(held.values))).fetchall()
            held = held._replace(
                hashes=(*held.hashes, *(row[0] for row in rows)),
                scales=np.concatenate((held.scales, np.array([row[1] for row in rows], np.float32))),
                values=np.concatenate((held.values, _values(rows, dims))),
            )
        self._held[model] = held
        return held

    def cosines(self, model: int, question: Floats, hashes: Sequence[bytes]) -> dict[bytes, float]:
        if not hashes:
            return {}
        stored, scores = self._scores(self._hold(model, len(question)), model, question, "hash", hashes)
        return dict(zip(stored, scores.tolist(), strict=True))

    def rows(self, model: int, hashes: Sequence[bytes]) -> dict[bytes, Floats]:
        """The vectors of those texts that have one, by hash."""
        query = f"select hash, scale, data from vectors {_BY['hash']} where hash in (%s) and model = ?"
        rows = in_groups(self._store.db, query, hashes, model)
        return {key: np.frombuffer(data, np.int8) * np.float32(scale) for key, scale, data in rows}

    def _scores(
        self, held: _Held, model: int, question: Floats, column: str, keys: Sequence[Any]
    ) -> tuple[list[bytes], Floats]:
        """The vectors with these hashes or slots: their hashes and cosines. They are read from the file unless all are held."""
        if len(held.values) != held.signs.shape[1]:
            query = f"select hash, scale, data from vectors {_BY[column]} where {column} in (%s) and model = ?"
            rows = in_groups(self._store.db, query, keys, model)
            scales = np.array([row[1] for row in rows], np.float32)
            return [row[0] for row in rows], (_values(rows, len(question)) @ question) * scales
        if column == "hash":
            query = f"select hash, slot from vectors {_BY['hash']} where hash in (%s) and model = ?"
            keys = [slot for _, slot in in_groups(self._store.db, query, keys, model)]
        return [held.hashes[slot] for slot in keys], (held.values[keys] @ question) * held.scales[keys]
