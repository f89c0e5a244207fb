"""The memory files of a workspace while changes are planned: every MEMORY.md, and the fields of IDENTITY.md and USER.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from heapq import nlargest
from itertools import pairwise
from pathlib import Path

from nacre.brain.local.judge import Embedded
from nacre.brain.local.likeness import Statement
from nacre.brain.local.relation import as_statement
from nacre.brain.local.wording import joined, pieces
from nacre.config.settings import MemorySettings
from nacre.errors import MemoryFull, NacreError, SecretRefused
from nacre.guard.sanitise import one_line
from nacre.i18n import say
from nacre.model.report import Plan, Problem
from nacre.model.workspace import Workspace, slug_of
from nacre.tidy import judge
from nacre.tidy.collect import Field, LogLine, TidyContext, value_of, with_value
from nacre.tidy.compare import EntryParts
from nacre.tidy.judge import Candidate, Tested, about_the_user
from nacre.vault import longterm, refcount, writing
from nacre.vault.disk import real_target
from nacre.vault.entries import comments_in, entry_id
from nacre.vault.ledger import EntryState, Record
from nacre.vault.longterm import Edit
from nacre.vault.markdown import Document, Item, delete_lines, document, open_document, replace_lines
from nacre.vault.provenance import Provenance
from nacre.vault.writing import guarded

_BULLET = len("- \n")
_AIR, _HEADING = 3, 200  # lines and bytes that a new section may take beside its entry


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


class LongTermFile:
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
            self._lines = tuple(_line(item) for item in self.doc.entries) if self.doc else ()
        return self._lines

    @property
    def size(self) -> writing.Size:
        return writing.size_of(self.doc.data if self.doc else None)

    @property
    def over(self) -> bool:
        """Whether the file as it was found breaks its limits, or cannot be read: then nothing is added to it."""
        return self.closed or writing.size_of(self.before.data if self.before else None).over(self.settings)

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
        marks = comments_in(old)
        data = replace_lines(self.doc, line.start, line.end, [f"{marker}{words}{marks}"])
        writing.check_limits(self.workspace, self.path, self.doc.data, data, self.settings)
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


def _line(kept: Item) -> Line:
    pinned = kept.marks.get("pinned", "").lower() in ("true", "yes", "1")
    return Line(entry_id(kept.words), kept.words, kept.start, kept.end, kept.section, pinned)


# The entries of every MEMORY.md as the ledger knows them: which are ours, which somebody wrote, which were edited or
# taken out.

ALIKE = 0.72  # likeness above which a line is an entry that somebody edited
_LONGEST = 2_000  # characters that are compared
_NEAR, _NEAREST = (
    0.3,
    4,
)  # the share of pairs of letters below which nothing is compared, and how many entries are at most


@dataclass(frozen=True)
class HandEdits:
    """What the files tell that the ledger does not: new lines, edited ones (with the entry each was), and entries taken out."""

    adopted: tuple[tuple[LongTermFile, Line], ...]
    edited: tuple[tuple[LongTermFile, Line, EntryState], ...]
    gone: tuple[EntryState, ...]


def hand_edits(books: Sequence[LongTermFile], known: Mapping[str, EntryState]) -> HandEdits:
    here = {line.id for book in books for line in book.lines}
    shown = {book.shown for book in books}
    missing = [
        one
        for one in known.values()
        if one.in_memory and one.id not in here and one.text and one.file in shown and not _is_field(one)
    ]
    pairs = {one.id: (one, _pairs(one.text or "")) for one in missing}
    adopted: list[tuple[LongTermFile, Line]] = []
    edited: list[tuple[LongTermFile, Line, EntryState]] = []
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
    return HandEdits(tuple(adopted), tuple(edited), tuple(missing))


def _is_field(one: EntryState) -> bool:
    return any("field" in record.more for record in one.records)


def _most_like(words: str, missing: Sequence[tuple[EntryState, frozenset[str]]]) -> EntryState | None:
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


def hand_edit_records(found: HandEdits, at: str, today: str) -> list[Record]:
    """The lines that the ledger gets so that it tells what the files tell."""
    made: list[Record] = []
    for book, line in found.adopted:
        made.append(
            Record(line.id, at, "adopted", line.words, section=line.section, valid_from=today, more=file_field(book))
        )
    for book, line, was in found.edited:
        more = file_field(book) | ({"pinned": True} if was.pinned else {}) | {"by": "hand"}
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


def file_field(book: LongTermFile) -> dict[str, object]:
    return {} if book.shown == "MEMORY.md" else {"file": book.shown}


# The memory files of a workspace while changes are planned: every MEMORY.md, the fields of IDENTITY.md and USER.md.


@dataclass(frozen=True)
class OwnField:
    """A field that a file has, with what stands in it now and what stood there when the night began."""

    file: str
    name: str
    value: str | None
    before: str | None


class MemoryFiles:
    """All of them, read once."""

    def __init__(self, room: TidyContext, trail: Provenance) -> None:
        self.room = room
        self.trail = trail
        settings = room.config.memory
        self.general = LongTermFile(room.workspace, room.workspace.longterm, settings, longterm.template(settings))
        self.problems: list[
            Problem
        ] = []  # files of projects that cannot be read; nothing of theirs is touched or added to
        self._projects: dict[str, LongTermFile] = {}
        for path in sorted(room.workspace.projects.glob("*/MEMORY.md")):
            self._projects[path.parent.name] = self._opened(path)
        self._tested: dict[str, Tested] = {}
        self._known: dict[str, EntryParts] = {}
        self._statements: dict[str, Statement] = {}
        self._shelves: dict[str, tuple[Document | None, list[tuple[LongTermFile, Line, EntryParts]]]] = {}
        self._files: dict[str, tuple[Document, Document]] = {}

    @property
    def books(self) -> list[LongTermFile]:
        return [self.general, *(book for book in self._projects.values() if not book.closed)]

    def _opened(self, path: Path, start: str | None = None) -> LongTermFile:
        """The file of a project; one that cannot be read, or lies elsewhere, is closed, and the others go on without it."""
        workspace, settings = self.room.workspace, self.room.config.memory
        try:
            real_target(path, workspace.root)
            book = LongTermFile(workspace, path, settings, start)
            _ = book.lines  # decoded now, not in the middle of the night
        except NacreError as trouble:
            self.problems.append(Problem("unreadable", str(trouble), workspace.relative(path), severity="error"))
            return LongTermFile(workspace, path, settings, start, closed=True)
        return book

    def home(self, one: Candidate) -> LongTermFile:
        """The file that a statement goes to: its project's, unless it is about the user."""
        slug = one.said.project
        if not slug or one.said.group or about_the_user(one):
            return self.general
        return self._project(slug)

    def _project(self, slug: str) -> LongTermFile:
        if slug not in self._projects:
            place = next(
                (said.place for said in reversed(self.trail.captured) if said.place and _is(said.place, slug)), slug
            )
            start = longterm.project_template(slug, place, settings=self.room.config.memory)
            self._projects[slug] = self._opened(self.room.workspace.project(slug), start)
        return self._projects[slug]

    def book(self, shown: str) -> LongTermFile:
        """The MEMORY.md of this name; a project's may have gone meanwhile."""
        parts = shown.split("/")
        if len(parts) == 3 and parts[0] == "projects" and parts[2] == "MEMORY.md" and slug_of(parts[1]) == parts[1]:
            return self._project(parts[1])
        return self.general

    def shelf(self, home: LongTermFile) -> list[tuple[LongTermFile, Line, EntryParts]]:
        """Every entry that a statement for this file is held against: all, its own file's and the general ones first."""
        first = [home, *([self.general] if home is not self.general else [])]
        others = [book for book in self.books if book not in first]
        found: list[tuple[LongTermFile, Line, EntryParts]] = []
        for book in (*first, *others):
            found += self._shelved(book)
        return found

    def _shelved(self, book: LongTermFile) -> list[tuple[LongTermFile, Line, EntryParts]]:
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
            self._known[words] = EntryParts(self._statements[words], tuple(self._statements[text] for text in split))

    def _understand(self, texts: Sequence[str]) -> None:
        """Entries are compared with what is new, not judged again: what they mean is enough."""
        new = list(dict.fromkeys(text for text in texts if text not in self._statements))
        if new:
            meant = self.room.judge().meant(new)
            self._statements |= {one.text: as_statement(one) for one in meant}

    def statements(self, texts: Sequence[str]) -> list[Statement]:
        self._understand(texts)
        return [self._statements[text] for text in texts]

    def meant(self) -> Iterator[Embedded]:
        """The entries that stand there now, and their parts, as far as anything was held against them."""
        for words in dict.fromkeys(line.words for book in self.books for line in book.lines):
            if known := self._known.get(words):
                yield from (Embedded(one.text, one.language, one.vector) for one in (known.whole, *known.parts))

    def tested(self, words: str) -> Tested:
        if words not in self._tested:
            (self._tested[words],) = judge.assess_all(self.room.judge(), [words])
        return self._tested[words]

    def without_part(self, words: str, part: int | None) -> str | None:
        """An entry without one of its statements; None when nothing would be left that stands on its own."""
        split = pieces(words)
        if part is None or len(split) < 2:
            return None
        rest = [piece.text for number, piece in enumerate(split) if number != part]
        text = joined(rest, split[0].language)
        return text if self.tested(text).judged.chance("c", "yes") < 0.5 else None

    def find(self, known: str) -> tuple[LongTermFile, Line] | None:
        return next(((book, line) for book in self.books if (line := book.find(known))), None)

    def source(self, said: LogLine) -> dict[str, str]:
        """Where a statement comes from: day, session, the line of the log and the first message it rests on, or the checkpoint
        that it was promoted from."""
        told = {"day": said.day, "session": said.session or "", "bullet": said.mark, "message": self._message(said)}
        told["checkpoint"] = said.checkpoint
        return {name: value for name, value in told.items() if value}

    def _message(self, said: LogLine) -> str:
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
            for one in refcount.read_recalls(self.room.workspace).recalls
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
