"""Which files were read through and found in order, so that only what changed since has to be read again. Deleting it is safe."""

from __future__ import annotations

import contextlib
import json
import os
import time

from nacre import guard
from nacre.errors import NacreError
from nacre.vault import atomic
from nacre.vault.ownfiles import check_own_files
from nacre.vault.workspace import Workspace

_WORTH = 5_000  # files of which one more that had to be read is not worth writing all of them down
_RACY = 2_000_000_000  # nanoseconds in which a file may change once more without showing another time


class Looked:
    """What is known of the files from the last look, and what this one adds."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._path = workspace.index / "looked.json"
        self._known = self._read()
        self._in_order: dict[str, list[int]] = {}
        self._added = 0
        self._now = time.time_ns()

    def is_in_order(self, path: str, about: os.stat_result) -> bool:
        """Whether a file is what it was when nothing was wrong with it."""
        signature = _signature(about)
        if self._known.get(path) != signature:
            return False
        self._in_order[path] = signature
        return True

    def note(self, path: str, about: os.stat_result) -> None:
        """Nothing is wrong with a file. One that was written just now may change again unseen, and is read again."""
        if self._now - max(about.st_mtime_ns, about.st_ctime_ns) > _RACY:
            self._in_order[path] = _signature(about)
            self._added += 1

    def keep(self) -> None:
        """Write it down beside the index, if it is worth it; where that cannot be, the next look reads again."""
        if self._added <= len(self._in_order) // _WORTH or not self._workspace.index.is_dir():
            return
        told = {"rules": _rules(), "files": self._in_order}
        with contextlib.suppress(NacreError):
            check_own_files(self._workspace)
            atomic.write(self._path, json.dumps(told).encode("ascii"))

    def _read(self) -> dict[str, list[int]]:
        try:
            told = json.loads(atomic.read_bytes(self._path) or b"{}")
        except (NacreError, ValueError, RecursionError):
            return {}
        if not isinstance(told, dict) or told.get("rules") != _rules():  # others may find other things
            return {}
        files = told.get("files")
        return files if isinstance(files, dict) else {}


def _signature(about: os.stat_result) -> list[int]:
    return [about.st_size, about.st_mtime_ns, about.st_ctime_ns, about.st_ino]


def _rules() -> list[str]:
    """What files are looked through by: the rules of this very installation."""
    found: list[str] = []
    for folder in (*guard.__path__, os.path.dirname(__file__)):
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            rules = [entry.stat() for entry in entries if entry.name.endswith(".py")]
            found.append(f"{len(rules)} {sum(one.st_size for one in rules)} {max(one.st_mtime_ns for one in rules)}")
    return found
