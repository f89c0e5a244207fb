"""Every problem of files, settings, index, models, jobs and daemon with its remedy, and what can be repaired safely."""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import stat
import tempfile
from collections.abc import Callable, Iterator

from nacre.errors import BadSetting, NacreError
from nacre.i18n import say
from nacre.memory import Memory
from nacre.model.entry import Hit, SearchReport
from nacre.model.report import Problem, problem
from nacre.model.workspace import Workspace

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_OVERDUE = dt.timedelta(days=2)  # a laptop may sleep over a weekend's night, not run for two days without a job
_SLOW = "openclaw"  # its program takes seconds to be asked anything
_MEND = "nacre doctor --fix"
_STRANGE = 20  # entries of unknown form in one transcript, from which on the form may have changed


def examine(memory: Memory) -> list[Problem]:
    """Every problem there is; none of them is raised."""
    from nacre.embed.choose import embedding_problems

    return [
        *memory.all_problems(every_file=True),
        *index_problems(memory),
        *embedding_problems(memory.config),
        *transcript_problems(memory),
        *job_problems(memory),
        *daemon_problems(memory),
        *open_folders(memory.workspace),
    ]


def try_round_trip() -> tuple[Hit, SearchReport]:
    """Write, index and find again in a scratch workspace: the proof that this machine can do all three."""
    written = say("Jun prefers to pay by bank transfer, never by card", "小军付款一律用银行转账，不刷卡")
    with tempfile.TemporaryDirectory(prefix="nacre-") as folder:
        os.mkdir(os.path.join(folder, ".nacre"))
        with Memory.open(folder) as memory:
            memory.remember(written, project="*")
            report = memory.ask(say("how does Jun like to pay", "小军怎么付款"))
    for hit in report.hits:
        if written in hit.snippet:
            return hit, report
    raise NacreError("What was just written was not found again.", "刚写入的内容未能查到。")


def transcript_problems(memory: Memory) -> Iterator[Problem]:
    """Agents whose newest session is of an unknown form, as after an update; nothing of it is kept. What cannot be read, sync tells."""
    from nacre.sources.registry import settings_of, sources

    for source in (source for source in sources() if settings_of(memory.config, source.agent).enabled):
        newest = max(source.find(memory.places), key=lambda transcript: transcript.changed, default=None)
        try:
            reading = source.read(newest, None, memory.clock.fixed) if newest else None
        except OSError:
            continue
        messages = len(reading.session.messages) if reading and reading.session else 0
        if newest and reading and reading.unknown >= max(_STRANGE, messages):
            yield problem(
                "transcript of unknown form",
                f"{reading.unknown} entries of the newest session with {source.agent} are of a form that Nacre does not know.",
                f"与 {source.agent} 的最新对话中有 {reading.unknown} 条记录的格式 Nacre 不认识。",
                str(newest.path),
                remedy=("update Nacre", "请更新 Nacre"),
            )


def index_problems(memory: Memory) -> Iterator[Problem]:
    store = memory.keeper.store
    shown = str(store.path)
    try:
        check = store.safely(lambda: store.db.execute("pragma quick_check(1)").fetchone()[0])
    except NacreError as error:
        yield Problem("index unusable", str(error), shown, severity="error", remedy=_MEND)
        return
    if check != "ok" or store.recovered:
        english = "The index was damaged; it is built anew from your notes."
        yield problem("index damaged", english, "索引曾损坏；将根据您的笔记重建。", shown, remedy="nacre index")
    if memory.keeper.outdated():
        english = "Settings changed; the index made with the old ones still answers."
        yield problem("index outdated", english, "设置已更改；目前仍由旧索引提供结果。", shown, remedy="nacre index")


def job_problems(memory: Memory) -> Iterator[Problem]:
    """Failing and forgotten jobs, and a scheduler that was set up for another Python, another place or other times."""
    from nacre.jobs import installer
    from nacre.jobs.run import job_states
    from nacre.jobs.schedulers import SCHEDULERS

    try:
        states = job_states(memory)
    except BadSetting as error:
        yield bad_setting(error)
        return
    for job in states:
        if job.failing_since and job.last:
            since, reason = f"{job.failing_since:%Y-%m-%d %H:%M}", job.last.said or "-"
            english = f"{job.name} has failed {job.failures} times since {since}: {reason}"
            chinese = f"{job.name} 自 {since} 起已失败 {job.failures} 次：{reason}"
            yield problem("job fails", english, chinese, remedy=f"nacre jobs run {job.name}")
    kinds = installer.installed_kinds(memory.workspace)
    if not kinds:
        return
    last = begun = max((job.last.started for job in states if job.last), default=None)
    if last is None:
        with contextlib.suppress(OSError):
            begun = dt.datetime.fromtimestamp(installer.installed_path(memory.workspace).stat().st_mtime, dt.UTC)
    if begun and memory.clock.now() - begun > _OVERDUE:
        at = f"{memory.clock.local(begun):%Y-%m-%d %H:%M}"
        never = f"Jobs were set up at {at}, and none has run yet.", f"任务已于 {at} 设置，但从未运行过。"
        since_then = f"No job has run since {at}.", f"自 {at} 起没有任何任务运行过。"
        yield problem("jobs do not run", *(since_then if last else never), remedy="nacre jobs install")
    setup, record = installer.Setup(memory, installer.this_machine()), installer.read_installed(memory.workspace)
    for kind in kinds:
        if kind not in SCHEDULERS or kind == _SLOW:
            continue
        try:
            is_current = record[kind].get("complete") and not SCHEDULERS[kind].install(setup, record[kind]).steps
        except NacreError as error:
            yield Problem("service", str(error), remedy="nacre jobs remove")
            continue
        if not is_current:
            english = f"The jobs in {kind} were set up for another Python, another place or other settings, or were changed since."
            chinese = f"{kind} 中的任务是按另一个 Python、另一个位置或其他设置建立的，或之后被改动过。"
            yield problem("service outdated", english, chinese, remedy="nacre jobs install")


