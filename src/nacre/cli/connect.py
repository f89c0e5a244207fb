"""nacre connect: let agents use this memory by themselves, or take that back."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import click

from nacre.agents import connection, registry
from nacre.agents.connection import AgentPlan, ConnectResult, agent_states, state_folder
from nacre.agents.edits import apply_edits
from nacre.agents.registry import Agent, Call, ConnectOptions, all_agents, own_program
from nacre.cli import ui
from nacre.errors import BadInput, NacreError, NoWorkspace, PartlyDone
from nacre.i18n import language, say
from nacre.jobs.installer import Machine, this_machine
from nacre.memory import Memory
from nacre.model.report import Note, Report


@ui.command("nacre connect claude-code codex --dry-run", dry_run=True)
@click.argument("agents", nargs=-1, metavar="[openclaw|claude-code|codex|cursor|gemini|opencode]...")
@click.option("--remove", is_flag=True, help="Take the connection back: every byte as it was.")
@click.option("--print", "by_hand", is_flag=True, help="Print what to write where, for doing it by hand.")
@click.option("--list", "listing", is_flag=True, help="List the agents on this machine, and which are connected.")
@click.option(
    "--rules", is_flag=True, help="Also write our rules into the agent's own file (CLAUDE.md, AGENTS.md, GEMINI.md)."
)
@click.option("--keep-own", is_flag=True, help="Switch nothing of the agent's own memory off, and do not ask.")
@click.option(
    "--jobs/--no-jobs", default=None, help="Let capture and tidying run by themselves, or not; else it is asked."
)
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
def connect(
    options: ui.Options,
    agents: tuple[str, ...],
    *,
    remove: bool,
    by_hand: bool,
    listing: bool,
    rules: bool,
    keep_own: bool,
    jobs: bool | None,
    yes: bool,
) -> Report | Iterator[Report]:
    """Let agents use this memory by themselves: MCP server, hooks or plugin, written into their settings. Without a name: all that are here.

    Shows a diff of every file first, writes after your yes, keeps a copy, touches no other byte, and changes nothing when run again. A file
    that is read-only or cannot be understood is left alone. It says which of the agent's own ways of remembering stay, are read, or are
    switched off, so that nothing is remembered twice. --remove takes back exactly what was written.
    """
    if sum((remove, by_hand, listing)) > 1:
        raise BadInput("Give one of --remove, --print and --list.", "--remove、--print 和 --list 只能用一个。")
    ui.owner_only(options)

    machine = this_machine()
    if listing:
        return _list_agents(machine)
    chosen = tuple(dict.fromkeys(map(registry.agent_named, agents)))
    if remove:
        return _disconnect(options, machine, chosen, yes=yes)
    try:
        memory = ui.open_memory(options)
    except NoWorkspace as error:
        english = f'{error} Or run "nacre up", which makes one and connects your agents.'
        raise NoWorkspace(english, f"{error}也可运行“nacre up”，一并创建并连接您的代理。") from error
    chosen = chosen or tuple(agent for agent in registry.all_agents() if by_hand or agent.is_here(machine))
    if not chosen:
        raise BadInput(
            "No agent was found here; name one: nacre connect codex.", "没有找到代理；请指定：nacre connect codex。"
        )
    spoken = memory.config.language if memory.config.language in ("en", "zh") else language()
    how = registry.ConnectOptions(rules=rules, language=spoken)
    call = registry.call_for_workspace(memory, machine.home)
    if by_hand:
        return _snippets(chosen, machine, call, how)
    plans: list[AgentPlan] = []
    for agent in chosen:
        plan = connection.plan_connect(agent, machine, call, how, connection.state_folder())
        # What the agent does that Nacre does too is asked for by itself, before the diff is shown.
        if (question := plan.wanted.question) and not keep_own and plan.error is None:
            asks = not options.as_json and ui.is_interactive()
            if yes or options.dry_run or (asks and click.confirm(question, default=True, err=True)):
                switched = replace(how, switch_off=True)
                plan = connection.plan_connect(agent, machine, call, switched, connection.state_folder())
        plans.append(plan)
    return _connect(options, memory, plans, machine, call, spoken, jobs=jobs, yes=yes)


def _connect(
    options: ui.Options,
    memory: Memory,
    plans: list[AgentPlan],
    machine: Machine,
    call: Call,
    spoken: str,
    *,
    jobs: bool | None,
    yes: bool,
) -> Iterator[Report]:
    """Show the plans, carry them out, and offer the jobs where anything changed."""
    ready = connection.changed_plans(plans)
    # The plugin tells OpenClaw the rules itself: for it alone they need not stand in AGENTS.md too.
    by_plugin = all(plan.agent == "openclaw" and plan.wanted.register for plan in plans)
    rules = None if by_plugin else connection.plan_rules(memory.workspace, spoken)
    settings = _take_over_settings(memory, plans, dry_run=True)
    lines = [line for plan in plans for line in plan_lines(plan)]
    lines += [f"# {say('The workspace', '工作区')}\n{rules.diff}"] if rules else []
    yield Report(lines=[*lines, *settings])
    results: list[ConnectResult] = []
    if not options.dry_run and (ready or rules):
        ui.confirm("Write this?", "是否写入？", yes=yes)
        if rules:
            connection.apply_rules(rules, memory)
        at, root = memory.clock.now().isoformat(timespec="seconds"), str(memory.workspace.root)
        new = connection.Connection(at, root, call.program)
        results = connection.apply_plans(ready, machine, connection.state_folder(), new)
        fine = {result.agent for result in results if result.error is None}
        _take_over_settings(memory, [plan for plan in ready if plan.agent in fine], dry_run=False)
    facts = {"agents": agents_json(plans, results), "dryRun": options.dry_run}
    facts |= {"rules": {"path": str(rules.path), "diff": rules.diff}} if rules else {}
    facts |= {"settings": settings} if settings else {}
    yield Report(facts, notes=outcome_notes(plans, results, dry_run=options.dry_run))
    _raise_errors(plans, results)
    if ready and not options.dry_run and not options.as_json:
        from nacre.cli.up import offer_jobs

        offer_jobs(memory, jobs, yes=False)


def _take_over_settings(memory: Memory, plans: list[AgentPlan], *, dry_run: bool) -> list[str]:
    """OpenClaw's settings for search, taken over as "nacre import openclaw" does; a sentence for each."""
    if not any(plan.agent == "openclaw" and plan.changed and plan.error is None for plan in plans):
        return []
    try:
        steps = memory.import_("openclaw", dry_run=dry_run).steps
    except NacreError:  # no settings, or none that can be read: there is nothing to take over
        return []
    lead = say("Taken over from OpenClaw: ", "从 OpenClaw 沿用：")
    return [f"{lead}{step.path}  ({step.reason})" for step in steps if step.action == "set"]


