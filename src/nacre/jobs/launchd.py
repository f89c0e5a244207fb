"""Agents of launchd on macOS: one property list for each job."""

from __future__ import annotations

import os
import plistlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nacre.i18n import say
from nacre.jobs import installer
from nacre.jobs.installer import CommandStep, Machine, Planned, Setup, Step
from nacre.jobs.schedule import JOB_NAMES, calendar_intervals, changes_within_a_year, shifted, zone_difference


def answers(setup: Setup) -> bool:
    return setup.machine.platform == "darwin" and setup.machine.has("launchctl")


def folder(machine: Machine) -> Path:
    return machine.home / "Library" / "LaunchAgents"


def label(setup: Setup, job: str) -> str:
    return f"nacre.{job}.{setup.mark}"


def property_lists(setup: Setup) -> dict[str, bytes]:
    """Every property list by its file name. launchd knows no time zones: the times are those of the system's clock."""
    ahead = zone_difference(setup.clock)
    made: dict[str, bytes] = {}
    for job in setup.jobs():
        intervals = [
            one for times in setup.times(job) for local in shifted(times, ahead) for one in calendar_intervals(local)
        ]
        told: dict[str, Any] = {
            "Label": label(setup, job),
            "ProgramArguments": list(setup.command(job)),
            "StartCalendarInterval": intervals,
            "ProcessType": "Background",
            "LowPriorityIO": True,
            "Nice": 10,
            "Umask": 0o077,
            "StandardOutPath": "/dev/null",  # the journal of runs keeps what came of it
            "StandardErrorPath": "/dev/null",
        }
        if carried := setup.carried():
            told["EnvironmentVariables"] = carried
        made[f"{label(setup, job)}.plist"] = plistlib.dumps(told)
    return made


def install(setup: Setup, entry: Mapping[str, Any], *, complete: bool) -> Planned:
    """Property lists that are missing or out of date, each loaded anew."""
    wanted = property_lists(setup)
    here = folder(setup.machine)
    files = installer.file_steps(here, wanted, _possible(setup), entry, _recognise(setup))
    noted, notes = installer.record_of_files(wanted), in_system_time(setup)
    if not files and complete:
        return Planned((), noted, ready=True)
    steps: list[Step] = []
    for one in files:
        steps += [_unload(one.path.stem)] if one.before is not None else []
        steps.append(one)
    for name in wanted:
        path = here / name
        if not complete or any(one.path == path for one in files):
            load = ("launchctl", "bootstrap", _domain(), str(path))
            steps.append(CommandStep(load, undo=((_unload(path.stem).command, None),)))
    return Planned(tuple(steps), noted, notes)


def remove(setup: Setup, entry: Mapping[str, Any]) -> Planned:
    """Every agent unloaded and its file removed."""
    files, left = installer.file_removals(folder(setup.machine), _possible(setup), entry, _recognise(setup))
    steps: list[Step] = [step for one in files for step in (_unload(one.path.stem), one)]
    return Planned(tuple(steps), notes=tuple(left), ready=not files)


def in_system_time(setup: Setup) -> tuple[str, ...]:
    """What is to be said where a scheduler knows no zones."""
    if not zone_difference(setup.clock) and not changes_within_a_year(setup.clock):
        return ()
    zone = setup.config.timezone
    told = say(
        f"This scheduler knows no time zones: the times of {zone} were converted to the system's.",
        f"此计划程序不支持时区：{zone} 的时间已换算为系统时间。",
    )
    if changes_within_a_year(setup.clock):
        told += say(
            ' Run "nacre jobs install" again after a clock change.', "夏令时切换后请重新运行“nacre jobs install”。"
        )
    return (told,)


def _domain() -> str:
    return f"gui/{os.getuid()}"


def _unload(name: str) -> CommandStep:
    return CommandStep(("launchctl", "bootout", f"{_domain()}/{name}"), lenient=True)


def _possible(setup: Setup) -> tuple[str, ...]:
    return tuple(f"{label(setup, job)}.plist" for job in JOB_NAMES)


def _recognise(setup: Setup) -> installer.Recognise:
    def ours(data: bytes) -> bool:
        try:
            told = plistlib.loads(data)
        except (plistlib.InvalidFileException, ValueError, OverflowError, RecursionError):
            return False
        command = told.get("ProgramArguments") if isinstance(told, dict) else None
        return isinstance(command, list) and command[-2:] == ["--workspace", setup.root]

    return ours
