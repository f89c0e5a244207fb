"""OpenClaw's own cron: an agent turn in an isolated session that runs the job."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nacre.errors import NacreError
from nacre.i18n import say
from nacre.jobs.installer import Machine, Planned, Setup, Shown, Step, must_run, run_command
from nacre.jobs.schedule import SYNC, TIDY, zone_of
from nacre.vault.discover import agent_workspaces

BEGIN, END = "<!-- nacre:heartbeat:begin -->", "<!-- nacre:heartbeat:end -->"
SILENCE = "ANNOUNCE_SKIP"

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

PROMPTS = {"memory-sync": _SYNC_PROMPT, "memory-tidy": _TIDY_PROMPT}


def job_prompt(job: str, command: str, language: str) -> str:
    """What the agent is told when it is time for the job."""
    return PROMPTS[job][language].format(command=command, silence=SILENCE)


def heartbeat_block(command: str, language: str) -> str:
    """The instructions for HEARTBEAT.md between their markers, ending in a newline."""
    return f"{BEGIN}\n{_HEARTBEAT_TEXT[language].format(command=command)}{END}\n"


# OpenClaw's own cron: an agent turn in an isolated session, which is told to run the job; no logic of ours lies in
# its prompt.

_CALL = ("openclaw", "cron")
OPENCLAW_JOBS = (SYNC, TIDY)  # a turn of the agent costs tokens: only what is worth one


def answers(setup: Setup) -> bool:
    """Whether OpenClaw is here, and this is a workspace of one of its agents."""
    return setup.machine.has("openclaw") and agent_of(setup) is not None


def agent_of(setup: Setup) -> str | None:
    """The agent whose workspace it is."""
    for name, place in agent_workspaces(env=setup.machine.env, home=setup.machine.home).items():
        if os.path.realpath(place) == setup.root:
            return name
    return None


def shell_line(setup: Setup, job: str) -> str:
    """The command as an agent types it: by its whole path, because the Gateway's PATH is another one."""
    script = Path(setup.machine.python).with_name("nacre")
    program, rest = setup.command(job)[:4], setup.command(job)[4:]
    return shlex.join([str(script), *rest] if os.access(script, os.X_OK) else [*program, *rest])


@dataclass(frozen=True)
class CronJob:
    """A job of ours as OpenClaw is told of it."""

    name: str
    expression: str
    zone: str | None
    agent: str | None
    message: str
    delivery: tuple[str, ...]

    def arguments(self) -> tuple[str, ...]:
        zone = ("--tz", self.zone) if self.zone else ()
        agent = ("--agent", self.agent) if self.agent and self.agent != "main" else ()
        when = ("--cron", self.expression, *zone)
        how = ("--session", "isolated", "--wake", "now", *self.delivery)
        return (*_CALL, "add", "--name", self.name, *when, *how, *agent, "--message", self.message)


def wanted_jobs(setup: Setup, present: list[dict[str, Any]]) -> list[CronJob]:
    """Every job that OpenClaw is to run. A name that another job has gets our mark; several times become several jobs."""
    agent, help_page = agent_of(setup), _help(setup.machine)
    taken = {one.get("name") for one in present if not _is_ours(setup, one)}
    made = []
    for job in OPENCLAW_JOBS:
        message = job_prompt(job, shell_line(setup, job), setup.language)
        for number, times in enumerate(setup.times(job)):
            name = job if not number else f"{job}-{number + 1}"
            name = f"{name}-{setup.mark}" if name in taken else name
            delivery = _silent(help_page) if job == SYNC else _announced(help_page)
            made.append(CronJob(name, times.expression, zone_name(setup), agent, message, delivery))
    return made


def zone_name(setup: Setup) -> str | None:
    """The user's time zone by name, also the system's own: the Gateway may run on another machine."""
    return setup.config.timezone or getattr(zone_of(setup.clock), "key", None)


def _help(machine: Machine) -> str:
    return run_command(machine, (*_CALL, "add", "--help")).out


def _silent(help_page: str) -> tuple[str, ...]:
    """Versions differ: --delivery none became --no-deliver."""
    return (
        ("--no-deliver",) if "--no-deliver" in help_page and "--delivery" not in help_page else ("--delivery", "none")
    )


def _announced(help_page: str) -> tuple[str, ...]:
    """--deliver became --announce, and is an alias that will go."""
    return ("--announce",) if "--announce" in help_page and "--delivery" not in help_page else ("--deliver",)


