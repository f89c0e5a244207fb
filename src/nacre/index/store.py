"""The index file: its tables, connections for each thread, transactions, recovery from damage."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, TypeVar

from nacre.config.settings import Config
from nacre.disk import hold, make_folder
from nacre.errors import CannotWrite, IndexUnusable, NoWorkspace, cannot_write
from nacre.model import Workspace
from nacre.vault.storage import TIERS

VERSION = 6
# Raised when the same text would give other tokens or other chunks: an index made before is then built anew.
_TOKENIZER, _CHUNKER = 1, 3
_NAME = "index.sqlite"
SESSIONS_FILE = "sessions.sqlite"  # the index of transcripts, where the user wants one
_LOCK = "making"  # held while the file is made or set aside, never while it is used
_ATTEMPTS = 12  # at work that others disturb by deleting or replacing the file
_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
# Tables or text are not what we left: swept away by another process just now, or damaged.
_UNEXPECTED = frozenset({None, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_SCHEMA, sqlite3.SQLITE_IOERR})
Result = TypeVar("Result")
Identity = tuple[int, int]

TABLES = """
create table meta(key text primary key, value text) without rowid;
create table models(id integer primary key, name text not null, hash text not null unique, dims integer not null);
create table batches(id integer primary key, provider text not null, models text not null, settings text not null, unique(provider, models));
create table vectors(
  model integer not null, slot integer not null, hash blob not null, scale real not null, data blob not null,
  primary key(model, slot)) without rowid;
create unique index vector_hash on vectors(model, hash);
create table signs(model integer not null, block integer not null, data blob not null, primary key(model, block)) without rowid;
create table files(
  id integer primary key, path text not null unique, layer text not null, made_with text not null,
  size integer, mtime integer, ctime integer, inode integer, read_at integer, hash blob, pieces blob);
create index file_made on files(made_with);
create table chunks(
  id integer primary key, file integer not null, position integer not null, first integer not null, last integer not null,
  heading text not null, context text not null, text text not null, size integer not null, key text not null,
  layer text not null, date text, time text, session text, project text, audience text, label text, tags text);
create index chunk_file on chunks(file, position);
create index chunk_key on chunks(key);
create index chunk_date on chunks(date);
create table passages(
  chunk integer not null, position integer not null, hash blob not null, batch integer, compared integer,
  primary key(chunk, position)) without rowid;
create index passage_hash on passages(hash);
create index passage_batch on passages(batch);
create index passage_new on passages(chunk) where compared is null;
create table relations(
  older text not null, newer text not null, same real not null, replaces real not null, beside real not null, hash blob not null,
  primary key(newer, older)) without rowid;
