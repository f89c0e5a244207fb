"""nacre connect, uninstall, destroy: let agents use this memory; take back all that was written outside of it; remove it for good."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import click

from nacre.agents import connection, registry
from nacre.agents.connection import (
    AgentPlan,
    Connection,
    ConnectResult,
    FileChange,
    InstalledWorkspace,
    agent_states,
    state_folder,
)
from nacre.agents.edits import apply_edits
from nacre.agents.registry import ALL_AGENTS, Agent, Call, ConnectOptions, own_program
from nacre.cli import ui
from nacre.cli.jobs import service_lines, setup_of
from nacre.config.settings import user_config_folder
from nacre.daemon.process import stop_daemon
from nacre.errors import BadInput, NacreError, NoWorkspace, PartlyDone, cannot_write
from nacre.forget import destroy as destroying
from nacre.forget.destroy import DestroyPlan
from nacre.http import forget_tokens
from nacre.i18n import language, say
from nacre.jobs import schedulers
from nacre.jobs.installer import Machine, this_machine
from nacre.jobs.schedulers import ServicePlan
from nacre.memory import Memory, models_folder
from nacre.model import Note, Report


@ui.command("nacre connect claude-code codex --dry-run", dry_run=True)
@click.argument("agents", nargs=-1, metavar="[openclaw|claude-code|codex|cursor|gemini|opencode]...")
@ui.flag("--remove", "Remove the connection and restore each file exactly.")
@ui.flag("--print", "by_hand", "Print the changes to make by hand.")
@ui.flag("--list", "listing", "List the agents on this machine, and which are connected.")
@ui.flag("--rules", "Also add Nacre's rules to the agent's own file (CLAUDE.md, AGENTS.md, GEMINI.md).")
@click.option("--jobs/--no-jobs", default=None, help="Whether to capture and tidy automatically; asks if not given.")
@ui.flag("--yes", "-y", "Do not ask for confirmation.")
def connect(
    options: ui.Options,
    agents: tuple[str, ...],
    *,
    remove: bool,
    by_hand: bool,
    listing: bool,
    rules: bool,
    jobs: bool | None,
    yes: bool,
) -> Report | Iterator[Report]:
    """Connect agents to this memory by adding an MCP server, hooks or a plugin to their settings. Without a name, connect every agent found.

    Shows a diff of every file, asks before writing, and keeps a backup. Nothing else in the files changes, and running it again has no effect.
    Files that are read-only or cannot be parsed are skipped. It also tells you which of the agent's own memory features stay on, so
    that nothing is stored twice. --remove reverts exactly what was written.
    """
    if sum((remove, by_hand, listing)) > 1:
        raise BadInput("Use only one of --remove, --print and --list.", "--remove、--print 和 --list 只能用一个。")
    ui.owner_only(options)
    machine = this_machine()
    if listing:
        return _list_agents(machine)
    chosen = tuple(dict.fromkeys(map(registry.agent_named, agents)))
    if remove:
        return _carry_out(options, plan_disconnect(machine, chosen), yes=yes)
    try:
        memory = ui.open_memory(options)
    except NoWorkspace as error:
        english = f'{error} Or run "nacre up", which creates one and connects your agents.'
        raise NoWorkspace(english, f"{error}也可运行“nacre up”，它会创建工作区并连接你的智能体。") from error
    chosen = chosen or tuple(agent for agent in ALL_AGENTS if by_hand or agent.is_here(machine))
    if not chosen:
        english = "No agent was found on this machine. Name one, for example: nacre connect codex"
        raise BadInput(english, "本机没有找到智能体。请指定一个，例如：nacre connect codex")
    spoken = memory.config.language if memory.config.language in ("en", "zh") else language()
    how, call = ConnectOptions(rules=rules, language=spoken), registry.call_for_workspace(memory, machine.home)
    if by_hand:
        return _snippets(chosen, machine, call, how)
    plans = [connection.plan_connect(agent, machine, call, how, state_folder()) for agent in chosen]
    # The plugin tells OpenClaw the rules itself: for it alone they need not stand in AGENTS.md too.
    by_plugin = all(plan.agent == "openclaw" and plan.wanted.register for plan in plans)
    agents_file = None if by_plugin else connection.plan_rules(memory.workspace, spoken)
    new = Connection(memory.clock.now().isoformat(timespec="seconds"), str(memory.workspace.root), call.program)
    return _carry_out(options, plans, (memory, new), agents_file, jobs, yes=yes)


def _carry_out(
    options: ui.Options,
    plans: list[AgentPlan],
    connecting: tuple[Memory, Connection] | None = None,
    rules: FileChange | None = None,
    jobs: bool | None = None,
    *,
    yes: bool,
) -> Iterator[Report]:
    """Show the plans, connect or disconnect after a yes, and say what became of each; offer the jobs where anything was connected.
    To disconnect needs no workspace."""
    removing = connecting is None
    # A connection of which nothing stands any more is still to be forgotten.
    recorded = connection.load_connections(state_folder()) if removing else {}
    ready = [plan for plan in plans if plan.error is None and (plan.changed or plan.agent in recorded)]
    lines = [line for plan in plans for line in plan_lines(plan, removing=removing)]
    lines += [f"# {say('The workspace', '工作区')}\n{rules.diff}"] if rules else []
    yield Report(lines=lines)
    results: list[ConnectResult] = []
    if not options.dry_run and (ready or rules):
        remove, put = ("Remove all of this?", "要移除以上内容吗？"), ("Apply these changes?", "要写入这些更改吗？")
        ui.confirm(*(remove if removing else put), yes=yes or not (rules or any(plan.changed for plan in plans)))
        if connecting and rules:
            connection.apply_rules(rules, connecting[0])
        results = connection.apply_plans(ready, this_machine(), state_folder(), connecting and connecting[1])
    about_rules = {"rules": {"path": str(rules.path), "diff": rules.diff}} if rules else {}
    yield Report(
        {"agents": agents_json(plans, results), "dryRun": options.dry_run, **about_rules},
        notes=[
            *outcome_notes(plans, results, dry_run=options.dry_run, removing=removing),
            *ui.every((not plans, "No agent is connected.", "没有已连接的智能体。")),
        ],
    )
    if errors := _errors(plans, results):
        raise errors[0] if len(plans) == 1 else PartlyDone("\n".join(map(str, errors)))
    if connecting and any(plan.changed for plan in plans) and not options.dry_run and not options.as_json:
        from nacre.cli.up import offer_jobs

        offer_jobs(connecting[0], jobs, yes=False)


def _errors(plans: Sequence[AgentPlan], results: Sequence[ConnectResult]) -> list[NacreError]:
    return [plan.error for plan in plans if plan.error] + [result.error for result in results if result.error]


def plan_disconnect(machine: Machine, agents: tuple[Agent, ...] = ()) -> list[AgentPlan]:
    """Plan the removal of these agents' connections, or of all connections."""
    state = state_folder()
    chosen = agents or [agent for agent in ALL_AGENTS if agent.name in connection.load_connections(state)]
    return [connection.plan_disconnect(agent, machine, Call(own_program()), state) for agent in chosen]


