"""What on this machine could be imported: agents' notes and settings, checkpoints and workspaces, chat exports."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from nacre.capture.imports import agents, notes, openclaw, tiers
from nacre.capture.imports.files import shown_path
from nacre.capture.imports.plan import SKIP, ImportPlan
from nacre.capture.imports.run import planned
from nacre.capture.imports.which import Agent, Place
from nacre.clock import Clock
from nacre.config import Config
from nacre.errors import NacreError
from nacre.sources.exports.which import export_at
from nacre.vault import agents as configured
from nacre.vault import atomic
from nacre.vault.workspace import Workspace

_EXPORTS = ("Downloads", "下载", "Desktop")
_MOST = 200  # files of a folder that are looked at, the newest first


class Importable(NamedTuple):
    """One thing that `nacre import` would take: what to type, what it is, how many parts it has, how many are new."""

    what: str
    kind: str
    parts: int
    new: int | None = None  # unknown for exports, which would have to be read for it


def survey(workspace: Workspace, config: Config, clock: Clock) -> list[Importable]:
    """Everything that could be imported. Reads, writes nothing; what cannot be read is left out."""
    env, home = os.environ, Path.home()
    found: list[Importable] = []
    for target in _targets(workspace, config, env, home):
        try:
            made = planned(target, workspace, config, clock, env, home)
        except (NacreError, OSError):
            continue
        if made.steps:
            found.append(_row(target, made, home))
    return [*found, *_exports(home)]


def _row(target: Agent | Place, made: ImportPlan, home: Path) -> Importable:
    new = sum(step.action != SKIP for step in made.steps)
    if isinstance(target, Agent):
        return Importable(target.name, "settings" if target.name == "openclaw" else "notes", len(made.steps), new)
    return Importable(shown_path(target.path, home), target.kind, len(made.steps), new)


def _targets(workspace: Workspace, config: Config, env: Mapping[str, str], home: Path) -> Iterator[Agent | Place]:
    for name in agents.NAMES:
        if agents.notes_of(name, config, env, home):
            yield Agent(name)
    if openclaw.settings_file(env, home).is_file():
        yield Agent("openclaw")
    ours = {atomic.real(one) for one in (workspace.root, workspace.tiers(config.tiers.path))}
    state = configured.openclaw_state(env, home)
    others = [*configured.agents(config, env, home).values(), home / ".nacre" / "workspace"]
    for place in dict.fromkeys(atomic.real(one) for one in others):
        if place not in ours and notes.is_workspace(place):
            yield Place(place, "workspace")
    if (state / tiers.NAME).is_dir() and atomic.real(state / tiers.NAME) not in ours:
        yield Place(state / tiers.NAME, "checkpoints")
    here = Path.cwd()
    if atomic.real(here) not in ours and here != home:
        yield from (Place(here / name, "notes") for name in notes.AGENTS if (here / name).is_file())


def _exports(home: Path) -> Iterator[Importable]:
    for folder in (home / name for name in _EXPORTS):
        for path in _newest(folder):
            if not _may_be_export(path):
                continue
            try:
                conversations = export_at(path)
                if conversations is not None:
                    yield Importable(shown_path(path, home), "export", sum(1 for _ in conversations))
            except OSError:
                continue


def _newest(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            dated = [(entry.stat().st_mtime, entry.path) for entry in entries if entry.name[0] != "."]
    except OSError:
        return []
    return [Path(path) for _, path in sorted(dated, reverse=True)[:_MOST]]


def _may_be_export(path: Path) -> bool:
    """By names alone: whether a file or folder holds a conversations.json."""
    try:
        if path.is_dir():
            return any(path.glob("conversations*.json"))
        if path.suffix.lower() == ".zip":
            with zipfile.ZipFile(path) as archive:
                return any(PurePosixPath(name).name.startswith("conversations") for name in archive.namelist())
    except (OSError, zipfile.BadZipFile, ValueError):
        return False
    return path.name.startswith("conversations") and path.suffix == ".json"
