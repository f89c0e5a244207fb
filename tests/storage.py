"""A memory without a disk: the same interface as the files of a workspace, kept in dictionaries."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from nacre.errors import Locked, NotFound
from nacre.vault import disk
from nacre.vault.lock import TIMEOUT
from nacre.vault.storage import is_daily


class Dictionary:
    def __init__(self) -> None:
        self.strings: dict[str, bytes] = {}
        self.contents: dict[str, bytes] = {}
        self.rows: list[dict[str, Any]] = []
        self._lock = threading.RLock()

    def names(self, folder: str) -> list[str]:
        prefix = f"{folder}/" if folder else ""
        below = [name for name in sorted(self.strings) if name.startswith(prefix)]
        return [name for name in below if not any(part[0] == "." for part in name[len(prefix) :].split("/"))]

    def read(self, name: str) -> bytes | None:
        return self.strings.get(name)

    def exists(self, name: str) -> bool:
        return name in self.strings

    def append(self, name: str, data: bytes) -> int:
        before = self.strings.get(name, b"")
        self.strings[name] = before + data
        return len(before)

    def replace(self, name: str, data: bytes, before: bytes | None) -> bool:
        now = self.strings.get(name)
        if is_daily(name) and (now or b"").startswith(before or b""):
            data += (now or b"")[len(before or b"") :]
        elif now != before:
            return False
        self.strings[name] = data
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
        self.strings[to] = self.strings.pop(name)

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
