"""The rows of an append-only file by what they name, so that nobody reads all of a long file for a few of its lines.

The beginning of a long file is known to `.nacre/index/lines.sqlite`, as keys and places, never words; the rest, less than a batch, is
read. The database is derived: it goes by the hash of the bytes it was made of, and is made anew in batches, each committed, when
these changed. Where it cannot be used, the whole file is read.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nacre import disk
from nacre.errors import NacreError
from nacre.model.workspace import Workspace
from nacre.vault import spool
from nacre.vault.storage import check_place, parse_row, parse_rows, storage_of

if TYPE_CHECKING:
    import sqlite3

FILE_NAME = "lines.sqlite"
BROKEN = "broken"  # the key of lines that are no record of their file
_FORM = 2  # of the tables and of all keys: an older database is made anew
_BATCH = 400_000  # bytes; a shorter file is read sooner than SQLite is loaded
_RACY = 2_000_000_000  # nanoseconds in which a file may change again without showing another time
_PATIENCE = 2.0  # seconds that another process may hold the database

Keys = Callable[[dict[str, Any]], Iterable[str] | None]
"""What a row is looked for by; None for one that is no record of its file."""


class LineIndex:
    """The rows of a file as it was when this was opened."""

    def __init__(self, workspace: Workspace, path: Path, keys_of: Keys) -> None:
        self._keys_of, self._name = keys_of, path.name
        self._rows: list[dict[str, Any]] = []  # those that are not in the database
        self._places: dict[str, list[int]] = {}
        self._db: sqlite3.Connection | None = None
        storage, name = storage_of(workspace), workspace.relative(path)
        try:
            check_place(storage, name)
            rest = None if workspace.storage else self._open(workspace.index, path)
            self._hold((storage.read(name) or b"") if rest is None else rest)
        except NacreError:
            return  # doctor says what is wrong with it

    def __contains__(self, key: str) -> bool:
        query = "select 1 from keys where file = ? and key = ?"
        return key in self._places or bool(self._db and self._db.execute(query, (self._name, _safe(key))).fetchone())

    def keys(self, prefix: str) -> list[str]:
        """The rest of every key that begins so, in the order of the file."""
        query = "select key from keys where file = ? and key > ? and key < ? order by start"
        bounds = (self._name, prefix, prefix + "\U0010ffff")
        stored = [key for (key,) in self._db.execute(query, bounds)] if self._db else []
        places = [(place, key) for key, at in self._places.items() if key.startswith(prefix) for place in at]
        return [key[len(prefix) :] for key in (*stored, *(key for _, key in sorted(places)))]

    def without(self, prefix: str, other: str) -> list[str]:
        """The rest of every key that begins so, where no key is the same behind another beginning."""
        query = """select substr(a.key, ?) from keys a where a.file = ? and a.key > ? and a.key < ?
            and not exists (select 1 from keys b where b.file = a.file and b.key = ? || substr(a.key, ?))"""
        start = len(prefix) + 1
        bounds = (start, self._name, prefix, prefix + "\U0010ffff", other, start)
        stored = [rest for (rest,) in self._db.execute(query, bounds)] if self._db else []
        new = [key[len(prefix) :] for key in self._places if key.startswith(prefix)]
        return [rest for rest in stored if other + rest not in self._places] + [
            rest for rest in new if other + rest not in self
        ]

    def rows(self, keys: Iterable[str]) -> list[dict[str, Any]]:
        """The rows that have one of the keys, in the order of the file."""
        wanted = set(map(_safe, keys))
        stored: list[dict[str, Any]] = []
        if self._db:
            query = "select start, length from keys where file = ? and key = ?"
            places = {place for key in wanted for place in self._db.execute(query, (self._name, key))}
            for start, length in sorted(places):
                self._file.seek(start)
                row = parse_row(self._file.read(length))
                if row is None or wanted.isdisjoint(self._keys(row)):  # somebody writes into the file just now
                    self._db, stored = None, []
                    self._file.seek(0)
                    self._hold(self._file.read())
                    break
                stored.append(row)
        return stored + [self._rows[at] for at in sorted({at for key in wanted for at in self._places.get(key, ())})]

    def _keys(self, row: dict[str, Any] | None) -> set[str]:
        keys = None if row is None else self._keys_of(row)
        return {BROKEN} if keys is None else set(map(_safe, keys))

    def _hold(self, data: bytes) -> None:
        rows = parse_rows(data, "")
        self._rows, self._places = [row.value for row in rows.rows], {BROKEN: []} if rows.problems else {}
        for place, row in enumerate(self._rows):
            for key in self._keys(row):
                self._places.setdefault(key, []).append(place)

    def _open(self, folder: Path, path: Path) -> bytes | None:
        """Bring the database up to date: the bytes behind those that it knows; None where all are to be read."""
        try:
            if os.lstat(path).st_size < _BATCH:
                return None
            import sqlite3
        except OSError:
            return None
        try:
            self._file = os.fdopen(disk.open_regular(path, os.O_RDONLY), "rb")
            weakref.finalize(self, self._file.close)
            db = _connect(folder)
            weakref.finalize(self, db.close)
            end = self._bring_up(db)
            if end is None:
                return None
            self._db = db
            self._file.seek(end)
            return self._file.read()
        except (OSError, sqlite3.Error) as error:
            if isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError):
                with contextlib.suppress(OSError):  # damaged: the next one makes it anew
                    os.unlink(folder / FILE_NAME)
            return None

    def _bring_up(self, db: sqlite3.Connection) -> int | None:
        """Where the bytes end that the database knows; None when another process is at it. What was seen stays as it is until the
        connection is closed."""
        query = "select size, modified, changed, inode, checked, end, hash from files where file = ?"
        about, checked = os.fstat(self._file.fileno()), time.time_ns()
        now = (about.st_size, about.st_mtime_ns, about.st_ctime_ns, about.st_ino)
        db.execute("begin")
        known = db.execute(query, (self._name,)).fetchone()
        if known and known[:4] == now and known[4] - about.st_ctime_ns > _RACY and now[0] - known[5] < _BATCH:
            return int(known[5])
        db.execute("rollback")
        data = memoryview(self._file.read())
        end, read = known[5] if known else 0, hashlib.sha256()
        read.update(data[:end])
        if known and read.hexdigest() != known[6]:
            end, read = 0, hashlib.sha256()
        while True:
            stop = _batch_end(data, end)
            read.update(data[end:stop])
            row = (*now, checked, stop, read.hexdigest())
            db.execute("begin immediate")
            if db.execute(query, (self._name,)).fetchone() != known:
                db.execute("rollback")
                return None
            if not end:
                db.execute("delete from keys where file = ?", (self._name,))
            db.executemany("insert or ignore into keys values (?, ?, ?, ?)", self._found(data, end, stop))
            db.execute("insert or replace into files values (?, ?, ?, ?, ?, ?, ?, ?)", (self._name, *row))
            db.execute("commit")
            if stop == end:
                db.execute("begin")
                return end if db.execute(query, (self._name,)).fetchone() == row else None
            end, known = stop, row

    def _found(self, data: memoryview, start: int, stop: int) -> Iterator[tuple[str, str, int, int]]:
        for line in bytes(data[start:stop]).split(b"\n"):
            if line.strip():
                for key in self._keys(parse_row(line)):
                    yield self._name, key, start, len(line)
            start += len(line) + 1


def _connect(folder: Path) -> sqlite3.Connection:
    import sqlite3

    spool.own_folder(str(folder))
    path = folder / FILE_NAME
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600))
    db = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
    db.execute("pragma synchronous = normal")
    if db.execute("pragma user_version").fetchone() != (_FORM,):
        db.executescript(
            f"""pragma journal_mode = wal;
            begin immediate;
            drop table if exists files;
            drop table if exists keys;
            create table files(file primary key, size, modified, changed, inode, checked, end, hash);
            create table keys(file, key, start, length, primary key (file, key, start)) without rowid;
            pragma user_version = {_FORM};
            commit;"""
        )
    return db


def _batch_end(data: memoryview, start: int) -> int:
    """Where a batch of whole lines ends; at its start, where too little is left."""
    if len(data) - start < _BATCH:
        return start
    end = bytes(data[start : start + _BATCH]).rfind(b"\n") + 1
    return start + (end or bytes(data[start:]).find(b"\n") + 1)


def _safe(key: str) -> str:
    """A key that a database takes: JSON may name half of a character."""
    return key if key.isascii() else key.encode("utf-8", "replace").decode()
