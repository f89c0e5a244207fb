"""nacre import: what is it → what of it is not here yet → written as one change."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from nacre.brain.local.judge import Judge
from nacre.capture.imports import agents, exports, notes, openclaw, refcount, tiers
from nacre.capture.imports.plan import ImportPlan, ImportReport, apply
from nacre.capture.imports.which import Agent, Place, which
from nacre.capture.run import moment_of, setting_of
from nacre.capture.sync import Progress
from nacre.clock import Clock
from nacre.config import Config
from nacre.errors import BadInput, NotFound
from nacre.vault import atomic
from nacre.vault.lock import lock
from nacre.vault.workspace import Workspace
from nacre.words import say


def import_(
    what: str,
    workspace: Workspace,
    config: Config,
    clock: Clock,
    judge: Callable[[], Judge],
    *,
    since: str | None = None,
    progress: Progress | None = None,
    dry_run: bool = False,
) -> ImportReport:
    """Take in what a path or an agent's name stands for. Doing it again changes nothing."""
    home = Path.home()
    found = which(what, home)
    if isinstance(found, Place) and found.kind == "export":
        setting = setting_of(workspace, config, clock, judge)
        begin = moment_of(since, clock) if since else None
        return exports.take(found.path, setting, since=begin, progress=progress, dry_run=dry_run)
    if since:
        raise BadInput(say("--since is for chat exports only.", "--since 仅用于聊天导出。"))
    if dry_run:
        made = planned(found, workspace, config, clock, os.environ, home)
    else:
        with lock(workspace):  # from looking to writing, so that two imports at a time do not write the same twice
            made = planned(found, workspace, config, clock, os.environ, home)
            apply(made, workspace, clock, config)
    kind, origin = (found.kind, str(found.path)) if isinstance(found, Place) else _about(found)
    return ImportReport(kind, origin, made.steps, made.unreadable)


def planned(
    found: Agent | Place, workspace: Workspace, config: Config, clock: Clock, env: Mapping[str, str], home: Path
) -> ImportPlan:
    """What an import would do, but for chat exports."""
    if isinstance(found, Agent):
        return _of_agent(found.name, workspace, config, clock, env, home)
    path, kind = found.path, found.kind
    if kind == "settings":
        return openclaw.plan(path, env, home)
    _must_lie_elsewhere(path, workspace, config)
    if kind == "refcount":
        return refcount.plan(path / refcount.NAME if path.is_dir() else path, workspace, config, home)
    made = ImportPlan()
    if kind in ("checkpoints", "workspace") and (layers := tiers.layers_in(path)):
        made += tiers.plan(layers, workspace, config, home)
    if kind == "workspace":
        made += notes.plan(notes.of_workspace(path), workspace, clock, home)
    if kind == "notes":
        listed = notes.of_folder(path, workspace) if path.is_dir() else [notes.of_file(path)]
        made += notes.plan(listed, workspace, clock, home)
    return made


def _of_agent(
    name: str, workspace: Workspace, config: Config, clock: Clock, env: Mapping[str, str], home: Path
) -> ImportPlan:
    if name == "openclaw":
        return openclaw.plan(openclaw.settings_file(env, home), env, home)
    found = agents.notes_of(name, config, env, home)
    if not found:
        raise NotFound(
            say(
                f"{name} has written nothing down on this machine that could be imported.",
                f"本机没有 {name} 写下的可导入内容。",
            )
        )
    return notes.plan(found, workspace, clock, home)


def _about(found: Agent) -> tuple[str, str]:
    return "settings" if found.name == "openclaw" else "notes", found.name


def _must_lie_elsewhere(path: Path, workspace: Workspace, config: Config) -> None:
    """What lies in the workspace is memory already."""
    real = atomic.real(path)
    for root in (workspace.root, workspace.tiers(config.tiers.path)):
        place = atomic.real(root)
        if real == place or place in real.parents:
            raise BadInput(
                say(
                    f"{path} lies in this workspace already: there is nothing to import.",
                    f"{path} 已在此工作区内：无需导入。",
                )
            )
