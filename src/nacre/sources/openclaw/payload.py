"""The event that a row holds: plain JSON, or (since 2026.9, for long ones) a zstd frame of it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from nacre.sources.openclaw.events import tool_output
from nacre.sources.reading import LONGEST, parse_json

if TYPE_CHECKING:
    from types import ModuleType

LARGEST = 4_194_304  # bytes that OpenClaw packs at most; a frame that holds more was not made by it


def event(row: Mapping[str, Any]) -> dict[str, Any] | None:
    """The event of a row: empty when it is what a tool returned, None when it cannot be understood."""
    plain, packed = row.get("event_json"), row.get("event_zstd")
    if isinstance(plain, str) and len(plain) <= LONGEST:
        raw = plain.encode("utf-8", errors="replace")
        return {} if tool_output(raw) else parse_json(raw)
    if isinstance(packed, bytes):
        navigation = row.get("navigation_json")
        if isinstance(navigation, str) and '"role":"toolResult"' in navigation:  # it holds no text: this is the role
            return {}
        unpacked = _unpacked(packed)
        return parse_json(unpacked) if unpacked is not None else None
    return None


def _unpacked(frame: bytes) -> bytes | None:
    try:
        zstd = zstandard()
    except ImportError:
        return None
    try:
        decompressor = zstd.ZstdDecompressor()
        found: bytes = decompressor.decompress(frame, max_length=LARGEST + 1)
    except (zstd.ZstdError, EOFError, MemoryError):
        return None
    return found if decompressor.eof and len(found) <= LARGEST else None


def zstandard() -> ModuleType:
    """Python's own zstd, which came with 3.14, or what brings it to older ones; imported when a frame is met."""
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd
