"""The tables of the index, how the file is opened, and what happens when it is damaged or from the future."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

from nacre.errors import CannotWrite, IndexUnusable, cannot_write
from nacre.vault.atomic import make_folder
from nacre.words import say

VERSION = 1
_ATTEMPTS = 6  # at opening, while others delete what we open
_LOCK = "making"  # held while the file is made or set aside, never while it is used

TABLES = """
create table meta(key text primary key, value text) without rowid;
create table generations(id integer primary key, settings text not null, live integer not null);
create table files(
  id integer primary key, generation integer not null, path text not null, layer text not null,
  size integer, mtime integer, ctime integer, inode integer, read_at integer, hash blob,
  unique(generation, path));
create table chunks(
  id integer primary key, generation integer not null, file integer not null, position integer not null, first integer not null, last integer not null,
  heading text not null, context text not null, text text not null, size integer not null, key text not null,
  layer text not null, date text, time text, session text, project text, audience text, label text, tags text);
create index chunk_file on chunks(file, position);
create index chunk_key on chunks(key);
create table passages(
  chunk integer not null, position integer not null, hash blob not null, batch integer,
  primary key(chunk, position)) without rowid;
create index passage_hash on passages(hash);
create index passage_batch on passages(batch);
create table models(id integer primary key, name text not null, hash text not null unique, dims integer not null);
create table batches(id integer primary key, provider text not null, models text not null, settings text not null, unique(provider, models));
create table vectors(
  model integer not null, slot integer not null, hash blob not null, scale real not null, data blob not null,
  primary key(model, slot)) without rowid;
create unique index vector_hash on vectors(model, hash);
create table signs(model integer not null, block integer not null, data blob not null, primary key(model, block)) without rowid;
"""

# "audience" is null for private talk, "*" for what is public, else the group a section is stamped with.
# "batch" names the set of models with which a passage has been embedded; null means not yet.


class _Connection(sqlite3.Connection):
    """Closes itself with the thread that used it."""

    def __del__(self) -> None:
        with contextlib.suppress(sqlite3.ProgrammingError):  # one that could not be opened has nothing to close
            self.close()


def connect(path: Path, *, timeout: float = 20.0, check: Callable[[], None] = lambda: None) -> sqlite3.Connection:
    """The index, made if it is not there. A damaged file is set aside; one from a newer version is refused.

    `check` is asked before every trial, and raises where nothing may be made any more.
    """
    for attempt in range(_ATTEMPTS):
        last = attempt == _ATTEMPTS - 1
        check()
        try:
            if str(path) != ":memory:":
                make_folder(path.parent)
            return _open(path, timeout)
        except sqlite3.DatabaseError as trouble:
            if is_damage(trouble) and not last:
                set_aside(path, identity(path))
            elif last or not may_be_swept(trouble):
                raise readable(trouble, path) from trouble
        except CannotWrite as trouble:
            if last or not isinstance(trouble.__cause__, FileNotFoundError):
                raise
        except OSError as trouble:  # the folder may be deleted while we make it: it is always allowed
            if last or not isinstance(trouble, FileNotFoundError):
                raise cannot_write(path.parent, trouble) from trouble
    raise AssertionError("the last attempt returns or raises")


def _open(path: Path, timeout: float) -> sqlite3.Connection:
    if str(path) == ":memory:" or (path.exists() and path.stat().st_size):
        return _opened(path, timeout)
    from nacre.vault.lock import hold

    with hold(path.with_name(_LOCK)):  # two who make the file at once would find it locked where SQLite does not wait
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        return _opened(path, timeout)


def _opened(path: Path, timeout: float) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=timeout, isolation_level=None, check_same_thread=False, factory=_Connection)
    try:
        db.execute("pragma journal_mode = wal")
        db.execute("pragma synchronous = normal")
        db.execute("pragma secure_delete = fast")
        db.execute("pragma mmap_size = 268435456")
        db.execute("pragma temp_store = memory")
        version = db.execute("pragma user_version").fetchone()[0]
        if version > VERSION:
            raise IndexUnusable(
                say(
                    f"The index {path} was made by a newer Nacre. Upgrade Nacre, or delete the folder {path.parent}: it is rebuilt, and nothing is lost.",
                    f"索引 {path} 由更新版本的 Nacre 建立。请升级 Nacre,或删除文件夹 {path.parent}：它会重建，不会丢失任何内容。",
                )
            )
        if version < VERSION:
            _create(db)
    except BaseException:
        db.close()
        raise
    return db


def _create(db: sqlite3.Connection) -> None:
    db.execute("begin exclusive")
    try:
        version = db.execute("pragma user_version").fetchone()[0]
        if version < VERSION:  # else another process was first
            if version or db.execute("select 1 from sqlite_master").fetchone():
                raise _outdated()
            for statement in TABLES.split(";"):
                if statement.strip():
                    db.execute(statement)
            db.execute(f"pragma user_version = {VERSION}")
        db.execute("commit")
    except BaseException:
        db.execute("rollback")
        raise


def _outdated() -> sqlite3.DatabaseError:
    """An index of an older version, or of nobody we know, is treated as a damaged one: it is made anew."""
    trouble = sqlite3.DatabaseError("not an index of this version")
    trouble.sqlite_errorcode = sqlite3.SQLITE_NOTADB
    return trouble


def identity(path: Path) -> tuple[int, int] | None:
    """What tells a file from another one that took its name; None when there is none."""
    try:
        about = os.stat(path)
    except OSError:
        return None
    return about.st_dev, about.st_ino


def is_damage(trouble: sqlite3.DatabaseError) -> bool:
    """Whether the file itself is broken, as against busy, full or misused."""
    code = getattr(trouble, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def may_be_swept(trouble: sqlite3.DatabaseError) -> bool:
    """Whether somebody may have deleted the file while it was being opened or used."""
    code = getattr(trouble, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY)


def is_strange(trouble: sqlite3.DatabaseError) -> bool:
    """Whether tables or text are not what we left: swept away by another process just now, or damaged."""
    code = getattr(trouble, "sqlite_errorcode", None)
    return code is None or code & 0xFF in (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_SCHEMA, sqlite3.SQLITE_IOERR)


def is_whole(db: sqlite3.Connection) -> bool:
    """Whether SQLite finds nothing wrong in the whole file, looking at every page and index entry."""
    try:
        return bool(db.execute("pragma integrity_check(1)").fetchone()[0] == "ok")
    except sqlite3.DatabaseError:
        return False


def _no_room(path: Path) -> bool:
    try:
        return shutil.disk_usage(path.parent).free < 1 << 16
    except OSError:
        return False


def readable(trouble: sqlite3.Error, path: Path) -> IndexUnusable:
    """The sentence for trouble that SQLite reports in its own words."""
    code = getattr(trouble, "sqlite_errorcode", 0) & 0xFF
    # Where memory is mapped from the file, a full disk shows as trouble with reading and writing.
    if code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and _no_room(path)):
        return IndexUnusable(
            say(
                f"The disk is full: the index {path} could not be updated. Your notes are untouched. Make room and run the command again.",
                f"磁盘已满：索引 {path} 未能更新。您的笔记未受影响。请腾出空间后重试。",
            )
        )
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return IndexUnusable(
            say(
                f"The index {path} is in use by another process. Wait a moment and run the command again.",
                f"索引 {path} 正被其他进程使用。请稍后重试。",
            )
        )
    return IndexUnusable(
        say(
            f"The index {path} cannot be used: {trouble}. Delete the folder {path.parent}: it is rebuilt, and nothing is lost.",
            f"索引 {path} 无法使用：{trouble}。请删除文件夹 {path.parent}：它会重建，不会丢失任何内容。",
        )
    )


def set_aside(path: Path, damaged: tuple[int, int] | None) -> None:
    """Move a damaged index out of the way; the newest damaged one is kept for a look, older ones are not.

    Nothing happens when another process has done so: the file that now has the name is a new one.
    """
    from nacre.vault.lock import hold

    with hold(path.with_name(_LOCK)):
        if damaged is None or identity(path) != damaged:
            return
        for old in path.parent.glob(f"{path.name}.damaged-*"):
            with contextlib.suppress(FileNotFoundError):
                old.unlink()
        with contextlib.suppress(FileNotFoundError):
            path.rename(path.with_name(f"{path.name}.damaged-{time.time_ns()}"))
        for suffix in ("-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                path.with_name(path.name + suffix).unlink()


def full_text_table(generation: int) -> str:
    return f"words_{generation:d}"


def create_full_text(db: sqlite3.Connection, generation: int) -> None:
    """Full text of one generation. Tokens are ours, joined by spaces; FTS5 only has to split them again."""
    name = full_text_table(generation)
    db.execute(
        f"""create virtual table if not exists {name} using fts5(body, heading, tokenize = "ascii tokenchars '_'")"""
    )
    db.execute(f"create virtual table if not exists {name}_terms using fts5vocab({name}, row)")


def drop_full_text(db: sqlite3.Connection, generation: int) -> None:
    name = full_text_table(generation)
    db.execute(f"drop table if exists {name}_terms")
    db.execute(f"drop table if exists {name}")