def _disconnect(options: ui.Options, machine: Machine, agents: tuple[Agent, ...], *, yes: bool) -> Iterator[Report]:
    """From what was written to what was there before; needs no workspace."""
    plans = plan_disconnect(machine, agents)
    connected = connection.load_connections(connection.state_folder())
    # A connection of which nothing stands any more is still to be forgotten.
    ready = [plan for plan in plans if plan.error is None and (plan.changed or plan.agent in connected)]
    yield Report(lines=[line for plan in plans for line in plan_lines(plan, removing=True)])
    results: list[ConnectResult] = []
    if not options.dry_run and ready:
        if connection.changed_plans(plans):
            ui.confirm("Take this back?", "是否撤回？", yes=yes)
        results = connection.apply_plans(ready, machine, connection.state_folder())
    notes = outcome_notes(plans, results, dry_run=options.dry_run, removing=True)
    none = ui.every((not plans, "No agent is connected.", "没有已连接的代理。"))
    yield Report({"agents": agents_json(plans, results), "dryRun": options.dry_run}, notes=[*notes, *none])
    _raise_errors(plans, results)


def plan_disconnect(machine: Machine, agents: tuple[Agent, ...] = ()) -> list[AgentPlan]:
    """What takes back the connections of these agents, or of all that are connected."""
    state = connection.state_folder()
    connected, call = connection.load_connections(state), Call(own_program())
    chosen = agents or tuple(agent for agent in all_agents() if agent.name in connected)
    return [connection.plan_disconnect(agent, machine, call, state) for agent in chosen]


