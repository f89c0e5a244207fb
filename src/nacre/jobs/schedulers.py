"""Install what runs the jobs, and remove it: a timer of systemd, an agent of launchd, a line in the crontab, OpenClaw's cron; and HEARTBEAT.md.

The first three look every few minutes whether anything is due: when that is, is known here alone, in the user's time zone. Each is a
`Scheduler`: whether the machine has it, and the steps that install and remove it. One is chosen, planned, applied and recorded.
"""

from __future__ import annotations

import contextlib
import os
import plistlib
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from nacre import disk
from nacre.errors import BadInput, ChangedOutside, NacreError
from nacre.i18n import say
from nacre.jobs import installer, openclaw
from nacre.jobs.installer import (
    HEARTBEAT_BLOCK,
    Entry,
    Machine,
    Planned,
    Setup,
    Step,
    command_step,
    must_run,
    run_command,
)

_MINUTES = 5  # between two looks at what is due
Command = tuple[str, ...]


@dataclass(frozen=True)
class Scheduler:
    """Something that runs jobs: whether it is on this machine, and the plans to install and to remove what it is told."""

    is_here: Callable[[Setup], bool]
    install: Callable[[Setup, Entry], Planned]
    remove: Callable[[Setup, Entry], Planned]


def _file_scheduler(
    is_here: Callable[[Setup], bool],
    folder: Callable[[Machine], Path],
    files: Callable[[Setup], Mapping[str, bytes]],
    is_ours: Callable[[Setup, bytes], bool],
    load: Callable[[Sequence[Path]], Sequence[Command]],
    unload: Callable[[Sequence[Path]], Sequence[Command]],
    note: tuple[str, str] | None = None,
) -> Scheduler:
    """A scheduler that reads files of ours, and has to be told of them and of their end."""

    def change(setup: Setup, wanted: Mapping[str, bytes]) -> tuple[list[Step], list[Step]]:
        """The steps that bring our files to what is wanted, and the commands that end those that are there now."""
        steps, present = [], []
        for path in (folder(setup.machine) / name for name in files(setup)):
            before, after = disk.read_bytes(path), wanted.get(path.name)
            if before is not None and not is_ours(setup, before):
                if wanted:
                    raise ChangedOutside(
                        f"{path} was not written by Nacre for this workspace, so Nacre left it untouched. Move it away and run the command again.",
                        f"{path} 不是 Nacre 为此工作区写入的，Nacre 没有改动它。请将其移走后重新运行命令。",
                    )
                continue
            present += [path] if before is not None else []
            steps += [installer.file_step(path, before, after)] if before != after else []
        return steps, [command_step(setup.machine, command, lenient=True) for command in unload(present)]

    def install(setup: Setup, entry: Entry) -> Planned:
        wanted = files(setup)
        steps, off = change(setup, wanted)
        if not steps and entry.get("complete"):
            return Planned(entry={})
        paths = [folder(setup.machine) / name for name in wanted]
        on = [command_step(setup.machine, command) for command in load(paths)]
        return Planned([*off, *steps, *on], {}, [say(*note)] if note else [])

    def remove(setup: Setup, _entry: Entry) -> Planned:
        """Also when the scheduler does not answer any more."""
        steps, off = change(setup, {})
        on = [command_step(setup.machine, command, lenient=True) for command in load([])]
        return Planned([*off, *steps, *on] if steps else [])

    return Scheduler(is_here, install, remove)


# systemd: a service and its timer.

_SYSTEMCTL = ("systemctl", "--user")


def _systemd_head(setup: Setup) -> str:
    root = setup.root.rstrip("\\")  # a backslash at the end of a line would join it to the next one
    return f'# Written by "nacre jobs install" for {root}; "nacre jobs remove" takes it back.\n'


def systemd_units(setup: Setup) -> dict[str, bytes]:
    """Of the service exit code 11 is no failure: another process is at work on the memory, and the next look sees to what is left. It
    wants no mount namespace and does not forbid executable memory: user managers often may not, and models need it."""
    head, shown = _systemd_head(setup), setup.root.rstrip("\\").replace("%", "%%")
    environment = "".join(f"Environment={_quoted(f'{name}={value}')}\n" for name, value in setup.carried().items())
    values = {"root": shown, "command": exec_line(setup.command()), "environment": environment, "minutes": _MINUTES}
    files = {kind: Path(__file__).with_name(f"systemd.{kind}") for kind in ("service", "timer")}
    return {
        f"nacre@{setup.mark}.{kind}": (head + file.read_text(encoding="utf-8").format(**values)).encode()
        for kind, file in files.items()
    }


def _quoted(text: str) -> str:
    """A word for a unit file, with everything that systemd would read into it taken literally."""
    return '"' + text.replace("%", "%%").replace("\\", "\\\\").replace('"', '\\"') + '"'


def exec_line(command: Command) -> str:
    """A command line for ExecStart, where also variables would be filled in; but in the program's own name they are not."""
    program, *rest = (_quoted(word.replace("$", "$$")) for word in command)
    return " ".join([f"/usr/bin/env {program}" if "$" in command[0] else program, *rest])


