"""A memory without a disk: the same interface as the files of a workspace, kept in dictionaries."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import count
from pathlib import Path
from typing import Any

from nacre import disk
from nacre.disk import TIMEOUT
from nacre.errors import Locked, NotFound
from nacre.model import LINKED, Stored
from nacre.vault.storage import is_daily


class Dictionary:
    def __init__(self) -> None:
        self.strings: dict[str, bytes] = {}
        self.contents: dict[str, bytes] = {}
        self.rows: list[dict[str, Any]] = []
        self.times: dict[str, int] = {}
        self._clock = count(time.time_ns())
        self._lock = threading.RLock()

    def walk(
        self, folder: str, endings: tuple[str, ...] = ("",), watched: set[str] | None = None, depth: int = 99
    ) -> Iterator[Stored]:
        if watched is not None:
            watched.add(LINKED)
        prefix = f"{folder}/" if folder else ""
        for name in [name for name in self.strings if name.startswith(prefix) and name.endswith(endings)]:
            parts = name[len(prefix) :].split("/")
            if len(parts) <= depth and not any(part[0] == "." for part in parts):
                yield Stored(name, len(self.strings[name]), self.times[name])

    def about(self, name: str) -> Stored | None:
        return Stored(name, len(self.strings[name]), self.times[name]) if name in self.strings else None

    def real(self, name: str) -> str:
        return name

    def read(self, name: str, most: int = -1) -> bytes | None:
        data = self.strings.get(name)
        return data if data is None or most < 0 else data[:most]

    def end(self, name: str, size: int) -> bytes:
        return self.strings.get(name, b"")[-size:]

    def append(self, name: str, data: bytes, *, durable: bool = True) -> int:
        before = self.strings.get(name, b"")
        self.put(name, before + data)
        return len(before)

    def put(self, name: str, data: bytes) -> None:
        """Write as a person does, who asks nobody."""
        self.strings[name] = data
        self.times[name] = next(self._clock)

    def replace(self, name: str, data: bytes, before: bytes | None) -> bool:
        now = self.strings.get(name)
        if is_daily(name) and (now or b"").startswith(before or b""):
            data += (now or b"")[len(before or b"") :]
        elif now != before:
            return False
        self.put(name, data)
        if is_daily(name) and not data:
            del self.strings[name]
        return True

    def remove(self, name: str, before: bytes) -> bool:
        if is_daily(name):
            return self.replace(name, b"", before)
        if self.strings.get(name) != before:
            return False
        del self.strings[name]
        return True

    def move(self, name: str, to: str) -> None:
        self.strings[to], self.times[to] = self.strings.pop(name), self.times.pop(name)

    @contextmanager
    def hold(self, timeout: float = TIMEOUT) -> Iterator[None]:
        if not self._lock.acquire(timeout=max(timeout, 0)):
            raise Locked("Another one is writing.", "另一个命令正在写入。")
        try:
            yield
        finally:
            self._lock.release()

    def together(self) -> AbstractContextManager[None]:
        return nullcontext()

    def keep(self, data: bytes) -> None:
        self.contents[disk.digest(data)] = data

    def content(self, digest: str) -> bytes:
        if digest not in self.contents:
            raise NotFound(f"The content {digest} is lost.", f"缺少内容 {digest}。")
        return self.contents[digest]

    def record(self, row: dict[str, Any], *, durable: bool = True) -> None:
        self.rows.append(row)

    def records(self) -> Iterator[dict[str, Any]]:
        yield from reversed(self.rows)


# What a person or another program does to a memory, wherever it is kept.

memories: dict[Path, Dictionary] = {}  # those without a disk, by the root of their workspace


def _place(path: Path) -> tuple[Dictionary | None, str]:
    root = next((root for root in path.parents if root in memories), None)
    return (memories[root], path.relative_to(root).as_posix()) if root else (None, "")


def put_file(path: Path, data: bytes | str) -> None:
    data = data.encode() if isinstance(data, str) else data
    storage, name = _place(path)
    if storage:
        storage.put(name, data)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def add_to_file(path: Path, data: bytes | str) -> None:
    put_file(path, (file_bytes(path) if is_there(path) else b"") + (data.encode() if isinstance(data, str) else data))


def file_bytes(path: Path) -> bytes:
    storage, name = _place(path)
    return storage.strings[name] if storage else path.read_bytes()


def is_there(path: Path) -> bool:
    storage, name = _place(path)
    return name in storage.strings if storage else path.exists()


def take_file(path: Path) -> None:
    storage, name = _place(path)
    if storage:
        storage.strings.pop(name, None)
    else:
        path.unlink(missing_ok=True)


def move_by_hand(path: Path, to: Path) -> None:
    data = file_bytes(path)
    take_file(path)
    put_file(to, data)


def files_below(folder: Path) -> list[str]:
    """The names of what lies in a folder, hidden things left out, in order."""
    storage, name = _place(folder / "x")
    if storage:
        return sorted(stored.name.removeprefix(name[:-1]) for stored in storage.walk(name[:-2]))
    files = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return sorted(path.as_posix() for path in files if not any(part[0] == "." for part in path.parts))
