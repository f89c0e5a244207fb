"""MEMORY.md, the global one and each project's: its entries, and additions planned first and applied through one door; lessons of skills."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from nacre.clock import Clock
from nacre.config.settings import Config, MemorySettings
from nacre.errors import BadInput, PathEscape
from nacre.i18n import say
from nacre.model.report import Plan, Step
from nacre.model.workspace import Workspace
from nacre.vault import disk, writing
from nacre.vault.entries import words_of
from nacre.vault.history import CREATE, Change, Operation, operation
from nacre.vault.markdown import Document, Item, Section, add_bullet, add_section, document, open_document, plain_title
from nacre.vault.writing import expect, guarded, rewrite

SECTIONS = ("User Preferences", "Active Projects", "Key Decisions", "Important Contacts")

HOME = {  # where each type goes when the file has no section of the user's own for it
    "PREF": "User Preferences",
    "PROJ": "Active Projects",
    "TECH": "Key Decisions",
    "LESSON": "Key Decisions",
    "DECISION": "Key Decisions",
    "PEOPLE": "Important Contacts",
}
_FITTING = {  # headings that users give such sections themselves, best first
    "PREF": ("user preferences", "preferences", "my preferences", "用户偏好", "偏好", "偏好设置", "个人偏好"),
    "PROJ": ("active projects", "projects", "current projects", "进行中的项目", "活跃项目", "当前项目", "项目"),
    "TECH": ("tech", "technical", "technical notes", "tech stack", "技术", "技术栈", "技术要点"),
    "LESSON": ("lessons", "lessons learned", "lessons learnt", "经验教训", "教训", "经验"),
    "DECISION": ("key decisions", "decisions", "关键决策", "重要决策", "重要决定", "决策"),
    "PEOPLE": ("important contacts", "contacts", "people", "重要联系人", "联系人", "人物", "人员"),
}


@dataclass(frozen=True)
class LongTerm:
    """A MEMORY.md as read."""

    document: Document
    sections: tuple[Section, ...]
    entries: tuple[Item, ...]
    size: writing.Size
    over: bool


@dataclass(frozen=True)
class Edit:
    """New bytes for a file that must still be what was read. `line` is where an added entry will stand."""

    path: Path
    read: str | None
    data: bytes
    plan: Plan
    section: str = ""
    line: int | None = None


def template(settings: MemorySettings | None = None) -> str:
    return _template(settings, "# Long-Term Memory", [])


def project_template(
    slug: str, place: str, repository: str | None = None, settings: MemorySettings | None = None
) -> str:
    """A project's MEMORY.md, which names its path and repository first."""
    named = [f"> Project: {place}", *([f"> Repository: {repository}"] if repository else [])]
    return _template(settings, f"# Long-Term Memory: {slug}", named)


def _template(settings: MemorySettings | None, title: str, named: list[str]) -> str:
    settings = settings or MemorySettings()
    size = f"{settings.max_bytes // 1024}KB" if settings.max_bytes % 1024 == 0 else f"{settings.max_bytes} bytes"
    rules = [
        "> Only write info here that you'd make mistakes without.",
        "> Event logs stay in daily files.",
        f"> Hard limit: {settings.max_lines} lines / {size}. Must compress before adding when over limit.",
    ]
    lines = [title, "", *named, *rules]
    for section in SECTIONS:
        lines += ["", f"## {section}"]
    return "\n".join(lines) + "\n"


def read_longterm(path: Path, settings: MemorySettings | None = None) -> LongTerm | None:
    """The file's sections and entries with their exact lines; None when there is no file."""
    doc = open_document(path)
    if doc is None:
        return None
    size = writing.size_of(doc.data)
    return LongTerm(doc, doc.sections, doc.entries, size, size.over(settings or MemorySettings()))


def section_for(doc: Document, type: str | None) -> str:  # noqa: A002 - the word users know
    """The section that an entry of this type goes to: a fitting one of the user's own, else the template's."""
    kind = (type or "DECISION").upper()
    if kind not in HOME:
        raise BadInput(
            say(
                f'Entries of the type "{type}" do not belong in MEMORY.md.',
                f"类型为“{type}”的条目不属于 MEMORY.md。",
            )
        )
    titles = {plain_title(section.title): section.title for section in reversed(doc.sections) if section.level}
    for wanted in _FITTING[kind]:
        if wanted in titles:
            return titles[wanted]
    home = HOME[kind]
    if kind in ("TECH", "LESSON"):
        return next((titles[wanted] for wanted in _FITTING["DECISION"] if wanted in titles), home)
    return home


