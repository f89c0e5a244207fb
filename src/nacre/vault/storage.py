"""The files of a workspace as named byte strings (`Storage`), which of them are memory, and the rows of those of one JSON object a line:
what everything in the vault reads, lists and writes memory through."""

from __future__ import annotations

import contextlib
import fnmatch
import hashlib
import json
import os
import time
import weakref
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from nacre import disk
from nacre.config.settings import Config
from nacre.disk import TIMEOUT, lock
from nacre.errors import NacreError, NotFound, PathEscape, raise_unless_absent
from nacre.i18n import say
from nacre.model import DAY_NAME, LINKED, Problem, Storage, Stored, Workspace, problem

if TYPE_CHECKING:
    import sqlite3

_LARGEST_BLOB = 200_000_000  # bytes; more than any note, and little enough to hold
_QUICKLY = 1_000_000  # bytes from which on contents are packed less tightly
_BLOCK = 16_384  # bytes of the operations file that are read at first, from its end


def storage_of(workspace: Workspace) -> Storage:
    return workspace.storage or Disk(workspace)


def read(workspace: Workspace, path: Path) -> bytes | None:
    """The bytes of a file of memory; None when there is none."""
    return storage_of(workspace).read(workspace.relative(path))


def read_log(workspace: Workspace, path: Path) -> bytes | None:
    """The same; those of a compressed log unpacked, `NacreError` where it is damaged."""
    data = read(workspace, path)
    return disk.decompress(data, workspace.relative(path)) if data and path.suffix == disk.COMPRESSED else data


def read_memory(workspace: Workspace, path: Path) -> bytes:
    """The same; nothing where it is gone or cannot be read, which doctor says."""
    try:
        return read_log(workspace, path) or b""
    except NacreError:
        return b""


def names(workspace: Workspace, folder: Path, ending: str = "") -> list[str]:
    """The names of the files below a folder of memory, in order."""
    walk = storage_of(workspace).walk(workspace.relative(folder), (ending,))
    return sorted(stored.name for stored in walk if stored.is_plain)


def is_daily(name: str) -> bool:
    """Whether it is a daily log, to which agents append."""
    folder, _, file = name.rpartition("/")
    return folder == "memory" and bool(DAY_NAME.fullmatch(file))


@dataclass(frozen=True)
class Disk:
    """The storage that everybody has: files below the root of the workspace."""

    workspace: Workspace

    def walk(
        self, folder: str, endings: tuple[str, ...] = ("",), watched: set[str] | None = None, depth: int = 99
    ) -> Iterator[Stored]:
        path = self._path(folder)
        root = path.parent if os.path.isabs(folder) else self.workspace.root
        shown = "" if folder in ("", ".") else f"{folder}/"
        return disk.walk(str(root), str(path), shown, endings, set() if watched is None else watched, depth)

    def about(self, name: str) -> Stored | None:
        return disk.stored_at(str(self.workspace.root), str(self._path(name)), name, set())

    def real(self, name: str) -> str:
        path, root = disk.real(self._path(name)), disk.real(self.workspace.root)
        return path.relative_to(root).as_posix() if root in path.parents else path.as_posix()

    def read(self, name: str, most: int = -1) -> bytes | None:
        return disk.read_bytes(self._path(name), most)

    def end(self, name: str, size: int) -> bytes:
        try:
            with os.fdopen(disk.open_regular(self._path(name), os.O_RDONLY), "rb") as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - size))
                return file.read(size)
        except OSError:
            return b""

    def append(self, name: str, data: bytes, *, durable: bool = True) -> int:
        return disk.append_bytes(self._path(name), data, root=self.workspace.root, durable=durable)

    def replace(self, name: str, data: bytes, before: bytes | None) -> bool:
        if is_daily(name):
            return disk.edit_log(self.workspace, self._path(name), before or b"", data)
        return disk.replace(self._path(name), data, before)

    def remove(self, name: str, before: bytes) -> bool:
        path = self._path(name)
        if is_daily(name):
            return disk.edit_log(self.workspace, path, before, b"")
        if disk.read_bytes(path) != before:
            return False
        disk.remove(path)
        return True

    def move(self, name: str, to: str) -> None:
        disk.rename(self._path(name), self._path(to))

    def hold(self, timeout: float = TIMEOUT) -> AbstractContextManager[None]:
        return lock(self.workspace, timeout=timeout)

    def together(self) -> AbstractContextManager[None]:
        return disk.folders_once()

    def keep(self, data: bytes) -> None:
        path = blob_path(self.workspace.history, disk.digest(data))
        if not path.exists():
            # A ledger of years would take a second to be packed tightly.
            disk.write(path, zlib.compress(data, 6 if len(data) < _QUICKLY else 1))

    def content(self, digest: str) -> bytes:
        data = None
        with contextlib.suppress(OSError, zlib.error):
            stored = blob_path(self.workspace.history, digest).read_bytes()
            data = zlib.decompressobj().decompress(stored, _LARGEST_BLOB)
        if data is None or disk.digest(data) != digest:
            raise NotFound(
                "What this change replaced is no longer in history (purged, or deleted by hand), so it can be neither shown nor undone.",
                "这次改动之前的内容已不在历史中（已彻底清除，或被手动删除），无法显示或撤销。",
            )
        return data

    def record(self, row: dict[str, Any], *, durable: bool = True) -> None:
        path = operations_file(self.workspace)
        with disk.writing_to(path):
            disk.private_folder(self.workspace.machine)
        disk.append_bytes(path, disk.lines_for(path, dump_row(row)), durable=durable)

    def records(self) -> Iterator[dict[str, Any]]:
        try:
            file = operations_file(self.workspace).open("rb")
        except OSError as error:
            raise_unless_absent(operations_file(self.workspace), error)
            return
        with file:
            end, block, rest = file.seek(0, os.SEEK_END), _BLOCK, b""
            while end:
                start = max(0, end - block)
                file.seek(start)
                data = file.read(end - start) + rest
                # The first line of a block may begin before it.
                rest, _, lines = data.partition(b"\n") if start else (b"", b"", data)
                for row in reversed(parse_rows(lines, "").rows):
                    yield row.value
                end, block = start, 2 * block

    def _path(self, name: str) -> Path:
        return self.workspace.root / name


