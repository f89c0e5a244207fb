"""Whether anything was written since we last looked, without looking: the kernel's own notes on Linux.

inotify queues an event before the write that caused it returns, so a search that finds the queue empty has missed nothing.
Where that cannot be relied on (other systems, network file systems, too many folders) every search scans instead.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Iterable
from pathlib import Path

_EVENTS = 0x2 | 0x4 | 0x8 | 0x40 | 0x80 | 0x100 | 0x200 | 0x400 | 0x800  # modify, attrib, close, moves, create, delete
_MOST_FOLDERS = 2000
# File systems on which other machines, or a host outside the container, can write behind our kernel's back.
_REMOTE = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "vboxsf", "ceph", "glusterfs", "afs", "virtiofs", "drvfs"}
)


class ChangeFeed:
    """Tells whether any watched folder was touched since the last question. Not shared between processes."""

    def __init__(self) -> None:
        self._queue: int | None = None
        self._watched: set[str] = set()
        self._last_watch = -1

    def watch(self, folders: Iterable[str], proof: Path) -> bool:
        """Watch these folders and no others; False when changes cannot be told, proven with a write to `proof`."""
        wanted = {os.path.realpath(folder) for folder in folders}
        if self._queue is not None and wanted == self._watched:
            return True
        self.close()
        if (
            not sys.platform.startswith("linux")
            or len(wanted) > _MOST_FOLDERS
            or any(_remote(folder) for folder in wanted)
        ):
            return False
        libc = ctypes.CDLL(None, use_errno=True)
        queue = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if queue < 0:
            return False
        self._queue = queue
        for folder in (*wanted, str(proof.parent)):
            if libc.inotify_add_watch(queue, os.fsencode(folder), _EVENTS) < 0:
                self.close()  # the system's limit of watches, or a folder that went away
                return False
        try:
            proof.touch()
        except OSError:
            self.close()
            return False
        if self._read() is None or libc.inotify_rm_watch(queue, self._last_watch) < 0:
            self.close()
            return False
        self._read()  # the note that the watch on the proof is gone
        self._watched = wanted
        return True

    def quiet(self) -> bool:
        """True when surely nothing was written; False when something was, or when nobody can tell."""
        return self._queue is not None and self._read() is None

    def _read(self) -> bool | None:
        """None when the queue is empty; keeps the watch that the last event came from."""
        seen: bool | None = None
        while self._queue is not None:
            try:
                data = os.read(self._queue, 65536)
            except BlockingIOError:
                break
            except OSError:
                self.close()
                return True
            if len(data) >= 4:
                self._last_watch = struct.unpack_from("i", data)[0]
            seen = True
        return seen

    def close(self) -> None:
        if self._queue is not None:
            os.close(self._queue)
        self._queue = None
        self._watched = set()


def _remote(folder: str) -> bool:
    """Whether the folder lies on a file system that others can write to; unknown counts as yes."""
    best, kind = "", "unknown"
    try:
        with open("/proc/self/mounts", encoding="utf-8", errors="replace") as mounts:
            for line in mounts:
                _, place, name, *_ = line.split(" ")
                place = place.replace("\\040", " ")
                if len(place) >= len(best) and (folder == place or folder.startswith(place.rstrip("/") + "/")):
                    best, kind = place, name
    except (OSError, ValueError):
        return True
    return kind in _REMOTE or kind == "unknown" or kind.startswith("fuse")
