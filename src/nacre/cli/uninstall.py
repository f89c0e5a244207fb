"""nacre uninstall, nacre destroy: take back what was written outside of memory; remove a memory for good."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

from nacre.agents import connection
from nacre.agents import uninstall as removal
from nacre.agents.connection import ConnectResult
from nacre.agents.uninstall import InstalledWorkspace
from nacre.cli import ui
from nacre.cli.connect import agents_json, outcome_notes, plan_disconnect, plan_lines
from nacre.cli.forget import NOT_ALL, left_rows
from nacre.cli.jobs import service_lines, setup_of
from nacre.config.settings import user_config_folder
from nacre.daemon.process import stop_daemon
from nacre.errors import BadInput, NacreError, NoWorkspace, PartlyDone
from nacre.forget import destroy as destroying
from nacre.forget.destroy import DestroyPlan
from nacre.i18n import say
from nacre.jobs import schedulers
from nacre.jobs.installer import this_machine
from nacre.jobs.schedulers import ServicePlan
from nacre.mcp.http import forget_tokens
from nacre.memory import Memory
from nacre.model.report import Report, fields


@ui.command("nacre uninstall --dry-run", dry_run=True)
@click.option(
    "--models", is_flag=True, help="Also delete the embedding models and other caches; they can be fetched again."
)
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
def uninstall(options: ui.Options, *, models: bool, yes: bool) -> Iterator[Report]:
    """Take back everything that was written outside of memory: the connections of agents, timers, the daemon, our rules in AGENTS.md.

    Your memory stays: it is plain Markdown, and this command says where it lies ("nacre destroy" is for that). Settings stay too. It ends
    by saying how to remove the package itself.
    """
    ui.owner_only(options)

    machine = this_machine()
    agents = plan_disconnect(machine)
    try:
        memory = Memory.open(options.workspace, agent=options.agent)
    except NoWorkspace:
        memory = None
    places = removal.installed_workspaces(memory, machine)
    caches, completions = removal.caches(), removal.completions(machine.home)
    lines = [line for plan in agents for line in plan_lines(plan, removing=True)]
    yield Report(lines=[*lines, *(line for place in places if place.changed for line in _place_lines(place))])
    errors: list[NacreError] = []
    results: list[ConnectResult] = []
    works = bool(agents or (models and caches) or any(place.changed for place in places)) and not options.dry_run
    if works:
        ui.confirm("Take all of this back?", "是否全部撤回？", yes=yes)
        ready = [plan for plan in agents if plan.error is None]
        results = connection.apply_plans(ready, machine, connection.state_folder())
        errors += [plan.error for plan in agents if plan.error] + [result.error for result in results if result.error]
        for place in places:
            errors += _take_back(place)
        for cache in caches if models else ():
            removal.remove_cache(cache)
    workspaces = [
        {
            "workspace": str(place.memory.workspace.root),
            "jobs": [step.as_json() for step in place.jobs.shown],
            "daemon": place.daemon,
            "rules": place.rules.diff if place.rules else None,
        }
        for place in places
    ]
    facts: dict[str, Any] = {"connections": agents_json(agents, ()), "workspaces": workspaces}
    facts["caches"] = [{"path": str(folder), "bytes": size} for folder, size in caches.items() if models]
    facts |= {"completions": completions, "package": _how_to_remove_package(), "dryRun": options.dry_run}
    total = ui.size_of(sum(caches.values()))
    kept = [say(f"Your completion stays: {line}", f"您设置的补全予以保留：{line}") for line in completions]
    if caches and not models:
        kept.append(
            say(
                f"Models and caches stay ({total}); --models deletes them.",
                f"模型和缓存保留（{total}）；--models 可删除。",
            )
        )
    gone = outcome_notes(agents, results, dry_run=False, removing=True) if works else []
    yield Report(facts, notes=[*gone, *kept, *_what_stays(places)])
    if errors:
        raise PartlyDone("\n".join(map(str, errors)))


def _place_lines(place: InstalledWorkspace) -> list[str]:
    pid = place.daemon
    stopped = ui.every((pid, f"The daemon is stopped (process {pid}).", f"停止守护进程（进程 {pid}）。"))
    rules = [place.rules.diff] if place.rules else []
    return [f"# {ui.shown_path(place.memory.workspace.root)}", *service_lines(place.jobs), *stopped, *rules]


def _take_back(place: InstalledWorkspace) -> list[NacreError]:
    """One workspace: its timers, its daemon, what lets clients in over HTTP, our rules; what could not be taken back."""
    memory, rules = place.memory, place.rules
    steps: list[Callable[[], object]] = [
        lambda: schedulers.apply_plan(place.jobs) if place.jobs.changes or place.jobs.errors else None,
        lambda: stop_daemon(memory) if place.daemon else None,
        lambda: forget_tokens(memory.workspace.root),
        lambda: connection.apply_rules(rules, memory) if rules else None,
    ]
    errors: list[NacreError] = []
    for step in steps:
        try:
            step()
        except NacreError as error:
            errors.append(error)
    return errors


def _what_stays(places: list[InstalledWorkspace]) -> list[str]:
    """Where memory lies, what else is there, and how the package itself goes."""
    folder, package = user_config_folder(), _how_to_remove_package()
    settings, lines = ui.shown_path(folder), []
    for root in (ui.shown_path(place.memory.workspace.root) for place in places):
        command = f"nacre destroy --workspace {root}"
        english = f'Your memory stays in {root}; "{command}" removes it for good.'
        lines.append(say(english, f"您的记忆保留在 {root}；“{command}”可永久删除。"))
    return lines + ui.every(
        (folder.is_dir(), f"Your settings stay in {settings}.", f"您的设置保留在 {settings}。"),
        (True, f'The package itself: "{package}".', f"软件包本身：“{package}”。"),
    )


def _how_to_remove_package() -> str:
    parts = Path(sys.prefix).parts
    if "pipx" in parts:
        return "pipx uninstall nacre"
    if "uv" in parts and "tools" in parts:
        return "uv tool uninstall nacre"
    return f"{shlex.quote(sys.executable)} -m pip uninstall nacre"


# nacre destroy: remove a workspace's memory for good.


@ui.command("nacre destroy --purge --dry-run", dry_run=True)
@click.option("--yes", is_flag=True, help="Do not ask for the workspace's name.")
@click.option("--tiers", is_flag=True, help="Also the checkpoint layers, where they lie outside the workspace.")
@click.option("--purge", is_flag=True, help="Search every remaining file for words of the memory afterwards.")
def destroy(options: ui.Options, *, yes: bool, tiers: bool, purge: bool) -> Iterator[Report]:
    """Remove a workspace's memory for good: MEMORY.md files, memory/, checkpoints, working memory, .nacre/, our rules in AGENTS.md,
    and what "nacre jobs install" told this machine.

    Your own files stay. It lists what goes and asks you to type the workspace's name. This cannot be undone. With --purge the
    words of the memory are looked for in everything that remains; exit code 3 says that some still stand somewhere.
    """
    with ui.open_memory(options) as memory:
        workspace, config = memory.workspace, memory.config
    plan, jobs = destroying.plan_destroy(workspace, config, tiers=tiers), schedulers.plan_remove(setup_of(memory))
    yield _destroy_report(plan, jobs)
    facts = {
        "workspace": str(workspace.root),
        "removed": [fields(part, "path files bytes reason", path=part.shown) for part in plan.doomed],
        "rulesRemoved": plan.agents is not None,
        "jobsRemoved": [step.as_json() for step in jobs.shown],
        "keptTiers": str(plan.kept_tiers) if plan.kept_tiers else None,
        "left": None,
        "dryRun": options.dry_run,
    }
    if options.dry_run:
        yield Report(facts)
        return
    if not yes:
        ui.must_ask()
        name = workspace.root.name
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
    by = ", ".join(name for name, planned in jobs.changes.items() if planned.steps)
    searched = f"{len(words)} lines of it were looked for in every file that remains: none is left."
    heading = ui.every(
        (by, f"What was installed to run its jobs was taken back: {by}.", f"已撤回运行其任务的内容：{by}。"),
        (True, "The memory is gone.", "记忆已删除。"),
        (left, "Words of it still stand in:", "其中的文字仍存在于："),
        (purge and not left, searched, f"已在剩余的所有文件中查找其中 {len(words)} 行：没有任何残留。"),
    )
    facts["left"] = [fields(line, "path line reason") for line in left] if purge else None
    yield Report(facts, heading=heading, lines=left_rows(left), code=NOT_ALL if left else 0)


def _destroy_report(plan: DestroyPlan, jobs: ServicePlan) -> Report:
    rows = [(part.shown, str(part.files), ui.size_of(part.bytes), part.reason) for part in plan.doomed]
    if plan.agents is not None:
        rows.append(("AGENTS.md", "", "", say("only our rules between their marks", "仅删除标记之间的规则")))
    ours = say("only what runs its jobs", "仅撤回运行其任务的内容")
    rows += [(f"$ {shlex.join(step.command)}" if step.command else step.path, "", "", ours) for step in jobs.shown]
    root, total, tiers = plan.workspace.root, ui.size_of(plan.bytes), plan.kept_tiers and ui.shown_path(plan.kept_tiers)
    count = f"{plan.files} files, {total}, of {root}. This cannot be undone."
    notes = ui.every(
        (tiers, f"{tiers} stays; --tiers takes it too.", f"{tiers} 予以保留；--tiers 可一并删除。"),
        (True, count, f"{root}：共 {plan.files} 个文件，{total}。此操作无法撤销。"),
    )
    columns = (say("path", "路径"), say("files", "文件"), say("size", "大小"), "")
    return Report(lines=rows, columns=columns, notes=[*jobs.notes, *map(str, jobs.errors), *notes])
