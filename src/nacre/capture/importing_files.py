"""What an import of files would write: notes of agents and folders, another workspace, checkpoints and their counts."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from nacre import disk
from nacre.config.settings import Config
from nacre.errors import BadInput, SecretRefused
from nacre.guard.sanitise import clean
from nacre.guard.secrets import redact
from nacre.i18n import say
from nacre.model import DAY_NAME, Context, Step, slug_of
from nacre.sources import claude
from nacre.sources.registry import is_left_out, opted_out, settings_of
from nacre.sources.transcript import Places, list_files, parse_time
from nacre.text.blocks import real_day
from nacre.vault.checkpoints import list_checkpoints
from nacre.vault.refcount import COUNTS, FIELDS, FLAGS, REFCOUNT_NAME, dump_counts, parse_counts
from nacre.vault.storage import LARGEST, TIERS, names, read, read_memory, storage_of
from nacre.vault.writing import guard_added

CREATE, CHANGE, CAPTURE, SET, SKIP = "create", "change", "capture", "set", "skip"
MOST = 5000  # notes of one folder; more is a library, which is searched where it lies
_NOT_NOTES = frozenset({"node_modules", "__pycache__", "venv", "site-packages"})


class Write(NamedTuple):
    """New content for a file; `read` is the hash of what it replaces, `modified` the time to give the file."""

    data: bytes
    read: str | None = None
    modified: int | None = None


@dataclass
class ImportPlan:
    """What an import would do: every step, including skipped ones, the files to write and the settings to set."""

    context: Context
    home: Path
    steps: list[Step] = field(default_factory=list)
    writes: dict[Path, Write] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    unreadable: list[str] = field(default_factory=list)

    def skip(self, path: str | Path, reason: str, detail: str = "") -> None:
        shown = path if isinstance(path, str) else self.context.workspace.relative(path)
        self.steps.append(Step(SKIP, shown, reason, detail))

    def write(self, path: Path, write: Write, reason: str, detail: str) -> None:
        self.writes[path] = write
        action = CREATE if write.read is None else CHANGE
        self.steps.append(Step(action, self.context.workspace.relative(path), reason, detail))

    def bytes_at(self, path: Path) -> bytes | None:
        """The bytes that a file has or will have; empty for something that is no file, None for nothing."""
        workspace = self.context.workspace
        stored = storage_of(workspace).about(workspace.relative(path))
        if path in self.writes or not stored:
            return self.writes[path].data if path in self.writes else None
        return (read(workspace, path) or b"") if stored.is_plain else b""

    def read(self, path: Path, root: Path | None) -> tuple[bytes, int] | None:
        """The bytes and the time of a regular file below the root; None, with a step that says why, where it is skipped."""
        try:
            about = path.stat()
            if not str(path.relative_to(root or path.parent)).isprintable():  # nor is a byte that is no text
                why_not = say("its name is not valid text", "文件名无法识别")
            elif root and Path(os.path.realpath(root)) not in Path(os.path.realpath(path)).parents:
                why_not = say("a link that points elsewhere", "指向别处的链接")
            elif not stat.S_ISREG(about.st_mode):
                why_not = say("not a regular file", "不是普通文件")
            elif about.st_size > LARGEST:
                why_not = say(f"larger than {LARGEST // 1_000_000} MB", f"超过 {LARGEST // 1000000} MB")
            else:
                return path.read_bytes(), about.st_mtime_ns
        except OSError as error:
            reason = error.strerror or str(error)
            why_not = say(f"cannot be read: {reason}", f"无法读取：{reason}")
            self.unreadable.append(str(path))
        self.skip(shown_path(path, self.home), why_not)
        return None


def safe_bytes(data: bytes) -> bytes:
    """The bytes as the vault will write them, so that what was imported is recognised the next time."""
    redacted = redact(clean(data.decode("utf-8", errors="replace")))
    if redacted.findings:
        data = redacted.text.encode()
    try:
        return guard_added(b"", data)
    except SecretRefused:  # one that shows only where the lines between are empty
        lines = [line for line in data.decode("utf-8", errors="replace").splitlines() if line.strip()]
        return guard_added(b"", redact(clean("\n".join(lines))).text.encode() + b"\n")


def shown_path(path: Path, home: Path) -> str:
    """A path as shown to people: the home folder as ~, unprintable characters escaped."""
    shown = f"~/{path.relative_to(home).as_posix()}" if home in path.parents else str(path)
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in shown)


def with_number(name: str, number: int) -> str:
    """`x.md`, `x-2.md`, `x-3.md`; a summary stays one: `x-2.gist.md`."""
    if number == 1:
        return name
    end = ".gist.md" if name.endswith(".gist.md") else ".md"
    return f"{name.removesuffix(end)}-{number}{end}"


# Notes: CLAUDE.md and its like, what Claude Code wrote down itself, folders of Markdown, another workspace.

CLAUDE = "claude-code"
RULE_FILES = {"CLAUDE.md": CLAUDE, "CLAUDE.local.md": CLAUDE, "AGENTS.md": "agents", "GEMINI.md": "gemini"}
RULES_OF_AGENTS = {  # what is read in the folder of each
    CLAUDE: "CLAUDE.md",
    "codex": "AGENTS.md",
    "gemini": "GEMINI.md",
    "opencode": "AGENTS.md",
}
_LONGEST = 120  # bytes of a slug; a name of 255 is the most that file systems take
_MARK = re.compile(rb"\A> [^\n]*\[([0-9a-f]{12})\]")
_FRONT = re.compile(r"\A---[ \t]*\n(.*?)\n---[ \t]*(?:\n|\Z)", re.DOTALL)


class Note(NamedTuple):
    """A file to be imported: as a note named for its origin, or under its own name where that is a date."""

    path: Path
    agent: str
    slug: str
    root: Path | None = None  # links must not lead out of it
    left_out: bool = False


def notes_at(path: Path, own_root: Path) -> list[Note]:
    """The notes of a file or folder: a project's rules for agents, or else every Markdown file that is not hidden."""
    if not path.is_dir():
        folder = path.absolute().parent.name
        if folder == "memory" and _is_dated(path.name):
            return [Note(path, "openclaw", path.stem)]
        return [Note(path, RULE_FILES.get(path.name, "notes"), folder if path.name in RULE_FILES else path.stem)]
    name = path.absolute().name
    if rules := rules_in(path):
        return [Note(file, RULE_FILES[file.name], name) for file in rules]
    here = disk.real(own_root)

    def is_hidden(file: Path) -> bool:
        return any(part[0] == "." or part in _NOT_NOTES for part in file.relative_to(path).parts)

    markdown = (file for file in sorted(path.rglob("*.md")) if not is_hidden(file))
    paths = [file for file in markdown if here not in disk.real(file).parents]
    if len(paths) > MOST:
        raise BadInput(
            f"{path} contains more than {MOST} notes. Choose a smaller folder, or search it in "
            f"place: nacre config set --user index.extra_paths '[\"{path}\"]'",
            f"{path} 中的笔记超过 {MOST} 篇。请指定更具体的文件夹，或不导入、直接搜索该文件夹："
            f"nacre config set --user index.extra_paths '[\"{path}\"]'",
        )
    stems = {file: file.relative_to(path).with_suffix("").as_posix() for file in paths}
    return [Note(file, "notes", f"{name}-{stem}", path) for file, stem in stems.items()]


