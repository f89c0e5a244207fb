"""nacre connect: let agents use this memory by themselves, or take that back."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from nacre.cli import ui
from nacre.errors import BadInput, NacreError, NoWorkspace, PartlyDone
from nacre.i18n import language, say
from nacre.model.report import Note, Report

if TYPE_CHECKING:
    from nacre.agents.connection import AgentPlan, ConnectResult
    from nacre.agents.registry import Agent, Call, ConnectOptions
    from nacre.jobs.installer import Machine
    from nacre.memory import Memory


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
) -> Report | None:
    """Let agents use this memory by themselves: MCP server, hooks or plugin, written into their settings. Without a name: all that are here.

    Shows a diff of every file first, writes after your yes, keeps a copy, touches no other byte, and changes nothing when run again. A file
    that is read-only or cannot be understood is left alone. It says which of the agent's own ways of remembering stay, are read, or are
    switched off, so that nothing is remembered twice. --remove takes back exactly what was written.
    """
    if sum((remove, by_hand, listing)) > 1:
        raise BadInput("Give one of --remove, --print and --list.", "--remove、--print 和 --list 只能用一个。")
    ui.owner_only(options)
    from nacre.agents import connection, registry
    from nacre.jobs.installer import this_machine

    machine = this_machine()
    if listing:
        return _list_agents(machine)
    chosen = tuple(dict.fromkeys(map(registry.agent_named, agents)))
    if remove:
        _disconnect(options, machine, chosen, yes=yes)
        return None
    try:
        memory = ui.open_memory(options)
    except NoWorkspace as error:  # one command makes it and connects
        raise NoWorkspace(
            f'{error} Or run "nacre up", which makes one and connects your agents.',
            f"{error}也可运行“nacre up”，一并创建并连接您的代理。",
        ) from error
    chosen = chosen or tuple(agent for agent in registry.all_agents() if by_hand or agent.is_here(machine))
    if not chosen:
        raise BadInput(
            "No agent that Nacre knows was found on this machine; name one: nacre connect claude-code.",
            "本机没有找到 Nacre 认识的代理；请指定一个：nacre connect claude-code。",
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
    changed = _connect(options, memory, plans, machine, call, yes=yes)
    if changed and not options.dry_run and not options.as_json:
        from nacre.cli.up import offer_jobs

        offer_jobs(memory, jobs, yes=False)
    return None


def _connect(
    options: ui.Options, memory: Memory, plans: list[AgentPlan], machine: Machine, call: Call, *, yes: bool
) -> bool:
    """Show the plans and carry them out; whether any changes something."""
    from nacre.agents import connection

    ready = connection.changed_plans(plans)
    # The plugin tells OpenClaw the rules itself: for it alone they need not stand in AGENTS.md too.
    by_plugin = all(plan.agent == "openclaw" and plan.wanted.register for plan in plans)
    spoken = memory.config.language if memory.config.language in ("en", "zh") else language()
    rules = None if by_plugin else connection.plan_rules(memory.workspace, spoken)
    settings = _take_over_settings(memory, plans, dry_run=True)
    if not options.as_json:
        with ui.until_reader_leaves():
            for plan in plans:
                show_plan(plan)
            if rules:
                click.echo(f"# {say('The workspace', '工作区')}\n{rules.diff}")
            for sentence in settings:
                click.echo(sentence)
    carried: list[ConnectResult] = []
    if not options.dry_run and (ready or rules):
        ui.confirm(say("Write this?", "是否写入？"), *NOT_WRITTEN, yes=yes)
        if rules:
            connection.apply_rules(rules, memory)
        at, root = memory.clock.now().isoformat(timespec="seconds"), str(memory.workspace.root)
        carried = connection.apply_connect(ready, machine, call, root, at, connection.state_folder())
        fine = {result.agent for result in carried if result.error is None}
        _take_over_settings(memory, [plan for plan in ready if plan.agent in fine], dry_run=False)
    if options.as_json:
        facts = {"agents": agents_json(plans, carried, dry_run=options.dry_run), "dryRun": options.dry_run}
        facts |= {"rules": {"path": str(rules.path), "diff": rules.diff}} if rules else {}
        ui.print_json(facts | ({"settings": settings} if settings else {}))
    else:
        show_outcome(plans, carried, dry_run=options.dry_run)
    _raise_errors(plans, carried)
    return bool(ready)


def _take_over_settings(memory: Memory, plans: list[AgentPlan], *, dry_run: bool) -> list[str]:
    """OpenClaw's settings for search, taken over as "nacre import openclaw" does; a sentence for each."""
    if not any(plan.agent == "openclaw" and plan.changed and plan.error is None for plan in plans):
        return []
    try:
        steps = memory.import_("openclaw", dry_run=dry_run).steps
    except NacreError:  # no settings, or none that can be read: there is nothing to take over
        return []
    return [
        say(
            f"Taken over from OpenClaw: {step.path}  ({step.reason})", f"从 OpenClaw 沿用：{step.path}（{step.reason}）"
        )
        for step in steps
        if step.action == "set"
    ]