def operations_file(workspace: Workspace) -> Path:
    return workspace.history / "operations.jsonl"


def blob_path(history: Path, digest: str) -> Path:
    """Where a content is kept by its hash, compressed."""
    return history / "blobs" / digest[:2] / digest[2:]


# Which Markdown files are memory, compressed logs of the archive among them, and in which layer each lies.


LARGEST = 10_000_000  # bytes; a larger Markdown file is not a note, and doctor says so
TIERS = ("hot", "warm", "gist", "forgotten")
SUMMARY = ".gist.md"  # the end of the name of a checkpoint's summary
_MARKDOWN = (".md",)


def stem_of(name: str) -> str:
    """A checkpoint and its summary go by one name: `x.md` and `x.gist.md`."""
    return name.removesuffix(SUMMARY) if name.endswith(SUMMARY) else name.removesuffix(".md")


class MemoryFile(NamedTuple):
    """A file as the walk saw it. Two equal signatures mean that nothing was written in between."""

    path: str  # as users see it
    full: str
    layer: str
    size: int
    mtime: int
    ctime: int
    inode: int


def memory_files(workspace: Workspace, config: Config, folders: set[str] | None = None) -> Iterator[MemoryFile]:
    """Every file that search covers: long-term memory, logs, notes, digests, checkpoints and extra paths.

    `folders` is given every folder whose change could add, alter or remove one of them, every file that has a second name
    (a hard link) through which it could be written, and `LINKED` where only another walk can tell.
    """
    root = os.path.join(workspace.root, "")
    seen: set[str] = set()
    for stored, layer in _stored_files(workspace, config, set() if folders is None else folders):
        name, size, modified, changed, inode, is_plain, _ = stored
        if not is_plain or (size > LARGEST and size > largest(layer)) or name == "memory/review.md":
            continue
        if name not in seen:  # an extra path may lie where memory lies anyway
            seen.add(name)
            full = name if os.path.isabs(name) else root + name
            # Bytes of a name that are not UTF-8 are shown as \\xe9: text that is kept cannot hold them.
            path = name if name.isascii() else os.fsencode(name).decode("utf-8", errors="backslashreplace")
            yield MemoryFile(path, full, layer, size, modified, changed, inode)


def layer_of(path: str) -> str:
    """The layer of a file below memory/, by its place and name."""
    if path.startswith("memory/weekly/"):
        return "weekly"
    if path.startswith("memory/archive/"):
        return "archive"
    name = path[path.rfind("/") + 1 :]
    return "daily" if name[0].isdigit() and DAY_NAME.fullmatch(name) else "note"


def largest(layer: str) -> int:
    """How many bytes a file of a layer may have to be searched."""
    return disk.LARGEST_LOG if layer in ("daily", "archive") else LARGEST


