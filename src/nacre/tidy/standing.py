"""The entries of every MEMORY.md as the ledger knows them: which are ours, which somebody wrote, which were edited or taken out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from heapq import nlargest
from itertools import pairwise

from nacre.tidy.book import Book, Line
from nacre.vault.ledger import Record, Standing

ALIKE = 0.72  # likeness above which a line is an entry that somebody edited
_LONGEST = 2_000  # characters that are compared
_NEAR, _NEAREST = (
    0.3,
    4,
)  # the share of pairs of letters below which nothing is compared, and how many entries are at most


@dataclass(frozen=True)
class Found:
    """What the files tell that the ledger does not: new lines, edited ones (with the entry each was), and entries taken out."""

    adopted: tuple[tuple[Book, Line], ...]
    edited: tuple[tuple[Book, Line, Standing], ...]
    gone: tuple[Standing, ...]


def compare(books: Sequence[Book], known: Mapping[str, Standing]) -> Found:
    here = {line.id for book in books for line in book.lines}
    shown = {book.shown for book in books}
    missing = [
        one
        for one in known.values()
        if one.in_memory and one.id not in here and one.text and one.file in shown and not _is_field(one)
    ]
    pairs = {one.id: (one, _pairs(one.text or "")) for one in missing}
    adopted: list[tuple[Book, Line]] = []
    edited: list[tuple[Book, Line, Standing]] = []
    for book in books:
        for line in book.lines:
            if line.id in known and known[line.id].in_memory:
                continue
            was = _most_like(line.words, [told for told in pairs.values() if told[0].file == book.shown])
            if was:
                missing.remove(was)
                del pairs[was.id]
                edited.append((book, line, was))
            else:
                adopted.append((book, line))
    return Found(tuple(adopted), tuple(edited), tuple(missing))


def _is_field(one: Standing) -> bool:
    return any("field" in record.more for record in one.records)


def _most_like(words: str, missing: Sequence[tuple[Standing, frozenset[str]]]) -> Standing | None:
    """The entry that the words are most like, where one is alike at all. Only the few that share the most pairs of letters are
    compared in full: after a file was written anew, each line would else be held against each entry."""
    mine, most, found = _pairs(words), ALIKE, None
    shared = ((2 * len(mine & pairs) / (len(mine) + len(pairs)), one) for one, pairs in missing)
    near = nlargest(_NEAREST, (told for told in shared if told[0] >= _NEAR), key=lambda told: told[0])
    for _, one in near:
        likeness = _likeness(one.text or "", words)
        if likeness > most or (found is None and likeness >= ALIKE):
            most, found = likeness, one
    return found


def _pairs(text: str) -> frozenset[str]:
    padded = f" {text[:_LONGEST].casefold()} "
    return frozenset(one + other for one, other in pairwise(padded))


def _likeness(one: str, other: str) -> float:
    return SequenceMatcher(None, one[:_LONGEST].casefold(), other[:_LONGEST].casefold(), autojunk=False).ratio()


def records(found: Found, at: str, today: str) -> list[Record]:
    """The lines that the ledger gets so that it tells what the files tell."""
    made: list[Record] = []
    for book, line in found.adopted:
        made.append(
            Record(line.id, at, "adopted", line.words, section=line.section, valid_from=today, more=of_file(book))
        )
    for book, line, was in found.edited:
        more = of_file(book) | ({"pinned": True} if was.pinned else {}) | {"by": "hand"}
        made.append(Record(was.id, at, "superseded", valid_to=today, more={"by": "hand", "into": line.id}))
        made.append(
            Record(
                line.id,
                at,
                "adopted",
                line.words,
                section=line.section,
                source=was.source,
                valid_from=today,
                supersedes=was.id,
                more=more,
            )
        )
    made += [Record(one.id, at, "forgotten", valid_to=today, more={"by": "hand"}) for one in found.gone]
    return made


def of_file(book: Book) -> dict[str, object]:
    return {} if book.shown == "MEMORY.md" else {"file": book.shown}
