"""Markdown to chunks: one for each list item that says something, otherwise passages of about 400 tokens that overlap.

A chunk never crosses a heading, knows its exact lines and its heading path, and carries the smaller passages that are
embedded: one vector for 400 tokens blurs what each sentence says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from nacre.text.blocks import FRONT, HEADING, ITEM, TEXT, Block, blocks
from nacre.text.stamps import labelled_spans
from nacre.text.tokens import tokens_estimate

PASSAGE_TOKENS = 160
_SMALL_ITEM = 8  # an item of fewer tokens ("- milk") is found with its neighbours
_SMALL_GROUP = 60
_SENTENCE_END = re.compile(r"(?<=[.!?;][ \t])|(?<=[。\uff01\uff1f\uff1b])")  # nothing is lost at the cut
_SMALLEST = 16  # tokens; below that a chunk is not a passage any more
_LONGEST_TITLE = 200  # characters of a title that stand above each of its chunks


class Chunk(NamedTuple):
    """Lines `start` to `end`, both counted from 1, both included."""

    start: int
    end: int
    text: str
    headings: tuple[str, ...]


class _Piece(NamedTuple):
    start: int
    end: int
    text: str
    size: int
    part: bool = False  # of a line


def chunks(lines: list[str], *, size: int = 400, overlap: int = 80, every_item: bool = False) -> list[Chunk]:
    """The chunks of a file. In logs and MEMORY.md (`every_item`) even the shortest item is an entry of its own."""
    size = max(size, _SMALLEST)
    found: list[Chunk] = []
    path: list[tuple[int, str]] = []
    waiting: list[_Piece] = []
    lone_heading: Block | None = None

    def titles() -> tuple[str, ...]:
        return tuple(title for _, title in path if title)

    def flush() -> None:
        nonlocal waiting
        found.extend(Chunk(*part, titles()) for part in _pack(waiting, lines, size, overlap))
        waiting = []

    def leave_heading() -> None:
        nonlocal lone_heading
        # In a log or MEMORY.md a section without entries says nothing; elsewhere a bare title may be the whole note.
        if lone_heading and lone_heading.text and not every_item:
            keep_title(lone_heading, titles()[:-1])
        lone_heading = None

    def keep_title(heading: Block, above: tuple[str, ...]) -> None:
        found.extend(Chunk(heading.start, heading.end, text, above) for text in passages(heading.text, size))

    small: list[_Piece] = []  # short items waiting for neighbours

    def flush_small() -> None:
        nonlocal small
        if small:
            found.append(Chunk(small[0].start, small[-1].end, "\n".join(p.text for p in small), titles()))
        small = []

    for block in blocks(lines):
        if block.kind == FRONT:
            continue
        if block.kind == HEADING:
            flush()
            flush_small()
            if lone_heading and block.level <= lone_heading.level:
                leave_heading()
            while path and path[-1][0] >= block.level:
                path.pop()
            if len(block.text) > _LONGEST_TITLE:  # not all of it stands above its chunks
                keep_title(block, titles())
                path.append((block.level, block.text[:_LONGEST_TITLE]))
                lone_heading = None
                continue
            path.append((block.level, block.text))
            lone_heading = block
            continue
        lone_heading = None
        text = "\n".join(lines[block.start - 1 : block.end])
        piece = _Piece(block.start, block.end, text, tokens_estimate(text))
        if block.kind != ITEM:
            flush_small()
            labelled = _labelled(block, lines) if every_item and block.kind == TEXT else []
            if labelled:
                flush()
                for part in labelled:
                    found.extend(Chunk(*packed, titles()) for packed in _pack([part], lines, size, overlap))
            else:
                waiting.append(piece)
            continue
        flush()
        if every_item or piece.size >= _SMALL_ITEM:
            flush_small()
            if piece.size <= size:
                found.append(Chunk(piece.start, piece.end, text, titles()))
            else:
                found.extend(Chunk(*part, titles()) for part in _pack([piece], lines, size, overlap))
        else:
            if small and (small[-1].end + 1 < piece.start or sum(p.size for p in small) + piece.size > _SMALL_GROUP):
                flush_small()
            small.append(piece)
    flush()
    flush_small()
    leave_heading()
    return found


def stretches(lines: list[str], *, size: int = 400, overlap: int = 80) -> list[Chunk]:
    """A text cut by its length alone, whatever its lines look like: one chunk when it is short enough."""
    text = "\n".join(lines)
    whole = _Piece(1, len(lines), text, tokens_estimate(text))
    return [Chunk(*part, ()) for part in _pack([whole], lines, max(size, _SMALLEST), overlap)]


def _labelled(block: Block, lines: list[str]) -> list[_Piece]:
    """The lines of a paragraph in which each carries a label of its own, as in weekly digests: `[Decision] …`."""
    own = lines[block.start - 1 : block.end]
    spans = [
        (block.start + first, block.start + last - 1, "\n".join(own[first:last])) for first, last in labelled_spans(own)
    ]
    return [_Piece(*span, tokens_estimate(span[2])) for span in spans]


def passages(chunk: str, limit: int = PASSAGE_TOKENS) -> list[str]:
    """The parts of a chunk that are embedded one by one, cut between sentences."""
    if tokens_estimate(chunk) <= limit:
        return [chunk]
    parts: list[str] = []
    current, held = "", 0
    for sentence in _sentences(chunk, limit):
        cost = tokens_estimate(sentence)
        if current and held + cost > limit:
            if current.strip():
                parts.append(current.strip())
            current, held = "", 0
        current += sentence
        held += cost
    if current.strip():
        parts.append(current.strip())
    return parts


def _sentences(text: str, limit: int) -> Iterator[str]:
    """Lines and sentences with their ends, each at most `limit` tokens long."""
    for line in text.splitlines(keepends=True):
        if tokens_estimate(line) <= limit:
            yield line
            continue
        for sentence in _SENTENCE_END.split(line):
            yield from _slices(sentence, limit)


def _slices(text: str, limit: int) -> Iterator[str]:
    """A text without sentence ends, cut by length, between words where there are any."""
    if tokens_estimate(text) <= limit:
        yield text
        return
    # A slice of `limit` characters is at most `limit` tokens; ASCII text can take four times as many.
    width = 4 * limit if text.isascii() else limit
    at = 0
    while at < len(text):
        end = min(at + width, len(text))
        if end < len(text) and (space := text.rfind(" ", at + width // 2, end)) > 0:
            end = space + 1
        yield text[at:end]
        at = end


def _pack(pieces: list[_Piece], lines: list[str], size: int, overlap: int) -> Iterator[tuple[int, int, str]]:
    """Pieces packed into chunks of at most `size` tokens; a piece too large is cut into lines, a line into sentences."""
    units = _with_gaps([unit for piece in pieces for unit in _units(piece, size)], lines)
    held: list[_Piece] = []
    total = 0
    fresh = False  # whether `held` has more than what the chunk before already had
    for unit in units:
        if held and total + unit.size > size:
            if fresh:
                yield held[0].start, held[-1].end, _joined(held, lines)
            held, total = _tail(held, min(overlap, size - unit.size))
            fresh = False
        held.append(unit)
        total += unit.size
        fresh = True
    if held and fresh:
        yield held[0].start, held[-1].end, _joined(held, lines)


def _with_gaps(units: list[_Piece], lines: list[str]) -> list[_Piece]:
    """Units whose size counts what stands before them in no block: rules, and blank lines where there are many."""
    for at in range(1, len(units)):
        gap = lines[units[at - 1].end : units[at].start - 1]
        if len(gap) > 1 or (gap and gap[0]):
            units[at] = units[at]._replace(size=units[at].size + (sum(map(len, gap)) + len(gap)) // 4)
    return units


def _joined(units: list[_Piece], lines: list[str]) -> str:
    """Units as they stand in the file with what lies between them; of a line that was cut only the parts that belong here."""
    if not any(unit.part for unit in units):
        return "\n".join(lines[units[0].start - 1 : units[-1].end])
    text = units[0].text
    for before, unit in pairwise(units):
        between = lines[before.end : unit.start - 1]  # blank lines and rules, which belong to no block
        text += ("\n".join(["", *between, ""]) if unit.start > before.end else "") + unit.text
    return text


def _tail(units: list[_Piece], budget: int) -> tuple[list[_Piece], int]:
    kept: list[_Piece] = []
    total = 0
    for unit in reversed(units):
        if total + unit.size > budget:
            break
        kept.insert(0, unit)
        total += unit.size
    return kept, total


def _units(piece: _Piece, size: int) -> Iterator[_Piece]:
    if piece.size <= size:
        yield piece
        return
    for number, line in enumerate(piece.text.split("\n"), piece.start):
        cost = tokens_estimate(line)
        if cost <= size:
            if line.strip():
                yield _Piece(number, number, line, cost)
            continue
        for part in _sentences(line, size):
            yield _Piece(number, number, part, tokens_estimate(part), part=True)
