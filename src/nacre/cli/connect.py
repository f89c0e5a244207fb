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

if TYPE_CHECKING:
    from nacre.agents.connection import AgentPlan, ConnectResult, RulesPlan
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
    invocation: ui.Invocation,
    agents: tuple[str, ...],
    *,
    remove: bool,
    by_hand: bool,
    listing: bool,
    rules: bool,
    keep_own: bool,
    jobs: bool | None,
    yes: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Let agents use this memory by themselves: MCP server, hooks or plugin, written into their settings. Without a name: all that are here.

    Shows a diff of every file first, writes after your yes, keeps a copy, touches no other byte, and changes nothing when run again. A file
    that is read-only or cannot be understood is left alone. It says which of the agent's own ways of remembering stay, are read, or are
    switched off, so that nothing is remembered twice. --remove takes back exactly what was written.
    """
    if sum((remove, by_hand, listing)) > 1:
        raise BadInput("Give one of --remove, --print and --list.", "--remove、--print 和 --list 只能用一个。")
    ui.owner_only(invocation)
    from nacre.agents import registry
    from nacre.jobs.installer import this_machine

    machine = this_machine()
    if listing:
        _list_agents(machine, as_json=as_json)
        return
    chosen = tuple(dict.fromkeys(map(registry.agent_named, agents)))
    if remove:
        _disconnect(machine, chosen, yes=yes, dry_run=dry_run, as_json=as_json)
        return
    try:
        memory = ui.open_memory(invocation)
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
    options = registry.ConnectOptions(rules=rules, language=spoken)
    call = registry.call_for_workspace(memory, machine.home)
    if by_hand:
        _print_snippets(chosen, machine, call, options, as_json=as_json)
        return
    plans = _plan_connections(
        chosen, machine, call, options, keep_own=keep_own, yes=yes, dry_run=dry_run, as_json=as_json
    )
    changed = _connect(memory, plans, machine, call, spoken, yes=yes, dry_run=dry_run, as_json=as_json)
    if changed and not dry_run and not as_json:
        from nacre.cli.up import offer_jobs

        offer_jobs(memory, jobs, yes=False)


def _plan_connections(
    agents: Sequence[Agent],
    machine: Machine,
    call: Call,
    options: ConnectOptions,
    *,
    keep_own: bool,
    yes: bool,
    dry_run: bool,
    as_json: bool,
) -> list[AgentPlan]:
    """A plan for each agent; what the agent does that Nacre does too is asked for by itself, before the diff is shown."""
    from nacre.agents import connection

    state, plans = connection.state_folder(), []
    for agent in agents:
        plan = connection.plan_connect(agent, machine, call, options, state)
        question = plan.wanted.question
        if question and not keep_own and plan.error is None:
            asks = not (yes or dry_run or as_json) and ui.is_interactive()
            if yes or dry_run or (asks and click.confirm(question, default=True, err=True)):
                switched = replace(options, switch_off=True)
                plan = connection.plan_connect(agent, machine, call, switched, state)
        plans.append(plan)
    return plans


def _connect(
    memory: Memory,
    plans: list[AgentPlan],
    machine: Machine,
    call: Call,
    spoken: str,
    *,
    yes: bool,
    dry_run: bool,
    as_json: bool,
) -> bool:
    """Show the plans and carry them out; whether any changes something."""
    from nacre.agents import connection

    ready = connection.changed_plans(plans)
    # The plugin tells OpenClaw the rules itself: for it alone they need not stand in AGENTS.md too.
    by_plugin = all(plan.agent == "openclaw" and plan.wanted.register for plan in plans)
    rules = None if by_plugin else connection.plan_rules(memory.workspace, spoken)
    settings = _take_over_settings(memory, plans, dry_run=True)
    if not as_json:
        with ui.until_reader_leaves():
            for plan in plans:
                show_plan(plan)
            if rules:
                click.echo(f"# {say('The workspace', '工作区')}\n{rules.diff}")
            for sentence in settings:
                click.echo(sentence)
    carried: list[ConnectResult] = []
    if not dry_run and (ready or rules):
        _confirm(say("Write this?", "是否写入？"), yes=yes)
        if rules:
            connection.apply_rules(rules, memory)
        at, root = memory.clock.now().isoformat(timespec="seconds"), str(memory.workspace.root)
        carried = connection.apply_connect(ready, machine, call, root, at, connection.state_folder())
        fine = {result.agent for result in carried if result.error is None}
        _take_over_settings(memory, [plan for plan in ready if plan.agent in fine], dry_run=False)
    if as_json:
        ui.print_json(connections_json(plans, carried, dry_run=dry_run, rules=rules, settings=settings))
    else:
        show_outcome(plans, carried, dry_run=dry_run)
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


def _disconnect(machine: Machine, agents: tuple[Agent, ...], *, yes: bool, dry_run: bool, as_json: bool) -> None:
    """From what was written to what was there before; needs no workspace."""
    from nacre.agents import connection
    from nacre.agents.registry import Call, all_agents, own_program

    state = connection.state_folder()
    known, call = connection.load_connections(state), Call(own_program())
    chosen = agents or tuple(agent for agent in all_agents() if agent.name in known)
    plans = [connection.plan_disconnect(agent, machine, call, state) for agent in chosen]
    # A connection of which nothing stands any more is still to be forgotten.
    ready = [plan for plan in plans if plan.error is None and (plan.changed or plan.agent in known)]
    if not as_json:
        with ui.until_reader_leaves():
            for plan in plans:
                show_plan(plan, removing=True)
    carried: list[ConnectResult] = []
    if not dry_run and ready:
        if connection.changed_plans(plans):
            _confirm(say("Take this back?", "是否撤回？"), yes=yes)
        carried = connection.apply_disconnect(ready, machine, state)
    if as_json:
        ui.print_json(connections_json(plans, carried, dry_run=dry_run))
    elif not plans:
        ui.note("No agent is connected.", "没有已连接的代理。")
    else:
        show_outcome(plans, carried, dry_run=dry_run, removing=True)
    _raise_errors(plans, carried)


def _confirm(question: str, *, yes: bool) -> None:
    if yes:
        return
    if not ui.is_interactive():
        raise BadInput(
            "Nobody can be asked here, so nothing was written; --yes does it without asking, --dry-run only shows it.",
            "此处无法询问，因此未写入任何内容；--yes 不经询问直接执行，--dry-run 仅作显示。",
        )
    if not click.confirm(question, default=True, err=True):
        raise click.exceptions.Exit(1)


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
    """What came of it, a sentence for each agent."""
    fine = {result.agent for result in carried if result.error is None}
    for plan in plans:
        if plan.error is not None:
            continue
        sentences = [_outcome(plan, done=plan.agent in fine, dry_run=dry_run, removing=removing)]
        if not removing and (plan.changed or not plan.changes):
            sentences += [f"  {sentence}" for sentence in plan.wanted.notes]
        for path, name in plan.left:
            what, where = name or path.name, ui.shown_path(path)
            english = f"  {what} in {where} was changed by hand and stays; take it out yourself if you want it gone."
            sentences.append(say(english, f"  {where} 中的 {what} 被手动修改过，予以保留；如需删除请自行处理。"))
        for sentence in filter(None, sentences):
            ui.note(sentence)
    for result in carried:
        for sentence in result.notes:
            ui.note(f"  {sentence}")


def _outcome(plan: AgentPlan, *, done: bool, dry_run: bool, removing: bool) -> str:
    title, same, adding = plan.title, not plan.changed, not removing
    return ui.first(
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


def connections_json(
    plans: Sequence[AgentPlan],
    carried: Sequence[ConnectResult],
    *,
    dry_run: bool,
    rules: RulesPlan | None = None,
    settings: Sequence[str] = (),
) -> dict[str, Any]:
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
    facts: dict[str, Any] = {"agents": rows, "dryRun": dry_run}
    if rules:
        facts["rules"] = {"path": str(rules.path), "diff": rules.diff}
    if settings:
        facts["settings"] = list(settings)
    return facts


def _print_snippets(
    agents: Sequence[Agent], machine: Machine, call: Call, options: ConnectOptions, *, as_json: bool
) -> None:
    """For each file of each agent what is to stand in it."""
    from nacre.agents.edits import apply_edits

    rows: list[dict[str, Any]] = []
    for agent in agents:
        wanted = agent.wanted(machine, call, options)
        files = [{"path": str(one.path), "snippet": apply_edits("", one.form, one.edits)[0]} for one in wanted.targets]
        command = list(wanted.register)
        rows.append({"agent": agent.name, "files": files, "command": command, "notes": list(wanted.notes)})
        if as_json:
            continue
        click.echo(f"# {agent.title}")
        for file in files:
            click.echo(f"## {ui.shown_path(file['path'])}\n{file['snippet']}")
        if command:
            click.echo(f"$ {shlex.join(command)}\n")
        for sentence in wanted.notes:
            ui.note(sentence)
    if as_json:
        ui.print_json({"agents": rows})


def _list_agents(machine: Machine, *, as_json: bool) -> None:
    from nacre.agents.connection import agent_states, state_folder
    from nacre.agents.registry import all_agents

    states = agent_states(all_agents(), machine, state_folder())
    if as_json:
        ui.print_json([state.as_plain() for state in states])
        return
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
        rows.append(
            (state.agent.name, how, "".join([ui.shown_path(connection.workspace) if connection else "", *where]))
        )
    ui.table(rows)
