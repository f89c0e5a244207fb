"""The hard limits of every MEMORY.md: the one place that each write of such a file goes through."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from nacre.config import MemorySettings
from nacre.errors import MemoryFull
from nacre.vault.atomic import real
from nacre.vault.workspace import Workspace
from nacre.words import say


class Size(NamedTuple):
    lines: int
    bytes: int

    def over(self, limits: MemorySettings) -> bool:
        return self.lines > limits.max_lines or self.bytes > limits.max_bytes


def size_of(data: bytes | None) -> Size:
    """Lines as an editor counts them; a last line without a line end is one too."""
    if not data:
        return Size(0, 0)
    return Size(data.count(b"\n") + (not data.endswith(b"\n")), len(data))


def is_longterm(workspace: Workspace, path: Path) -> bool:
    """Whether the path, or the file it links to, is the global MEMORY.md or a project's."""
    places = ((path, workspace.root), (real(path), real(workspace.root)))
    for place, root in places:
        try:
            parts = [part.casefold() for part in place.relative_to(root).parts]
        except ValueError:
            continue
        if parts == ["memory.md"] or (len(parts) == 3 and parts[0] == "projects" and parts[2] == "memory.md"):
            return True
    return False


def check(workspace: Workspace, path: Path, before: bytes | None, after: bytes, limits: MemorySettings) -> None:
    """Raise `MemoryFull` when the write would break the limits. A file that breaks them already may only shrink."""
    if not is_longterm(workspace, path):
        return
    old, new = size_of(before), size_of(after)
    if not new.over(limits):
        return
    grows = new.lines > max(old.lines, limits.max_lines) or new.bytes > max(old.bytes, limits.max_bytes)
    shrinks = (limits.max_lines < old.lines > new.lines) or (limits.max_bytes < old.bytes > new.bytes)
    if grows or not shrinks:
        raise _full(workspace.relative(path), old, limits)


def _full(shown: str, size: Size, limits: MemorySettings) -> MemoryFull:
    if size.over(limits):
        return MemoryFull(
            say(
                f"{shown} is over its limits ({size.lines} of {limits.max_lines} lines, {size.bytes} of "
                f'{limits.max_bytes} bytes) and takes nothing new; "nacre review --adopt" brings it under them, after asking.',
                f"{shown} 已超出上限（{size.lines}/{limits.max_lines} 行，{size.bytes}/{limits.max_bytes} 字节）,"
                "不再接受新内容；“nacre review --adopt”会在询问后使其回到上限以内。",
            )
        )
    return MemoryFull(
        say(
            f"{shown} is full ({size.lines} of {limits.max_lines} lines, {size.bytes} of {limits.max_bytes} bytes); "
            'run "nacre tidy" and "nacre review" to make room, or shorten it.',
            f"{shown} 已满（{size.lines}/{limits.max_lines} 行，{size.bytes}/{limits.max_bytes} 字节）;"
            "可运行“nacre tidy”和“nacre review”腾出空间，或手动精简。",
        )
    )
