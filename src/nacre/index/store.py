"""The index while it is in use: connections for each thread, transactions, generations, recovery from damage."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, TypeVar

from nacre.config import Config
from nacre.errors import NoWorkspace
from nacre.index import schema
from nacre.text import CHUNKER_VERSION, TOKENIZER_VERSION
from nacre.words import say

Result = TypeVar("Result")
_NAME = "index.sqlite"


class Generation(NamedTuple):
    """One way of cutting files into chunks, with everything made that way."""

    id: int
    settings: str
    live: bool

    @property
    def words(self) -> str:
        return schema.full_text_table(self.id)

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
            connection = self._in_memory or schema.connect(self.path, check=self._must_be_there)
            if self.on_disk:
                self._identity = schema.identity(self.path)
            else:
                self._in_memory = connection
            self._threads.held = (self._epoch, connection)
            return connection

    def stay_in(self, folder: Path) -> None:
        """Make no file anew once this folder is gone or is another."""
        self._of.append((folder, schema.identity(folder)))

    def _must_be_there(self) -> None:
        for folder, known in self._of if self.on_disk else ():
            if schema.identity(folder) != known:
                raise NoWorkspace(
                    say(f"{folder} was moved or deleted while it was in use.", f"{folder} 在使用过程中被移动或删除。")
                )

    def _same_file(self) -> bool:
        return self._identity is None or schema.identity(self.path) == self._identity

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
                if last or schema.is_whole(self.db):
                    raise
                self._recover(used or self._identity)
            except sqlite3.DatabaseError as trouble:
                if not last and self.on_disk and used != schema.identity(self.path):
                    continue  # deleted or replaced meanwhile
                damaged = schema.is_damage(trouble)
                if last or not (damaged or schema.is_strange(trouble)):
                    raise schema.readable(trouble, self.path) from trouble
                strange += 1
                if damaged or strange > 1:
                    self._recover(used or self._identity)
        raise AssertionError("the last attempt returns or raises")

    def _recover(self, damaged: tuple[int, int] | None) -> None:
        with self._lock:
            self._forget()
            if self.on_disk:
                schema.set_aside(self.path, damaged)
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
            schema.create_full_text(db, number)
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
    schema.drop_full_text(db, number)
