"""Every line of memory with its place and its words: list items, lines of digests, lines and titles of notes and checkpoints."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from nacre.config import Config
from nacre.errors import NacreError
from nacre.text.blocks import HEADING, ITEM, TEXT
from nacre.text.stamps import bare_words, is_structural, label_of, stamp_of
from nacre.vault import atomic, packed, skills
from nacre.vault.files import memory_files
from nacre.vault.ledger import identity
from nacre.vault.markdown import Document, Item, document, words_of
from nacre.vault.operation import Operation
from nacre.vault.rewrite import changed, put, rewrite
from nacre.vault.tombstones import normal
from nacre.vault.trail import mark_of
from nacre.vault.workspace import DAY_NAME, Workspace

_QUOTE = re.compile(r"\A\s*(?:>\s*)+")
_CLOCK = re.compile(r"\A\[(?:\d{4}-\d{2}-\d{2}[ T])?\d{1,2}:\d{2}\]\s+")  # before a decision in SESSION-STATE.md
_BREAK = re.compile(r"\n[^\S\n]*(?:[-*+]|\d{1,9}[.)])\s")
_HAN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_WORD = re.compile(r"\w+")
ENOUGH_WORDS, ENOUGH_HAN = 3, 6  # from which on words stand for one thing wherever they are met
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Line:
    """A line of memory. It goes from `start` to `end`, both counted from 1, with everything nested in it."""

    path: str  # as users see it
    full: Path
    layer: str
    start: int
    end: int
    section: str  # the heading it stands under
    text: str  # as it stands there with everything nested in it, on one line, without its marker
    words: str  # what it says itself
    whole: str  # what it says with that
    title: str | None = None  # of a heading: the signs before its words, which stay when these go

    @cached_property
    def marks(self) -> frozenset[str]:
        """Its marks in the trail."""
        return frozenset({mark_of(f"- {self.whole}")} if self.whole else ())

    @cached_property
    def ids(self) -> frozenset[str]:
        """Its ids in the ledger."""
        return frozenset(identity(form) for form in {self.whole, self.text} if form)

    @cached_property
    def normal(self) -> str:
        """What it says with what is nested in it, as tombstones know it."""
        return normal(self.whole)

    @cached_property
    def own(self) -> str:
        """What it says itself, as tombstones know it."""
        return normal(self.words)

    @cached_property
    def is_telling(self) -> bool:
        """Whether its words stand for one thing; "Done" is said of many."""
        return is_telling(self.whole)

    @property
    def id(self) -> str:
        """The id by which the ledger knows it, or would."""
        return identity(self.text if self.layer == "longterm" else self.whole)

    @property
    def day(self) -> str | None:
        """The day of the log that it stands in."""
        found = DAY_NAME.fullmatch(self.path.rpartition("/")[2].removesuffix(packed.PACKED))
        return found[1] if found and self.layer in ("daily", "archive") else None

    @property
    def place(self) -> str:
        return f"{self.path}:{self.start}"


def is_telling(words: str) -> bool:
    """Whether these are words enough to be known again by: three, or six Chinese characters, or some of both."""
    han = len(_HAN.findall(words))
    return len(_WORD.findall(_HAN.sub(" ", words))) / ENOUGH_WORDS + han / ENOUGH_HAN >= 1


def everywhere(workspace: Workspace, config: Config) -> Iterator[Line]:
    """The lines of every file that Nacre keeps memory in. Extra paths are the user's library: they are not among them."""
    for path, full, layer in files(workspace, config):
        yield from lines_of(path, full, layer, read(full))


def files(workspace: Workspace, config: Config) -> Iterator[tuple[str, Path, str]]:
    """Every file of memory: its path as users see it, where it lies, its layer."""
    for found in memory_files(workspace, config):
        if found.layer != "extra":
            yield found.path, Path(found.full), found.layer
    lessons = (skills.retrospect(workspace, name) for name in skills.skills(workspace))
    for path in (workspace.review, workspace.state, workspace.root / "promote_report.md", *lessons):
        if path.is_file():
            yield workspace.relative(path), path, "working"