def list_jobs(machine: Machine) -> list[dict[str, Any]]:
    """The jobs that OpenClaw has."""
    told = must_run(machine, (*_CALL, "list", "--all", "--json"))
    try:
        found = json.loads(told[told.index("{") :] if "{" in told else "{}")
    except ValueError as trouble:
        raise NacreError(
            say(
                '"openclaw cron list --json" did not answer with JSON. Look whether its Gateway runs: openclaw gateway status.',
                "“openclaw cron list --json”没有返回 JSON。请检查其网关是否在运行：openclaw gateway status。",
            )
        ) from trouble
    jobs = found.get("jobs") if isinstance(found, dict) else None
    return [one for one in jobs if isinstance(one, dict)] if isinstance(jobs, list) else []


def install(setup: Setup, _entry: Mapping[str, Any], *, complete: bool) -> Planned:
    """Jobs that are missing or out of date. Nothing is known of a job but what OpenClaw itself says of it."""
    present = list_jobs(setup.machine)
    jobs = wanted_jobs(setup, present)
    ours = [one for one in present if _is_ours(setup, one)]
    steps: list[Step] = [DropJob(old) for old in ours if not any(_is_same(job, old) for job in jobs)]
    steps += [AddJob(job, setup) for job in jobs if not any(_is_same(job, old) for old in ours)]
    noted = {"jobs": [job.name for job in jobs]}
    notes = [
        say(
            f"OpenClaw has a job {name!r} that is not ours; it stays, and ours is called {name}-{setup.mark}.",
            f"OpenClaw 已有一个不属于 Nacre 的任务“{name}”；它保持不变，Nacre 的任务名为 {name}-{setup.mark}。",
        )
        for name in OPENCLAW_JOBS
        if any(job.name == f"{name}-{setup.mark}" for job in jobs)
    ]
    return Planned(tuple(steps), noted, tuple(notes), ready=not steps and complete)


def remove(setup: Setup, entry: Mapping[str, Any]) -> Planned:
    """Our jobs taken out: those that run Nacre for this workspace, whatever they are called by now."""
    if not entry:
        return Planned((), ready=True)
    if not setup.machine.has("openclaw"):
        told = say(
            "OpenClaw is not here any more; jobs that its Gateway still has can be removed only there.",
            "OpenClaw 已不在本机；其网关中残留的任务只能在那里移除。",
        )
        return Planned((), notes=(told,), ready=True)
    steps = [DropJob(one) for one in list_jobs(setup.machine) if _is_ours(setup, one)]
    return Planned(tuple(steps), ready=not steps)


@dataclass(frozen=True)
class AddJob:
    job: CronJob
    setup: Setup

    def shown(self) -> Shown:
        return Shown(command=self.job.arguments())

    def do(self, machine: Machine) -> None:
        must_run(machine, self.job.arguments())

    def back(self, machine: Machine) -> None:
        for one in list_jobs(machine):
            if _is_ours(self.setup, one) and _is_same(self.job, one):
                run_command(machine, (*_CALL, "rm", str(one.get("id"))))


@dataclass(frozen=True)
class DropJob:
    """A job of ours, as OpenClaw told of it."""

    told: Mapping[str, Any]

    def shown(self) -> Shown:
        return Shown(command=self._command())

    def do(self, machine: Machine) -> None:
        must_run(machine, self._command())

    def back(self, machine: Machine) -> None:
        """Add it once more, because what should take its place could not be."""
        when = _table(self.told.get("schedule"))
        if any(one.get("id") == self.told.get("id") for one in list_jobs(machine)) or "expr" not in when:
            return
        silent = _table(self.told.get("delivery")).get("mode") == "none"
        how = (_silent if silent else _announced)(_help(machine))
        name, agent = str(self.told.get("name")), self.told.get("agentId")
        run_command(machine, CronJob(name, when["expr"], when.get("tz"), agent, _message(self.told), how).arguments())

    def _command(self) -> tuple[str, ...]:
        return (*_CALL, "rm", str(self.told.get("id")))


def _is_ours(setup: Setup, told: Mapping[str, Any]) -> bool:
    """A job that does what ours do: run one of our jobs for this very workspace, also as earlier versions had it run, due or not."""
    words = _message(told)
    place = shlex.join(["--workspace", setup.root])
    return any(
        re.search(rf"nacre'? jobs run {job} (?:--due )?{re.escape(place)}$", words, re.MULTILINE)
        for job in OPENCLAW_JOBS
    )


def _is_same(job: CronJob, told: Mapping[str, Any]) -> bool:
    when = _table(told.get("schedule"))
    same_time = when.get("expr") == job.expression and (when.get("tz") or None) == job.zone
    return told.get("name") == job.name and same_time and _message(told) == job.message


def _message(told: Mapping[str, Any]) -> str:
    words = _table(told.get("payload")).get("message")
    return words if isinstance(words, str) else ""


def _table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
