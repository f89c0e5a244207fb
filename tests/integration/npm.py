"""Programs from npm, kept in the user's cache: installed once, used by every run."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path


def installed(folder: Path | None, packages: tuple[str, ...]) -> Path:
    """The folder with `node_modules` of these packages; without one it is made in the cache.

    The order counts: a package that refuses any other Node than the one it runs on comes after `node`.
    """
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nacre" / "npm"
    folder = folder or base / re.sub(r"\W*@", "-", packages[-1].rpartition("/")[2])
    folder.mkdir(parents=True, exist_ok=True)
    for package in packages:
        name = package.rpartition("@")[0]
        if not (folder / "node_modules" / name / "package.json").exists():
            path = os.pathsep.join([*map(str, programs(folder)), os.environ["PATH"]])
            command = ["npm", "install", "--no-audit", "--no-fund", package]
            subprocess.run(command, cwd=folder, env={**os.environ, "PATH": path}, check=True)
    return folder


def programs(folder: Path) -> list[Path]:
    """Where the programs of a folder lie, its own Node first."""
    return [folder / "node_modules/node/bin", folder / "node_modules/.bin"]
