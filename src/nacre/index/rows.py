"""Chunks as rows: stored, replaced and removed together with their words and passages."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from nacre.index.store import Generation

if TYPE_CHECKING:
    from nacre.index.document import Part

    Headings = Callable[[Part], str]  # the tokens of what stands above a chunk


def add(
    db: sqlite3.Connection,
    generation: Generation,
    file: int,
    layer: str,
    position: int,
    part: Part,
    headings: Headings,
) -> None:
    """Store one chunk of a file."""
    from nacre.index import document
    from nacre.text.language import tokens_estimate

    chunk = db.execute(
        "insert into chunks(generation, file, position, first, last, heading, context, text, size, key, layer, date, time, session, project, audience, label, tags)"
        " values(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
        (
            generation.id,
            file,
            position,
            part.first,
            part.last,
            part.heading,
            part.context,
            part.text,
            tokens_estimate(part.text),
            part.key,
            layer,
            part.date,
            part.stamp.time,
            part.stamp.session,
            part.project,
            part.audience,
            part.label,
            json.dumps(part.tags, ensure_ascii=False) if part.tags else None,
        ),
    ).lastrowid
    db.execute(
        f"insert into {generation.words}(rowid, body, heading) values(?,?,?)",
        (chunk, document.body_tokens(part), headings(part)),
    )
    db.executemany(
        "insert into passages(chunk, position, hash) values(?,?,?)",
        [
            (chunk, at, document.passage_hash(text))
            for at, text in enumerate(document.passage_texts(part.context, part.text))
        ],
    )


def replace(
    db: sqlite3.Connection, generation: Generation, file: int, layer: str, parts: Iterable[Part], headings: Headings
) -> int:
    """Replace the chunks of a file; those whose words stayed the same keep their row and only move. How many there are."""
    kept = {row[0]: row[1] for row in db.execute("select key, id from chunks where file = ?", (file,))}
    moves: list[tuple[int, int, int, str, str | None, str | None, str | None, int]] = []
    count = 0
    for position, part in enumerate(parts):
        count += 1
        chunk = kept.pop(part.key, None)
        if chunk is not None:
            moves.append((position, part.first, part.last, layer, part.date, part.audience, part.project, chunk))
        else:
            add(db, generation, file, layer, position, part, headings)
    if moves:
        db.executemany(
            "update chunks set position=?, first=?, last=?, layer=?, date=?, audience=?, project=? where id=?", moves
        )
    _remove_chunks(db, generation, list(kept.values()))
    return count


def remove(db: sqlite3.Connection, generation: Generation, file: int) -> None:
    """Remove a file and all of its chunks."""
    _remove_chunks(db, generation, [row[0] for row in db.execute("select id from chunks where file = ?", (file,))])
    db.execute("delete from files where id = ?", (file,))


def _remove_chunks(db: sqlite3.Connection, generation: Generation, ids: list[int]) -> None:
    rows = [(number,) for number in ids]
    db.executemany(f"delete from {generation.words} where rowid = ?", rows)
    db.executemany("delete from passages where chunk = ?", rows)
    db.executemany("delete from chunks where id = ?", rows)
