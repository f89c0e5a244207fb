"""Install what runs the jobs, and remove it: choose the scheduler, plan, apply, record."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nacre.errors import BadInput, NacreError
from nacre.jobs import installer
from nacre.jobs.installer import HEARTBEAT_BLOCK, Entry, Planned, Setup, Step
from nacre.jobs.schedulers import HEARTBEAT_FILE, SCHEDULERS, Scheduler

AUTO = "auto"


@dataclass(frozen=True)
class Change:
    name: str
    planned: Planned
    removes: bool = False


@dataclass(frozen=True)
class ServicePlan:
    """What would be done to the machine. Without a kind nothing here can run jobs, and the daemon does."""

    setup: Setup
    kind: str | None
    changes: Sequence[Change] = ()
    errors: Sequence[NacreError] = ()  # what could not even be planned; the rest does not wait for it

    @property
    def shown(self) -> tuple[Step, ...]:
        return tuple(step for change in self.changes for step in change.planned.steps if step.path or step.command)

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(note for change in self.changes for note in change.planned.notes))

    @property
    def changed(self) -> bool:
        return any(change.planned.steps for change in self.changes)


def choose_scheduler(setup: Setup, wanted: str = AUTO) -> str | None:
    """The scheduler to use: the one asked for, the one in use already, or the first that this machine has."""
    if wanted == AUTO:
        in_use = [kind for kind in installer.installed_kinds(setup.memory.workspace) if kind in SCHEDULERS]
        return next((kind for kind in (*in_use, *SCHEDULERS) if SCHEDULERS[kind].is_here(setup)), None)
    if SCHEDULERS[wanted].is_here(setup):
        return wanted
    if wanted == "systemd":
        raise BadInput(
            '"systemctl --user" does not answer here: there is no systemd session of yours. Choose another way, or --with auto.',
            "“systemctl --user”没有响应：这里没有您的 systemd 会话。请选择其他方式，或使用 --with auto。",
        )
    if wanted == "openclaw" and setup.machine.has("openclaw"):
        raise BadInput(
            f"{setup.root} is not the workspace of an OpenClaw agent, so OpenClaw does not run its jobs. Choose another way.",
            f"{setup.root} 不是 OpenClaw 代理的工作区，因此 OpenClaw 不会运行它的任务。请选择其他方式。",
        )
    raise BadInput(
        f"This machine has no {wanted}. Choose another way, or --with auto.",
        f"本机没有 {wanted}。请选择其他方式，或使用 --with auto。",
    )


def plan_install(setup: Setup, wanted: str = AUTO, *, with_heartbeat: bool = False) -> ServicePlan:
    """What has to be done so that the jobs run; what another scheduler was told earlier is taken back."""
    setup.check()
    record = installer.read_installed(setup.memory.workspace)
    kind = choose_scheduler(setup, wanted)
    parts = {kind: SCHEDULERS[kind]} if kind else {}
    if with_heartbeat:
        parts[HEARTBEAT_BLOCK] = HEARTBEAT_FILE
    changes = [Change(name, part.install(setup, record.get(name, {}))) for name, part in parts.items()]
    old = {name: part for name, part in SCHEDULERS.items() if kind and name in record and name != kind}
    removals, errors = _removals(setup, record, old)
    return ServicePlan(setup, kind, [*changes, *removals], errors)


def plan_remove(setup: Setup) -> ServicePlan:
    """Everything that we wrote to make the jobs run, also where the record of it was lost."""
    record = installer.read_installed(setup.memory.workspace)
    return ServicePlan(setup, None, *_removals(setup, record, {**SCHEDULERS, HEARTBEAT_BLOCK: HEARTBEAT_FILE}))


def _removals(
    setup: Setup, record: Mapping[str, Entry], parts: Mapping[str, Scheduler]
) -> tuple[list[Change], list[NacreError]]:
    changes, errors = [], []
    for name, part in parts.items():
        try:
            planned = part.remove(setup, record.get(name, {}))
        except NacreError as error:
            if name in record:  # else a crontab that may not be read, and of which we know nothing
                errors.append(error)
            continue
        if name in record or not planned.ready or planned.notes:
            changes.append(Change(name, planned, removes=True))
    return changes, errors


def apply_plan(plan: ServicePlan) -> None:
    """Carry it out, one part after the other. What could not be installed is taken back and ends it; what could not be removed stays
    in the record, and is raised when the rest was done."""
    errors = list(plan.errors)
    with installer.machine_lock("service"):
        for change in plan.changes:
            if not change.removes:
                if not change.planned.ready:
                    _install(plan.setup, change)
                continue
            try:
                apply_steps(change.planned.steps)
                installer.record_installed(plan.setup.memory.workspace, change.name, None)
            except NacreError as error:
                errors.append(error)
    if errors:
        raise errors[0]


def _install(setup: Setup, change: Change) -> None:
    workspace, name, entry = setup.memory.workspace, change.name, change.planned.entry
    before = installer.read_installed(workspace).get(name)
    # Written down first: whenever this is cut short, what may have been written is known.
    installer.record_installed(workspace, name, {**installer.record_under_way(before or {}, entry), "complete": False})
    try:
        apply_steps(change.planned.steps)
    except BaseException:
        with contextlib.suppress(NacreError, OSError):
            part = {**SCHEDULERS, HEARTBEAT_BLOCK: HEARTBEAT_FILE}[name]
            if before is not None or part.remove(setup, entry).ready:
                installer.record_installed(workspace, name, before)
        raise
    installer.record_installed(workspace, name, {**entry, "complete": True})


def apply_steps(steps: Sequence[Step]) -> None:
    """Do the steps; when one fails, undo all that were begun, the last first."""
    begun: list[Step] = []
    try:
        for step in steps:
            begun.append(step)
            step.do()
    except BaseException:
        for step in reversed(begun):
            with contextlib.suppress(NacreError, OSError):
                step.undo()
        raise