create index relation_older on relations(older);
"""
# "made_with" are the settings by which a file was cut into chunks, "pieces" the digest, lines and chunks of each of its pieces.
# "audience" is null for private talk, "*" for what is public, else the group a section is stamped with.
# "batch" names the set of models with which a passage has been embedded; null means not yet. "compared" is null for one whose entry has
# not been compared with those like it; "relations" holds the odds of what was found, by the ids of the two entries, and the
# passage of the newer one.


def wanted_settings(config: Config, **more: object) -> str:
    """What the chunks of a file must have been made with to fit the settings in force."""
    made_with = {
        "tokens": config.index.chunk_tokens,
        "overlap": config.index.chunk_overlap,
        "chunker": _CHUNKER,
        "tokenizer": _TOKENIZER,
    }
    return json.dumps(made_with | more, sort_keys=True)


def index_file(folder: Path) -> Path:
    return folder / _NAME


def sessions_file(workspace: Workspace) -> Path:
    return workspace.index / SESSIONS_FILE


def delete_sessions_index(workspace: Workspace) -> bool:
    """Delete the index of sessions, as when the user no longer wants one; whether there was any."""
    files = list(workspace.index.glob(f"{SESSIONS_FILE}*"))
    for file in files:
        file.unlink(missing_ok=True)
    return bool(files)


def file_identity(path: Path) -> Identity | None:
    """What tells a file from another one that took its name; None when there is none."""
    try:
        about = os.stat(path)
    except OSError:
        return None
    return about.st_dev, about.st_ino


def _code(error: Exception) -> int | None:
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def index_error(error: sqlite3.Error, path: Path) -> IndexUnusable:
    code = _code(error)
    # Where memory is mapped from the file, a full disk shows as an error of reading and writing.
    full = code == sqlite3.SQLITE_IOERR and path.parent.exists() and shutil.disk_usage(path.parent).free < 1 << 16
    if full or code == sqlite3.SQLITE_FULL:
        return IndexUnusable(
            f"The disk is full: the index {path} could not be updated. Your notes are unchanged. Free some space and run the command again.",
            f"磁盘已满：索引 {path} 未能更新。你的笔记未受影响。请腾出空间后重新运行命令。",
        )
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return IndexUnusable(
            f"The index {path} is in use by another process. Wait a moment and run the command again.",
            f"索引 {path} 正被其他进程使用。请稍后重试。",
        )
    return IndexUnusable(
        f"The index {path} cannot be used: {error}. Delete the folder {path.parent}; it will be rebuilt and nothing is lost.",
        f"索引 {path} 无法使用：{error}。请删除文件夹 {path.parent}；索引会自动重建，不会丢失任何内容。",
    )


def set_aside(path: Path, damaged: Identity | None) -> None:
    """Move a damaged index out of the way; the newest damaged one is kept for a look, older ones are not. Nothing
    happens when another process has done so: the file that now has the name is a new one."""
    with hold(path.with_name(_LOCK)):
        if damaged is None or file_identity(path) != damaged:
            return
        for old in path.parent.glob(f"{path.name}.damaged-*"):
            old.unlink(missing_ok=True)
        with contextlib.suppress(FileNotFoundError):
            path.rename(path.with_name(f"{path.name}.damaged-{time.time_ns()}"))
        for suffix in ("-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)


class _Connection(sqlite3.Connection):
    """Closes itself with the thread that used it."""

    def __del__(self) -> None:
        with contextlib.suppress(sqlite3.ProgrammingError):  # one that could not be opened has nothing to close
            self.close()


def _connect(path: Path) -> sqlite3.Connection:
    """Open the file and make its tables where there are none, or anew where they are of an earlier version; a newer one is refused."""
    db = sqlite3.connect(path, timeout=20.0, isolation_level=None, check_same_thread=False, factory=_Connection)
    try:
        for pragma in ("journal_mode = wal", "synchronous = normal", "secure_delete = fast", "temp_store = memory"):
            db.execute(f"pragma {pragma}")
        db.execute("pragma mmap_size = 268435456")
        if (version := db.execute("pragma user_version").fetchone()[0]) > VERSION:
            raise IndexUnusable(
                f"The index {path} was made by a newer version of Nacre. Upgrade Nacre, or delete the folder {path.parent}; the index will be rebuilt and nothing is lost.",
                f"索引 {path} 由更新版本的 Nacre 建立。请升级 Nacre，或删除文件夹 {path.parent}；索引会自动重建，不会丢失任何内容。",
            )
        if version < VERSION:
            db.execute("begin exclusive")
            version = db.execute("pragma user_version").fetchone()[0]
            if version < VERSION:  # else another process was first
                tables = "select name from sqlite_master where type = 'table' order by sql like 'create virtual%' desc"
                names = [name for (name,) in db.execute(tables)]
                if names and not version:
                    error = sqlite3.DatabaseError("not an index of this version")
                    error.sqlite_errorcode = sqlite3.SQLITE_NOTADB
                    raise error
                for name in names:  # the virtual ones first: they take theirs along
                    db.execute(f'drop table if exists "{name}"')
                for statement in filter(str.strip, TABLES.split(";")):
                    db.execute(statement)
                create_full_text(db)
                db.execute(f"pragma user_version = {VERSION}")
            db.execute("commit")
    except BaseException:
        db.close()
        raise
    return db


class Store:
    """One index file, safe to use from many threads and processes at once."""

    def __init__(self, path: Path, *, of: Path | None = None) -> None:
        """`of` is the workspace: where it was moved or deleted since, the index is not made anew."""
        self.path = path
        self.recovered = False  # a damaged file was set aside since this was opened
        self._folders: list[tuple[Path, Identity | None]] = []
        if of is not None:
            self.stay_in(of)
        self._lock = threading.RLock()
        self._threads = threading.local()
        self._epoch = 0  # counts the files that this store has had open
        self._identity: Identity | None = None

    @property
    def epoch(self) -> int:
        """Changes whenever the file was deleted or replaced: what was known of it is then worth nothing."""
        _ = self.db
        return self._epoch

    @property
    def db(self) -> sqlite3.Connection:
        """This thread's connection; opened anew when the file was deleted or replaced under us."""
        held: tuple[int, sqlite3.Connection] | None = getattr(self._threads, "held", None)
        if held is not None and held[0] == self._epoch and file_identity(self.path) == self._identity:
            return held[1]
        with self._lock:
            if file_identity(self.path) != self._identity:
                self._forget()
            connection, identity = self._open()
            if self._identity not in (None, identity):  # replaced in this moment
                self._forget()
            self._identity = identity
            self._threads.held = (self._epoch, connection)
            return connection

    def stay_in(self, folder: Path) -> None:
        self._folders.append((folder, file_identity(folder)))

    def _open(self, attempts: int = _ATTEMPTS) -> tuple[sqlite3.Connection, Identity]:
        """The file, made if it is not there, also where its folder is deleted meanwhile. A damaged one is set aside."""
        for folder, identity in self._folders:
            if file_identity(folder) != identity:
                raise NoWorkspace(
                    f"{folder} was moved or deleted while it was in use.", f"{folder} 在使用过程中被移动或删除。"
                )
        try:
            make_folder(self.path.parent)
            # Two who make the file at once would find it locked where SQLite does not wait.
            is_there = self.path.exists() and self.path.stat().st_size > 0
            with contextlib.nullcontext() if is_there else hold(self.path.with_name(_LOCK)):
                os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
                opened, connection = file_identity(self.path), _connect(self.path)
        except (sqlite3.DatabaseError, OSError, CannotWrite) as error:
            went = _code(error) == sqlite3.SQLITE_CANTOPEN or isinstance(error.__cause__ or error, FileNotFoundError)
            if _code(error) in _DAMAGED:
                set_aside(self.path, file_identity(self.path))
            elif attempts <= 1 or not went:
                if isinstance(error, OSError):
                    raise cannot_write(self.path.parent, error) from error
                raise
            return self._open(attempts - 1)
        if opened and file_identity(self.path) == opened:
            return connection, opened
        return self._open(attempts - 1)

    def _forget(self) -> None:
        """Turn to a new file. Other threads notice by the epoch; each lets go of its own connection, never of another's,
        which may be in the middle of a question."""
        self._epoch += 1
        self._identity = None
        held: tuple[int, sqlite3.Connection] | None = getattr(self._threads, "held", None)
        if held:
            with contextlib.suppress(sqlite3.Error):
                held[1].close()
        self._threads.held = None

    def close(self) -> None:
        with self._lock:
            self._forget()

    def safely(self, work: Callable[[], Result]) -> Result:
        """Do the work; when the file turns out to be damaged, set it aside and do it again on a new one. Work that failed
        because another process deleted the file is done again; only if it fails then too is the file held to be damaged."""
        failed = False
        for attempt in range(1, _ATTEMPTS + 1):
            used = self._identity
            try:
                return work()
            except sqlite3.DatabaseError as error:
                if attempt < _ATTEMPTS and used != file_identity(self.path):
                    continue  # deleted or replaced meanwhile
                damaged = _code(error) in _DAMAGED
                if attempt == _ATTEMPTS or not (damaged or _code(error) in _UNEXPECTED):
                    raise index_error(error, self.path) from error
                if damaged or failed:
                    used = used or self._identity
                    with self._lock:
                        self._forget()
                        set_aside(self.path, used)
                        self.recovered = True
                failed = True
        raise AssertionError("the last attempt returns or raises")

    def reading(self) -> AbstractContextManager[sqlite3.Connection]:
        """One moment of the index: all questions asked inside see the same state, whatever others write meanwhile.
        Nothing can be written inside: what has to be, comes before."""
        return self._transaction("begin", "rollback")

    def writing(self) -> AbstractContextManager[sqlite3.Connection]:
        return self._transaction("begin immediate", "commit")

    @contextlib.contextmanager
    def _transaction(self, begin: str, end: str) -> Iterator[sqlite3.Connection]:
        db = self.db
        db.execute(begin)
        try:
            yield db
            db.execute(end)
        finally:
            if db.in_transaction:
                db.execute("rollback")

    def get_meta(self, key: str) -> str | None:
        row = self.db.execute("select value from meta where key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def scrub(self) -> None:
        """Drop the words and vectors that nothing uses any more, and empty the journal: nothing of them stays in the file."""
        with self.writing() as db:
            for table in (WORDS, CHECKPOINT_WORDS):
                db.execute(f"insert into {table}({table}) values('optimize')")
            for (model,) in db.execute("select distinct model from vectors").fetchall():
                from nacre.index.vectors import compact

                compact(db, model)
        db = self.db
        (patience,) = db.execute("pragma busy_timeout").fetchone()
        db.execute("pragma busy_timeout = 0")  # who reads from the journal just now empties it when closing the index
        try:
            db.execute("pragma wal_checkpoint(truncate)").fetchall()
        finally:
            db.execute(f"pragma busy_timeout = {patience:d}")


def in_groups(db: sqlite3.Connection, query: str, keys: Sequence[object], *values: object) -> list[tuple[Any, ...]]:
    """The rows of a query with `in (%s)` for as many keys as there are; the keys come before the other values."""
    rows: list[tuple[Any, ...]] = []
    for start in range(0, len(keys), 500):
        group = keys[start : start + 500]
        rows += db.execute(query % ",".join("?" * len(group)), (*group, *values)).fetchall()
    return rows


# Checkpoints have a full text of their own: whole sessions have some of every word, and must not change how rare a word is among entries.
WORDS, CHECKPOINT_WORDS = "words", "checkpoint_words"
IN_TIERS = f"c.layer in ({', '.join(map(repr, TIERS))})"


def words_table(layer: str) -> str:
    return CHECKPOINT_WORDS if layer in TIERS else WORDS


def create_full_text(db: sqlite3.Connection) -> None:
    """Tokens are ours, joined by spaces; FTS5 only has to split them again."""
    for table in (WORDS, CHECKPOINT_WORDS):
        db.execute(f"create virtual table {table} using fts5(body, heading, tokenize = \"ascii tokenchars '_'\")")
        db.execute(f"create virtual table {table}_terms using fts5vocab({table}, row)")