def _disconnect(options: ui.Options, machine: Machine, agents: tuple[Agent, ...], *, yes: bool) -> None:
    """From what was written to what was there before; needs no workspace."""
    from nacre.agents import connection
    from nacre.agents.registry import Call, all_agents, own_program

    state = connection.state_folder()
    connected, call = connection.load_connections(state), Call(own_program())
    chosen = agents or tuple(agent for agent in all_agents() if agent.name in connected)
    plans = [connection.plan_disconnect(agent, machine, call, state) for agent in chosen]
    # A connection of which nothing stands any more is still to be forgotten.
    ready = [plan for plan in plans if plan.error is None and (plan.changed or plan.agent in connected)]
    if not options.as_json:
        with ui.until_reader_leaves():
            for plan in plans:
                show_plan(plan, removing=True)
    carried: list[ConnectResult] = []
    if not options.dry_run and ready:
        if connection.changed_plans(plans):
            ui.confirm(say("Take this back?", "是否撤回？"), *NOT_WRITTEN, yes=yes)
        carried = connection.apply_disconnect(ready, machine, state)
    if options.as_json:
        rows = agents_json(plans, carried, dry_run=options.dry_run)
        ui.print_json({"agents": rows, "dryRun": options.dry_run})
    elif not plans:
        ui.note("No agent is connected.", "没有已连接的代理。")
    else:
        show_outcome(plans, carried, dry_run=options.dry_run, removing=True)
    _raise_errors(plans, carried)


NOT_WRITTEN = (
    "Nobody can be asked here, so nothing was written; --yes does it without asking, --dry-run only shows it.",
    "此处无法询问，因此未写入任何内容；--yes 不经询问直接执行，--dry-run 仅作显示。",
)


def _raise_errors(plans: Sequence[AgentPlan], carried: Sequence[ConnectResult]) -> None:
    """One error of one agent is that agent's; several, or one beside what went well, are told together."""
    errors = [*filter(None, (plan.error for plan in plans)), *filter(None, (result.error for result in carried))]
    if errors and len(plans) == 1:
        raise errors[0]
    if errors:
        raise PartlyDone("\n".join(map(str, errors)))


def show_plan(plan: AgentPlan, *, removing: bool = False) -> None:
    """One agent: whose is what from now on, then every file and command."""
    if plan.error is not None or not plan.changed:
        return
    click.echo(f"# {plan.title}")
    marks = {
        "stays": say("stays ", "保留"),
        "off": say("off   ", "关闭"),
        "read": say("read  ", "读取"),
        "ours": say("Nacre ", "Nacre"),
    }
    for owned in () if removing else plan.wanted.owned:
        click.echo(f"  {marks[owned.whose]}  {owned.sentence}")
    for change in plan.changes:
        if change.changes:
            click.echo(change.diff)
    if plan.command:
        click.echo(f"$ {shlex.join(plan.command)}")


