"""nacre uninstall, nacre destroy: take back what was written outside of memory; remove a memory for good."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nacre.cli import ui
from nacre.cli.connect import agents_json, show_outcome, show_plan
from nacre.cli.forget import NOT_ALL, left_rows
from nacre.cli.jobs import service_lines, setup_of
from nacre.errors import BadInput, NacreError, NoWorkspace, PartlyDone
from nacre.i18n import say

if TYPE_CHECKING:
    from nacre.agents.connection import ConnectResult
    from nacre.agents.uninstall import Cache, InstalledWorkspace
    from nacre.forget.destroy import DestroyPlan
    from nacre.jobs.schedulers import ServicePlan


@ui.command("nacre uninstall --dry-run", dry_run=True)
@click.option(
    "--models", is_flag=True, help="Also delete the embedding models and other caches; they can be fetched again."
)
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
def uninstall(options: ui.Options, *, models: bool, yes: bool) -> None:
    """Take back everything that was written outside of memory: the connections of agents, timers, the daemon, our rules in AGENTS.md.

    Your memory stays: it is plain Markdown, and this command says where it lies ("nacre destroy" is for that). Settings stay too. It ends
    by saying how to remove the package itself.
    """
    ui.owner_only(options)
    from nacre.agents import connection
    from nacre.agents import uninstall as removal
    from nacre.agents.registry import Call, all_agents, own_program
    from nacre.jobs.installer import this_machine
    from nacre.memory import Memory

    machine, state = this_machine(), connection.state_folder()
    connected, call = connection.load_connections(state), Call(own_program())
    agents = [
        connection.plan_disconnect(agent, machine, call, state) for agent in all_agents() if agent.name in connected
    ]
    try:
        memory = Memory.open(options.workspace, agent=options.agent)
    except NoWorkspace:
        memory = None
    places = removal.installed_workspaces(memory, machine)
    caches, completions = removal.caches(), removal.completions(machine.home)
    if not options.as_json:
        with ui.until_reader_leaves():
            for plan in agents:
                show_plan(plan, removing=True)
            for place in places:
                if place.changed:
                    click.echo(
                        "\n".join([f"# {ui.shown_path(place.memory.workspace.root)}", *service_lines(place.jobs)])
                    )
                if place.daemon:
                    pid = place.daemon
                    ui.echo(f"The daemon is stopped (process {pid}).", f"停止守护进程（进程 {pid}）。")
                if place.rules:
                    click.echo(place.rules.diff)
    doomed = caches if models else []
    works = bool(agents or doomed or any(place.changed for place in places)) and not options.dry_run
    errors: list[NacreError] = []
    carried: list[ConnectResult] = []
    if works:
        ui.confirm(
            say("Take all of this back?", "是否全部撤回？"),
            "Nobody can be asked here, so nothing was taken back; --yes does it without asking.",
            "此处无法询问，因此未撤回任何内容；使用 --yes 可不经询问直接执行。",
            yes=yes,
        )
        if caches and not doomed and not yes and not options.as_json:
            total = ui.size_of(sum(cache.bytes for cache in caches))
            question = say(f"Also delete the models and caches ({total})?", f"是否同时删除模型和缓存（{total}）？")
            doomed = caches if click.confirm(question, default=False, err=True) else []
        carried = connection.apply_disconnect([plan for plan in agents if plan.error is None], machine, state)
        errors += [plan.error for plan in agents if plan.error] + [one.error for one in carried if one.error]
        for place in places:
            errors += _take_back(place)
        for cache in doomed:
            removal.remove_cache(cache)
    if options.as_json:
        workspaces = [
            {
                "workspace": str(place.memory.workspace.root),
                "jobs": [step.as_json() for step in place.jobs.shown],
                "daemon": place.daemon,
                "rules": place.rules.diff if place.rules else None,
            }
            for place in places
        ]
        facts = {
            "connections": agents_json(agents, (), dry_run=options.dry_run),
            "workspaces": workspaces,
        }
        facts["caches"] = [{"path": str(cache.path), "bytes": cache.bytes} for cache in doomed]
        ui.print_json(
            {**facts, "completions": completions, "package": _how_to_remove_package(), "dryRun": options.dry_run}
        )
    else:
        if works:
            show_outcome(agents, carried, dry_run=False, removing=True)
        kept = [] if models else [cache for cache in caches if cache not in doomed]
        _show_what_stays(places, kept, completions)
    if errors:
        raise PartlyDone("\n".join(map(str, errors)))


def _take_back(place: InstalledWorkspace) -> list[NacreError]:
    """One workspace: its timers, its daemon, what lets clients in over HTTP, our rules; what could not be taken back."""
    from nacre.agents import connection
    from nacre.daemon.process import stop_daemon
    from nacre.jobs import schedulers
    from nacre.mcp.http import forget_tokens

    memory = place.memory
    errors: list[NacreError] = []
    try:
        if place.jobs.changes or place.jobs.errors:
            schedulers.apply_plan(place.jobs)
    except NacreError as error:
        errors.append(error)
    try:
        if place.daemon:
            stop_daemon(memory)
        forget_tokens(memory.workspace.root)
        if place.rules:
            connection.apply_rules(place.rules, memory)
    except NacreError as error:
        errors.append(error)
    return errors


def _show_what_stays(places: list[InstalledWorkspace], caches: list[Cache], completions: list[str]) -> None:
    """Where memory lies, what else is there, and how the package itself goes."""
    from nacre.config.settings import user_config_folder

    for line in completions:
        ui.note(f"Completion you set up: {line}; take it out yourself.", f"您设置的补全：{line}；请自行删除。")
    if caches:
        total = ui.size_of(sum(cache.bytes for cache in caches))
        shown = ", ".join(ui.shown_path(cache.path) for cache in caches)
        ui.note(
            f"Models and caches stay ({total}, {shown}); --models deletes them.",
            f"模型和缓存保留（{total}，{shown}）；--models 可删除。",
        )
    for place in places:
        root = ui.shown_path(place.memory.workspace.root)
        ui.note(
            f'Your memory stays in {root}; "nacre destroy --workspace {root}" removes it for good.',
            f"您的记忆保留在 {root}；“nacre destroy --workspace {root}”可永久删除。",
        )
    if (folder := user_config_folder()).is_dir():
        ui.note(f"Your settings stay in {ui.shown_path(folder)}.", f"您的设置保留在 {ui.shown_path(folder)}。")
    package = _how_to_remove_package()
    if package.endswith(" uninstall nacre"):  # a command, of which the full stop is no part
        package = say(f'"{package}"', f"“{package}”")
    ui.note(f"The package itself: {package}.", f"软件包本身：{package}。")


def _how_to_remove_package() -> str:
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


# nacre destroy: remove a workspace's memory for good.


@ui.command("nacre destroy --purge --dry-run", dry_run=True)
@click.option("--yes", is_flag=True, help="Do not ask for the workspace's name.")
@click.option("--tiers", is_flag=True, help="Also the checkpoint layers, where they lie outside the workspace.")
@click.option("--purge", is_flag=True, help="Search every remaining file for words of the memory afterwards.")
def destroy(options: ui.Options, *, yes: bool, tiers: bool, purge: bool) -> None:
    """Remove a workspace's memory for good: MEMORY.md files, memory/, checkpoints, working memory, .nacre/, our rules in AGENTS.md,
    and what "nacre jobs install" told this machine.

    Your own files stay. It lists what goes and asks you to type the workspace's name. This cannot be undone. With --purge the
    words of the memory are looked for in everything that remains; exit code 3 says that some still stand somewhere.
    """
    from nacre.daemon.process import stop_daemon
    from nacre.forget import destroy as destroying
    from nacre.jobs import schedulers
    from nacre.mcp.http import forget_tokens

    with ui.open_memory(options) as memory:
        workspace, config = memory.workspace, memory.config
    plan, jobs = destroying.plan_destroy(workspace, config, tiers=tiers), schedulers.plan_remove(setup_of(memory))
    facts = {
        "workspace": str(workspace.root),
        "removed": [ui.fields(one, "path files bytes reason", path=one.shown) for one in plan.doomed],
        "rulesRemoved": plan.agents is not None,
        "jobsRemoved": [one.as_json() for one in jobs.shown],
        "keptTiers": str(plan.kept_tiers) if plan.kept_tiers else None,
        "left": None,
        "dryRun": options.dry_run,
    }
    if not options.as_json:
        _show_destroy(plan, jobs)
    if options.dry_run:
        if options.as_json:
            ui.print_json(facts)
        return
    if not yes:
        name = workspace.root.name
        if sys.stdin is None or not sys.stdin.isatty():
            raise BadInput(
                "Nobody can be asked here, so nothing was removed; --yes does it without asking.",
                "此处无法询问，因此未删除任何内容；使用 --yes 可不经询问直接执行。",
            )
        question = say(f'Type "{name}" to remove it for good', f"输入“{name}”以永久删除")
        if click.prompt(question, default="", show_default=False, err=True).strip() != name:
            raise BadInput("That is not its name; nothing was removed.", "名称不符；未删除任何内容。")
    words = destroying.sample_words(workspace, config) if purge else ()
    stop_daemon(memory)  # it would make an index again of what is still there
    # Before the memory: what was written where stands in it, and a scheduler that does not answer must be asked again.
    if jobs.changes or jobs.errors:
        schedulers.apply_plan(jobs)
    destroying.apply_destroy(plan)
    forget_tokens(workspace.root)
    left = destroying.find_remaining(plan, words)
    if options.as_json:
        ui.print_json({**facts, "left": [ui.fields(one, "path line reason") for one in left] if purge else None})
    else:
        if jobs.changed:
            by = [name for name, planned in jobs.changes.items() if planned.steps]
            ui.note(
                f"What was installed to run its jobs was taken back: {', '.join(by)}.",
                f"已撤回为运行其任务而安装的内容：{'、'.join(by)}。",
            )
        ui.note("The memory is gone.", "记忆已删除。")
        if left:
            ui.note("Words of it still stand in:", "其中的文字仍存在于：")
            ui.table(left_rows(left))
        elif purge:
            ui.note(
                f"{len(words)} lines of it were looked for in every file that remains: none is left.",
                f"已在剩余的所有文件中查找其中 {len(words)} 行：没有任何残留。",
            )
    if left:
        raise click.exceptions.Exit(NOT_ALL)


def _show_destroy(plan: DestroyPlan, jobs: ServicePlan) -> None:
    rows = [(one.shown, str(one.files), ui.size_of(one.bytes), one.reason) for one in plan.doomed]
    if plan.agents is not None:
        rows.append(("AGENTS.md", "", "", say("only our rules between their marks", "仅删除标记之间的规则")))
    ours = say("only what runs its jobs", "仅撤回运行其任务的内容")
    rows += [(f"$ {shlex.join(one.command)}" if one.command else one.path, "", "", ours) for one in jobs.shown]
    ui.table(rows, (say("path", "路径"), say("files", "文件"), say("size", "大小"), ""))
    for sentence in (*jobs.notes, *map(str, jobs.errors)):
        ui.note(sentence)
    if plan.kept_tiers:
        shown = ui.shown_path(plan.kept_tiers)
        ui.note(
            f"{shown} lies elsewhere and stays; --tiers takes it too.",
            f"{shown} 位于别处，予以保留；--tiers 可一并删除。",
        )
    root, total = plan.workspace.root, ui.size_of(plan.bytes)
    ui.note(
        f"{plan.files} files, {total}, of {root}. This cannot be undone.",
        f"{root}：共 {plan.files} 个文件，{total}。此操作无法撤销。",
    )
