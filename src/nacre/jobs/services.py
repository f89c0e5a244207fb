"""Install what runs the jobs, and remove it: choose the scheduler, plan, apply, record."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from nacre.config.loading import user_config_folder
from nacre.errors import BadInput, NacreError
from nacre.i18n import say
from nacre.jobs import crontab, heartbeat_file, installer, launchd, openclaw, systemd
from nacre.jobs.installer import Planned, Setup, Shown, apply_steps, check_paths
from nacre.vault.lock import hold


class Part(Protocol):
    """Something that can be set up and taken back."""

    def install(self, setup: Setup, entry: Mapping[str, Any], /, *, complete: bool) -> Planned: ...

    def remove(self, setup: Setup, entry: Mapping[str, Any], /) -> Planned: ...


class Kind(Part, Protocol):
    """A scheduler that can run the jobs, where it is there."""

    def answers(self, setup: Setup, /) -> bool: ...


# In the order in which they are chosen: OpenClaw last, because there each run costs a turn of the agent.
KINDS: dict[str, Kind] = {"systemd": systemd, "launchd": launchd, "cron": crontab, "openclaw": openclaw}
AUTO = "auto"


@dataclass(frozen=True)
class Change:
    """One part to be set up or taken back."""

    name: str
    planned: Planned
    removes: bool = False


@dataclass(frozen=True)
class ServicePlan:
    """What would be done to the machine. Without a kind nothing here can run jobs, and the daemon does."""

    setup: Setup
    kind: str | None
    changes: tuple[Change, ...] = ()
    troubles: tuple[NacreError, ...] = ()  # what could not even be planned; the rest does not wait for it

    @property
    def shown(self) -> tuple[Shown, ...]:
        steps = (step for change in self.changes for step in change.planned.steps)
        return tuple(shown for step in steps if (shown := step.shown()))

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(note for change in self.changes for note in change.planned.notes))

    @property
    def changed(self) -> bool:
        return any(change.planned.steps for change in self.changes)


def choose_scheduler(setup: Setup, wanted: str = AUTO) -> str | None:
    """The scheduler to use: the one asked for, the one in use already, or the first that this machine has."""
    if wanted != AUTO:
        if not KINDS[wanted].answers(setup):
            raise BadInput(_not_here(wanted, setup))
        return wanted
    in_use = [kind for kind in installer.installed_kinds(setup.workspace) if kind in KINDS]
    return next((kind for kind in (*in_use, *KINDS) if KINDS[kind].answers(setup)), None)


def _not_here(kind: str, setup: Setup) -> str:
    if kind == "systemd":
        return say(
            '"systemctl --user" does not answer here: there is no systemd session of yours. Choose another way, or --with auto.',
            "“systemctl --user”没有响应：这里没有您的 systemd 会话。请选择其他方式，或使用 --with auto。",
        )
    if kind == "openclaw" and setup.machine.has("openclaw"):
        return say(
            f"{setup.root} is not the workspace of an OpenClaw agent, so OpenClaw does not run its jobs. Choose another way.",
            f"{setup.root} 不是 OpenClaw 代理的工作区，因此 OpenClaw 不会运行它的任务。请选择其他方式。",
        )
    return say(f"This machine has no {kind}. Choose another way, or --with auto.", f"本机没有 {kind}。请选择其他方式，或使用 --with auto。")  # fmt: skip


def plan_install(setup: Setup, wanted: str = AUTO, *, with_heartbeat: bool = False) -> ServicePlan:
    """What has to be done so that the jobs run; what another scheduler was told earlier is taken back."""
    check_paths(setup)
    record = installer.read_installed(setup.workspace)
    kind = choose_scheduler(setup, wanted)
    parts: dict[str, Part] = {kind: KINDS[kind]} if kind else {}
    if with_heartbeat:
        parts[installer.HEARTBEAT_BLOCK] = heartbeat_file
    changes = [
        Change(name, part.install(setup, record.get(name, {}), complete=bool(record.get(name, {}).get("complete"))))
        for name, part in parts.items()
    ]
    old = {name: KINDS[name] for name in KINDS if kind and name in record and name != kind}
    removals, troubles = _removals(setup, record, old)
    return ServicePlan(setup, kind, (*changes, *removals), troubles)


def plan_remove(setup: Setup) -> ServicePlan:
    """Everything that we wrote to make the jobs run, also where the record of it was lost."""
    record = installer.read_installed(setup.workspace)
    changes, troubles = _removals(setup, record, {**KINDS, installer.HEARTBEAT_BLOCK: heartbeat_file})
    return ServicePlan(setup, None, changes, troubles)


def _removals(
    setup: Setup, record: installer.InstalledRecord, parts: Mapping[str, Part]
) -> tuple[tuple[Change, ...], tuple[NacreError, ...]]:
    changes, troubles = [], []
    for name, part in parts.items():
        try:
            planned = part.remove(setup, record.get(name, {}))
        except NacreError as trouble:
            if name in record:  # else a crontab that may not be read, and of which we know nothing
                troubles.append(trouble)
            continue
        if name in record or not planned.ready or planned.notes:
            changes.append(Change(name, planned, removes=True))
    return tuple(changes), tuple(troubles)


def apply_plan(plan: ServicePlan) -> None:
    """Carry it out, one part after the other. What could not be set up is taken back and ends it; what could not be removed stays
    in the record, and is told when the rest was done."""
    troubles = list(plan.troubles)
    with hold(user_config_folder() / "service.lock"):
        for change in plan.changes:
            if not change.removes:
                if not change.planned.ready:
                    _set_up(plan.setup, change)
                continue
            try:
                apply_steps(plan.setup.machine, change.planned.steps)
                installer.record_installed(plan.setup.workspace, change.name, None)
            except NacreError as trouble:
                troubles.append(trouble)
    if troubles:
        raise troubles[0]


def _set_up(setup: Setup, change: Change) -> None:
    workspace, name, entry = setup.workspace, change.name, change.planned.entry
    before = installer.read_installed(workspace).get(name)
    # Written down first: whenever this is cut short, what may have been written is known.
    installer.record_installed(workspace, name, {**installer.record_under_way(before or {}, entry), "complete": False})
    try:
        apply_steps(setup.machine, change.planned.steps)
    except BaseException:
        with contextlib.suppress(NacreError, OSError):
            part: Part = heartbeat_file if name == installer.HEARTBEAT_BLOCK else KINDS[name]
            if before is not None or part.remove(setup, entry).ready:
                installer.record_installed(workspace, name, before)
        raise
    installer.record_installed(workspace, name, {**entry, "complete": True})
