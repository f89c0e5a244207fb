"""Vectors in the index: sign bits in packed blocks to scan, int8 rows to score exactly.

A slot is a position in a model's row of vectors; slot // BLOCK names its block. A vector belongs to a text (by hash), not to
a chunk, so that the same words are embedded once and a moved or restored file costs nothing.
"""

from __future__ import annotations

import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from nacre.embed.models import Embedder, ModelId
from nacre.errors import ModelUnusable
from nacre.index.store import Store

BLOCK = 1024
_QUESTIONS = 256
_IN_MEMORY = 64_000_000  # bytes of rows that a process keeps for one model
Floats = npt.NDArray[np.float32]


CHANGED = "vectors changed"


def note_change(db: sqlite3.Connection) -> None:
    """Tell every scanner, of every thread and process, that what it holds is old."""
    db.execute("insert into meta values(?, 1) on conflict(key) do update set value = value + 1", (CHANGED,))


def model_number(db: sqlite3.Connection, model: ModelId, dims: int) -> int:
    """The number of a model in this index, given if it had none. The vectors say how many dimensions it has."""
    row = db.execute("select id, dims from models where hash = ?", (model.hash,)).fetchone()
    if row:
        must_fit(model, dims, row[1])
        return int(row[0])
    made = db.execute("insert into models(name, hash, dims) values(?,?,?) returning id", (model.name, model.hash, dims))
    return int(made.fetchone()[0])


def must_fit(model: ModelId, dims: int, known: int) -> None:
    """An error where a service answers with other dimensions than those of the index: it has changed the model behind the name."""
    if dims != known:
        raise ModelUnusable(
            f"{model.name} makes vectors of {dims} dimensions now, and made those of the index with {known}. Delete the "
            'folder .nacre/index of the workspace and run "nacre index" to make all of them anew.',
            f"{model.name} 现在生成 {dims} 维向量，而索引中的向量为 {known} 维。请删除工作区的 .nacre/index 文件夹，"
            "再运行“nacre index”全部重新生成。",
        )