def plan_lines(plan: AgentPlan, *, removing: bool = False) -> list[str]:
    """The lines that show the plan for one agent: which memory features of its own stay on, the diffs, the command."""
    if plan.error is not None or not plan.changed:
        return []
    return [
        f"# {plan.title}",
        *([] if removing else [ui.folded(f"  {plan.wanted.stays}")]),
        *(change.diff for change in plan.changes if change.changes),
        *([f"$ {shlex.join(plan.command)}"] if plan.command else []),
    ]


def outcome_notes(
    plans: Sequence[AgentPlan], results: Sequence[ConnectResult], *, dry_run: bool, removing: bool = False
) -> list[str]:
    fine = {result.agent for result in results if result.error is None}
    state, chinese = ("disconnected", "断开") if removing else ("connected", "连接")
    notes: list[str] = []
    for plan in (plan for plan in plans if plan.error is None):
        title, left = plan.title, [(name or path.name, ui.shown_path(path)) for path, name in plan.left]
        about = plan.wanted.notes if not removing and (plan.changed or not plan.changes) else ()
        kept = "  {0} in {1} was changed by hand and was kept; remove it if you no longer want it."
        kept_chinese = "  {1} 中的 {0} 有手动修改，已保留；如不再需要，请自行删除。"
        notes += [
            ui.first(
                (not plan.changed, f"{title}: nothing to do.", f"{title}：无需更改。"),
                (dry_run, f"{title} would be {state}.", f"将{chinese} {title}。"),
                (plan.agent in fine, f"{title} is {state}.", f"{title} 已{chinese}。"),
            ),
            *(f"  {sentence}" for sentence in about),
            *(say(kept, kept_chinese).format(*entry) for entry in left),
        ]
    return [*notes, *(f"  {sentence}" for result in results for sentence in result.notes)]


