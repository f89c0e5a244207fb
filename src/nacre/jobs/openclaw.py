"""OpenClaw as a scheduler: its own cron, and our instructions in an agent's HEARTBEAT.md."""

from __future__ import annotations

import json
import os
import re
import shlex
from functools import partial
from typing import NamedTuple

from nacre.errors import BadInput, NacreError
from nacre.i18n import say
from nacre.jobs import installer, schedule
from nacre.jobs.installer import Entry, Machine, Planned, Setup, Step, command_step, must_run, run_command
from nacre.jobs.schedule import SYNC, TIDY

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


class Job(NamedTuple):
    """A job of OpenClaw's cron; its first four fields tell it from others."""

    name: str
    expression: str
    zone: str
    message: str
    agent: str = ""
    delivers: bool = False
    id: str = ""


def job_prompt(job: str, command: str, language: str) -> str:
    return _PROMPTS[job][language].format(command=command, silence="ANNOUNCE_SKIP")


def workspace_agent(setup: Setup) -> str | None:
    places = setup.machine.openclaw_workspaces()
    return next((name for name, place in places.items() if os.path.realpath(place) == setup.root), None)


def list_jobs(machine: Machine) -> list[Job]:
    printed = must_run(machine, (*_CRON, "list", "--all", "--json"))
    try:
        rows = json.loads(printed[printed.index("{") :] if "{" in printed else "{}").get("jobs")
    except ValueError as error:
        raise NacreError(
            '"openclaw cron list --json" did not answer with JSON. Look whether its Gateway runs: openclaw gateway status.',
            "“openclaw cron list --json”没有返回 JSON。请检查其网关是否在运行：openclaw gateway status。",
        ) from error
    jobs: list[Job] = []
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, dict):
            tables = (row.get(name) for name in ("schedule", "payload", "delivery"))
            when, payload, delivery = (table if isinstance(table, dict) else {} for table in tables)
            values = (row.get("name"), when.get("expr"), when.get("tz"), payload.get("message"), row.get("agentId"))
            name, expression, zone, message, agent = (str(value or "") for value in values)
            delivers = delivery.get("mode") != "none"
            jobs.append(Job(name, expression, zone, message, agent, delivers, str(row.get("id"))))
    return jobs


def _is_own_job(setup: Setup, job: Job) -> bool:
    """Whether it runs one of our jobs for this very workspace, also as earlier versions had it run, due or not."""
    place = re.escape(shlex.join(["--workspace", setup.root]))
    pattern = rf"nacre'? jobs run (?:{'|'.join(_OPENCLAW_JOBS)}) (?:--due )?{place}$"
    return re.search(pattern, job.message, re.MULTILINE) is not None


def _wanted_jobs(setup: Setup, present: list[Job]) -> list[Job]:
    """Every job that OpenClaw is to run. A name that another job has gets our mark; several times become several jobs."""
    agent = workspace_agent(setup) or ""
    # The user's time zone by name, also the system's own: the Gateway may run on another machine.
    zone = setup.memory.config.timezone or getattr(schedule.zone_of(setup.memory.clock), "key", None) or ""
    taken = {job.name for job in present if not _is_own_job(setup, job)}
    wanted: list[Job] = []
    for job in _OPENCLAW_JOBS:
        message = job_prompt(job, setup.shell_line(job), setup.language)
        for number, expression in enumerate(schedule.expressions(setup.memory.config, job), start=1):
            name = job if number == 1 else f"{job}-{number}"
            name = f"{name}-{setup.mark}" if name in taken else name
            wanted.append(Job(name, expression, zone, message, agent, delivers=job != SYNC))
    return wanted


def _add_command(machine: Machine, job: Job) -> tuple[str, ...]:
    """The command that adds a job. Versions differ: --delivery none became --no-deliver, --deliver became --announce."""
    options = run_command(machine, (*_CRON, "add", "--help")).out
    new, old = (("--announce",), ("--deliver",)) if job.delivers else (("--no-deliver",), ("--delivery", "none"))
    delivery = new if "--delivery" not in options and new[0] in options else old
    zone = ("--tz", job.zone) if job.zone else ()
    whose = ("--agent", job.agent) if job.agent not in ("", "main") else ()
    timing = ("--cron", job.expression, *zone, "--session", "isolated", "--wake", "now", *delivery)
    return (*_CRON, "add", "--name", job.name, *timing, *whose, "--message", job.message)