def rules_in(folder: Path) -> list[Path]:
    return [path for name in (*RULE_FILES, ".claude/CLAUDE.md") if (path := folder / name).is_file()]


def notes_of_workspace(root: Path) -> list[Note]:
    """The memory of another workspace: its long-term memory, and what lies directly in memory/."""
    memory = root / "memory" if (root / "memory").is_dir() else root
    named = [root / name for name in ("MEMORY.md", "USER.md") if (root / name).is_file()]
    paths = [path for path in sorted(memory.glob("*.md")) if path.name != "review.md" and path.name[0] != "."]
    name = root.absolute().name
    return [Note(path, "openclaw", f"{name}-{path.stem}", root) for path in dict.fromkeys((*named, *paths))]


def notes_of_agent(agent: str, config: Config, env: Mapping[str, str], home: Path) -> list[Note]:
    """The notes of an agent on this machine; none where it has none."""
    root = home / ".config" / "opencode" if agent == "opencode" else Places(home, env).root(agent)
    rules = root / RULES_OF_AGENTS[agent]
    notes = [Note(rules, agent, "user")] if rules.is_file() else []
    if agent != CLAUDE:
        return notes
    patterns = settings_of(config, CLAUDE).exclude
    for folder in sorted((root / "projects").glob("*/memory")):
        if paths := sorted(folder.glob("*.md")):
            project = folder.parent
            left_out = _is_left_out(project, patterns)
            slug = project.name.removeprefix(_folder_code(str(home))).strip("-") or project.name
            notes += [Note(path, CLAUDE, f"{slug}-{path.stem}", root, left_out) for path in paths]
    return notes


def _is_left_out(project: Path, patterns: list[str]) -> bool:
    """Whether the user excluded the sessions of a Claude Code project: by its folder, or if no transcript names it, by the encoded name."""
    for transcript in list_files(CLAUDE, sorted(project.glob("*.jsonl"))):
        with suppress(OSError):
            session = claude.read(transcript, None, None).session
            if session and session.cwd:
                return opted_out(session.cwd) or is_left_out(session, patterns)
    codes = [_folder_code(os.path.expanduser(pattern).rstrip("/")).casefold() for pattern in patterns]
    name = project.name.casefold()
    return any(code and (name == code or name.endswith("-" + code.strip("-"))) for code in codes)


