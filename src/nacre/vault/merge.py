"""Taking one change back out of a file that was changed elsewhere since: a three-way merge by lines, or nothing."""

from __future__ import annotations


def lines_of(data: bytes) -> list[bytes]:
    """Lines with their ends; only a newline ends one."""
    parts = data.split(b"\n")
    lines = [part + b"\n" for part in parts[:-1]]
    return [*lines, parts[-1]] if parts[-1] else lines


def merge(base: bytes, ours: bytes, theirs: bytes, *, log: bool = False) -> bytes | None:
    """`ours` with what leads from `base` to `theirs`; None when both touched the same lines.

    In a log, lines are only added: what comes back goes behind the nearest line before it that is still there.
    """
    from difflib import SequenceMatcher

    if ours == base:
        return theirs
    old, mine = lines_of(base), lines_of(ours)
    wanted = lines_of(theirs)
    image = _image(old, mine)
    result: list[bytes] = []
    at = 0
    for action, start, end, new_start, new_end in SequenceMatcher(None, old, wanted, autojunk=False).get_opcodes():
        if action == "equal":
            continue
        if start < end:
            place = _place(image, start, end)
        else:
            heading = _begins_with_heading(wanted[new_start:new_end])
            place = _gap(image, old, start, len(mine), heading=heading, log=log)
        if place is None or place[0] < at:
            return None
        result += mine[at : place[0]] + wanted[new_start:new_end]
        at = place[1]
    merged = result + mine[at:]
    if any(not line.endswith(b"\n") for line in merged[:-1]):
        return None
    return b"".join(merged)


def merge_records(base: bytes, ours: bytes, theirs: bytes) -> bytes:
    """The same for files of one record a line, where no line depends on its neighbours: it always succeeds."""
    from difflib import SequenceMatcher

    old, mine, wanted = lines_of(base), lines_of(ours), lines_of(theirs)
    if mine and not mine[-1].endswith(b"\n"):
        mine[-1] += b"\n"
    image = _image(old, mine)
    gone: set[int] = set()
    new: dict[int, list[bytes]] = {}
    for action, start, end, new_start, new_end in SequenceMatcher(None, old, wanted, autojunk=False).get_opcodes():
        if action == "equal":
            continue
        gone.update(image[step] for step in range(start, end) if step in image)
        place = next((image[step] + 1 for step in reversed(range(start)) if step in image), 0)
        new.setdefault(place, []).extend(wanted[new_start:new_end])
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
    image: dict[int, int], old: list[bytes], start: int, length: int, *, heading: bool, log: bool
) -> tuple[int, int] | None:
    """Where lines that stood before line `start` of the base go in ours, which has `length` lines.

    Lines next to them may be gone, but then nothing else may stand there, except in a log. What has no heading of its own never
    comes under another one.
    """
    before = next((step for step in reversed(range(start)) if step in image), -1)
    after = next((step for step in range(start, len(old)) if step in image), len(old))
    if not heading and any(line.lstrip().startswith(b"#") for line in old[before + 1 : start]):
        return None
    low, high = image.get(before, -1) + 1, image.get(after, length)
    if low == high or log or (before == start - 1 and after == start):
        return low, low
    return None


def _begins_with_heading(lines: list[bytes]) -> bool:
    return next((line for line in lines if line.strip()), b"").lstrip().startswith(b"#")
