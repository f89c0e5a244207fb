"""Notes from elsewhere: CLAUDE.md and its like, what Claude Code wrote down itself, folders of Markdown, another workspace."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable
from itertools import count
from pathlib import Path
from typing import NamedTuple

from nacre.capture.imports.files import Content, content_of, markdown_below, safe, shown_path, with_number
from nacre.capture.imports.plan import CREATE, SKIP, ImportPlan, Write
from nacre.clock import Clock
from nacre.model.plan import Step
from nacre.text.stamps import real_day
from nacre.vault import atomic
from nacre.vault.workspace import DAY_NAME, Workspace, slug_of
from nacre.words import say

AGENTS = {"CLAUDE.md": "claude-code", "CLAUDE.local.md": "claude-code", "AGENTS.md": "agents", "GEMINI.md": "gemini"}
_LONGEST = 120  # bytes of a slug; a name of 255 is the most that file systems take
_MARK = re.compile(rb"\A> [^\n]*\[([0-9a-f]{12})\]")
_FRONT = re.compile(r"\A\ufeff?---[ \t]*\n(.*?)\n---[ \t]*(?:\n|\Z)", re.DOTALL)


class Note(NamedTuple):
    """A file to be taken in: as a note named for where it came from, or under its own name where that is a day."""

    path: Path
    agent: str
    slug: str
    root: Path | None = None  # links must not lead out of it
    left_out: bool = False


def of_file(path: Path) -> Note:
    """A file that was named: an agent's rules go by their project, a day of a memory/ as it is, others by their name."""
    if path.absolute().parent.name == "memory" and _is_dated(path.name):
        return Note(path, "openclaw", path.stem)
    agent = AGENTS.get(path.name, "notes")
    return Note(path, agent, path.absolute().parent.name if path.name in AGENTS else path.stem)


def of_folder(folder: Path, workspace: Workspace) -> list[Note]:
    """The notes of a folder: of a project, the files that tell agents its rules; else every Markdown file in it."""
    rules = [folder / name for name in AGENTS if (folder / name).is_file()]
    rules += [place for place in (folder / ".claude" / "CLAUDE.md",) if place.is_file()]
    if rules:
        return [Note(path, AGENTS[path.name], folder.absolute().name) for path in rules]
    here = atomic.real(workspace.root)
    found = markdown_below(folder, leave_out=lambda place: atomic.real(place) == here)
    name = folder.absolute().name
    return [
        Note(path, "notes", f"{name}-{path.relative_to(folder).with_suffix('').as_posix()}", folder) for path in found
    ]


def of_workspace(root: Path) -> list[Note]:
    """The memory of another workspace: its long-term memory, and what lies directly in memory/."""
    memory = root / "memory" if (root / "memory").is_dir() else root
    named = [root / name for name in ("MEMORY.md", "USER.md") if (root / name).is_file()]
    found = [path for path in sorted(memory.glob("*.md")) if path.name != "review.md" and path.name[0] != "."]
    name = root.absolute().name
    notes = {path: Note(path, "openclaw", f"{name}-{path.stem}", root) for path in (*named, *found)}
    return list(notes.values())


def is_workspace(folder: Path) -> bool:
    """Whether a folder is a workspace, or the memory/ of one: dated files tell."""
    if (folder / "MEMORY.md").is_file() and (folder / "memory").is_dir():
        return True
    memory = folder if folder.name == "memory" else folder / "memory"
    return memory.is_dir() and any(_is_dated(path.name) for path in memory.glob("????-??-??*.md"))


def _is_dated(name: str) -> bool:
    found = DAY_NAME.fullmatch(name)
    return bool(found and real_day(found[1]))


def plan(notes: Iterable[Note], workspace: Workspace, clock: Clock, home: Path) -> ImportPlan:
    """What is not here yet. A text that was imported once is known by its mark, also after it was edited here."""
    made = _Making(workspace, clock, home)
    for note in notes:
        made.take(note)
    return ImportPlan(tuple(made.steps), tuple(made.writes), unreadable=tuple(made.unreadable))