def _folder_code(path: str) -> str:
    return re.sub(r"[^A-Za-z0-9]", "-", path)


def is_workspace(folder: Path) -> bool:
    """Whether a folder is a workspace, or the memory/ of one, recognised by its dated files."""
    if (folder / "MEMORY.md").is_file() and (folder / "memory").is_dir():
        return True
    memory = folder if folder.name == "memory" else folder / "memory"
    return memory.is_dir() and any(_is_dated(path.name) for path in memory.glob("????-??-??*.md"))


def _is_dated(name: str) -> bool:
    dated = DAY_NAME.fullmatch(name)
    return bool(dated and real_day(dated[1]))


def plan_notes(plan: ImportPlan, notes: Iterable[Note]) -> None:
    """Plan the notes that are not imported yet. An imported text is recognised by its mark, even after it was edited here."""
    workspace = plan.context.workspace
    marks: dict[str, Path] = {}
    for path in (workspace.root / name for name in names(workspace, workspace.memory, ".md")):
        if path.name.startswith("imported-") and (mark_line := _MARK.match(read_memory(workspace, path))):
            marks[mark_line[1].decode()] = path
    renamed = say("a different file with that name already exists and is kept", "已有内容不同的同名文件，保留原文件")
    for note in notes:
        shown = shown_path(note.path, plan.home)
        if note.left_out:
            plan.skip(shown, say("excluded by your settings", "已被你的设置排除"))
            continue
        content = plan.read(note.path, note.root)
        if content is None:
            continue
        data, modified = content
        mark = hashlib.blake2b(data, digest_size=6).hexdigest()
        if not data.strip():
            plan.skip(shown, say("empty", "空文件"))
        elif note.agent == "openclaw" and _is_dated(note.path.name):
            # A dated file stays as it is. One that has grown since it was copied is the same.
            data = safe_bytes(data)
            paths = _numbered(workspace.memory, note.path.name)
            path = next(path for path in paths if (before := plan.bytes_at(path)) is None or before.startswith(data))
            if before is None:
                reason = say("a dated note", "带日期的笔记") if path.name == note.path.name else renamed
                plan.write(path, Write(data, modified=modified), reason, shown)
            else:
                plan.skip(path, say("already in the workspace", "工作区中已有相同内容"), shown)
        elif mark in marks:
            plan.skip(marks[mark], say("the same text has already been imported", "相同内容已导入过"), shown)
        else:
            slug = slug_of(note.slug).encode()[:_LONGEST].decode("utf-8", errors="ignore").strip("-_") or "unnamed"
            name = f"imported-{note.agent}-{slug}.md"
            path = next(path for path in _numbered(workspace.memory, name) if plan.bytes_at(path) is None)
            day = plan.context.clock.today().isoformat()
            origin = say(f"Imported from {shown} on {day} [{mark}]", f"于 {day} 从 {shown} 导入 [{mark}]")
            text = data.decode("utf-8", errors="replace").replace("\r\n", "\n").removeprefix("\ufeff")
            # Frontmatter means something at the top of a file only; below our first line it is shown as what it is.
            if (front := _FRONT.match(text)) and "```" not in front[1]:
                text = f"```yaml\n{front[1]}\n```\n{text[front.end() :]}"
            marks[mark] = path
            reason = say("not in the workspace yet", "工作区中还没有") if path.name == name else renamed
            plan.write(path, Write(safe_bytes(f"> {origin}\n\n{text}".encode().rstrip(b"\n") + b"\n")), reason, shown)


def _numbered(folder: Path, name: str) -> Iterator[Path]:
    return (folder / with_number(name, number) for number in count(1))


# A memory_fs from elsewhere: each checkpoint into the same layer.

LAYERS_NAME = "memory_fs"


def layers_in(folder: Path) -> Path | None:
    """The folder that holds the layers: this one, or memory_fs in it."""
    for place in (folder, folder / LAYERS_NAME):
        if any((place / layer).is_dir() for layer in TIERS):
            return place
    return None


