"""Plans of an import; notes from elsewhere: rules of agents, Claude Code's notes, folders of Markdown, another workspace."""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count, islice
from pathlib import Path
from typing import Any, NamedTuple

from nacre.clock import Clock
from nacre.config.loading import user_config_file
from nacre.config.settings import Config
from nacre.errors import BadInput, SecretRefused
from nacre.guard.sanitise import clean
from nacre.guard.secrets import redact
from nacre.i18n import say
from nacre.model.report import Step
from nacre.model.session import Kind, Session
from nacre.model.workspace import DAY_NAME, Workspace, slug_of
from nacre.sources.consent import is_left_out, opted_out, settings_of
from nacre.text.stamps import real_day
from nacre.vault import disk
from nacre.vault.discover import expand
from nacre.vault.files import LARGEST
from nacre.vault.history import operation
from nacre.vault.settings import set_key
from nacre.vault.writing import guard_added, rewrite

COMMAND = "import"
CREATE, CHANGE, CAPTURE, SET, SKIP = "create", "change", "capture", "set", "skip"


@dataclass(frozen=True)
class Write:
    """A file to be made, or changed while it is still what was read; with the time of its content, where that matters."""

    path: Path
    data: bytes
    read: str | None = None
    modified: int | None = None


@dataclass(frozen=True)
class ImportPlan:
    """Every step, also those that do nothing; what is to be written; which settings are to be set."""

    steps: tuple[Step, ...] = ()
    writes: tuple[Write, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    unreadable: tuple[str, ...] = ()

    def __add__(self, other: ImportPlan) -> ImportPlan:
        return ImportPlan(
            self.steps + other.steps,
            self.writes + other.writes,
            {**self.settings, **other.settings},
            self.unreadable + other.unreadable,
        )


@dataclass(frozen=True)
class ImportReport:
    """What was imported, or would be."""

    kind: str  # "checkpoints", "notes", "workspace", "refcount", "settings" or "export"
    origin: str
    steps: tuple[Step, ...] = ()
    unreadable: tuple[str, ...] = ()
    paused: bool = False

    @property
    def changed(self) -> int:
        """How many steps changed something."""
        return sum(step.action != SKIP for step in self.steps)

    @property
    def wrote(self) -> bool:
        """Whether files of the workspace changed, so that the index must follow."""
        return any(step.action in (CREATE, CHANGE, CAPTURE) for step in self.steps)


def apply_import(made: ImportPlan, workspace: Workspace, clock: Clock, config: Config) -> None:
    """Write everything as one operation, which one undo takes back. Settings are the user's: they lie outside of history."""
    if made.writes:
        with operation(workspace, clock, COMMAND, config) as op:
            for one in made.writes:
                # A dated note is a log, to which only ever is added: making one is the one thing allowed.
                rewrite(op, one.path, one.data, read=one.read, log=one.read is None)
                if one.modified is not None:
                    disk.keep_time(one.path, one.modified)
    for key, value in made.settings.items():
        set_key(user_config_file(os.environ), key, value)


# Reading other people's folders: Markdown files alone, no links that lead out, nothing too large; and making them
# safe.

MOST = 5000  # notes of one folder; more is a library, which is searched where it lies
_NOT_NOTES = frozenset({"node_modules", "__pycache__", "venv", "site-packages"})


class FileContent(NamedTuple):
    """What a file holds, and the time of that."""

    data: bytes
    modified: int


class Unreadable(NamedTuple):
    """Why a file is passed over. Trouble is worth another try; the others are as they should be."""

    reason: str
    trouble: bool = False


def markdown_below(folder: Path, *, leave_out: Callable[[Path], bool] = lambda _: False) -> list[Path]:
    """Every Markdown file below a folder, hidden ones and programs' own folders aside, in order."""
    found: list[Path] = []
    for path in _walk(folder, leave_out):
        found.append(path)
        if len(found) > MOST:
            raise BadInput(
                say(
                    f"{folder} holds more than {MOST} notes. Name the folder that you mean, or have it searched where it "
                    f"lies: nacre config set --user index.extra_paths '[\"{folder}\"]'",
                    f"{folder} 中的笔记超过 {MOST} 篇。请指定更具体的文件夹，或直接在原处搜索："
                    f"nacre config set --user index.extra_paths '[\"{folder}\"]'",
                )
            )
    return sorted(found)


def _walk(folder: Path, leave_out: Callable[[Path], bool]) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        here = Path(place)
        folders[:] = [name for name in folders if _is_open(name) and not leave_out(here / name)]
        for name in names:
            if name.endswith(".md") and name[0] != ".":
                yield here / name


def _is_open(name: str) -> bool:
    return name[0] != "." and name not in _NOT_NOTES


def content_of(path: Path, root: Path | None = None) -> FileContent | Unreadable:
    """The bytes of an ordinary file that lies below the root, where one is given, also once links are followed."""
    named = str(path.relative_to(root)) if root is not None and root in path.parents else path.name
    if not named.isprintable():  # a byte that is no text is not printable either
        return Unreadable(say("its name is no readable text", "文件名不是可读文本"))
    if root is not None and os.path.realpath(root) not in (str(one) for one in Path(os.path.realpath(path)).parents):
        return Unreadable(say("a link that leads elsewhere", "指向别处的链接"))
    try:
        about = path.stat()
        if not stat.S_ISREG(about.st_mode):
            return Unreadable(say("no ordinary file", "不是普通文件"))
        if about.st_size > LARGEST:
            return Unreadable(say(f"larger than {LARGEST // 1_000_000} MB", f"大于 {LARGEST // 1_000_000} MB"))
        return FileContent(path.read_bytes(), about.st_mtime_ns)
    except OSError as trouble:
        reason = trouble.strerror or str(trouble)
        return Unreadable(say(f"cannot be read: {reason}", f"无法读取：{reason}"), trouble=True)


def safe_bytes(data: bytes) -> bytes:
    """The bytes as the vault will write them: secrets blacked out, nothing unseen; where there is neither, as they are.

    Writing them changes nothing more, so that what was imported is recognised the next time.
    """
    found = redact(clean(data.decode("utf-8", errors="replace")))
    if found.findings:
        data = found.text.encode()
    try:
        return guard_added(b"", data)
    except SecretRefused:  # one that shows only where the lines between are empty
        lines = [line for line in data.decode("utf-8", errors="replace").splitlines() if line.strip()]
        return guard_added(b"", redact(clean("\n".join(lines))).text.encode() + b"\n")


def shown_path(path: Path, home: Path) -> str:
    """A path for people, with the home folder as ~; signs that cannot be shown are spelled out."""
    shown = f"~/{path.relative_to(home).as_posix()}" if home in path.parents else str(path)
    if shown.isprintable():
        return shown
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in shown)