def agents_json(plans: Sequence[AgentPlan], results: Sequence[ConnectResult]) -> list[dict[str, Any]]:
    by_agent = {result.agent: result for result in results}
    rows: list[dict[str, Any]] = []
    for plan in plans:
        result = by_agent.get(plan.agent)
        error = plan.error or (result.error if result else None)
        rows.append(
            {
                "agent": plan.agent,
                "changed": plan.changed and result is not None and result.error is None,
                "files": [{"path": str(file.path), "diff": file.diff} for file in plan.changes if file.changes],
                "command": list(plan.command),
                "stays": plan.wanted.stays,
                "left": [{"path": str(path), "entry": name} for path, name in plan.left],
                "notes": [*plan.wanted.notes, *(result.notes if result else ())],
                "trouble": str(error) if error else None,
            }
        )
    return rows


def _snippets(agents: Sequence[Agent], machine: Machine, call: Call, how: ConnectOptions) -> Report:
    rows: list[dict[str, Any]] = []
    lines: list[str] = []
    for agent in agents:
        wanted = agent.wanted(machine, call, how)
        files = [
            {"path": str(target.path), "snippet": apply_edits("", target.form, target.edits)[0]}
            for target in wanted.targets
        ]
        command = list(wanted.register)
        rows.append({"agent": agent.name, "files": files, "command": command, "notes": list(wanted.notes)})
        lines += [
            f"# {agent.title}",
            *(f"## {ui.shown_path(file['path'])}\n{file['snippet']}" for file in files),
            *([f"$ {shlex.join(command)}\n"] if command else []),
            *map(Note, wanted.notes),
        ]
    return Report({"agents": rows}, lines=lines)


def _list_agents(machine: Machine) -> Report:
    states = agent_states(ALL_AGENTS, machine, state_folder())
    rows = []
    for state in states:
        connection = state.connection
        how = ui.first(
            (connection, "connected", "已连接"), (state.here, "found", "已找到"), (True, "not found", "未找到")
        )
        rows.append((state.agent.name, how, ui.shown_path(connection.workspace) if connection else ""))
    return Report([state.as_plain() for state in states], lines=rows)


@ui.command("nacre uninstall --dry-run", dry_run=True)
@ui.flag("--models", "Also delete the embedding models and other caches; they can be downloaded again.")
@ui.flag("--yes", "-y", "Do not ask for confirmation.")
def uninstall(options: ui.Options, *, models: bool, yes: bool) -> Iterator[Report]:
    """Remove everything Nacre set up outside of memory: agent connections, timers, the daemon, and its rules in AGENTS.md.

    Your memory and settings are kept. Memory is plain Markdown, and the command tells you where it is ("nacre destroy" deletes it) and how
    to uninstall the package itself.
    """
    ui.owner_only(options)
    machine = this_machine()
    agents = plan_disconnect(machine)
    try:
        memory = Memory.open(options.workspace, agent=options.agent)
    except NoWorkspace:
        memory = None
    places = connection.installed_workspaces(memory, machine)
    caches = [folder for folder in [models_folder()] if folder.is_dir()]
    lines = [line for plan in agents for line in plan_lines(plan, removing=True)]
    yield Report(lines=[*lines, *(line for place in places if place.changed for line in _place_lines(place))])
    errors: list[NacreError] = []
    notes: list[str] = []
    if not options.dry_run and (agents or (models and caches) or any(place.changed for place in places)):
        ui.confirm("Remove all of this?", "要移除以上所有内容吗？", yes=yes)
        results = connection.apply_plans([plan for plan in agents if plan.error is None], machine, state_folder())
        notes, errors = outcome_notes(agents, results, dry_run=False, removing=True), _errors(agents, results)
        for place in places:
            errors += _take_back(place)
        for cache in caches if models else ():
            try:
                shutil.rmtree(cache)
            except OSError as error:
                errors.append(cannot_write(cache, error))
    settings = ui.shown_path(user_config_folder())
    roots = [ui.shown_path(place.memory.workspace.root) for place in places]
    lasts = 'Your memory is still in {0}; "nacre destroy --workspace {0}" deletes it permanently.'
    lasts_chinese = "你的记忆保留在 {0}；“nacre destroy --workspace {0}”可永久删除。"
    kept = "Models and caches are kept; --models deletes them.", "模型和缓存已保留；--models 可删除。"
    package = 'Uninstall the package the way you installed it, for example "pip uninstall nacre".'
    notes += ui.every(
        (caches and not models, *kept),
        *((True, lasts.format(root), lasts_chinese.format(root)) for root in roots),
        (user_config_folder().is_dir(), f"Your settings are still in {settings}.", f"你的设置保留在 {settings}。"),
        (True, package, "请按安装时的方式卸载软件包本身，例如“pip uninstall nacre”。"),
    )
    facts = {
        "connections": agents_json(agents, ()),
        "workspaces": [
            {
                "workspace": str(place.memory.workspace.root),
                "jobs": [step.as_json() for step in place.jobs.shown],
                "daemon": place.daemon,
                "rules": place.rules.diff if place.rules else None,
            }
            for place in places
        ],
        "caches": [str(folder) for folder in caches if models],
        "dryRun": options.dry_run,
    }
    yield Report(facts, notes=notes)
    if errors:
        raise PartlyDone("\n".join(map(str, errors)))


