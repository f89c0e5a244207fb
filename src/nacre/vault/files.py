"""Which Markdown files are memory, compressed logs of the archive among them: found by one walk that costs about four microseconds a file."""

from __future__ import annotations

import fnmatch
import itertools
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from nacre.config.settings import Config
from nacre.errors import raise_unless_absent
from nacre.model.workspace import DAY_NAME, Workspace

LARGEST = 10_000_000  # bytes; a larger Markdown file is not a note, and doctor says so
LARGEST_LOG = 50_000_000  # bytes; what we wrote into the log of a day is searched, however much it is, up to this
TIERS = ("hot", "warm", "gist", "forgotten")
LINKED = ""  # in the place of a folder to watch: a link was met, and where its target may change is not known


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
    folders = set() if folders is None else folders
    seen: set[str] = set()
    for file in itertools.chain(_own_files(workspace, config, folders), _extra_files(workspace, config, folders)):
        if file.path not in seen:  # an extra path may lie where memory lies anyway
            seen.add(file.path)
            yield file


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


def _own_files(workspace: Workspace, config: Config, folders: set[str]) -> Iterator[MemoryFile]:
    root = str(workspace.root)
    folders.add(root)
    longterm = ["MEMORY.md", "USER.md"]
    projects = os.path.join(root, "projects")
    if not _leads_out(root, projects, folders):
        for entry in sorted(_entries(projects, folders), key=lambda entry: entry.name):
            if not _leads_out(root, entry.path, folders) and os.path.isdir(entry.path):
                folders.add(entry.path)
                longterm.append(f"projects/{entry.name}/MEMORY.md")
    for path in longterm:
        if file := _usable(root, path, os.path.join(root, path), "longterm", folders):
            yield file
    yield from _walk(root, os.path.join(root, "memory"), "memory/", None, folders)
    tiers = str(workspace.tiers(config.tiers.path))
    folders.add(_nearest(tiers))
    if not _leads_out(root, tiers, folders) or config.tiers.path:
        for tier in TIERS:
            yield from _walk(tiers, os.path.join(tiers, tier), f"{_shown(root, tiers)}{tier}/", tier, folders)


def _extra_files(workspace: Workspace, config: Config, folders: set[str]) -> Iterator[MemoryFile]:
    root = str(workspace.root)
    for extra in config.index.extra_paths:
        if not extra.get("path"):
            continue
        place = os.path.normpath(os.path.join(root, os.path.expanduser(extra["path"])))
        _leads_out(root, place, folders)
        if _within(str(workspace.machine), place):
            continue  # the index and what undo keeps are not memory
        shown = _shown(root, place)
        if os.path.isfile(place):
            folders.add(os.path.dirname(place))
            if file := _usable(place, shown[:-1], place, "extra", folders):
                yield file
        else:
            pattern = extra.get("pattern", "*.md").removeprefix("**/")
            yield from _walk(place, place, shown, "extra", folders, pattern)


def _shown(root: str, folder: str) -> str:
    """How paths below a folder begin for users: relative inside the workspace, else in full."""
    relative = os.path.relpath(folder, root)
    outside = relative.startswith("..") or os.path.isabs(relative)
    return (Path(folder).as_posix() if outside else Path(relative).as_posix()) + "/"


def _usable(root: str, path: str, full: str, layer: str, folders: set[str]) -> MemoryFile | None:
    """The file; None when it is missing, a folder, too large, or a link that leads out of its root."""
    try:
        about = os.lstat(full)
        if stat.S_ISLNK(about.st_mode):
            folders.add(LINKED)
            if not _within(root, full):
                return None
            about = os.stat(full)
    except OSError as error:
        raise_unless_absent(full, error)
        return None
    if not stat.S_ISREG(about.st_mode) or about.st_size > largest(layer) or path == "memory/review.md":
        return None
    if about.st_nlink > 1:
        folders.add(full)
    if not path.isascii():  # bytes of a name that are not UTF-8 are shown as \\xe9: text that is kept cannot hold them
        path = os.fsencode(path).decode("utf-8", errors="backslashreplace")
    return MemoryFile(path, full, layer, about.st_size, about.st_mtime_ns, about.st_ctime_ns, about.st_ino)


def _walk(
    root: str, folder: str, shown: str, layer: str | None, folders: set[str], pattern: str = "*.md"
) -> Iterator[MemoryFile]:
    """The files below a folder, linked folders not among them; `layer` None means that the place and name of each decide."""
    waiting = [] if _leads_out(root, folder, folders) else [(folder, shown)]
    while waiting:
        place, prefix = waiting.pop()
        is_archive = prefix.startswith("memory/archive/")
        for entry in _entries(place, folders):
            name, path = entry.name, prefix + entry.name
            if entry.is_dir(follow_symlinks=False):
                waiting.append((entry.path, f"{path}/"))
                continue
            if pattern == "*.md":
                matches = name.endswith(".md") or (is_archive and name.endswith(".md.gz") and not entry.is_symlink())
            else:
                matches = _matches(path, shown, pattern)
            if matches and (file := _usable(root, path, entry.path, layer or layer_of(path), folders)):
                yield file


def _entries(place: str, folders: set[str]) -> list[os.DirEntry[str]]:
    """What a folder holds, hidden things left out; nothing where it is missing or not for us to read: doctor says so."""
    try:
        with os.scandir(place) as listing:
            entries = [entry for entry in listing if entry.name[0] != "."]
    except OSError as error:
        raise_unless_absent(place, error)
        folders.add(_nearest(place))
        return []
    folders.add(place)
    return entries


def _matches(path: str, shown: str, pattern: str) -> bool:
    """Whether a path fits the pattern of an extra path; a pattern without "/" is about the name alone, "**/" is any folder."""
    if "/" not in pattern:
        return fnmatch.fnmatch(path.rpartition("/")[2], pattern)
    below = path[len(shown) :]
    return fnmatch.fnmatch(below, pattern) or ("**/" in pattern and fnmatch.fnmatch(below, pattern.replace("**/", "")))


def _within(root: str, full: str) -> bool:
    real_root = os.path.realpath(root)
    return os.path.commonpath([real_root, os.path.realpath(full)]) == real_root


def _leads_out(root: str, path: str, folders: set[str]) -> bool:
    if not os.path.islink(path):
        return False
    folders.add(LINKED)
    return not _within(root, path)


def _nearest(place: str) -> str:
    """The closest folder that exists: where a missing one would appear."""
    while not os.path.isdir(place) and place != os.path.dirname(place):
        place = os.path.dirname(place)
    return place
