"""Contents by their hash, compressed: what history keeps of files as they were."""

from __future__ import annotations

import os
import zlib
from pathlib import Path

from nacre.errors import NotFound
from nacre.vault import atomic
from nacre.words import say

_FOLDER = 0o700
_LARGEST = 200_000_000  # bytes; more than any note, and little enough to hold


def store(history: Path, data: bytes) -> str:
    """Keep the bytes and return their hash; what is already kept is not written again."""
    name = atomic.digest(data)
    path = _path(history, name)
    if not path.exists():
        private_folder(path.parent.parent.parent)
        private_folder(path.parent.parent)
        private_folder(path.parent)
        atomic.write(path, zlib.compress(data))
    return name


def load(history: Path, name: str) -> bytes:
    """The bytes of a hash; `NotFound` when they are gone or damaged."""
    data: bytes | None
    try:
        unpacker = zlib.decompressobj()
        data = unpacker.decompress(_path(history, name).read_bytes(), _LARGEST)
        if unpacker.unconsumed_tail:
            data = None  # no file of ours is that large
    except (OSError, zlib.error):
        data = None
    if data is None or atomic.digest(data) != name:
        raise NotFound(
            say(
                f"History has lost the content {name[:12]}; this change can be neither shown nor undone.",
                f"历史中缺少内容 {name[:12]}；无法显示或撤销此更改。",
            )
        )
    return data


def private_folder(folder: Path) -> None:
    if not folder.is_dir():
        atomic.make_folder(folder.parent)
        folder.mkdir(mode=_FOLDER, exist_ok=True)
        atomic.sync_folder(folder.parent)
    elif os.name != "nt" and folder.stat().st_mode & 0o077:
        folder.chmod(_FOLDER)


def _path(history: Path, name: str) -> Path:
    return history / "blobs" / name[:2] / name[2:]
