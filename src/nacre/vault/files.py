"""Which Markdown files are memory: found by one walk that costs about four microseconds a file."""

from __future__ import annotations

import fnmatch
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from nacre.config import Config
from nacre.vault.workspace import DAY_NAME, Workspace

LARGEST = 10_000_000  # bytes; a larger Markdown file is not a note, and doctor says so
TIERS = ("hot", "warm", "gist", "forgotten")


class Found(NamedTuple):
    """A file as the walk saw it. Two equal signatures mean that nothing was written in between."""

    path: str  # as users see it
    full: str
    layer: str
    size: int
    mtime: int
    ctime: int
    inode: int


def memory_files(workspace: Workspace, config: Config, folders: set[str] | None = None) -> Iterator[Found]:
    """Every file that search covers: long-term memory, logs, notes, digests, checkpoints and extra paths.

    `folders` is given every folder whose change could add, alter or remove one of them.
    """
    folders = set() if folders is None else folders
    root = str(workspace.root)
    folders.add(root)
    for name in ("MEMORY.md", "USER.md"):
        yield from _one(root, name, "longterm")
    for folder in _folders(os.path.join(root, "projects"), folders):
        yield from _one(root, f"projects/{folder}/MEMORY.md", "longterm")
    yield from _walk(root, os.path.join(root, "memory"), "memory/", None, folders)
    tiers = str(workspace.tiers(config.tiers.path))
    shown = _shown(root, tiers)
    for tier in TIERS:
        yield from _walk(tiers, os.path.join(tiers, tier), f"{shown}{tier}/", tier, folders)
    yield from _extra(workspace, config, folders)


def layer_of(path: str) -> str:
    """The layer of a file below memory/, by its place and name."""
    if path.startswith("memory/weekly/"):
        return "weekly"
    if path.startswith("memory/archive/"):
        return "archive"
    name = path[path.rfind("/") + 1 :]
    return "daily" if name[0].isdigit() and DAY_NAME.fullmatch(name) else "note"


def _shown(root: str, folder: str) -> str:
    """How paths below a folder begin for users: relative inside the workspace, else in full."""
    relative = os.path.relpath(folder, root)
    outside = relative.startswith("..") or os.path.isabs(relative)
    return (Path(folder).as_posix() if outside else Path(relative).as_posix()) + "/"


def _folders(place: str, folders: set[str]) -> list[str]:
    try:
        with os.scandir(place) as entries:
            names = sorted(entry.name for entry in entries if entry.is_dir())
    except OSError:
        return []
    folders.update([place, *(os.path.join(place, name) for name in names)])
    return names


def _one(root: str, path: str, layer: str) -> Iterator[Found]:
    full = os.path.join(root, path)
    try:
        about = os.lstat(full)
    except OSError:
        return
    yield from _usable(root, path, full, layer, about)


def _usable(root: str, path: str, full: str, layer: str, about: os.stat_result) -> Iterator[Found]:
    """The file, unless it is a folder, too large, or a link that leads out of its root."""
    if stat.S_ISLNK(about.st_mode):
        if not _within(root, full):
            return
        try:
            about = os.stat(full)
        except OSError:
            return
    if stat.S_ISREG(about.st_mode) and about.st_size <= LARGEST:
        yield Found(path, full, layer, about.st_size, about.st_mtime_ns, about.st_ctime_ns, about.st_ino)


def _within(root: str, full: str) -> bool:
    real_root = os.path.realpath(root)
    return os.path.commonpath([real_root, os.path.realpath(full)]) == real_root


def _walk(
    root: str, folder: str, shown: str, layer: str | None, folders: set[str], pattern: str = "*.md"
) -> list[Found]:
    """The files below a folder; `layer` None means that the place and name of each decide."""
    found: list[Found] = []
    seen: set[str] = set()
    waiting = [(folder, shown)]
    usual = pattern == "*.md"
    while waiting:
        place, prefix = waiting.pop()
        try:
            with os.scandir(place) as listing:
                entries = list(listing)
        except OSError:
            folders.add(_nearest(place))
            continue  # not there or unreadable: doctor says so
        folders.add(place)
        for entry in entries:
            name = entry.name
            if name[0] == ".":
                continue
            if name.endswith(".md") if usual else _matches(prefix + name, shown, pattern):
                try:
                    about = entry.stat(follow_symlinks=False)
                except OSError:
                    continue
                kind = about.st_mode & 0o170000
                if kind == stat.S_IFREG:
                    path = prefix + name
                    if about.st_size <= LARGEST and path != "memory/review.md":
                        where = layer or layer_of(path)
                        found.append(
                            Found(
                                path,
                                entry.path,
                                where,
                                about.st_size,
                                about.st_mtime_ns,
                                about.st_ctime_ns,
                                about.st_ino,
                            )
                        )
                    continue
                if kind == stat.S_IFLNK and not entry.is_dir():
                    path = prefix + name
                    found += _usable(root, path, entry.path, layer or layer_of(path), about)
                    continue
            if entry.is_dir(follow_symlinks=False):
                waiting.append((entry.path, f"{prefix}{name}/"))
            elif entry.is_symlink() and entry.is_dir() and _within(root, entry.path):
                real = os.path.realpath(entry.path)
                if real not in seen:
                    seen.add(real)
                    waiting.append((entry.path, f"{prefix}{name}/"))
    return found


def _nearest(place: str) -> str:
    """The closest folder that exists: where a missing one would appear."""
    while not os.path.isdir(place) and place != os.path.dirname(place):
        place = os.path.dirname(place)
    return place


def _matches(path: str, shown: str, pattern: str) -> bool:
    """Whether a path fits the pattern of an extra path; a pattern without "/" is about the name alone."""
    return fnmatch.fnmatch(path[len(shown) :] if "/" in pattern else path.rpartition("/")[2], pattern)


def _extra(workspace: Workspace, config: Config, folders: set[str]) -> Iterator[Found]:
    from_workspace = config.origins.get("index.extra_paths") == "workspace"
    root = str(workspace.root)
    for given in config.index.extra_paths:
        place = os.path.normpath(os.path.join(root, os.path.expanduser(given.get("path", ""))))
        if from_workspace and not _within(root, place):
            continue  # a setting that came with a clone must not open the rest of the disk
        shown = _shown(root, place)
        if os.path.isfile(place):
            folders.add(os.path.dirname(place))
            yield from _usable(place, shown[:-1], place, "extra", os.stat(place))
        else:
            pattern = given.get("pattern", "*.md").removeprefix("**/")
            yield from _walk(place, place, shown, "extra", folders, pattern)