def with_number(name: str, number: int) -> str:
    """`x.md`, `x-2.md`, `x-3.md`; a summary stays one: `x-2.gist.md`."""
    if number == 1:
        return name
    end = ".gist.md" if name.endswith(".gist.md") else ".md"
    return f"{name.removesuffix(end)}-{number}{end}"


# Notes from elsewhere: CLAUDE.md and its like, what Claude Code wrote down itself, folders of Markdown, another
# workspace.

RULE_FILES = {
    "CLAUDE.md": "claude-code",
    "CLAUDE.local.md": "claude-code",
    "AGENTS.md": "agents",
    "GEMINI.md": "gemini",
}
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


def note_of_file(path: Path) -> Note:
    """A file that was named: an agent's rules go by their project, a day of a memory/ as it is, others by their name."""
    if path.absolute().parent.name == "memory" and _is_dated(path.name):
        return Note(path, "openclaw", path.stem)
    agent = RULE_FILES.get(path.name, "notes")
    return Note(path, agent, path.absolute().parent.name if path.name in RULE_FILES else path.stem)


def notes_of_folder(folder: Path, workspace: Workspace) -> list[Note]:
    """The notes of a folder: of a project, the files that tell agents its rules; else every Markdown file in it."""
    rules = [folder / name for name in RULE_FILES if (folder / name).is_file()]
    rules += [place for place in (folder / ".claude" / "CLAUDE.md",) if place.is_file()]
    if rules:
        return [Note(path, RULE_FILES[path.name], folder.absolute().name) for path in rules]
    here = disk.real(workspace.root)
    found = markdown_below(folder, leave_out=lambda place: disk.real(place) == here)
    name = folder.absolute().name
    return [
        Note(path, "notes", f"{name}-{path.relative_to(folder).with_suffix('').as_posix()}", folder) for path in found
    ]


def notes_of_workspace(root: Path) -> list[Note]:
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


def plan_notes(notes: Iterable[Note], workspace: Workspace, clock: Clock, home: Path) -> ImportPlan:
    """What is not here yet. A text that was imported once is known by its mark, also after it was edited here."""
    made = _NotesPlan(workspace, clock, home)
    for note in notes:
        made.take(note)
    return ImportPlan(tuple(made.steps), tuple(made.writes), unreadable=tuple(made.unreadable))


