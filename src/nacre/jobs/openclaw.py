"""OpenClaw as a scheduler: its own cron, and our instructions in an agent's HEARTBEAT.md."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Collection
from functools import partial
from typing import NamedTuple

from nacre import disk
from nacre.errors import BadInput, NacreError
from nacre.i18n import say
from nacre.jobs import installer, schedule
from nacre.jobs.installer import Entry, Machine, Planned, Setup, command_step, must_run, run_command
from nacre.jobs.schedule import SYNC, TIDY
from nacre.text.tables import wordings

# OpenClaw's own cron: an agent turn in an isolated session, which is told to run the job.

_CRON = ("openclaw", "cron")

_JOBS = (SYNC, TIDY)  # a turn of the agent costs tokens: only the jobs that are worth one


class Job(NamedTuple):
    """A job of OpenClaw's cron; its first four fields tell it from others."""

    name: str
    expression: str
    zone: str
    message: str
    id: str = ""


def job_prompt(setup: Setup, job: str) -> str:
    """What the agent is told: to run the job; where work is left to it (`turn`), also to answer the orders that the job makes."""
    sync, tidy, sync_by_turn, tidy_by_turn, requests, _ = wordings("jobs/openclaw", setup.language)
    prompts = (sync_by_turn, tidy_by_turn) if setup.memory.config.brain.by_turn else (sync, tidy)
    return (
        prompts[_JOBS.index(job)]
        .replace("{requests}", requests)
        .format(
            command=setup.shell_line(job),
            orders=setup.typed("brain", "orders", "--next"),
            answer=setup.typed("brain", "answer", "ID"),
            again=setup.typed("jobs", "run", job),
            silence="ANNOUNCE_SKIP",
        )
    )


def workspace_agent(setup: Setup) -> str | None:
    places = setup.machine.openclaw_workspaces()
    return next((name for name, place in places.items() if os.path.realpath(place) == setup.root), None)


def list_jobs(machine: Machine) -> list[Job]:
    printed = must_run(machine, (*_CRON, "list", "--all", "--json"))
    try:
        rows = json.loads(printed[printed.index("{") :] if "{" in printed else "{}").get("jobs")
    except ValueError as error:
        raise NacreError(
            '"openclaw cron list --json" did not return JSON. Check whether the Gateway is running: openclaw gateway status.',
            "“openclaw cron list --json”没有返回 JSON。请检查网关是否在运行：openclaw gateway status。",
        ) from error
    jobs: list[Job] = []
    for row in filter(lambda row: isinstance(row, dict), rows if isinstance(rows, list) else ()):
        timing, payload = (part if isinstance(part, dict) else {} for part in (row.get("schedule"), row.get("payload")))
        values = row.get("name"), timing.get("expr"), timing.get("tz"), payload.get("message"), row.get("id")
        jobs.append(Job(*(str(value or "") for value in values)))
    return jobs


def _own_jobs(setup: Setup, jobs: list[Job]) -> list[Job]:
    """The jobs that run one of ours for this very workspace, whatever they are called."""
    ends = tuple(f" jobs run {job} --due {shlex.join(['--workspace', setup.root])}" for job in _JOBS)
    return [job for job in jobs if any(line.endswith(ends) for line in job.message.splitlines())]


def _wanted_jobs(setup: Setup, others: Collection[str]) -> list[Job]:
    """Every job that OpenClaw is to run. A name that another job has gets our mark; several times become several jobs."""
    # The user's time zone by name, also the system's own: the Gateway may run on another machine.
    zone = setup.memory.config.timezone or getattr(schedule.zone_of(setup.memory.clock), "key", None) or ""
    wanted: list[Job] = []
    for job in _JOBS:
        message = job_prompt(setup, job)
        for number, expression in enumerate(schedule.expressions(setup.memory.config, job), start=1):
            name = job if number == 1 else f"{job}-{number}"
            wanted.append(Job(f"{name}-{setup.mark}" if name in others else name, expression, zone, message))
    return wanted


def _add_command(setup: Setup, job: Job) -> tuple[str, ...]:
    """The command that adds a job. Versions differ: --delivery none became --no-deliver, --deliver became --announce."""
    options = run_command(setup.machine, (*_CRON, "add", "--help")).out
    is_silent = job.name.startswith(SYNC)
    new, old = (("--no-deliver",), ("--delivery", "none")) if is_silent else (("--announce",), ("--deliver",))
    delivery = new if "--delivery" not in options and new[0] in options else old
    zone = ("--tz", job.zone) if job.zone else ()
    agent = workspace_agent(setup) or "main"
    whose = () if agent == "main" else ("--agent", agent)
    timing = ("--cron", job.expression, *zone, "--session", "isolated", "--wake", "now", *delivery)
    return (*_CRON, "add", "--name", job.name, *timing, *whose, "--message", job.message)


