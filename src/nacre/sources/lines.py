"""Reading a JSONL file that grows: from where it was left, one line in memory at a time, never past a torn last line."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

from nacre.sources.transcript import Mark

LONGEST = 32_000_000  # bytes of one line; a longer one is a dump, not talk
_EDGE = 512  # bytes at the beginning and before the mark that the fingerprint covers
_BLOCK = 1 << 20

Uninteresting = Callable[[bytes], bool]


class Line(NamedTuple):
    """One whole line: what it holds (None: no JSON object; empty: nothing of interest), and where the next begins."""

    entry: dict[str, Any] | None
    start: int
    end: int


def still_there(path: Path, mark: Mark | None) -> bool:
    """Whether the part that was read before is unchanged; a file cut shorter or written anew is read from its start."""
    if mark is None or mark.offset == 0:
        return True
    with path.open("rb") as file:
        return fingerprint(file, mark.offset) == mark.fingerprint


def fingerprint(file: IO[bytes], offset: int) -> str:
    """A short digest of a file's first bytes and of the last ones before an offset; empty when it is shorter than that."""
    if offset == 0:
        return ""
    file.seek(0, 2)
    if file.tell() < offset:
        return ""
    file.seek(0)
    head = file.read(min(_EDGE, offset))
    file.seek(max(0, offset - _EDGE))
    tail = file.read(min(_EDGE, offset))
    return hashlib.blake2b(head + b"\0" + tail, digest_size=8).hexdigest()


def lines(file: IO[bytes], offset: int, uninteresting: Uninteresting | None = None) -> Iterator[Line]:
    """The whole lines from an offset on. A last line without its end is left for the next time.

    `uninteresting` looks at the first bytes of a line and says that it need not be parsed (tool output of megabytes).
    """
    file.seek(offset)
    start = offset
    while True:
        raw = file.readline(LONGEST)
        if not raw:
            return
        if not raw.endswith(b"\n"):
            if len(raw) < LONGEST:
                return
            end = _skip_line(file, start + len(raw))
            if end is None:
                return
            yield Line(None, start, end)
            start = end
            continue
        end = start + len(raw)
        passed_over = not raw.strip() or (uninteresting is not None and uninteresting(raw[:2048]))
        yield Line({} if passed_over else parsed(raw), start, end)
        start = end


def parsed(raw: bytes) -> dict[str, Any] | None:
    """The object on a line; None when it is something else, or nothing at all."""
    try:
        value = json.loads(raw.decode("utf-8", errors="replace"))
        if b"\\ud" in raw or b"\\uD" in raw:  # half of a character, cut off by a tool, could never be written again
            value = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", errors="replace"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _skip_line(file: IO[bytes], offset: int) -> int | None:
    """Where the line after an over-long one begins; None when that has no end yet."""
    while block := file.read(_BLOCK):
        found = block.find(b"\n")
        if found >= 0:
            end = offset + found + 1
            file.seek(end)
            return end
        offset += len(block)
    return None
