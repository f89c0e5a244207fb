"""The index file: its tables, connections for each thread, transactions, generations, recovery from damage."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, TypeVar

from nacre.config.settings import Config
from nacre.errors import CannotWrite, IndexUnusable, NoWorkspace, cannot_write
from nacre.i18n import say
from nacre.text import CHUNKER_VERSION, TOKENIZER_VERSION
from nacre.vault.disk import make_folder

VERSION = 1
_OPEN_ATTEMPTS = 6  # at opening, while others delete what we open
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


def open_database(path: Path, *, timeout: float = 20.0, check: Callable[[], None] = lambda: None) -> sqlite3.Connection:
    """The index, made if it is not there. A damaged file is set aside; one from a newer version is refused.

    `check` is asked before every trial, and raises where nothing may be made any more.
    """
    for attempt in range(_OPEN_ATTEMPTS):
        last = attempt == _OPEN_ATTEMPTS - 1
        check()
        try:
            if str(path) != ":memory:":
                make_folder(path.parent)
            return _open(path, timeout)
        except sqlite3.DatabaseError as trouble:
            if is_damage(trouble) and not last:
                set_aside(path, file_identity(path))
            elif last or not may_be_deleted(trouble):
                raise index_error(trouble, path) from trouble
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
                f"The index {path} was made by a newer Nacre. Upgrade Nacre, or delete the folder {path.parent}: it is rebuilt, and nothing is lost.",
                f"索引 {path} 由更新版本的 Nacre 建立。请升级 Nacre,或删除文件夹 {path.parent}：它会重建，不会丢失任何内容。",
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


def file_identity(path: Path) -> tuple[int, int] | None:
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


def may_be_deleted(trouble: sqlite3.DatabaseError) -> bool:
    """Whether somebody may have deleted the file while it was being opened or used."""
    code = getattr(trouble, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY)


def is_unexpected(trouble: sqlite3.DatabaseError) -> bool:
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


def index_error(trouble: sqlite3.Error, path: Path) -> IndexUnusable:
    """The sentence for trouble that SQLite reports in its own words."""
    code = getattr(trouble, "sqlite_errorcode", 0) & 0xFF
    # Where memory is mapped from the file, a full disk shows as trouble with reading and writing.
    if code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and _no_room(path)):
        return IndexUnusable(
            f"The disk is full: the index {path} could not be updated. Your notes are untouched. Make room and run the command again.",
            f"磁盘已满：索引 {path} 未能更新。您的笔记未受影响。请腾出空间后重试。",
        )
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return IndexUnusable(
            f"The index {path} is in use by another process. Wait a moment and run the command again.",
            f"索引 {path} 正被其他进程使用。请稍后重试。",
        )
    return IndexUnusable(
        f"The index {path} cannot be used: {trouble}. Delete the folder {path.parent}: it is rebuilt, and nothing is lost.",
        f"索引 {path} 无法使用：{trouble}。请删除文件夹 {path.parent}：它会重建，不会丢失任何内容。",
    )


def set_aside(path: Path, damaged: tuple[int, int] | None) -> None:
    """Move a damaged index out of the way; the newest damaged one is kept for a look, older ones are not.

    Nothing happens when another process has done so: the file that now has the name is a new one.
    """
    from nacre.vault.lock import hold

    with hold(path.with_name(_LOCK)):
        if damaged is None or file_identity(path) != damaged:
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


# The index while it is in use: connections for each thread, transactions, generations, recovery from damage.

Result = TypeVar("Result")
_NAME = "index.sqlite"


class Generation(NamedTuple):
    """One way of cutting files into chunks, with everything made that way."""

    id: int
    settings: str
    live: bool

    @property
    def words(self) -> str:
        return full_text_table(self.id)

    @property
    def chunk_tokens(self) -> int:
        return int(json.loads(self.settings)["tokens"])

    @property
    def chunk_overlap(self) -> int:
        return int(json.loads(self.settings)["overlap"])


def wanted_settings(config: Config) -> str:
    """What a generation must have been made with to fit the settings in force."""
    made_with = {
        "tokens": config.index.chunk_tokens,
        "overlap": config.index.chunk_overlap,
        "chunker": CHUNKER_VERSION,
        "tokenizer": TOKENIZER_VERSION,
    }
    return json.dumps(made_with, sort_keys=True)


def index_file(folder: Path, called: str = _NAME) -> Path:
    """Where the index of a workspace lies: in it, or in the user's cache when it cannot be written to, or in memory."""
    if _writable(folder, called):
        return folder / called
    import hashlib

    import platformdirs

    name = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:16]
    elsewhere = Path(platformdirs.user_cache_dir("nacre", appauthor=False)) / "indexes" / name
    return elsewhere / called if _writable(elsewhere, called) else Path(":memory:")


