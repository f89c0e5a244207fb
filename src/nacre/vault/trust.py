"""Which workspaces the user has trusted: a folder that came with a clone must not speak through our hooks."""

from __future__ import annotations

import json
import os
from pathlib import Path


def is_trusted(path: Path, folder: Path | None = None) -> bool:
    """Whether this very folder was trusted once; one inside a trusted folder is not."""
    return _real(path) in _read(_file(folder))


def trust(path: Path, folder: Path | None = None) -> None:
    """Remember the folder in the user's settings."""
    _change(path, folder, wanted=True)


def distrust(path: Path, folder: Path | None = None) -> None:
    _change(path, folder, wanted=False)


def trusted(folder: Path | None = None) -> tuple[str, ...]:
    """Every trusted folder, by its real path."""
    return tuple(_read(_file(folder)))


def _change(path: Path, folder: Path | None, *, wanted: bool) -> None:
    file = _file(folder)
    real = _real(path)
    if (real in _read(file)) == wanted:
        return
    from nacre.vault import atomic
    from nacre.vault.lock import hold

    with hold(file.with_name("trusted.lock")):
        known = _read(file)
        known = [one for one in known if one != real and os.path.isdir(one)]  # what is gone need not be trusted
        known = sorted({*known, real}) if wanted else known
        data = json.dumps({"trusted": known}, ensure_ascii=False, indent=2) + "\n"
        atomic.write(file, data.encode("utf-8", "surrogateescape"))


def _read(file: Path) -> list[str]:
    """What cannot be read trusts nobody."""
    try:
        found = json.loads(file.read_bytes().decode("utf-8", "surrogateescape"))
    except (OSError, ValueError):
        return []
    known = found.get("trusted") if isinstance(found, dict) else None
    return [one for one in known if isinstance(one, str)] if isinstance(known, list) else []


def _file(folder: Path | None) -> Path:
    if folder is None:
        from nacre.config import user_config_folder

        folder = user_config_folder()
    return folder / "trusted.json"


def _real(path: Path) -> str:
    return os.path.realpath(path)
