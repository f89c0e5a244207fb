"""The schedulers that can run the jobs: timers of systemd, agents of launchd, the crontab, OpenClaw's cron; and HEARTBEAT.md.

Each is a `Scheduler`: whether the machine has it, and the steps that install and remove it.
"""

from __future__ import annotations

import json
import os
import plistlib
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from nacre.clock import duration
from nacre.errors import BadInput, ChangedOutside, NacreError
from nacre.i18n import say
from nacre.jobs import installer, schedule
from nacre.jobs.installer import Entry, Machine, Planned, Setup, Step, command_step, must_run, run_command
from nacre.jobs.schedule import HEARTBEAT, JOB_NAMES, SYNC, TIDY, shifted, zone_difference


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


def _systemd_is_here(setup: Setup) -> bool:
    probe = (*_SYSTEMCTL, "show-environment")
    return setup.machine.has("systemctl") and run_command(setup.machine, probe, timeout=20).code == 0


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
        units[f"nacre-{job}@{setup.mark}.service"] = head + _SERVICE.format(
            job=job, root=shown, command=exec_line(setup.command(job)), environment=environment
        )
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


def _systemd_files(
    setup: Setup, entry: Entry, wanted: Mapping[str, bytes]
) -> tuple[tuple[str, ...], list[Step], list[ChangedOutside]]:
    """Every timer that may be there, the steps that bring the unit files to what is wanted, and an error for each that is not ours."""
    names = [f"nacre-{job}@{setup.mark}.{kind}" for job in JOB_NAMES for kind in ("service", "timer")]
    head = _systemd_head(setup).encode()
    folder = _systemd_folder(setup.machine)
    steps, errors = installer.file_steps(folder, wanted, names, entry, lambda data: data.startswith(head))
    return tuple(name for name in names if name.endswith(".timer")), steps, errors


def _install_systemd(setup: Setup, entry: Entry) -> Planned:
    """Units that are missing or out of date, and the calls that make systemd know them."""
    wanted = {name: text.encode() for name, text in systemd_units(setup).items()}
    _, files, errors = _systemd_files(setup, entry, wanted)
    if errors:
        raise errors[0]
    record = installer.record_of_files(wanted)
    if not files and entry.get("complete"):
        return Planned(entry=record, ready=True)
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
    return Planned(steps, record, (note,))


def _remove_systemd(setup: Setup, entry: Entry) -> Planned:
    """Timers switched off and their files removed; also when systemd does not answer any more."""
    timers, files, errors = _systemd_files(setup, entry, {})
    folder = _systemd_folder(setup.machine)
    links = [folder / "timers.target.wants" / name for name in timers]
    enabled = [link.name for link in links if (folder / link.name).exists() or link.is_symlink()]
    notes = [str(error) for error in errors]
    if not files and not enabled:
        return Planned(notes=notes, ready=True)
    call = partial(command_step, setup.machine, lenient=True)
    steps = []
    if enabled:
        steps += [call((*_SYSTEMCTL, "disable", "--now", *enabled))]
        steps += [call((*_SYSTEMCTL, "clean", "--what=state", *enabled))]
    # systemctl removes the links by which timers were enabled, where it still answers.
    unlinks = [
        Step(partial(link.unlink, missing_ok=True), path=str(link), note=say("link, removed", "链接，移除"))
        for link in links
        if link.is_symlink()
    ]
    return Planned([*steps, *files, *unlinks, call(_RELOAD)], notes=notes)


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
    record = installer.record_of_files(wanted)
    if not files and entry.get("complete"):
        return Planned(entry=record, ready=True)
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
    return Planned(steps, record, _zone_notes(setup))


def _remove_launchd(setup: Setup, entry: Entry) -> Planned:
    _, files, errors = _launchd_files(setup, entry, {})
    steps = [part for step in files for part in (command_step(setup.machine, _unload(step.path), lenient=True), step)]
    return Planned(steps, notes=[str(error) for error in errors], ready=not files)


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


