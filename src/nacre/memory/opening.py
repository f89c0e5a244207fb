"""Which workspace is meant, and what it is opened with: its settings, its clock, trouble found on the way."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from nacre import config as settings
from nacre.clock import Clock, zone
from nacre.config import Config
from nacre.errors import NoWorkspace
from nacre.model.problem import Problem
from nacre.vault.ownfiles import check_own_files
from nacre.vault.workspace import Workspace
from nacre.words import language, say, use_language


@dataclass(frozen=True)
class Opened:
    """A workspace with what holds for it."""

    workspace: Workspace
    config: Config
    clock: Clock
    problems: tuple[Problem, ...] = ()


def initialised(path: str | Path | None, now: str | None) -> Opened:
    """The folder as a workspace, made one where it is none yet."""
    from nacre.vault import create

    root = Path(path).expanduser() if path else default_place()
    check_own_files(Workspace(root))
    config, clock = _set_up(root, now)
    return Opened(create.init(root.absolute(), clock, language=language(), config=config), config, clock)


def found(path: str | Path | None, now: str | None, agent: str | None) -> Opened:
    """The workspace named, by its path or its agent, or the one that discovery finds."""
    from nacre.vault.discover import find

    place = find(path or (_workspace_of(agent) if agent else None), config=settings.load())
    check_own_files(place.workspace)
    config, clock = _set_up(place.workspace.root, now)
    return Opened(place.workspace, config, clock, tuple(place.problems))


def several_agents() -> tuple[str, ...]:
    """The agents whose workspaces are meant together where nobody names one; none when there is only one, or when the
    current folder or the environment names a workspace."""
    from nacre.vault.discover import find

    names = tuple(name for name, place in _agents().items() if place.is_dir())
    if len(names) > 1 and find(None, config=settings.load()).origin in ("openclaw", "settings", "default"):
        return names
    return ()


def default_place() -> Path:
    """Where a workspace is made when nobody names a place."""
    for name in ("NACRE_WORKSPACE", "OPENCLAW_WORKSPACE"):
        if os.environ.get(name):
            return Path(os.environ[name]).expanduser()
    chosen = settings.load().workspace
    if chosen:
        return Path(chosen).expanduser()
    from nacre.vault.agents import openclaw_workspace

    home = Path.home()
    return openclaw_workspace(settings.load(), os.environ, home) or home / ".nacre" / "workspace"


def _workspace_of(agent: str) -> Path:
    known = _agents()
    if agent.lower() in known:
        return known[agent.lower()]
    names = ", ".join(known) or "-"
    raise NoWorkspace(
        say(
            f'No agent "{agent}" is configured; there are: {names}.',
            f"没有配置代理“{agent}”；现有：{names}。",
        )
    )


def _agents() -> dict[str, Path]:
    from nacre.vault.agents import agents

    return agents(settings.load())


def _set_up(root: Path, now: str | None) -> tuple[Config, Clock]:
    """The settings and the clock of a workspace."""
    config = settings.load(root)
    if config.language != "auto":
        use_language(config.language)
    clock = Clock(zone(config.timezone)).at(now or os.environ.get("NACRE_NOW") or None)
    return config, clock