def _raise_errors(plans: Sequence[AgentPlan], results: Sequence[ConnectResult]) -> None:
    """One error of one agent is that agent's; several, or one beside what went well, are told together."""
    errors = [*filter(None, (plan.error for plan in plans)), *filter(None, (result.error for result in results))]
    if errors and len(plans) == 1:
        raise errors[0]
    if errors:
        raise PartlyDone("\n".join(map(str, errors)))


def plan_lines(plan: AgentPlan, *, removing: bool = False) -> list[str]:
    """One agent: whose is what from now on, then every file and command."""
    if plan.error is not None or not plan.changed:
        return []
    marks = {
        "stays": say("stays ", "保留"),
        "off": say("off   ", "关闭"),
        "read": say("read  ", "读取"),
        "ours": say("Nacre ", "Nacre"),
    }
    owned = [] if removing else [f"  {marks[owned.whose]}  {owned.sentence}" for owned in plan.wanted.owned]
    diffs = [change.diff for change in plan.changes if change.changes]
    return [f"# {plan.title}", *owned, *diffs, *([f"$ {shlex.join(plan.command)}"] if plan.command else [])]


def outcome_notes(
    plans: Sequence[AgentPlan], results: Sequence[ConnectResult], *, dry_run: bool, removing: bool = False
) -> list[str]:
    fine = {result.agent for result in results if result.error is None}
    state, chinese = ("disconnected", "断开") if removing else ("connected", "连接")
    notes: list[str] = []
    for plan in plans:
        if plan.error is not None:
            continue
        title, same = plan.title, not plan.changed
        outcome = ui.first(
            (same and removing, f"{title} is not connected: nothing to do.", f"{title} 未连接，无需更改。"),
            (same and not plan.changes, f"{title}: nothing to do.", f"{title}：无需更改。"),
            (same, f"{title} is connected already: nothing to do.", f"{title} 已连接，无需更改。"),
            (dry_run, f"{title} would be {state}.", f"将{chinese} {title}。"),
            (plan.agent in fine, f"{title} is {state}.", f"{title} 已{chinese}。"),
        )
        about = plan.wanted.notes if not removing and (plan.changed or not plan.changes) else ()
        notes += [outcome, *(f"  {sentence}" for sentence in about)]
        for path, name in plan.left:
            what, where = name or path.name, ui.shown_path(path)
            english = f"  {what} in {where} was changed by hand and stays; take it out yourself if you want it gone."
            notes.append(say(english, f"  {where} 中的 {what} 被手动修改过，予以保留；如需删除请自行处理。"))
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
                "owned": [{"whose": owned.whose, "what": owned.sentence} for owned in plan.wanted.owned],
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
        snippets = [(str(target.path), apply_edits("", target.form, target.edits)[0]) for target in wanted.targets]
        files = [{"path": path, "snippet": snippet} for path, snippet in snippets]
        command = list(wanted.register)
        rows.append({"agent": agent.name, "files": files, "command": command, "notes": list(wanted.notes)})
        lines += [f"# {agent.title}", *(f"## {ui.shown_path(file['path'])}\n{file['snippet']}" for file in files)]
        lines += [*([f"$ {shlex.join(command)}\n"] if command else []), *map(Note, wanted.notes)]
    return Report({"agents": rows}, lines=lines)


def _list_agents(machine: Machine) -> Report:
    states = agent_states(all_agents(), machine, state_folder())
    rows = []
    for state in states:
        connection = state.connection
        missing, unread = (", ".join(map(ui.shown_path, paths)) for paths in (state.missing, state.unreadable))
        how = say("found", "已找到") if state.here else say("not here", "未找到")
        how = say("connected", "已连接") if connection else how
        program = connection.program[0] if connection and not state.starts else ""
        where = ui.every(
            (missing, f"  (not in {missing} any more)", f"（已不在 {missing} 中）"),
            (unread, f"  ({unread} cannot be read)", f"（无法读取 {unread}）"),
            (program, f"  ({program} is gone)", f"（{program} 已不存在）"),
        )
        place = ui.shown_path(connection.workspace) if connection else ""
        rows.append((state.agent.name, how, "".join([place, *where])))
    return Report([state.as_plain() for state in states], lines=rows)