# A block of ours in a text of the user's, between two markers on lines of their own.


def _find_block(text: str, begin: str, end: str) -> tuple[int, int] | None:
    begin, end = re.escape(begin), re.escape(end)
    match = re.search(rf"^{begin}[ \t]*\r?\n(?:(?!{begin})[^\n]*\n)*?{end}[ \t]*(?:\r?\n|\Z)", text, re.MULTILINE)
    return match.span() if match else None


def _lead(entry: Entry) -> str:
    """The line ends that were written before the block."""
    lead = entry.get("lead")
    return lead if isinstance(lead, str) and not lead.strip("\r\n") else ""


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
        for times in some:
            lines += [
                f"{one.expression} {cron_line(setup, job)}" for one in ((times,) if zone else shifted(times, ahead))
            ]
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
    span = _find_block(text, begin, end)
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
        lead = _lead(entry)
        wanted = head + _cron_block(setup, head, zone) + foreign + rest
    else:
        lead = "\n" if text and not text.endswith("\n") else ""
        wanted = text + lead + _cron_block(setup, text, zone)
    record = {"lead": lead, "made": entry.get("made") is True or before is None}
    if wanted == text:
        return Planned(entry=record, ready=bool(entry.get("complete")))
    return Planned([_crontab_step(setup.machine, before, wanted)], record, [] if zone else _zone_notes(setup))


def _remove_cron(setup: Setup, entry: Entry) -> Planned:
    """The crontab without our block: what the user added inside it stays, and no line of others is touched."""
    before = _read_crontab(setup.machine) if setup.machine.has("crontab") else None
    parts = _split_crontab(setup, (before or b"").decode("utf-8", "surrogateescape"))
    if parts is None:
        return Planned(ready=True)
    head, foreign, rest = parts
    if not foreign and not rest:
        head = head.removesuffix(_lead(entry))  # the last line had no end, and has none again
    after = head + foreign + rest
    return Planned([_crontab_step(setup.machine, before, None if not after and entry.get("made") is True else after)])


# OpenClaw's own cron: an agent turn in an isolated session, which is told to run the job.

_CRON = ("openclaw", "cron")
_OPENCLAW_JOBS = (SYNC, TIDY)  # a turn of the agent costs tokens: only what is worth one

_SYNC_PROMPT = {
    "en": """\
Memory capture (memory-sync). Run exactly this command, once, and wait for it to end:

    {command}

It reads what was said since its last run into the day's log, leaves out isolated sessions such as this one, and brings the \
index up to date. Write nothing yourself: no memory file, no summary, no second run.
If it fails, answer with one sentence that holds its error message; that jobs are running already is no failure. In every \
other case, also when there was nothing to capture, answer {silence} and nothing else.""",
    "zh": """\
记忆采集（memory-sync）。请准确运行下面这条命令一次，并等它结束：

    {command}

它会把上次运行以来的对话记入当天的日志，跳过像本会话这样的隔离会话，并更新索引。你自己不要写任何内容：不要改记忆文件，不要写摘要，也不要再运行一次。
如果命令失败，用一句话回答，并带上它的错误信息；提示已有任务在运行不算失败。其他情况下，包括没有可采集的内容时，只回答 {silence}。""",
}

_TIDY_PROMPT = {
    "en": """\
Nightly memory care (memory-tidy). You are explicitly permitted to read and change MEMORY.md in this isolated session, by \
means of the command below and in no other way. Run it once and wait for it to end:

    {command}

It backs MEMORY.md up, presses old daily logs into weeks, admits only what passes its tests, and archives. Edit no file \
by hand, neither before nor after it.
Then answer with the summary that it printed, in one or two sentences and nothing added. If it says that nothing changed, \
or prints nothing because this night was seen to already, answer {silence} and nothing else. If it fails, answer with one \
sentence that holds its error message.""",
    "zh": """\
每晚的记忆整理（memory-tidy）。你被明确授权在此隔离会话中读取和修改 MEMORY.md，但只能通过下面的命令，不得以其他方式进行。请运行一次，并等它结束：

    {command}

它会先备份 MEMORY.md，再把旧的每日日志压缩成周报，只收录通过检验的内容，然后归档。运行前后都不要手动修改任何文件。
之后用一两句话转述它输出的摘要，不要添加内容。如果它说没有变更，或因当晚已整理过而没有任何输出，只回答 {silence}。如果命令失败，用一句话回答，并带上它的错误信息。""",
}

