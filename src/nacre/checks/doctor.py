"""Every problem of files, settings, index, models, agents, jobs, daemon and machine as a row with its remedy, and what can be repaired safely."""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import re
import stat
from typing import Any

from nacre.config.loading import known_settings
from nacre.errors import BadSetting, NacreError
from nacre.i18n import say
from nacre.memory import Memory
from nacre.model.report import Problem
from nacre.model.workspace import DAY_NAME, Workspace

_EARLIEST = 2025  # a clock that tells an earlier year was never set
_SLACK = dt.timedelta(days=1)  # a log of tomorrow is another time zone, not a wrong clock
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def machine_problems(memory: Memory) -> list[Problem]:
    return [*_clock(memory), *_permissions(memory.workspace)]


def _clock(memory: Memory) -> list[Problem]:
    """Whether today can be right. With --now the clock is not the machine's, and nothing is to be said of it."""
    if memory.clock.fixed is not None:
        return []
    now = memory.clock.now()
    found: list[Problem] = []
    mend = say("set the clock, or the setting timezone", "请校准时钟，或设置 timezone")
    if now.year < _EARLIEST:
        message = say(f"The clock says {now:%Y-%m-%d}; it was never set.", f"时钟显示 {now:%Y-%m-%d}，从未校准。")
        found.append(Problem("clock", message, remedy=mend))
    if ahead := _latest_day(memory.workspace, (now + _SLACK).date()):
        message = say(
            f"{ahead} is dated after today, {now:%Y-%m-%d}: the clock or the time zone was or is wrong.",
            f"{ahead} 的日期晚于今天（{now:%Y-%m-%d}）：时钟或时区曾经或现在有误。",
        )
        found.append(Problem("clock", message, ahead, remedy=mend))
    synced = memory.synced()
    if synced and synced > now + _SLACK:
        message = say(
            f"The last capture is dated {synced:%Y-%m-%d %H:%M}, which is still to come.",
            f"最近一次采集的时间是 {synced:%Y-%m-%d %H:%M}，尚未到来。",
        )
        found.append(Problem("clock", message, remedy=mend))
    return found


def _latest_day(workspace: Workspace, limit: dt.date) -> str | None:
    """The log of the latest day, when it lies after the limit."""
    try:
        names = [name for name in os.listdir(workspace.memory) if DAY_NAME.fullmatch(name)]
    except OSError:
        return None
    latest = max(names, default="")
    return f"memory/{latest}" if latest[:10] > limit.isoformat() else None


def _permissions(workspace: Workspace) -> list[Problem]:
    """Who may write here speaks through every session that reads it."""
    found: list[Problem] = []
    for path, remedy in (
        (workspace.root, f"chmod go-w {workspace.root}"),
        (workspace.machine, "nacre doctor --fix"),
    ):
        if _others_may_write(str(path)):
            message = say(
                f"Other users may write to {path}, and so put words into your agents' memory.",
                f"其他用户可以写入 {path}，从而篡改您的代理的记忆。",
            )
            found.append(Problem("open to others", message, str(path), remedy=remedy))
    return found


def close_to_others(workspace: Workspace) -> list[str]:
    """Take from others the right to write to our own folder; the user's is left as it is."""
    path = str(workspace.machine)
    if not _others_may_write(path):
        return []
    os.chmod(path, stat.S_IMODE(os.lstat(path).st_mode) & ~_OTHERS_WRITE)
    return [say(f"{path} is closed to other users.", f"{path} 已禁止其他用户写入。")]


def _others_may_write(path: str) -> bool:
    try:
        about = os.lstat(path)
    except OSError:
        return False
    mine = not hasattr(os, "getuid") or about.st_uid == os.getuid()
    return mine and stat.S_ISDIR(about.st_mode) and bool(about.st_mode & _OTHERS_WRITE)


# What runs by itself: jobs that fail or never ran, a scheduler that was set up for something else, a daemon that is
# stale.

_OVERDUE = dt.timedelta(days=2)  # a laptop may sleep over a weekend's night, not run for two days without a job
_SLOW = "openclaw"  # its program takes seconds to be asked anything


def job_problems(memory: Memory) -> list[Problem]:
    """Failing and forgotten jobs, and a scheduler that would not run what we are now."""
    from nacre.jobs import installer
    from nacre.jobs.run import job_states

    try:
        states = job_states(memory)
    except BadSetting as trouble:
        return [Problem("bad setting", str(trouble), severity="error", remedy=settings_remedy(str(trouble)))]
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
    kinds = installer.installed_kinds(memory.workspace)
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


def settings_remedy(trouble: str) -> str:
    """What mends settings that cannot be understood: no command writes to a file that is no TOML, of which the sentence tells."""
    if at := re.search(r"line (\d+)", trouble):
        return say(f"open that file in an editor and mend line {at[1]}", f"请用编辑器打开该文件并修正第 {at[1]} 行")
    named = re.search(r'["“]([a-z_]+(?:\.[a-z_]+)*)["”]', trouble)
    if named and named[1] in known_settings() and "environment" not in trouble:
        return f"nacre config set {'' if 'workspace' in trouble else '--user '}{named[1]} …"
    return say('correct it there; "nacre config" lists what can be set', "请在该处更正；“nacre config”列出可设置的内容")