def bad_setting(error: BadSetting) -> Problem:
    """Settings that cannot be understood; the sentence says which and where."""
    return Problem("bad setting", str(error), severity="error", remedy=_correct_it())


def _correct_it() -> str:
    return say('correct it there; "nacre config" lists what can be set', "请在该处更正；“nacre config”列出可设置的内容")


def daemon_problems(memory: Memory) -> Iterator[Problem]:
    """A socket that nobody listens on, and what is wrong with a daemon: silent, of another version, not watching, open."""
    from nacre.daemon.process import ask_status, daemon_process

    if daemon_process(memory.workspace) is None:
        english = "A daemon ended without clearing its socket away; the next one replaces it."
        for path in _sockets(memory.workspace):
            yield problem("stale socket", english, "守护进程退出时没有清理套接字；下一个会替换它。", path, remedy=_MEND)
        return
    status = ask_status(memory, within=5.0) or {"answers": True}  # of another moment nothing is said
    if not status["answers"]:
        error = status["trouble"]
        english, chinese = f"The daemon does not answer: {error}.", f"守护进程没有响应：{error}。"
        yield problem("daemon silent", english, chinese, remedy="nacre serve --stop")
    if skew := status.get("skew"):
        english = f"The daemon cannot answer for this command: {skew}. Everything works without it."
        chinese = f"守护进程无法为本命令提供结果：{skew}。不用它也一切正常。"
        yield problem("daemon skew", english, chinese, remedy="nacre serve --stop && nacre serve --background")
    if status.get("watching") == "scanning":
        reason = status.get("watchingReason")
        english = f"The daemon looks at the files every now and then instead of being told: {reason}."
        chinese = f"守护进程改为定时扫描文件，而不是监听变化：{reason}。"
        yield problem("watch limit", english, chinese, remedy="sudo sysctl fs.inotify.max_user_watches=524288")
    if broken := status.get("settings"):
        english, chinese = f"The daemon keeps its settings from before: {broken}", f"守护进程仍沿用之前的设置：{broken}"
        yield problem("daemon settings", english, chinese, remedy=_correct_it())
    http = status.get("http") or {}
    if failed := http.get("trouble"):
        english, chinese = f"MCP is not served over HTTP: {failed}", f"未能通过 HTTP 提供 MCP：{failed}"
        yield problem("no http", english, chinese, remedy="nacre config set --user serve.port 6227")
    if not http.get("local", True):
        english = f"{http['url']} is open to others on the network, and what goes over it is not encrypted."
        chinese = f"网络上的其他人可以访问 {http['url']}，且传输内容未加密。"
        yield problem("open http", english, chinese, remedy="nacre config set --user serve.host 127.0.0.1")


def _sockets(workspace: Workspace) -> list[str]:
    """The sockets of ours that lie about for this workspace; nothing else that has the name of one."""
    from nacre.daemon.fast import socket_paths

    paths = socket_paths(str(workspace.root)) if hasattr(os, "getuid") else ()
    return [path for path in paths if _is_own(path, stat.S_ISSOCK)]


def open_folders(workspace: Workspace) -> Iterator[Problem]:
    """Folders that others may write to."""
    for folder, command in ((workspace.root, f"chmod go-w {workspace.root}"), (workspace.machine, _MEND)):
        if _others_may_write(str(folder)):
            english = f"Other users may write to {folder}, and so put words into your agents' memory."
            chinese = f"其他用户可以写入 {folder}，从而篡改您的代理的记忆。"
            yield problem("open to others", english, chinese, str(folder), remedy=command)


def _others_may_write(path: str) -> bool:
    return _is_own(path, stat.S_ISDIR) and bool(os.lstat(path).st_mode & _OTHERS_WRITE)


def _is_own(path: str, is_kind: Callable[[int], bool]) -> bool:
    """Whether something of this kind lies there, and is this user's."""
    try:
        about = os.lstat(path)
    except OSError:
        return False
    return is_kind(about.st_mode) and (not hasattr(os, "getuid") or about.st_uid == os.getuid())


def repair(memory: Memory) -> list[str]:
    """Mend what can be mended without touching a note; a sentence for each thing done."""
    from nacre.daemon.process import daemon_process
    from nacre.vault import create

    plan = create.plan_init(memory.workspace.root)
    done = [f"{step.action} {step.path}" for step in plan.plan.steps]
    if plan.plan:
        create.apply_init(plan, memory.clock, memory.config)
    machine = str(memory.workspace.machine)
    if _others_may_write(machine):
        os.chmod(machine, stat.S_IMODE(os.lstat(machine).st_mode) & ~_OTHERS_WRITE)
        done.append(say(f"{machine} is closed to other users.", f"{machine} 已禁止其他用户写入。"))
    for path in _sockets(memory.workspace):
        if daemon_process(memory.workspace) is None:
            with contextlib.suppress(OSError):
                os.unlink(path)
                done.append(say(f"The stale socket {path} was removed.", f"已移除失效的套接字 {path}。"))
    report = memory.index()
    if memory.keeper.store.recovered:
        done.append(say("The damaged index was set aside and built anew.", "损坏的索引已移到一旁并重建。"))
    if report.text and (report.text.changed or report.text.removed):
        done.append(say("The index was brought up to date.", "索引已更新。"))
    return done
