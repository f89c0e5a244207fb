"""nacre status: the workspace at a glance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from nacre.cli.base import Command, Invocation, json_option, note, open_all, print_json, shown_path, size_of, table
from nacre.i18n import say

if TYPE_CHECKING:
    from nacre.memory import Memory

_RESULTS = {
    "done": ("done", "完成"),
    "nothing": ("nothing to do", "无事可做"),
    "partly": ("partly done", "部分完成"),
    "failed": ("failed", "失败"),
}


@click.command(cls=Command, epilog="Example:  nacre status --deep")
@click.option("--deep", is_flag=True, help="Also check the index file and try the embedding models.")
@click.option("--index", "reindex", is_flag=True, help="Bring the index up to date first, when files changed.")
@click.option("--verbose", is_flag=True, help="Also list the problems found.")
@json_option
@click.pass_obj
def status(invocation: Invocation, *, deep: bool, reindex: bool, verbose: bool, as_json: bool) -> None:
    """Show the workspace, its sizes against the limits, the index and the models."""
    from nacre.checks.status import status_facts

    found: list[dict[str, Any]] = []
    for memory in open_all(invocation):
        if reindex:
            memory.index()
        stock = {**status_facts(memory, deep=deep), "connections": connections()}
        found.append(stock)
        if not as_json:
            _tell(stock, _jobs(memory, stock["jobs"], stock["daemon"]), verbose=verbose)
    if as_json:
        print_json(found[0] if len(found) == 1 else found)


def connections() -> list[dict[str, Any]]:
    """Every agent that is connected; none where the record of it cannot be understood, which doctor tells."""
    from nacre.agents.connection import RECORD_NAME, state_folder

    if not (state_folder() / RECORD_NAME).exists():
        return []
    from nacre.agents.connection import agent_states
    from nacre.agents.registry import all_agents
    from nacre.errors import NacreError
    from nacre.jobs.installer import this_machine

    try:
        return [one.as_plain() for one in agent_states(all_agents(), this_machine(), state_folder()) if one.connection]
    except NacreError:
        return []


def _connected(listed: list[dict[str, Any]], root: str) -> str:
    """Which agents use this memory by themselves; one whose connection is broken is marked."""
    import os

    here = [one for one in listed if os.path.realpath(one["workspace"]) == os.path.realpath(root)]
    if not here:
        return say('none connected; "nacre connect" does it', "未连接；可运行“nacre connect”")
    broken = say(" (broken: nacre doctor)", "（已损坏：nacre doctor）")
    return ", ".join(
        one["agent"] + (broken if one["missing"] or one["unreadable"] or not one["starts"] else "") for one in here
    )


def _tell(stock: dict[str, Any], jobs: str, *, verbose: bool) -> None:
    from pathlib import Path

    longterm, index, embed = stock["longterm"], stock["index"], stock["embedding"]
    rows = [
        (
            say("workspace", "工作区"),
            shown_path(Path(stock["workspace"])) + (f"  ({stock['agent']})" if stock["agent"] else ""),
        ),
        ("MEMORY.md", _limits(longterm)),
        (
            say("files", "文件"),
            ", ".join(f"{count} {layer}" for layer, count in stock["files"].items()) or say("none yet", "暂无"),
        ),
        (say("capture", "采集"), _capture(stock["capture"])),
        (say("agents", "代理"), _connected(stock["connections"], stock["workspace"])),
        (say("jobs", "任务"), jobs),
        (say("daemon", "守护进程"), _daemon(stock["daemon"])),
        (say("index", "索引"), _index(index)),
        *([(say("sessions", "会话"), _sessions(stock["sessions"]))] if stock["sessions"] else []),
        (say("vectors", "向量"), _vectors(embed)),
        (say("history", "历史"), say(f"operations: {stock['history']}", f"{stock['history']} 次操作")),
    ]
    table(rows)
    if longterm["share"] > 1:
        note(
            'MEMORY.md is over its limits and takes nothing new; "nacre review --adopt" brings it under them.',
            "MEMORY.md 已超出上限，不再接受新内容；可用“nacre review --adopt”使其回到上限以内。",
        )
    elif longterm["share"] >= 0.9:
        note("MEMORY.md is nearly full: above 90% of its limits.", "MEMORY.md 快满了：已超过上限的 90%。")
    if waiting := stock["review"]:
        note(f'"nacre review" has {waiting} to ask you.', f"“nacre review”有 {waiting} 项待您决定。")
    problems = stock["problems"]
    if verbose:
        for one in problems:
            note(f"{one['path']}: {one['message']}" if one["path"] else one["message"])
    elif problems:
        note(
            f'Problems found: {len(problems)}; "nacre doctor" lists them.',
            f"发现 {len(problems)} 个问题；“nacre doctor”会列出。",
        )


def _limits(longterm: dict[str, Any]) -> str:
    return say(
        f"{longterm['lines']} of {longterm['maxLines']} lines, {longterm['bytes']} of {longterm['maxBytes']} bytes",
        f"{longterm['lines']}/{longterm['maxLines']} 行，{longterm['bytes']}/{longterm['maxBytes']} 字节",
    )


def _capture(capture: dict[str, Any]) -> str:
    if not capture["synced"]:
        text = say('nothing yet; run "nacre sync"', "尚未采集；请运行“nacre sync”")
    else:
        at = capture["synced"].replace("T", " ")[:16]
        text = say(f"{capture['sessions']} sessions, last at {at}", f"{capture['sessions']} 个会话，最近一次 {at}")
    if capture["paused"]:
        text += say("; paused", "；已暂停")
        text += f" → {capture['pausedUntil']}" if capture["pausedUntil"] else ""
    if not capture["meaning"]:
        text += say("; judged by structure alone, without the models", "；未装模型，仅按句子结构判断")
    return text


def _jobs(memory: Memory, jobs: dict[str, Any], daemon: dict[str, Any] | None) -> str:
    """The last and the next run in one line, which jobs fail, and who runs them."""
    if jobs["trouble"]:
        return str(jobs["trouble"])
    from nacre.cli.jobs_runner import nobody, runners

    states = jobs["states"]
    ran = max((one for one in states if one["last"]), key=lambda one: one["last"], default=None)
    by = runners(memory, daemon)
    if not ran and not by:
        return nobody(memory)
    parts: list[str] = []
    if ran:
        parts.append(say(f"last {ran['name']} {_at(ran['last'])}", f"上次 {ran['name']} {_at(ran['last'])}"))
        result = _RESULTS.get(ran["result"], ("running", "进行中"))
        parts[-1] += say(f" ({result[0]})", f"（{result[1]}）")
    else:
        parts.append(say("none has run yet", "尚未运行过"))
    coming = min((one for one in states if one["next"]), key=lambda one: one["next"], default=None)
    if by and coming:
        parts.append(
            say(f"next {coming['name']} {_at(coming['next'])}", f"下次 {coming['name']} {_at(coming['next'])}")
        )
    parts += [
        say(
            f"{one['name']} FAILING since {_at(one['failingSince'])}",
            f"{one['name']} 自 {_at(one['failingSince'])} 起失败",
        )
        for one in states
        if one["failingSince"]
    ]
    parts.append(say(f"by {', '.join(by)}", f"由 {'、'.join(by)} 运行") if by else nobody(memory))
    return say("; ", "；").join(parts)


def _daemon(daemon: dict[str, Any] | None) -> str:
    if daemon is None:
        return say("none; everything works without", "未运行；不影响使用")
    if not daemon["answers"]:
        return say(f"process {daemon['process']} does not answer", f"进程 {daemon['process']} 没有响应")
    watching = {
        "events": say("watching", "正在监听文件"),
        "scanning": say("scanning instead of watching", "以扫描代替监听"),
    }.get(daemon["watching"], daemon["watching"])
    text = say(
        f"running since {_at(daemon['since'])}, {daemon['memoryMb']:.0f} MB, {watching}",
        f"自 {_at(daemon['since'])} 起运行，{daemon['memoryMb']:.0f} MB，{watching}",
    )
    if url := (daemon.get("http") or {}).get("url"):
        text += say(f", MCP at {url}", f"，MCP：{url}")
    return text + (f" ({daemon['skew']})" if daemon["skew"] else "")


def _at(moment: str) -> str:
    """A moment as people read it, in the time zone of this machine's user."""
    return moment.replace("T", " ")[:16]


