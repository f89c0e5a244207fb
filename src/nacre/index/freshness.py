"""Keeps the index true to the files: a scan, or the kernel's change events, before every search.

Only files that changed are read, and only what changed in them is written.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sqlite3
import struct
import sys
import threading
import time
from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from nacre.errors import CannotRead, NacreError
from nacre.index.store import CHECKPOINT_WORDS, WORDS, Store, wanted_settings, words_table
from nacre.model import LINKED, Context, Workspace
from nacre.vault.storage import MemoryFile, memory_files, read_log, storage_of

if TYPE_CHECKING:
    from nacre.index.document import Document, Part

Progress = Callable[[int, int], None]
# What one transaction reads at most: a hook may be cut off soon, and is to leave progress behind.
_BATCH_FILES, _BATCH_SECONDS = 200, 0.2
# A file written just before it was read may change again without a newer time. Two seconds is the coarsest tick of any file
# system. Every write moves ctime, which nobody can set; only Windows keeps something else there.
_RACY = 2_000_000_000
_BY_CTIME = os.name == "posix"


@dataclass
class TextReport:
    files: int = 0
    read: int = 0
    changed: int = 0
    removed: int = 0
    unreadable: list[str] = field(default_factory=list)
    sessions: TextReport | None = None  # the same for the index of sessions, where there is one


class MemoryIndex:
    """Brings an index up to date before it is searched, so that no write is missed."""

    to_the_second = False  # whether it is known when something was said, not only on which day

    def __init__(self, context: Context, store: Store) -> None:
        self.context = context
        self.store = store
        # Those whose change could be one of memory, as the last scan saw them.
        self.folders: frozenset[str] = frozenset()
        self._linked = False
        self.each_batch: Progress | None = None  # called with every batch that a search has to read first; may raise
        self._feed = ChangeFeed()
        self._lock = threading.Lock()
        self._scans = 0
        self._fresh: int | None = None  # the epoch of the store that was brought up to date last

    @property
    def wanted(self) -> str:
        return wanted_settings(self.context.config)

    def current(self) -> None:
        """Read what changed: a search never misses a file that changed before it was asked. Files that were read with other
        settings answer as they are, but not to a group: what is whose may have been told otherwise by an older version."""
        with self._lock:
            in_group = self.context.scope.group is not None
            if self._fresh == self.store.epoch and self._feed.quiet() and not (in_group and self.outdated()):
                return
            self._fresh = epoch = None  # if this fails, the next one looks again
            while epoch != self.store.epoch:  # else somebody deleted the file meanwhile
                epoch = self.store.epoch
                self._bring_up(self.each_batch, outdated=in_group)
            self._fresh = epoch

    def outdated(self) -> bool:
        """Whether some file was read with other settings than those in force."""
        other = "select 1 from files where made_with"
        query = f"{other} < ?1 union all {other} > ?1 limit 1"
        return self.store.db.execute(query, (self.wanted,)).fetchone() is not None

    def rebuild(self, progress: Progress | None = None, *, every_file: bool = False) -> TextReport:
        """Bring the text up to date with files and settings."""
        with self._lock:
            self._fresh = None
            return self._bring_up(progress, every_file=every_file, outdated=True)

    def _bring_up(self, progress: Progress | None, *, every_file: bool = False, outdated: bool = False) -> TextReport:
        self._scans += 1
        # Who searches again and again is worth a watch.
        watching = self._scans > 2 and bool(self.folders) and not self._linked and self._feed.watch(self.folders)
        self._feed.quiet()  # what was queued until now, the scan below sees
        folders: set[str] = set()
        files = memory_files(self.context.workspace, self.context.config, folders)
        report = update(self.store, self.context, files, progress, every_file=every_file, outdated=outdated)
        self._linked = LINKED in folders
        folders.discard(LINKED)
        if watching and (folders != self.folders or self._linked):
            self._feed.close()  # a new folder was not watched while it was scanned
        self.folders = frozenset(folders)
        return report

    def close(self) -> None:
        with self._lock:  # the descriptor may be another file's as soon as it is closed
            self._feed.close()
        self.store.close()


# Files into the index.

# A file as the index knows it: path, id, then what the walk sees of it (layer, size, mtime, ctime, inode), when it was read and
# with which settings. Plain rows: two thousand objects would cost as much as the whole search.
_Row = tuple[str, int, str, int, int, int, int, int, str]


def update(
    store: Store,
    context: Context,
    files: Iterable[MemoryFile],
    progress: Progress | None = None,
    *,
    every_file: bool = False,
    outdated: bool = False,
) -> TextReport:
    """Make the index fit the files; in several transactions, so that an interrupted run is carried on by the next.
    `every_file` reads also those that look unchanged, `outdated` those that were read with other settings."""
    report = TextReport()
    rows = _rows(store.db)
    wanted = wanted_settings(context.config)
    changed: list[MemoryFile] = []
    for file in files:
        report.files += 1
        row = rows.pop(file.path, None)
        # Racy: it may have changed after it was read without showing a newer time.
        racy = row and row[7] - (row[5] if _BY_CTIME else max(row[4], row[5])) < _RACY
        if every_file or row is None or row[2:7] != file[2:] or racy or (outdated and row[8] != wanted):
            changed.append(file)
    # By their names, which are days for most: whoever works through the chunks backwards meets the newest first.
    changed.sort(key=lambda file: file.path[file.path.rfind("/") + 1 :])
    if rows:
        with store.writing() as db:
            for path, number, *_, read_at, _ in rows.values():
                # Unless another process has read it since: then it is there again.
                same = "select 1 from files where id = ? and path = ? and read_at = ?"
                if db.execute(same, (number, path, read_at)).fetchone():
                    remove_file(db, number)
                    report.removed += 1
    done = 0
    while done < len(changed):
        with store.writing() as db:
            until = time.monotonic() + _BATCH_SECONDS
            for file in changed[done : done + _BATCH_FILES]:
                _store_file(db, context, file, time.time_ns(), _read(context, file), report, outdated=outdated)
                done += 1
                if time.monotonic() > until:
                    break
        if progress:
            progress(done, len(changed))
    return report


def count_changed(store: Store, files: Iterable[MemoryFile]) -> int:
    """How many files differ from what the index knows of them; those that are gone count too."""
    rows = _rows(store.db)
    changed = sum((rows.pop(file.path, None) or ())[2:7] != file[2:] for file in files)
    return changed + len(rows)


def _rows(db: sqlite3.Connection) -> dict[str, _Row]:
    query = "select path, id, layer, size, mtime, ctime, inode, read_at, made_with from files"
    return {row[0]: row for row in db.execute(query)}


def _read(context: Context, file: MemoryFile) -> bytes | None:
    try:
        return read_log(context.workspace, Path(file.full))
    except CannotRead:
        raise
    except NacreError:  # not for us to read, or packed and damaged or too large: doctor says so
        return None


def _lies_where_named(workspace: Workspace, file: MemoryFile) -> bool:
    """Whether a file lies where its path says. Through a link in a folder of logs or notes a private file would look like one
    of these, and what it says of itself would be believed."""
    real = storage_of(workspace).real(workspace.relative(Path(file.full)))
    if os.path.isabs(file.path):  # of the user's library, wherever that lies
        return os.path.basename(real) == os.path.basename(file.full)
    return real == file.path


def content_digest(data: bytes, *, private: bool = False) -> bytes:
    """By what the index knows whether a file changed: its bytes, and whether it may be shown to others at all."""
    return hashlib.blake2b(data, digest_size=16, key=b"private" if private else b"").digest()


def _store_file(
    db: sqlite3.Connection,
    context: Context,
    file: MemoryFile,
    read_at: int,
    data: bytes | None,
    report: TextReport,
    *,
    outdated: bool = False,
) -> None:
    """Store one file. Another process may have done so meanwhile: the row is read again inside the transaction."""
    row = db.execute(
        "select id, hash, layer, read_at, made_with, pieces from files where path = ?", (file.path,)
    ).fetchone()
    if row and read_at < row[3] <= time.time_ns():
        return  # another process has read it later than we did
    if data is None:
        report.unreadable.append(file.path)
        if row:
            remove_file(db, row[0])
        return
    report.read += 1
    made_with = wanted_settings(context.config)
    private = not _lies_where_named(context.workspace, file)
    digest = content_digest(data, private=private)
    is_same = bool(row) and row[1:3] == (digest, file.layer)
    is_old = bool(row) and row[4] != made_with and (outdated or not is_same)
    if row and (is_old or words_table(row[2]) != words_table(file.layer)):  # nothing of it is as it would be made now
        remove_file(db, row[0])
        row, is_same = None, False
    values = (file.path, made_with, *file[2:], read_at, digest)
    store = (
        "insert into files(path, made_with, layer, size, mtime, ctime, inode, read_at, hash) values(?,?,?,?,?,?,?,?,?)"
        " on conflict(path) do update set layer=excluded.layer, size=excluded.size, mtime=excluded.mtime,"
        " ctime=excluded.ctime, inode=excluded.inode, read_at=excluded.read_at, hash=excluded.hash returning id"
    )
    number = db.execute(store, values).fetchone()[0]
    if not is_same:
        from nacre.index.document import Document  # only a changed file pays for the machinery of chunks

        report.changed += 1
        settings = context.config.index
        size = settings.chunk_tokens, settings.chunk_overlap
        document = Document(file.path, file.layer, data, private=private)
        _store_document(db, number, document, size, row[5] if row else None)


def _store_document(
    db: sqlite3.Connection, file: int, document: Document, size: tuple[int, int], pieces: bytes | None
) -> None:
    """Store what changed in a file. Of its pieces before, those at the beginning and at the end
    that are as they were are not parsed again; those at the end only move."""
    values = array("Q", pieces or b"")
    old = list(zip(values[::3], values[1::3], values[2::3], strict=True))  # of each its digest, lines and chunks
    new = document.pieces
    most = min(len(old), len(new))
    head = next((at for at in range(most) if old[at][0] != new[at].digest), most)
    tail = next((at for at in range(most - head) if old[-1 - at][0] != new[-1 - at].digest), most - head)
    start = sum(chunks for *_, chunks in old[:head])
    end = sum(chunks for *_, chunks in old[: len(old) - tail])
    outside = "select key from chunks where file = ? and (position < ? or position >= ?)"
    used = {key for (key,) in db.execute(outside, (file, start, end))}
    if tail:  # out of the way of new positions
        db.execute("update chunks set position = -1 - position where file = ? and position >= ?", (file, end))
    made: list[tuple[int, int, int]] = []

    def parts() -> Iterator[Part]:
        for piece in new[head : len(new) - tail]:
            before = len(used)
            yield from document.parts([piece], *size, used)
            made.append((piece.digest, piece.end - piece.first, len(used) - before))

    count = replace_chunks(db, file, document.layer, parts(), start, end)
    if tail:
        moved = start + count - end, new[-tail].first - sum(lines for _, lines, _ in old[: len(old) - tail])
        places = "position = ? - 1 - position, first = first + ?, last = last + ?"
        db.execute(f"update chunks set {places} where file = ? and position < 0", (*moved, moved[1], file))
    rows = [*old[:head], *made, *old[len(old) - tail :]]
    stored = array("Q", chain.from_iterable(rows)).tobytes()
    db.execute("update files set pieces = ? where id = ?", (stored, file))


def replace_chunks(
    db: sqlite3.Connection, file: int, layer: str, parts: Iterable[Part], start: int = 0, end: int = 1 << 62
) -> int:
    """Replace the chunks of a file from one position to before another; those whose words stayed the same keep their row and
    only move. How many there are."""
    stored = "select key, context, tags, id from chunks where file = ? and position >= ? and position < ?"
    kept = {tuple(row): chunk for *row, chunk in db.execute(stored, (file, start, end))}
    moves = []
    position = start
    for position, part in enumerate(parts, start + 1):
        chunk = kept.pop((part.key, part.context, _stored_tags(part)), None)
        if chunk is not None:
            moves.append((position - 1, part.first, part.last, layer, part.date, part.audience, part.project, chunk))
        else:
            add_chunk(db, file, layer, position - 1, part)
    moved = "update chunks set position=?, first=?, last=?, layer=?, date=?, audience=?, project=? where id=?"
    db.executemany(moved, moves)
    _remove_chunks(db, kept.values())
    return position - start


def _stored_tags(part: Part) -> str | None:
    return json.dumps(part.tags, ensure_ascii=False) if part.tags else None


def add_chunk(db: sqlite3.Connection, file: int, layer: str, position: int, part: Part) -> None:
    from nacre.index.document import passage_hash, passage_texts
    from nacre.text.tokens import tokens, tokens_estimate

    row = {
        "file": file,
        "position": position,
        "first": part.first,
        "last": part.last,
        "heading": part.heading,
        "context": part.context,
        "text": part.text,
        "size": tokens_estimate(part.text),
        "key": part.key,
        "layer": layer,
        "date": part.date,
        "time": part.stamp.time,
        "session": part.stamp.session,
        "project": part.project,
        "audience": part.audience,
        "label": part.label,
        "tags": _stored_tags(part),
    }
    query = f"insert into chunks({','.join(row)}) values({','.join('?' * len(row))})"
    chunk = db.execute(query, tuple(row.values())).lastrowid
    words = (chunk, " ".join(tokens(part.text)), " ".join(tokens(part.found_by)))
    db.execute(f"insert into {words_table(layer)}(rowid, body, heading) values(?,?,?)", words)
    rows = [(chunk, at, passage_hash(text)) for at, text in enumerate(passage_texts(part.context, part.text))]
    db.executemany("insert into passages(chunk, position, hash) values(?,?,?)", rows)


def remove_file(db: sqlite3.Connection, file: int) -> None:
    _remove_chunks(db, [row[0] for row in db.execute("select id from chunks where file = ?", (file,))])
    db.execute("delete from files where id = ?", (file,))


def _remove_chunks(db: sqlite3.Connection, ids: Iterable[int]) -> None:
    rows = [(number,) for number in ids]
    for table in (WORDS, CHECKPOINT_WORDS):
        db.executemany(f"delete from {table} where rowid = ?", rows)
    db.executemany("delete from passages where chunk = ?", rows)
    db.executemany("delete from chunks where id = ?", rows)


# The kernel's change events.

_EVENTS = 0x2 | 0x4 | 0x8 | 0x40 | 0x80 | 0x100 | 0x200 | 0x400 | 0x800  # modify, attrib, close, moves, create, delete
# About a folder as such: it or a folder in it came, went, moved or was unmounted, or events were lost. A watch stays with the
# folder it was set on, not with the name, so all of them are set anew.
_MOVED_GROUND = 0x40000000 | 0x400 | 0x800 | 0x2000 | 0x4000 | 0x8000
_EVENT = struct.Struct("iIII")
_MAX_FOLDERS = 2000
# What is written whenever a memory is read: counts of it, and the file that they lie in until they are renamed. No memory itself.
_COUNTS = re.compile(rb"recalls\.jsonl|refcount\.json|\.nacre-.*\.tmp")
# File systems that only this kernel writes to. On others another machine, or a host outside the container, may.
_LOCAL = frozenset(
    "ext2 ext3 ext4 xfs btrfs tmpfs ramfs overlay zfs f2fs bcachefs jfs reiserfs vfat exfat ntfs3 ecryptfs".split()
)


class ChangeFeed:
    """Tells whether any watched folder was touched since the last question. Not shared between processes."""

    def __init__(self) -> None:
        self._queue: int | None = None
        self._watched: set[str] = set()
        self._owner = os.getpid()

    def watch(self, folders: Iterable[str]) -> bool:
        """Watch these folders and no others; False when changes cannot be told."""
        real = {os.path.realpath(folder) for folder in folders}
        if self._queue is not None and real == self._watched and self._owner == os.getpid():
            return True
        self.close()
        if not sys.platform.startswith("linux") or len(real) > _MAX_FOLDERS or not all_on_local_disks(real):
            return False
        import ctypes

        libc = ctypes.CDLL(None, use_errno=True)
        queue = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if queue < 0:
            return False
        self._queue, self._owner, self._watched = queue, os.getpid(), real
        if any(libc.inotify_add_watch(queue, os.fsencode(folder), _EVENTS) < 0 for folder in real):
            self.close()  # the system's limit of watches, or a folder that went away
        return self._queue is not None

    def quiet(self) -> bool:
        """True when surely nothing was written; False when something was, or when nobody can tell."""
        if self._queue is None or self._owner != os.getpid():
            return False
        events = list(self._events())
        if any(mask & _MOVED_GROUND for mask, _ in events):
            self.close()
        return self._queue is not None and all(_COUNTS.fullmatch(name) for _, name in events)

    def _events(self) -> Iterator[tuple[int, bytes]]:
        while self._queue is not None:
            try:
                data = os.read(self._queue, 65536)
            except BlockingIOError:
                return
            except OSError:
                self.close()
                return
            at = 0
            while at < len(data):
                _, mask, _, length = _EVENT.unpack_from(data, at)
                at += _EVENT.size + length
                yield mask, data[at - length : at].rstrip(b"\0")

    def close(self) -> None:
        if self._queue is not None:
            os.close(self._queue)
        self._queue = None
        self._watched = set()

    def __del__(self) -> None:
        if self._owner == os.getpid():
            self.close()


def all_on_local_disks(folders: Iterable[str]) -> bool:
    """Whether all folders lie on file systems that only this kernel writes to; what is not known does not count."""
    try:
        with open("/proc/self/mounts", encoding="utf-8", errors="surrogateescape") as mounts:
            rows = [line.split(" ") for line in mounts]
        kinds = {re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), row[1]): row[2] for row in rows}
    except (OSError, IndexError):
        return False
    return all(_mount_kind(folder, kinds) in _LOCAL for folder in folders)


def _mount_kind(folder: str, kinds: dict[str, str]) -> str:
    while folder not in kinds and folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
    return kinds.get(folder, "unknown")
