"""Secrets in tables: a cell beside the cell with their name, or a column under it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from nacre.guard.finding import Finding, Findings, pattern
from nacre.guard.labels import Label, fits, label

ROWS = 400
RULE = r"^[\s:|]*-[\s:|-]*$"
Cell = tuple[str, int]


def tables(lines: list[str], at: int, offsets: list[int]) -> Findings:
    """What line `at` holds beside a name, or what the column holds that it names."""
    line = lines[at]
    if len(line) > 4000:
        return
    if "|" in line:
        cells = list(_cells(line, "|"))
        yield from _beside(cells, offsets[at])
        ruled = at + 1 < len(lines) and pattern(RULE).match(lines[at + 1])
        if ruled:
            yield from _below(lines, at, offsets, cells, "|")
        return
    if not pattern(r"[\w .\t,;\"-]{3,400}").fullmatch(line):
        return
    for mark in (",", "\t", ";"):
        if mark in line:
            cells = list(_cells(line, mark))
            # Only the first line of a table names its columns.
            first = not at or lines[at - 1].count(mark) != line.count(mark)
            if first and len(cells) > 1 and all(pattern(r"^\w[\w .-]{0,30}$").match(cell) for cell, _ in cells):
                yield from _below(lines, at, offsets, cells, mark)
            return


def _cells(line: str, mark: str) -> Iterator[Cell]:
    """Each cell without its emphasis and quotes, and where it begins."""
    place = 0
    for part in line.split(mark):
        plain = part.lstrip(" \t*_`\"'>")
        yield plain.rstrip(" \t*_`\"'\r"), place + len(part) - len(plain)
        place += len(part) + 1


def _beside(cells: list[Cell], offset: int) -> Findings:
    for (name, _), (value, place) in pairwise(cells):
        found = _names_a_column(name)
        if found and value and fits(found, value):
            yield Finding(found.kind, offset + place, offset + place + len(value))


def _below(lines: list[str], at: int, offsets: list[int], header: list[Cell], mark: str) -> Findings:
    columns = {number: found for number, (name, _) in enumerate(header) if (found := _names_a_column(name))}
    for place in range(at + 1, min(at + ROWS, len(lines))) if columns else ():
        line = lines[place]
        if mark not in line or len(line) > 4000 or (place > at + 1 and pattern(RULE).match(line)):
            return
        row = list(_cells(line, mark))
        if len(row) != len(header):
            return
        for number, found in columns.items():
            value, start = row[number]
            if value and fits(found, value):
                yield Finding(found.kind, offsets[place] + start, offsets[place] + start + len(value))


def _names_a_column(name: str) -> Label | None:
    """A cell that is the name and little else."""
    found = label(name) if 2 <= len(name) <= 40 else None
    return found if found and not name[found.end :].strip(" :?()*_") else None