_PROMPTS = {SYNC: _SYNC_PROMPT, TIDY: _TIDY_PROMPT}

Job = Mapping[str, Any]  # in the form in which OpenClaw lists it


def job_prompt(job: str, command: str, language: str) -> str:
    return _PROMPTS[job][language].format(command=command, silence="ANNOUNCE_SKIP")


def _openclaw_agent(setup: Setup) -> str | None:
    places = setup.machine.openclaw_workspaces()
    return next((name for name, place in places.items() if os.path.realpath(place) == setup.root), None)


def _table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _message(job: Job) -> str:
    message = _table(job.get("payload")).get("message")
    return message if isinstance(message, str) else ""


def _identity(job: Job) -> tuple[object, ...]:
    when = _table(job.get("schedule"))
    return job.get("name"), when.get("expr"), when.get("tz") or None, _message(job)


def _is_own_job(setup: Setup, job: Job) -> bool:
    """Whether it runs one of our jobs for this very workspace, also as earlier versions had it run, due or not."""
    place = re.escape(shlex.join(["--workspace", setup.root]))
    pattern = rf"nacre'? jobs run (?:{'|'.join(_OPENCLAW_JOBS)}) (?:--due )?{place}$"
    return re.search(pattern, _message(job), re.MULTILINE) is not None


def list_openclaw_jobs(machine: Machine) -> list[dict[str, Any]]:
    printed = must_run(machine, (*_CRON, "list", "--all", "--json"))
    try:
        jobs = _table(json.loads(printed[printed.index("{") :] if "{" in printed else "{}")).get("jobs")
    except ValueError as error:
        raise NacreError(
            '"openclaw cron list --json" did not answer with JSON. Look whether its Gateway runs: openclaw gateway status.',
            "“openclaw cron list --json”没有返回 JSON。请检查其网关是否在运行：openclaw gateway status。",
        ) from error
    return [job for job in jobs if isinstance(job, dict)] if isinstance(jobs, list) else []


def _wanted_jobs(setup: Setup, present: list[dict[str, Any]]) -> list[Job]:
    """Every job that OpenClaw is to run. A name that another job has gets our mark; several times become several jobs."""
    agent = _openclaw_agent(setup)
    # The user's time zone by name, also the system's own: the Gateway may run on another machine.
    zone = setup.memory.config.timezone or getattr(schedule.zone_of(setup.memory.clock), "key", None)
    taken = {job.get("name") for job in present if not _is_own_job(setup, job)}
    wanted: list[Job] = []
    for name in _OPENCLAW_JOBS:
        message = job_prompt(name, setup.shell_line(name), setup.language)
        for number, times in enumerate(setup.times().get(name, ()), start=1):
            numbered = name if number == 1 else f"{name}-{number}"
            wanted.append(
                {
                    "name": f"{numbered}-{setup.mark}" if numbered in taken else numbered,
                    "agentId": agent,
                    "schedule": {"expr": times.expression, "tz": zone},
                    "payload": {"message": message},
                    "delivery": {"mode": "none" if name == SYNC else "announce"},
                }
            )
    return wanted


