"""What nacre up offers last: that all this happens by itself from now on, and that a process stays warm."""

from __future__ import annotations

import sys

import click

from nacre.cli.base import note
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
        note(
            say(
                f'Agents     not connected: {titles}; "nacre connect" does it',
                f"代理    未连接：{titles}；可运行“nacre connect”",
            )
        )


def offer_jobs(memory: Memory, wanted: bool | None, *, yes: bool) -> None:
    """`nacre jobs install`, when the user wants it and it is not there yet."""
    from nacre.jobs.installed import kinds

    if kinds(memory.workspace):
        note(
            say('Jobs       set up already; "nacre jobs list" shows them', "任务    已设置；可用“nacre jobs list”查看")
        )
        return
    question = say("Capture four times a day and tidy every night, by itself?", "是否每天自动采集四次、每晚自动整理？")
    if _agreed(wanted, question, yes=yes):
        _run("jobs", "install", memory=memory)
    else:
        note(say('Jobs       none; "nacre jobs install" sets them up', "任务    未设置；可运行“nacre jobs install”"))


def offer_serving(memory: Memory, wanted: bool | None, *, yes: bool) -> None:
    """`nacre serve --background`, when the user wants it and none runs yet."""
    from nacre.daemon.lifetime import holder

    if holder(memory.workspace) is not None:
        note(say("Daemon     runs already", "守护进程    已在运行"))
        return
    question = say(
        "Keep a process in the background, so that every search answers at once?",
        "是否在后台保留一个进程，让每次搜索立即得到结果？",
    )
    if _agreed(wanted, question, yes=yes):
        _run("serve", "--background", memory=memory)
    else:
        note(
            say(
                'Daemon     none; "nacre serve --background" starts it',
                "守护进程    未启动；可运行“nacre serve --background”",
            )
        )


def _agreed(wanted: bool | None, question: str, *, yes: bool) -> bool:
    """What was typed, else what is answered; where nobody sits nothing is begun that outlives the command."""
    if wanted is not None:
        return wanted
    if yes:
        return True
    if not sys.stdin.isatty() or not sys.stderr.isatty():
        return False
    return click.confirm(question, default=True, err=True)


def _run(*arguments: str, memory: Memory) -> None:
    """Another command of ours; its failure is told and ends nothing here: memory works without it."""
    from nacre.cli.main import run

    run([*arguments, "--workspace", str(memory.workspace.root)])
