"""nacre serve, open, mcp: the daemon, the web page, and the MCP server over stdin and stdout."""

from __future__ import annotations

import copy
import os
import sys
from contextlib import suppress
from typing import Any

import click

from nacre.cli import ui
from nacre.errors import BadInput, NacreError
from nacre.i18n import language, say
from nacre.memory import Memory
from nacre.model import Report

_USUAL_PORT = 6227
_STATUS_WITHIN = 2.0  # seconds; a daemon that is well answers in milliseconds
_NO_DAEMON = ("No daemon is running for this workspace.", "此工作区没有守护进程在运行。")


@ui.command("nacre serve --background")
@ui.flag("--background", "Start it in the background and return once it is ready.")
@ui.flag("--ensure", "Start it if needed, wait until it is ready, and print its socket (for plugins).")
@ui.flag("--stop", "Stop the running daemon after it finishes its current work.")
@ui.flag("--status", "Show the running daemon.")
@click.option(
    "--http",
    type=click.IntRange(0, 65_535),
    is_flag=False,
    flag_value=_USUAL_PORT,
    metavar="[PORT]",
    help=f"Also serve MCP over HTTP on this port (default {_USUAL_PORT}; 0 for any), overriding serve.port.",
)
@click.option("--http-scope", metavar="SCOPE", default="main", help="Scope of HTTP clients: main, or group:NAME.")
@ui.flag("--token", "Print the token and address for HTTP clients.")
@ui.flag("--no-jobs", "Do not run jobs; leave them to another scheduler.")
@ui.flag("--on-demand", "Exit after being idle for serve.idle.")
def serve(
    options: ui.Options, http: int | None, http_scope: str, *, no_jobs: bool, on_demand: bool, **wishes: bool
) -> Report | None:
    """Run the daemon: it keeps models and index in memory, watches files, runs jobs, and handles search, context and get requests.

    Commands use it automatically and return the same results without it. Each workspace has its own daemon; only you can connect to it.
    """
    if sum(wishes.values()) > 1:
        names = "--background, --ensure, --stop, --status, --token"
        raise BadInput(f"Use only one of {names}.", f"{names} 只能用一个。")
    _refuse_windows()
    from nacre.daemon import process

    memory = ui.open_memory(options)
    if wishes["status"]:
        return _status_report(memory)
    if wishes["stop"]:
        ended = process.stop_daemon(memory)
        stopped = f"The daemon (process {ended}) was stopped.", f"守护进程（进程 {ended}）已停止。"
        return Report(
            {"process": ended, "stopped": ended is not None}, lines=[say(*(stopped if ended else _NO_DAEMON))]
        )
    if wishes["token"]:
        return _token_report(memory, http, http_scope)
    if memory.clock.fixed is not None:
        raise BadInput("The daemon always uses the current time; omit --now.", "守护进程只使用当前时间；请去掉 --now。")
    arguments = ["--no-jobs"] * no_jobs + ["--on-demand"] * on_demand
    arguments += [] if http is None else ["--http", str(http)]
    arguments += ["--http-scope", http_scope] if http_scope != "main" else []
    if wishes["ensure"]:
        running = process.ensure_running(memory, *arguments)
        shown = "socket", "process", "version", "workspace"
        return Report({name: running[name] for name in shown}, lines=[running["socket"]])
    if not on_demand:
        process.stop_on_demand(memory)
    if wishes["background"]:
        runs = process.daemon_process(memory.workspace)
        number = runs or process.start_in_background(memory, *arguments)
        line = ui.joined(
            (runs, f"The daemon is already running (process {number})", f"守护进程已在运行（进程 {number}）"),
            (not runs, f"The daemon is running (process {number})", f"守护进程已启动（进程 {number}）"),
            (True, '; "nacre serve --stop" stops it.', "；“nacre serve --stop”可停止。"),
        )
        return Report({"process": number, "started": runs is None, "status": _status_of(memory)}, lines=[line])
    import gc

    from nacre.daemon.service import RESTART, Daemon, restart_process

    daemon = Daemon(memory, on_demand=on_demand, jobs=not no_jobs, http=http, http_scope=http_scope)
    gc.set_threshold(10_000, 20, 20)  # unlike a command, this one lives long enough for its rubbish to matter
    root = os.path.realpath(memory.workspace.root)
    if sys.stdout.isatty():
        ui.note(f"Daemon running for {root}. Press Ctrl-C to stop.", f"{root} 的守护进程已启动。按 Ctrl-C 停止。")
        for line in _http_lines(daemon.http):
            ui.note(line)
    if daemon.serve() == RESTART:
        if http is None and (page := (daemon.http or {}).get("page")):  # whoever looks at it finds it again
            arguments += ["--http", page.rstrip("/").rpartition(":")[2]]
        restart_process(["--workspace", root, "serve", *arguments])
    return None


def _refuse_windows() -> None:
    if not hasattr(os, "getuid"):
        english = "The daemon and its web page are not available on Windows; all else works without them."
        raise BadInput(english, "守护进程及其网页不支持 Windows；没有它们也能正常使用其他功能。")


def _status_of(memory: Memory) -> dict[str, Any] | None:
    from nacre.daemon import client

    return client.daemon_status(str(memory.workspace.root), _STATUS_WITHIN)


def _token_report(memory: Memory, http: int | None, scope: str) -> Report:
    from nacre.http import token
    from nacre.model import Scope

    Scope.parse(scope)
    running = (_status_of(memory) or {}).get("http") or {}
    if running.get("scope") != scope:  # another's, for whom this token is none
        running = {}
    port = http or memory.config.serve.port or _USUAL_PORT
    url = running.get("url") or f"http://{memory.config.serve.host}:{port}/mcp"
    word = token(memory.workspace.root, scope)
    english = f"Send this token to {url} in an Authorization: Bearer header"
    return Report(
        {"url": url, "token": word, "scope": scope, "running": bool(running.get("url"))},
        heading=[say(english, f"发送到 {url}，放在请求头 Authorization: Bearer 中")],
        lines=[word],
    )


