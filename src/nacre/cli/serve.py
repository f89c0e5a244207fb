"""nacre serve, nacre mcp: a process that stays, so that search answers at once and jobs run by themselves; memory for MCP clients."""

from __future__ import annotations

import copy
import os
import sys
from typing import Any

import click

from nacre.cli import ui
from nacre.errors import BadInput
from nacre.i18n import say
from nacre.memory import Memory
from nacre.model.report import Report

_USUAL_PORT = 6227
_NO_DAEMON = ("No daemon runs for this workspace.", "此工作区没有守护进程在运行。")


@ui.command("nacre serve --background")
@ui.flag("--background", "Start it, wait until it answers, and come back.")
@ui.flag("--ensure", "Start it if none runs, wait until it answers, and say where: for plugins.")
@ui.flag("--stop", "Stop the one that runs; what it is at is finished first.")
@ui.flag("--status", "Show the one that runs.")
@click.option(
    "--http",
    type=click.IntRange(0, 65_535),
    is_flag=False,
    flag_value=_USUAL_PORT,
    metavar="[PORT]",
    help=f"Serve MCP over HTTP too, on this port ({_USUAL_PORT}; 0: any) instead of the setting serve.port.",
)
@click.option("--http-scope", metavar="SCOPE", default="main", help="Who listens over HTTP: main, or group:NAME.")
@ui.flag("--token", "Print the word that a client over HTTP has to bring, and its address.")
@ui.flag("--no-jobs", "Answer and watch only; let another scheduler run the jobs.")
@ui.flag("--on-demand", "End when nobody has asked for as long as serve.idle says.")
def serve(
    options: ui.Options, http: int | None, http_scope: str, *, no_jobs: bool, on_demand: bool, **wishes: bool
) -> Report | None:
    """Keep models and index in memory, watch the files, run the jobs, and answer search, context and get.

    Commands find it by themselves and give the same answers without it. One runs for each workspace; only its user can reach it.
    """
    if sum(wishes.values()) > 1:
        names = "--background, --ensure, --stop, --status, --token"
        raise BadInput(f"Give one of {names}.", f"{names} 只能用一个。")
    if not hasattr(os, "getuid"):
        raise BadInput("There is no daemon on Windows; all works without.", "Windows 上没有守护进程；不影响使用。")
    from nacre.daemon import process

    memory = ui.open_memory(options)
    if wishes["status"]:
        return _status_report(memory)
    if wishes["stop"]:
        ended = process.stop_daemon(memory)
        line = say(f"The daemon (process {ended}) has ended.", f"守护进程（进程 {ended}）已停止。")
        return Report({"process": ended, "stopped": ended is not None}, lines=[line if ended else say(*_NO_DAEMON)])
    if wishes["token"]:
        return _token_report(memory, http, http_scope)
    if memory.clock.fixed is not None:
        raise BadInput("A daemon lives in the present; leave --now out.", "守护进程只在当下运行；请去掉 --now。")
    arguments = ["--no-jobs"] * no_jobs + ["--on-demand"] * on_demand
    arguments += [] if http is None else ["--http", str(http)]
    arguments += ["--http-scope", http_scope] if http_scope != "main" else []
    if wishes["ensure"]:
        running = process.ensure_running(memory, *arguments)
        facts = {name: running[name] for name in ("socket", "process", "version", "workspace")}
        return Report(facts, lines=[running["socket"]])
    if not on_demand:
        process.stop_on_demand(memory)
    if wishes["background"]:
        runs = process.daemon_process(memory.workspace)
        number = runs or process.start_in_background(memory, *arguments)
        line = ui.first(
            (runs, f"A daemon runs already (process {number})", f"守护进程已在运行（进程 {number}）"),
            (True, f"The daemon runs (process {number})", f"守护进程已启动（进程 {number}）"),
        )
        line += say('; "nacre serve --stop" ends it.', "；“nacre serve --stop”可停止。")
        return Report({"process": number, "started": runs is None, "status": _status_of(memory)}, lines=[line])
    import gc

    from nacre.daemon.service import RESTART, Daemon, restart_process

    daemon = Daemon(memory, on_demand=on_demand, jobs=not no_jobs, http=http, http_scope=http_scope)
    gc.set_threshold(10_000, 20, 20)  # unlike a command, this one lives long enough for its rubbish to matter
    root = os.path.realpath(memory.workspace.root)
    if sys.stdout.isatty():
        ui.note(f"Serving {root}. Ctrl-C stops it.", f"正在为 {root} 提供服务。按 Ctrl-C 停止。")
        for line in _http_lines(daemon.http):
            ui.note(line)
    if daemon.serve() == RESTART:
        restart_process(["--workspace", root, "serve", *arguments])
    return None


