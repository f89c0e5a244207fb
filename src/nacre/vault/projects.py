"""Which project a folder belongs to: each project's MEMORY.md names its path in its first lines."""

from __future__ import annotations

import os
import re
from pathlib import Path

from nacre.errors import raise_unless_absent
from nacre.vault.workspace import Workspace

_OTHER_TREE = re.compile(r"gitdir:\s*(.+?)[/\\]\.git[/\\]worktrees[/\\]")
_PLACE = re.compile(r"^>?\s*(?:Project|项目)[:：]\s*(.+?)\s*$", re.MULTILINE)


def project_places(workspace: Workspace) -> dict[str, str]:
    """Every project's folder, by its slug."""
    places: dict[str, str] = {}
    try:
        with os.scandir(workspace.projects) as entries:
            slugs = sorted(entry.name for entry in entries if entry.is_dir())
    except OSError as error:
        raise_unless_absent(workspace.projects, error)
        return {}
    for slug in slugs:
        try:
            with (workspace.projects / slug / "MEMORY.md").open("rb") as file:
                head = file.read(1000).decode("utf-8", errors="replace")
        except OSError:
            continue
        if found := _PLACE.search(head):
            places[slug] = os.path.expanduser(found[1])
    return places


def project_of(workspace: Workspace, folder: Path) -> str | None:
    """The project whose folder holds this one; the innermost when several do."""
    here = os.path.realpath(folder)
    fitting = [
        (len(real), slug)
        for slug, place in project_places(workspace).items()
        if here == (real := os.path.realpath(place)) or here.startswith(real.rstrip(os.sep) + os.sep)
    ]
    return max(fitting)[1] if fitting else None


def project_at(workspace: Workspace, folder: str) -> str:
    """With which project a coding agent's talk in a folder is stamped; none in the workspace, where all is talked about."""
    if os.path.realpath(folder) == os.path.realpath(workspace.root):
        return ""
    return project_of(workspace, Path(folder)) or folder_name(folder.rstrip("/\\"))


def folder_name(folder: str) -> str:
    """What a project is called that nobody named: by its repository or folder; nothing for the home folder, where people
    talk about everything."""
    place = root_of(folder)
    return "" if place == os.path.expanduser("~") else os.path.basename(place.replace("\\", "/"))


def root_of(folder: str) -> str:
    """The root of the repository that holds a folder, where it exists on this machine; else the folder."""
    place, home = folder, os.path.expanduser("~")
    while os.path.isabs(place) and place not in (os.path.dirname(place), home):
        sign = os.path.join(place, ".git")
        if os.path.exists(sign):
            return _main_tree(sign) or place
        place = os.path.dirname(place)
    return folder


def _main_tree(sign: str) -> str | None:
    """The main working tree of a repository, where `.git` is a file that says: this is but another tree of it."""
    try:
        with open(sign, encoding="utf-8", errors="replace") as file:
            told = file.read(4096)
    except OSError:  # a folder: the repository itself
        return None
    found = _OTHER_TREE.match(told)
    return found[1] if found and os.path.isabs(found[1]) else None