def install_cron(setup: Setup, _entry: Entry) -> Planned:
    """Jobs that are missing or out of date. Nothing is known of a job but what OpenClaw itself says of it."""
    present = list_jobs(setup.machine)
    ours = _own_jobs(setup, present)
    taken = {job.name for job in present if job not in ours}
    wanted = _wanted_jobs(setup, taken)
    unchanged = {job[:4] for job in wanted} & {job[:4] for job in ours}
    commands: list[tuple[str, ...]] = [(*_CRON, "rm", job.id) for job in ours if job[:4] not in unchanged]
    commands += [_add_command(setup, job) for job in wanted if job[:4] not in unchanged]
    notes = [
        say(
            f"OpenClaw already has a job named {name} that is not Nacre's; it is kept, and Nacre's job is named {name}-{setup.mark}.",
            f"OpenClaw 已有一个不属于 Nacre 的任务“{name}”，会保留；Nacre 的任务命名为 {name}-{setup.mark}。",
        )
        for name in _JOBS
        if name in taken
    ]
    record = {"jobs": [job.name for job in wanted]}
    return Planned([command_step(setup.machine, command) for command in commands], record, notes)


def remove_cron(setup: Setup, entry: Entry) -> Planned:
    if not entry:
        return Planned()
    if not setup.machine.where("openclaw"):
        english = "OpenClaw is no longer installed on this machine; jobs left in its Gateway can only be removed there."
        return Planned(notes=(say(english, "本机已没有 OpenClaw；它的网关中残留的任务只能在网关中移除。"),))
    jobs = _own_jobs(setup, list_jobs(setup.machine))
    return Planned([command_step(setup.machine, (*_CRON, "rm", job.id)) for job in jobs])


# Our instructions in an agent's HEARTBEAT.md, between markers; written only when the user asks for them.

BEGIN, END = "<!-- nacre:heartbeat:begin -->", "<!-- nacre:heartbeat:end -->"


def plan_heartbeat(setup: Setup, entry: Entry, *, install: bool) -> Planned:
    """HEARTBEAT.md with our block up to date, or without it, as an operation of the vault that can be undone like any other.
    The block: markers on lines of their own, with the blank line before them."""
    path = setup.memory.workspace.root / "HEARTBEAT.md"
    data = disk.read_bytes(path)
    try:
        text = (data or b"").decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadInput(
            f"{path} is not UTF-8 text, so Nacre left it untouched. Save it as UTF-8, or omit --heartbeat.",
            f"{path} 不是 UTF-8 文本，Nacre 没有改动它。请另存为 UTF-8，或去掉 --heartbeat。",
        ) from error
    pattern = rf"(?:^\r?\n)?^{BEGIN}[ \t]*\r?\n(?:(?!{BEGIN})[^\n]*\n)*?{END}[ \t]*(?:\r?\n|\Z)"
    block = re.search(pattern, text, re.MULTILINE)
    head, rest = (text[: block.start()], text[block.end() :]) if block else (text, "")
    record = {"made": entry.get("made") is True or data is None} if install else None
    notes: list[str] = []
    after = head + rest
    if install:
        lead = "" if not head else "\n" if head.endswith("\n") else "\n\n"
        words = wordings("jobs/openclaw", setup.language)[-1].format(command=setup.shell_line())
        new = f"{lead}{BEGIN}\n{words}\n{END}\n"
        after = head + new.replace("\n", "\r\n" if "\r\n" in text else "\n") + rest
        notes = [
            say(
                "OpenClaw now runs an agent turn at every heartbeat, which costs tokens.",
                "OpenClaw 现在每次心跳都会让智能体运行一轮，会消耗 token。",
            )
        ]
    if after == text:
        return Planned(entry=record)

    def put(changed: bytes | None) -> None:
        setup.memory.replace_file(path, changed, read=data, command="jobs")

    wanted = None if not after and entry.get("made") is True else after.encode()
    step = installer.edit_step("HEARTBEAT.md", partial(disk.read_bytes, path), put, data, wanted)
    return Planned([step], record, notes)