def _writable(folder: Path, called: str) -> bool:
    place = str(folder)
    while not os.path.exists(place) and place != os.path.dirname(place):
        place = os.path.dirname(place)
    if not os.path.isdir(place) or not os.access(place, os.W_OK | os.X_OK):
        return False
    file = os.path.join(place, called)
    if place == str(folder) and os.path.exists(file) and not os.access(file, os.R_OK | os.W_OK):
        return False  # made by another user
    return not hasattr(os, "statvfs") or not os.statvfs(place).f_flag & os.ST_RDONLY


_ATTEMPTS = 6  # at work that others disturb by deleting or replacing the file


class Store:
    """One index file, safe to use from many threads and processes at once."""

    def __init__(self, path: Path, *, of: Path | None = None) -> None:
        """`of` is the workspace: where it was moved or deleted since, the index is not made anew."""
        self.path = path
        self._of: list[tuple[Path, tuple[int, int] | None]] = []
        if of is not None:
            self.stay_in(of)
        self.recovered = False  # a damaged file was set aside since this was opened
        self._lock = threading.RLock()
        self._threads = threading.local()
        self._in_memory: sqlite3.Connection | None = None  # shared by all threads; a file has a connection for each
        self._epoch = 0  # counts the files that this store has had open
        self._identity: tuple[int, int] | None = None

    @property
    def on_disk(self) -> bool:
        return str(self.path) != ":memory:"

    @property
    def epoch(self) -> int:
        """Changes whenever the file was deleted or replaced: what was known of it is then worth nothing."""
        _ = self.db
        return self._epoch

    @property
    def db(self) -> sqlite3.Connection:
        """This thread's connection; opened anew when the file was deleted or replaced under us."""
        held: tuple[int, sqlite3.Connection] | None = getattr(self._threads, "held", None)
        if held is not None and held[0] == self._epoch and self._same_file():
            return held[1]
        with self._lock:
            if not self._same_file():
                self._forget()
            connection = self._in_memory or open_database(self.path, check=self._must_be_there)
            if self.on_disk:
                self._identity = file_identity(self.path)
            else:
                self._in_memory = connection
            self._threads.held = (self._epoch, connection)
            return connection

    def stay_in(self, folder: Path) -> None:
        """Make no file anew once this folder is gone or is another."""
        self._of.append((folder, file_identity(folder)))

    def _must_be_there(self) -> None:
        for folder, known in self._of if self.on_disk else ():
            if file_identity(folder) != known:
                raise NoWorkspace(
                    say(f"{folder} was moved or deleted while it was in use.", f"{folder} 在使用过程中被移动或删除。")
                )

    def _same_file(self) -> bool:
        return self._identity is None or file_identity(self.path) == self._identity

    def _forget(self) -> None:
        """Turn to a new file. Other threads notice by the epoch; each lets go of its own connection, never of another's,
        which may be in the middle of a question."""
        self._epoch += 1
        self._identity = None
        self._in_memory = None
        held: tuple[int, sqlite3.Connection] | None = getattr(self._threads, "held", None)
        if held:
            with contextlib.suppress(sqlite3.Error):
                held[1].close()
        self._threads.held = None

    def close(self) -> None:
        with self._lock:
            self._forget()

    def safely(self, work: Callable[[], Result]) -> Result:
        """Do the work; when the file turns out to be damaged, set it aside and do it again on a new one.

        Work that failed because another process deleted the file, or let a new generation take over, is simply done again.
        Only if it fails then too, on tables that are always there, is the file held to be damaged.
        """
        strange = 0
        for attempt in range(_ATTEMPTS):
            used = self._identity
            last = attempt == _ATTEMPTS - 1
            try:
                return work()
            except (KeyError, TypeError, ValueError):
                # Rows that cannot be: the file is damaged in a way that SQLite does not notice by itself, or this is a bug.
                if last or is_whole(self.db):
                    raise
                self._recover(used or self._identity)
            except sqlite3.DatabaseError as trouble:
                if not last and self.on_disk and used != file_identity(self.path):
                    continue  # deleted or replaced meanwhile
                damaged = is_damage(trouble)
                if last or not (damaged or is_unexpected(trouble)):
                    raise index_error(trouble, self.path) from trouble
                strange += 1
                if damaged or strange > 1:
                    self._recover(used or self._identity)
        raise AssertionError("the last attempt returns or raises")

    def _recover(self, damaged: tuple[int, int] | None) -> None:
        with self._lock:
            self._forget()
            if self.on_disk:
                set_aside(self.path, damaged)
            self.recovered = True

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One moment of the index: all questions asked inside see the same state, whatever others write meanwhile.

        Nothing can be written inside: what has to be, comes before.
        """
        db = self.db
        with contextlib.nullcontext() if self.on_disk else self._lock:
            db.execute("begin")
            try:
                yield db
            finally:
                if db.in_transaction:
                    db.execute("rollback")

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction; all of it happens or none."""
        db = self.db
        with contextlib.nullcontext() if self.on_disk else self._lock:
            db.execute("begin immediate")
            try:
                yield db
                db.execute("commit")
            except BaseException:
                if db.in_transaction:
                    db.execute("rollback")
                raise

    def generations(self) -> list[Generation]:
        return _generations(self.db)

    def live(self) -> Generation | None:
        """The generation that answers."""
        return next((generation for generation in self.generations() if generation.live), None)

    def building(self, settings: str) -> Generation:
        """The generation made with these settings, begun if it was not; the first of all is live from the start."""
        for generation in self.generations():  # no need to wait for another writer
            if generation.settings == settings:
                return generation
        with self.writing() as db:
            existing = _generations(db)
            for generation in existing:
                if generation.settings == settings:
                    return generation
            for generation in existing:
                if not generation.live:  # begun with settings that have changed again
                    drop_generation(db, generation.id)
            live = not any(generation.live for generation in existing)
            number = db.execute(
                "insert into generations(settings, live) values(?, ?) returning id", (settings, live)
            ).fetchone()[0]
            create_full_text(db, number)
            return Generation(number, settings, live)

    def promote(self, generation: Generation) -> None:
        """Let a finished generation answer, and drop the ones before it."""
        with self.writing() as db:
            for old in _generations(db):
                if old.id != generation.id:
                    drop_generation(db, old.id)
            db.execute("update generations set live = 1 where id = ?", (generation.id,))

    def get_meta(self, key: str) -> str | None:
        row = self.db.execute("select value from meta where key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])


def set_meta(db: sqlite3.Connection, key: str, value: str) -> None:
    db.execute("insert into meta values(?, ?) on conflict(key) do update set value = excluded.value", (key, value))


def _generations(db: sqlite3.Connection) -> list[Generation]:
    rows = db.execute("select id, settings, live from generations order by id")
    return [Generation(row[0], row[1], bool(row[2])) for row in rows]


def drop_generation(db: sqlite3.Connection, number: int) -> None:
    db.execute("delete from passages where chunk in (select id from chunks where generation = ?)", (number,))
    db.execute("delete from chunks where generation = ?", (number,))
    db.execute("delete from files where generation = ?", (number,))
    db.execute("delete from generations where id = ?", (number,))
    drop_full_text(db, number)


# After something was taken out of an index: nothing of it stays in the unused parts of the file.


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