def add(db: sqlite3.Connection, model: int, hashes: Sequence[bytes], vectors: Floats) -> None:
    """Store unit vectors of texts that have none yet; inside the caller's transaction."""
    known = {row[0] for row in _in_groups(db, "select hash from vectors where model = ? and hash in", model, hashes)}
    fresh = {key: at for at, key in enumerate(hashes) if key not in known}
    if not fresh:
        return
    slot = int(db.execute("select coalesce(max(slot), -1) + 1 from vectors where model = ?", (model,)).fetchone()[0])
    rows = vectors[list(fresh.values())]
    scales = np.maximum(np.abs(rows).max(axis=1), 1e-9) / 127.0
    whole = np.round(rows / scales[:, None]).astype(np.int8)
    signs = _signs(rows)
    db.executemany(
        "insert into vectors(model, slot, hash, scale, data) values(?,?,?,?,?)",
        [(model, slot + at, key, float(scales[at]), whole[at].tobytes()) for at, key in enumerate(fresh)],
    )
    note_change(db)
    width = signs.shape[1]
    end = slot + len(fresh)
    for block in range(slot // BLOCK, (end - 1) // BLOCK + 1):
        row = db.execute("select data from signs where model = ? and block = ?", (model, block)).fetchone()
        data = np.zeros((BLOCK, width), np.uint8)
        if row:
            held = np.frombuffer(row[0], np.uint8).reshape(-1, width)
            data[: len(held)] = held
        first, last = max(slot, block * BLOCK), min(end, (block + 1) * BLOCK)
        data[first - block * BLOCK : last - block * BLOCK] = signs[first - slot : last - slot]
        used = data[: last - block * BLOCK]
        db.execute(
            "insert into signs values(?,?,?) on conflict(model, block) do update set data = excluded.data",
            (model, block, used.tobytes()),
        )


def _width(dims: int) -> int:
    """Bytes of one row of signs: whole machine words, so that a scan compares 64 dimensions at a time."""
    return (dims + 63) // 64 * 8


def _signs(rows: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    packed = np.packbits(rows > 0, axis=1)
    return np.pad(packed, ((0, 0), (0, _width(rows.shape[1]) - packed.shape[1])))


def _in_groups(db: sqlite3.Connection, query: str, model: int, keys: Sequence[object]) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    for start in range(0, len(keys), 500):
        group = keys[start : start + 500]
        rows += db.execute(f"{query} ({','.join('?' * len(group))})", (model, *group)).fetchall()
    return rows


class _Held(NamedTuple):
    """What is in memory of one model: signs at once, the rows themselves from the second question on."""

    version: tuple[int, str | None]
    signs: npt.NDArray[np.uint64]
    slots: npt.NDArray[np.int64] | None = None  # in order; a gap where a vector was dropped
    hashes: list[bytes] | None = None
    rows: npt.NDArray[np.int8] | None = None
    scales: Floats | None = None
    places: dict[bytes, int] | None = None  # where the row of a hash stands


class Scanner:
    """Finds the texts nearest to a question. Keeps signs and rows in memory until the index changes."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._held: dict[int, _Held] = {}
        self._asked: OrderedDict[tuple[str, str], Floats] = OrderedDict()
        self._lock = threading.Lock()

    def question(self, embedder: Embedder, model: ModelId, text: str) -> Floats:
        """The vector of a question. Agents ask the same again and again: the last ones are kept."""
        key = (model.hash, text)
        with self._lock:
            if key in self._asked:
                self._asked.move_to_end(key)
                return self._asked[key]
        vector: Floats = embedder.embed(model, [text], query=True)[0]
        with self._lock:
            self._asked[key] = vector
            while len(self._asked) > _QUESTIONS:
                self._asked.popitem(last=False)
        return vector

    def nearest(self, model: int, question: Floats, count: int) -> list[tuple[bytes, float]]:
        """The `count` texts nearest to the question, by hash, with their exact cosine, best first."""
        held = self._load(model, len(question))
        total = len(held.signs)
        if not total:
            return []
        wide = min(total, max(3 * count, 300))
        if wide < total:
            distance = np.bitwise_count(held.signs ^ _signs(question[None, :]).view(np.uint64)).sum(
                axis=1, dtype=np.uint16
            )
            slots = np.sort(np.argpartition(distance, wide - 1)[:wide])
        else:
            slots = np.arange(total)
        hashes, rows, scales = self._rows(held, model, slots)
        if not hashes:
            return []
        scores = (rows @ question) * scales
        order = np.argsort(-scores)[:count]
        return [(hashes[at], float(scores[at])) for at in order]

    def cosines(self, model: int, question: Floats, hashes: Sequence[bytes]) -> dict[bytes, float]:
        """Cosine of the question with the texts of these hashes, those that have a vector."""
        held = self._held.get(model)
        if (
            held
            and held.version == self._version()
            and held.places is not None
            and held.rows is not None
            and held.scales is not None
        ):
            keys = [key for key in hashes if key in held.places]
            at = [held.places[key] for key in keys]
            rows, scales = held.rows[at], held.scales[at]
        else:
            query = "select hash, scale, data from vectors where model = ? and hash in"
            keys, rows, scales = _unpacked(_in_groups(self._store.db, query, model, hashes))
        return dict(zip(keys, ((rows @ question) * scales).tolist(), strict=True)) if keys else {}

    def _rows(
        self, held: _Held, model: int, slots: npt.NDArray[np.int64]
    ) -> tuple[list[bytes], npt.NDArray[np.int8], Floats]:
        if held.slots is not None and held.hashes is not None and held.rows is not None and held.scales is not None:
            at = np.searchsorted(held.slots, slots)
            at = at[at < len(held.slots)]
            at = at[np.isin(held.slots[at], slots)]
            return [held.hashes[one] for one in at], held.rows[at], held.scales[at]
        query = "select hash, scale, data from vectors where model = ? and slot in"
        return _unpacked(_in_groups(self._store.db, query, model, slots.tolist()))

    def _version(self) -> tuple[int, str | None]:
        return self._store.epoch, self._store.get_meta(CHANGED)

    def _load(self, model: int, dims: int) -> _Held:
        version = self._version()
        with self._lock:
            held = self._held.get(model)
            db = self._store.db
            if held is None or held.version != version:
                blocks = db.execute("select data from signs where model = ? order by block", (model,)).fetchall()
                data = np.frombuffer(b"".join(row[0] for row in blocks), np.uint8).reshape(-1, _width(dims))
                held = _Held(version, np.ascontiguousarray(data).view(np.uint64))
            elif held.rows is None and len(held.signs) * dims <= _IN_MEMORY:
                # A process that asks again is worth the memory: one read instead of hundreds for every question.
                rows = db.execute(
                    "select hash, scale, data, slot from vectors where model = ? order by slot", (model,)
                ).fetchall()
                places = {row[0]: at for at, row in enumerate(rows)}
                slots = np.array([row[3] for row in rows], np.int64)
                held = _Held(version, held.signs, slots, *_unpacked(rows), places)
            self._held[model] = held
            return held


def _unpacked(rows: list[tuple[Any, ...]]) -> tuple[list[bytes], npt.NDArray[np.int8], Floats]:
    """Rows of (hash, scale, data, …) as columns."""
    if not rows:
        return [], np.zeros((0, 1), np.int8), np.zeros(0, np.float32)
    data = np.frombuffer(b"".join(row[2] for row in rows), np.int8).reshape(len(rows), -1)
    return [row[0] for row in rows], data, np.array([row[1] for row in rows], np.float32)


def drop(db: sqlite3.Connection, model: int) -> None:
    """Forget every vector of a model."""
    db.execute("delete from vectors where model = ?", (model,))
    db.execute("delete from signs where model = ?", (model,))
    note_change(db)


def compact(db: sqlite3.Connection, model: int) -> int:
    """Keep only the vectors that a passage uses, in new slots without gaps; how many were dropped."""
    rows = db.execute(
        "select hash, scale, data from vectors v where model = ? and exists(select 1 from passages p where p.hash = v.hash) order by slot",
        (model,),
    ).fetchall()
    before = db.execute("select count(*) from vectors where model = ?", (model,)).fetchone()[0]
    drop(db, model)
    db.executemany(
        "insert into vectors(model, slot, hash, scale, data) values(?,?,?,?,?)",
        [(model, slot, *row) for slot, row in enumerate(rows)],
    )
    for block in range(0, len(rows), BLOCK):
        group = rows[block : block + BLOCK]
        signs = _signs(np.frombuffer(b"".join(row[2] for row in group), np.int8).reshape(len(group), -1))
        db.execute("insert into signs values(?,?,?)", (model, block // BLOCK, signs.tobytes()))
    return int(before) - len(rows)
