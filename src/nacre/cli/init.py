"""nacre init: make a workspace."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from nacre.cli.base import Command, Invocation, dry_run_option, json_option, note, owner_only, print_json, shown_path
from nacre.words import language, say


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
    made = create.plan(root, language=language())
    if not dry_run:
        Memory.init(root, now=invocation.now)
    if as_json:
        print_json({"workspace": str(root), "steps": [asdict(step) for step in made.plan.steps], "dryRun": dry_run})
        return
    for step in made.plan.steps:
        verb = say("create", "新建") if step.action == "create" else say("change", "修改")
        click.echo(f"{verb}\t{step.path}\t{step.reason}")
    if not made.plan:
        note(say(f"{shown_path(root)} is complete already.", f"{shown_path(root)} 已经完备。"))
    elif not dry_run:
        note(say(f"The workspace is {shown_path(root)}.", f"工作区位于 {shown_path(root)}。"))
