"""nacre connect: let agents use this memory by themselves, or take that back."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nacre.cli.base import (
    Command,
    Invocation,
    dry_run_option,
    json_option,
    note,
    open_memory,
    owner_only,
    print_json,
    shown_path,
    table,
)
from nacre.errors import BadInput, NacreError, NoWorkspace, PartlyDone
from nacre.i18n import language, say

if TYPE_CHECKING:
    from nacre.agents.connection import AgentPlan, ConnectResult, RulesPlan
    from nacre.agents.registry import Agent, Call, ConnectOptions
    from nacre.jobs.installer import Machine
    from nacre.memory import Memory


@contextmanager
def as_far_as_read() -> Iterator[None]:
    """Show as much as is wanted: who looks only at the beginning (head, less) does not keep the work from being done."""
    try:
        yield
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def show(plan: AgentPlan, *, removing: bool = False) -> None:
    """One agent: whose is what from now on, then every file and command."""
    if plan.error is not None or not plan.changed:
        return
    click.echo(f"# {plan.title}")
    if not removing:
        for one in plan.wanted.owned:
            click.echo(f"  {_mark(one.whose)}  {one.sentence}")
    for change in plan.changes:
        if change.changes:
            click.echo(change.diff)
    if plan.command:
        click.echo(f"$ {shlex.join(plan.command)}")


def _mark(whose: str) -> str:
    return {
        "stays": say("stays ", "保留"),
        "off": say("off   ", "关闭"),
        "read": say("read  ", "读取"),
        "ours": say("Nacre ", "Nacre"),
    }[whose]


def show_rules(rules: RulesPlan | None) -> None:
    if rules:
        click.echo(f"# {say('The workspace', '工作区')}\n{rules.diff}")


def told(
    plans: Sequence[AgentPlan], carried: Sequence[ConnectResult], *, dry_run: bool, removing: bool = False
) -> None:
    """What came of it, a sentence for each agent."""
    fine = {one.agent for one in carried if one.error is None}
    for plan in plans:
        if plan.error is not None:
            continue
        if not plan.changed:
            note(_nothing(plan, removing=removing))
        elif dry_run:
            note(
                say(f"{plan.title} would be disconnected.", f"将断开 {plan.title}。")
                if removing
                else say(f"{plan.title} would be connected.", f"将连接 {plan.title}。")
            )
        elif plan.agent in fine:
            note(_done(plan, removing=removing))
        if not removing and (plan.changed or not plan.changes):
            for sentence in plan.wanted.notes:
                note(f"  {sentence}")
        for path, name in plan.left:
            note(
                f"  {name or path.name} in {shown_path(path)} was changed by hand and stays; take it out yourself if you want it gone.",
                f"  {shown_path(path)} 中的 {name or path.name} 被手动修改过，予以保留；如需删除请自行处理。",
            )
    for one in carried:
        for sentence in one.notes:
            note(f"  {sentence}")


def _nothing(plan: AgentPlan, *, removing: bool) -> str:
    if removing:
        return say(f"{plan.title} is not connected: nothing to do.", f"{plan.title} 未连接，无需更改。")
    if not plan.changes:
        return say(f"{plan.title}: nothing to do.", f"{plan.title}：无需更改。")
    return say(f"{plan.title} is connected already: nothing to do.", f"{plan.title} 已连接，无需更改。")


def _done(plan: AgentPlan, *, removing: bool) -> str:
    if not removing:
        return say(f"{plan.title} is connected.", f"{plan.title} 已连接。")
    if plan.left:
        return say(
            f"{plan.title} is disconnected; what you changed since was kept.",
            f"{plan.title} 已断开；您之后的更改已保留。",
        )
    return say(f"{plan.title} is disconnected.", f"{plan.title} 已断开。")


def print_snippets(
    agents: Sequence[Agent], machine: Machine, call: Call, wishes: ConnectOptions, *, as_json: bool
) -> None:
    """For each file of each agent what is to stand in it."""
    from nacre.agents.edits import apply_edits

    found: list[dict[str, Any]] = []
    for agent in agents:
        wanted = agent.wanted(machine, call, wishes)
        files = [{"path": str(one.path), "snippet": apply_edits("", one.form, one.edits)[0]} for one in wanted.targets]
        command = list(wanted.register)
        found.append({"agent": agent.name, "files": files, "command": command, "notes": list(wanted.notes)})
        if as_json:
            continue
        click.echo(f"# {agent.title}")
        for file in files:
            click.echo(f"## {shown_path(Path(file['path']))}\n{file['snippet']}")
        if command:
            click.echo(f"$ {shlex.join(command)}\n")
        for sentence in wanted.notes:
            note(sentence)
    if as_json:
        print_json({"agents": found})


def list_agents(machine: Machine, state: Path, *, as_json: bool) -> None:
    from nacre.agents.connection import agent_states
    from nacre.agents.registry import all_agents

    found = agent_states(all_agents(), machine, state)
    if as_json:
        print_json([one.as_plain() for one in found])
        return
    rows = []
    for one in found:
        if one.connection:
            how = say("connected", "已连接")
            where = shown_path(Path(one.connection.workspace))
        else:
            how = say("found", "已找到") if one.here else say("not here", "未找到")
            where = ""
        trouble = ", ".join(map(shown_path, map(Path, one.missing)))
        if trouble:
            where += say(f"  (not in {trouble} any more)", f"（已不在 {trouble} 中）")
        if unread := ", ".join(map(shown_path, map(Path, one.unreadable))):
            where += say(f"  ({unread} cannot be read)", f"（无法读取 {unread}）")
        if one.connection and not one.starts:
            where += say(f"  ({one.connection.program[0]} is gone)", f"（{one.connection.program[0]} 已不存在）")
        rows.append((one.agent.name, how, where))
    table(rows)


def as_plain(
    plans: Sequence[AgentPlan],
    carried: Sequence[ConnectResult],
    *,
    dry_run: bool,
    rules: RulesPlan | None = None,
    settings: Sequence[str] = (),
) -> dict[str, Any]:
    went = {one.agent: one for one in carried}
    listed: list[dict[str, Any]] = []
    for plan in plans:
        done = went.get(plan.agent)
        trouble = plan.error or (done.error if done else None)
        listed.append(
            {
                "agent": plan.agent,
                "changed": plan.changed and not dry_run and done is not None and done.error is None,
                "files": [{"path": str(one.path), "diff": one.diff} for one in plan.changes if one.changes],
                "command": list(plan.command),
                "owned": [{"whose": one.whose, "what": one.sentence} for one in plan.wanted.owned],
                "left": [{"path": str(path), "entry": name} for path, name in plan.left],
                "notes": [*plan.wanted.notes, *(done.notes if done else ())],
                "trouble": str(trouble) if trouble else None,
            }
        )
    result: dict[str, Any] = {"agents": listed, "dryRun": dry_run}
    if rules:
        result["rules"] = {"path": str(rules.path), "diff": rules.diff}
    if settings:
        result["settings"] = list(settings)
    return result


# nacre connect: agents use this memory by themselves, or do not any more.


@click.command(cls=Command, epilog="Example:  nacre connect claude-code codex --dry-run")
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
@dry_run_option
@json_option
@click.pass_obj
def connect(
    invocation: Invocation,
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
    owner_only(invocation)
    from nacre.agents.connection import load_connections, state_folder
    from nacre.agents.registry import agent_named, all_agents
    from nacre.jobs.installer import this_machine

    machine, state = this_machine(), state_folder()
    if listing:
        list_agents(machine, state, as_json=as_json)
        return
    chosen = tuple(dict.fromkeys(map(agent_named, agents)))
    if remove:
        connected = load_connections(state)
        chosen = chosen or tuple(one for one in all_agents() if one.name in connected)
        _Removing(machine, state, chosen, dry_run=dry_run, as_json=as_json).go(yes=yes, named=bool(agents))
        return
    memory = _opened(invocation)
    chosen = chosen or tuple(one for one in all_agents() if by_hand or one.is_here(machine))
    if not chosen:
        raise BadInput(
            "No agent that Nacre knows was found on this machine; name one: nacre connect claude-code.",
            "本机没有找到 Nacre 认识的代理；请指定一个：nacre connect claude-code。",
        )
    connecting = _Connecting(memory, machine, state, chosen, rules=rules, dry_run=dry_run, as_json=as_json)
    if by_hand:
        print_snippets(chosen, machine, connecting.call, connecting.wishes, as_json=as_json)
        return
    connecting.go(yes=yes, keep_own=keep_own, jobs=jobs)


def _opened(invocation: Invocation) -> Memory:
    """The memory to connect to; where there is none yet, one command makes it and connects."""
    try:
        return open_memory(invocation)
    except NoWorkspace as trouble:
        raise NoWorkspace(
            f'{trouble} Or run "nacre up", which makes one and connects your agents.',
            f"{trouble}也可运行“nacre up”，一并创建并连接您的代理。",
        ) from trouble


class _Connecting:
    """From what is wanted to what was written."""

    def __init__(
        self,
        memory: Memory,
        machine: Machine,
        state: Path,
        agents: tuple[Agent, ...],
        *,
        rules: bool,
        dry_run: bool,
        as_json: bool,
    ) -> None:
        from nacre.agents.registry import ConnectOptions, call_for_workspace

        spoken = memory.config.language if memory.config.language in ("en", "zh") else language()
        self.memory = memory
        self.machine = machine
        self.state = state
        self.agents = agents
        self.dry_run = dry_run
        self.as_json = as_json
        self.wishes: ConnectOptions = ConnectOptions(rules=rules, language=spoken)
        self.call: Call = call_for_workspace(memory, machine.home)

    def go(self, *, yes: bool, keep_own: bool, jobs: bool | None) -> None:
        from nacre.agents import connection

        plans = [self._planned(agent, keep_own=keep_own, yes=yes) for agent in self.agents]
        ready = connection.changed_plans(plans)
        # The plugin tells OpenClaw the rules itself: for it alone they need not stand in AGENTS.md too.
        by_plugin = all(one.agent == "openclaw" and one.wanted.register for one in plans)
        rules = None if by_plugin else connection.plan_rules(self.memory.workspace, self.wishes.language)
        taken = self._settings(plans, dry_run=True)
        if not self.as_json:
            with as_far_as_read():
                for one in plans:
                    show(one)
                show_rules(rules)
                for sentence in taken:
                    click.echo(sentence)
        carried: list[ConnectResult] = []
        if not self.dry_run and (ready or rules):
            _ask(yes=yes)
            if rules:
                connection.apply_rules(rules, self.memory)
            at = self.memory.clock.now().isoformat(timespec="seconds")
            root = str(self.memory.workspace.root)
            carried = connection.apply_connect(ready, self.machine, self.call, root, at, self.state)
            self._settings([one for one in ready if _went_well(one, carried)], dry_run=False)
        if self.as_json:
            print_json(as_plain(plans, carried, dry_run=self.dry_run, rules=rules, settings=taken))
        else:
            told(plans, carried, dry_run=self.dry_run)
        _raise(plans, carried)
        if ready and not self.dry_run and not self.as_json:
            from nacre.cli.up import offer_jobs

            offer_jobs(self.memory, jobs, yes=False)

    def _planned(self, agent: Agent, *, keep_own: bool, yes: bool) -> AgentPlan:
        """The plan; what the agent does that Nacre does too is asked for by itself, before the diff is shown."""
        from nacre.agents import connection

        made = connection.plan_connect(agent, self.machine, self.call, self.wishes, self.state)
        question = made.wanted.question
        if not question or keep_own or made.error is not None:
            return made
        asked = not yes and not self.dry_run and not self.as_json and _somebody_is_there()
        if yes or self.dry_run or (asked and click.confirm(question, default=True, err=True)):
            wishes = replace(self.wishes, switch_off=True)
            return connection.plan_connect(agent, self.machine, self.call, wishes, self.state)
        return made

    def _settings(self, plans: list[AgentPlan], *, dry_run: bool) -> list[str]:
        """OpenClaw's settings for search, taken over as "nacre import openclaw" does; a sentence for each."""
        if not any(one.agent == "openclaw" and one.changed and one.error is None for one in plans):
            return []
        try:
            report = self.memory.import_("openclaw", dry_run=dry_run)
        except NacreError:  # no settings, or none that can be read: there is nothing to take over
            return []
        return [
            say(
                f"Taken over from OpenClaw: {one.path}  ({one.reason})", f"从 OpenClaw 沿用：{one.path}（{one.reason}）"
            )
            for one in report.steps
            if one.action == "set"
        ]


