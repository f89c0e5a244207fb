"""Everything that Nacre wrote outside of memory: workspaces with their jobs and daemons, caches, lines in shell files."""

from __future__ import annotations

import contextlib
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from nacre.agents.connection import FileChange, plan_rules
from nacre.errors import NacreError, cannot_write
from nacre.jobs.installer import Machine, Setup
from nacre.jobs.schedulers import ServicePlan, plan_remove
from nacre.memory import Memory, cache_folders, is_workspace, trusted_workspaces

_SHELL_FILES = (".bashrc", ".bash_profile", ".profile", ".zshrc", ".zprofile", ".config/fish/config.fish")
_COMPLETIONS = (
    ".config/fish/completions/nacre.fish",
    ".local/share/bash-completion/completions/nacre",
    ".zfunc/_nacre",
)


@dataclass(frozen=True)
class InstalledWorkspace:
    """A workspace on this machine: what runs its jobs, the daemon that serves it, our rules in its AGENTS.md."""

    memory: Memory
    jobs: ServicePlan
    daemon: int | None
    rules: FileChange | None

    @property
    def changed(self) -> bool:
        return bool(self.jobs.changed or self.daemon or self.rules)


def installed_workspaces(memory: Memory | None, machine: Machine) -> list[InstalledWorkspace]:
    """Every workspace that Nacre was ever told to trust, and the one at hand."""
    from nacre.daemon.process import daemon_process

    roots = dict.fromkeys([*([os.path.realpath(memory.workspace.root)] if memory else ()), *trusted_workspaces()])
    workspaces = []
    for root in filter(lambda root: is_workspace(Path(root)), roots):
        with contextlib.suppress(NacreError):  # a workspace that cannot even be opened has nothing of ours running
            opened = Memory.open(root)
            jobs = plan_remove(Setup(opened, machine))
            daemon = daemon_process(opened.workspace) if hasattr(os, "getuid") else None
            workspaces.append(InstalledWorkspace(opened, jobs, daemon, plan_rules(opened.workspace, "en", out=True)))
    return workspaces


def caches() -> dict[Path, int]:
    """The folders that can be made again, with their sizes."""
    folders = filter(Path.is_dir, cache_folders())
    return {place: sum(path.lstat().st_size for path in place.rglob("*") if not path.is_dir()) for place in folders}


def remove_cache(folder: Path) -> None:
    try:
        shutil.rmtree(folder)
    except OSError as error:
        raise cannot_write(folder, error) from error


def completions(home: Path) -> list[str]:
    """Where the user made a shell know our completion: files, or lines of files. They are the user's, so they are only named."""
    places = [str(home / name) for name in _COMPLETIONS if (home / name).is_file()]
    for path in (home / name for name in _SHELL_FILES if (home / name).is_file()):
        lines = path.read_text("utf-8", errors="replace").splitlines()
        places += [f"{path}:{at}" for at, line in enumerate(lines, 1) if "nacre completion" in line]
    return places