def read(path: Path) -> bytes:
    """A file's bytes, those of a compressed log unpacked; nothing where it is gone or cannot be read, which doctor says."""
    try:
        return packed.read(path, path.name)
    except (OSError, NacreError):
        return b""


def write(op: Operation, path: Path, before: bytes, after: bytes) -> None:
    """Put other content into a file that still holds what `read` gave; a compressed log stays one."""
    if path.suffix != packed.PACKED:
        rewrite(op, path, after, read=atomic.digest(before), log=True)
        return
    op.place(path)
    stored = atomic.read_bytes(path) or b""
    if read(path) != before:
        raise changed(op.workspace.relative(path))
    put(op, path, stored, packed.pack(after))


def lines_of(path: str, full: Path, layer: str, data: bytes) -> Iterator[Line]:
    """The lines of one file. Bytes that are no UTF-8 are read as far as they can be; they end no line."""
    readable = data.decode("utf-8", "replace").removeprefix("\ufeff")
    doc = document(full, readable.encode())

    items = {item.start: item for item in doc.items}

    def line(start: int, end: int, own: str, whole: str) -> Line:
        words = _bare(own)
        said = words if own == whole else _bare(whole) or words
        return Line(path, full, layer, start, end, section, words_of(whole), words, said)

    section = ""
    for block in doc.blocks:
        if block.kind == HEADING:
            section = block.text
            if (
                layer != "longterm"
                and full.name != "SESSION-STATE.md"
                and not stamp_of(section).time
                and not is_structural(section)
            ):
                signs = f"{'#' * block.level} " if block.start == block.end else ""
                end = block.end if signs else block.end - 1  # a line under it marks the other kind
                yield replace(line(block.start, end, section, section), title=signs)
        elif block.kind == ITEM:
            for one in _with_nested(doc, items[block.start]):
                yield line(one.start, one.end, _own(one), one.text)
        elif block.kind == TEXT:
            for start, end in _spans(doc, block.start, block.end):
                text = "\n".join(doc.bare[start - 1 : end])
                yield line(start, end, text, text)
        else:
            for number in range(block.start, block.end + 1):
                yield line(number, number, doc.bare[number - 1], doc.bare[number - 1])


def _bare(text: str) -> str:
    """What a line says, without the signs of a list, a quote, a label, a box, a time or a source note."""
    words = _CLOCK.sub("", words_of(_QUOTE.sub("", text)))
    return bare_words(f"- {words}") if words else ""


def _own(item: Item) -> str:
    """What an item says itself, before what is nested in it."""
    return _BREAK.split(item.text, maxsplit=1)[0]


def _with_nested(doc: Document, item: Item) -> Iterator[Item]:
    yield item
    if item.end > item.start:
        for inner in doc.nested(item):
            yield from _with_nested(doc, inner)


def _spans(doc: Document, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The lines of a paragraph: in a digest each label begins one; elsewhere every line is one, and so is the whole."""
    begins = [number for number in range(start, end + 1) if label_of(doc.bare[number - 1])]
    if begins and begins[0] == start:
        yield from zip(begins, [*(number - 1 for number in begins[1:]), end], strict=True)
        return
    if end > start:
        yield start, end
    yield from ((number, number) for number in range(start, end + 1))


def without(data: bytes, gone: Iterable[Line], instead: Mapping[int, str] | None = None) -> bytes:
    """The file's bytes without these lines, with something `instead` of those that begin at a number; no other byte changes."""
    numbers = {number for line in gone for number in range(line.start, line.end + 1)}
    parts = data.split(b"\n")
    lines = [part + b"\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])
    for number, text in (instead or {}).items():
        ending = lines[number - 1][len(lines[number - 1].rstrip(b"\r\n")) :]
        lines[number - 1] = text.encode() + ending
        numbers.discard(number)
    kept = b"".join(line for number, line in enumerate(lines, start=1) if number not in numbers)
    return _BYTE_ORDER_MARK + kept if 1 in numbers and data.startswith(_BYTE_ORDER_MARK) else kept
