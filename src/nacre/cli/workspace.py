"""nacre init, trust, pause, resume: a workspace, whether it is read, and whether anything is captured."""

from __future__ import annotations

import datetime as dt
from dataclasses import asdict, replace
from pathlib import Path

import click

from nacre.cli import ui
from nacre.errors import BadInput, NoWorkspace
from nacre.i18n import say
from nacre.model.report import Report


@ui.command("nacre init ~/.nacre/workspace", dry_run=True)
@click.argument("path", type=click.Path(path_type=Path), required=False)
def init(options: ui.Options, path: Path | None) -> Report:
    """Make a workspace, or complete one: folders, MEMORY.md, rules for agents in AGENTS.md.

    What is already there stays as it is. Without PATH: the place that commands without --workspace look at.
    """
    ui.owner_only(options)
    from nacre.memory import Memory, default_place, plan_init

    root = Path(path or options.workspace or default_place()).expanduser().absolute()
    planned = plan_init(root).plan.steps
    if not options.dry_run:
        Memory.init(root, now=options.now)
    shown = ui.shown_path(root)
    notes = ui.every(
        (not planned, f"{shown} is complete already.", f"{shown} 已经完备。"),
        (planned and not options.dry_run, f"The workspace is {shown}.", f"工作区位于 {shown}。"),
    )
    verbs = {"create": say("create", "新建")}
    steps = [replace(step, action=verbs.get(step.action, say("change", "修改")), detail="") for step in planned]
    facts = {"workspace": str(root), "steps": [asdict(step) for step in planned], "dryRun": options.dry_run}
    return Report(facts, lines=ui.step_rows(steps, {}), notes=notes)


@ui.command("nacre trust ~/work/shop-api")
@click.argument("path", type=click.Path(path_type=Path), default=".")
@click.option("--remove", is_flag=True, help="Trust it no longer.")
@click.option("--list", "listing", is_flag=True, help="List the places that are trusted.")
def trust(options: ui.Options, path: Path, *, remove: bool, listing: bool) -> Report:
    """Trust a workspace, so that commands run below it find it.

    A cloned repository may hold a .nacre folder: until you say so here, it is neither read nor written.
    """
    ui.owner_only(options)
    from nacre.vault import discover

    if listing:
        trusted = list(discover.trusted_workspaces())
        return Report(trusted, lines=trusted)
    place = Path(options.workspace or path).expanduser().absolute()
    if not remove and not discover.is_workspace(place):
        raise NoWorkspace(
            f'There is no workspace at {place}. Make one with "nacre init {place}".',
            f"{place} 没有工作区。可用“nacre init {place}”创建。",
        )
    discover.trust_workspace(place, trust=not remove)
    shown = ui.shown_path(place)
    outcome = ui.first(
        (remove, f"{shown} is trusted no longer.", f"已不再信任 {shown}。"),
        (True, f"{shown} is trusted now.", f"已信任 {shown}。"),
    )
    return Report(notes=[outcome])


@ui.command("nacre pause 2h", dry_run=True)
@click.argument("length", required=False)
def pause(options: ui.Options, length: str | None) -> Report:
    """Capture nothing from now on, for LENGTH (2h, 1d) or until "nacre resume".

    What is said meanwhile is never captured, also not later. Where several agents have workspaces, it holds for all of them.
    """
    from nacre.clock import duration

    span = duration(length) if length is not None else None
    if length is not None and not span:
        raise BadInput(f'"{length}" is no time at all; write it as 2h or 1d.', f"“{length}”时长为零；请写成 2h 或 1d。")
    end: dt.datetime | None = None
    for memory in ui.open_all(options):
        end = memory.clock.now() + span if span else None
        if not options.dry_run:
            memory.pause(span)
    until = f"{end:%Y-%m-%d %H:%M}" if end else '"nacre resume"'
    outcome = ui.first(
        (options.dry_run, f"Capture would be paused until {until}.", f"将暂停采集，直到 {until}。"),
        (True, f"Capture is paused until {until}.", f"采集已暂停，直到 {until}。"),
    )
    facts = {"paused": not options.dry_run, "until": end.isoformat(timespec="minutes") if end else None}
    return Report({**facts, "dryRun": options.dry_run}, notes=[outcome])


@ui.command("nacre resume", dry_run=True)
def resume(options: ui.Options) -> Report:
    """Capture again. What was said during the pause stays out of memory."""
    was = False
    for memory in ui.open_all(options):
        was = memory.paused() or was
        if not options.dry_run:
            memory.resume()
    outcome = ui.first(
        (not was, "Capture was not paused.", "采集并未暂停。"),
        (options.dry_run, "Capture would go on.", "将恢复采集。"),
        (True, "Capture goes on.", "采集已恢复。"),
    )
    facts = {"paused": options.dry_run and was, "was": was, "dryRun": options.dry_run}
    return Report(facts, notes=[outcome])