def _index(index: dict[str, Any]) -> str:
    text = say(
        f"{index['files']} files, {index['chunks']} passages, {size_of(index['bytes'])}",
        f"{index['files']} 个文件，{index['chunks']} 段，{size_of(index['bytes'])}",
    )
    if index["changed"]:
        text += say(f"; files changed since: {index['changed']}", f"；此后有 {index['changed']} 个文件变化")
    if index["outdated"]:
        text += say('; settings changed, run "nacre index"', "；设置已更改，请运行“nacre index”")
    if index["check"] not in (None, "ok"):
        text += say(f"; damaged: {index['check']}", f"；已损坏：{index['check']}")
    return text


def _sessions(talks: dict[str, int]) -> str:
    return say(
        f"{talks['sessions']} indexed, {talks['messages']} messages",
        f"已索引 {talks['sessions']} 个，共 {talks['messages']} 条消息",
    )


def _vectors(embed: dict[str, Any]) -> str:
    if embed["reason"] and not embed["models"]:
        return str(embed["reason"])
    text = f"{embed['provider']}: {', '.join(embed['models'])}"
    if embed["waiting"]:
        text += say(f"; {embed['waiting']} passages to embed", f"；{embed['waiting']} 段待生成")
    if embed["works"] is not None:
        text += say(
            "; works" if embed["works"] is True else f"; does not work: {embed['works']}",
            "；可用" if embed["works"] is True else f"；不可用：{embed['works']}",
        )
    if embed["reason"]:
        text += f" ({embed['reason']})"
    return text
