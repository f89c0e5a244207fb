"""What nacre up offers last: that all this happens by itself from now on, and that a process stays warm."""

from __future__ import annotations

import sys

import click

from nacre.cli.base import note, shown_path
from nacre.cli.up_line import tell
from nacre.errors import NacreError
from nacre.memory import Memory
from nacre.words import say


def offer_connecting(memory: Memory, wanted: bool | None, *, yes: bool) -> None:
    """`nacre connect`, when agents are here that are not connected yet; it shows every change and asks before it writes."""
    from nacre.connect.record import load, state_folder
    from nacre.connect.registry import known
    from nacre.jobs.service.common import this_machine

    machine = this_machine()
    try:
        connected = load(state_folder())
    except NacreError as trouble:
        note(str(trouble))
        return
    here = [agent for agent in known() if agent.is_here(machine) and agent.name not in connected]
    if not here:
        return
    titles = say(", ", "、").join(agent.title for agent in here)
    question = say(
        f"Connect {titles}, so that they use this memory by themselves? Every change is shown first.",
        f"是否连接 {titles}，让它们自动使用此记忆？每处更改都会先显示。",
    )
    if _agreed(wanted, question, yes=yes):
        sure = ["--yes"] if yes or wanted else []
        _run("connect", *(agent.name for agent in here), "--no-jobs", *sure, memory=memory)
    else:
        tell(
            "Agents",
            f'not connected: {titles}; "nacre connect" does it',
            "代理",
            f"未连接：{titles}；可运行“nacre connect”",
        )


def offer_jobs(memory: Memory, wanted: bool | None, *, yes: bool) -> bool | None:
    """`nacre jobs install`, when the user wants it and it is not there yet; on a machine that has nothing for it, the daemon.

    Whether the user wants jobs; None where nobody was asked.
    """
    from nacre.cli.jobs_runner import has_scheduler, runners
    from nacre.jobs.installed import kinds
    from nacre.status import daemon_of

    if kinds(memory.workspace) or (wanted is None and runners(memory, daemon_of(memory))):
        tell("Jobs", 'set up already; "nacre jobs list" shows them', "任务", "已设置；可用“nacre jobs list”查看")
        return True
    if not has_scheduler(memory):
        if wanted:
            by_daemons(memory)
        else:
            tell(
                "Jobs",
                'none; nothing on this machine can run them, but "nacre serve --background" does',
                "任务",
                "未设置；本机没有可以定时运行任务的程序，可运行“nacre serve --background”",
            )
        return wanted
    question = say("Capture four times a day and tidy every night, by itself?", "是否每天自动采集四次、每晚自动整理？")
    agreed = _agreed(wanted, question, yes=yes)
    if agreed:
        _run("jobs", "install", memory=memory)
    else:
        tell("Jobs", 'none; "nacre jobs install" sets them up', "任务", "未设置；可运行“nacre jobs install”")
    return agreed if wanted is not None or yes or _somebody_is_there() else None


def by_daemons(memory: Memory) -> None:
    """Let daemons that are started on demand run the jobs too, from now on."""
    import os

    from nacre.config import user_config_file
    from nacre.vault.settings import set_key

    if memory.config.jobs.on_demand:
        return
    path = user_config_file(os.environ)
    try:
        set_key(path, "jobs.on_demand", value=True)
    except NacreError as trouble:
        note(str(trouble))
        return
    tell(
        "Jobs",
        f"run while a daemon does, also one that an agent starts (jobs.on_demand in {shown_path(path)})",
        "任务",
        f"守护进程运行期间自动运行，代理启动的也一样（{shown_path(path)} 中的 jobs.on_demand）",
    )


def offer_serving(memory: Memory, wanted: bool | None, *, jobs: bool | None, yes: bool) -> None:
    """`nacre serve --background`, when the user wants it and none that stays runs yet. `jobs` is what they said to those: a no holds
    for the process too."""
    from nacre.status import daemon_of

    running = daemon_of(memory)
    if running is not None and not running.get("onDemand"):
        tell("Daemon", "runs already", "守护进程", "已在运行")
        return
    question = say(
        "Keep a process in the background, so that every search answers at once?",
        "是否在后台保留一个进程，让每次搜索立即得到结果？",
    )
    if jobs is None:
        question = say(
            "Keep a process in the background, so that every search answers at once, and capture and tidying run by themselves?",
            "是否在后台保留一个进程，让每次搜索立即得到结果，并自动采集和整理？",
        )
    if _agreed(wanted, question, yes=yes):
        from nacre.daemon.start import make_way

        make_way(memory)  # before the settings change, with which it would start anew
        if jobs is not False:
            by_daemons(memory)
        _run("serve", "--background", *(["--no-jobs"] if jobs is False else []), memory=memory)
    else:
        tell(
            "Daemon",
            'none; "nacre serve --background" starts it',
            "守护进程",
            "未启动；可运行“nacre serve --background”",
        )


def _agreed(wanted: bool | None, question: str, *, yes: bool) -> bool:
    """What was typed, else what is answered; where nobody sits nothing is begun that outlives the command."""
    if wanted is not None:
        return wanted
    if yes:
        return True
    if not _somebody_is_there():
        return False
    return click.confirm(question, default=True, err=True)


def _somebody_is_there() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _run(*arguments: str, memory: Memory) -> None:
    """Another command of ours; its failure is told and ends nothing here: memory works without it."""
    from nacre.cli.main import run

    run([*arguments, "--workspace", str(memory.workspace.root)])
