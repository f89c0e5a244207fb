"""Files of memory: the one reader of their lines (bullet, label, marks in comments, source note), the one id of an entry, and edits by lines."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Container, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from nacre.disk import digest
from nacre.errors import BadInput
from nacre.model import Workspace
from nacre.text.blocks import FRONT, HEADING, ITEM, Block, blocks, real_day, split_label, unclosed_fences
from nacre.text.tokens import compiled
from nacre.vault.storage import read

_SOURCE = r"\(src:\s*(\d{4}-\d{2}-\d{2})\)\s*$"
_MARK = r"<!--\s{0,8}([\w-]{1,60})\s{0,8}:((?:(?!<!--|-->).)*)-->"
_COMMENTS = r"(?<!\s)\s*<!--(?:(?!<!--|-->).)*-->"
_ENDS = " \t.,;:!?~…。、·\"'“”‘’「」"  # after NFKC, which makes the wide ones narrow
# What a line carries before and behind its words: its bullet, label or time, speaker, source.
AROUND = r"\A\s*(?:[-*+]\s+)?(?:\[[^\]]{1,20}\]\s*)?(?:\*\*[^*]{1,30}[:：]\*\*\s*)?|(?<!\s)\s*\(src: [^)]{0,40}\)\s*\Z"
SAYING_NOTHING = ("#", ">", "<!--")  # what a heading, a quoted rule or a comment begins with
_SHORTEST = 4  # characters below which a line says too little to be a repetition


def words_of(text: str) -> str:
    """What a line says, on one line: without comments such as OpenClaw's `<!-- importance: 8 -->`."""
    return " ".join(without_comments(text).split())


def bare_words(bullet: str) -> str:
    """A bullet without its marker, label and source note."""
    return compiled(_SOURCE).sub("", split_label(bullet)[1]).strip()


def normal_words(text: str) -> str:
    """The bare words whatever their case, width of letters and closing punctuation."""
    return " ".join(unicodedata.normalize("NFKC", bare_words(words_of(text))).casefold().split()).strip(_ENDS)


def comparable_words(line: str) -> str:
    """The bare words without punctuation; empty for a heading, a quoted rule, a comment, and what is too short to be a repetition."""
    if line.lstrip().startswith(SAYING_NOTHING):
        return ""
    words = compiled(r"[\W_]+").sub(" ", compiled(AROUND).sub("", line)).strip().casefold()
    return words if len(words) >= _SHORTEST else ""


def source_day(text: str) -> str | None:
    """The day of a `(src: 2026-03-01)` note at the end of a line."""
    match = compiled(_SOURCE).search(text)
    return real_day(match[1]) if match else None


def entry_id(words: str) -> str:
    """The id of an entry: the hash of its words, so that a line of MEMORY.md needs no mark of ours."""
    return hashlib.sha256(" ".join(words.split()).casefold().encode("utf-8", "replace")).hexdigest()[:10]


BULLET = 8  # characters of a bullet's id


def bullet_id(bullet: str) -> str:
    """The id of a bullet in a log, by its bare words: the beginning of the id that the same words have as an entry."""
    return entry_id(bare_words(bullet))[:BULLET]


def line_digest(line: str) -> str:
    """How hooks note that a session was given a line; empty for one that says nothing, such as a heading."""
    words = comparable_words(line)
    return hashlib.blake2b(words.encode("utf-8", "replace"), digest_size=6).hexdigest() if words else ""


def marks_in(text: str) -> dict[str, str]:
    """The marks in comments, by their names: `<!-- pinned: true -->`."""
    return {name: value.strip() for name, value in compiled(_MARK).findall(text)}


def comments_in(text: str) -> str:
    """The comments of a line one after the other, each with the space before it."""
    return "".join(compiled(_COMMENTS).findall(text))


def without_comments(text: str, opening: str = "<!--", closing: str = "-->", instead: str = " ") -> str:
    """The text with something else for every comment that is closed on its own line; linear in its length."""
    if opening not in text or closing not in text:
        return text
    lines = []
    for line in text.split("\n"):
        at, parts = 0, []
        while (start := line.find(opening, at)) >= 0 and (end := line.find(closing, start + len(opening))) >= 0:
            parts += [line[at:start], instead]
            at = end + len(closing)
        lines.append("".join([*parts, line[at:]]))
    return "\n".join(lines)


# A file of memory as exact lines, and edits that leave every other byte as it was.


_BULLET = re.compile(r"([ \t]*)([-*+]|\d{1,9}[.)])([ \t]+)(?=\S)")


class Section(NamedTuple):
    """A heading with its lines up to the next heading, counted from 1; level 0: the lines before the first heading."""

    title: str
    level: int
    start: int
    end: int
    headings: int = 1  # how many lines the heading itself takes; 0 before the first heading


