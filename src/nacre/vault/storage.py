"""Memory as named byte strings, and the record of what was done to them: all that operations, history and undo know of it.

A name is a path as users see it: relative to the workspace, with "/"; in full for layers that lie elsewhere. `Disk` keeps the
strings as files; `tests/storage.py` keeps them in a dictionary."""

from __future__ import annotations

import contextlib
import os
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from nacre.errors import NotFound, raise_unless_absent
from nacre.model.workspace import DAY_NAME, Workspace
from nacre.vault import disk, jsonl
from nacre.vault.lock import TIMEOUT, lock

_PRIVATE_FOLDER = 0o700
_LARGEST_BLOB = 200_000_000  # bytes; more than any note, and little enough to hold
_BLOCK = 16_384  # bytes of the operations file that are read at first, from its end


class Storage(Protocol):
    def names(self, folder: str) -> list[str]:
        """The names below a folder, in order; what is hidden is left out."""

    def read(self, name: str) -> bytes | None:
        """The bytes; None when there are none."""

    def exists(self, name: str) -> bool:
        """Whether anything stands there, also what cannot be read."""

    def append(self, name: str, data: bytes) -> int:
        """Add whole lines in one write; returns where they begin."""

    def replace(self, name: str, data: bytes, before: bytes | None) -> bool:
        """Put new bytes in the place of `before` (None: of nothing); False when something else stands there. To a daily log
        others may have appended since: that stays at its end."""

    def remove(self, name: str, before: bytes) -> bool:
        """The same for taking it away."""

    def move(self, name: str, to: str) -> None:
        """Give it another name. The caller has seen that nothing stands there."""

    def hold(self, timeout: float = TIMEOUT) -> AbstractContextManager[None]:
        """One writer at a time; `Locked` when another one does not come to an end."""

    def together(self) -> AbstractContextManager[None]:
        """Many changes, which need to last only when all are made."""

    def keep(self, data: bytes) -> None:
        """Keep a content under its hash, so that a change can be shown and taken back."""

    def content(self, digest: str) -> bytes:
        """A content that was kept; `NotFound` when it is gone."""

    def record(self, row: dict[str, Any], *, durable: bool = True) -> None:
        """Add a row to the record of operations."""

    def records(self) -> Iterator[dict[str, Any]]:
        """The rows, the last first; broken ones are skipped. Reads no more of them than is asked for."""


@dataclass(frozen=True)
class Disk:
    """The files of a workspace."""

    workspace: Workspace

    def names(self, folder: str) -> list[str]:
        names: list[str] = []
        for place, folders, files in os.walk(self._path(folder)):
            folders[:] = [name for name in folders if name[0] != "."]
            names += [self.workspace.relative(Path(place, name)) for name in files if name[0] != "."]
        return sorted(names)

    def read(self, name: str) -> bytes | None:
        return disk.read_bytes(self._path(name))

    def exists(self, name: str) -> bool:
        return os.path.lexists(self._path(name))

    def append(self, name: str, data: bytes) -> int:
        return disk.append_bytes(self._path(name), data, root=self.workspace.root)

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
        store_blob(self.workspace.history, data)

    def content(self, digest: str) -> bytes:
        return load_blob(self.workspace.history, digest)

    def record(self, row: dict[str, Any], *, durable: bool = True) -> None:
        path = operations_file(self.workspace)
        with disk.writing_to(path):
            private_folder(self.workspace.machine)
        disk.append_bytes(path, disk.lines_for(path, jsonl.dump_row(row)), durable=durable)

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
                for row in reversed(jsonl.parse_rows(lines, "").rows):
                    yield row.value
                end, block = start, 2 * block

    def _path(self, name: str) -> Path:
        return self.workspace.root / name


def is_daily(name: str) -> bool:
    """Whether it is a daily log, to which agents append."""
    folder, _, file = name.rpartition("/")
    return folder == "memory" and bool(DAY_NAME.fullmatch(file))


# What history keeps: one row for each step of an operation, and contents by their hash, compressed.


def operations_file(workspace: Workspace) -> Path:
    return workspace.history / "operations.jsonl"


def store_blob(history: Path, data: bytes) -> None:
    """Keep the bytes by their hash; what is already kept is not written again."""
    path = blob_path(history, disk.digest(data))
    if not path.exists():
        disk.write(path, zlib.compress(data))


def load_blob(history: Path, digest: str) -> bytes:
    """The bytes of a hash; `NotFound` when they are gone or damaged."""
    data = None
    with contextlib.suppress(OSError, zlib.error):
        data = zlib.decompressobj().decompress(blob_path(history, digest).read_bytes(), _LARGEST_BLOB)
    if data is None or disk.digest(data) != digest:
        raise NotFound(
            f"History has lost the content {digest[:12]}; this change can be neither shown nor undone.",
            f"历史中缺少内容 {digest[:12]}；无法显示或撤销此更改。",
        )
    return data


def blob_path(history: Path, digest: str) -> Path:
    return history / "blobs" / digest[:2] / digest[2:]


def private_folder(folder: Path) -> None:
    if not folder.is_dir():
        disk.make_folder(folder)
    elif os.name != "nt" and folder.stat().st_mode & 0o077:
        folder.chmod(_PRIVATE_FOLDER)