class _Removing:
    """From what was written to what was there before; needs no workspace."""

    def __init__(
        self, machine: Machine, state: Path, agents: tuple[Agent, ...], *, dry_run: bool, as_json: bool
    ) -> None:
        self.machine = machine
        self.state = state
        self.agents = agents
        self.dry_run = dry_run
        self.as_json = as_json

    def go(self, *, yes: bool, named: bool) -> None:
        from nacre.agents import connection
        from nacre.agents.registry import Call, own_program

        known = connection.load_connections(self.state)
        call = Call(own_program())
        plans = [connection.plan_disconnect(one, self.machine, call, self.state) for one in self.agents]
        # A connection of which nothing stands any more is still to be forgotten.
        ready = [one for one in plans if one.error is None and (one.changed or one.agent in known)]
        if not self.as_json:
            with as_far_as_read():
                for one in plans:
                    show(one, removing=True)
        carried: list[ConnectResult] = []
        if not self.dry_run and ready:
            if connection.changed_plans(plans):
                _ask(yes=yes, removing=True)
            carried = connection.apply_disconnect(ready, self.machine, self.state)
        if self.as_json:
            print_json(as_plain(plans, carried, dry_run=self.dry_run))
        elif not plans and not named:
            note("No agent is connected.", "没有已连接的代理。")
        else:
            told(plans, carried, dry_run=self.dry_run, removing=True)
        _raise(plans, carried)


def _went_well(plan: AgentPlan, carried: list[ConnectResult]) -> bool:
    return any(one.agent == plan.agent and one.error is None for one in carried)


def _somebody_is_there() -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def _ask(*, yes: bool, removing: bool = False) -> None:
    if yes:
        return
    if not _somebody_is_there():
        raise BadInput(
            "Nobody can be asked here, so nothing was written; --yes does it without asking, --dry-run only shows it.",
            "此处无法询问，因此未写入任何内容；--yes 不经询问直接执行，--dry-run 仅作显示。",
        )
    question = say("Take this back?", "是否撤回？") if removing else say("Write this?", "是否写入？")
    if not click.confirm(question, default=True, err=True):
        raise click.exceptions.Exit(1)


def _raise(plans: list[AgentPlan], carried: list[ConnectResult]) -> None:
    """One trouble of one agent is that agent's; several, or one beside what went well, are told together."""
    told_of = [*(one.error for one in plans), *(one.error for one in carried)]
    troubles = [one for one in told_of if one is not None]
    if not troubles:
        return
    if len(plans) == 1:
        raise troubles[0]
    raise PartlyDone("\n".join(map(str, troubles)))
