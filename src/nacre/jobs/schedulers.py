"""Install what runs the jobs, and remove it: timers of systemd, agents of launchd, the crontab, OpenClaw's cron; and HEARTBEAT.md.

Each is a `Scheduler`: whether the machine has it, and the steps that install and remove it. One is chosen, planned, applied and recorded.
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
from typing import Any

from nacre.clock import duration
from nacre.errors import BadInput, ChangedOutside, NacreError
from nacre.i18n import say
from nacre.jobs import installer, openclaw, schedule
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
from nacre.jobs.schedule import JOB_NAMES, shifted, zone_difference
from nacre.vault import disk


@dataclass(frozen=True)
class Scheduler:
    """Something that runs jobs: whether it is on this machine, and the plans to install and to remove what it is told."""

    is_here: Callable[[Setup], bool]
    install: Callable[[Setup, Entry], Planned]
    remove: Callable[[Setup, Entry], Planned]


# systemd: one service and one timer for each job.

_SYSTEMCTL = ("systemctl", "--user")
_RELOAD = (*_SYSTEMCTL, "daemon-reload")
_HEAD = '# Written by "nacre jobs install" for {root}; "nacre jobs remove" takes it back.\n'

# 11: another process is at work on the memory; the next heartbeat sees to what is left.
# Nothing that wants a mount namespace or forbids executable memory: user managers often may not, and models need it.
_SERVICE = """\
[Unit]
Description=Nacre {job} for {root}

[Service]
Type=oneshot
ExecStart={command}
{environment}SuccessExitStatus=11
TimeoutStartSec=2h
Nice=10
IOSchedulingClass=idle
UMask=0077
NoNewPrivileges=yes
LockPersonality=yes
RestrictRealtime=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6
SystemCallArchitectures=native
"""

_TIMER = """\
[Unit]
Description=When Nacre {job} runs for {root}

[Timer]
{events}Persistent=true
RandomizedDelaySec={jitter}

[Install]
WantedBy=timers.target
"""


def _systemd_folder(machine: Machine) -> Path:
    base = machine.env.get("XDG_CONFIG_HOME")
    return (Path(base) if base else machine.home / ".config") / "systemd" / "user"


def systemd_units(setup: Setup) -> dict[str, str]:
    head, shown = _systemd_head(setup), setup.root.rstrip("\\").replace("%", "%%")
    config = setup.memory.config
    jitter = f"{min(duration(config.jobs.jitter).total_seconds(), 3600):.0f}s"
    environment = "".join(f"Environment={_quoted(f'{name}={value}')}\n" for name, value in setup.carried().items())
    units: dict[str, str] = {}
    for job, some in setup.times().items():
        events = "".join(
            f"OnCalendar={event}\n" for times in some for event in schedule.calendar_events(times, config.timezone)
        )
        command = exec_line(setup.command(job))
        service = _SERVICE.format(job=job, root=shown, command=command, environment=environment)
        units[f"nacre-{job}@{setup.mark}.service"] = head + service
        units[f"nacre-{job}@{setup.mark}.timer"] = head + _TIMER.format(
            job=job, root=shown, events=events, jitter=jitter
        )
    return units


def _systemd_head(setup: Setup) -> str:
    return _HEAD.format(root=setup.root.rstrip("\\"))  # a backslash at the end of a line would join it to the next one


def _quoted(text: str) -> str:
    """A word for a unit file, with everything that systemd would read into it taken literally."""
    return '"' + text.replace("%", "%%").replace("\\", "\\\\").replace('"', '\\"') + '"'


def exec_line(command: tuple[str, ...]) -> str:
    """A command line for ExecStart, where also variables would be filled in; but in the program's own name they are not."""
    program, *rest = (_quoted(word.replace("$", "$$")) for word in command)
    return " ".join([f"/usr/bin/env {program}" if "$" in command[0] else program, *rest])


def _systemd_files(setup: Setup, entry: Entry, wanted: Mapping[str, bytes]) -> tuple[list[Step], list[ChangedOutside]]:
    names = [f"nacre-{job}@{setup.mark}.{kind}" for job in JOB_NAMES for kind in ("service", "timer")]
    head = _systemd_head(setup).encode()
    folder = _systemd_folder(setup.machine)
    return installer.file_steps(folder, wanted, names, entry, lambda data: data.startswith(head))


