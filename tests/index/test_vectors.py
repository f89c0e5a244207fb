"""Vectors: what is stored is found again, the scan agrees with brute force, and another model never answers halfway."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.embed.models import ModelId
from nacre.index import embedding, vectors
from nacre.index.store import Store, _connect
from nacre.index.vectors import BLOCK, Scanner

Floats = npt.NDArray[np.float32]


def units(rows: npt.NDArray[Any]) -> Floats:
    made: Floats = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return made


def themes(rng: np.random.Generator, count: int, dims: int, kinds: int = 60) -> Floats:
    """Vectors as texts have them: gathered around themes, not spread evenly."""
    centres = units(rng.normal(size=(kinds, dims)))
    return units(centres[rng.integers(0, kinds, count)] + rng.normal(scale=0.6 / np.sqrt(dims), size=(count, dims)))


def keys(count: int, start: int = 0) -> list[bytes]:
    return [number.to_bytes(16, "big") for number in range(start, start + count)]


def in_use(db: sqlite3.Connection, hashes: list[bytes]) -> None:
    start = db.execute("select coalesce(max(chunk), 0) + 1 from passages").fetchone()[0]
    db.executemany(
        "insert into passages(chunk, position, hash) values(?, 0, ?)",
        [(start + at, key) for at, key in enumerate(hashes)],
    )


@pytest.fixture
def store(tmp_path: Path) -> Any:
    one = Store(tmp_path / "index" / "index.sqlite")
    yield one
    one.close()


def filled(store: Store, rows: Floats, step: int = 700) -> int:
    with store.writing() as db:
        model = vectors.model_number(db, ModelId("m", "h", 0), rows.shape[1])
    hashes = keys(len(rows))
    for start in range(0, len(rows), step):
        with store.writing() as db:
            vectors.add(db, model, hashes[start : start + step], rows[start : start + step])
    return model


@pytest.mark.parametrize("most_held", [0, 2_000_000])
@pytest.mark.parametrize("dims", [64, 100, 384])
def test_the_nearest_are_those_of_brute_force_whether_vectors_are_held_or_read(
    store: Store, dims: int, most_held: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "_MOST_HELD", most_held)
    rng = np.random.default_rng(dims)
    rows = themes(rng, 3000, dims)
    model = filled(store, rows)
    scanner = Scanner(store)
    for number in rng.integers(0, 3000, 25):
        question = units(rows[[number]] + rng.normal(scale=0.3 / np.sqrt(dims), size=(1, dims)))[0]
        exact = rows @ question
        best = np.argsort(-exact)[:10]
        found = scanner.nearest(model, question, 10)
        # int8 rows lose a little; two texts whose cosine differs by less may change places.
        assert [score for _, score in found] == pytest.approx(exact[best].tolist(), abs=0.01)
        held = {int.from_bytes(key, "big") for key, _ in found}
        assert all(exact[one] >= exact[best[-1]] - 0.01 for one in held)
        cosines = scanner.cosines(model, question, keys(3000))
        assert len(cosines) == 3000
        assert np.allclose([cosines[key] for key in keys(3000)], exact, atol=0.02)


@settings(max_examples=15, deadline=None)
@given(
    st.integers(1, 130),
    st.lists(st.sampled_from([1, 5, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 3]), min_size=1, max_size=3),
    st.integers(0, 2**32 - 1),
)
def test_any_number_of_dimensions_and_any_split_over_blocks_is_kept(dims: int, sizes: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = units(rng.normal(size=(sum(sizes), dims)))
    db = _connect(Path(":memory:"))
    model = vectors.model_number(db, ModelId("m", "h", 0), dims)
    hashes, start = keys(len(rows)), 0
    for size in sizes:
        vectors.add(db, model, hashes[start : start + size], rows[start : start + size])
        start += size
    signs = b"".join(row[0] for row in db.execute("select data from signs where model = ? order by block", (model,)))
    width = (dims + 63) // 64 * 8
    bits = np.unpackbits(np.frombuffer(signs, np.uint8).reshape(-1, width), axis=1)
    assert bits.shape[0] == len(rows)
    assert (bits[:, :dims] == (rows > 0)).all()
    assert not bits[:, dims:].any()
    stored = db.execute("select hash, scale, data from vectors where model = ? order by slot", (model,)).fetchall()
    assert [row[0] for row in stored] == hashes
    back = np.array([np.frombuffer(row[2], np.int8) * row[1] for row in stored])
    assert np.allclose(back, rows, atol=0.005)
    db.close()


def test_a_text_is_stored_once_however_often_it_is_given(store: Store) -> None:
    rows = units(np.random.default_rng(1).normal(size=(4, 64)))
    with store.writing() as db:
        model = vectors.model_number(db, ModelId("m", "h", 0), 64)
        vectors.add(db, model, [b"a", b"b", b"a"], rows[:3])
        vectors.add(db, model, [b"b", b"c"], rows[2:])
        assert [row[0] for row in db.execute("select hash from vectors order by slot")] == [b"a", b"b", b"c"]
    assert vectors.model_number(store.db, ModelId("other name", "h", 0), 64) == model


def test_models_do_not_mix(store: Store) -> None:
    rng = np.random.default_rng(5)
    with store.writing() as db:
        one = vectors.model_number(db, ModelId("one", "1", 64), 64)
        two = vectors.model_number(db, ModelId("two", "2", 100), 100)
        vectors.add(db, one, keys(5), units(rng.normal(size=(5, 64))))
        vectors.add(db, two, keys(3, 100), units(rng.normal(size=(3, 100))))
    scanner = Scanner(store)
    assert {key for key, _ in scanner.nearest(one, units(rng.normal(size=(1, 64)))[0], 50)} == set(keys(5))
    assert {key for key, _ in scanner.nearest(two, units(rng.normal(size=(1, 100)))[0], 50)} == set(keys(3, 100))
    assert scanner.nearest(99, units(rng.normal(size=(1, 64)))[0], 5) == []


def test_a_scanner_sees_what_another_connection_added_in_every_thread(store: Store) -> None:
    rng = np.random.default_rng(2)
    rows = units(rng.normal(size=(30, 64)))
    model = filled(store, rows[:10])
    scanner = Scanner(store)
    for _ in range(3):
        assert len(scanner.nearest(model, rows[0], 50)) == 10
    other = Store(store.path)
    with other.writing() as db:
        vectors.add(db, model, keys(10, 10), rows[10:20])
    seen: list[int] = []

    def ask() -> None:
        seen.append(len(scanner.nearest(model, rows[0], 50)))
        seen.append(len(scanner.cosines(model, rows[0], keys(30))))

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert seen == [20, 20]
    with other.writing() as db:
        vectors.add(db, model, keys(10, 20), rows[20:])
    assert len(scanner.nearest(model, rows[0], 50)) == 30
    assert len(scanner.cosines(model, rows[0], keys(30))) == 30
    other.close()


def test_compacting_keeps_what_is_used_and_the_answers_with_it(store: Store) -> None:
    rng = np.random.default_rng(3)
    rows = themes(rng, 2 * BLOCK + 500, 100)
    model = filled(store, rows)
    every = keys(len(rows))
    used = every[::2]
    in_use(store.db, used)
    scanner = Scanner(store)
    question = rows[0]
    for _ in range(3):  # the last one holds whole vectors
        before = {key: score for key, score in scanner.nearest(model, question, 200) if key in set(used)}
    with store.writing() as db:
        vectors.compact(db, model)
    assert [row[0] for row in store.db.execute("select slot from vectors order by slot")] == list(range(len(used)))
    after = dict(scanner.nearest(model, question, 200))
    assert all(after[key] == pytest.approx(score, abs=1e-5) for key, score in list(before.items())[:10])
    with store.writing() as db:
        vectors.add(db, model, [b"new"], rows[[1]])
    assert len(store.db.execute("select * from vectors").fetchall()) == len(used) + 1


def test_pruning_waits_until_it_is_worth_it(store: Store) -> None:
    rng = np.random.default_rng(4)
    rows = units(rng.normal(size=(3 * BLOCK, 64)))
    filled(store, rows)
    in_use(store.db, keys(3 * BLOCK))
    assert embedding.prune(store) == 0
    store.db.execute("delete from passages where chunk <= ?", (BLOCK // 2,))
    assert embedding.prune(store) == 0
    store.db.execute("delete from passages where chunk <= ?", (BLOCK + 5,))
    assert embedding.prune(store) == BLOCK + 5
    assert embedding.prune(store) == 0
