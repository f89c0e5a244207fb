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
    result: list[Chunk] = []
    path: list[tuple[int, str]] = []
    held: list[_Piece] = []  # paragraphs, or short items that wait for neighbours
    small = False  # which of the two
    lone_heading: Block | None = None

    def titles() -> tuple[str, ...]:
        return tuple(title for _, title in path if title)

    def add_title(heading: Block, above: tuple[str, ...]) -> None:
        result.extend(Chunk(heading.start, heading.end, text, above) for text in passages(heading.text, size))

    def flush() -> None:
        parts = _pack(held, lines, size, overlap)
        if held and small:
            parts = iter([(held[0].start, held[-1].end, "\n".join(piece.text for piece in held))])
        result.extend(Chunk(*part, titles()) for part in parts)
        held.clear()

    # In a log or MEMORY.md a section without entries says nothing; elsewhere a bare title may be the whole note.
    for block in (*blocks(lines), None):
        if block is None or block.kind == HEADING:
            flush()
            ends = lone_heading and (block is None or block.level <= lone_heading.level)
            if ends and lone_heading and lone_heading.text and not every_item:
                add_title(lone_heading, titles()[:-1])
            if block is None:
                break
            while path and path[-1][0] >= block.level:
                path.pop()
            lone_heading = block
            if len(block.text) > _LONGEST_TITLE:  # not all of it stands above its chunks
                add_title(block, titles())
                lone_heading = None
            path.append((block.level, block.text[:_LONGEST_TITLE]))
            continue
        if block.kind == FRONT:
            continue
        lone_heading = None
        text = "\n".join(lines[block.start - 1 : block.end])
        piece = _Piece(block.start, block.end, text, tokens_estimate(text))
        is_small = block.kind == ITEM and not every_item and piece.size < _SMALL_ITEM
        labelled = _labelled(block, lines) if every_item and block.kind == TEXT else []
        if small != is_small or block.kind == ITEM or labelled:
            near = is_small and small and held and held[-1].end + 1 >= piece.start
            if not (near and sum(p.size for p in held) + piece.size <= _SMALL_GROUP):
                flush()
        small = is_small
        if is_small or (block.kind != ITEM and not labelled):
            held.append(piece)
        elif piece.size <= size and not labelled:
            result.append(Chunk(piece.start, piece.end, text, titles()))
        else:
            for part in labelled or [piece]:
                result.extend(Chunk(*unit, titles()) for unit in _pack([part], lines, size, overlap))
    return result


def stretches(lines: list[str], *, size: int = 400, overlap: int = 80) -> list[Chunk]:
    """A text cut by its length alone, whatever its lines look like: one chunk when it is short enough."""
    text = "\n".join(lines)
    whole = _Piece(1, len(lines), text, tokens_estimate(text))
    return [Chunk(*part, ()) for part in _pack([whole], lines, max(size, _SMALLEST), overlap)]


def _labelled(block: Block, lines: list[str]) -> list[_Piece]:
    """The lines of a paragraph in which each carries a label of its own, as in weekly digests: `[Decision] …`."""
    start, own = block.start, lines[block.start - 1 : block.end]
    texts = [(first, last, "\n".join(own[first:last])) for first, last in labelled_spans(own)]
    return [_Piece(start + first, start + last - 1, text, tokens_estimate(text)) for first, last, text in texts]


def passages(chunk: str, limit: int = PASSAGE_TOKENS) -> list[str]:
    """The parts of a chunk that are embedded one by one, cut between sentences."""
    if tokens_estimate(chunk) <= limit:
        return [chunk]
    parts, held = [""], 0
    for sentence in _sentences(chunk, limit):
        held += (cost := tokens_estimate(sentence))
        if parts[-1] and held > limit:
            parts.append("")
            held = cost
        parts[-1] += sentence
    return [part.strip() for part in parts if part.strip()]


def _sentences(text: str, limit: int) -> Iterator[str]:
    """Lines and sentences with their ends, each at most `limit` tokens long."""
    for line in text.splitlines(keepends=True):
        for sentence in [line] if tokens_estimate(line) <= limit else _SENTENCE_END.split(line):
            if tokens_estimate(sentence) <= limit:
                yield sentence
                continue
            # Cut between words where there are any. A slice of `limit` characters is at most `limit` tokens; ASCII text can
            # take four times as many.
            width, at = 4 * limit if sentence.isascii() else limit, 0
            while at < len(sentence):
                end = at + width
                if end < len(sentence) and (space := sentence.rfind(" ", at + width // 2, end)) > 0:
                    end = space + 1
                yield sentence[at:end]
                at = end


def _pack(pieces: list[_Piece], lines: list[str], size: int, overlap: int) -> Iterator[tuple[int, int, str]]:
    """Pieces packed into chunks of at most `size` tokens; a piece too large is cut into lines, a line into sentences."""
    held: list[_Piece] = []
    total = last = 0
    fresh = False  # whether `held` has more than what the chunk before already had
    for unit in (unit for piece in pieces for unit in _units(piece, size)):
        # What stands before it in no block counts too: rules, and blank lines where there are many.
        gap = lines[last : unit.start - 1] if last else []
        if len(gap) > 1 or (gap and gap[0]):
            unit = unit._replace(size=unit.size + (sum(map(len, gap)) + len(gap)) // 4)  # noqa: PLW2901
        last = unit.end
        if held and total + unit.size > size:
            if fresh:
                yield held[0].start, held[-1].end, _joined(held, lines)
            fresh = False
            while held and total > min(overlap, size - unit.size):
                total -= held.pop(0).size
        held.append(unit)
        total += unit.size
        fresh = True
    if held and fresh:
        yield held[0].start, held[-1].end, _joined(held, lines)


def _joined(units: list[_Piece], lines: list[str]) -> str:
    """Units as they stand in the file with what lies between them; of a line that was cut only the parts that belong here."""
    if not any(unit.part for unit in units):
        return "\n".join(lines[units[0].start - 1 : units[-1].end])
    text = units[0].text
    for before, unit in pairwise(units):
        between = lines[before.end : unit.start - 1]  # blank lines and rules, which belong to no block
        text += ("\n".join(["", *between, ""]) if unit.start > before.end else "") + unit.text
    return text


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