def _install_systemd(setup: Setup, entry: Entry) -> Planned:
    """Units that are missing or out of date, and the calls that make systemd know them."""
    wanted = {name: text.encode() for name, text in systemd_units(setup).items()}
    files, errors = _systemd_files(setup, entry, wanted)
    if errors:
        raise errors[0]
    if not files and entry.get("complete"):
        return Planned(entry=_record_of(wanted))
    call = partial(command_step, setup.machine)
    timers = tuple(name for name in wanted if name.endswith(".timer"))
    removed = tuple(Path(step.path).name for step in files if step.after is None and step.path.endswith(".timer"))
    steps = [call((*_SYSTEMCTL, "disable", "--now", *removed), lenient=True)] if removed else []
    # A step that does nothing, so that systemd is told anew after the files were taken back.
    steps += [Step(lambda: None, partial(run_command, setup.machine, _RELOAD)), *files, call(_RELOAD)]
    if timers:
        # Taken back, a first installation leaves nothing switched on; a later one goes on with what it was.
        first = not any(step.before for step in files) and not entry.get("complete")
        stop = (*_SYSTEMCTL, "disable", "--now", *timers) if first else ()
        steps += [call((*_SYSTEMCTL, "enable", *timers), undo=stop), call((*_SYSTEMCTL, "restart", *timers))]
    note = say(
        'The timers run while you are logged in, and catch up when you come back; "loginctl enable-linger" lets them run always.',
        "计时器在您登录期间运行，错过的会在您回来后补上；“loginctl enable-linger”可让它们一直运行。",
    )
    return Planned(steps, _record_of(wanted), (note,))


def _record_of(files: Mapping[str, bytes]) -> Entry:
    return {"files": {name: [disk.digest(data)] for name, data in files.items()}}


def _remove_systemd(setup: Setup, entry: Entry) -> Planned:
    """Timers switched off and their files removed; also when systemd does not answer any more."""
    files, errors = _systemd_files(setup, entry, {})
    folder, timers = _systemd_folder(setup.machine), [f"nacre-{job}@{setup.mark}.timer" for job in JOB_NAMES]
    links = [link for name in timers if (link := folder / "timers.target.wants" / name).is_symlink()]
    enabled = [name for name in timers if (folder / name).exists() or name in [link.name for link in links]]
    notes = [str(error) for error in errors]
    if not files and not enabled:
        return Planned(notes=notes)
    call = partial(command_step, setup.machine, lenient=True)
    verbs = (("disable", "--now"), ("clean", "--what=state")) if enabled else ()
    # systemctl removes the links by which timers were enabled, where it still answers.
    note = say("link, removed", "链接，移除")
    unlinks = [Step(partial(link.unlink, missing_ok=True), path=str(link), note=note) for link in links]
    return Planned(
        [*(call((*_SYSTEMCTL, *verb, *enabled)) for verb in verbs), *files, *unlinks, call(_RELOAD)], notes=notes
    )


# launchd: one property list for each job. It knows no time zones: the times are those of the system's clock.


def property_lists(setup: Setup) -> dict[str, bytes]:
    ahead = zone_difference(setup.memory.clock)
    made: dict[str, bytes] = {}
    for job, some in setup.times().items():
        label = f"nacre.{job}.{setup.mark}"
        values: dict[str, Any] = {
            "Label": label,
            "ProgramArguments": list(setup.command(job)),
            "StartCalendarInterval": [
                interval
                for times in some
                for local in shifted(times, ahead)
                for interval in schedule.calendar_intervals(local)
            ],
            "ProcessType": "Background",
            "LowPriorityIO": True,
            "Nice": 10,
            "Umask": 0o077,
            "StandardOutPath": "/dev/null",  # the journal of runs keeps what came of it
            "StandardErrorPath": "/dev/null",
        }
        if carried := setup.carried():
            values["EnvironmentVariables"] = carried
        made[f"{label}.plist"] = plistlib.dumps(values)
    return made


def _launchd_files(
    setup: Setup, entry: Entry, wanted: Mapping[str, bytes]
) -> tuple[Path, list[Step], list[ChangedOutside]]:
    def is_ours(data: bytes) -> bool:
        try:
            return bool(plistlib.loads(data)["ProgramArguments"][-2:] == ["--workspace", setup.root])
        except (plistlib.InvalidFileException, ValueError, KeyError, TypeError):
            return False

    folder = setup.machine.home / "Library" / "LaunchAgents"
    names = [f"nacre.{job}.{setup.mark}.plist" for job in JOB_NAMES]
    return folder, *installer.file_steps(folder, wanted, names, entry, is_ours)


def _unload(path: str) -> tuple[str, ...]:
    return ("launchctl", "bootout", f"gui/{os.getuid()}/{Path(path).stem}")


