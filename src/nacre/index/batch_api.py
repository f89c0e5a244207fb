"""Passages that are left with a batch service: submitted, and taken in by a later run. Killed at any moment, nothing is paid twice."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from nacre.disk import hold
from nacre.index.embedding import texts_of, waiting
from nacre.index.store import Store, set_meta

if TYPE_CHECKING:
    from nacre.embed.batch_api import Jobs
    from nacre.embed.remote import RemoteEmbedder

_OPEN = "embedding jobs"


def run_jobs(store: Store, embedder: RemoteEmbedder, batch: int) -> None:
    """Take in the vectors that are ready, and submit what is waiting where it is much. What a job did not embed is waiting again."""
    jobs = embedder.jobs
    if jobs is None or not (embedder.batch_api or _open_jobs(store)):
        return
    with hold(store.path.with_name("embedding.lock")):
        results = [_take_in(store, embedder, jobs, job) for job in _open_jobs(store) if job["batch"] == batch]
        if embedder.batch_api and "failed" not in results:  # else its texts are embedded one request after another
            while _submit(store, embedder, batch, jobs):
                pass


def _open_jobs(store: Store) -> list[dict[str, Any]]:
    jobs: list[dict[str, Any]] = json.loads(store.get_meta(_OPEN) or "[]")
    return jobs


def _take_in(store: Store, embedder: RemoteEmbedder, jobs: Jobs, job: dict[str, Any]) -> str:
    import numpy as np

    from nacre.index import vectors

    (model,) = embedder.models()
    number = job["id"] or jobs.find(job["name"])  # a run that was killed may have submitted it
    made = jobs.result(number) if number else {}
    if made is None:
        return "open"
    with store.writing() as db:
        wanted = {
            key.hex() for (key,) in db.execute("select distinct hash from passages")
        }  # not what was forgotten since
        rows = {key: vector for key, vector in made.items() if key in wanted}
        if rows:
            values = np.vstack(list(rows.values()))
            vectors.add(db, vectors.model_number(db, model, values.shape[1]), list(map(bytes.fromhex, rows)), values)
        others = [other for other in _open_jobs(store) if other["name"] != job["name"]]
        set_meta(db, _OPEN, json.dumps(others))
        if not any(other["batch"] == job["batch"] for other in others):
            db.execute("update passages set batch = null where batch = ?", (-job["batch"],))
    jobs.forget(job["name"], number)
    return "failed" if number and not made else "done"


def _submit(store: Store, embedder: RemoteEmbedder, batch: int, jobs: Jobs) -> bool:
    """Submit a job where enough is waiting; whether it was."""
    from nacre.embed.batch_api import LEAST, MOST

    if len(waiting(store.db, batch, LEAST)) < LEAST:
        return False
    (model,) = embedder.models()
    query = (
        "select min(chunk), hash from passages p where (batch is null or batch not in (:batch, -:batch)) and not exists"
        " (select 1 from vectors v join models m on m.id = v.model where m.hash = :model and v.hash = p.hash)"
        " group by hash limit :most"
    )
    rows = store.db.execute(query, {"batch": batch, "model": model.hash, "most": MOST}).fetchall()
    all_texts = texts_of(store.db, {chunk for chunk, _ in rows})
    texts = {key.hex(): all_texts[key] for _, key in rows if embedder.models_for(all_texts.get(key, ""))}
    if len(texts) < LEAST:
        return False
    job = {"batch": batch, "name": jobs.begin(texts), "id": None}
    _note(store, job, texts)
    job["id"] = jobs.submit(str(job["name"]), texts)
    _note(store, job)
    return True


def _note(store: Store, job: dict[str, Any], texts: dict[str, str] | None = None) -> None:
    """Remember a job and whose texts are with it."""
    with store.writing() as db:
        set_meta(db, _OPEN, json.dumps([*(other for other in _open_jobs(store) if other["name"] != job["name"]), job]))
        keys = [(-job["batch"], bytes.fromhex(key)) for key in texts or ()]
        db.executemany("update passages set batch = ? where hash = ?", keys)
