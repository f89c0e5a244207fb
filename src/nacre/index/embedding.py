"""The embedder of a memory, and the vectors that are missing: made in small transactions, so that an interrupted run is carried on."""

from __future__ import annotations

import dataclasses
import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from nacre.config.settings import Config, EmbedSettings
from nacre.errors import ModelUnusable
from nacre.i18n import say
from nacre.index.store import Store

if TYPE_CHECKING:
    from nacre.embed.choose import Chain
    from nacre.embed.models import Embedder, ModelId
    from nacre.index.vectors import Floats, Scanner

_GROUP = 256  # passages fetched, embedded and stored together
_LIVE = "live batch"
# What was just written is to be found by meaning too: a search embeds a few passages itself, and goes on for as long as nobody
# minds waiting, so that searches alone complete an index in the end.
_EMBED_AT_ONCE = 8
_PATIENCE = 0.7  # seconds
_ASKED = 100  # vectors of questions that are remembered: one question is put to several corpora, and again


class Meaning(NamedTuple):
    """What is needed to search by meaning, with the question's vectors by model; or why it cannot be. `stale` when part of it is still to be made."""

    models: tuple[Embedder, Scanner] | None
    reason: str | None = None
    stale: bool = False
    asked: Mapping[str, Floats] = MappingProxyType({})


class MeaningSource:
    """Holds the embedders and the scanner of one memory for as long as it is open."""

    def __init__(self, config: Config, store: Store, embedder: Embedder | None = None) -> None:
        self._config = config
        self._store = store
        self._lock = threading.RLock()
        self._embedder = embedder
        self._asked: dict[tuple[str, str], Floats] = {}  # by model and question

    def over(self, store: Store) -> MeaningSource:
        other = MeaningSource(self._config, store)
        other._chain, other._asked = self._chain, self._asked
        return other

    @cached_property
    def _chain(self) -> Chain:
        from nacre.embed.choose import Chain, chain

        return Chain([(self._embedder, None)]) if self._embedder else chain(self._config)

    @property
    def chosen(self) -> tuple[Embedder | None, str | None]:
        """Who makes the vectors and, where something is missing or sent away, a line about it."""
        return self._chain.chosen

    @cached_property
    def scanner(self) -> Scanner:
        from nacre.index.vectors import Scanner

        return Scanner(self._store)

    def close(self) -> None:
        if "_chain" in vars(self):  # else nothing was opened
            self._chain.close()

    def fill(self, *, most: int | None = None, progress: Callable[[int, int], None] | None = None) -> int:
        """Embed what is waiting, by the first provider that works; how many passages were done."""
        chain = self._chain
        if not chain.embedders:
            return 0
        return chain.run(lambda embedder: fill(self._store, embedder, chain.embedders, most=most, progress=progress))

    def now(self, question: str) -> Meaning:
        """What can answer at this moment. A few passages that have no vector yet get theirs first."""
        if not self._chain.embedders:
            return Meaning(None, self.chosen[1])
        try:
            return self._chain.run(lambda embedder: self._by(embedder, question))
        except ModelUnusable as error:
            return Meaning(None, say(f"keyword search only: {error}", f"只能按关键词搜索：{error}"), stale=True)

    def _by(self, embedder: Embedder, question: str) -> Meaning:
        store, scanner = self._store, self.scanner
        batch = batch_for(store, embedder)
        live = store.get_meta(_LIVE)  # the batch that answers: the last one that was complete
        # The settings changed: the local models, where they made the vectors that are complete, go on answering. Never a service:
        # an index may have come with a clone, and must not choose where questions and keys are sent.
        local_batch = "select 1 from batches where id = ? and provider = 'local'"
        if live and live != str(batch) and store.db.execute(local_batch, (live,)).fetchone():
            from nacre.embed.choose import choose

            local, _ = choose(dataclasses.replace(self._config, embed=EmbedSettings(provider="local")))
            if local:
                return Meaning((local, scanner), stale=True, asked=self._vectors_of(question, local))
        until = time.monotonic() + _PATIENCE
        with self._lock:
            while (missing := bool(waiting(store.db, batch, 1))) and time.monotonic() < until:
                fill(store, embedder, self._chain.embedders, most=_EMBED_AT_ONCE, hurry=True)
        if missing and not store.db.execute("select 1 from vectors limit 1").fetchone():
            reason = say(
                'keyword search only: there are no vectors yet; run "nacre embed"',
                "只能按关键词搜索：尚未生成向量；请运行“nacre embed”",
            )
            return Meaning(None, reason, stale=True)
        return Meaning((embedder, scanner), stale=missing, asked=self._vectors_of(question, embedder))

    def _vectors_of(self, question: str, embedder: Embedder) -> dict[str, Floats]:
        """The question's vector by each model that has made some of the index."""
        from nacre.index.vectors import must_fit

        made: dict[str, Floats] = {}
        for model in embedder.models_for(question):
            row = self._store.db.execute("select dims from models where hash = ?", (model.hash,)).fetchone()
            if row:
                key = model.hash, question
                if (vector := self._asked.get(key)) is None or len(vector) != row[0]:
                    vector = embedder.embed(model, [question], query=True)[0]
                    must_fit(model, len(vector), row[0])
                    if len(self._asked) >= _ASKED:
                        self._asked.clear()
                    self._asked[key] = vector
                made[model.hash] = vector
        return made


