"""MEMORY.md, the global one and each project's: its sections, entries added to it, its backups; lessons of skills."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from nacre import disk
from nacre.config.settings import MemorySettings
from nacre.errors import BadInput, PathEscape
from nacre.i18n import say
from nacre.model import Context, Workspace
from nacre.vault.entries import Document, add_bullet, add_section, document, open_document, plain_title, words_of
from nacre.vault.history import Operation, operation
from nacre.vault.storage import read, storage_of
from nacre.vault.writing import check_limits, expect, guarded, rewrite, write_recorded

SECTIONS = ("User Preferences", "Active Projects", "Key Decisions", "Important Contacts")

_PREFERENCES, _PROJECTS, _KEY_DECISIONS, _CONTACTS = SECTIONS
HOME = {"PREF": _PREFERENCES, "PROJ": _PROJECTS, "PEOPLE": _CONTACTS}  # where each type goes in a file as we begin it
HOME |= dict.fromkeys(("TECH", "LESSON", "DECISION"), _KEY_DECISIONS)
_DECISIONS = ("key decisions", "decisions", "关键决策", "重要决策", "重要决定", "决策")
_FITTING = {  # headings that users give such sections themselves, best first
    "PREF": ("user preferences", "preferences", "my preferences", "用户偏好", "偏好", "偏好设置", "个人偏好"),
    "PROJ": ("active projects", "projects", "current projects", "进行中的项目", "活跃项目", "当前项目", "项目"),
    "TECH": ("tech", "technical", "technical notes", "tech stack", "技术", "技术栈", "技术要点", *_DECISIONS),
    "LESSON": ("lessons", "lessons learned", "lessons learnt", "经验教训", "教训", "经验", *_DECISIONS),
    "DECISION": _DECISIONS,
    "PEOPLE": ("important contacts", "contacts", "people", "重要联系人", "联系人", "人物", "人员"),
}


class Edit(NamedTuple):
    """New bytes for a file that must still be what was read."""

    path: Path
    read: str | None
    data: bytes


def template(settings: MemorySettings | None = None, title: str = "", about: str = "") -> str:
    settings = settings or MemorySettings()
    size = f"{settings.max_bytes // 1024}KB" if settings.max_bytes % 1024 == 0 else f"{settings.max_bytes} bytes"
    head = f"""# Long-Term Memory{title}

