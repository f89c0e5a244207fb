"""nacre serve: a process that stays, so that search answers at once and jobs run by themselves."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from nacre.cli.base import Command, Invocation, json_option, note, open_memory, print_json
from nacre.errors import BadInput
from nacre.words import say

if TYPE_CHECKING:
    from nacre.memory import Memory


@click.command(cls=Command, epilog="Example:  nacre serve --background")
@click.option("--background", is_flag=True, help="Start it, wait until it answers, and come back.")
@click.option("--stop", is_flag=True, help="Stop the one that runs; what it is at is finished first.")
@click.option("--status", is_flag=True, help="Show the one that runs.")
@click.option("--no-jobs", is_flag=True, help="Answer and watch only; let another scheduler run the jobs.")
@click.option("--on-demand", is_flag=True, help="End when nobody has asked for as long as serve.idle says.")
@click.option("--ready", type=int, hidden=True, help="An open descriptor that is told when we listen.")
@json_option
@click.pass_obj
def serve(
    invocation: Invocation,
    *,
    background: bool,
    stop: bool,
    status: bool,
    no_jobs: bool,
    on_demand: bool,
    ready: int | None,
    as_json: bool,
) -> None:
    """Keep models and index in memory, watch the files, run the jobs, and answer search, context and get.

    Commands find it by themselves and give the same answers without it. One runs for each workspace; only its user can reach it.
    """
    if sum((background, stop, status)) > 1:
        raise BadInput(
            say("Give one of --background, --stop and --status.", "--background、--stop 和 --status 只能用一个。")
        )
    if not hasattr(os, "getuid"):
        raise BadInput(
            say(
                "There is no daemon on Windows; everything works without.", "Windows 上没有守护进程；不用它也一切正常。"
            )
        )
    memory = open_memory(invocation)
    if status:
        _show_status(memory, as_json=as_json)
        return
    if stop:
        _stop(memory, as_json=as_json)
        return
    if memory.clock.fixed is not None:
        raise BadInput(say("A daemon lives in the present; leave --now out.", "守护进程只在当下运行；请去掉 --now。"))
    options = ["--no-jobs"] * no_jobs + ["--on-demand"] * on_demand
    if background:
        _start(memory, options, as_json=as_json)
        return
    _stay(memory, options, ready, jobs=not no_jobs, on_demand=on_demand)


def _stay(memory: Memory, options: list[str], ready: int | None, *, jobs: bool, on_demand: bool) -> None:
    import gc

    from nacre.daemon.running import RENEW, Daemon, renew

    gc.set_threshold(10_000, 20, 20)  # unlike a command, this one lives long enough for its rubbish to matter
    root = os.path.realpath(memory.workspace.root)
    daemon = Daemon(memory, on_demand=on_demand, jobs=jobs)
    if ready is None:
        note(
            say(
                f"Serving {root}. Ctrl-C stops it.",
                f"正在为 {root} 提供服务。按 Ctrl-C 停止。",
            )
        )
    if daemon.serve(ready) == RENEW:
        renew(["--workspace", root, "serve", *options])


def _start(memory: Memory, options: list[str], *, as_json: bool) -> None:
    from nacre.daemon import client
    from nacre.daemon.lifetime import holder
    from nacre.daemon.start import in_background

    running = holder(memory.workspace)
    process = running or in_background(memory, *options)
    if as_json:
        print_json(
            {"process": process, "started": running is None, "status": client.status(str(memory.workspace.root))}
        )
    elif running:
        click.echo(say(f"A daemon runs already (process {process}).", f"守护进程已在运行（进程 {process}）。"))
    else:
        click.echo(
            say(
                f'The daemon runs (process {process}); "nacre serve --stop" ends it.',
                f"守护进程已启动（进程 {process}）；“nacre serve --stop”可停止。",
            )
        )


def _stop(memory: Memory, *, as_json: bool) -> None:
    from nacre.daemon.start import stop

    process = stop(memory)
    if as_json:
        print_json({"process": process, "stopped": process is not None})
    elif process:
        click.echo(say(f"The daemon (process {process}) has ended.", f"守护进程（进程 {process}）已停止。"))
    else:
        click.echo(say("No daemon runs for this workspace.", "此工作区没有守护进程在运行。"))


def _show_status(memory: Memory, *, as_json: bool) -> None:
    from nacre.daemon import client

    found = client.status(str(memory.workspace.root))
    if as_json:
        print_json({"running": found is not None, **(found or {})})
    elif found is None:
        click.echo(say("No daemon runs for this workspace.", "此工作区没有守护进程在运行。"))
    else:
        for line in _lines(found):
            click.echo(line)


def _lines(found: dict[str, Any]) -> list[str]:
    watching = found["watching"] != "scanning"
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
            f"Files are looked at every 30 s, because they cannot be watched: {found['watchingReason']}",
            f"每 30 秒检查一次文件，因为无法监视：{found['watchingReason']}",
        ),
    ]
    jobs = found["jobs"]
    if jobs is None:
        lines.append(say("Jobs are left to another scheduler", "任务由其他调度器运行"))
    elif jobs["running"]:
        lines.append(say(f"A job runs (process {jobs['running']})", f"有任务正在运行（进程 {jobs['running']}）"))
    elif jobs["nextLook"]:
        lines.append(say(f"Jobs are looked at again at {jobs['nextLook']}", f"下次检查任务：{jobs['nextLook']}"))
    if found["skew"]:
        lines.append(
            say(
                f"It does not answer this command line: {found['skew']}",
                f"它不回答此命令行：{found['skew']}",
            )
        )
    return [*lines, say(f"Log: {found['log']}", f"日志：{found['log']}")]
