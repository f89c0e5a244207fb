"""nacre refresh: put the talk away, put the layers in order, and begin anew with what matters."""

from __future__ import annotations

import os

import click

from nacre.cli import promote as promoting
from nacre.cli.base import Command, Invocation, dry_run_option, json_option, note, open_memory, print_json
from nacre.daemon.answers import pack_as_plain
from nacre.errors import PartlyDone
from nacre.words import say


@click.command(cls=Command, epilog="Example:  nacre refresh")
@click.argument("session", required=False)
@click.option(
    "--apply", "carry_out", is_flag=True, help="Promote what is nominated, too; else only the report is written."
)
@click.option("--budget", type=click.IntRange(1), metavar="TOKENS", help="Most tokens of the context that is printed.")
@dry_run_option
@json_option
@click.pass_obj
def refresh(
    invocation: Invocation,
    session: str | None,
    *,
    carry_out: bool,
    budget: int | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Checkpoint the talk, organise the layers, promote, and print a fresh context.

    SESSION is the beginning of a session's id; without it the talk that went on last (or OPENCLAW_SESSION_ID). What is printed is
    what "nacre context" gives, ready for the first turn of the new session.
    """
    memory = open_memory(invocation)
    wanted = session or os.environ.get("OPENCLAW_SESSION_ID")
    done = memory.refresh(wanted, apply=carry_out, budget=budget, dry_run=dry_run)
    left = [problem.message for problem in (*done.organised.left, *done.promoted.left)]
    if as_json:
        print_json(
            {
                "checkpoint": done.checkpoint.path if done.checkpoint else None,
                "organised": [
                    {"action": step.action, "path": step.path, "to": step.detail, "reason": step.reason}
                    for step in done.organised.steps
                ],
                "promoted": promoting.as_plain(done.promoted, applied=carry_out and not dry_run, dry_run=dry_run),
                "context": pack_as_plain(done.context),
                "problems": left,
                "dryRun": dry_run,
            }
        )
    else:
        note(
            (
                say(f"Talk to be put away: {done.checkpoint.path}", f"对话将存入：{done.checkpoint.path}")
                if dry_run
                else say(f"Talk put away: {done.checkpoint.path}", f"对话已存入：{done.checkpoint.path}")
            )
            if done.checkpoint
            else done.missing
        )
        for step in done.organised.steps:
            if step.action == "delete":
                note(say(f"Deleted: {step.path}, {step.reason}", f"已删除：{step.path}，{step.reason}"))
        steps, candidates = len(done.organised.steps), len(done.promoted.promoted)
        note(
            say(
                f"Layers: {steps} changes. Nominated for promotion: {candidates} (promote_report.md).",
                f"分层：{steps} 处变动。晋升候选：{candidates} 个（promote_report.md）。",
            )
        )
        click.echo(done.context.text, nl=False)
    if left:
        raise PartlyDone(" ".join(left))
