"""Brings the text of the index up to date with the files: only what changed is read, and only what changed in it is written."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from nacre.errors import NacreError, raise_unless_absent
from nacre.index.store import Generation, Store
from nacre.vault import disk
from nacre.vault.files import MemoryFile

if TYPE_CHECKING:
    from nacre.index.document import Part

    Headings = Callable[[Part], str]  # the tokens of what stands above a chunk


def add_chunk(
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
    from nacre.text.tokens import tokens_estimate

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


def replace_chunks(
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
            add_chunk(db, generation, file, layer, position, part, headings)
    if moves:
        db.executemany(
            "update chunks set position=?, first=?, last=?, layer=?, date=?, audience=?, project=? where id=?", moves
        )
    _remove_chunks(db, generation, list(kept.values()))
    return count


def remove_file(db: sqlite3.Connection, generation: Generation, file: int) -> None:
    """Remove a file and all of its chunks."""
    _remove_chunks(db, generation, [row[0] for row in db.execute("select id from chunks where file = ?", (file,))])
    db.execute("delete from files where id = ?", (file,))


def _remove_chunks(db: sqlite3.Connection, generation: Generation, ids: list[int]) -> None:
    rows = [(number,) for number in ids]
    db.executemany(f"delete from {generation.words} where rowid = ?", rows)
    db.executemany("delete from passages where chunk = ?", rows)
    db.executemany("delete from chunks where id = ?", rows)


# Bring the text of the index up to date with the files: only what changed is read, and only what changed in it is
# written.

_BATCH_FILES = 200
# A file written just before it was read may change again without a newer time. Two seconds is the coarsest tick of any file
# system. Every write moves ctime, which nobody can set; only Windows keeps something else there.
_RACY = 2_000_000_000
_BY_CTIME = os.name == "posix"


@dataclass
class TextReport:
    """What an update did."""

    files: int = 0
    read: int = 0
    changed: int = 0
    removed: int = 0
    chunks: int = 0
    unreadable: list[str] = field(default_factory=list)
    sessions: TextReport | None = None  # the same for the index of sessions, where there is one


# What is known of a file: path, id, then what the walk sees of it (layer, size, mtime, ctime, inode), and when it was read.
# Plain rows: two thousand objects would cost as much as the whole search.
_Known = tuple[str, int, str, int, int, int, int, int]
Progress = Callable[[int, int], None]


def update(
    store: Store,
    generation: Generation,
    found: Iterable[MemoryFile],
    progress: Progress | None = None,
    *,
    every_file: bool = False,
) -> TextReport:
    """Make the generation fit the files; in several transactions, so that an interrupted run is carried on by the next.

    `every_file` reads also those that look unchanged.
    """
    report = TextReport()
    known = _known(store.db, generation)
    fresh: list[MemoryFile] = []
    for one in found:
        report.files += 1
        before = known.pop(one.path, None)
        if every_file or before is None or before[2:7] != one[2:] or _racy(before):
            fresh.append(one)
    if known:
        with store.writing() as db:
            for path, number, *_, read_at in known.values():
                # Unless another process has read it since: then it is there again.
                same = "select 1 from files where id = ? and path = ? and read_at = ?"
                if db.execute(same, (number, path, read_at)).fetchone():
                    remove_file(db, generation, number)
                    report.removed += 1
    for start in range(0, len(fresh), _BATCH_FILES):
        prepared = [_prepare(one) for one in fresh[start : start + _BATCH_FILES]]
        with store.writing() as db:
            for file in prepared:
                _take_in(db, generation, file, report)
        if progress:
            progress(min(start + _BATCH_FILES, len(fresh)), len(fresh))
    return report


def count_changed(store: Store, generation: Generation, found: Iterable[MemoryFile]) -> int:
    """How many files differ from what the index knows of them; those that are gone count too."""
    known = _known(store.db, generation)
    changed = 0
    for one in found:
        before = known.pop(one.path, None)
        changed += before is None or before[2:7] != one[2:]
    return changed + len(known)


def _racy(row: _Known) -> bool:
    """Whether the file may have changed after it was read without showing a newer time."""
    return row[7] - (row[5] if _BY_CTIME else max(row[4], row[5])) < _RACY


def _known(db: sqlite3.Connection, generation: Generation) -> dict[str, _Known]:
    query = "select path, id, layer, size, mtime, ctime, inode, read_at from files where generation = ?"
    return {row[0]: row for row in db.execute(query, (generation.id,))}


_REFRESH = "update files set layer=?, size=?, mtime=?, ctime=?, inode=?, read_at=?, hash=? where id=?"


class _Prepared(NamedTuple):
    found: MemoryFile
    read_at: int
    data: bytes | None


def _prepare(one: MemoryFile) -> _Prepared:
    read_at = time.time_ns()
    try:
        return _Prepared(one, read_at, disk.read_log(one.full, one.path))
    except OSError as error:
        raise_unless_absent(one.path, error)
        return _Prepared(one, read_at, None)
    except NacreError:  # packed, and damaged or too large: doctor says so
        return _Prepared(one, read_at, None)


def _take_in(db: sqlite3.Connection, generation: Generation, file: _Prepared, report: TextReport) -> None:
    """Store one file. Another process may have done so meanwhile: the row is read again inside the transaction."""
    one = file.found
    row = db.execute(
        "select id, hash, layer, read_at from files where generation = ? and path = ?", (generation.id, one.path)
    ).fetchone()
    if row and file.read_at < row[3] <= time.time_ns():
        return  # another process has read it later than we did
    if file.data is None:
        report.unreadable.append(one.path)
        if row:
            remove_file(db, generation, row[0])
        return
    from nacre.index import document  # only a changed file pays for the machinery of chunks
    from nacre.index.document import content_digest, lies_where_named

    report.read += 1
    private = not lies_where_named(one.path, one.full)
    known = content_digest(file.data, private=private)
    facts = (one.layer, one.size, one.mtime, one.ctime, one.inode, file.read_at, known)
    if row and row[1] == known and row[2] == one.layer:
        db.execute(_REFRESH, (*facts, row[0]))
        return
    if row:
        number = row[0]
        db.execute(_REFRESH, (*facts, number))
    else:
        made = "insert into files(generation, path, layer, size, mtime, ctime, inode, read_at, hash) values(?,?,?,?,?,?,?,?,?)"
        number = db.execute(f"{made} returning id", (generation.id, one.path, *facts)).fetchone()[0]
    report.changed += 1
    parts = document.read_parts(
        one.path,
        one.layer,
        file.data,
        size=generation.chunk_tokens,
        overlap=generation.chunk_overlap,
        private=private,
    )
    report.chunks += replace_chunks(
        db, generation, number, one.layer, parts, lambda part: document.heading_tokens(part, one.path)
    )
