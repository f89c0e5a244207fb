"""User timers of systemd: one service and one timer for each job."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nacre.clock import duration
from nacre.i18n import say
from nacre.jobs import installer
from nacre.jobs.installer import CommandStep, Machine, Planned, Setup, Shown, Step, run_command
from nacre.jobs.schedule import JOB_NAMES, calendar_events

_CALL = ("systemctl", "--user")
_RELOAD = (*_CALL, "daemon-reload")
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


def answers(setup: Setup) -> bool:
    """Whether the user has a systemd of their own that can be spoken to."""
    return (
        setup.machine.has("systemctl")
        and run_command(setup.machine, (*_CALL, "show-environment"), timeout=20).code == 0
    )


def folder(machine: Machine) -> Path:
    base = machine.env.get("XDG_CONFIG_HOME")
    return (Path(base) if base else machine.home / ".config") / "systemd" / "user"


def unit_name(setup: Setup, job: str, suffix: str) -> str:
    return f"nacre-{job}@{setup.mark}.{suffix}"


def units(setup: Setup) -> dict[str, str]:
    """Every unit by its file name."""
    head, root = _HEAD.format(root=_comment(setup.root)), specifiers(_comment(setup.root))
    jitter = f"{min(duration(setup.config.jobs.jitter).total_seconds(), 3600):.0f}s"
    environment = "".join(f"Environment={quoted(f'{name}={value}')}\n" for name, value in setup.carried().items())
    made: dict[str, str] = {}
    for job in setup.jobs():
        events = [one for times in setup.times(job) for one in calendar_events(times, setup.config.timezone)]
        made[unit_name(setup, job, "service")] = head + _SERVICE.format(
            job=job, root=root, command=exec_line(setup.command(job)), environment=environment
        )
        made[unit_name(setup, job, "timer")] = head + _TIMER.format(
            job=job, root=root, events="".join(f"OnCalendar={one}\n" for one in events), jitter=jitter
        )
    return made


def _comment(text: str) -> str:
    """A backslash at the end of a line would join it to the next one."""
    return text.rstrip("\\")


def specifiers(text: str) -> str:
    return text.replace("%", "%%")


def quoted(text: str) -> str:
    """A word for a unit file, with everything that systemd would read into it taken literally."""
    return '"' + specifiers(text).replace("\\", "\\\\").replace('"', '\\"') + '"'


def exec_line(command: tuple[str, ...]) -> str:
    """A command line for ExecStart, where also variables would be filled in; but in the program's own name they are not."""
    program, *rest = command
    lead = [quoted(program)] if "$" not in program else ["/usr/bin/env", quoted(program.replace("$", "$$"))]
    return " ".join([*lead, *(quoted(one.replace("$", "$$")) for one in rest)])


def install(setup: Setup, entry: Mapping[str, Any], *, complete: bool) -> Planned:
    """Units that are missing or out of date, and the calls that make systemd know them."""
    wanted = {name: text.encode() for name, text in units(setup).items()}
    files = installer.file_steps(folder(setup.machine), wanted, _possible(setup), entry, _recognise(setup))
    noted = installer.record_of_files(wanted)
    if not files and complete:
        return Planned((), noted, ready=True)
    timers = tuple(name for name in wanted if name.endswith(".timer"))
    old = tuple(one.path.name for one in files if one.after is None and one.path.suffix == ".timer")
    # Taken back, a first set-up leaves nothing switched on; a later one goes on with what it was.
    first = not any(one.before for one in files) and not complete
    stop = (((*_CALL, "disable", "--now", *timers), None),) if first else ()
    steps: list[Step] = [CommandStep((*_CALL, "disable", "--now", *old), lenient=True)] if old else []
    steps += [_Reload(), *files, CommandStep(_RELOAD)]
    steps += (
        [CommandStep((*_CALL, "enable", *timers), undo=stop), CommandStep((*_CALL, "restart", *timers))]
        if timers
        else []
    )
    told = say(
        'The timers run while you are logged in, and catch up when you come back; "loginctl enable-linger" lets them run always.',
        "计时器在您登录期间运行，错过的会在您回来后补上；“loginctl enable-linger”可让它们一直运行。",
    )
    return Planned(tuple(steps), noted, (told,))


@dataclass(frozen=True)
class _Reload:
    """Stands before the files and does nothing there, so that it comes after them when they are taken back."""

    def shown(self) -> Shown | None:
        return None

    def do(self, machine: Machine) -> None:
        pass

    def back(self, machine: Machine) -> None:
        run_command(machine, _RELOAD)


def remove(setup: Setup, entry: Mapping[str, Any]) -> Planned:
    """Timers switched off and their files removed; also when systemd does not answer any more."""
    here = folder(setup.machine)
    files, left = installer.file_removals(here, _possible(setup), entry, _recognise(setup))
    wants = [here / "timers.target.wants" / name for name in _possible(setup) if name.endswith(".timer")]
    timers = [path.name for path in wants if (here / path.name).exists() or path.is_symlink()]
    if not files and not timers:
        return Planned((), notes=tuple(left), ready=True)
    steps: list[Step] = []
    if timers:
        steps += [CommandStep((*_CALL, "disable", "--now", *timers), lenient=True)]
        steps += [CommandStep((*_CALL, "clean", "--what=state", *timers), lenient=True)]
    steps += [*files, *(_Unwant(path) for path in wants), CommandStep(_RELOAD, lenient=True)]
    return Planned(tuple(steps), notes=tuple(left))


@dataclass(frozen=True)
class _Unwant:
    """The link by which a timer was enabled; systemctl takes it away, where it still answers."""

    path: Path

    def shown(self) -> Shown | None:
        return Shown(str(self.path), say("link, removed", "链接，移除")) if self.path.is_symlink() else None

    def do(self, _machine: Machine) -> None:
        with contextlib.suppress(FileNotFoundError):
            if self.path.is_symlink():
                os.unlink(self.path)

    def back(self, _machine: Machine) -> None:
        pass


def _possible(setup: Setup) -> tuple[str, ...]:
    return tuple(unit_name(setup, job, kind) for job in JOB_NAMES for kind in ("service", "timer"))


def _recognise(setup: Setup) -> installer.Recognise:
    head = _HEAD.format(root=_comment(setup.root)).encode()
    return lambda data: data.startswith(head)
