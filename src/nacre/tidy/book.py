"""A MEMORY.md while changes to it are being planned: every edit on the text in hand, nothing on the disk."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from nacre.config import MemorySettings
from nacre.errors import MemoryFull, SecretRefused
from nacre.guard.sanitise import one_line
from nacre.vault import limits, longterm
from nacre.vault.append import guarded
from nacre.vault.ledger import identity
from nacre.vault.longterm import Kept
from nacre.vault.markdown import Document, delete_lines, document, open_document, replace_lines
from nacre.vault.workspace import Workspace
from nacre.words import say

_BULLET = len("- \n")
_AIR, _HEADING = 3, 200  # lines and bytes that a new section may take beside its entry
_COMMENTS = re.compile(r"(?<!\s)\s*<!--(?:(?!<!--|-->).)*-->")


@dataclass(frozen=True)
class Line:
    """An entry as it stands in the file. One with more than a line of its own belongs to its writer alone."""

    id: str
    words: str
    start: int
    end: int
    section: str
    pinned: bool

    @property
    def whole(self) -> bool:
        return self.start == self.end


class Book:
    """One file, as read and as it shall become."""

    def __init__(
        self,
        workspace: Workspace,
        path: Path,
        settings: MemorySettings,
        start: str | None = None,
        *,
        closed: bool = False,
    ) -> None:
        self.workspace = workspace
        self.path = path
        self.shown = workspace.relative(path)
        self.settings = settings
        self.start = start
        self.closed = closed  # cannot be read: it shows no line and takes none
        self.before: Document | None = None if closed else open_document(path)
        self.doc: Document | None = self.before
        self._lines: tuple[Line, ...] | None = None

    @property
    def lines(self) -> tuple[Line, ...]:
        if self._lines is None:
            self._lines = tuple(_line(item) for item in longterm.entries(self.doc)) if self.doc else ()
        return self._lines

    @property
    def size(self) -> limits.Size:
        return limits.size_of(self.doc.data if self.doc else None)

    @property
    def over(self) -> bool:
        """Whether the file as it was found breaks its limits, or cannot be read: then nothing is added to it."""
        return self.closed or limits.size_of(self.before.data if self.before else None).over(self.settings)

    @property
    def changed(self) -> bool:
        return (self.doc.data if self.doc else None) != (self.before.data if self.before else None)

    def find(self, known: str) -> Line | None:
        return next((line for line in self.lines if line.id == known), None)

    def add(self, text: str, kind: str) -> str:
        """Add an entry and return its section. Raises `MemoryFull` when there is no room."""
        if self.closed:
            raise MemoryFull(
                say(
                    f"{self.shown} cannot be read, so nothing is added to it. Mend or remove it.",
                    f"{self.shown} 无法读取，因此不会向其中添加内容。请修复或移除它。",
                )
            )
        edit = longterm.plan_add(
            self.workspace, self.path, self.doc, text, type=kind, settings=self.settings, start=self.start
        )
        self._become(edit.data)
        return edit.section

    def replace(self, line: Line, words: str) -> None:
        """Other words in the place of an entry; its marker and its marks stay. Raises `MemoryFull` and `SecretRefused`."""
        assert self.doc is not None
        words = one_line(guarded(words)).strip()
        old = self.doc.bare[line.start - 1]
        marker = next(item.marker for item in self.doc.items if item.start == line.start)
        marks = "".join(_COMMENTS.findall(old))
        data = replace_lines(self.doc, line.start, line.end, [f"{marker}{words}{marks}"])
        limits.check(self.workspace, self.path, self.doc.data, data, self.settings)
        self._become(data)

    def remove(self, line: Line) -> None:
        assert self.doc is not None
        self._become(delete_lines(self.doc, line.start, line.end))

    def cut(self, start: int, end: int) -> None:
        """Take lines out that are no entry."""
        assert self.doc is not None
        self._become(delete_lines(self.doc, start, end))

    def restore(self, doc: Document | None) -> None:
        """As it was in hand before."""
        self.doc, self._lines = doc, None

    def has_room(self, text: str, kind: str) -> bool:
        """Whether an entry would fit. What may not be written at all is not a matter of room: adding it says why."""
        if (plain := self._plainly(text)) is not None:
            return plain
        kept = self.doc, self._lines
        try:
            self.add(text, kind)
        except MemoryFull:
            return False
        except SecretRefused:
            return True
        finally:
            self.doc, self._lines = kept
        return True

    def _plainly(self, text: str) -> bool | None:
        """Whether it fits, where the sizes alone tell; else the addition is to be tried."""
        if self.closed:
            return False
        if self.doc is None:
            return None
        words = " ".join(text.split())
        lines, size = self.size.lines + 1, self.size.bytes + len(words.encode()) + _BULLET
        if lines + _AIR <= self.settings.max_lines and size + _HEADING <= self.settings.max_bytes:
            return True
        if self.over or words.encode() in self.doc.data:  # it may stand there already
            return None
        return None if lines <= self.settings.max_lines and size <= self.settings.max_bytes else False

    def _become(self, data: bytes) -> None:
        self.doc = document(self.path, data)
        self._lines = None


def _line(kept: Kept) -> Line:
    pinned = kept.marks.get("pinned", "").lower() in ("true", "yes", "1")
    return Line(identity(kept.words), kept.words, kept.start, kept.end, kept.section, pinned)
