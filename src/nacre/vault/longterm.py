"""MEMORY.md, the global one and each project's: what it holds, and additions planned first and applied through one door."""

from __future__ import annotations

import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from nacre.clock import Clock
from nacre.config import Config, MemorySettings
from nacre.errors import BadInput
from nacre.model.plan import Plan, Step
from nacre.vault import atomic, limits
from nacre.vault.append import guarded
from nacre.vault.history import CREATE, Change
from nacre.vault.markdown import Document, Item, Section, add_bullet, add_section, document, open_document
from nacre.vault.operation import Operation, operation
from nacre.vault.rewrite import expect, rewrite
from nacre.vault.workspace import Workspace
from nacre.words import say

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
_MARK = re.compile(r"<!--\s{0,8}([\w-]{1,60})\s{0,8}:((?:(?!<!--|-->).)*)-->")


@dataclass(frozen=True)
class Kept:
    """One entry of a MEMORY.md: its words, its exact lines, and the marks that OpenClaw put on it."""

    words: str
    start: int
    end: int
    section: str
    marks: Mapping[str, str]


@dataclass(frozen=True)
class LongTerm:
    """A MEMORY.md as read."""

    document: Document
    sections: tuple[Section, ...]
    entries: tuple[Kept, ...]
    size: limits.Size
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


def read(path: Path, settings: MemorySettings | None = None) -> LongTerm | None:
    """The file's sections and entries with their exact lines; None when there is no file."""
    doc = open_document(path)
    if doc is None:
        return None
    size = limits.size_of(doc.data)
    return LongTerm(doc, doc.sections, entries(doc), size, size.over(settings or MemorySettings()))


def entries(doc: Document) -> tuple[Kept, ...]:
    """The entries of a MEMORY.md: its outermost list items that say something."""
    return tuple(
        Kept(
            item.words,
            item.start,
            item.end,
            item.section,
            {name: told.strip() for name, told in _MARK.findall(item.text)},
        )
        for item in doc.items
        if item.words
    )


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
    titles = {_plain(section.title): section.title for section in reversed(doc.sections) if section.level}
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
    found = next((one for one in begun.sections if one.level and _plain(one.title) == _plain(title)), None)
    data = add_bullet(begun, found, words) if found else add_section(begun, title, [words])
    limits.check(workspace, path, doc.data if doc else None, data, settings)
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


def apply(workspace: Workspace, clock: Clock, edit: Edit, config: Config | None = None, command: str = "admit") -> str:
    """Back the file up for the day, then write it; returns the new hash. Does nothing for an empty plan."""
    with operation(workspace, clock, command, config) as op:
        before = expect(workspace, edit.path, edit.read)
        if before == edit.data:
            return atomic.digest(edit.data)
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
        stored = atomic.read_bytes(place)
        if stored == before:
            return
        if stored is None:
            op.place(place)
            op.record([Change(op.workspace.relative(place), CREATE, None, atomic.digest(before))], [before])
            atomic.write(place, before, mode=stat.S_IMODE(path.stat().st_mode))
            return


def _same(doc: Document, words: str) -> Item | None:
    for item in doc.items:
        if item.words == words or item.text.strip() == words:
            return item
    return None


def _plain(title: str) -> str:
    return " ".join(re.sub(r"[\W_]+", " ", title).casefold().split())