def plan_checkpoints(plan: ImportPlan, layers: Path) -> None:
    """Plan the checkpoints that are not here yet, then their counts. Existing files of the same name are kept."""
    workspace, tiers = plan.context.workspace, plan.context.config.tiers.path
    target = workspace.tiers(tiers)
    # The same content is recognised in whichever layer it lies: checkpoints move between them.
    here = {read(workspace, each.path): each.path for each in list_checkpoints(workspace, plan.context.config)}
    renamed: dict[str, str] = {}
    families: dict[str, list[tuple[str, str, Write, str]]] = {}  # `x.md` in warm and gist, `x.gist.md` in hot
    for layer in TIERS:
        for path in sorted((layers / layer).rglob("*")):
            name = path.relative_to(layers / layer).as_posix()
            shown = shown_path(path, plan.home)
            if path.is_dir() or "/." in f"/{name}":
                continue
            if not name.endswith(".md"):
                plan.skip(shown, say("not Markdown", "不是 Markdown"))
            elif content := plan.read(path, layers):
                write = Write(safe_bytes(content[0]), modified=content[1])
                if same := here.get(write.data):
                    renamed[f"{layer}/{name}"] = same.relative_to(target).as_posix()
                    plan.skip(same, say("already in the workspace", "工作区中已有相同内容"), shown)
                else:
                    family = families.setdefault(name.removesuffix(".gist.md").removesuffix(".md"), [])
                    family.append((layer, name, write, shown))
    for family in families.values():
        number = 1
        while any(plan.bytes_at(target / layer / with_number(name, number)) is not None for layer, name, *_ in family):
            number += 1
        reason = say("not in the workspace yet", "工作区中还没有")
        if number > 1:
            reason = say("a different file with the same name already exists", "已有内容不同的同名文件")
        for layer, name, write, shown in family:
            renamed[f"{layer}/{name}"] = f"{layer}/{with_number(name, number)}"
            plan.write(target / layer / with_number(name, number), write, reason, shown)
    places = (layers, layers.parent, layers.parent.parent)
    counts = next((file for place in places if (file := place / REFCOUNT_NAME).is_file()), None)
    if counts and disk.real(counts) != disk.real(workspace.refcount(tiers)):
        try:
            plan_refcount(plan, counts, renamed)
        except BadInput as error:
            plan.skip(shown_path(counts, plan.home), str(error))
            plan.unreadable.append(str(counts))


def plan_refcount(plan: ImportPlan, path: Path, renamed: Mapping[str, str]) -> None:
    """Plan the merge of a refcount.json into the workspace's; `renamed` maps its places to the names that checkpoints have here."""
    content = plan.read(path, None)
    if content is None:
        raise BadInput(f"{path}: {plan.steps.pop().reason}")
    theirs = parse_counts(path, content[0])
    if theirs and not any(isinstance(entry, dict) and FIELDS & entry.keys() for entry in theirs.values()):
        raise BadInput(
            f"{path} is not a refcount.json: it should contain counts by checkpoint, such as "
            '{"warm/x.md": {"total": 5, "timestamps": []}}.',
            f'{path} 不是 refcount.json：应按检查点记录次数，例如 {{"warm/x.md": {{"total": 5, "timestamps": []}}}}。',
        )
    target = plan.context.workspace.refcount(plan.context.config.tiers.path)
    before = read(plan.context.workspace, target)
    ours = {} if before is None else parse_counts(target, before)
    after = merge_counts(ours, {renamed.get(key, key): value for key, value in theirs.items()})
    shown = shown_path(path, plan.home)
    if after == ours:
        return plan.skip(target, say("all counts are already recorded", "所有次数都已记录"), shown)
    changed = sum(ours.get(key) != value for key, value in after.items())
    reason = say(f"recall counts of {changed} checkpoint{'' if changed == 1 else 's'}", f"{changed} 个检查点的召回次数")
    return plan.write(target, Write(dump_counts(after), disk.hash_of(before)), reason, shown)


def merge_counts(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> dict[str, Any]:
    """The counts of both files: the larger number of each, every time of a recall once. Merging again changes nothing."""
    after = dict(ours)
    for key, entry in theirs.items():
        ours_of_key = after.setdefault(key, entry)
        if isinstance(ours_of_key, dict) and isinstance(entry, dict):
            after[key] = _merge_entry(ours_of_key, entry)
    return after


def _merge_entry(ours: dict[str, Any], theirs: dict[str, Any]) -> dict[str, Any]:
    merged = theirs | ours
    for name in (*COUNTS, *FLAGS):
        if values := [entry[name] for entry in (ours, theirs) if isinstance(entry.get(name), bool | int | float)]:
            merged[name] = max(values)
    mine, other = ours.get("timestamps"), theirs.get("timestamps")
    if isinstance(mine, list) and isinstance(other, list) and (new := [value for value in other if value not in mine]):
        times = {str(value): parse_time(value) for value in (*mine, *new)}
        is_sortable = all(times.values())
        merged["timestamps"] = sorted((*mine, *new), key=lambda value: str(times[str(value)]) if is_sortable else "")
    return merged