class Item(NamedTuple):
    """A list item with everything nested in it. `words` is what it says, without its marker and comments."""

    start: int
    end: int
    marker: str
    text: str
    words: str
    section: str
    depth: int = 0

    @property
    def marks(self) -> dict[str, str]:
        return marks_in(self.text)

    @property
    def is_pinned(self) -> bool:
        """Whether a mark beside it says so: `<!-- pinned: true -->`."""
        return self.marks.get("pinned", "").lower() in ("true", "yes", "1")


@dataclass(frozen=True)
class Document:
    """The file as it was read. Lines are kept with their own ends, so joining them gives the same bytes."""

    path: Path
    data: bytes
    hash: str

    @cached_property
    def text(self) -> str:
        try:
            return self.data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = self.data.count(b"\n", 0, error.start) + 1
            raise BadInput(
                f"Line {line} of {self.path} is not valid UTF-8, so Nacre does not edit the file. Save it as UTF-8.",
                f"{self.path} 第 {line} 行不是有效的 UTF-8，Nacre 不会编辑此文件。请另存为 UTF-8。",
            ) from error

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """Each line with its end; only a newline ends one."""
        parts = self.text.split("\n")
        lines = [part + "\n" for part in parts[:-1]]
        return (*lines, parts[-1]) if parts[-1] else tuple(lines)

    @cached_property
    def bare(self) -> tuple[str, ...]:
        """Each line without its end, and the first without a byte-order mark."""
        lines = [line.rstrip("\n").removesuffix("\r") for line in self.lines]
        return (lines[0].removeprefix("\ufeff"), *lines[1:]) if lines else ()

    @cached_property
    def newline(self) -> str:
        return "\r\n" if self.lines and self.lines[0].endswith("\r\n") else "\n"

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        return tuple(blocks(list(self.bare)))

    @cached_property
    def frontmatter(self) -> str | None:
        """What stands between the two `---` at the top; None when there is none."""
        if self.blocks and self.blocks[0].kind == FRONT:
            return "\n".join(self.bare[1 : self.blocks[0].end - 1])
        return None

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        heads = [block for block in self.blocks if block.kind == HEADING]
        first = heads[0].start if heads else len(self.lines) + 1
        sections = [Section("", 0, 1, first - 1, 0)] if first > 1 else []
        ends = [block.start - 1 for block in heads[1:]] + [len(self.lines)]
        for block, end in zip(heads, ends, strict=False):
            sections.append(Section(block.text, block.level, block.start, end, block.end - block.start + 1))
        return tuple(sections)

    @cached_property
    def items(self) -> tuple[Item, ...]:
        """The outermost list items, each with all that is nested in it."""
        items: list[Item] = []
        section = ""
        for block in self.blocks:
            if block.kind == HEADING:
                section = block.text
            elif block.kind == ITEM:
                items.append(self._item(block.start, block.end, section, 0))
        return tuple(items)

    @property
    def entries(self) -> tuple[Item, ...]:
        """The outermost list items that say something: in a MEMORY.md its entries."""
        return tuple(item for item in self.items if item.words)

    def nested(self, item: Item) -> tuple[Item, ...]:
        inner = []
        for line in self.bare[item.start : item.end]:
            lead = 1 if line.startswith("\t") else min(len(item.marker), len(line) - len(line.lstrip(" ")))
            inner.append(line[lead:])
        return tuple(
            self._item(item.start + block.start - 1, item.start + block.end - 1, item.section, item.depth + 1)
            for block in blocks(["", *inner])
            if block.kind == ITEM
        )

    def _item(self, start: int, end: int, section: str, depth: int) -> Item:
        lines = self.bare[start - 1 : end]
        match = _BULLET.match(lines[0])
        marker = match[0] if match else lines[0]
        text = "\n".join([lines[0][len(marker) :], *lines[1:]])
        return Item(start, end, marker, text, words_of(text), section, depth)


def document(path: Path, data: bytes) -> Document:
    return Document(path, data, digest(data))


def open_document(workspace: Workspace, path: Path) -> Document | None:
    data = read(workspace, path)
    return None if data is None else document(path, data)


def replace_lines(doc: Document, start: int, end: int, new: Sequence[str]) -> bytes:
    """Lines `start` to `end` replaced; the last new line ends as the last old one did."""
    return _splice(doc, start - 1, end, new)


def insert_lines(doc: Document, after: int, new: Sequence[str]) -> bytes:
    """New lines after line `after` (0: at the top). A file without a last line end keeps being without."""
    return _splice(doc, after, after, new)


