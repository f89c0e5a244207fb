"""Files of one JSON object a line: a broken line is skipped and told; the lines of a long file are found by key."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from nacre.errors import NacreError
from nacre.i18n import say
from nacre.model.report import Problem, problem
from nacre.vault import disk, spool

if TYPE_CHECKING:
    import sqlite3


class Row(NamedTuple):
    line: int
    value: dict[str, Any]


class Rows(NamedTuple):
    """The good lines, and problems with the others."""

    rows: tuple[Row, ...]
    problems: tuple[Problem, ...]


def dump_row(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"


def read_rows(path: Path, shown: str) -> Rows:
    """All objects of the file; a broken line is a problem with its number. `shown` is the path as users know it."""
    try:
        # A link may lead to a place in the folder that holds its own: for a file of memory that is the workspace.
        disk.real_target(path, path.parent.parent)
        return parse_rows(disk.read_bytes(path) or b"", shown)
    except NacreError as error:
        remedy = say("move it away, or put the real file in its place", "请将其移走，或换回真正的文件")
        return Rows((), (Problem("unreadable", str(error), shown, remedy=remedy, severity="error"),))


def parse_rows(data: bytes, shown: str) -> Rows:
    lines = [(number, line) for number, line in enumerate(data.split(b"\n"), start=1) if line.strip()]
    # All at once is twice as fast as line by line. No string of JSON goes over the end of a line.
    if all(line[:1] == b"{" and line[-1:] == b"}" for _, line in lines):
        try:
            values = json.loads(b"[" + b",\n".join(line for _, line in lines) + b"]")
        except (ValueError, RecursionError):
            values = []
        if len(values) == len(lines) and all(type(value) is dict for value in values):
            return Rows(tuple(Row(number, value) for (number, _), value in zip(lines, values, strict=True)), ())
    rows: list[Row] = []
    problems: list[Problem] = []
    last = data.count(b"\n") + 1
    for number, line in lines:
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict):
            rows.append(Row(number, value))
        elif number == last:
            english = f"The last line of {shown} was never finished; it is skipped."
            problems.append(problem("torn line", english, f"{shown} 的最后一行没有写完，已跳过。", shown, number))
        else:
            english = f"Line {number} of {shown} is no JSON object; it is skipped."
            chinese = f"{shown} 第 {number} 行不是 JSON 对象，已跳过。"
            remedy = ("mend or remove the line", "请修正或删除该行")
            problems.append(problem("broken line", english, chinese, shown, number, remedy=remedy))
    return Rows(tuple(rows), tuple(problems))


# Where the lines of an append-only file stand, by key, so that nobody reads all of a long file for a few of its lines. Kept in
# `.nacre/index/lines.sqlite` as keys and offsets, never words, and brought up to date from where it was read last. A file that was
# edited, cut or replaced is read again as a whole, and so is one whose index cannot be kept.

FILE_NAME = "lines.sqlite"
_FORM = 1  # of the tables and keys: with another one everything is read again
_TAIL = 4096  # bytes before the place that was read last, by which it is seen that more was only added
_PATIENCE = 5.0  # seconds that another one may take to bring it up to date
_SMALL = 100_000  # bytes; a smaller file is read sooner than SQLite is loaded

Keys = Callable[[Mapping[str, Any]], Iterable[str] | None]
"""The keys by which a row is looked for; None for one that is no record of this file."""


class LineIndex:
    """The rows of one file by their keys, as the file was when this was opened."""

    def __init__(self, folder: Path, path: Path, keys_of: Keys) -> None:
        self._path, self._keys_of = path, keys_of
        self._rest: list[dict[str, Any]] = []  # behind the last line end: it may still be written on
        self.is_sound = True  # whether every line is a record
        self._db: sqlite3.Connection | None = None
        if not os.path.lexists(path):
            return
        if os.lstat(path).st_size < _SMALL:
            self._read_all()
            return
        import sqlite3

        try:
            self._db = _open(folder)
            weakref.finalize(self, self._db.close)
            self._update(self._db)
        except (OSError, sqlite3.Error) as error:
            if isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError):
                with contextlib.suppress(OSError):  # damaged: the next one makes it anew
                    os.unlink(folder / FILE_NAME)
            self._read_all()

    def rows(self, keys: Iterable[str]) -> list[dict[str, Any]]:
        """The rows that have one of the keys, in the order of the file."""
        wanted = set(keys)
        stored: list[dict[str, Any]] = []
        if self._db is not None:
            places: set[tuple[int, int]] = set()
            query = "select start, length from keys where file = ? and key = ?"
            for key in wanted:
                places.update(self._db.execute(query, (self._path.name, key)))
            rows = self._read(sorted(places))
            if rows is None or not all(wanted.intersection(self._keys_of(row) or ()) for row in rows):
                self._read_all()  # somebody changed what was read before
            else:
                stored = rows
        return stored + [row for row in self._rest if wanted.intersection(self._keys_of(row) or ())]

    def keys(self, first: str) -> set[str]:
        """The keys that begin with a letter."""
        rest = {key for row in self._rest for key in self._keys_of(row) or () if key.startswith(first)}
        if self._db is None:
            return rest
        query = "select distinct key from keys where file = ? and key >= ? and key < ?"
        return rest.union(key for (key,) in self._db.execute(query, (self._path.name, first, chr(ord(first) + 1))))

    def _read_all(self) -> None:
        """Without an index, all rows of the file."""
        self._db = None
        rows = read_rows(self._path, self._path.name)
        self._rest = [row.value for row in rows.rows]
        self.is_sound = not rows.problems and all(self._keys_of(row) is not None for row in self._rest)

    def _read(self, places: Iterable[tuple[int, int]]) -> list[dict[str, Any]] | None:
        rows: list[dict[str, Any]] = []
        try:
            with self._path.open("rb") as file:
                for start, length in places:
                    file.seek(start)
                    rows.append(json.loads(file.read(length)))
        except (OSError, ValueError, RecursionError):
            return None
        return rows if all(isinstance(row, dict) for row in rows) else None

    def _update(self, db: sqlite3.Connection) -> None:
        name = self._path.name
        about = os.lstat(self._path)
        if not stat.S_ISREG(about.st_mode):
            raise OSError("no ordinary file")
        now = (about.st_size, about.st_ino, about.st_mtime_ns)
        query = "select size, inode, modified, read, tail, broken from files where name = ?"
        before = db.execute(query, (name,)).fetchone()
        if before and before[:3] == now and before[3] == about.st_size:
            self.is_sound = not before[5]
            return
        with self._path.open("rb") as file, db:
            db.execute("begin immediate")
            before = db.execute(query, (name,)).fetchone()
            start = broken = 0
            if (
                before
                and before[1] == about.st_ino
                and before[3] <= about.st_size
                and before[4] == _tail(file, before[3])
            ):
                is_touched = about.st_size == before[0] and about.st_mtime_ns != before[2]
                start, broken = (0, 0) if is_touched else (before[3], before[5])
            if not start:
                db.execute("delete from keys where file = ?", (name,))
            file.seek(start)
            data = file.read(about.st_size - start)
            end = data.rfind(b"\n") + 1
            found: list[tuple[str, str, int, int]] = []
            for at, line, row in _lines(data[:end]):
                keys = None if row is None else self._keys_of(row)
                broken += keys is None
                found += [(name, key, start + at, len(line)) for key in keys or ()]
            db.executemany("insert or ignore into keys values (?, ?, ?, ?)", found)
            values = (name, *now, start + end, _tail(file, start + end), broken)
            db.execute("insert or replace into files values (?, ?, ?, ?, ?, ?, ?)", values)
        rest = [row for _, _, row in _lines(data[end:])]
        self._rest = [row for row in rest if row is not None]
        self.is_sound = not broken and all(row is not None and self._keys_of(row) is not None for row in rest)


def _open(folder: Path) -> sqlite3.Connection:
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
            create table files(name primary key, size, inode, modified, read, tail, broken);
            create table keys(file, key, start, length, primary key (file, key, start)) without rowid;
            pragma user_version = {_FORM};
            commit;"""
        )
    return db


def _tail(file: BinaryIO, end: int) -> str:
    file.seek(max(0, end - _TAIL))
    return hashlib.blake2b(file.read(min(end, _TAIL)), digest_size=16).hexdigest()


def _lines(data: bytes) -> Iterator[tuple[int, bytes, dict[str, Any] | None]]:
    """Each line that is not blank with its place, and the object in it; None where it holds none."""
    at = 0
    for line in data.split(b"\n"):
        if line.strip():
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                row = None
            yield at, line, row if isinstance(row, dict) else None
        at += len(line) + 1