def plan_add(
    workspace: Workspace,
    path: Path,
    doc: Document | None,
    text: str,
    *,
    type: str | None = None,  # noqa: A002
    section: str | None = None,
    settings: MemorySettings | None = None,
    start: str | None = None,
) -> Edit:
    """What adding an entry would do; touches nothing. What the file says already is not added again.

    A missing file begins with `start`, by default the template. Raises `MemoryFull` and `SecretRefused`.
    """
    from nacre.guard.sanitise import one_line

    settings = settings or MemorySettings()
    words = one_line(guarded(text)).strip()
    if not words:
        raise BadInput(say("There is nothing to add: the text is empty.", "没有可添加的内容：文本为空。"))
    begun = doc or document(path, (start or template(settings)).encode())
    title = section or section_for(begun, type)
    shown = workspace.relative(path)
    if doc and (known := _same(doc, words)):
        return Edit(path, doc.hash, doc.data, Plan(), known.section, known.start)
    found = next((one for one in begun.sections if one.level and plain_title(one.title) == plain_title(title)), None)
    data = add_bullet(begun, found, words) if found else add_section(begun, title, [words])
    writing.check_limits(workspace, path, doc.data if doc else None, data, settings)
    added = _same(document(path, data), words)
    reason = say(f"new entry under “{title}”", f"在“{title}”下新增条目")
    return Edit(
        path,
        doc.hash if doc else None,
        data,
        Plan((Step("add", shown, reason, words),)),
        title,
        added.start if added else None,
    )


def apply_edit(
    workspace: Workspace, clock: Clock, edit: Edit, config: Config | None = None, command: str = "admit"
) -> str:
    """Back the file up for the day, then write it; returns the new hash. Does nothing for an empty plan."""
    with operation(workspace, clock, command, config) as op:
        before = expect(workspace, edit.path, edit.read)
        if before == edit.data:
            return disk.digest(edit.data)
        if before is not None:
            _back_up(op, edit.path, before)
        return rewrite(op, edit.path, edit.data, read=edit.read)


def backup_path(workspace: Workspace, path: Path, clock: Clock, *, second: bool = False) -> Path:
    """Where the day's backup of a MEMORY.md lies; a project's carries its name in front."""
    slug = "" if path.parent == workspace.root else f"{path.parent.name}."
    now = clock.now()
    stamp = f"{now:%Y-%m-%d-%H%M%S}" if second else f"{now:%Y-%m-%d}"
    return workspace.archive / f"{slug}MEMORY.md.bak-{stamp}"


def _back_up(op: Operation, path: Path, before: bytes) -> None:
    for second in (False, True):
        place = backup_path(op.workspace, path, op.clock, second=second)
        stored = disk.read_bytes(place)
        if stored == before:
            return
        if stored is None:
            op.place(place)
            op.record([Change(op.workspace.relative(place), CREATE, None, disk.digest(before))], [before])
            disk.write(place, before, mode=stat.S_IMODE(path.stat().st_mode))
            return


def _same(doc: Document, words: str) -> Item | None:
    for item in doc.items:
        if item.words == words or item.text.strip() == words:
            return item
    return None


# Lessons of a skill: `skills/<skill>/docs/retrospect.md` in the workspace, where the agent that uses the skill looks.

_SHORTEST = 3  # characters of a name that can be looked for in a text


def list_skills(workspace: Workspace) -> list[str]:
    """The skills of a workspace by their folders: those that have a SKILL.md. Links that lead elsewhere are none of it."""
    root, names = disk.real(workspace.root), []
    try:
        with os.scandir(workspace.root / "skills") as entries:
            for entry in entries:
                place = Path(entry.path)
                if entry.name[0] != "." and (place / "SKILL.md").is_file() and root in disk.real(place).parents:
                    names.append(entry.name)
    except OSError:
        return []
    return sorted(names)


def skill_named_in(text: str, known: list[str]) -> str | None:
    """The skill that a text names, "-" and "_" being as good as a space; of several the one with the longest name."""
    folded = re.sub(r"[-_\s]+", " ", text.casefold())
    for name in sorted(known, key=len, reverse=True):
        words = re.sub(r"[-_\s]+", " ", name.casefold()).strip()
        if len(words) < _SHORTEST and words.isascii():
            continue
        if re.search(rf"(?<![a-z0-9]){re.escape(words)}(?![a-z0-9])", folded):
            return name
    return None


def retrospect_path(workspace: Workspace, skill: str) -> Path:
    return workspace.root / "skills" / skill / "docs" / "retrospect.md"


def refuse_link(workspace: Workspace, path: Path) -> None:
    """A link in the place of a file that we write would let us write into another one."""
    if disk.real(path) != disk.real(workspace.root) / path.relative_to(workspace.root):
        raise PathEscape(
            say(
                f"{workspace.relative(path)} is a link, or lies below one; put the real file in its place.",
                f"{workspace.relative(path)} 是链接或位于链接之下；请换回真正的文件。",
            )
        )


def has_lesson(workspace: Workspace, skill: str, text: str) -> bool:
    doc = open_document(retrospect_path(workspace, skill))
    lines = (item.words for item in doc.items) if doc else ()
    return any(words_of(text).casefold() in line.casefold() for line in lines)


def add_lesson(op: Operation, skill: str, day: str, text: str, source: str) -> bool:
    """Write a lesson down once; whether it was new. What stands in the file stays as it is."""
    path = retrospect_path(op.workspace, skill)
    refuse_link(op.workspace, path)
    if has_lesson(op.workspace, skill, text):
        return False
    before = disk.read_bytes(path)
    line = f"- {day} {words_of(text)} ({say('from', '来自')} {source})\n"
    head = f"# {say('Retrospect', '复盘')}: {skill}\n\n" if before is None else ""
    old = before or b""
    gap = b"" if not old or old.endswith(b"\n") else b"\n"
    rewrite(op, path, old + gap + (head + line).encode(), read=None if before is None else disk.digest(before))
    return True