def _status_of(memory: Memory) -> dict[str, Any] | None:
    from nacre.daemon import client

    return client.daemon_status(str(memory.workspace.root))


def _token_report(memory: Memory, http: int | None, scope: str) -> Report:
    from nacre.mcp.http import token
    from nacre.model.workspace import Scope

    Scope.parse(scope)
    running = (_status_of(memory) or {}).get("http") or {}
    if running.get("scope") != scope:  # another's, for whom this token is none
        running = {}
    port = http or memory.config.serve.port or _USUAL_PORT
    url = running.get("url") or f"http://{memory.config.serve.host}:{port}/mcp"
    word = token(memory.workspace.root, scope)
    facts = {"url": url, "token": word, "scope": scope, "running": bool(running.get("url"))}
    how = say(f"Send it to {url} as Authorization: Bearer", f"发送到 {url}，请求头 Authorization: Bearer")
    return Report(facts, heading=[how], lines=[word])


def _http_lines(http: dict[str, Any] | None) -> list[str]:
    """Where MCP is served over HTTP, and a warning where others can reach it."""
    if http is None:
        return []
    if "url" not in http:
        return [say(f"No HTTP: {http['trouble']}", f"未启用 HTTP：{http['trouble']}")]
    url = http["url"] + ("" if http["scope"] == "main" else f" ({http['scope']})")
    warning = "Warning: others on the network can reach it, and what goes over it is not encrypted"
    return [f"MCP: {url}", *([] if http["local"] else [say(warning, "警告：网络上的其他人可以访问它，且内容未加密")])]


def _status_report(memory: Memory) -> Report:
    daemon = _status_of(memory)
    if daemon is None:
        return Report({"running": False}, lines=[say(*_NO_DAEMON)])
    jobs, reason, settings, skew = daemon["jobs"], daemon.get("watchingReason"), daemon.get("settings"), daemon["skew"]
    running, coming = (jobs or {}).get("running"), (jobs or {}).get("nextLook")
    scans, queued = daemon["watching"] == "scanning", jobs and not jobs.get("timed", True)
    about = "Process {process}, version {version}, since {since}", "进程 {process}，版本 {version}，自 {since}"
    asked = (
        "{questions} questions, {failed} failed, {memoryMb:.0f} MB",
        "{questions} 次请求，{failed} 次失败，{memoryMb:.0f} MB",
    )
    lines = [say(*pair).format(**daemon) for pair in (about, asked)]
    lines += ui.every(
        (not scans, "Files are watched", "正在监视文件"),
        (scans, f"Files are looked at every 30 s: {reason}", f"每 30 秒检查一次文件：{reason}"),
        (jobs is None, "Jobs are left to another scheduler", "任务由其他调度器运行"),
        (running, f"A job runs (process {running})", f"有任务正在运行（进程 {running}）"),
        (queued, "Only what hooks queue is captured (jobs.on_demand)", "只采集 hook 排入的对话（jobs.on_demand）"),
        (coming, f"Jobs are looked at again at {coming}", f"下次检查任务：{coming}"),
        (settings, f"It keeps its settings from before: {settings}", f"仍沿用之前的设置：{settings}"),
        (skew, f"It does not answer this command line: {skew}", f"它不回答此命令行：{skew}"),
        (True, f"Log: {daemon['log']}", f"日志：{daemon['log']}"),
    )
    return Report({"running": True, **daemon}, lines=[*lines, *_http_lines(daemon.get("http"))])


@ui.command("nacre mcp --workspace ~/.nacre/workspace", as_json=False)
def mcp(options: ui.Options) -> None:
    """Serve memory to an MCP client over stdin and stdout: seven tools, resources and prompts.

    Who listens is fixed here: with --scope group:NAME only what is that group's own or public exists, and nothing is written. Asks the
    daemon where one runs, and does the work itself where none does.
    """
    memory = ui.open_memory(options, for_groups=True)
    from nacre.daemon.requests import call_tool_by_daemon, current_folder
    from nacre.errors import NacreError
    from nacre.mcp.server import Server, serve

    place = current_folder()

    def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        from nacre.mcp.tools import call

        answered = call_tool_by_daemon(memory, name, arguments, place)
        # A copy for each call: a problem that is noted in one must not be told in the next.
        return answered if answered is not None else call(copy.copy(memory), name, arguments, here=place)

    def warm() -> None:
        """Load what the first search waits for; nothing where a daemon has it loaded."""
        try:
            if call_tool_by_daemon(memory, "memory_status", {}, None) is None:
                copy.copy(memory).ask("warm", 1)
        except (NacreError, OSError):  # whoever searches first is told
            return

    serve(Server(lambda: copy.copy(memory), memory.scope.group is not None, call), warm)
