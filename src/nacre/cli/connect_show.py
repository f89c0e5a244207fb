"""What nacre connect shows: whose is what, diffs, commands, snippets for doing it by hand, and which agents are connected."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nacre.cli.base import note, print_json, shown_path, table
from nacre.words import say

if TYPE_CHECKING:
    from nacre.connect.agent import Agent, Wishes
    from nacre.connect.call import Call
    from nacre.connect.carry import Carried
    from nacre.connect.plan import AgentPlan
    from nacre.connect.workspace import RulesPlan
    from nacre.jobs.service.common import Machine


@contextmanager
def as_far_as_read() -> Iterator[None]:
    """Show as much as is wanted: who looks only at the beginning (head, less) does not keep the work from being done."""
    try:
        yield
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def show(plan: AgentPlan, *, removing: bool = False) -> None:
    """One agent: whose is what from now on, then every file and command."""
    if plan.trouble is not None or not plan.changed:
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


def told(plans: Sequence[AgentPlan], carried: Sequence[Carried], *, dry_run: bool, removing: bool = False) -> None:
    """What came of it, a sentence for each agent."""
    fine = {one.agent for one in carried if one.trouble is None}
    for plan in plans:
        if plan.trouble is not None:
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
                say(
                    f"  {name or path.name} in {shown_path(path)} was changed by hand and stays; take it out yourself if you want it gone.",
                    f"  {shown_path(path)} 中的 {name or path.name} 被手动修改过，予以保留；如需删除请自行处理。",
                )
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


def print_snippets(agents: Sequence[Agent], machine: Machine, call: Call, wishes: Wishes, *, as_json: bool) -> None:
    """For each file of each agent what is to stand in it."""
    from nacre.connect.edits import carried_out

    found: list[dict[str, Any]] = []
    for agent in agents:
        wanted = agent.wanted(machine, call, wishes)
        files = [{"path": str(one.path), "snippet": carried_out("", one.form, one.edits)[0]} for one in wanted.targets]
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
    from nacre.connect.registry import known
    from nacre.connect.standing import standings

    found = standings(known(), machine, state)
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
    carried: Sequence[Carried],
    *,
    dry_run: bool,
    rules: RulesPlan | None = None,
    settings: Sequence[str] = (),
) -> dict[str, Any]:
    went = {one.agent: one for one in carried}
    listed: list[dict[str, Any]] = []
    for plan in plans:
        done = went.get(plan.agent)
        trouble = plan.trouble or (done.trouble if done else None)
        listed.append(
            {
                "agent": plan.agent,
                "changed": plan.changed and not dry_run and done is not None and done.trouble is None,
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
