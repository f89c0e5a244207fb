"""Which project a folder belongs to: each project's MEMORY.md names its path in its first lines."""

from __future__ import annotations

import os
import re
from pathlib import Path

from nacre.vault.workspace import Workspace

_PLACE = re.compile(r"^>?\s*(?:Project|项目)[:：]\s*(.+?)\s*$", re.MULTILINE)


def project_places(workspace: Workspace) -> dict[str, str]:
    """Every project's folder, by its slug."""
    places: dict[str, str] = {}
    try:
        with os.scandir(workspace.projects) as entries:
            slugs = sorted(entry.name for entry in entries if entry.is_dir())
    except OSError:
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
