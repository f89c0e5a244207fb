"""What runs by itself: jobs that fail or never ran, a scheduler that was set up for something else, a daemon that is stale."""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import re
import stat
from typing import Any

from nacre.config import known_settings
from nacre.errors import BadSetting, NacreError
from nacre.memory import Memory
from nacre.model.problem import Problem
from nacre.vault.workspace import Workspace
from nacre.words import say

_OVERDUE = dt.timedelta(days=2)  # a laptop may sleep over a weekend's night, not run for two days without a job
_SLOW = "openclaw"  # its program takes seconds to be asked anything


def jobs(memory: Memory) -> list[Problem]:
    """Failing and forgotten jobs, and a scheduler that would not run what we are now."""
    from nacre.jobs import installed, state

    try:
        states = state(memory)
    except BadSetting as trouble:
        return [Problem("bad setting", str(trouble), severity="error", remedy=mending(str(trouble)))]
    found = [
        Problem(
            "job fails",
            say(
                f"{one.name} has failed {one.failures} times since {one.failing_since:%Y-%m-%d %H:%M}: {one.last.said or '-'}",
                f"{one.name} 自 {one.failing_since:%Y-%m-%d %H:%M} 起已失败 {one.failures} 次：{one.last.said or '-'}",
            ),
            remedy=f"nacre jobs run {one.name}",
        )
        for one in states
        if one.failing_since and one.last
    ]
    kinds = installed.kinds(memory.workspace)
    if not kinds:
        return found
    last = max((one.last.started for one in states if one.last), default=None)
    since = last or _installed_at(memory.workspace)
    if since and memory.clock.now() - since > _OVERDUE:
        shown = f"{memory.clock.local(since):%Y-%m-%d %H:%M}"
        message = (
            say(f"No job has run since {shown}.", f"自 {shown} 起没有任何任务运行过。")
            if last
            else say(f"Jobs were set up at {shown}, and none has run yet.", f"任务已于 {shown} 设置，但从未运行过。")
        )
        found.append(Problem("jobs do not run", message, remedy="nacre jobs install"))
    return found + _changed(memory, kinds)


def mending(trouble: str) -> str:
    """What mends settings that cannot be understood: no command writes to a file that is no TOML, of which the sentence tells."""
    if at := re.search(r"line (\d+)", trouble):
        return say(f"open that file in an editor and mend line {at[1]}", f"请用编辑器打开该文件并修正第 {at[1]} 行")
    named = re.search(r'["“]([a-z_]+(?:\.[a-z_]+)*)["”]', trouble)
    if named and named[1] in known_settings() and "environment" not in trouble:
        return f"nacre config set {'' if 'workspace' in trouble else '--user '}{named[1]} …"
    return say('correct it there; "nacre config" lists what can be set', "请在该处更正；“nacre config”列出可设置的内容")


def _installed_at(workspace: Workspace) -> dt.datetime | None:
    from nacre.jobs.installed import file_of

    try:
        return dt.datetime.fromtimestamp(file_of(workspace).stat().st_mtime, dt.UTC)
    except OSError:
        return None


def _changed(memory: Memory, kinds: tuple[str, ...]) -> list[Problem]:
    """What the scheduler was told, beside what it would be told today: another Python, another place, other times."""
    from nacre.jobs import installed
    from nacre.jobs.service.common import Setup, this_machine
    from nacre.jobs.service.manage import KINDS

    setup = Setup(memory.workspace, memory.config, memory.clock, this_machine())
    record = installed.read(memory.workspace)
    found: list[Problem] = []
    for kind in kinds:
        if kind not in KINDS or kind == _SLOW:
            continue
        try:
            complete = installed.is_complete(memory.workspace, kind)
            same = KINDS[kind].install(setup, record[kind], complete=complete).ready
        except NacreError as trouble:
            found.append(Problem("service", str(trouble), remedy="nacre jobs remove"))
            continue
        if not same:
            message = say(
                f"The jobs in {kind} were set up for another Python, another place or other settings, or were changed since.",
                f"{kind} 中的任务是按另一个 Python、另一个位置或其他设置建立的，或之后被改动过。",
            )
            found.append(Problem("service outdated", message, remedy="nacre jobs install"))
    return found


