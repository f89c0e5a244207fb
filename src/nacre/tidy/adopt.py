"""A MEMORY.md inherited over its limits is brought under them with the user's consent: nothing is lost, what does not fit moves to
a note of its own, which search covers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nacre.errors import BadInput
from nacre.model.plan import Plan, Step
from nacre.text.blocks import FRONT, HEADING, ITEM
from nacre.tidy import admit, standing, write
from nacre.tidy.book import Book, Line
from nacre.tidy.library import Library
from nacre.tidy.planned import DistilPlan
from nacre.tidy.room import Room
from nacre.vault import atomic, ledger, trail
from nacre.vault.append import REDACT, guarded
from nacre.vault.ledger import Record, Standing
from nacre.vault.longterm import Edit
from nacre.vault.markdown import Document, document
from nacre.vault.operation import Operation, operation
from nacre.vault.rewrite import expect, rewrite
from nacre.words import say

HEADROOM = 0.9  # share of the limits that is filled, so that there is room for what comes


@dataclass(frozen=True)
class Moving:
    """Lines that leave a file, with the reason."""

    section: str
    text: str  # as it stands there, whole lines
    reason: str
    line: Line | None = None  # the entry, where it is one


@dataclass(frozen=True)
class AdoptPlan:
    """A file as it will be, and the note that takes what does not fit."""

    path: Path
    shown: str
    read: str
    data: bytes
    note: Path
    moving: tuple[Moving, ...]

    @property
    def plan(self) -> Plan:
        return Plan(tuple(Step("move", self.shown, one.reason, " ".join(one.text.split())) for one in self.moving))


def plan(room: Room) -> list[AdoptPlan]:
    """For each MEMORY.md over its limits, what would move where. Reads, and writes nothing."""
    library = Library(room, trail.read(room.workspace))
    known = ledger.standing(ledger.read(room.workspace).records)
    return [_plan(room, library, book, known) for book in library.books if book.over]


def _plan(room: Room, library: Library, book: Book, known: dict[str, Standing]) -> AdoptPlan:
    assert book.before is not None
    moving: list[Moving] = []
    most = book.settings
    room_left = replace(most, max_lines=int(most.max_lines * HEADROOM), max_bytes=int(most.max_bytes * HEADROOM))
    for line, reason in _in_order(library, book, known):
        if not book.size.over(room_left):
            break
        now = next((one for one in book.lines if one.id == line.id and one.words == line.words), None)
        if now is None or book.doc is None:
            continue
        moving.append(Moving(line.section, _text(book.doc, now.start, now.end), reason, line))
        book.remove(now)
    moving.sort(key=lambda one: one.line.start if one.line else 0)
    moving += _prose(book) if book.size.over(book.settings) else []
    if book.size.over(book.settings) or book.doc is None:
        raise BadInput(
            say(
                f"{book.shown} cannot be brought under its limits without taking out pinned lines; shorten it by hand.",
                f"不移出已固定的行，就无法使 {book.shown} 回到上限以内；请手动精简。",
            )
        )
    slug = "" if book is library.general else f"{book.path.parent.name}-"
    note = room.workspace.memory / f"{room.clock.today().isoformat()}-{slug}from-memory.md"
    return AdoptPlan(book.path, book.shown, book.before.hash, book.doc.data, note, tuple(moving))


def _in_order(library: Library, book: Book, known: dict[str, Standing]) -> list[tuple[Line, str]]:
    """The entries that may go: what fails the tests first, the worst of them first, then the least sure."""
    library.read(book.lines)
    found: list[tuple[float, Line, str]] = []
    for line in book.lines:
        was = known.get(line.id)
        if line.pinned or (was and was.pinned):
            continue
        tested = library.tested(line.words)
        verdict = admit.verdict(tested)
        names = ", ".join(verdict.failed)
        failed = say(f"fails: {names}", f"未通过：{names}")
        reason = failed if not verdict.admitted else say("least needed of what passes", "通过测试者中最不需要的")
        found.append((tested.judged.lasting - (0 if verdict.admitted else 1), line, reason))
    return [(line, reason) for _, line, reason in sorted(found, key=lambda one: one[0])]


def _prose(book: Book) -> list[Moving]:
    """What is no list: tables, paragraphs, code; whole blocks from the end, until the file fits."""
    moving: list[Moving] = []
    while book.size.over(book.settings) and book.doc is not None:
        doc = book.doc
        blocks = [block for block in doc.blocks if block.kind not in (HEADING, ITEM, FRONT)]
        if not blocks:
            break
        block = blocks[-1]
        section = next((one.title for one in reversed(doc.sections) if one.start <= block.start), "")
        moving.append(Moving(section, _text(doc, block.start, block.end), say("is no entry of a list", "不是列表条目")))
        book.cut(block.start, block.end)
    return moving[::-1]


def _text(doc: Document, start: int, end: int) -> str:
    return "".join(doc.lines[start - 1 : end])


def apply(room: Room, planned: Sequence[AdoptPlan]) -> None:
    """Write the notes first, then the files, then the ledger: one operation, undone as one."""
    at, today = room.clock.now().isoformat(timespec="seconds"), room.clock.today().isoformat()
    with operation(room.workspace, room.clock, "review", room.config) as op:
        for one in planned:
            expect(room.workspace, one.path, one.read)
            _write_note(op, one)
            records = [
                Record(
                    moved.line.id,
                    at,
                    "demoted",
                    moved.line.words,
                    section=moved.section,
                    valid_to=today,
                    more={"answer": "over", **_file(one)},
                )
                for moved in one.moving
                if moved.line
            ]
            kept = {line.id for line in (moved.line for moved in one.moving) if line}
            records += _adopted(room, one, kept, at, today)
            edit = DistilPlan(edits=(_edit(one),), records=tuple(records))
            write.apply(room, op, edit, asked=True)


def _adopted(room: Room, one: AdoptPlan, gone: set[str], at: str, today: str) -> list[Record]:
    known = ledger.standing(ledger.read(room.workspace).records)
    book = Book(room.workspace, one.path, room.config.memory)
    book.restore(document(one.path, one.data))
    return [
        Record(line.id, at, "adopted", line.words, section=line.section, valid_from=today, more=standing.of_file(book))
        for line in book.lines
        if line.id not in gone and not (line.id in known and known[line.id].in_memory)
    ]


def _file(one: AdoptPlan) -> dict[str, object]:
    return {} if one.shown == "MEMORY.md" else {"file": one.shown}


def _edit(one: AdoptPlan) -> Edit:
    return Edit(one.path, one.read, one.data, Plan())


def _write_note(op: Operation, one: AdoptPlan) -> None:
    """The moved lines under the headings they stood under, in the order of the file; those that a run which was killed had put
    there already are not put there again."""
    before = atomic.read_bytes(one.note)
    text = (before or b"").decode("utf-8", "surrogateescape")
    moving = [moved for moved in one.moving if f"\n{moved.text.rstrip()}\n" not in text.replace("\r\n", "\n")]
    text = text or say(f"# From {one.shown}\n\nWhat did not fit into it.\n", f"# 移自 {one.shown}\n\n放不下的内容。\n")
    for section in dict.fromkeys(moved.section for moved in moving):
        text += f"\n## {section or one.shown}\n\n"
        parts = (guarded(moved.text, REDACT).rstrip("\n") for moved in moving if moved.section == section)
        text += "".join(f"{part}\n" for part in parts)
    rewrite(
        op,
        one.note,
        text.encode("utf-8", "surrogateescape"),
        read=atomic.digest(before) if before is not None else None,
        log=True,
    )