def _install_launchd(setup: Setup, entry: Entry) -> Planned:
    """Property lists that are missing or out of date, each loaded anew."""
    wanted = property_lists(setup)
    folder, files, errors = _launchd_files(setup, entry, wanted)
    if errors:
        raise errors[0]
    steps: list[Step] = []
    for step in files:
        if step.before is not None:
            steps.append(command_step(setup.machine, _unload(step.path), lenient=True))
        steps.append(step)
    changed = {step.path for step in files}
    for path in (str(folder / name) for name in wanted):
        if not entry.get("complete") or path in changed:
            load = ("launchctl", "bootstrap", f"gui/{os.getuid()}", path)
            steps.append(command_step(setup.machine, load, undo=_unload(path)))
    return Planned(steps, _record_of(wanted), _zone_notes(setup) if steps else ())


def _remove_launchd(setup: Setup, entry: Entry) -> Planned:
    _, files, errors = _launchd_files(setup, entry, {})
    steps = [part for step in files for part in (command_step(setup.machine, _unload(step.path), lenient=True), step)]
    return Planned(steps, notes=[str(error) for error in errors])


def _zone_notes(setup: Setup) -> list[str]:
    changes = schedule.changes_within_a_year(setup.memory.clock)
    if not zone_difference(setup.memory.clock) and not changes:
        return []
    zone = setup.memory.config.timezone
    note = say(
        f"This scheduler knows no time zones: the times of {zone} were converted to the system's.",
        f"此计划程序不支持时区：{zone} 的时间已换算为系统时间。",
    )
    again = say(' Run "nacre jobs install" again after a clock change.', "夏令时切换后请重新运行“nacre jobs install”。")
    return [note + (again if changes else "")]


# The user's crontab.

_CRONTAB_LINE = 990  # bytes that classic crons read of a line


def _cron_markers(setup: Setup) -> tuple[str, str]:
    return f"# nacre {setup.mark} begin", f"# nacre {setup.mark} end"


def _cron_block(setup: Setup, before: str, zone: str | None) -> str:
    """Our lines with their markers; `zone` is for a cron that knows zones."""
    begin, end = _cron_markers(setup)
    ahead = zone_difference(setup.memory.clock)
    lines = [begin, f"CRON_TZ={zone}"] if zone else [begin]
    for job, some in setup.times().items():
        moved = [local for times in some for local in ([times] if zone else shifted(times, ahead))]
        lines += [f"{times.expression} {cron_line(setup, job)}" for times in moved]
    longest = max(len(line.encode()) for line in lines)
    if longest > _CRONTAB_LINE:
        raise BadInput(
            f"A line for cron would be {longest} bytes long, and cron reads {_CRONTAB_LINE}; use a shorter path.",
            f"cron 的一行将有 {longest} 字节，而 cron 只读取 {_CRONTAB_LINE} 字节；请使用较短的路径。",
        )
    if zone:  # a variable holds for every line below it: the user's own lines get back what was in force
        zones = re.findall(r"^[ \t]*CRON_TZ[ \t]*=[ \t]*(.*?)[ \t]*$", before, re.MULTILINE)
        lines.append(f"CRON_TZ={zones[-1] if zones else ''}")
    return "\n".join([*lines, end]) + "\n"


def cron_line(setup: Setup, job: str) -> str:
    """The command as cron hands it to the shell; a bare % would end it. What came of it stands in the journal of runs."""
    carried = [f"{name}={value}" for name, value in setup.carried().items()]
    command = shlex.join([*(["env", *carried] if carried else []), *setup.command(job)])
    return f"{command} >/dev/null 2>&1".replace("%", "\\%")


def _read_crontab(machine: Machine) -> bytes | None:
    command = ("crontab", "-l")
    ran = run_command(machine, command, timeout=20)
    if ran.code == 0:
        return ran.out.encode("utf-8", "surrogateescape")
    if not ran.out.strip() and re.search(r"no crontab|no such file", ran.err, re.IGNORECASE):
        return None
    raise installer.command_failed(command, ran)


def _crontab_step(machine: Machine, before: bytes | None, after: str | None) -> Step:
    def put(data: bytes | None) -> None:
        must_run(machine, ("crontab", "-r" if data is None else "-"), data)

    changed = ChangedOutside(
        "The crontab was changed by someone else meanwhile; nothing was written. Run the command again.",
        "crontab 在此期间被他人修改；未写入任何内容。请重新运行命令。",
    )
    data = None if after is None else after.encode("utf-8", "surrogateescape")
    return installer.edit_step("crontab", partial(_read_crontab, machine), put, before, data, changed)


