"""nacre serve: a process that stays, so that search answers at once and jobs run by themselves."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from nacre.cli.base import Command, Invocation, echo, json_option, note, open_memory, print_json
from nacre.errors import BadInput
from nacre.i18n import say

if TYPE_CHECKING:
    from nacre.daemon.service import Daemon
    from nacre.memory import Memory


_USUAL_PORT = 6227


@click.command(cls=Command, epilog="Example:  nacre serve --background")
@click.option("--background", is_flag=True, help="Start it, wait until it answers, and come back.")
@click.option(
    "--ensure", is_flag=True, help="Start it if none runs, wait until it answers, and say where: for plugins."
)
@click.option("--stop", is_flag=True, help="Stop the one that runs; what it is at is finished first.")
@click.option("--status", is_flag=True, help="Show the one that runs.")
@click.option(
    "--http",
    type=click.IntRange(0, 65_535),
    is_flag=False,
    flag_value=_USUAL_PORT,
    metavar="[PORT]",
    help=f"Serve MCP over HTTP too, on this port ({_USUAL_PORT}; 0: any) instead of the setting serve.port.",
)
@click.option("--http-scope", metavar="SCOPE", default="main", help="Who listens over HTTP: main, or group:NAME.")
@click.option("--token", is_flag=True, help="Print the word that a client over HTTP has to bring, and its address.")
@click.option("--no-jobs", is_flag=True, help="Answer and watch only; let another scheduler run the jobs.")
@click.option("--on-demand", is_flag=True, help="End when nobody has asked for as long as serve.idle says.")
@click.option("--ready", type=int, hidden=True, help="An open descriptor that is told when we listen.")
@json_option
@click.pass_obj
def serve(
    invocation: Invocation,
    *,
    background: bool,
    ensure: bool,
    stop: bool,
    status: bool,
    http: int | None,
    http_scope: str,
    token: bool,
    no_jobs: bool,
    on_demand: bool,
    ready: int | None,
    as_json: bool,
) -> None:
    """Keep models and index in memory, watch the files, run the jobs, and answer search, context and get.

    Commands find it by themselves and give the same answers without it. One runs for each workspace; only its user can reach it.
    """
    if sum((background, ensure, stop, status, token)) > 1:
        raise BadInput(
            "Give one of --background, --ensure, --stop, --status and --token.",
            "--background、--ensure、--stop、--status 和 --token 只能用一个。",
        )
    if not hasattr(os, "getuid"):
        raise BadInput(
            "There is no daemon on Windows; everything works without.", "Windows 上没有守护进程；不用它也一切正常。"
        )
    memory = open_memory(invocation)
    if status:
        _show_status(memory, as_json=as_json)
        return
    if stop:
        _stop(memory, as_json=as_json)
        return
    if token:
        _show_token(memory, http, http_scope, as_json=as_json)
        return
    if memory.clock.fixed is not None:
        raise BadInput("A daemon lives in the present; leave --now out.", "守护进程只在当下运行；请去掉 --now。")
    options = ["--no-jobs"] * no_jobs + ["--on-demand"] * on_demand
    options += ([] if http is None else ["--http", str(http)]) + (
        ["--http-scope", http_scope] if http_scope != "main" else []
    )
    if background:
        _start(memory, options, as_json=as_json)
        return
    if ensure:
        _ensure(memory, options, as_json=as_json)
        return
    from nacre.daemon.process import stop_on_demand
    from nacre.daemon.service import Daemon

    if not on_demand:
        stop_on_demand(memory)
    daemon = Daemon(memory, on_demand=on_demand, jobs=not no_jobs, http=http, http_scope=http_scope)
    _stay(memory, daemon, options, ready)


def _stay(memory: Memory, daemon: Daemon, options: list[str], ready: int | None) -> None:
    import gc

    from nacre.daemon.service import RESTART, restart_process

    gc.set_threshold(10_000, 20, 20)  # unlike a command, this one lives long enough for its rubbish to matter
    root = os.path.realpath(memory.workspace.root)
    if ready is None:
        note(f"Serving {root}. Ctrl-C stops it.", f"正在为 {root} 提供服务。按 Ctrl-C 停止。")
        for line in _http_lines(daemon.http):
            note(line)
    if daemon.serve(ready) == RESTART:
        restart_process(["--workspace", root, "serve", *options])


def _start(memory: Memory, options: list[str], *, as_json: bool) -> None:
    from nacre.daemon import client
    from nacre.daemon.process import daemon_process, start_in_background, stop_on_demand

    if "--on-demand" not in options:
        stop_on_demand(memory)
    running = daemon_process(memory.workspace)
    process = running or start_in_background(memory, *options)
    if as_json:
        print_json(
            {"process": process, "started": running is None, "status": client.daemon_status(str(memory.workspace.root))}
        )
    elif running:
        echo(f"A daemon runs already (process {process}).", f"守护进程已在运行（进程 {process}）。")
        if "--http" in options and not (client.daemon_status(str(memory.workspace.root)) or {}).get("http"):
            note(
                'It does not serve HTTP; "nacre serve --stop" ends it, then start it with --http.',
                "它没有提供 HTTP；请先用“nacre serve --stop”停止，再加 --http 启动。",
            )
    else:
        echo(
            f'The daemon runs (process {process}); "nacre serve --stop" ends it.',
            f"守护进程已启动（进程 {process}）；“nacre serve --stop”可停止。",
        )


def _ensure(memory: Memory, options: list[str], *, as_json: bool) -> None:
    from nacre.daemon.process import ensure_running

    found = ensure_running(memory, *options)
    if as_json:
        print_json({name: found[name] for name in ("socket", "process", "version", "workspace")})
    else:
        click.echo(found["socket"])


def _stop(memory: Memory, *, as_json: bool) -> None:
    from nacre.daemon.process import stop_daemon

    process = stop_daemon(memory)
    if as_json:
        print_json({"process": process, "stopped": process is not None})
    elif process:
        echo(f"The daemon (process {process}) has ended.", f"守护进程（进程 {process}）已停止。")
    else:
        echo("No daemon runs for this workspace.", "此工作区没有守护进程在运行。")


def _show_status(memory: Memory, *, as_json: bool) -> None:
    from nacre.daemon import client

    found = client.daemon_status(str(memory.workspace.root))
    if as_json:
        print_json({"running": found is not None, **(found or {})})
    elif found is None:
        echo("No daemon runs for this workspace.", "此工作区没有守护进程在运行。")
    else:
        for line in _lines(found):
            click.echo(line)


def _http_lines(http: dict[str, Any] | None) -> list[str]:
    """Where MCP is served over HTTP, and a warning where others can reach it."""
    if http is None:
        return []
    if "url" not in http:
        return [say(f"No HTTP: {http['trouble']}", f"未启用 HTTP：{http['trouble']}")]
    whom = "" if http["scope"] == "main" else f" ({http['scope']})"
    lines = [
        say(
            f'MCP over HTTP at {http["url"]}{whom}; "nacre serve --token" prints its token',
            f"MCP（HTTP）：{http['url']}{whom}；“nacre serve --token”可打印令牌",
        )
    ]
    if not http["local"]:
        lines.append(
            say(
                "Warning: others on the network can reach it, and what they send and get is not encrypted",
                "警告：网络上的其他人可以访问它，且收发内容未加密",
            )
        )
    return lines


def _show_token(memory: Memory, http: int | None, scope: str, *, as_json: bool) -> None:
    from nacre.daemon import client
    from nacre.mcp.http import token
    from nacre.model.context import Scope

    Scope.parse(scope)
    running = (client.daemon_status(str(memory.workspace.root)) or {}).get("http") or {}
    if running.get("scope") != scope:  # another's, for whom this token is none
        running = {}
    port = http or memory.config.serve.port or _USUAL_PORT
    url = running.get("url") or f"http://{memory.config.serve.host}:{port}/mcp"
    word = token(memory.workspace.root, scope)
    if as_json:
        print_json({"url": url, "token": word, "scope": scope, "running": bool(running.get("url"))})
        return
    note(f"Send it to {url} as: Authorization: Bearer TOKEN", f"发送到 {url}，请求头为：Authorization: Bearer 令牌")
    click.echo(word)


def _lines(found: dict[str, Any]) -> list[str]:
    watching = found["watching"] != "scanning"
    again = round((found.get("watchingAgainIn") or 0) / 60)
    lines = [
        say(
            f"Process {found['process']}, version {found['version']}, since {found['since']}",
            f"进程 {found['process']}，版本 {found['version']}，启动于 {found['since']}",
        ),
        say(
            f"{found['questions']} questions, {found['failed']} failed, {found['memoryMb']:.0f} MB of memory",
            f"{found['questions']} 次请求，{found['failed']} 次失败，占用内存 {found['memoryMb']:.0f} MB",
        ),
        say("Files are watched", "正在监视文件")
        if watching
        else say(
            f"Files are looked at every 30 s, because they cannot be watched: {found['watchingReason']}; tried again in {again} min",
            f"每 30 秒检查一次文件，因为无法监视：{found['watchingReason']}；{again} 分钟后重试",
        ),
    ]
    jobs = found["jobs"]
    if jobs is None:
        lines.append(say("Jobs are left to another scheduler", "任务由其他调度器运行"))
    elif not jobs.get("timed", True) and not jobs["running"]:
        lines.append(
            say(
                "It was started on demand: it captures what hooks queue, and does not run the jobs (jobs.on_demand)",
                "按需启动：会采集 hook 排入的对话，但不运行任务（jobs.on_demand）",
            )
        )
    elif jobs["running"]:
        lines.append(say(f"A job runs (process {jobs['running']})", f"有任务正在运行（进程 {jobs['running']}）"))
    elif jobs["nextLook"]:
        lines.append(say(f"Jobs are looked at again at {jobs['nextLook']}", f"下次检查任务：{jobs['nextLook']}"))
    lines += _http_lines(found.get("http"))
    if trouble := found.get("settings"):
        lines.append(say(f"It keeps its settings from before: {trouble}", f"仍沿用之前的设置：{trouble}"))
    if found["skew"]:
        lines.append(
            say(
                f"It does not answer this command line: {found['skew']}",
                f"它不回答此命令行：{found['skew']}",
            )
        )
    return [*lines, say(f"Log: {found['log']}", f"日志：{found['log']}")]
