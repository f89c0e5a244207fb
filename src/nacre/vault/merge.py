"""Taking one change back out of a file that was changed elsewhere since: a three-way merge by lines, or nothing."""

from __future__ import annotations

from collections.abc import Sequence


def lines_of(data: bytes) -> list[bytes]:
    """Lines with their ends; only a newline ends one."""
    parts = data.split(b"\n")
    lines = [part + b"\n" for part in parts[:-1]]
    return [*lines, parts[-1]] if parts[-1] else lines


def merge(base: bytes, ours: bytes, theirs: bytes, *, log: bool = False, earlier: Sequence[bytes] = ()) -> bytes | None:
    """`ours` with what leads from `base` to `theirs`; None when both touched the same lines.

    In a log, lines are only added: what comes back goes behind the nearest line before it that is still there. Where other lines
    came between, `earlier` contents of the file tell which of them stood before it.
    """
    from difflib import SequenceMatcher

    if ours == base:
        return theirs
    old, mine = lines_of(base), lines_of(ours)
    wanted = lines_of(theirs)
    image, orders = _image(old, mine), _orders(earlier)
    result: list[bytes] = []
    at = 0
    for action, start, end, new_start, new_end in SequenceMatcher(None, old, wanted, autojunk=False).get_opcodes():
        if action == "equal":
            continue
        if start < end:
            place = _place(image, start, end)
        else:
            place = _gap(image, old, start, mine, wanted[new_start:new_end], orders, log=log)
        if place is None or place[0] < at:
            return None
        result += mine[at : place[0]] + wanted[new_start:new_end]
        at = place[1]
    merged = result + mine[at:]
    if any(not line.endswith(b"\n") for line in merged[:-1]):
        return None
    return b"".join(merged)


def merge_records(base: bytes, ours: bytes, theirs: bytes, *, earlier: Sequence[bytes] = ()) -> bytes:
    """The same for files of one record a line, where no line depends on its neighbours: it always succeeds."""
    from difflib import SequenceMatcher

    old, mine, wanted = lines_of(base), lines_of(ours), lines_of(theirs)
    if mine and not mine[-1].endswith(b"\n"):
        mine[-1] += b"\n"
    image, orders = _image(old, mine), _orders(earlier)
    gone: set[int] = set()
    new: dict[int, list[bytes]] = {}
    for action, start, end, new_start, new_end in SequenceMatcher(None, old, wanted, autojunk=False).get_opcodes():
        if action == "equal":
            continue
        gone.update(image[step] for step in range(start, end) if step in image)
        low = next((image[step] + 1 for step in reversed(range(start)) if step in image), 0)
        high = next((image[step] for step in range(end, len(old)) if step in image), len(mine))
        block = wanted[new_start:new_end]
        new.setdefault(_behind(mine, low, high, block, orders), []).extend(block)
    parts = ([*new.get(at, []), *([] if at in gone else mine[at : at + 1])] for at in range(len(mine) + 1))
    return b"".join(line for part in parts for line in part)


def _image(old: list[bytes], mine: list[bytes]) -> dict[int, int]:
    """Where each untouched line of the base stands in ours."""
    from difflib import SequenceMatcher

    image: dict[int, int] = {}
    for start, there, size in SequenceMatcher(None, old, mine, autojunk=False).get_matching_blocks():
        image |= {start + step: there + step for step in range(size)}
    return image


def _place(image: dict[int, int], start: int, end: int) -> tuple[int, int] | None:
    """Where lines `start` to `end` of the base stand in ours, in one piece."""
    first = image.get(start)
    if first is None or any(image.get(start + step) != first + step for step in range(end - start)):
        return None
    return first, first + end - start


def _gap(
    image: dict[int, int],
    old: list[bytes],
    start: int,
    mine: list[bytes],
    block: list[bytes],
    orders: list[dict[bytes, int]],
    *,
    log: bool,
) -> tuple[int, int] | None:
    """Where lines that stood before line `start` of the base go in ours.

    Lines next to them may be gone, but then nothing else may stand there, except in a log. What has no heading of its own never
    comes under another one.
    """
    before = next((step for step in reversed(range(start)) if step in image), -1)
    after = next((step for step in range(start, len(old)) if step in image), len(old))
    if any(line.lstrip().startswith(b"#") for line in old[before + 1 : start]) and not _first(block).startswith(b"#"):
        return None
    low, high = image.get(before, -1) + 1, image.get(after, len(mine))
    if low != high and not log and (before, after) != (start - 1, start):
        return None
    place = _behind(mine, low, high, block, orders)
    return place, place


def _orders(contents: Sequence[bytes]) -> list[dict[bytes, int]]:
    return [{line: place for place, line in enumerate(lines_of(content))} for content in contents]


def _behind(mine: list[bytes], low: int, high: int, block: list[bytes], orders: list[dict[bytes, int]]) -> int:
    """The place for a block between two lines of ours: behind those that stood before it in an earlier content."""
    first = next(filter(bytes.strip, block), b"")
    places = [order for order in orders if first in order]
    return next(
        (
            at + 1
            for at in reversed(range(low, high))
            if mine[at].strip()  # a blank line is everywhere
            and any(order.get(mine[at], order[first]) < order[first] for order in places)
        ),
        low,
    )


def _first(lines: list[bytes]) -> bytes:
    """The first line that is not blank."""
    return next(filter(bytes.strip, lines), b"").lstrip()
