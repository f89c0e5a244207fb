"""Whether anything was written since we last looked, without looking: the kernel's own notes on Linux.

inotify queues an event before the write that caused it returns, so a search that finds the queue empty has missed nothing.
Where that cannot be relied on (other systems, file systems that others write to, too many folders) every search scans instead.
"""

from __future__ import annotations

import os
import re
import struct
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

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
        if not sys.platform.startswith("linux") or len(wanted) > _MOST_FOLDERS or not all_local(wanted):
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


def all_local(folders: set[str]) -> bool:
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