def _add_command(machine: Machine, job: Job) -> tuple[str, ...]:
    """The command that adds a job. Versions differ: --delivery none became --no-deliver, --deliver became --announce."""
    options = run_command(machine, (*_CRON, "add", "--help")).out
    newer = "--delivery" not in options
    if _table(job.get("delivery")).get("mode") == "none":
        delivery = ("--no-deliver",) if newer and "--no-deliver" in options else ("--delivery", "none")
    else:
        delivery = ("--announce",) if newer and "--announce" in options else ("--deliver",)
    when, agent = _table(job.get("schedule")), job.get("agentId")
    zone = ("--tz", str(when["tz"])) if when.get("tz") else ()
    whose = ("--agent", str(agent)) if agent and agent != "main" else ()
    timing = ("--cron", str(when.get("expr")), *zone, "--session", "isolated", "--wake", "now", *delivery)
    return (*_CRON, "add", "--name", str(job.get("name")), *timing, *whose, "--message", _message(job))


def _remove_command(job: Job) -> tuple[str, ...]:
    return (*_CRON, "rm", str(job.get("id")))


def _add_step(setup: Setup, job: Job) -> Step:
    command = _add_command(setup.machine, job)

    def undo() -> None:
        for other in list_openclaw_jobs(setup.machine):
            if _is_own_job(setup, other) and _identity(other) == _identity(job):
                run_command(setup.machine, _remove_command(other))

    return Step(partial(must_run, setup.machine, command), undo, command=command)


def _drop_step(machine: Machine, job: Job) -> Step:
    def undo() -> None:
        """Add it once more, because what should take its place could not be."""
        if _table(job.get("schedule")).get("expr") and job.get("id") not in [
            other.get("id") for other in list_openclaw_jobs(machine)
        ]:
            run_command(machine, _add_command(machine, job))

    return Step(partial(must_run, machine, _remove_command(job)), undo, command=_remove_command(job))


def _install_openclaw(setup: Setup, entry: Entry) -> Planned:
    """Jobs that are missing or out of date. Nothing is known of a job but what OpenClaw itself says of it."""
    present = list_openclaw_jobs(setup.machine)
    wanted = _wanted_jobs(setup, present)
    ours = [job for job in present if _is_own_job(setup, job)]
    kept = {_identity(job) for job in wanted} & {_identity(job) for job in ours}
    steps = [_drop_step(setup.machine, job) for job in ours if _identity(job) not in kept]
    steps += [_add_step(setup, job) for job in wanted if _identity(job) not in kept]
    names = [job["name"] for job in wanted]
    notes = [
        say(
            f"OpenClaw has a job {name!r} that is not ours; it stays, and ours is called {name}-{setup.mark}.",
            f"OpenClaw 已有一个不属于 Nacre 的任务“{name}”；它保持不变，Nacre 的任务名为 {name}-{setup.mark}。",
        )
        for name in _OPENCLAW_JOBS
        if f"{name}-{setup.mark}" in names
    ]
    return Planned(steps, {"jobs": names}, notes, ready=not steps and bool(entry.get("complete")))


def _remove_openclaw(setup: Setup, entry: Entry) -> Planned:
    """Our jobs taken out: those that run Nacre for this workspace, whatever they are called by now."""
    if not entry:
        return Planned(ready=True)
    if not setup.machine.has("openclaw"):
        note = say(
            "OpenClaw is not here any more; jobs that its Gateway still has can be removed only there.",
            "OpenClaw 已不在本机；其网关中残留的任务只能在那里移除。",
        )
        return Planned(notes=(note,), ready=True)
    present = list_openclaw_jobs(setup.machine)
    steps = [_drop_step(setup.machine, job) for job in present if _is_own_job(setup, job)]
    return Planned(steps, ready=not steps)


# Our instructions in an agent's HEARTBEAT.md, between markers; written only when the user asks for them.

BEGIN, END = "<!-- nacre:heartbeat:begin -->", "<!-- nacre:heartbeat:end -->"
_HEARTBEAT_TEXT = {
    "en": """\
## Memory

- Run `{command}` once. It looks at what is due and takes a moment.
- If it reports a failure, tell the user in one sentence. Otherwise say nothing about it, and answer HEARTBEAT_OK unless \
another point of this file wants attention.
""",
    "zh": """\
## 记忆

- 运行一次 `{command}`。它会查看有哪些工作到期，很快就结束。
- 如果它报告失败，用一句话告诉用户。否则不要提及；本文件中没有其他需要关注的事项时，回答 HEARTBEAT_OK。
""",
}


