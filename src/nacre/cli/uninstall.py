"""nacre uninstall, nacre destroy: take back what was written outside of memory; remove a memory for good."""

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
    echo,
    json_option,
    note,
    open_memory,
    owner_only,
    print_json,
    shown_path,
    size_of,
    table,
)
from nacre.cli.connect import as_far_as_read, as_plain, show, told
from nacre.cli.forget import NOT_ALL, left_json, show_left
from nacre.errors import BadInput, NacreError, NoWorkspace, PartlyDone
from nacre.i18n import say

if TYPE_CHECKING:
    from nacre.agents.connection import AgentPlan
    from nacre.agents.uninstall import Cache, InstalledWorkspace
    from nacre.forget.destroy import DestroyPlan
    from nacre.forget.purge import Remaining
    from nacre.jobs.schedulers import ServicePlan
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
    from nacre.agents import connection
    from nacre.agents import uninstall as taking
    from nacre.agents.registry import Call, all_agents, own_program
    from nacre.jobs.installer import this_machine

    machine, state = this_machine(), connection.state_folder()
    connected = connection.load_connections(state)
    agents = [
        connection.plan_disconnect(one, machine, Call(own_program()), state)
        for one in all_agents()
        if one.name in connected
    ]
    places = taking.installed_workspaces(_memory(invocation), machine)
    caches = taking.caches()
    completions = taking.completions(machine.home)
    if not as_json:
        with as_far_as_read():
            _show_uninstall(agents, places)
    doomed = caches if models else []
    if dry_run or not (agents or doomed or any(one.changed for one in places)):
        if as_json:
            print_json(_plain(agents, places, doomed, completions, dry_run=dry_run))
        else:
            _last_words(places, caches, completions, models=models)
        return
    _ask_uninstall(yes=yes)
    if not doomed and not yes and not as_json:
        doomed = _asked_about(caches)
    troubles = [str(one.error) for one in agents if one.error]
    carried = connection.apply_disconnect([one for one in agents if one.error is None], machine, state)
    troubles += [str(one.error) for one in carried if one.error]
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


def _show_uninstall(agents: list[AgentPlan], places: list[InstalledWorkspace]) -> None:
    for plan in agents:
        show(plan, removing=True)
    for place in places:
        if not place.changed:
            continue
        click.echo(f"# {shown_path(place.memory.workspace.root)}")
        for one in place.jobs.shown:
            click.echo(f"$ {shlex.join(one.command)}" if one.command else one.diff or one.path)
        if place.daemon:
            echo(f"The daemon is stopped (process {place.daemon}).", f"停止守护进程（进程 {place.daemon}）。")
        if place.rules:
            click.echo(place.rules.diff)


def _ask_uninstall(*, yes: bool) -> None:
    if yes:
        return
    if sys.stdin is None or not sys.stdin.isatty():
        raise BadInput(
            "Nobody can be asked here, so nothing was taken back; --yes does it without asking.",
            "此处无法询问，因此未撤回任何内容；使用 --yes 可不经询问直接执行。",
        )
    if not click.confirm(say("Take all of this back?", "是否全部撤回？"), default=True, err=True):
        raise click.exceptions.Exit(1)


def _asked_about(caches: list[Cache]) -> list[Cache]:
    total = size_of(sum(one.bytes for one in caches))
    question = say(f"Also delete the models and caches ({total})?", f"是否同时删除模型和缓存（{total}）？")
    return caches if caches and click.confirm(question, default=False, err=True) else []


def _taken_back(place: InstalledWorkspace) -> list[str]:
    """One workspace: its timers, its daemon, what lets clients in over HTTP, our rules; the sentences of what could not be."""
    from nacre.agents import connection
    from nacre.daemon.process import stop_daemon
    from nacre.jobs import schedulers
    from nacre.mcp.http import forget_tokens

    memory = place.memory
    troubles: list[str] = []
    try:
        if place.jobs.changes or place.jobs.errors:
            schedulers.apply_plan(place.jobs)
    except NacreError as trouble:
        troubles.append(str(trouble))
    try:
        if place.daemon:
            stop_daemon(memory)
        forget_tokens(memory.workspace.root)
        if place.rules:
            connection.apply_rules(place.rules, memory)
    except NacreError as trouble:
        troubles.append(str(trouble))
    return troubles


def _last_words(places: list[InstalledWorkspace], caches: list[Cache], completions: list[str], *, models: bool) -> None:
    """Where memory lies, what else is there, and how the package itself goes."""
    from nacre.config.loading import user_config_folder

    for one in completions:
        note(f"Completion you set up: {one}; take it out yourself.", f"您设置的补全：{one}；请自行删除。")
    if caches and not models:
        total, shown = size_of(sum(one.bytes for one in caches)), ", ".join(shown_path(one.path) for one in caches)
        note(
            f"Models and caches stay ({total}, {shown}); --models deletes them.",
            f"模型和缓存保留（{total}，{shown}）；--models 可删除。",
        )
    for place in places:
        root = shown_path(place.memory.workspace.root)
        note(
            f'Your memory stays in {root}; "nacre destroy --workspace {root}" removes it for good.',
            f"您的记忆保留在 {root}；“nacre destroy --workspace {root}”可永久删除。",
        )
    folder = user_config_folder()
    if folder.is_dir():
        note(f"Your settings stay in {shown_path(folder)}.", f"您的设置保留在 {shown_path(folder)}。")
    package = _package()
    if package.endswith(" uninstall nacre"):  # a command, of which the full stop is no part
        package = say(f'"{package}"', f"“{package}”")
    note(f"The package itself: {package}.", f"软件包本身：{package}。")


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
    agents: list[AgentPlan],
    places: list[InstalledWorkspace],
    caches: list[Cache],
    completions: list[str],
    *,
    dry_run: bool,
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