class _Making:
    """The steps and writes so far, and the marks of what is here."""

    def __init__(self, workspace: Workspace, clock: Clock, home: Path) -> None:
        self.workspace = workspace
        self.clock = clock
        self.home = home
        self.steps: list[Step] = []
        self.writes: list[Write] = []
        self.unreadable: list[str] = []
        self.planned: dict[Path, bytes] = {}
        self.marks = _marks(workspace)

    def take(self, note: Note) -> None:
        shown = shown_path(note.path, self.home)
        if note.left_out:
            self.steps.append(Step(SKIP, shown, say("left out by your settings", "按您的设置已排除")))
            return
        content = content_of(note.path, note.root)
        if not isinstance(content, Content):
            self.steps.append(Step(SKIP, shown, content.reason))
            self.unreadable += [str(note.path)] if content.trouble else []
        elif not content.data.strip():
            self.steps.append(Step(SKIP, shown, say("empty", "空文件")))
        elif note.agent == "openclaw" and _is_dated(note.path.name):
            self._copy(note, safe(content.data), content.modified, shown)
        else:
            self._note(note, content.data, shown)

    def _copy(self, note: Note, data: bytes, modified: int, shown: str) -> None:
        """A dated file as it is. One that has grown since it was copied is the same."""
        for number in count(1):
            path = self.workspace.memory / with_number(note.path.name, number)
            there = self._there(path)
            if there is None:
                reason = _renamed() if number > 1 else say("a dated note", "带日期的笔记")
                self._write(path, data, reason, shown, modified)
                return
            if there.startswith(data):
                same = say("the same is here already", "相同内容已存在")
                self.steps.append(Step(SKIP, self.workspace.relative(path), same, shown))
                return

    def _note(self, note: Note, data: bytes, shown: str) -> None:
        mark = hashlib.blake2b(data, digest_size=6).hexdigest()
        if mark in self.marks:
            same = say("the same text was imported before", "相同内容之前已导入")
            self.steps.append(Step(SKIP, self.workspace.relative(self.marks[mark]), same, shown))
            return
        name = f"imported-{note.agent}-{_shortened(slug_of(note.slug))}.md"
        paths = (self.workspace.memory / with_number(name, number) for number in count(1))
        path = next(path for path in paths if self._there(path) is None)
        text = f"{self._origin(shown, mark)}\n\n{_without_front(data.decode('utf-8', errors='replace'))}"
        reason = say("not here yet", "此处尚无") if path.name == name else _renamed()
        self.marks[mark] = path
        self._write(path, safe(text.encode().rstrip(b"\n") + b"\n"), reason, shown)

    def _origin(self, shown: str, mark: str) -> str:
        day = self.clock.today().isoformat()
        return "> " + say(f"Imported from {shown} on {day} [{mark}]", f"于 {day} 从 {shown} 导入 [{mark}]")

    def _there(self, path: Path) -> bytes | None:
        """What stands in a place or is going to; something that is no file counts as a file of its own."""
        if path in self.planned:
            return self.planned[path]
        if not os.path.lexists(path):
            return None
        return (atomic.read_bytes(path) or b"") if path.is_file() else b""

    def _write(self, path: Path, data: bytes, reason: str, shown: str, modified: int | None = None) -> None:
        self.planned[path] = data
        self.writes.append(Write(path, data, modified=modified))
        self.steps.append(Step(CREATE, self.workspace.relative(path), reason, shown))


def _marks(workspace: Workspace) -> dict[str, Path]:
    """The texts that were imported before, by the mark in the first line of each."""
    found: dict[str, Path] = {}
    for path in sorted(workspace.memory.glob("imported-*.md")):
        try:
            with path.open("rb") as file:
                mark = _MARK.match(file.read(4096))
        except OSError:
            continue
        if mark:
            found[mark[1].decode()] = path
    return found


def _renamed() -> str:
    return say("another content goes by its name here, which stays", "此处同名文件内容不同，原文件保留")


def _shortened(slug: str) -> str:
    return slug.encode()[:_LONGEST].decode("utf-8", errors="ignore").strip("-_") or "unnamed"


def _without_front(text: str) -> str:
    """Frontmatter means something at the top of a file only; below our first line it is shown as what it is."""
    text = text.replace("\r\n", "\n")
    front = _FRONT.match(text)
    if not front or "```" in front[1]:
        return text.removeprefix("\ufeff")
    return f"```yaml\n{front[1]}\n```\n{text[front.end() :]}"
