"""Keeps the index true to the files: a scan, or the kernel's change events, before every search; a new generation after a changed setting."""

from __future__ import annotations

import os
import re
import struct
import sys
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

from nacre.config.settings import Config
from nacre.index.store import Generation, Store, wanted_settings
from nacre.index.update import Progress, TextReport, update
from nacre.model.workspace import Workspace
from nacre.vault.files import memory_files

_EVENTS = 0x2 | 0x4 | 0x8 | 0x40 | 0x80 | 0x100 | 0x200 | 0x400 | 0x800  # modify, attrib, close, moves, create, delete
# About a folder as such: it or a folder in it came, went, moved or was unmounted, or events were lost. A watch stays with the
# folder it was set on, not with the name, so all of them are set anew.
_MOVED_GROUND = 0x40000000 | 0x400 | 0x800 | 0x2000 | 0x4000 | 0x8000
_EVENT = struct.Struct("iIII")
_MOST_FOLDERS = 2000
# What is written whenever a memory is read: counts of it, and the file that they lie in until they are renamed. No memory itself.
_COUNTS = (b"recalls.jsonl", b"refcount.json")
_TEMPORARY = b".nacre-"
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

    def watch(self, folders: Iterable[str], proof: Path) -> bool:
        """Watch these folders and no others; False when changes cannot be told, proven with a write to `proof`."""
        wanted = {os.path.realpath(folder) for folder in folders}
        if self._queue is not None and wanted == self._watched and self._owner == os.getpid():
            return True
        self.close()
        if not sys.platform.startswith("linux") or len(wanted) > _MOST_FOLDERS or not all_on_local_disks(wanted):
            return False
        import ctypes

        libc = ctypes.CDLL(None, use_errno=True)
        queue = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if (
            queue < 0
        ):  # a user has 128 of them: those of memories that nobody holds any more may be waiting to be let go
            import gc

            gc.collect()
            queue = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if queue < 0:
            return False
        self._queue, self._owner = queue, os.getpid()
        marks = {libc.inotify_add_watch(queue, os.fsencode(folder), _EVENTS) for folder in wanted}
        mark = libc.inotify_add_watch(queue, os.fsencode(proof.parent), _EVENTS)
        if mark < 0 or min(marks, default=0) < 0:
            self.close()  # the system's limit of watches, or a folder that went away
            return False
        try:
            proof.touch(0o600)
        except OSError:
            self.close()
            return False
        proven = any(source == mark for source, _, _ in self._events())
        if not proven or (mark not in marks and libc.inotify_rm_watch(queue, mark) < 0):
            self.close()
            return False
        for _ in self._events():  # the note that the watch on the proof is gone
            pass
        self._watched = wanted
        return True

    def quiet(self) -> bool:
        """True when surely nothing was written; False when something was, or when nobody can tell."""
        if self._queue is None or self._owner != os.getpid():
            return False
        masks = [mask for _, mask, name in self._events() if mask & _MOVED_GROUND or not _is_a_count(name)]
        if any(mask & _MOVED_GROUND for mask in masks):
            self.close()
        return not masks and self._queue is not None

    def _events(self) -> Iterator[tuple[int, int, bytes]]:
        """What is queued: the watch that each event came from, what it was, and the name of the file in its folder."""
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
                source, mask, _, length = _EVENT.unpack_from(data, at)
                at += _EVENT.size + length
                yield source, mask, data[at - length : at].rstrip(b"\0")

    def close(self) -> None:
        if self._queue is not None:
            os.close(self._queue)
        self._queue = None
        self._watched = set()

    def __del__(self) -> None:
        if self._queue is not None and self._owner == os.getpid():
            os.close(self._queue)


def _is_a_count(name: bytes) -> bool:
    return name in _COUNTS or (name.startswith(_TEMPORARY) and name.endswith(b".tmp"))


def all_on_local_disks(folders: set[str]) -> bool:
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


# Keeps the index true to the files: before every search, and when a changed setting asks for a new generation.

_PROOF = "watching"


class MemoryIndex:
    """Answers which generation to search, after making sure that it has missed no write."""

    def __init__(self, workspace: Workspace, config: Config, store: Store, *, for_group: bool = False) -> None:
        self.workspace = workspace
        self.for_group = for_group
        self.config = config
        self.store = store
        self._feed = ChangeFeed()
        self._lock = threading.Lock()
        self._scans = 0
        self._folders: set[str] = set()
        self._known: tuple[int, Generation | None] | None = None
        self.each_batch: Progress | None = (
            None  # told of every batch that a search has to read first; may raise to end that
        )

    @property
    def wanted(self) -> str:
        """What a generation must have been made with to fit the settings in force."""
        return wanted_settings(self.config)

    @property
    def folders(self) -> frozenset[str]:
        """The folders whose change could be one of memory, as the last scan saw them; none before the first."""
        return frozenset(self._folders)

    def current(self, progress: Progress | None = None) -> Generation:
        """The generation that answers, fresh: a search never misses a file that changed before it was asked.

        A group does not get answers from one that an older version made: what is whose may have been told otherwise then.
        """
        if self.for_group and self.outdated():
            self.finish()
        with self._lock:
            live = self.store.live()  # another process may have let a new generation take over
            known = (self.store.epoch, live)
            if live and known == self._known and self._feed.quiet():
                return live
            self._known = None  # if this fails, the next one looks again
            live = live or self.store.building(self.wanted)
            self._bring_up(live, progress or self.each_batch)
            self._known = (self.store.epoch, live)
            return live

    def outdated(self) -> bool:
        """Whether the settings have changed since the generation that answers was made."""
        live = self.store.live()
        return live is not None and live.settings != self.wanted

    def rebuild(self, progress: Progress | None = None, *, every_file: bool = False) -> TextReport:
        """Bring the text up to date with files and settings. A new generation is built beside the one that answers."""
        with self._lock:
            wanted = self.store.building(self.wanted)
            report = self._bring_up(wanted, progress, every_file=every_file)
            self._known = None
            return report

    def finish(self) -> None:
        """Let the generation that fits the settings take over, completed first if it was not."""
        with self._lock:
            wanted = self.store.building(self.wanted)
            if not wanted.live:
                self._bring_up(wanted, None)
                self.store.promote(wanted)
            self._known = None

    def _bring_up(self, generation: Generation, progress: Progress | None, *, every_file: bool = False) -> TextReport:
        self._scans += 1
        watching = False
        if self._scans > 2 and self._folders and self.store.on_disk:  # who searches again and again is worth a watch
            watching = self._feed.watch(self._folders, self.store.path.parent / _PROOF)
            self._feed.quiet()  # what was queued until now, the scan below sees
        folders: set[str] = set()
        found = memory_files(self.workspace, self.config, folders)
        report = update(self.store, generation, found, progress, every_file=every_file)
        if folders != self._folders and watching:
            self._feed.close()  # a new folder was not watched while it was scanned
        self._folders = folders
        return report

    def close(self) -> None:
        self._feed.close()
        self.store.close()