# nacre destroy: remove a workspace's memory for good.


@click.command(cls=Command, epilog="Example:  nacre destroy --purge --dry-run")
@click.option("--yes", is_flag=True, help="Do not ask for the workspace's name.")
@click.option("--tiers", is_flag=True, help="Also the checkpoint layers, where they lie outside the workspace.")
@click.option("--purge", is_flag=True, help="Search every remaining file for words of the memory afterwards.")
@dry_run_option
@json_option
@click.pass_obj
def destroy(invocation: Invocation, *, yes: bool, tiers: bool, purge: bool, dry_run: bool, as_json: bool) -> None:
    """Remove a workspace's memory for good: MEMORY.md files, memory/, checkpoints, working memory, .nacre/, our rules in AGENTS.md,
    and what "nacre jobs install" told this machine.

    Your own files stay. It lists what goes and asks you to type the workspace's name. This cannot be undone. With --purge the
    words of the memory are looked for in everything that remains; exit code 3 says that some still stand somewhere.
    """
    from nacre.cli.jobs_install import setup_of
    from nacre.daemon.process import stop_daemon
    from nacre.forget import destroy as destroying
    from nacre.jobs import schedulers
    from nacre.mcp.http import forget_tokens

    with open_memory(invocation) as memory:
        workspace, config = memory.workspace, memory.config
    made, jobs = destroying.plan_destroy(workspace, config, tiers=tiers), schedulers.plan_remove(setup_of(memory))
    if not as_json:
        _show_destroy(made, jobs)
    if dry_run:
        if as_json:
            print_json(_as_json(made, jobs, (), dry_run=True, purge=False))
        return
    if not yes:
        _ask_destroy(workspace.root.name)
    words = destroying.sample_words(workspace, config) if purge else ()
    stop_daemon(memory)  # it would make an index again of what is still there
    # Before the memory: what was written where stands in it, and a scheduler that does not answer must be asked again.
    if jobs.changes or jobs.errors:
        schedulers.apply_plan(jobs)
    destroying.apply_destroy(made)
    forget_tokens(workspace.root)
    left = destroying.find_remaining(made, words)
    if as_json:
        print_json(_as_json(made, jobs, left, dry_run=False, purge=purge))
    else:
        _tell(jobs, len(words), left, purge=purge)
    if left:
        raise click.exceptions.Exit(NOT_ALL)


def _show_destroy(made: DestroyPlan, jobs: ServicePlan) -> None:
    rows = [(one.shown, str(one.files), size_of(one.bytes), one.reason) for one in made.doomed]
    if made.agents is not None:
        rows.append(("AGENTS.md", "", "", say("only our rules between their marks", "仅删除标记之间的规则")))
    ours = say("only what runs its jobs", "仅撤回运行其任务的内容")
    rows += [(f"$ {shlex.join(one.command)}" if one.command else one.path, "", "", ours) for one in jobs.shown]
    table(rows, (say("path", "路径"), say("files", "文件"), say("size", "大小"), ""))
    for sentence in (*jobs.notes, *map(str, jobs.errors)):
        note(sentence)
    if made.kept_tiers:
        shown = shown_path(made.kept_tiers)
        note(
            f"{shown} lies elsewhere and stays; --tiers takes it too.",
            f"{shown} 位于别处，予以保留；--tiers 可一并删除。",
        )
    total = size_of(made.bytes)
    note(
        f"{made.files} files, {total}, of {made.workspace.root}. This cannot be undone.",
        f"{made.workspace.root}：共 {made.files} 个文件，{total}。此操作无法撤销。",
    )


def _ask_destroy(name: str) -> None:
    if sys.stdin is None or not sys.stdin.isatty():
        raise BadInput(
            "Nobody can be asked here, so nothing was removed; --yes does it without asking.",
            "此处无法询问，因此未删除任何内容；使用 --yes 可不经询问直接执行。",
        )
    typed = click.prompt(
        say(f'Type "{name}" to remove it for good', f"输入“{name}”以永久删除"), default="", show_default=False, err=True
    )
    if typed.strip() != name:
        raise BadInput("That is not its name; nothing was removed.", "名称不符；未删除任何内容。")


def _tell(jobs: ServicePlan, words: int, left: tuple[Remaining, ...], *, purge: bool) -> None:
    if jobs.changed:
        by = [name for name, planned in jobs.changes.items() if planned.steps]
        note(
            f"What was installed to run its jobs was taken back: {', '.join(by)}.",
            f"已撤回为运行其任务而安装的内容：{'、'.join(by)}。",
        )
    note("The memory is gone.", "记忆已删除。")
    if not purge:
        return
    if left:
        note("Words of it still stand in:", "其中的文字仍存在于：")
        show_left(left)
    else:
        note(
            f"{words} lines of it were looked for in every file that remains: none is left.",
            f"已在剩余的所有文件中查找其中 {words} 行：没有任何残留。",
        )


def _as_json(
    made: DestroyPlan, jobs: ServicePlan, left: tuple[Remaining, ...], *, dry_run: bool, purge: bool
) -> dict[str, Any]:
    return {
        "workspace": str(made.workspace.root),
        "removed": [
            {"path": one.shown, "files": one.files, "bytes": one.bytes, "reason": one.reason} for one in made.doomed
        ],
        "rulesRemoved": made.agents is not None,
        "jobsRemoved": [one.as_json() for one in jobs.shown],
        "keptTiers": str(made.kept_tiers) if made.kept_tiers else None,
        "left": [left_json(one) for one in left] if purge else None,
        "dryRun": dry_run,
    }