{about}> Only write info here that you'd make mistakes without.
> Event logs stay in daily files.
> Hard limit: {settings.max_lines} lines / {size}. Must compress before adding when over limit.
"""
    return head + "".join(f"\n## {section}\n" for section in SECTIONS)


def project_template(slug: str, place: str, settings: MemorySettings | None = None) -> str:
    return template(settings, f": {slug}", f"> Project: {place}\n")


def section_for(doc: Document, type: str | None) -> str:  # noqa: A002 - the word users know
    """The section that an entry of this type goes to: a fitting one of the user's own, else the template's."""
    kind = (type or "DECISION").upper()
    if kind not in HOME:
        raise BadInput(
            f'Entries of the type "{type}" do not belong in MEMORY.md.', f"类型为“{type}”的条目不应写入 MEMORY.md。"
        )
    titles = {plain_title(section.title): section.title for section in reversed(doc.sections) if section.level}
    return next((titles[title] for title in _FITTING[kind] if title in titles), HOME[kind])


def with_entry(
    workspace: Workspace,
    path: Path,
    doc: Document | None,
    text: str,
    *,
    type: str | None = None,  # noqa: A002
    settings: MemorySettings | None = None,
    start: str | None = None,
) -> tuple[bytes, str]:
    """The file with an entry, and its section; a missing file begins with `start`. Raises `MemoryFull` and `SecretRefused`."""
    from nacre.guard.sanitise import one_line

    settings = settings or MemorySettings()
    words = one_line(guarded(text)).strip()
    if not words:
        raise BadInput("There is nothing to add: the text is empty.", "没有可添加的内容：文本为空。")
    for item in doc.items if doc else ():
        if doc and words in (item.words, item.text.strip()):
            return doc.data, item.section
    begun = doc or document(path, (start or template(settings)).encode())
    title = section_for(begun, type)
    section = next((part for part in begun.sections if part.level and part.title == title), None)
    data = add_bullet(begun, section, words) if section else add_section(begun, title, [words])
    check_limits(workspace, path, doc.data if doc else None, data, settings)
    return data, title


def apply_edit(context: Context, edit: Edit, command: str = "admit") -> str:
    """Back the file up for the day, then write it; returns the new hash. Does nothing where it holds these bytes."""
    workspace, path = context.workspace, edit.path
    with operation(context, command) as op:
        before = expect(workspace, path, edit.read)
        if before == edit.data:
            return disk.digest(edit.data)
        slug = "" if path.parent == workspace.root else f"{path.parent.name}."  # a project's backup is named for it
        # The day's first state is kept, and each later one by its second.
        for form in ("%Y-%m-%d", "%Y-%m-%d-%H%M%S") if before is not None else ():
            place = workspace.archive / f"{slug}MEMORY.md.bak-{context.clock.now():{form}}"
            stored = read(workspace, place)
            if stored is None and before is not None:
                op.place(place)
                write_recorded(op, place, None, before)
            if stored in (None, before):
                break
        return rewrite(op, path, edit.data, read=edit.read)


# Lessons of a skill: `skills/<skill>/docs/retrospect.md` in the workspace, where the agent that uses the skill looks.

_SHORTEST = 3  # characters of a name that can be looked for in a text


def list_skills(workspace: Workspace) -> list[str]:
    """The skills of a workspace by their folders: those that have a SKILL.md. Links that lead elsewhere are none of it."""
    files = storage_of(workspace).walk("skills", ("/SKILL.md",), depth=2)
    return sorted(stored.name.split("/")[1] for stored in files if stored.is_plain and stored.name.count("/") == 2)


def skill_named_in(text: str, skills: list[str]) -> str | None:
    """The skill that a text names, "-" and "_" being as good as a space; of several the one with the longest name."""
    folded = re.sub(r"[-_\s]+", " ", text.casefold())
    for name in sorted(skills, key=len, reverse=True):
        words = re.sub(r"[-_\s]+", " ", name.casefold()).strip()
        is_long = len(words) >= _SHORTEST or not words.isascii()
        if is_long and re.search(rf"(?<![a-z0-9]){re.escape(words)}(?![a-z0-9])", folded):
            return name
    return None


def retrospect_path(workspace: Workspace, skill: str) -> Path:
    return workspace.root / "skills" / skill / "docs" / "retrospect.md"


def refuse_link(workspace: Workspace, path: Path) -> None:
    """A link in the place of a file that we write would let us write into another one."""
    name = workspace.relative(path)
    if storage_of(workspace).real(name) != name:
        raise PathEscape(
            f"{name} is a link or is inside a linked folder; replace it with the real file.",
            f"{name} 是链接，或位于链接的文件夹中；请换回真正的文件。",
        )


def has_lesson(workspace: Workspace, skill: str, text: str) -> bool:
    doc = open_document(workspace, retrospect_path(workspace, skill))
    return any(words_of(text).casefold() in item.words.casefold() for item in (doc.items if doc else ()))


def add_lesson(op: Operation, skill: str, day: str, text: str, source: str) -> None:
    """Write a lesson down once. What stands in the file stays as it is."""
    path = retrospect_path(op.workspace, skill)
    refuse_link(op.workspace, path)
    if has_lesson(op.workspace, skill, text):
        return
    before = read(op.workspace, path)
    line = f"- {day} {words_of(text)} ({say('from', '来自')} {source})\n"
    head = f"# {say('Retrospect', '复盘')}: {skill}\n\n".encode() if before is None else before
    gap = b"" if not head or head.endswith(b"\n") else b"\n"
    rewrite(op, path, head + gap + line.encode(), read=disk.hash_of(before))