def _splice(doc: Document, start: int, end: int, new: Sequence[str]) -> bytes:
    """The bytes with new lines in the place of a slice of the old ones; a byte-order mark stays in front."""
    if any("\n" in line for line in new):
        raise BadInput("A line must not contain a line break.", "单行内容不能包含换行。")
    before, replaced, after = doc.lines[:start], doc.lines[start:end], "".join(doc.lines[end:])
    mark = "\ufeff" if start == 0 and doc.text.startswith("\ufeff") else ""
    body = doc.newline.join(new)
    if new and replaced:
        body += "\r\n" if replaced[-1].endswith("\r\n") else "\n" if replaced[-1].endswith("\n") else ""
    elif new:
        body = doc.newline + body if before and not before[-1].endswith("\n") else body + doc.newline
    return ("".join(before) + mark + body + (after if end else after.removeprefix(mark))).encode()


def add_bullet(doc: Document, section: Section, text: str) -> bytes:
    """A list item at the end of the section, in the marker and line ends of its neighbours."""
    siblings = [item for item in doc.items if section.start <= item.start <= section.end]
    plain = (f"{item.marker.strip()} " for item in doc.items if item.marker.strip() in ("-", "*", "+"))
    marker = siblings[-1].marker if siblings else next(plain, "- ")
    if number := re.fullmatch(r"([ \t]*)(\d{1,9})([.)][ \t]+)", marker):
        marker = f"{number[1]}{int(number[2]) + 1}{number[3]}"
    elif not _BULLET.match(f"{marker}x"):
        marker = "- "
    last = section.end
    while last >= section.start + section.headings and not doc.bare[last - 1].strip():
        last -= 1
    beside = not siblings or siblings[-1].end != last
    gap = [""] if beside and last >= section.start + section.headings else []
    top = section.start + section.headings - 1
    for after, lines in ((last, [*gap, marker + text]), (top, [marker + text]), (top, [marker + text, ""])):
        data = insert_lines(doc, after, lines)
        edited, line = document(doc.path, data), after + 1 + lines.index(marker + text)
        is_item = any(item.start == item.end == line for item in edited.items)
        if is_item and shape_of(edited, (line,)) == shape_of(doc):  # it hides nothing that stood there
            return data
    raise BadInput(
        f"Nothing can be added to “{section.title}” in {doc.path}: it contains an unclosed code fence or comment.",
        f"无法向 {doc.path} 的“{section.title}”添加内容：其中有未闭合的代码块或注释。",
    )


def shape_of(doc: Document, but: Container[int] = ()) -> tuple[list[str], list[str], str | None]:
    """What an edit must not hide: the headings, the list items but for those that begin on some lines, and the frontmatter."""
    items = [item.text for item in doc.items if item.start not in but]
    return [section.title for section in doc.sections if section.level], items, doc.frontmatter


def plain_title(title: str) -> str:
    """A heading without its signs and case, by which it is compared."""
    return " ".join(re.sub(r"[\W_]+", " ", title).casefold().split())


def add_section(doc: Document, title: str, bullets: Sequence[str]) -> bytes:
    """A new section at the end of the file, or above a fence that is never closed, one blank line below what stands there."""
    lines = [f"## {title}", *(f"- {bullet}" for bullet in bullets)]
    last = min(unclosed_fences(list(doc.bare)), default=len(doc.lines) + 1) - 1
    if last and doc.bare[last - 1].strip():
        lines.insert(0, "")
    return insert_lines(doc, last, [*lines, *[""] * (last < len(doc.lines))])


def _field(name: str) -> re.Pattern[str]:
    """A line `- **Name:** value`: what stands before the value, and the value."""
    label = rf"\*\*{re.escape(name)}[:：]\*\*|\*\*{re.escape(name)}\*\*[ \t]*[:：]|{re.escape(name)}[:：]"
    return re.compile(rf"([ \t]*(?:[-*+][ \t]+)?(?:{label}))[ \t]*(.*)", re.IGNORECASE)


def field_value(doc: Document, name: str) -> str | None:
    """The value of a field; None without one."""
    match = next(filter(None, map(_field(name).fullmatch, doc.bare)), None)
    return (match[2].strip() or None) if match else None


def set_field(doc: Document, name: str, value: str) -> bytes | None:
    """The value of a field replaced, or the `_(hint)_` that stands for it; None where the file has no such field."""
    field = _field(name)
    prose = {
        number for block in doc.blocks if block.kind in (ITEM, "text") for number in range(block.start, block.end + 1)
    }
    for number, line in enumerate(doc.bare, start=1):
        if number in prose and (match := field.fullmatch(line)):
            is_empty = not match[2].strip() and number + 1 in prose
            has_hint = is_empty and re.fullmatch(r"\s*[_*]\(.*\)[_*]\s*", doc.bare[number])
            return replace_lines(doc, number, number + bool(has_hint), [f"{match[1]} {value}"])
    return None