def show_outcome(
    plans: Sequence[AgentPlan], carried: Sequence[ConnectResult], *, dry_run: bool, removing: bool = False
) -> None:
    fine = {result.agent for result in carried if result.error is None}
    for plan in plans:
        if plan.error is not None:
            continue
        title, same, adding, done = plan.title, not plan.changed, not removing, plan.agent in fine
        outcome = ui.first(
            (same and removing, f"{title} is not connected: nothing to do.", f"{title} 未连接，无需更改。"),
            (same and not plan.changes, f"{title}: nothing to do.", f"{title}：无需更改。"),
            (same, f"{title} is connected already: nothing to do.", f"{title} 已连接，无需更改。"),
            (dry_run and adding, f"{title} would be connected.", f"将连接 {title}。"),
            (dry_run, f"{title} would be disconnected.", f"将断开 {title}。"),
            (done and adding, f"{title} is connected.", f"{title} 已连接。"),
            (
                done and plan.left,
                f"{title} is disconnected; what you changed since was kept.",
                f"{title} 已断开；您之后的更改已保留。",
            ),
            (done, f"{title} is disconnected.", f"{title} 已断开。"),
        )
        if outcome:
            ui.note(outcome)
        for sentence in plan.wanted.notes if adding and (plan.changed or not plan.changes) else ():
            ui.note(f"  {sentence}")
        for path, name in plan.left:
            what, where = name or path.name, ui.shown_path(path)
            ui.note(
                f"  {what} in {where} was changed by hand and stays; take it out yourself if you want it gone.",
                f"  {where} 中的 {what} 被手动修改过，予以保留；如需删除请自行处理。",
            )
    for result in carried:
        for sentence in result.notes:
            ui.note(f"  {sentence}")


def agents_json(plans: Sequence[AgentPlan], carried: Sequence[ConnectResult], *, dry_run: bool) -> list[dict[str, Any]]:
    results = {result.agent: result for result in carried}
    rows: list[dict[str, Any]] = []
    for plan in plans:
        result = results.get(plan.agent)
        error = plan.error or (result.error if result else None)
        rows.append(
            {
                "agent": plan.agent,
                "changed": plan.changed and not dry_run and result is not None and result.error is None,
                "files": [{"path": str(one.path), "diff": one.diff} for one in plan.changes if one.changes],
                "command": list(plan.command),
                "owned": [{"whose": one.whose, "what": one.sentence} for one in plan.wanted.owned],
                "left": [{"path": str(path), "entry": name} for path, name in plan.left],
                "notes": [*plan.wanted.notes, *(result.notes if result else ())],
                "trouble": str(error) if error else None,
            }
        )
    return rows


def _snippets(agents: Sequence[Agent], machine: Machine, call: Call, how: ConnectOptions) -> Report:
    from nacre.agents.edits import apply_edits

    rows: list[dict[str, Any]] = []
    lines: list[str] = []
    for agent in agents:
        wanted = agent.wanted(machine, call, how)
        files = [{"path": str(one.path), "snippet": apply_edits("", one.form, one.edits)[0]} for one in wanted.targets]
        command = list(wanted.register)
        rows.append({"agent": agent.name, "files": files, "command": command, "notes": list(wanted.notes)})
        lines += [f"# {agent.title}", *(f"## {ui.shown_path(file['path'])}\n{file['snippet']}" for file in files)]
        lines += [*([f"$ {shlex.join(command)}\n"] if command else []), *map(Note, wanted.notes)]
    return Report({"agents": rows}, lines=lines)


def _list_agents(machine: Machine) -> Report:
    from nacre.agents.connection import agent_states, state_folder
    from nacre.agents.registry import all_agents

    states = agent_states(all_agents(), machine, state_folder())
    rows = []
    for state in states:
        connection = state.connection
        missing, unread = (", ".join(map(ui.shown_path, paths)) for paths in (state.missing, state.unreadable))
        how = ui.first(
            (connection, "connected", "已连接"), (state.here, "found", "已找到"), (True, "not here", "未找到")
        )
        program = connection.program[0] if connection and not state.starts else ""
        where = ui.every(
            (missing, f"  (not in {missing} any more)", f"（已不在 {missing} 中）"),
            (unread, f"  ({unread} cannot be read)", f"（无法读取 {unread}）"),
            (program, f"  ({program} is gone)", f"（{program} 已不存在）"),
        )
        place = ui.shown_path(connection.workspace) if connection else ""
        rows.append((state.agent.name, how, "".join([place, *where])))
    return Report([state.as_plain() for state in states], rows=rows)
