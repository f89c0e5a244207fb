"""The files of a workspace as named byte strings (`Storage`): what everything in the vault reads, lists and writes memory through."""

from __future__ import annotations

import contextlib
import os
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nacre import disk
from nacre.errors import NacreError, NotFound, raise_unless_absent
from nacre.lock import TIMEOUT, lock
from nacre.model.workspace import DAY_NAME, Storage, Stored, Workspace
from nacre.vault import jsonl

_LARGEST_BLOB = 200_000_000  # bytes; more than any note, and little enough to hold
_QUICKLY = 1_000_000  # bytes from which on contents are packed less tightly
_BLOCK = 16_384  # bytes of the operations file that are read at first, from its end


def storage_of(workspace: Workspace) -> Storage:
    return workspace.storage or Disk(workspace)


def read(workspace: Workspace, path: Path) -> bytes | None:
    """The bytes of a file of memory; None when there is none."""
    return storage_of(workspace).read(workspace.relative(path))


def read_log(workspace: Workspace, path: Path) -> bytes | None:
    """The same; those of a compressed log unpacked, `NacreError` where it is damaged."""
    data = read(workspace, path)
    return disk.decompress(data, workspace.relative(path)) if data and path.suffix == disk.COMPRESSED else data


def read_memory(workspace: Workspace, path: Path) -> bytes:
    """The same; nothing where it is gone or cannot be read, which doctor says."""
    try:
        return read_log(workspace, path) or b""
    except NacreError:
        return b""


def names(workspace: Workspace, folder: Path, ending: str = "") -> list[str]:
    """The names of the files below a folder of memory, in order."""
    walk = storage_of(workspace).walk(workspace.relative(folder), (ending,))
    return sorted(stored.name for stored in walk if stored.is_plain)


def is_daily(name: str) -> bool:
    """Whether it is a daily log, to which agents append."""
    folder, _, file = name.rpartition("/")
    return folder == "memory" and bool(DAY_NAME.fullmatch(file))


@dataclass(frozen=True)
class Disk:
    """The storage that everybody has: files below the root of the workspace."""

    workspace: Workspace

    def walk(
        self, folder: str, endings: tuple[str, ...] = ("",), watched: set[str] | None = None, depth: int = 99
    ) -> Iterator[Stored]:
        path = self._path(folder)
        root = path.parent if os.path.isabs(folder) else self.workspace.root
        shown = "" if folder in ("", ".") else f"{folder}/"
        return disk.walk(str(root), str(path), shown, endings, set() if watched is None else watched, depth)

    def about(self, name: str) -> Stored | None:
        return disk.stored_at(str(self.workspace.root), str(self._path(name)), name, set())

    def real(self, name: str) -> str:
        path, root = disk.real(self._path(name)), disk.real(self.workspace.root)
        return path.relative_to(root).as_posix() if root in path.parents else path.as_posix()

    def read(self, name: str, most: int = -1) -> bytes | None:
        return disk.read_bytes(self._path(name), most)

    def end(self, name: str, size: int) -> bytes:
        try:
            with os.fdopen(disk.open_regular(self._path(name), os.O_RDONLY), "rb") as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - size))
                return file.read(size)
        except OSError:
            return b""

    def append(self, name: str, data: bytes, *, durable: bool = True) -> int:
        return disk.append_bytes(self._path(name), data, root=self.workspace.root, durable=durable)

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
        path = blob_path(self.workspace.history, disk.digest(data))
        if not path.exists():
            # A ledger of years would take a second to be packed tightly.
            disk.write(path, zlib.compress(data, 6 if len(data) < _QUICKLY else 1))

    def content(self, digest: str) -> bytes:
        data = None
        with contextlib.suppress(OSError, zlib.error):
            stored = blob_path(self.workspace.history, digest).read_bytes()
            data = zlib.decompressobj().decompress(stored, _LARGEST_BLOB)
        if data is None or disk.digest(data) != digest:
            raise NotFound(
                f"History has lost the content {digest[:12]}; this change can be neither shown nor undone.",
                f"历史中缺少内容 {digest[:12]}；无法显示或撤销此更改。",
            )
        return data

    def record(self, row: dict[str, Any], *, durable: bool = True) -> None:
        path = operations_file(self.workspace)
        with disk.writing_to(path):
            disk.private_folder(self.workspace.machine)
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


def operations_file(workspace: Workspace) -> Path:
    return workspace.history / "operations.jsonl"


def blob_path(history: Path, digest: str) -> Path:
    """Where a content is kept by its hash, compressed."""
    return history / "blobs" / digest[:2] / digest[2:]