def _stored_files(workspace: Workspace, config: Config, folders: set[str]) -> Iterator[tuple[Stored, str]]:
    storage = storage_of(workspace)
    for stored in storage.walk("", ("MEMORY.md", "USER.md"), folders, depth=1):
        if stored.name in ("MEMORY.md", "USER.md"):
            yield stored, "longterm"
    yield from ((stored, "longterm") for stored in _project_files(workspace, folders))
    for stored in storage.walk("memory", (".md", ".md.gz"), folders):
        if stored.name.endswith(".md") or (stored.name.startswith("memory/archive/") and not stored.is_link):
            yield stored, layer_of(stored.name)
    tiers = workspace.relative(workspace.tiers(config.tiers.path))
    for tier in TIERS:
        yield from ((stored, tier) for stored in storage.walk(f"{tiers}/{tier}", _MARKDOWN, folders))
    for extra in config.index.extra_paths:
        if extra.get("path"):
            pattern = extra.get("pattern", "*.md").removeprefix("**/")
            yield from ((stored, "extra") for stored in _extra_files(workspace, extra["path"], pattern, folders))


def _project_files(workspace: Workspace, folders: set[str] | None = None) -> list[Stored]:
    files = storage_of(workspace).walk("projects", ("/MEMORY.md",), folders, depth=2)
    return sorted(
        (stored for stored in files if stored.name.count("/") == 2), key=lambda stored: stored.name.split("/")
    )


def list_longterm(workspace: Workspace) -> list[Path]:
    """Every MEMORY.md: the general one, whether it is there or not, and those of projects, whatever stands there."""
    return [workspace.longterm, *(workspace.root / stored.name for stored in _project_files(workspace))]


def list_backups(workspace: Workspace) -> list[Path]:
    """The backups of each MEMORY.md and of working memory, by their names."""
    files = storage_of(workspace).walk(workspace.relative(workspace.archive), depth=1)
    plain = (workspace.root / stored.name for stored in files if stored.is_plain and not stored.is_link)
    return sorted(path for path in plain if ".bak-" in path.name)


def _extra_files(workspace: Workspace, path: str, pattern: str, folders: set[str]) -> Iterator[Stored]:
    """What an extra path names, which may lie anywhere on the machine."""
    place = os.path.normpath(os.path.join(workspace.root, os.path.expanduser(path)))
    if disk.is_within(str(workspace.machine), place):
        return  # the index and what undo keeps are not memory
    shown = workspace.relative(Path(place))
    if os.path.isfile(place):
        folders.add(os.path.dirname(place))
        if stored := disk.stored_at(place, place, shown, folders):
            yield stored
        return
    if os.path.islink(place):
        folders.add(LINKED)
    for stored in disk.walk(place, place, f"{shown}/", _MARKDOWN if pattern == "*.md" else ("",), folders):
        if pattern == "*.md" or _matches(stored.name, f"{shown}/", pattern):
            yield stored


def _matches(path: str, shown: str, pattern: str) -> bool:
    """Whether a path fits the pattern of an extra path; a pattern without "/" is about the name alone, "**/" is any folder."""
    if "/" not in pattern:
        return fnmatch.fnmatch(path.rpartition("/")[2], pattern)
    below = path[len(shown) :]
    return fnmatch.fnmatch(below, pattern) or ("**/" in pattern and fnmatch.fnmatch(below, pattern.replace("**/", "")))


# Files of one JSON object a line: a broken line is skipped and told.

T = TypeVar("T")


class Row(NamedTuple):
    line: int
    value: dict[str, Any]


class Rows(NamedTuple):
    """The good lines, and problems with the others."""

    rows: tuple[Row, ...]
    problems: tuple[Problem, ...]