def daemon(memory: Memory) -> list[Problem]:
    """A socket that nobody listens on, a daemon that does not answer, is of another version, or cannot watch."""
    from nacre.daemon import client
    from nacre.daemon.lifetime import holder

    root = str(memory.workspace.root)
    if holder(memory.workspace) is None:
        return [
            Problem(
                "stale socket",
                say(
                    "A daemon ended without clearing its socket away; the next one replaces it.",
                    "守护进程退出时没有清理套接字；下一个会替换它。",
                ),
                place,
                remedy="nacre doctor --fix",
            )
            for place in _sockets(memory.workspace)
        ]
    try:
        with client.Connection(root, within=5.0, any_version=True) as connection:
            skew = connection.daemon.get("skew")
            told = connection.ask("status")
    except (client.NoDaemon, NacreError) as trouble:
        message = say(f"The daemon does not answer: {trouble}.", f"守护进程没有响应：{trouble}。")
        return [Problem("daemon silent", message, remedy="nacre serve --stop")]
    found: list[Problem] = []
    if skew:
        message = say(
            f"The daemon cannot answer for this command: {skew}. Everything works without it.",
            f"守护进程无法为本命令提供结果：{skew}。不用它也一切正常。",
        )
        found.append(Problem("daemon skew", message, remedy="nacre serve --stop && nacre serve --background"))
    if told.get("watching") == "scanning":
        message = say(
            f"The daemon looks at the files every now and then instead of being told: {told.get('watchingReason')}.",
            f"守护进程改为定时扫描文件，而不是监听变化：{told.get('watchingReason')}。",
        )
        remedy = "sudo sysctl fs.inotify.max_user_watches=524288"
        found.append(Problem("watch limit", message, remedy=remedy))
    if broken := told.get("settings"):
        message = say(f"The daemon keeps its settings from before: {broken}", f"守护进程仍沿用之前的设置：{broken}")
        found.append(Problem("daemon settings", message, remedy=mending(broken)))
    return found + _http(told.get("http") or {})


def _http(told: dict[str, Any]) -> list[Problem]:
    """HTTP that could not be had, has ended, or is open to others."""
    found: list[Problem] = []
    if trouble := told.get("trouble"):
        message = say(f"MCP is not served over HTTP: {trouble}", f"未能通过 HTTP 提供 MCP：{trouble}")
        found.append(Problem("no http", message, remedy="nacre config set --user serve.port 6227"))
    if not told.get("local", True):
        message = say(
            f"{told['url']} is open to others on the network, and what goes over it is not encrypted.",
            f"网络上的其他人可以访问 {told['url']}，且传输内容未加密。",
        )
        found.append(Problem("open http", message, remedy="nacre config set --user serve.host 127.0.0.1"))
    return found


def clear_away(workspace: Workspace) -> list[str]:
    """Remove sockets that nobody listens on; a sentence for each."""
    from nacre.daemon.lifetime import holder

    done: list[str] = []
    for place in _sockets(workspace):
        if holder(workspace) is None:
            with contextlib.suppress(OSError):
                os.unlink(place)
                done.append(say(f"The stale socket {place} was removed.", f"已移除失效的套接字 {place}。"))
    return done


def _sockets(workspace: Workspace) -> list[str]:
    """The sockets of ours that lie about for this workspace; nothing else that has the name of one."""
    from nacre.daemon.client import places

    found: list[str] = []
    for place in places(str(workspace.root)) if hasattr(os, "getuid") else ():
        with contextlib.suppress(OSError):
            about = os.lstat(place)
            if stat.S_ISSOCK(about.st_mode) and about.st_uid == os.getuid():
                found.append(place)
    return found
