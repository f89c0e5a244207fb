"""After something was taken out of an index: nothing of it stays in the unused parts of the file.

SQLite leaves deleted text in free pages, full text its words until segments are merged, and vectors wait to be pruned. For a
talk that the user no longer wants indexed that is not good enough.
"""

from __future__ import annotations

import sqlite3

from nacre.index.store import Generation, Store


def overwrite_deleted(store: Store) -> None:
    """From now on this thread's connection overwrites what it deletes."""
    store.db.execute("pragma secure_delete = on")


def scrub(store: Store, generation: Generation) -> None:
    """Drop the words and vectors that nothing uses any more, and empty the journal."""
    words = generation.words
    with store.writing() as db:
        db.execute(f"insert into {words}({words}) values('optimize')")
        models = db.execute(
            "select id from models where exists(select 1 from vectors where model = models.id)"
        ).fetchall()
        if models:
            from nacre.index import vectors

            for (number,) in models:
                vectors.compact(db, number)
    _empty_journal(store.db)


def _empty_journal(db: sqlite3.Connection) -> None:
    """Move the journal into the file, unless somebody reads from it just now: then the next one to close the index does."""
    (patience,) = db.execute("pragma busy_timeout").fetchone()
    db.execute("pragma busy_timeout = 0")
    try:
        db.execute("pragma wal_checkpoint(truncate)").fetchall()
    finally:
        db.execute(f"pragma busy_timeout = {patience:d}")