def dump_row(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"


def read_rows(storage: Storage, name: str) -> Rows:
    """All objects of a file; a broken line is a problem with its number."""
    try:
        check_place(storage, name)
        return parse_rows(storage.read(name) or b"", name)
    except NacreError as error:
        remedy = say("move it away, or replace it with the real file", "请将其移走，或换回真正的文件")
        return Rows((), (Problem("unreadable", str(error), name, remedy=remedy, severity="error"),))


def check_place(storage: Storage, name: str) -> None:
    """An error when a file is a link that leads out of the workspace."""
    if os.path.isabs(storage.real(name)):
        raise PathEscape(
            f"{name} is a link that points outside the workspace; Nacre does not follow it.",
            f"{name} 是指向工作区之外的链接；Nacre 不会访问它。",
        )


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
    for number, line in lines:
        if (value := parse_row(line)) is not None:
            rows.append(Row(number, value))
        elif number == data.count(b"\n") + 1:
            english = f"The last line of {shown} is incomplete and is skipped."
            problems.append(problem("torn line", english, f"{shown} 的最后一行不完整，已跳过。", shown, number))
        else:
            english = f"Line {number} of {shown} is not a JSON object and is skipped."
            chinese = f"{shown} 第 {number} 行不是 JSON 对象，已跳过。"
            remedy = ("fix or remove the line", "请修正或删除该行")
            problems.append(problem("broken line", english, chinese, shown, number, remedy=remedy))
    return Rows(tuple(rows), tuple(problems))


def parse_row(line: bytes | str) -> dict[str, Any] | None:
    """The object on a line; None where it holds none."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def read_records(
    storage: Storage, name: str, parse: Callable[[dict[str, Any]], T | None]
) -> tuple[tuple[T, ...], tuple[Problem, ...]]:
    """What the rows of a file tell, and problems with those that tell nothing."""
    rows, broken = read_rows(storage, name)
    records: list[T] = []
    problems = list(broken)
    for line, value in rows:
        if (record := parse(value)) is not None:
            records.append(record)
            continue
        english = f"Line {line} of {name} lacks required fields and is skipped."
        problems.append(problem("broken line", english, f"{name} 第 {line} 行缺少必要的字段，已跳过。", name, line))
    return tuple(records), tuple(sorted(problems, key=lambda problem: problem.line or 0))


# The rows of an append-only file by what they name, so that nobody reads all of a long file for a few of its lines.
#
# The beginning of a long file is known to `.nacre/index/lines.sqlite`, as keys and places, never words; the rest, less than a batch, is
# read. The database is derived: it goes by the hash of the bytes it was made of, and is made anew in batches, each committed, when
# these changed. Where it cannot be used, the whole file is read.

FILE_NAME = "lines.sqlite"
BROKEN = "broken"  # the key of lines that are no record of their file
_FORM = 3  # of the tables and of all keys: an older database is made anew
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
                if row is None or wanted.isdisjoint(
                    _keys(row, self._keys_of)
                ):  # somebody writes into the file just now
                    self._db, stored = None, []
                    self._file.seek(0)
                    self._hold(self._file.read())
                    break
                stored.append(row)
        return stored + [self._rows[at] for at in sorted({at for key in wanted for at in self._places.get(key, ())})]

    def _hold(self, data: bytes) -> None:
        self._rows, self._places = _placed(data, self._keys_of)

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
        stored = db.execute(query, (self._name,)).fetchone()
        if stored and stored[:4] == now and stored[4] - about.st_ctime_ns > _RACY and now[0] - stored[5] < _BATCH:
            return int(stored[5])
        db.execute("rollback")
        data = memoryview(self._file.read())
        end, read = stored[5] if stored else 0, hashlib.sha256()
        read.update(data[:end])
        if stored and read.hexdigest() != stored[6]:
            end, read = 0, hashlib.sha256()
        while True:
            stop = _batch_end(data, end)
            read.update(data[end:stop])
            row = (*now, checked, stop, read.hexdigest())
            db.execute("begin immediate")
            if db.execute(query, (self._name,)).fetchone() != stored:
                db.execute("rollback")
                return None
            if not end:
                db.execute("delete from keys where file = ?", (self._name,))
            db.executemany("insert or ignore into keys values (?, ?, ?, ?)", self._keys_in(data, end, stop))
            db.execute("insert or replace into files values (?, ?, ?, ?, ?, ?, ?, ?)", (self._name, *row))
            db.execute("commit")
            if stop == end:
                db.execute("begin")
                return end if db.execute(query, (self._name,)).fetchone() == row else None
            end, stored = stop, row

    def _keys_in(self, data: memoryview, start: int, stop: int) -> Iterator[tuple[str, str, int, int]]:
        for line in bytes(data[start:stop]).split(b"\n"):
            if line.strip():
                for key in _keys(parse_row(line), self._keys_of):
                    yield self._name, key, start, len(line)
            start += len(line) + 1


def _keys(row: dict[str, Any] | None, keys_of: Keys) -> set[str]:
    keys = None if row is None else keys_of(row)
    return {BROKEN} if keys is None else set(map(_safe, keys))


@lru_cache(maxsize=4)  # two files, as they were before and after a change; known by their bytes, so never out of date
def _placed(data: bytes, keys_of: Keys) -> tuple[list[dict[str, Any]], dict[str, list[int]]]:
    """The rows of some lines, and by each key the places of its rows. Shared: nobody writes into them."""
    parsed = parse_rows(data, "")
    rows = [row.value for row in parsed.rows]
    places: dict[str, list[int]] = {BROKEN: []} if parsed.problems else {}
    for place, row in enumerate(rows):
        for key in _keys(row, keys_of):
            places.setdefault(key, []).append(place)
    return rows, places


def _connect(folder: Path) -> sqlite3.Connection:
    import sqlite3

    from nacre.vault import spool

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