def _split_crontab(setup: Setup, text: str) -> tuple[str, str, str] | None:
    """What stands above our block, lines that somebody put between our markers, and what stands below it; None without a block."""
    begin, end = _cron_markers(setup)
    span = installer.find_block(text, begin, end)
    if span is None:
        if re.search(rf"^(?:{begin}|{end})[ \t]*$", text, re.MULTILINE):
            raise BadInput(
                f'The crontab holds only one of the lines "{begin}" and "{end}"; put it right with '
                f'"crontab -e", or take out the lines between them.',
                f"crontab 中只剩“{begin}”和“{end}”之一；请用“crontab -e”改正，或删除其间的行。",
            )
        return None
    place = shlex.join(["--workspace", setup.root]).replace("%", "\\%")
    foreign = [
        line
        for line in text[slice(*span)].splitlines(keepends=True)
        if line.strip() not in (begin, end) and place not in line and not line.startswith("CRON_TZ=")
    ]
    return text[: span[0]], "".join(foreign), text[span[1] :]


def _install_cron(setup: Setup, entry: Entry) -> Planned:
    """The crontab with our block up to date, at the place where it stands, else at the end."""
    before = _read_crontab(setup.machine)
    text = (before or b"").decode("utf-8", "surrogateescape")
    version = run_command(setup.machine, ("crontab", "-V"), timeout=20)
    # Only cronie understands CRON_TZ; Debian's, BSD's and busybox's do not.
    zone = setup.memory.config.timezone if "cronie" in (version.out + version.err).lower() else None
    if parts := _split_crontab(setup, text):
        head, foreign, rest = parts
        lead = installer.recorded_lead(entry)
        wanted = head + _cron_block(setup, head, zone) + foreign + rest
    else:
        lead = "\n" if text and not text.endswith("\n") else ""
        wanted = text + lead + _cron_block(setup, text, zone)
    record = {"lead": lead, "made": entry.get("made") is True or before is None}
    if wanted == text:
        return Planned(entry=record)
    return Planned([_crontab_step(setup.machine, before, wanted)], record, [] if zone else _zone_notes(setup))


def _remove_cron(setup: Setup, entry: Entry) -> Planned:
    """The crontab without our block: what the user added inside it stays, and no line of others is touched."""
    before = _read_crontab(setup.machine) if setup.machine.where("crontab") else None
    parts = _split_crontab(setup, (before or b"").decode("utf-8", "surrogateescape"))
    if parts is None:
        return Planned()
    head, foreign, rest = parts
    if not foreign and not rest:
        head = head.removesuffix(installer.recorded_lead(entry))  # the last line had no end, and has none again
    after = head + foreign + rest
    return Planned([_crontab_step(setup.machine, before, None if not after and entry.get("made") is True else after)])


# In the order in which they are chosen: OpenClaw last, because there each run costs a turn of the agent.
SCHEDULERS = {
    "systemd": Scheduler(
        lambda setup: not run_command(setup.machine, (*_SYSTEMCTL, "show-environment"), timeout=20).code,
        _install_systemd,
        _remove_systemd,
    ),
    "launchd": Scheduler(
        lambda setup: setup.machine.platform == "darwin" and setup.machine.where("launchctl") is not None,
        _install_launchd,
        _remove_launchd,
    ),
    "cron": Scheduler(lambda setup: setup.machine.where("crontab") is not None, _install_cron, _remove_cron),
    "openclaw": Scheduler(
        lambda setup: bool(setup.machine.where("openclaw") and openclaw.workspace_agent(setup)),
        openclaw.install_cron,
        openclaw.remove_cron,
    ),
}
# Beside the schedulers: our block in HEARTBEAT.md, only when the user asks for it.
_PARTS = {
    **SCHEDULERS,
    HEARTBEAT_BLOCK: Scheduler(lambda _: True, openclaw.install_heartbeat, openclaw.remove_heartbeat),
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
        return tuple(step for planned in self.changes.values() for step in planned.steps if step.path or step.command)

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
            '"systemctl --user" does not answer here: there is no systemd session of yours. Choose another way, or --with auto.',
            "“systemctl --user”没有响应：这里没有您的 systemd 会话。请选择其他方式，或使用 --with auto。",
        )
    if wanted == "openclaw" and setup.machine.where("openclaw"):
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
    installer.refuse_control_characters(*setup.command(""), *setup.carried().values())
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
    workspace = setup.memory.workspace
    before = installer.read_installed(workspace).get(name)
    if not steps and (before or {}).get("complete"):
        return
    # Written down first: whenever this is cut short, each file may be what it was, or what it is to be.
    old, new = installer.file_hashes(before or {}), installer.file_hashes(entry)
    files = {path: [*old.get(path, ()), *new.get(path, ())] for path in {**old, **new}}
    under_way = {**entry, **({"files": files} if files else {}), "complete": False}
    installer.record_installed(workspace, name, under_way)
    try:
        apply_steps(steps)
    except BaseException:
        with contextlib.suppress(NacreError, OSError):
            if before is not None or not _PARTS[name].remove(setup, entry).steps:
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