# A batch is a set of models of one provider with which passages are embedded.


def batch_for(store: Store, embedder: Embedder) -> int:
    """The batch of this embedder, begun if it was not."""
    models = json.dumps(sorted(model.hash for model in embedder.models()))
    query = "select id from batches where provider = ? and models = ?"
    row = store.db.execute(query, (embedder.provider, models)).fetchone()
    if not row:
        settings = json.dumps({"names": sorted(model.name for model in embedder.models())})
        with store.writing() as db:
            made = "insert or ignore into batches(provider, models, settings) values(?,?,?)"
            db.execute(made, (embedder.provider, models, settings))
        row = store.db.execute(query, (embedder.provider, models)).fetchone()
    return int(row[0])


def waiting(db: sqlite3.Connection, batch: int, limit: int = -1) -> list[tuple[int, int, bytes]]:
    """The passages (chunk, position, hash) that this batch has not embedded: those never embedded first, of them the newest."""
    passages = "select chunk, position, hash from passages where batch"
    rows = db.execute(f"{passages} is null order by chunk desc limit ?", (limit,)).fetchall()
    if limit < 0 or len(rows) < limit:
        others = f"{passages} < :batch union all {passages} > :batch limit :limit"
        rows += db.execute(others, {"batch": batch, "limit": limit - len(rows) if limit >= 0 else -1}).fetchall()
    return rows


def waiting_count(db: sqlite3.Connection, batch: int) -> int:
    done = db.execute("select count(*) from passages where batch = ?", (batch,)).fetchone()[0]
    return int(db.execute("select count(*) from passages").fetchone()[0]) - int(done)


def fill(
    store: Store,
    embedder: Embedder,
    chain: Sequence[Embedder] = (),
    *,
    most: int | None = None,
    hurry: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Embed what is waiting, at most `most` passages; how many were done. In a `hurry` a service that is slow is soon given up.
    The first of a `chain` of embedders takes over when it is complete; vectors of the others are kept for when it fails."""
    from nacre.index import vectors

    batch = batch_for(store, embedder)
    total = waiting_count(store.db, batch) if progress else 0
    done = 0
    while group := waiting(store.db, batch, _GROUP if most is None else min(_GROUP, most - done)):
        texts = texts_of(store.db, {chunk for chunk, *_ in group})
        query = "select 1 from vectors where hash = ? and model = (select id from models where hash = ?)"
        missing: dict[ModelId, dict[bytes, str]] = {}
        for key in (key for *_, key in group if key in texts):
            for model in embedder.models_for(texts[key]):
                if not store.db.execute(query, (key, model.hash)).fetchone():
                    missing.setdefault(model, {})[key] = texts[key]
        made = [
            (model, list(by_hash), embedder.embed(model, list(by_hash.values()), hurry=hurry))
            for model, by_hash in missing.items()
        ]
        with store.writing() as db:
            for model, hashes, values in made:
                vectors.add(db, vectors.model_number(db, model, values.shape[1]), hashes, values)
            # Only passages that still say what was embedded: a file may have changed meanwhile.
            embedded = "update passages set batch = ? where chunk = ? and position = ? and hash = ?"
            db.executemany(embedded, [(batch, *passage) for passage in group])
        done += len(group)
        if progress:
            progress(done, max(total, done))
    if (chain and embedder is not chain[0]) or (most is not None and waiting(store.db, batch, 1)):
        return done
    # A complete batch takes over; vectors of models it does not use go, also those of a batch that was given up.
    unused = (
        "select id from models where exists(select 1 from signs where model = models.id) and hash not in"
        " (select value from json_each(?))"
    )
    used = json.dumps([model.hash for kept in (embedder, *chain) for model in kept.models()])
    if store.get_meta(_LIVE) != str(batch) or store.db.execute(unused, (used,)).fetchone():
        with store.writing() as db:
            for (number,) in db.execute(unused, (used,)).fetchall():
                vectors.drop(db, number)
            db.execute("insert or replace into meta values(?, ?)", (_LIVE, str(batch)))
    return done


def texts_of(db: sqlite3.Connection, chunks: Iterable[int]) -> dict[bytes, str]:
    """The texts of passages by their hash, made again from their chunks: the index does not keep them twice."""
    from nacre.index.document import passage_hash, passage_texts

    rows = [row for chunk in chunks for row in db.execute("select context, text from chunks where id = ?", (chunk,))]
    return {passage_hash(passage): passage for row in rows for passage in passage_texts(*row)}


def prune(store: Store) -> int:
    """Drop vectors that no passage uses any more, once they are a quarter of all; the rest move together."""
    from nacre.index.vectors import BLOCK, compact

    dropped = 0
    for (number,) in store.db.execute("select id from models").fetchall():
        counts = "select count(*), sum(not exists(select 1 from passages p where p.hash = v.hash)) from vectors v where model = ?"
        total, unused = store.db.execute(counts, (number,)).fetchone()
        if total and unused * 4 >= total and unused >= BLOCK:
            with store.writing() as db:
                compact(db, number)
            dropped += unused
    return dropped
