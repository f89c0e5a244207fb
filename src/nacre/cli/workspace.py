"""nacre init, trust, pause, resume: a workspace, whether it is read, and whether anything is captured."""

from __future__ import annotations

import datetime as dt
from dataclasses import asdict
from pathlib import Path

import click

from nacre.cli.base import (
    Command,
    Invocation,
    dry_run_option,
    json_option,
    note,
    open_all,
    owner_only,
    print_json,
    shown_path,
)
from nacre.errors import BadInput, NoWorkspace
from nacre.i18n import language, say


@click.command(cls=Command, epilog="Example:  nacre init ~/.nacre/workspace")
@click.argument("path", type=click.Path(path_type=Path), required=False)
@dry_run_option
@json_option
@click.pass_obj
def init(invocation: Invocation, path: Path | None, *, dry_run: bool, as_json: bool) -> None:
    """Make a workspace, or complete one: folders, MEMORY.md, rules for agents in AGENTS.md.

    What is already there stays as it is. Without PATH: the place that commands without --workspace look at.
    """
    owner_only(invocation)
    from nacre.memory import Memory, default_place
    from nacre.vault import create

    given = path or (Path(invocation.workspace) if invocation.workspace else default_place())
    root = given.expanduser().absolute()
    made = create.plan_init(root, language=language())
    if not dry_run:
        Memory.init(root, now=invocation.now)
    if as_json:
        print_json({"workspace": str(root), "steps": [asdict(step) for step in made.plan.steps], "dryRun": dry_run})
        return
    for step in made.plan.steps:
        verb = say("create", "新建") if step.action == "create" else say("change", "修改")
        click.echo(f"{verb}\t{step.path}\t{step.reason}")
    if not made.plan:
        note(f"{shown_path(root)} is complete already.", f"{shown_path(root)} 已经完备。")
    elif not dry_run:
        note(f"The workspace is {shown_path(root)}.", f"工作区位于 {shown_path(root)}。")


# nacre trust: let a workspace that was found by walking up be read and written.


@click.command(cls=Command, epilog="Example:  nacre trust ~/work/shop-api")
@click.argument("path", type=click.Path(path_type=Path), default=".")
@click.option("--remove", is_flag=True, help="Trust it no longer.")
@click.option("--list", "listing", is_flag=True, help="List the places that are trusted.")
@json_option
@click.pass_obj
def trust(invocation: Invocation, path: Path, *, remove: bool, listing: bool, as_json: bool) -> None:
    """Trust a workspace, so that commands run below it find it.

    A cloned repository may hold a .nacre folder: until you say so here, it is neither read nor written.
    """
    owner_only(invocation)
    from nacre.vault.discover import distrust_workspace, is_workspace, trusted_workspaces
    from nacre.vault.discover import trust_workspace as remember_trust

    place = Path(invocation.workspace or path).expanduser().absolute()
    if listing:
        if as_json:
            print_json(list(trusted_workspaces()))
        else:
            for one in trusted_workspaces():
                click.echo(one)
        return
    if remove:
        distrust_workspace(place)
        note(f"{shown_path(place)} is trusted no longer.", f"已不再信任 {shown_path(place)}。")
        return
    if not is_workspace(place):
        raise NoWorkspace(
            f'There is no workspace at {place}. Make one with "nacre init {place}".',
            f"{place} 没有工作区。可用“nacre init {place}”创建。",
        )
    remember_trust(place)
    note(f"{shown_path(place)} is trusted now.", f"已信任 {shown_path(place)}。")


# nacre pause, nacre resume: the user's word on whether anything is captured.


@click.command(cls=Command, epilog="Example:  nacre pause 2h")
@click.argument("length", required=False)
@dry_run_option
@json_option
@click.pass_obj
def pause(invocation: Invocation, length: str | None, *, dry_run: bool, as_json: bool) -> None:
    """Capture nothing from now on, for LENGTH (2h, 1d) or until "nacre resume".

    What is said meanwhile is never captured, also not later. Where several agents have workspaces, it holds for all of them.
    """
    from nacre.sources.consent import begin_pause

    span = _span(length) if length is not None else None
    end: dt.datetime | None = None
    for memory in open_all(invocation):
        now = memory.clock.now()
        try:
            end = now + span if span else None
        except OverflowError:  # longer than the calendar is
            end = None
        if not dry_run:
            begin_pause(memory.workspace, now, span)
    if as_json:
        until = end.isoformat(timespec="minutes") if end else None
        print_json({"paused": not dry_run, "until": until, "dryRun": dry_run})
        return
    told = f"{end:%Y-%m-%d %H:%M}" if end else '"nacre resume"'
    if dry_run:
        note(f"Capture would be paused until {told}.", f"将暂停采集，直到 {told}。")
    else:
        note(f"Capture is paused until {told}.", f"采集已暂停，直到 {told}。")


def _span(length: str) -> dt.timedelta:
    from nacre.clock import duration

    span = duration(length)
    if not span:
        raise BadInput(
            f'"{length}" is no time at all; write it as 2h or 1d, or leave it out to pause until "nacre resume".',
            f"“{length}”时长为零；请写成 2h 或 1d，或省略以暂停到运行“nacre resume”为止。",
        )
    return span


@click.command(cls=Command, epilog="Example:  nacre resume")
@dry_run_option
@json_option
@click.pass_obj
def resume(invocation: Invocation, *, dry_run: bool, as_json: bool) -> None:
    """Capture again. What was said during the pause stays out of memory."""
    from nacre.sources.consent import end_pause, paused_at, pauses

    was = False
    for memory in open_all(invocation):
        now = memory.clock.now()
        was = paused_at(pauses(memory.workspace), now) is not None or was
        if not dry_run:
            end_pause(memory.workspace, now)
    if as_json:
        print_json({"paused": dry_run and was, "was": was, "dryRun": dry_run})
    elif not was:
        note("Capture was not paused.", "采集并未暂停。")
    elif dry_run:
        note("Capture would go on.", "将恢复采集。")
    else:
        note("Capture goes on.", "采集已恢复。")