def install_cron(setup: Setup, _entry: Entry) -> Planned:
    """Jobs that are missing or out of date. Nothing is known of a job but what OpenClaw itself says of it."""
    present = list_jobs(setup.machine)
    wanted = _wanted_jobs(setup, present)
    ours = [job for job in present if _is_own_job(setup, job)]
    kept = {job[:4] for job in wanted} & {job[:4] for job in ours}
    commands: list[tuple[str, ...]] = [(*_CRON, "rm", job.id) for job in ours if job[:4] not in kept]
    commands += [_add_command(setup.machine, job) for job in wanted if job[:4] not in kept]
    names = [job.name for job in wanted]
    notes = [
        say(
            f"OpenClaw has a job {name!r} that is not ours; it stays, and ours is called {name}-{setup.mark}.",
            f"OpenClaw 已有一个不属于 Nacre 的任务“{name}”；它保持不变，Nacre 的任务名为 {name}-{setup.mark}。",
        )
        for name in _OPENCLAW_JOBS
        if f"{name}-{setup.mark}" in names
    ]
    return Planned([command_step(setup.machine, command) for command in commands], {"jobs": names}, notes)


def remove_cron(setup: Setup, entry: Entry) -> Planned:
    """Our jobs taken out: those that run Nacre for this workspace, whatever they are called by now."""
    if not entry:
        return Planned()
    if not setup.machine.where("openclaw"):
        english = "OpenClaw is not here any more; jobs that its Gateway still has can be removed only there."
        return Planned(notes=(say(english, "OpenClaw 已不在本机；其网关中残留的任务只能在那里移除。"),))
    jobs = [job for job in list_jobs(setup.machine) if _is_own_job(setup, job)]
    return Planned([command_step(setup.machine, (*_CRON, "rm", job.id)) for job in jobs])


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


def _read_heartbeat(setup: Setup) -> tuple[bytes | None, str, re.Match[str] | None]:
    """HEARTBEAT.md: its bytes, its text, and our block in it: markers on lines of their own, with the blank line before them."""
    path = setup.heartbeat_file
    data = installer.read_file(path)
    try:
        text = (data or b"").decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadInput(
            f"{path} is not UTF-8 text, so it was left alone. Save it as UTF-8, or leave --heartbeat out.",
            f"{path} 不是 UTF-8 文本，因此未作改动。请另存为 UTF-8，或不使用 --heartbeat。",
        ) from error
    block = rf"(?:^\r?\n)?^{BEGIN}[ \t]*\r?\n(?:(?!{BEGIN})[^\n]*\n)*?{END}[ \t]*(?:\r?\n|\Z)"
    return data, text, re.search(block, text, re.MULTILINE)


def _heartbeat_step(setup: Setup, before: bytes | None, after: bytes | None) -> Step:
    """The change of the file as an operation of the vault, so that it can be undone like any other."""
    read = partial(installer.read_file, setup.heartbeat_file)

    def put(data: bytes | None) -> None:
        setup.memory.replace_file(setup.heartbeat_file, data, read=read(), command="jobs")

    return installer.edit_step("HEARTBEAT.md", read, put, before, after)


def install_heartbeat(setup: Setup, entry: Entry) -> Planned:
    data, text, block = _read_heartbeat(setup)
    newline = "\r\n" if "\r\n" in text else "\n"
    head, rest = (text[: block.start()], text[block.end() :]) if block else (text, "")
    lead = "" if not head else "\n" if head.endswith("\n") else "\n\n"
    new = f"{lead}{BEGIN}\n{_HEARTBEAT_TEXT[setup.language].format(command=setup.shell_line())}{END}\n"
    after = head + new.replace("\n", newline) + rest
    record = {"made": entry.get("made") is True or data is None}
    if after == text:
        return Planned(entry=record)
    english = "OpenClaw now takes a turn of the agent at every heartbeat, which costs tokens."
    note = say(english, "OpenClaw 现在每次心跳都会让代理运行一轮，这会消耗 token。")
    return Planned([_heartbeat_step(setup, data, after.encode())], record, (note,))


def remove_heartbeat(setup: Setup, entry: Entry) -> Planned:
    data, text, block = _read_heartbeat(setup)
    if not block:
        return Planned()
    after = (text[: block.start()] + text[block.end() :]).encode()
    return Planned([_heartbeat_step(setup, data, after or (None if entry.get("made") is True else after))])
