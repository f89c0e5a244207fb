"""nacre uninstall: take back everything that was written outside of memory."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nacre.cli.base import (
    Command,
    Invocation,
    dry_run_option,
    json_option,
    note,
    owner_only,
    print_json,
    shown_path,
    size_of,
)
from nacre.cli.connect_show import as_far_as_read, as_plain, show, told
from nacre.errors import BadInput, NacreError, NoWorkspace, PartlyDone
from nacre.words import say

if TYPE_CHECKING:
    from nacre.connect.plan import AgentPlan
    from nacre.connect.uninstall import Cache, Place
    from nacre.memory import Memory


@click.command(cls=Command, epilog="Example:  nacre uninstall --dry-run")
@click.option(
    "--models", is_flag=True, help="Also delete the embedding models and other caches; they can be fetched again."
)
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@dry_run_option
@json_option
@click.pass_obj
def uninstall(invocation: Invocation, *, models: bool, yes: bool, dry_run: bool, as_json: bool) -> None:
    """Take back everything that was written outside of memory: the connections of agents, timers, the daemon, our rules in AGENTS.md.

    Your memory stays: it is plain Markdown, and this command says where it lies ("nacre destroy" is for that). Settings stay too. It ends
    by saying how to remove the package itself.
    """
    owner_only(invocation)
    from nacre.connect import carry, plan, record
    from nacre.connect import uninstall as taking
    from nacre.connect.call import Call, program
    from nacre.connect.registry import known
    from nacre.jobs.service.common import this_machine

    machine, state = this_machine(), record.state_folder()
    connected = record.load(state)
    agents = [
        plan.disconnect(one, machine, Call(program()), connected[one.name], state)
        for one in known()
        if one.name in connected
    ]
    places = taking.places(_memory(invocation), machine)
    caches = taking.caches()
    completions = taking.completions(machine.home)
    if not as_json:
        with as_far_as_read():
            _show(agents, places)
    doomed = caches if models else []
    if dry_run or not (agents or doomed or any(one.changed for one in places)):
        if as_json:
            print_json(_plain(agents, places, doomed, completions, dry_run=dry_run))
        else:
            _last_words(places, caches, completions, models=models)
        return
    _ask(yes=yes)
    if not doomed and not yes and not as_json:
        doomed = _asked_about(caches)
    troubles = [str(one.trouble) for one in agents if one.trouble]
    carried = carry.disconnect([one for one in agents if one.trouble is None], machine, state)
    troubles += [str(one.trouble) for one in carried if one.trouble]
    for place in places:
        troubles += _taken_back(place)
    for cache in doomed:
        taking.remove_cache(cache)
    if as_json:
        print_json(_plain(agents, places, doomed, completions, dry_run=False))
    else:
        told(agents, carried, dry_run=False, removing=True)
        _last_words(places, [one for one in caches if one not in doomed], completions, models=bool(doomed))
    if troubles:
        raise PartlyDone("\n".join(troubles))


def _memory(invocation: Invocation) -> Memory | None:
    from nacre.memory import Memory

    try:
        return Memory.open(invocation.workspace, agent=invocation.agent)
    except NoWorkspace:
        return None


def _show(agents: list[AgentPlan], places: list[Place]) -> None:
    for plan in agents:
        show(plan, removing=True)
    for place in places:
        if not place.changed:
            continue
        click.echo(f"# {shown_path(place.memory.workspace.root)}")
        for one in place.jobs.shown:
            click.echo(f"$ {shlex.join(one.command)}" if one.command else one.diff or one.path)
        if place.daemon:
            click.echo(
                say(f"The daemon is stopped (process {place.daemon}).", f"停止守护进程（进程 {place.daemon}）。")
            )
        if place.rules:
            click.echo(place.rules.diff)


def _ask(*, yes: bool) -> None:
    if yes:
        return
    if sys.stdin is None or not sys.stdin.isatty():
        raise BadInput(
            say(
                "Nobody can be asked here, so nothing was taken back; --yes does it without asking.",
                "此处无法询问，因此未撤回任何内容；使用 --yes 可不经询问直接执行。",
            )
        )
    if not click.confirm(say("Take all of this back?", "是否全部撤回？"), default=True, err=True):
        raise click.exceptions.Exit(1)


def _asked_about(caches: list[Cache]) -> list[Cache]:
    total = size_of(sum(one.bytes for one in caches))
    question = say(f"Also delete the models and caches ({total})?", f"是否同时删除模型和缓存（{total}）？")
    return caches if caches and click.confirm(question, default=False, err=True) else []


def _taken_back(place: Place) -> list[str]:
    """One workspace: its timers, its daemon, what lets clients in over HTTP, our rules; the sentences of what could not be."""
    from nacre.connect import workspace
    from nacre.daemon.start import stop
    from nacre.jobs.service import manage
    from nacre.mcp.token import forget_tokens

    memory = place.memory
    troubles: list[str] = []
    try:
        if place.jobs.changes or place.jobs.troubles:
            manage.apply(place.jobs)
    except NacreError as trouble:
        troubles.append(str(trouble))
    try:
        if place.daemon:
            stop(memory)
        forget_tokens(memory.workspace.root)
        if place.rules:
            workspace.apply(place.rules, memory.workspace, memory.clock, memory.config)
    except NacreError as trouble:
        troubles.append(str(trouble))
    return troubles


def _last_words(places: list[Place], caches: list[Cache], completions: list[str], *, models: bool) -> None:
    """Where memory lies, what else is there, and how the package itself goes."""
    from nacre.config import user_config_folder

    for one in completions:
        note(say(f"Completion you set up: {one}; take it out yourself.", f"您设置的补全：{one}；请自行删除。"))
    if caches and not models:
        total, shown = size_of(sum(one.bytes for one in caches)), ", ".join(shown_path(one.path) for one in caches)
        note(
            say(
                f"Models and caches stay ({total}, {shown}); --models deletes them.",
                f"模型和缓存保留（{total}，{shown}）；--models 可删除。",
            )
        )
    for place in places:
        root = shown_path(place.memory.workspace.root)
        note(
            say(
                f'Your memory stays in {root}; "nacre destroy --workspace {root}" removes it for good.',
                f"您的记忆保留在 {root}；“nacre destroy --workspace {root}”可永久删除。",
            )
        )
    folder = user_config_folder()
    if folder.is_dir():
        note(say(f"Your settings stay in {shown_path(folder)}.", f"您的设置保留在 {shown_path(folder)}。"))
    package = _package()
    if package.endswith(" uninstall nacre"):  # a command, of which the full stop is no part
        package = say(f'"{package}"', f"“{package}”")
    note(say(f"The package itself: {package}.", f"软件包本身：{package}。"))


def _package() -> str:
    """How what we are installed by removes us."""
    prefix = Path(sys.prefix)
    if "pipx" in prefix.parts:
        return "pipx uninstall nacre"
    if "uv" in prefix.parts and "tools" in prefix.parts:
        return "uv tool uninstall nacre"
    if prefix.name == ".venv" and (prefix.parent / "start").is_file():
        return say(
            f"delete {prefix}, and {prefix.parent} if nothing else of yours is in it",
            f"删除 {prefix}；如果 {prefix.parent} 中没有您的其他内容，也可一并删除",
        )
    return f"{shlex.quote(sys.executable)} -m pip uninstall nacre"


def _plain(
    agents: list[AgentPlan], places: list[Place], caches: list[Cache], completions: list[str], *, dry_run: bool
) -> dict[str, Any]:
    return {
        "connections": as_plain(agents, (), dry_run=dry_run)["agents"],
        "workspaces": [
            {
                "workspace": str(one.memory.workspace.root),
                "jobs": [step.as_json() for step in one.jobs.shown],
                "daemon": one.daemon,
                "rules": one.rules.diff if one.rules else None,
            }
            for one in places
        ],
        "caches": [{"path": str(one.path), "bytes": one.bytes} for one in caches],
        "completions": completions,
        "package": _package(),
        "dryRun": dry_run,
    }
