"""The entries of every MEMORY.md as the ledger knows them: which are ours, which somebody wrote, which were edited or taken out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from nacre.tidy.book import Book, Line
from nacre.vault.ledger import Record, Standing

ALIKE = 0.72  # likeness above which a line is an entry that somebody edited


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
    adopted: list[tuple[Book, Line]] = []
    edited: list[tuple[Book, Line, Standing]] = []
    for book in books:
        for line in book.lines:
            if line.id in known and known[line.id].in_memory:
                continue
            was = max(
                (one for one in missing if one.file == book.shown),
                key=lambda one: _likeness(one.text or "", line.words),
                default=None,
            )
            if was and _likeness(was.text or "", line.words) >= ALIKE:
                missing.remove(was)
                edited.append((book, line, was))
            else:
                adopted.append((book, line))
    return Found(tuple(adopted), tuple(edited), tuple(missing))


def _is_field(one: Standing) -> bool:
    return any("field" in record.more for record in one.records)


def _likeness(one: str, other: str) -> float:
    return SequenceMatcher(None, one.casefold(), other.casefold(), autojunk=False).ratio()


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
