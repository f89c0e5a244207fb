"""Lessons of a skill: `skills/<skill>/docs/retrospect.md` in the workspace, where the agent that uses the skill looks."""

from __future__ import annotations

import os
import re
from pathlib import Path

from nacre.errors import PathEscape
from nacre.vault import atomic
from nacre.vault.markdown import open_document, words_of
from nacre.vault.operation import Operation
from nacre.vault.rewrite import rewrite
from nacre.vault.workspace import Workspace
from nacre.words import say

_SHORTEST = 3  # characters of a name that can be looked for in a text


def skills(workspace: Workspace) -> list[str]:
    """The skills of a workspace by their folders: those that have a SKILL.md. Links that lead elsewhere are none of it."""
    root, names = atomic.real(workspace.root), []
    try:
        with os.scandir(workspace.root / "skills") as entries:
            for entry in entries:
                place = Path(entry.path)
                if entry.name[0] != "." and (place / "SKILL.md").is_file() and root in atomic.real(place).parents:
                    names.append(entry.name)
    except OSError:
        return []
    return sorted(names)


def named_in(text: str, known: list[str]) -> str | None:
    """The skill that a text names, "-" and "_" being as good as a space; of several the one with the longest name."""
    folded = re.sub(r"[-_\s]+", " ", text.casefold())
    for name in sorted(known, key=len, reverse=True):
        words = re.sub(r"[-_\s]+", " ", name.casefold()).strip()
        if len(words) < _SHORTEST and words.isascii():
            continue
        if re.search(rf"(?<![a-z0-9]){re.escape(words)}(?![a-z0-9])", folded):
            return name
    return None


def retrospect(workspace: Workspace, skill: str) -> Path:
    return workspace.root / "skills" / skill / "docs" / "retrospect.md"


def must_be_itself(workspace: Workspace, path: Path) -> None:
    """A link in the place of a file that we write would let us write into another one."""
    if atomic.real(path) != atomic.real(workspace.root) / path.relative_to(workspace.root):
        raise PathEscape(
            say(
                f"{workspace.relative(path)} is a link, or lies below one; put the real file in its place.",
                f"{workspace.relative(path)} 是链接或位于链接之下；请换回真正的文件。",
            )
        )


def has_lesson(workspace: Workspace, skill: str, text: str) -> bool:
    doc = open_document(retrospect(workspace, skill))
    lines = (item.words for item in doc.items) if doc else ()
    return any(words_of(text).casefold() in line.casefold() for line in lines)


def add_lesson(op: Operation, skill: str, day: str, text: str, source: str) -> bool:
    """Write a lesson down once; whether it was new. What stands in the file stays as it is."""
    path = retrospect(op.workspace, skill)
    must_be_itself(op.workspace, path)
    if has_lesson(op.workspace, skill, text):
        return False
    before = atomic.read_bytes(path)
    line = f"- {day} {words_of(text)} ({say('from', '来自')} {source})\n"
    head = f"# {say('Retrospect', '复盘')}: {skill}\n\n" if before is None else ""
    old = before or b""
    gap = b"" if not old or old.endswith(b"\n") else b"\n"
    rewrite(op, path, old + gap + (head + line).encode(), read=None if before is None else atomic.digest(before))
    return True
