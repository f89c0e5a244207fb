"""Fill in the vectors that are missing, in small transactions, so that an interrupted run is carried on by the next."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from nacre.index.store import Store, set_meta

if TYPE_CHECKING:
    from nacre.embed.models import Embedder, ModelId

_GROUP = 256  # passages fetched, embedded and stored together
LIVE = "live batch"


class Batch(NamedTuple):
    """A set of models of one provider with which passages are embedded."""

    id: int
    provider: str
    settings: str


def batch_for(store: Store, embedder: Embedder) -> Batch:
    """The batch of this embedder, begun if it was not."""
    models = json.dumps(sorted(model.hash for model in embedder.models()))
    settings = json.dumps({"names": sorted(model.name for model in embedder.models())})
    found = _batch(store.db, embedder.provider, models)
    if found:
        return found
    with store.writing() as db:
        db.execute(
            "insert or ignore into batches(provider, models, settings) values(?,?,?)",
            (embedder.provider, models, settings),
        )
    made = _batch(store.db, embedder.provider, models)
    assert made is not None
    return made


def _batch(db: sqlite3.Connection, provider: str, models: str) -> Batch | None:
    row = db.execute(
        "select id, provider, settings from batches where provider = ? and models = ?", (provider, models)
    ).fetchone()
    return Batch(*row) if row else None


def waiting(db: sqlite3.Connection, batch: Batch, limit: int = -1) -> list[tuple[int, int]]:
    """The passages (chunk, position) that this batch has not embedded."""
    query = (
        "select chunk, position from passages where batch is null union all select chunk, position from passages where batch < :b"
        " union all select chunk, position from passages where batch > :b limit :n"
    )
    return db.execute(query, {"b": batch.id, "n": limit}).fetchall()


def waiting_count(db: sqlite3.Connection, batch: Batch) -> int:
    done = db.execute("select count(*) from passages where batch = ?", (batch.id,)).fetchone()[0]
    return int(db.execute("select count(*) from passages").fetchone()[0]) - int(done)


def fill(
    store: Store,
    embedder: Embedder,
    *,
    most: int | None = None,
    hurry: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Embed what is waiting, at most `most` passages; how many were done. In a `hurry` a service that is slow is soon given up."""
    from nacre.index import vectors

    batch = batch_for(store, embedder)
    total = waiting_count(store.db, batch) if progress else 0
    done = 0
    while most is None or done < most:
        group = waiting(store.db, batch, _GROUP if most is None else min(_GROUP, most - done))
        if not group:
            break
        texts = _texts(store.db, group)
        wanted: dict[ModelId, dict[bytes, str]] = {}
        for key, text in texts.values():
            for model in embedder.models_for(text):
                wanted.setdefault(model, {})[key] = text
        made = []
        for model, by_hash in wanted.items():
            missing = _missing(store.db, model, by_hash)
            if missing:
                made.append((model, list(missing), embedder.embed(model, list(missing.values()), hurry=hurry)))
        with store.writing() as db:
            for model, hashes, rows in made:
                vectors.add(db, vectors.model_number(db, model, rows.shape[1]), hashes, rows)
            # Only passages that still say what was embedded: a file may have changed meanwhile.
            db.executemany(
                "update passages set batch = ? where chunk = ? and position = ? and hash = ?",
                [(batch.id, *place, texts[place][0]) for place in group if place in texts],
            )
            _recut(db, {chunk for chunk, position in group if (chunk, position) not in texts})
        done += len(group)
        if progress:
            progress(done, max(total, done))
    if most is None or not waiting(store.db, batch, 1):
        _make_live(store, batch)
    return done


def _texts(db: sqlite3.Connection, places: Sequence[tuple[int, int]]) -> dict[tuple[int, int], tuple[bytes, str]]:
    """The passages' texts, made again from their chunks: the index does not keep them twice.

    Left out are those whose chunk is gone, or is cut in another way than when they were stored.
    """
    from nacre.index import document  # only who makes vectors pays for the machinery of chunks

    wanted = set(places)
    found: dict[tuple[int, int], tuple[bytes, str]] = {}
    for chunk in dict.fromkeys(chunk for chunk, _ in places):
        row = db.execute("select context, text from chunks where id = ?", (chunk,)).fetchone()
        parts = document.passage_texts(row[0], row[1]) if row else []
        stored = dict(db.execute("select position, hash from passages where chunk = ?", (chunk,)).fetchall())
        for position, part in enumerate(parts):
            key = document.passage_hash(part)
            if (chunk, position) in wanted and stored.get(position) == key:
                found[chunk, position] = (key, part)
    return found


def _recut(db: sqlite3.Connection, chunks: set[int]) -> None:
    """Passages that do not fit their chunk could never be embedded, and would be waited for without end: cut it anew."""
    from nacre.index import document

    for chunk in chunks:
        row = db.execute("select context, text from chunks where id = ?", (chunk,)).fetchone()
        stored = db.execute("select hash from passages where chunk = ? order by position", (chunk,)).fetchall()
        cut = [document.passage_hash(part) for part in document.passage_texts(*row)] if row else []
        if cut == [key for (key,) in stored]:
            continue  # another process was faster
        db.execute("delete from passages where chunk = ?", (chunk,))
        db.executemany(
            "insert into passages(chunk, position, hash) values(?,?,?)",
            [(chunk, position, key) for position, key in enumerate(cut)],
        )


def _missing(db: sqlite3.Connection, model: ModelId, by_hash: dict[bytes, str]) -> dict[bytes, str]:
    row = db.execute("select id from models where hash = ?", (model.hash,)).fetchone()
    if row is None:
        return by_hash
    known = {
        key
        for key in by_hash
        if db.execute("select 1 from vectors where model = ? and hash = ?", (row[0], key)).fetchone()
    }
    return {key: text for key, text in by_hash.items() if key not in known}


def live_batch(store: Store) -> Batch | None:
    """The batch that answers: the last one that was complete."""
    number = store.get_meta(LIVE)
    row = (
        number
        and store.db.execute("select id, provider, settings from batches where id = ?", (int(number),)).fetchone()
    )
    return Batch(*row) if row else None


def _make_live(store: Store, batch: Batch) -> None:
    """A complete batch takes over; vectors of models it does not use go, also those of a batch that was given up."""
    from nacre.index import vectors

    unused = (
        "select id from models where exists(select 1 from signs where model = models.id) and hash not in"
        " (select value from batches, json_each(batches.models) where batches.id = ?)"
    )
    if store.get_meta(LIVE) == str(batch.id) and not store.db.execute(unused, (batch.id,)).fetchone():
        return
    with store.writing() as db:
        for (number,) in db.execute(unused, (batch.id,)).fetchall():
            vectors.drop(db, number)
        set_meta(db, LIVE, str(batch.id))


def prune(store: Store) -> int:
    """Drop vectors that no passage uses any more, once they are a quarter of all; the rest move together."""
    from nacre.index import vectors

    dropped = 0
    for (number,) in store.db.execute("select id from models").fetchall():
        counts = "select count(*), sum(not exists(select 1 from passages p where p.hash = v.hash)) from vectors v where model = ?"
        total, unused = store.db.execute(counts, (number,)).fetchone()
        if not total or (unused or 0) * 4 < total or unused < vectors.BLOCK:
            continue
        with store.writing() as db:
            dropped += vectors.compact(db, number)
    return dropped
