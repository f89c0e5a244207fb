"""Finding the workspace: named, or the nearest trusted one above the current folder, or the user's own."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from nacre.config import Config
from nacre.errors import NoWorkspace
from nacre.model.problem import Problem
from nacre.vault.trust import is_trusted
from nacre.vault.workspace import Workspace
from nacre.words import say


@dataclass(frozen=True)
class Found:
    """The workspace, what led to it, and notes for the user about places that were passed over."""

    workspace: Workspace
    origin: str  # "flag", "NACRE_WORKSPACE", "OPENCLAW_WORKSPACE", "parent", "settings", "openclaw", "default"
    problems: tuple[Problem, ...] = ()


def find(
    named: str | Path | None = None,
    *,
    config: Config | None = None,
    env: Mapping[str, str] | None = None,
    home: Path | None = None,
    cwd: Path | None = None,
    trust_folder: Path | None = None,
) -> Found:
    """The workspace to work on; `NoWorkspace` when the chosen place is none."""
    env = os.environ if env is None else env
    home = home or Path.home()
    wanted = (("flag", named), *((name, env.get(name)) for name in ("NACRE_WORKSPACE", "OPENCLAW_WORKSPACE")))
    for origin, place in wanted:
        if place:
            return _existing(expand(str(place), home, cwd), origin, ())
    problems: list[Problem] = []
    if above := _trusted_parent(cwd, home, trust_folder, problems):
        return Found(Workspace(above), "parent", tuple(problems))
    if config and config.workspace:
        return _existing(expand(config.workspace, home, cwd), "settings", tuple(problems))
    from nacre.vault.agents import agents, openclaw_workspace

    if openclaw := openclaw_workspace(config, env, home):
        return Found(Workspace(openclaw), "openclaw", tuple(problems))
    usual = home / ".nacre" / "workspace"
    places = () if is_workspace(usual) else agents(config, env, home).values()
    if other := next((place for place in places if place.is_dir() and is_workspace(place)), None):
        return Found(Workspace(other), "settings", tuple(problems))  # agents without a default workspace
    return _existing(usual, "default", tuple(problems))


def is_workspace(root: Path) -> bool:
    """Whether a folder holds memory: ours, or an agent's."""
    return any((root / name).exists() for name in (".nacre", "MEMORY.md", "memory", "AGENTS.md"))


def expand(place: str, home: Path, cwd: Path | None = None) -> Path:
    """A path as the user wrote it: `~` is the home folder, a relative one begins at the current folder."""
    if place == "~" or place.startswith(("~/", "~\\")):
        return Path(os.path.normpath(home / place[2:]))
    return Path(os.path.normpath((cwd or Path.cwd()) / place)) if not Path(place).is_absolute() else Path(place)


def _existing(root: Path, origin: str, problems: tuple[Problem, ...]) -> Found:
    if root.is_dir() and is_workspace(root):
        return Found(Workspace(root), origin, problems)
    command = "nacre init" if origin == "default" else f"nacre init {root}"
    notes = "".join(f" {one.message} ({one.remedy})" for one in problems)
    raise NoWorkspace(
        say(f'There is no workspace at {root}. Make one with "{command}".', f"{root} 没有工作区。可用“{command}”创建。")
        + notes
    )


def _trusted_parent(cwd: Path | None, home: Path, trust_folder: Path | None, problems: list[Problem]) -> Path | None:
    try:
        here = Path(os.path.abspath(cwd or Path.cwd()))
    except FileNotFoundError:  # the current folder is gone
        return None
    for folder in (here, *here.parents):
        if not _has_marker(folder):
            continue
        if is_trusted(folder, trust_folder):
            return folder
        if not _is_home(folder, home):
            problems.append(_untrusted(folder))
    return None


def _has_marker(folder: Path) -> bool:
    try:
        return (folder / ".nacre").is_dir()
    except OSError:
        return False


def _is_home(folder: Path, home: Path) -> bool:
    """`~/.nacre` holds the user's own default workspace; it makes no workspace of the home folder."""
    return os.path.realpath(folder) == os.path.realpath(home)


def _untrusted(folder: Path) -> Problem:
    return Problem(
        "not trusted",
        say(
            f"{folder} holds a workspace that you have not trusted; it was neither read nor written.",
            f"{folder} 中有一个您尚未信任的工作区；未读取也未写入。",
        ),
        str(folder),
        remedy=f"nacre trust {folder}",
    )