def _place_lines(place: InstalledWorkspace) -> list[str]:
    pid = place.daemon
    return [
        f"# {ui.shown_path(place.memory.workspace.root)}",
        *service_lines(place.jobs),
        *ui.every((pid, f"Stop the daemon (process {pid}).", f"停止守护进程（进程 {pid}）。")),
        *([place.rules.diff] if place.rules else []),
    ]


def _take_back(place: InstalledWorkspace) -> list[NacreError]:
    """Remove the timers, the daemon, the HTTP tokens and our rules of one workspace; the errors of what failed."""
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


@ui.command("nacre destroy --dry-run", dry_run=True)
@ui.flag("--yes", "Do not ask for the workspace name.")
def destroy(options: ui.Options, *, yes: bool) -> Iterator[Report]:
    """Permanently delete the memory of a workspace: MEMORY.md files, memory/, checkpoints, working memory, .nacre/, Nacre's rules in AGENTS.md,
    and what "nacre jobs install" set up.

    Your own files are kept. It lists what will be deleted and asks you to type the workspace name. This cannot be undone.
    """
    with ui.open_memory(options) as memory:
        workspace, config = memory.workspace, memory.config
    plan, jobs = destroying.plan_destroy(workspace, config), schedulers.plan_remove(setup_of(memory))
    yield _destroy_report(plan, jobs)
    facts = {
        "workspace": str(workspace.root),
        "removed": plan.shown,
        "rulesRemoved": plan.agents is not None,
        "jobsRemoved": [step.as_json() for step in jobs.shown],
        "keptTiers": str(plan.kept_tiers) if plan.kept_tiers else None,
        "dryRun": options.dry_run,
    }
    if options.dry_run:
        yield Report(facts)
        return
    if not yes:
        ui.must_ask()
        name = workspace.root.name
        question = say(f'Type "{name}" to delete its memory permanently', f"输入“{name}”以永久删除")
        if click.prompt(question, default="", show_default=False, err=True).strip() != name:
            raise BadInput("The name does not match; nothing was deleted.", "名称不符；未删除任何内容。")
    stop_daemon(memory)  # it would make an index again of what is still there
    # Before the memory: what was written where stands in it, and a scheduler that does not answer must be asked again.
    if jobs.changes or jobs.errors:
        schedulers.apply_plan(jobs)
    destroying.apply_destroy(plan)
    forget_tokens(workspace.root)
    by = ", ".join(name for name, planned in jobs.changes.items() if planned.steps)
    removed = ui.every((by, f"The jobs were removed from {by}.", f"已移除定时任务：{by}。"))
    yield Report(facts, heading=[*removed, say("The memory was deleted.", "记忆已删除。")])


def _destroy_report(plan: DestroyPlan, jobs: ServicePlan) -> Report:
    rules = "AGENTS.md: only Nacre's rules between the markers", "AGENTS.md：仅删除标记之间的 Nacre 规则"
    installed = [f"$ {shlex.join(step.command)}" if step.command else step.path for step in jobs.shown]
    lines = [
        *plan.shown,
        *ui.every((plan.agents is not None, *rules)),
        *(say(f"{step}: only the jobs for this workspace", f"{step}：仅移除此工作区的任务") for step in installed),
    ]
    root, tiers = plan.workspace.root, plan.kept_tiers and ui.shown_path(plan.kept_tiers)
    deleted = f"All of this will be deleted from {root}. This cannot be undone."
    notes = ui.every(
        (tiers, f"{tiers} is outside the workspace and will be kept.", f"{tiers} 位于工作区之外，将保留。"),
        (True, deleted, f"以上为 {root} 中将删除的内容。此操作无法撤销。"),
    )
    return Report(lines=lines, notes=[*jobs.notes, *map(str, jobs.errors), *notes])
