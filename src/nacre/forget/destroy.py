"""Removes a workspace's memory for good, listed first."""

from __future__ import annotations

import contextlib
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from nacre import disk
from nacre.config.settings import Config
from nacre.disk import hold, lock
from nacre.errors import NacreError, cannot_write
from nacre.model import Workspace
from nacre.vault import rules
from nacre.vault.discover import trust_workspace
from nacre.vault.entries import document
from nacre.vault.storage import TIERS

_PLAIN = ("MEMORY.md", "SESSION-STATE.md", "refcount.json", "promote_report.md")


@dataclass(frozen=True)
class DestroyPlan:
    """The files and folders to delete, what remains of AGENTS.md, and layers elsewhere that are kept."""

    workspace: Workspace
    doomed: tuple[Path, ...]
    agents: bytes | None  # what AGENTS.md will hold; None when it stays as it is
    kept_tiers: Path | None = None

    @property
    def shown(self) -> list[str]:
        return [self.workspace.relative(path) + "/" * _is_folder(path) for path in self.doomed]


def plan_destroy(workspace: Workspace, config: Config) -> DestroyPlan:
    """What destroying the workspace would remove. Touches nothing."""
    root, layers = workspace.root, workspace.tiers(config.tiers.path)
    folders = [layers / tier for tier in TIERS]
    inside = root in Path(os.path.normpath(layers)).parents
    paths = [*(root / name for name in _PLAIN), *sorted(workspace.projects.glob("*/MEMORY.md")), workspace.memory]
    if inside and os.path.normpath(layers) == os.path.normpath(workspace.tiers(None)):
        paths.append(layers)
    elif inside:  # in a folder that the user named there may be more than layers
        paths += folders
    paths.append(workspace.machine)
    doomed = tuple(path for path in paths if _is_reached(root, path))
    kept = layers if not inside and any(folder.is_dir() for folder in folders) else None
    agents = root / "AGENTS.md"
    try:
        data = disk.read_bytes(agents)
        rest = rules.without_block(document(agents, data)) if data is not None else None
    except NacreError:
        data = rest = None  # not UTF-8: what we wrote is, so it is not ours any more
    return DestroyPlan(workspace, doomed, None if rest == data else rest, kept)


def _is_reached(root: Path, path: Path) -> bool:
    """Whether a path exists and is not behind a link: what a link leads to is not deleted."""
    above = path.parents
    inside = above[: above.index(root)] if root in above else []
    return os.path.lexists(path) and not any(folder.is_symlink() for folder in inside)


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def apply_destroy(plan: DestroyPlan) -> None:
    """Delete everything planned. Repeating it completes an interrupted run."""
    workspace = plan.workspace
    agents, projects = workspace.root / "AGENTS.md", workspace.projects
    with contextlib.ExitStack() as held:
        if workspace.machine.is_dir():  # nobody is to write what is being removed
            held.enter_context(hold(workspace.machine / "sync.lock"))
            held.enter_context(lock(workspace))
        if plan.agents is not None:
            disk.write(agents, plan.agents) if plan.agents.strip() else disk.remove(agents)  # it held only our rules
        for path in plan.doomed:
            if path != workspace.machine and _is_reached(workspace.root, path):
                _remove(path)
        _remove(workspace.machine)
    for folder in (*sorted(projects.glob("*")), projects) if _is_folder(projects) else ():
        if _is_folder(folder) and not any(folder.iterdir()):
            folder.rmdir()
    disk.clean_stale(workspace.root)
    trust_workspace(workspace.root, trust=False)


def _remove(path: Path) -> None:
    """Delete a folder with its content, a file, or a link itself, never its target."""
    try:
        shutil.rmtree(path) if _is_folder(path) else path.unlink(missing_ok=True)
    except OSError as error:
        raise cannot_write(path, error) from error
