"""Everything that Nacre wrote outside of memory: workspaces with their jobs, daemons and rules."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

from nacre.agents.connection import FileChange, plan_rules
from nacre.errors import NacreError
from nacre.jobs.installer import Machine, Setup
from nacre.jobs.schedulers import ServicePlan, plan_remove
from nacre.memory import Memory, is_workspace, trusted_workspaces


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