def _tell_systemd(verb: str, paths: Sequence[Path]) -> list[Command]:
    timers = [path.name for path in paths if path.suffix == ".timer"]
    return [(*_SYSTEMCTL, verb, "--now", *timers)] if timers else []


_SYSTEMD = _file_scheduler(
    lambda setup: not run_command(setup.machine, (*_SYSTEMCTL, "show-environment"), timeout=20).code,
    lambda machine: Path(machine.env.get("XDG_CONFIG_HOME") or machine.home / ".config") / "systemd" / "user",
    systemd_units,
    lambda setup, data: data.startswith(_systemd_head(setup).encode()),
    lambda paths: [(*_SYSTEMCTL, "daemon-reload"), *_tell_systemd("enable", paths)],
    partial(_tell_systemd, "disable"),
    (
        'The timer runs while you are logged in and catches up when you log in again; "loginctl enable-linger" keeps it running all the time.',
        "计时器只在你登录期间运行，错过的任务会在你下次登录后补上；“loginctl enable-linger”可让它一直运行。",
    ),
)


# launchd: a property list.


def property_lists(setup: Setup) -> dict[str, bytes]:
    values = {
        "Label": f"nacre.{setup.mark}",
        "ProgramArguments": list(setup.command()),
        "StartInterval": 60 * _MINUTES,
        "ProcessType": "Background",
        "LowPriorityIO": True,
        "Nice": 10,
        "Umask": 0o077,
        "StandardOutPath": "/dev/null",  # the journal of runs keeps what came of it
        "StandardErrorPath": "/dev/null",
        "EnvironmentVariables": setup.carried(),
    }
    return {f"nacre.{setup.mark}.plist": plistlib.dumps(values)}


_LAUNCHD = _file_scheduler(
    lambda setup: setup.machine.platform == "darwin" and setup.machine.where("launchctl") is not None,
    lambda machine: machine.home / "Library" / "LaunchAgents",
    property_lists,
    lambda setup, data: setup.mark.encode() in data and b"<string>nacre</string>" in data,
    lambda paths: [("launchctl", "bootstrap", f"gui/{os.getuid()}", str(path)) for path in paths],
    lambda paths: [("launchctl", "bootout", f"gui/{os.getuid()}/{path.stem}") for path in paths],
)


# The user's crontab.


def cron_line(setup: Setup) -> str:
    """The command as cron hands it to the shell; a bare % would end it. What came of it stands in the journal of runs."""
    carried = [f"{name}={value}" for name, value in setup.carried().items()]
    command = shlex.join([*(["env", *carried] if carried else []), *setup.command()])
    return f"{command} >/dev/null 2>&1".replace("%", "\\%")


def _read_crontab(machine: Machine) -> bytes | None:
    command = ("crontab", "-l")
    ran = run_command(machine, command, timeout=20)
    if ran.code == 0:
        return ran.out.encode("utf-8", "surrogateescape")
    if not ran.out.strip() and re.search(r"no crontab|no such file", ran.err, re.IGNORECASE):
        return None
    raise installer.command_failed(command, ran)


def _crontab_steps(setup: Setup, *, install: bool) -> list[Step]:
    """The crontab with our lines up to date at its end, or without them; what somebody put between our markers stays."""
    machine = setup.machine
    before = _read_crontab(machine) if machine.where("crontab") else None
    text = (before or b"").decode("utf-8", "surrogateescape")
    begin, end = f"# nacre {setup.mark} begin", f"# nacre {setup.mark} end"
    block = f"{begin}\n*/{_MINUTES} * * * * {cron_line(setup)}\n{end}\n"
    if install and block in text:
        return []
    place = shlex.join(["--workspace", setup.root]).replace("%", "\\%")
    new_text, is_inside = "", False
    for line in text.splitlines(keepends=True):
        if line.strip() in (begin, end):
            is_inside = line.strip() == begin
        elif not (is_inside and place in line):
            new_text += line
    if install:
        new_text += ("" if not new_text or new_text.endswith("\n") else "\n") + block
    if new_text == text:
        return []

    def put(data: bytes | None) -> None:
        must_run(machine, ("crontab", "-" if data else "-r"), data)

    after = new_text.encode("utf-8", "surrogateescape") or None
    return [installer.edit_step("crontab", partial(_read_crontab, machine), put, before, after)]


_CRON = Scheduler(
    lambda setup: setup.machine.where("crontab") is not None,
    lambda setup, _entry: Planned(_crontab_steps(setup, install=True), {}),
    lambda setup, _entry: Planned(_crontab_steps(setup, install=False)),
)


# In the order in which they are chosen: OpenClaw last, because there each run costs a turn of the agent.
SCHEDULERS = {
    "systemd": _SYSTEMD,
    "launchd": _LAUNCHD,
    "cron": _CRON,
    "openclaw": Scheduler(
        lambda setup: bool(setup.machine.where("openclaw") and openclaw.workspace_agent(setup)),
        openclaw.install_cron,
        openclaw.remove_cron,
    ),
}
# Beside the schedulers: our block in HEARTBEAT.md, only when the user asks for it.
_PARTS = {
    **SCHEDULERS,
    HEARTBEAT_BLOCK: Scheduler(
        lambda _: True, partial(openclaw.plan_heartbeat, install=True), partial(openclaw.plan_heartbeat, install=False)
    ),
}
AUTO = "auto"


