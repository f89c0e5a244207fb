"""Which Markdown files are memory, compressed logs of the archive among them, and in which layer each lies."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from nacre import disk
from nacre.config.settings import Config
from nacre.disk import LARGEST_LOG
from nacre.model.workspace import DAY_NAME, LINKED, Stored, Workspace
from nacre.vault.storage import storage_of

LARGEST = 10_000_000  # bytes; a larger Markdown file is not a note, and doctor says so
TIERS = ("hot", "warm", "gist", "forgotten")
_MARKDOWN = (".md",)


class MemoryFile(NamedTuple):
    """A file as the walk saw it. Two equal signatures mean that nothing was written in between."""

    path: str  # as users see it
    full: str
    layer: str
    size: int
    mtime: int
    ctime: int
    inode: int


def memory_files(workspace: Workspace, config: Config, folders: set[str] | None = None) -> Iterator[MemoryFile]:
    """Every file that search covers: long-term memory, logs, notes, digests, checkpoints and extra paths.

    `folders` is given every folder whose change could add, alter or remove one of them, every file that has a second name
    (a hard link) through which it could be written, and `LINKED` where only another walk can tell.
    """
    root = os.path.join(workspace.root, "")
    seen: set[str] = set()
    for stored, layer in _stored_files(workspace, config, set() if folders is None else folders):
        name, size, modified, changed, inode, is_plain, _ = stored
        if not is_plain or (size > LARGEST and size > largest(layer)) or name == "memory/review.md":
            continue
        if name not in seen:  # an extra path may lie where memory lies anyway
            seen.add(name)
            full = name if os.path.isabs(name) else root + name
            # Bytes of a name that are not UTF-8 are shown as \\xe9: text that is kept cannot hold them.
            path = name if name.isascii() else os.fsencode(name).decode("utf-8", errors="backslashreplace")
            yield MemoryFile(path, full, layer, size, modified, changed, inode)


def layer_of(path: str) -> str:
    """The layer of a file below memory/, by its place and name."""
    if path.startswith("memory/weekly/"):
        return "weekly"
    if path.startswith("memory/archive/"):
        return "archive"
    name = path[path.rfind("/") + 1 :]
    return "daily" if name[0].isdigit() and DAY_NAME.fullmatch(name) else "note"


def largest(layer: str) -> int:
    """How many bytes a file of a layer may have to be searched."""
    return LARGEST_LOG if layer in ("daily", "archive") else LARGEST


def _stored_files(workspace: Workspace, config: Config, folders: set[str]) -> Iterator[tuple[Stored, str]]:
    storage = storage_of(workspace)
    for stored in storage.walk("", ("MEMORY.md", "USER.md"), folders, depth=1):
        if stored.name in ("MEMORY.md", "USER.md"):
            yield stored, "longterm"
    yield from ((stored, "longterm") for stored in _project_files(workspace, folders))
    for stored in storage.walk("memory", (".md", ".md.gz"), folders):
        if stored.name.endswith(".md") or (stored.name.startswith("memory/archive/") and not stored.is_link):
            yield stored, layer_of(stored.name)
    tiers = workspace.relative(workspace.tiers(config.tiers.path))
    for tier in TIERS:
        yield from ((stored, tier) for stored in storage.walk(f"{tiers}/{tier}", _MARKDOWN, folders))
    for extra in config.index.extra_paths:
        if extra.get("path"):
            pattern = extra.get("pattern", "*.md").removeprefix("**/")
            yield from ((stored, "extra") for stored in _extra_files(workspace, extra["path"], pattern, folders))


def _project_files(workspace: Workspace, folders: set[str] | None = None) -> list[Stored]:
    files = storage_of(workspace).walk("projects", ("/MEMORY.md",), folders, depth=2)
    return sorted(
        (stored for stored in files if stored.name.count("/") == 2), key=lambda stored: stored.name.split("/")
    )


def list_longterm(workspace: Workspace) -> list[Path]:
    """Every MEMORY.md: the general one, whether it is there or not, and those of projects, whatever stands there."""
    return [workspace.longterm, *(workspace.root / stored.name for stored in _project_files(workspace))]


def list_backups(workspace: Workspace) -> list[Path]:
    """The backups of each MEMORY.md and of working memory, by their names."""
    files = storage_of(workspace).walk(workspace.relative(workspace.archive), depth=1)
    plain = (workspace.root / stored.name for stored in files if stored.is_plain and not stored.is_link)
    return sorted(path for path in plain if ".bak-" in path.name)


def _extra_files(workspace: Workspace, path: str, pattern: str, folders: set[str]) -> Iterator[Stored]:
    """What an extra path names, which may lie anywhere on the machine."""
    place = os.path.normpath(os.path.join(workspace.root, os.path.expanduser(path)))
    if disk.is_within(str(workspace.machine), place):
        return  # the index and what undo keeps are not memory
    shown = workspace.relative(Path(place))
    if os.path.isfile(place):
        folders.add(os.path.dirname(place))
        if stored := disk.stored_at(place, place, shown, folders):
            yield stored
        return
    if os.path.islink(place):
        folders.add(LINKED)
    for stored in disk.walk(place, place, f"{shown}/", _MARKDOWN if pattern == "*.md" else ("",), folders):
        if pattern == "*.md" or _matches(stored.name, f"{shown}/", pattern):
            yield stored


def _matches(path: str, shown: str, pattern: str) -> bool:
    """Whether a path fits the pattern of an extra path; a pattern without "/" is about the name alone, "**/" is any folder."""
    if "/" not in pattern:
        return fnmatch.fnmatch(path.rpartition("/")[2], pattern)
    below = path[len(shown) :]
    return fnmatch.fnmatch(below, pattern) or ("**/" in pattern and fnmatch.fnmatch(below, pattern.replace("**/", "")))
