"""The memory files of a workspace while changes are planned: every MEMORY.md, the fields of IDENTITY.md and USER.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from nacre.brain.local.judge import Meant
from nacre.brain.local.likeness import Statement
from nacre.brain.local.pieces import pieces
from nacre.brain.local.relation import as_statement
from nacre.brain.local.wording import joined
from nacre.errors import NacreError
from nacre.model.plan import Plan
from nacre.model.problem import Problem
from nacre.tidy import admit
from nacre.tidy.admit import Tested
from nacre.tidy.book import Book, Line
from nacre.tidy.candidates import Candidate
from nacre.tidy.conflict import Known
from nacre.tidy.days import Said
from nacre.tidy.fields import Field, value_of, with_value
from nacre.tidy.room import Room
from nacre.tidy.route import about_the_user
from nacre.vault import longterm, recalls
from nacre.vault.atomic import real_target
from nacre.vault.longterm import Edit
from nacre.vault.markdown import Document, document, open_document
from nacre.vault.trail import Trail
from nacre.vault.workspace import slug_of


@dataclass(frozen=True)
class OwnField:
    """A field that a file has, with what stands in it now and what stood there when the night began."""

    file: str
    name: str
    value: str | None
    before: str | None


class Library:
    """All of them, read once."""

    def __init__(self, room: Room, trail: Trail) -> None:
        self.room = room
        self.trail = trail
        settings = room.config.memory
        self.general = Book(room.workspace, room.workspace.longterm, settings, longterm.template(settings))
        self.problems: list[
            Problem
        ] = []  # files of projects that cannot be read; nothing of theirs is touched or added to
        self._projects: dict[str, Book] = {}
        for path in sorted(room.workspace.projects.glob("*/MEMORY.md")):
            self._projects[path.parent.name] = self._opened(path)
        self._tested: dict[str, Tested] = {}
        self._known: dict[str, Known] = {}
        self._statements: dict[str, Statement] = {}
        self._shelves: dict[str, tuple[Document | None, list[tuple[Book, Line, Known]]]] = {}
        self._files: dict[str, tuple[Document, Document]] = {}

    @property
    def books(self) -> list[Book]:
        return [self.general, *(book for book in self._projects.values() if not book.closed)]

    def _opened(self, path: Path, start: str | None = None) -> Book:
        """The file of a project; one that cannot be read, or lies elsewhere, is closed, and the others go on without it."""
        workspace, settings = self.room.workspace, self.room.config.memory
        try:
            real_target(path, workspace.root)
            book = Book(workspace, path, settings, start)
            _ = book.lines  # decoded now, not in the middle of the night
        except NacreError as trouble:
            self.problems.append(Problem("unreadable", str(trouble), workspace.relative(path), severity="error"))
            return Book(workspace, path, settings, start, closed=True)
        return book

    def home(self, one: Candidate) -> Book:
        """The file that a statement goes to: its project's, unless it is about the user."""
        slug = one.said.project
        if not slug or one.said.group or about_the_user(one):
            return self.general
        return self._project(slug)

    def _project(self, slug: str) -> Book:
        if slug not in self._projects:
            place = next(
                (said.place for said in reversed(self.trail.captured) if said.place and _is(said.place, slug)), slug
            )
            start = longterm.project_template(slug, place, settings=self.room.config.memory)
            self._projects[slug] = self._opened(self.room.workspace.project(slug), start)
        return self._projects[slug]

    def book(self, shown: str) -> Book:
        """The MEMORY.md of this name; a project's may have gone meanwhile."""
        parts = shown.split("/")
        if len(parts) == 3 and parts[0] == "projects" and parts[2] == "MEMORY.md" and slug_of(parts[1]) == parts[1]:
            return self._project(parts[1])
        return self.general

    def shelf(self, home: Book) -> list[tuple[Book, Line, Known]]:
        """Every entry that a statement for this file is held against: all, its own file's and the general ones first."""
        first = [home, *([self.general] if home is not self.general else [])]
        others = [book for book in self.books if book not in first]
        found: list[tuple[Book, Line, Known]] = []
        for book in (*first, *others):
            found += self._shelved(book)
        return found

    def _shelved(self, book: Book) -> list[tuple[Book, Line, Known]]:
        """The entries of one file, taken apart again only when it has changed."""
        doc, shelved = self._shelves.get(book.shown, (None, []))
        if doc is None or doc is not book.doc:
            lines = [line for line in book.lines if line.whole]
            self.read(lines)
            shelved = [(book, line, self._known[line.words]) for line in lines]
            self._shelves[book.shown] = book.doc, shelved
        return shelved

    def read(self, lines: Sequence[Line]) -> None:
        """Take entries apart that were not looked at before, all in one go."""
        new = [line.words for line in lines if line.words not in self._known]
        parts = {words: [piece.text for piece in pieces(words)] for words in new}
        self._understand([*new, *(text for split in parts.values() if len(split) > 1 for text in split)])
        for words in new:
            split = parts[words] if len(parts[words]) > 1 else []
            self._known[words] = Known(self._statements[words], tuple(self._statements[text] for text in split))

    def _understand(self, texts: Sequence[str]) -> None:
        """Entries are compared with what is new, not judged again: what they mean is enough."""
        new = list(dict.fromkeys(text for text in texts if text not in self._statements))
        if new:
            meant = self.room.judge().meant(new)
            self._statements |= {one.text: as_statement(one) for one in meant}

    def statements(self, texts: Sequence[str]) -> list[Statement]:
        self._understand(texts)
        return [self._statements[text] for text in texts]

    def meant(self) -> Iterator[Meant]:
        """The entries that stand there now, and their parts, as far as anything was held against them."""
        for words in dict.fromkeys(line.words for book in self.books for line in book.lines):
            if known := self._known.get(words):
                yield from (Meant(one.text, one.language, one.vector) for one in (known.whole, *known.parts))

    def tested(self, words: str) -> Tested:
        if words not in self._tested:
            (self._tested[words],) = admit.tested(self.room.judge(), [words])
        return self._tested[words]

    def without_part(self, words: str, part: int | None) -> str | None:
        """An entry without one of its statements; None when nothing would be left that stands on its own."""
        split = pieces(words)
        if part is None or len(split) < 2:
            return None
        rest = [piece.text for number, piece in enumerate(split) if number != part]
        text = joined(rest, split[0].language)
        return text if self.tested(text).judged.chance("c", "yes") < 0.5 else None

    def find(self, known: str) -> tuple[Book, Line] | None:
        return next(((book, line) for book in self.books if (line := book.find(known))), None)

    def source(self, said: Said) -> dict[str, str]:
        """Where a statement comes from: day, session, the line of the log and the first message it rests on, or the checkpoint
        that it was promoted from."""
        told = {"day": said.day, "session": said.session or "", "bullet": said.mark, "message": self._message(said)}
        told["checkpoint"] = said.checkpoint
        return {name: value for name, value in told.items() if value}

    def _message(self, said: Said) -> str:
        return next(iter(self._messages.get((said.day, said.mark), ())), "")

    @cached_property
    def _messages(self) -> dict[tuple[str, str], tuple[str, ...]]:
        return {(one.day, mark): messages for one in self.trail.captured for mark, messages in one.bullets.items()}

    @cached_property
    def pressed(self) -> dict[str, set[str]]:
        """By day: the marks of the lines that stand in a digest."""
        return self.trail.entered()

    @cached_property
    def owners_word(self) -> frozenset[tuple[str, str]]:
        """The lines of the logs, by day and mark, that capture took from the owner's own messages."""
        told = ((one.day, mark) for one in self.trail.captured for mark in one.bullets)
        return frozenset(told) - self.agents_word

    @cached_property
    def agents_word(self) -> frozenset[tuple[str, str]]:
        """The lines of the logs, by day and mark, that are the agent's word alone: no talk has them from the owner, too."""
        agents = {(one.day, mark) for one in self.trail.captured for mark in one.agents}
        return frozenset(
            agents - {(one.day, mark) for one in self.trail.captured for mark in one.bullets if mark not in one.agents}
        )

    def recalls(self, line: Line) -> int:
        """How often an entry was given out: recalls that cover its line in its file."""
        if not self._recalled:
            return 0
        book = next((book for book in self.books if line in book.lines), None)
        return sum(
            count
            for (path, start, end), count in self._recalled.items()
            if book and path == book.shown and start <= line.start <= end
        )

    @cached_property
    def _recalled(self) -> Counter[tuple[str, int, int]]:
        return Counter(
            (one.path, *one.lines)
            for one in recalls.read(self.room.workspace).recalls
            if one.path.endswith("MEMORY.md")
        )

    # Fields

    def field(self, wanted: Field) -> OwnField | None:
        """The field that is meant, where its file has one."""
        docs = self._open(wanted.file)
        if docs is None:
            return None
        before, now = docs
        found = with_value(now, wanted)
        if found is None:
            return None
        return OwnField(wanted.file, found[0], value_of(now, found[0]) or None, value_of(before, found[0]) or None)

    def set(self, own: OwnField, value: str) -> None:
        before, now = self._files[own.file]
        found = with_value(now, Field(own.file, (own.name,), value))
        assert found is not None
        self._files[own.file] = before, document(now.path, found[1])

    def _open(self, file: str) -> tuple[Document, Document] | None:
        if file not in self._files:
            try:
                doc = open_document(self.room.workspace.root / file)
                if doc is None or not doc.text:
                    return None
            except NacreError:
                return None  # `doctor` tells of files that cannot be read
            self._files[file] = doc, doc
        return self._files[file]

    def edits(self) -> Iterator[Edit]:
        """What has changed, each file with the hash of what was read."""
        for book in self.books:
            if book.changed and book.doc is not None:
                yield Edit(book.path, book.before.hash if book.before else None, book.doc.data, Plan())
        for before, now in self._files.values():
            if now.data != before.data:
                yield Edit(now.path, before.hash, now.data, Plan())


def _is(place: str, slug: str) -> bool:
    return slug_of(place.rstrip("/\\").replace("\\", "/").rpartition("/")[2]) == slug