class _NotesPlan:
    """The steps and writes so far, and the marks of what is here."""

    def __init__(self, workspace: Workspace, clock: Clock, home: Path) -> None:
        self.workspace = workspace
        self.clock = clock
        self.home = home
        self.steps: list[Step] = []
        self.writes: list[Write] = []
        self.unreadable: list[str] = []
        self.planned: dict[Path, bytes] = {}
        self.marks = _imported_before(workspace)

    def take(self, note: Note) -> None:
        shown = shown_path(note.path, self.home)
        if note.left_out:
            self.steps.append(Step(SKIP, shown, say("left out by your settings", "按您的设置已排除")))
            return
        content = content_of(note.path, note.root)
        if not isinstance(content, FileContent):
            self.steps.append(Step(SKIP, shown, content.reason))
            self.unreadable += [str(note.path)] if content.trouble else []
        elif not content.data.strip():
            self.steps.append(Step(SKIP, shown, say("empty", "空文件")))
        elif note.agent == "openclaw" and _is_dated(note.path.name):
            self._copy(note, safe_bytes(content.data), content.modified, shown)
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
        self._write(path, safe_bytes(text.encode().rstrip(b"\n") + b"\n"), reason, shown)

    def _origin(self, shown: str, mark: str) -> str:
        day = self.clock.today().isoformat()
        return "> " + say(f"Imported from {shown} on {day} [{mark}]", f"于 {day} 从 {shown} 导入 [{mark}]")

    def _there(self, path: Path) -> bytes | None:
        """What stands in a place or is going to; something that is no file counts as a file of its own."""
        if path in self.planned:
            return self.planned[path]
        if not os.path.lexists(path):
            return None
        return (disk.read_bytes(path) or b"") if path.is_file() else b""

    def _write(self, path: Path, data: bytes, reason: str, shown: str, modified: int | None = None) -> None:
        self.planned[path] = data
        self.writes.append(Write(path, data, modified=modified))
        self.steps.append(Step(CREATE, self.workspace.relative(path), reason, shown))


def _imported_before(workspace: Workspace) -> dict[str, Path]:
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


# Where agents keep what they were told to remember: Claude Code's notes, and the rules of the others.

CLAUDE = "claude-code"
AGENTS_WITH_NOTES = (CLAUDE, "codex", "gemini", "opencode")
_OTHERS = {  # the variable that moves the folder, the folder, what is read in it
    "codex": ("CODEX_HOME", ".codex", "AGENTS.md"),
    "gemini": ("", ".gemini", "GEMINI.md"),
    "opencode": ("", ".config/opencode", "AGENTS.md"),
}
_OTHER_LETTER = re.compile(r"[^A-Za-z0-9]")


def notes_of_agent(agent: str, config: Config, env: Mapping[str, str], home: Path) -> list[Note]:
    """The notes of an agent on this machine; none where it has none."""
    if agent == CLAUDE:
        return _claude(config, env, home)
    variable, usual, name = _OTHERS[agent]
    named = env.get(variable, "") if variable else ""
    path = (expand(named, home) if named else home / usual) / name
    return [Note(path, agent, "user")] if path.is_file() else []


def _claude(config: Config, env: Mapping[str, str], home: Path) -> list[Note]:
    named = env.get("CLAUDE_CONFIG_DIR")
    root = expand(named, home) if named else home / ".claude"
    own = root / "CLAUDE.md"
    found = [Note(own, CLAUDE, "user")] if own.is_file() else []
    patterns = settings_of(config, CLAUDE).exclude
    for folder in sorted((root / "projects").glob("*/memory")):
        notes = sorted(folder.glob("*.md"))
        if not notes:
            continue
        project = folder.parent
        left_out = _is_left_out(project, patterns)
        slug = project.name.removeprefix(_folder_code(str(home))).strip("-") or project.name
        found += [Note(path, CLAUDE, f"{slug}-{path.stem}", root, left_out) for path in notes]
    return found


def _is_left_out(project: Path, patterns: list[str]) -> bool:
    """Whether the talks of a project are left out: then so are the notes that were taken of them.

    Which folder it is, its transcripts tell; without one only the name is known, in which every sign is a "-".
    """
    if cwd := _folder_of(project):
        return opted_out(cwd) or is_left_out(Session("", CLAUDE, Kind.MAIN, None, (), cwd=cwd), patterns)
    wanted = [_folder_code(os.path.expanduser(pattern).rstrip("/")).casefold() for pattern in patterns]
    name = project.name.casefold()
    return any(one and (name == one or name.endswith("-" + one.strip("-"))) for one in wanted)


def _folder_of(project: Path) -> str:
    for transcript in sorted(project.glob("*.jsonl")):
        try:
            with transcript.open(encoding="utf-8", errors="replace") as file:
                for line in islice(file, 50):
                    if '"cwd"' in line and (cwd := _cwd_in(line)):
                        return cwd
        except OSError:
            continue
    return ""


def _cwd_in(line: str) -> str:
    try:
        told = json.loads(line)
    except (ValueError, RecursionError):
        return ""
    cwd = told.get("cwd") if isinstance(told, dict) else None
    return cwd if isinstance(cwd, str) else ""


def _folder_code(path: str) -> str:
    """A path as Claude Code names its project folders."""
    return _OTHER_LETTER.sub("-", path)
