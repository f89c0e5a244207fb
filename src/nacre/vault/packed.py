"""Archived logs as gzip: the same bytes give the same file, whenever and wherever they are packed."""

from __future__ import annotations

from pathlib import Path

from nacre.errors import NacreError
from nacre.vault.files import LARGEST_LOG
from nacre.words import say

PACKED = ".gz"


def pack(data: bytes) -> bytes:
    import gzip

    return gzip.compress(data, mtime=0)


def read(path: str | Path, shown: str) -> bytes:
    """The bytes of a file of memory, those of a compressed log unpacked."""
    with open(path, "rb") as file:
        data = file.read()
    return unpack(data, shown) if str(path).endswith(PACKED) else data


def unpack(data: bytes, shown: str) -> bytes:
    """The log as it was; `NacreError` when the file is damaged, or swells to more than any log is."""
    import gzip
    import io
    import zlib

    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            found = file.read(LARGEST_LOG + 1)
    except (OSError, EOFError, zlib.error) as trouble:
        raise NacreError(
            say(
                f"{shown} is damaged and cannot be unpacked; it stays as it is.",
                f"{shown} 已损坏，无法解压，保持原样。",
            )
        ) from trouble
    if len(found) > LARGEST_LOG:
        raise NacreError(
            say(f"{shown} is too large for a log; it stays as it is.", f"{shown} 作为日志过大，保持原样。")
        )
    return found
