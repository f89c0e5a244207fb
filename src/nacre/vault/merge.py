"""Taking one change back out of a file that was changed elsewhere since: a three-way merge by lines, or nothing."""

from __future__ import annotations


def lines_of(data: bytes) -> list[bytes]:
    """Lines with their ends; only a newline ends one."""
    parts = data.split(b"\n")
    lines = [part + b"\n" for part in parts[:-1]]
    return [*lines, parts[-1]] if parts[-1] else lines


def merge(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """`ours` with what leads from `base` to `theirs`; None when both touched the same lines."""
    from difflib import SequenceMatcher

    if ours == base:
        return theirs
    old, mine = lines_of(base), lines_of(ours)
    wanted = lines_of(theirs)
    kept = [block for block in SequenceMatcher(None, old, mine, autojunk=False).get_matching_blocks() if block.size]
    image: dict[int, int] = {}  # where each untouched line of the base stands in ours
    for start, there, size in kept:
        image |= {start + step: there + step for step in range(size)}
    result: list[bytes] = []
    at = 0
    for action, start, end, new_start, new_end in SequenceMatcher(None, old, wanted, autojunk=False).get_opcodes():
        if action == "equal":
            continue
        place = _place(image, start, end, len(old), len(mine))
        if place is None or place[0] < at:
            return None
        result += mine[at : place[0]] + wanted[new_start:new_end]
        at = place[1]
    merged = result + mine[at:]
    if any(not line.endswith(b"\n") for line in merged[:-1]):
        return None
    return b"".join(merged)


def _place(image: dict[int, int], start: int, end: int, length: int, mine: int) -> tuple[int, int] | None:
    """Where lines `start` to `end` of the base stand in ours, in one piece; for an insertion, the gap between two lines."""
    if start < end:
        first = image.get(start)
        if first is None or any(image.get(start + step) != first + step for step in range(end - start)):
            return None
        return first, first + end - start
    before = image.get(start - 1, -1 if start == 0 else None)
    after = image.get(start, mine if start == length else None)
    if before is None or after is None:
        return None
    return before + 1, before + 1