def _installed_at(workspace: Workspace) -> dt.datetime | None:
    from nacre.jobs.installer import installed_path

    try:
        return dt.datetime.fromtimestamp(installed_path(workspace).stat().st_mtime, dt.UTC)
    except OSError:
        return None


def _changed(memory: Memory, kinds: tuple[str, ...]) -> list[Problem]:
    """What the scheduler was told, beside what it would be told today: another Python, another place, other times."""
    from nacre.jobs import installer
    from nacre.jobs.installer import Setup, this_machine
    from nacre.jobs.schedulers import SCHEDULERS

    setup = Setup(memory, this_machine())
    record = installer.read_installed(memory.workspace)
    found: list[Problem] = []
    for kind in kinds:
        if kind not in SCHEDULERS or kind == _SLOW:
            continue
        try:
            same = SCHEDULERS[kind].install(setup, record[kind]).ready
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


def daemon_problems(memory: Memory) -> list[Problem]:
    """A socket that nobody listens on, a daemon that does not answer, is of another version, or cannot watch."""
    from nacre.daemon import client
    from nacre.daemon.process import daemon_process

    root = str(memory.workspace.root)
    if daemon_process(memory.workspace) is None:
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
        found.append(Problem("daemon settings", message, remedy=settings_remedy(broken)))
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


def remove_stale_sockets(workspace: Workspace) -> list[str]:
    """Remove sockets that nobody listens on; a sentence for each."""
    from nacre.daemon.process import daemon_process

    done: list[str] = []
    for place in _sockets(workspace):
        if daemon_process(workspace) is None:
            with contextlib.suppress(OSError):
                os.unlink(place)
                done.append(say(f"The stale socket {place} was removed.", f"已移除失效的套接字 {place}。"))
    return done


def _sockets(workspace: Workspace) -> list[str]:
    """The sockets of ours that lie about for this workspace; nothing else that has the name of one."""
    from nacre.daemon.client import socket_paths

    found: list[str] = []
    for place in socket_paths(str(workspace.root)) if hasattr(os, "getuid") else ():
        with contextlib.suppress(OSError):
            about = os.lstat(place)
            if stat.S_ISSOCK(about.st_mode) and about.st_uid == os.getuid():
                found.append(place)
    return found


# Every problem that can be found: files, settings, index, models, agents, jobs, daemon, the machine itself.


def examine(memory: Memory) -> list[Problem]:
    """Every problem found; none of them is raised."""
    from nacre.checks import proof
    from nacre.embed.choose import embedding_problems as of_models
    from nacre.vault.problems import file_problems

    return [
        *memory.problems,
        *file_problems(memory.workspace, memory.config, every_file=True),
        *_index_problems(memory),
        *of_models(memory.config),
        *proof.round_trip_problems(),
        *proof.agent_problems(memory),
        *job_problems(memory),
        *daemon_problems(memory),
        *machine_problems(memory),
    ]


def _index_problems(memory: Memory) -> list[Problem]:
    store = memory.keeper.store
    shown = str(store.path)
    try:
        check = store.safely(lambda: store.db.execute("pragma quick_check(1)").fetchone()[0])
    except NacreError as trouble:
        return [Problem("index unusable", str(trouble), shown, severity="error", remedy="nacre doctor --fix")]
    found: list[Problem] = []
    if check != "ok" or store.recovered:
        message = say("The index was damaged; it is built anew from your notes.", "索引曾损坏；将根据您的笔记重建。")
        found.append(Problem("index damaged", message, shown, remedy="nacre index"))
    if memory.workspace.index not in store.path.parents:
        message = say("The workspace cannot be written to; the index lies elsewhere.", "工作区不可写；索引存放在别处。")
        found.append(Problem("workspace read-only", message, shown))
    if memory.keeper.outdated():
        message = say(
            "Settings changed; the index made with the old ones still answers.", "设置已更改；目前仍由旧索引提供结果。"
        )
        found.append(Problem("index outdated", message, shown, remedy="nacre index"))
    return found


# What can be mended without touching a note: missing files, the index, permissions of our own folder, a stale socket.


def repair(memory: Memory) -> list[str]:
    """Bring the derived and missing parts in order; a sentence for each thing done."""
    from nacre.vault import create

    done = []
    made = create.plan_init(memory.workspace.root)
    if made.plan:
        create.apply_init(made, memory.clock, memory.config)
        done += [f"{step.action} {step.path}" for step in made.plan.steps]
    done += close_to_others(memory.workspace)
    done += remove_stale_sockets(memory.workspace)
    report = memory.index()
    if memory.keeper.store.recovered:
        done.append(say("The damaged index was set aside and built anew.", "损坏的索引已移到一旁并重建。"))
    if report.text and (report.text.changed or report.text.removed):
        done.append(say("The index was brought up to date.", "索引已更新。"))
    return done