def _read_heartbeat(setup: Setup) -> tuple[Path, bytes | None, str]:
    path = setup.memory.workspace.root / "HEARTBEAT.md"
    data = _read_file(path)
    try:
        return path, data, (data or b"").decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadInput(
            f"{path} is not UTF-8 text, so it was left alone. Save it as UTF-8, or leave --heartbeat out.",
            f"{path} 不是 UTF-8 文本，因此未作改动。请另存为 UTF-8，或不使用 --heartbeat。",
        ) from error


def _read_file(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _heartbeat_step(setup: Setup, path: Path, before: bytes | None, after: bytes | None) -> Step:
    """The change of the file as an operation of the vault, so that it can be undone like any other."""

    def put(data: bytes | None) -> None:
        setup.memory.replace_file(path, data, read=_read_file(path), command="jobs")

    return installer.edit_step("HEARTBEAT.md", partial(_read_file, path), put, before, after)


def _install_heartbeat(setup: Setup, entry: Entry) -> Planned:
    path, data, text = _read_heartbeat(setup)
    newline = "\r\n" if "\r\n" in text else "\n"
    block = f"{BEGIN}\n{_HEARTBEAT_TEXT[setup.language].format(command=setup.shell_line(HEARTBEAT))}{END}\n"
    block = block.replace("\n", newline)
    if span := _find_block(text, BEGIN, END):
        lead = _lead(entry)
        after = text[: span[0]] + block + text[span[1] :]
    else:  # a blank line before it
        missing = 0 if not text or text.endswith(newline * 2) else 1 if text.endswith(newline) else 2
        lead = newline * missing
        after = text + lead + block
    record = {"lead": lead, "made": entry.get("made") is True or data is None}
    if after == text:
        return Planned(entry=record, ready=bool(entry.get("complete")))
    note = say(
        "OpenClaw now takes a turn of the agent at every heartbeat, which costs tokens.",
        "OpenClaw 现在每次心跳都会让代理运行一轮，这会消耗 token。",
    )
    return Planned([_heartbeat_step(setup, path, data, after.encode())], record, (note,))


def _remove_heartbeat(setup: Setup, entry: Entry) -> Planned:
    path, data, text = _read_heartbeat(setup)
    span = _find_block(text, BEGIN, END)
    if data is None or not span:
        return Planned(ready=True)
    head, rest, lead = text[: span[0]], text[span[1] :], _lead(entry)
    if lead and head.endswith(lead):
        # Where something was written below our block, a last line without an end keeps the one that it was given.
        head = head.removesuffix(lead) + (lead[: len(lead) // 2] if rest and lead.count("\n") > 1 else "")
    after = (head + rest).encode()
    return Planned([_heartbeat_step(setup, path, data, None if not after and entry.get("made") is True else after)])


# In the order in which they are chosen: OpenClaw last, because there each run costs a turn of the agent.
SCHEDULERS = {
    "systemd": Scheduler(_systemd_is_here, _install_systemd, _remove_systemd),
    "launchd": Scheduler(
        lambda setup: setup.machine.platform == "darwin" and setup.machine.has("launchctl"),
        _install_launchd,
        _remove_launchd,
    ),
    "cron": Scheduler(lambda setup: setup.machine.has("crontab"), _install_cron, _remove_cron),
    "openclaw": Scheduler(
        lambda setup: setup.machine.has("openclaw") and _openclaw_agent(setup) is not None,
        _install_openclaw,
        _remove_openclaw,
    ),
}
HEARTBEAT_FILE = Scheduler(lambda _: True, _install_heartbeat, _remove_heartbeat)
