"""Three-way merges by lines: a change is taken back around what others wrote since."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence


def split_lines(data: bytes) -> list[bytes]:
    """Lines with their ends; only a newline ends one."""
    return re.findall(rb"[^\n]*\n|[^\n]+", data)


def merge(base: bytes, ours: bytes, theirs: bytes, *, log: bool = False, earlier: Sequence[bytes] = ()) -> bytes | None:
    """`ours` with the changes from `base` to `theirs`; None when both touched the same lines.

    In a log, lines are only added: what comes back goes behind the nearest line before it that is still there. Where other lines
    came between, `earlier` contents of the file tell which of them stood before it.
    """
    if ours == base:
        return theirs
    old, current, new = split_lines(base), split_lines(ours), split_lines(theirs)
    image, orders = _image(old, current), _orders(earlier)
    result: list[bytes] = []
    at = 0
    for start, end, block in _changes(old, new):
        if start < end:  # lines that are replaced or removed must stand in ours in one piece
            low = image.get(start, -1)
            high = low + end - start
            if [image.get(step) for step in range(start, end)] != list(range(low, high)):
                return None
        else:
            before, after = _neighbours(image, start, start, len(old))
            # Lines next to it may be gone, but then nothing else may stand there, except in a log. What has no heading of
            # its own never comes under another one.
            first = next(filter(bytes.strip, block), b"").lstrip()
            if any(line.lstrip().startswith(b"#") for line in old[before + 1 : start]) and not first.startswith(b"#"):
                return None
            low, high = image.get(before, -1) + 1, image.get(after, len(current))
            if low != high and not log and (before, after) != (start - 1, start):
                return None
            low = high = _behind(current, low, high, block, orders)
        if low < at:
            return None
        result += current[at:low] + block
        at = high
    merged = result + current[at:]
    if any(not line.endswith(b"\n") for line in merged[:-1]):
        return None
    return b"".join(merged)


def merge_records(base: bytes, ours: bytes, theirs: bytes, *, earlier: Sequence[bytes] = ()) -> bytes:
    """The same for files of one record a line, where no line depends on its neighbours: it always succeeds."""
    old, current, new = split_lines(base), split_lines(ours), split_lines(theirs)
    if current and not current[-1].endswith(b"\n"):
        current[-1] += b"\n"
    image, orders = _image(old, current), _orders(earlier)
    removed: set[int] = set()
    added: dict[int, list[bytes]] = {}
    for start, end, block in _changes(old, new):
        removed.update(image[step] for step in range(start, end) if step in image)
        before, after = _neighbours(image, start, end, len(old))
        place = _behind(current, image.get(before, -1) + 1, image.get(after, len(current)), block, orders)
        added.setdefault(place, []).extend(block)
    merged: list[bytes] = []
    for at in range(len(current) + 1):
        merged += added.get(at, [])
        merged += [] if at in removed else current[at : at + 1]
    return b"".join(merged)


def _changes(old: list[bytes], new: list[bytes]) -> Iterator[tuple[int, int, list[bytes]]]:
    """Which lines of the old are replaced by which block of the new."""
    from difflib import SequenceMatcher

    for action, start, end, new_start, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if action != "equal":
            yield start, end, new[new_start:new_end]


def _image(old: list[bytes], current: list[bytes]) -> dict[int, int]:
    """Where each untouched line of the base stands in ours."""
    from difflib import SequenceMatcher

    blocks = SequenceMatcher(None, old, current, autojunk=False).get_matching_blocks()
    return {start + step: target + step for start, target, size in blocks for step in range(size)}


def _neighbours(image: dict[int, int], start: int, end: int, size: int) -> tuple[int, int]:
    """The nearest lines of the base before and after a place that are still there; -1 and `size` where none is."""
    before = next((step for step in reversed(range(start)) if step in image), -1)
    return before, next((step for step in range(end, size) if step in image), size)


def _orders(contents: Sequence[bytes]) -> list[dict[bytes, int]]:
    return [{line: place for place, line in enumerate(split_lines(content))} for content in contents]


def _behind(current: list[bytes], low: int, high: int, block: list[bytes], orders: list[dict[bytes, int]]) -> int:
    """The place for a block between two lines of ours: behind those that stood before it in an earlier content."""
    first = next(filter(bytes.strip, block), b"")
    places = [order for order in orders if first in order]
    for at in reversed(range(low, high)):
        # A blank line is everywhere, so it tells nothing.
        if current[at].strip() and any(order.get(current[at], order[first]) < order[first] for order in places):
            return at + 1
    return low
