"""The memory files of a workspace while changes are planned: every MEMORY.md, and the fields of IDENTITY.md and USER.md."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from nacre.brain.local.likeness import Statement
from nacre.brain.local.wording import joined, pieces
from nacre.config.settings import MemorySettings
from nacre.errors import MemoryFull, NacreError, SecretRefused
from nacre.guard.sanitise import one_line
from nacre.model import Problem, Workspace, slug_of
from nacre.text.blocks import Block, unclosed_fences
from nacre.tidy import judge
from nacre.tidy.collect import Field, LogLine, TidyContext
from nacre.tidy.compare import EntryParts, entry_parts
from nacre.tidy.judge import Candidate, Tested, about_the_user
from nacre.vault import longterm, writing
from nacre.vault.entries import (
    Document,
    comments_in,
    document,
    entry_id,
    field_value,
    open_document,
    replace_lines,
    set_field,
)
from nacre.vault.ledger import EntryState
from nacre.vault.longterm import Edit
from nacre.vault.provenance import Captured, Trail
from nacre.vault.storage import check_place, list_longterm, storage_of
from nacre.vault.writing import guarded


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
        self.project = None if path == workspace.longterm else path.parent.name
        self.settings = settings
        self.start = start
        self.closed = closed  # cannot be read: it shows no line and takes none
        self.before: Document | None = None if closed else open_document(workspace, path)
        self.doc: Document | None = self.before

    @property
    def lines(self) -> tuple[Line, ...]:
        return _lines_of(self.doc) if self.doc else ()

    @property
    def size(self) -> writing.Size:
        return writing.size_of(self.doc.data if self.doc else None)

    @property
    def over(self) -> bool:
        """Whether the file as it was found breaks its limits, or cannot be read: then nothing is added to it."""
        return self.closed or writing.size_of(self.before.data if self.before else None).over(self.settings)

    def find(self, id_: str) -> Line | None:
        return next((line for line in self.lines if line.id == id_), None)

    def add(self, text: str, kind: str) -> str:
        """Add an entry and return its section. Raises `MemoryFull` when there is no room."""
        data, section = self._with(text, kind)
        self.doc = document(self.path, data)
        return section

    def _with(self, text: str, kind: str) -> tuple[bytes, str]:
        return longterm.with_entry(
            self.workspace, self.path, self.doc, text, type=kind, settings=self.settings, start=self.start
        )

    def replace(self, line: Line, words: str) -> None:
        """Other words in the place of an entry; its marker and its marks stay. Raises `MemoryFull` and `SecretRefused`."""
        assert self.doc is not None
        words = one_line(guarded(words)).strip()
        marker = next(item.marker for item in self.doc.items if item.start == line.start)
        marks = comments_in(self.doc.bare[line.start - 1])
        data = replace_lines(self.doc, line.start, line.end, [f"{marker}{words}{marks}"])
        writing.check_limits(self.workspace, self.path, self.doc.data, data, self.settings)
        self.doc = document(self.path, data)

    def remove(self, lines: Line | Block) -> None:
        assert self.doc is not None
        self.doc = document(self.path, replace_lines(self.doc, lines.start, lines.end, []))

    def has_room(self, text: str, kind: str) -> bool:
        """Whether an entry would fit. What may not be written at all is not a matter of room: adding it says why."""
        try:
            self._with(text, kind)
        except MemoryFull:
            return False
        except SecretRefused:
            pass
        return not self.closed


@lru_cache(maxsize=64)
def _lines_of(doc: Document) -> tuple[Line, ...]:
    return tuple(
        Line(entry_id(item.words), item.words, item.start, item.end, item.section, item.is_pinned)
        for item in doc.entries
    )


# The entries of every MEMORY.md as the ledger has them: which are ours, which somebody wrote, which were edited or removed.

ALIKE = 0.72  # likeness above which a line is an entry that somebody edited
_LONGEST = 2_000  # characters that are compared


Adopted = list[tuple[LongTermFile, Line]]
Edited = list[tuple[LongTermFile, Line, EntryState]]


def hand_edits(
    files: Sequence[LongTermFile], states: Mapping[str, EntryState]
) -> tuple[Adopted, Edited, list[EntryState]]:
    """What the files show that the ledger does not: new lines, edited ones with the entry each was, and removed entries."""
    here = {line.id for file in files for line in file.lines}
    # A fence that is never closed hides entries, and takes none out.
    shown = {file.shown for file in files if not (file.doc and unclosed_fences(list(file.doc.bare)))}
    gone = (state for state in states.values() if state.in_memory and state.id not in here and state.file in shown)
    of_lines = (state for state in gone if not any("field" in record.more for record in state.records))
    missing = {state.id: state for state in of_lines if state.text}
    adopted: Adopted = []
    edited: Edited = []
    for file in files:
        for line in file.lines:
            if line.id in states and states[line.id].in_memory:
                continue
            was = _most_like(line.words, (state for state in missing.values() if state.file == file.shown))
            if was:
                del missing[was.id]
                edited.append((file, line, was))
            else:
                adopted.append((file, line))
    return adopted, edited, list(missing.values())


def _most_like(words: str, missing: Iterable[EntryState]) -> EntryState | None:
    matcher = SequenceMatcher(None, b=words[:_LONGEST].casefold(), autojunk=False)
    best, most = None, ALIKE
    for state in missing:
        matcher.set_seq1((state.text or "")[:_LONGEST].casefold())
        if matcher.real_quick_ratio() < most or matcher.quick_ratio() < most:
            continue  # they bound the likeness, at a fraction of its cost
        likeness = matcher.ratio()
        if likeness > most or (best is None and likeness >= ALIKE):
            best, most = state, likeness
    return best


def file_field(file: LongTermFile) -> dict[str, object]:
    return {} if file.shown == "MEMORY.md" else {"file": file.shown}


def names_project(words: str, slug: str) -> bool:
    """Whether a statement names a project; short slugs are everyday words."""
    return len(slug) > 3 and re.search(rf"(?i)(?<![\w-]){re.escape(slug)}(?![\w-])", words) is not None


# Every MEMORY.md of a workspace, and the fields of IDENTITY.md and USER.md.


class OwnField(NamedTuple):
    """A field that a file has, with what stood in it until now and what stood there when the plan began."""

    file: str
    name: str
    value: str | None
    before: str | None


class MemoryFiles:
    def __init__(self, context: TidyContext, trail: Trail) -> None:
        self.context = context
        self.trail = trail
        settings, workspace = context.config.memory, context.workspace
        self.general = LongTermFile(workspace, workspace.longterm, settings)
        self.problems: list[Problem] = []  # files of projects that cannot be read are neither changed nor added to
        self._projects = {path.parent.name: self._open_project(path) for path in list_longterm(workspace)[1:]}
        self._tested: dict[str, Tested] = {}
        self._parts: dict[str, EntryParts] = {}
        self._statements: dict[str, Statement] = {}
        self._own_files: dict[str, tuple[Document, Document]] = {}

    @property
    def files(self) -> list[LongTermFile]:
        return [self.general, *(file for file in self._projects.values() if not file.closed)]

    def _open_project(self, path: Path, start: str | None = None) -> LongTermFile:
        """The file of a project; one that cannot be read, or lies elsewhere, is closed, and the others go on without it."""
        workspace, settings = self.context.workspace, self.context.config.memory
        try:
            check_place(storage_of(workspace), workspace.relative(path))
            file = LongTermFile(workspace, path, settings, start)
            _ = file.lines  # decoded now, not half-way through the plan
        except NacreError as error:
            self.problems.append(Problem("unreadable", str(error), workspace.relative(path), severity="error"))
            return LongTermFile(workspace, path, settings, start, closed=True)
        return file

    def home(self, candidate: Candidate) -> LongTermFile:
        """The file that a statement goes to: its project's, unless it is about the user."""
        slug = candidate.said.project
        if not slug or candidate.said.group or about_the_user(candidate):
            return self.general
        return self._project(slug)

    def _project(self, slug: str) -> LongTermFile:
        if slug not in self._projects:
            settings = self.context.config.memory
            start = longterm.project_template(slug, self.trail.place(slug) or slug, settings=settings)
            self._projects[slug] = self._open_project(self.context.workspace.project(slug), start)
        return self._projects[slug]

    def project_of(self, file: LongTermFile, state: EntryState | None) -> str | None:
        """The project that an entry belongs to: its file's, or the one in which it was said."""
        if file.project:
            return file.project
        source = state.source if state else {}
        sections = self.trail.of(source.get("day", "")).captured if source.get("day") else ()
        place = next((said.place for said in sections if source.get("bullet") in said.bullets), "")
        return slug_of(place.replace("\\", "/").rstrip("/").rpartition("/")[2]) if place else None

    def file(self, shown: str) -> LongTermFile:
        """The MEMORY.md of this name; a project's may have gone meanwhile."""
        parts = shown.split("/")
        if len(parts) == 3 and parts[0] == "projects" and parts[2] == "MEMORY.md" and slug_of(parts[1]) == parts[1]:
            return self._project(parts[1])
        return self.general

    def entries(self, home: LongTermFile) -> list[tuple[LongTermFile, Line, EntryParts]]:
        """Every entry that a statement for this file is compared with: all, its own file's and the general ones first."""
        files = dict.fromkeys((home, self.general, *self.files))
        rows = [(file, line) for file in files for line in file.lines if line.whole]
        new = list(dict.fromkeys(line.words for _, line in rows if line.words not in self._parts))
        self._parts |= zip(new, entry_parts(new, self.statements), strict=True)
        return [(file, line, self._parts[line.words]) for file, line in rows]

    def statements(self, texts: Sequence[str]) -> list[Statement]:
        """The texts with their meaning; entries are compared with what is new, not judged again."""
        new = list(dict.fromkeys(text for text in texts if text not in self._statements))
        if new:
            self._statements |= zip(new, self.context.judge().meant(new), strict=True)
        return [self._statements[text] for text in texts]

    def tested(self, words: str) -> Tested:
        if words not in self._tested:
            (self._tested[words],) = judge.assess_all(self.context.judge(), [words])
        return self._tested[words]

    def without_part(self, words: str, part: int | None) -> str | None:
        """An entry without one of its statements; None when nothing would be left that stands on its own."""
        split = pieces(words)
        if part is None or len(split) < 2:
            return None
        rest = [piece.text for number, piece in enumerate(split) if number != part]
        text = joined(rest, split[0].language)
        return text if self.tested(text).judged.needs_context < 0.5 else None

    def find(self, id_: str) -> tuple[LongTermFile, Line] | None:
        return next(((file, line) for file in self.files if (line := file.find(id_))), None)

    def _captured(self, said: LogLine) -> list[Captured]:
        return [section for section in self.trail.of(said.day).captured if said.mark in section.bullets]

    def is_owners(self, said: LogLine) -> bool:
        """Whether a line of a log was taken from the owner's own messages."""
        return any(said.mark not in section.agents for section in self._captured(said))

    def is_agents(self, said: LogLine) -> bool:
        """Whether it is the agent's word alone."""
        return bool(self._captured(said)) and not self.is_owners(said)

    def source(self, candidate: Candidate) -> dict[str, str]:
        said = candidate.said
        sections = self._captured(said)
        message = next(iter(sections[-1].bullets[said.mark]), "") if sections else ""
        source = {
            "day": said.day,
            "session": said.session or "",
            "bullet": said.mark,
            "message": message,
            "above": candidate.above.mark if candidate.above else "",
            "checkpoint": said.checkpoint,
        }
        return {name: value for name, value in source.items() if value}

    def set_field(self, new: Field) -> OwnField | None:
        """Set a field of IDENTITY.md or USER.md, where the file has it."""
        if new.file not in self._own_files:
            try:
                doc = open_document(self.context.workspace, self.context.workspace.root / new.file)
                if doc is None or not doc.text:
                    return None
            except NacreError:
                return None  # `doctor` reports files that cannot be read
            self._own_files[new.file] = doc, doc
        before, now = self._own_files[new.file]
        for name in new.names:
            data = set_field(now, name, new.value)
            if data is not None:
                own = OwnField(new.file, name, field_value(now, name), field_value(before, name))
                if own.value != new.value:
                    self._own_files[new.file] = before, document(now.path, data)
                return own
        return None

    def edits(self) -> Iterator[Edit]:
        for file in self.files:
            if file.doc is not None and file.doc.data != (file.before.data if file.before else None):
                yield Edit(file.path, file.before.hash if file.before else None, file.doc.data)
        for before, now in self._own_files.values():
            if now.data != before.data:
                yield Edit(now.path, before.hash, now.data)
