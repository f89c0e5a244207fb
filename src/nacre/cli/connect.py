"""nacre connect: agents use this memory by themselves, or do not any more."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nacre.cli.base import Command, Invocation, dry_run_option, json_option, note, open_memory, owner_only, print_json
from nacre.cli.connect_show import as_far_as_read, as_plain, list_agents, print_snippets, show, show_rules, told
from nacre.errors import BadInput, NacreError, NoWorkspace, PartlyDone
from nacre.words import language, say

if TYPE_CHECKING:
    from nacre.connect.agent import Agent, Wishes
    from nacre.connect.call import Call
    from nacre.connect.carry import Carried
    from nacre.connect.plan import AgentPlan
    from nacre.jobs.service.common import Machine
    from nacre.memory import Memory


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
        raise BadInput(say("Give one of --remove, --print and --list.", "--remove、--print 和 --list 只能用一个。"))
    owner_only(invocation)
    from nacre.connect.record import load, state_folder
    from nacre.connect.registry import known, named
    from nacre.jobs.service.common import this_machine

    machine, state = this_machine(), state_folder()
    if listing:
        list_agents(machine, state, as_json=as_json)
        return
    chosen = tuple(dict.fromkeys(map(named, agents)))
    if remove:
        connected = load(state)
        chosen = chosen or tuple(one for one in known() if one.name in connected)
        _Removing(machine, state, chosen, dry_run=dry_run, as_json=as_json).go(yes=yes, named=bool(agents))
        return
    memory = _opened(invocation)
    chosen = chosen or tuple(one for one in known() if by_hand or one.is_here(machine))
    if not chosen:
        raise BadInput(
            say(
                "No agent that Nacre knows was found on this machine; name one: nacre connect claude-code.",
                "本机没有找到 Nacre 认识的代理；请指定一个：nacre connect claude-code。",
            )
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
            say(
                f'{trouble} Or run "nacre up", which makes one and connects your agents.',
                f"{trouble}也可运行“nacre up”，一并创建并连接您的代理。",
            )
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
        from nacre.connect.agent import Wishes
        from nacre.connect.call import call_for

        spoken = memory.config.language if memory.config.language in ("en", "zh") else language()
        self.memory = memory
        self.machine = machine
        self.state = state
        self.agents = agents
        self.dry_run = dry_run
        self.as_json = as_json
        self.wishes: Wishes = Wishes(rules=rules, language=spoken)
        self.call: Call = call_for(memory.workspace, memory.config, machine.home)

    def go(self, *, yes: bool, keep_own: bool, jobs: bool | None) -> None:
        from nacre.connect import carry, plan, workspace

        plans = [self._planned(agent, keep_own=keep_own, yes=yes) for agent in self.agents]
        ready = plan.only_changed(plans)
        # The plugin tells OpenClaw the rules itself: for it alone they need not stand in AGENTS.md too.
        by_plugin = all(one.agent == "openclaw" and one.wanted.register for one in plans)
        rules = None if by_plugin else workspace.plan(self.memory.workspace, self.wishes.language)
        taken = self._settings(plans, dry_run=True)
        if not self.as_json:
            with as_far_as_read():
                for one in plans:
                    show(one)
                show_rules(rules)
                for sentence in taken:
                    click.echo(sentence)
        carried: list[Carried] = []
        if not self.dry_run and (ready or rules):
            _ask(yes=yes)
            if rules:
                workspace.apply(rules, self.memory.workspace, self.memory.clock, self.memory.config)
            at = self.memory.clock.now().isoformat(timespec="seconds")
            root = str(self.memory.workspace.root)
            carried = carry.connect(ready, self.machine, self.call, root, at, self.state)
            self._settings([one for one in ready if _went_well(one, carried)], dry_run=False)
        if self.as_json:
            print_json(as_plain(plans, carried, dry_run=self.dry_run, rules=rules, settings=taken))
        else:
            told(plans, carried, dry_run=self.dry_run)
        _raise(plans, carried)
        if ready and not self.dry_run and not self.as_json:
            from nacre.cli.up_running import offer_jobs

            offer_jobs(self.memory, jobs, yes=False)

    def _planned(self, agent: Agent, *, keep_own: bool, yes: bool) -> AgentPlan:
        """The plan; what the agent does that Nacre does too is asked for by itself, before the diff is shown."""
        from nacre.connect import plan, record

        known = record.load(self.state).get(agent.name)
        made = plan.connect(agent, self.machine, self.call, self.wishes, known, self.state)
        question = made.wanted.question
        if not question or keep_own or made.trouble is not None:
            return made
        asked = not yes and not self.dry_run and not self.as_json and _somebody_is_there()
        if yes or self.dry_run or (asked and click.confirm(question, default=True, err=True)):
            wishes = replace(self.wishes, switch_off=True)
            return plan.connect(agent, self.machine, self.call, wishes, known, self.state)
        return made

    def _settings(self, plans: list[AgentPlan], *, dry_run: bool) -> list[str]:
        """OpenClaw's settings for search, taken over as "nacre import openclaw" does; a sentence for each."""
        if not any(one.agent == "openclaw" and one.changed and one.trouble is None for one in plans):
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
        from nacre.connect import carry, plan, record
        from nacre.connect.call import Call, program

        known = record.load(self.state)
        call = Call(program())
        plans = [plan.disconnect(one, self.machine, call, known.get(one.name), self.state) for one in self.agents]
        # A connection of which nothing stands any more is still to be forgotten.
        ready = [one for one in plans if one.trouble is None and (one.changed or one.agent in known)]
        if not self.as_json:
            with as_far_as_read():
                for one in plans:
                    show(one, removing=True)
        carried: list[Carried] = []
        if not self.dry_run and ready:
            if plan.only_changed(plans):
                _ask(yes=yes, removing=True)
            carried = carry.disconnect(ready, self.machine, self.state)
        if self.as_json:
            print_json(as_plain(plans, carried, dry_run=self.dry_run))
        elif not plans and not named:
            note(say("No agent is connected.", "没有已连接的代理。"))
        else:
            told(plans, carried, dry_run=self.dry_run, removing=True)
        _raise(plans, carried)


def _went_well(plan: AgentPlan, carried: list[Carried]) -> bool:
    return any(one.agent == plan.agent and one.trouble is None for one in carried)


def _somebody_is_there() -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def _ask(*, yes: bool, removing: bool = False) -> None:
    if yes:
        return
    if not _somebody_is_there():
        raise BadInput(
            say(
                "Nobody can be asked here, so nothing was written; --yes does it without asking, --dry-run only shows it.",
                "此处无法询问，因此未写入任何内容；--yes 不经询问直接执行，--dry-run 仅作显示。",
            )
        )
    question = say("Take this back?", "是否撤回？") if removing else say("Write this?", "是否写入？")
    if not click.confirm(question, default=True, err=True):
        raise click.exceptions.Exit(1)


def _raise(plans: list[AgentPlan], carried: list[Carried]) -> None:
    """One trouble of one agent is that agent's; several, or one beside what went well, are told together."""
    told_of = [*(one.trouble for one in plans), *(one.trouble for one in carried)]
    troubles = [one for one in told_of if one is not None]
    if not troubles:
        return
    if len(plans) == 1:
        raise troubles[0]
    raise PartlyDone("\n".join(map(str, troubles)))