@dataclass(frozen=True)
class ServicePlan:
    """What would be done to the machine. Without a kind nothing here can run jobs, and the daemon does."""

    setup: Setup
    kind: str | None
    changes: Mapping[str, Planned] = field(default_factory=dict)  # by the name of the scheduler
    errors: Sequence[NacreError] = ()  # what could not even be planned; the rest does not wait for it

    @property
    def shown(self) -> tuple[Step, ...]:
        return tuple(step for planned in self.changes.values() for step in planned.steps)

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(note for planned in self.changes.values() for note in planned.notes))

    @property
    def changed(self) -> bool:
        return any(planned.steps for planned in self.changes.values())


def choose_scheduler(setup: Setup, wanted: str = AUTO) -> str | None:
    """The scheduler to use: the one asked for, the one in use already, or the first that this machine has."""
    if wanted == AUTO:
        in_use = [kind for kind in installer.installed_kinds(setup.memory.workspace) if kind in SCHEDULERS]
        return next((kind for kind in (*in_use, *SCHEDULERS) if SCHEDULERS[kind].is_here(setup)), None)
    if SCHEDULERS[wanted].is_here(setup):
        return wanted
    if wanted == "systemd":
        raise BadInput(
            '"systemctl --user" does not respond: you have no systemd session here. Choose another scheduler, or use --with auto.',
            "“systemctl --user”没有响应：这里没有你的 systemd 会话。请选择其他调度程序，或使用 --with auto。",
        )
    if wanted == "openclaw" and setup.machine.where("openclaw"):
        raise BadInput(
            f"{setup.root} is not the workspace of an OpenClaw agent, so OpenClaw cannot run its jobs. Choose another scheduler.",
            f"{setup.root} 不是 OpenClaw 智能体的工作区，OpenClaw 不会运行它的任务。请选择其他调度程序。",
        )
    raise BadInput(f"This machine has no {wanted}; use --with auto.", f"本机没有 {wanted}；请使用 --with auto。")


def plan_install(setup: Setup, wanted: str = AUTO, *, with_heartbeat: bool = False) -> ServicePlan:
    """What has to be done so that the jobs run; what another scheduler was told earlier is taken back."""
    installer.refuse_control_characters(*setup.command(), *setup.carried().values())
    record = installer.read_installed(setup.memory.workspace)
    kind = choose_scheduler(setup, wanted)
    names = [*([kind] if kind else []), *([HEARTBEAT_BLOCK] if with_heartbeat else [])]
    changes = {name: _PARTS[name].install(setup, record.get(name, {})) for name in names}
    removals, errors = _removals(setup, [name for name in SCHEDULERS if kind and name in record and name != kind])
    return ServicePlan(setup, kind, {**changes, **removals}, errors)


def plan_remove(setup: Setup) -> ServicePlan:
    """Everything that we wrote to make the jobs run, also where the record of it was lost."""
    return ServicePlan(setup, None, *_removals(setup, _PARTS))


def _removals(setup: Setup, names: Iterable[str]) -> tuple[dict[str, Planned], list[NacreError]]:
    record = installer.read_installed(setup.memory.workspace)
    changes, errors = {}, []
    for name in names:
        try:
            planned = _PARTS[name].remove(setup, record.get(name, {}))
        except NacreError as error:
            if name in record:  # else a crontab that may not be read, and of which we know nothing
                errors.append(error)
            continue
        if name in record or planned.steps or planned.notes:
            changes[name] = planned
    return changes, errors


def apply_plan(plan: ServicePlan) -> None:
    """Carry it out, one part after the other. What could not be installed is taken back and ends it; what could not be removed stays
    in the record, and is raised when the rest was done."""
    errors = list(plan.errors)
    with installer.machine_lock("service"):
        for name, planned in plan.changes.items():
            if planned.entry is not None:
                _install(plan.setup, name, planned.steps, planned.entry)
                continue
            try:
                apply_steps(planned.steps)
                installer.record_installed(plan.setup.memory.workspace, name, None)
            except NacreError as error:
                errors.append(error)
    if errors:
        raise errors[0]


def _install(setup: Setup, name: str, steps: Sequence[Step], entry: Entry) -> None:
    """Carry out an installation; one that fails is taken back whole. It is written down first: it may be cut short at any step."""
    workspace = setup.memory.workspace
    if not steps and installer.read_installed(workspace).get(name, {}).get("complete"):
        return
    installer.record_installed(workspace, name, {**entry, "complete": False})
    try:
        apply_steps(steps)
    except BaseException:
        with contextlib.suppress(NacreError, OSError):
            apply_steps(_PARTS[name].remove(setup, entry).steps)
            installer.record_installed(workspace, name, None)
        raise
    installer.record_installed(workspace, name, {**entry, "complete": True})


def apply_steps(steps: Sequence[Step]) -> None:
    for step in steps:
        step.do()