def _http_lines(http: dict[str, Any] | None) -> list[str]:
    """Where MCP is served over HTTP, and a warning where others can reach it."""
    if http is None:
        return []
    if "url" not in http:
        return [say(f"HTTP is off: {http['trouble']}", f"未启用 HTTP：{http['trouble']}")]
    warning = "Warning: other machines on the network can reach it, and the traffic is not encrypted"
    return [
        f"MCP: {http['url']}" + ("" if http["scope"] == "main" else f" ({http['scope']})"),
        *ui.every((not http["local"], warning, "警告：网络上的其他设备可以访问它，且传输内容未加密")),
    ]


def _status_report(memory: Memory) -> Report:
    from nacre.daemon.problems import skew_words
    from nacre.daemon.process import daemon_process

    daemon = _status_of(memory)
    if daemon is None:
        number = daemon_process(memory.workspace)
        english = f'The daemon (process {number}) is not responding; "nacre serve --stop" stops it.'
        silent = say(english, f"守护进程（进程 {number}）没有响应；可用“nacre serve --stop”停止。")
        facts = {"running": True, "process": number, "answers": False} if number else {"running": False}
        return Report(facts, lines=[silent if number else say(*_NO_DAEMON)])
    jobs, reason, settings = daemon["jobs"], daemon.get("watchingReason"), daemon.get("settings")
    skew = daemon["skew"] and skew_words(daemon["skew"])
    running, coming = (jobs or {}).get("running"), (jobs or {}).get("nextLook")
    scans, queued = daemon["watching"] == "scanning", jobs and not jobs.get("timed", True)
    about = say(
        "Process {process}, version {version}, started {since}\nRequests: {questions} ({failed} failed); memory: {memoryMb:.0f} MB",
        "进程 {process}，版本 {version}，启动于 {since}\n{questions} 次请求，{failed} 次失败，{memoryMb:.0f} MB",
    )
    lines = about.format(**daemon).split("\n") + ui.every(
        (not scans, "Watching files", "正在监视文件"),
        (scans, f"Scanning files every 30 s: {reason}", f"每 30 秒扫描一次文件：{reason}"),
        (jobs is None, "Jobs are run by another scheduler", "任务由其他调度程序运行"),
        (running, f"A job is running (process {running})", f"有任务正在运行（进程 {running}）"),
        (queued, "Only sessions queued by hooks are captured (jobs.on_demand)", "只采集钩子排入队列的会话"),
        (coming, f"Next check for jobs: {coming}", f"下次检查任务：{coming}"),
        (settings, f"Still using the previous settings: {settings}", f"仍在使用之前的设置：{settings}"),
        (skew, f"This command cannot use the daemon: {skew}", f"本命令没有使用它：{skew}"),
        (True, f"Log: {daemon['log']}", f"日志：{daemon['log']}"),
    )
    return Report({"running": True, **daemon}, lines=[*lines, *_http_lines(daemon.get("http"))])


@ui.command("nacre open")
@ui.flag("--no-browser", "Print the link without opening it.")
def open_(options: ui.Options, *, no_browser: bool) -> Report:
    """View this memory in the browser: what it knows, where that comes from, and what you need to decide.

    The page is served by the daemon (started if needed) and is only reachable from this machine. The link works once, within two minutes.
    """
    _refuse_windows()
    import webbrowser

    from nacre.daemon import client, process

    memory = ui.open_memory(options)
    if memory.clock.fixed is not None:
        raise BadInput("The web page always shows the current state; omit --now.", "网页只显示当前状态；请去掉 --now。")
    process.ensure_running(memory, "--on-demand")
    try:
        with client.Connection(str(memory.workspace.root), any_version=True) as daemon:
            url = daemon.ask("open", language=language())["url"]
    except client.NoDaemon as error:
        raise NacreError(
            f'Could not get a link from the daemon ({error}). Run "nacre serve --stop" and try again.',
            f"无法从守护进程获取链接（{error}）。请运行“nacre serve --stop”后重试。",
        ) from error
    return Report({"url": url, "opened": not no_browser and webbrowser.open(url)}, lines=[url])


@ui.command("nacre mcp --workspace ~/.nacre/workspace", as_json=False)
def mcp(options: ui.Options) -> None:
    """Serve memory to an MCP client over stdin and stdout: seven tools, resources and prompts.

    The scope is fixed at startup: with --scope group:NAME, only that group's own and public memory is served, and nothing can be written.
    Uses the daemon if it is running.
    """
    memory = ui.open_memory(options, for_groups=True)
    from nacre.daemon.requests import call_tool_by_daemon, current_folder
    from nacre.mcp import tools
    from nacre.mcp.server import Server, serve

    place = current_folder()

    def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        answered = call_tool_by_daemon(memory, name, arguments, place)
        # A copy for each call: a problem that is noted in one must not be told in the next.
        return answered if answered is not None else tools.call(copy.copy(memory), name, arguments, here=place)

    def warm() -> None:
        """Load models and index before the first search, unless a daemon has them loaded."""
        with suppress(NacreError, OSError):  # the first search reports it
            if call_tool_by_daemon(memory, "memory_status", {}, None) is None:
                copy.copy(memory).ask("warm", 1)

    serve(Server(lambda: copy.copy(memory), memory.scope.group is not None, call), warm)
