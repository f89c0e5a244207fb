"""nacre history, diff, undo: what was changed, and taking it back."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from nacre.cli.base import Command, Invocation, dry_run_option, json_option, note, open_memory, print_json, table
from nacre.errors import BadInput, ChangedOutside, NotFound
from nacre.i18n import say

if TYPE_CHECKING:
    from nacre.model.workspace import Workspace


@click.command(cls=Command, epilog="Example:  nacre history -n 5")
@click.option("-n", "--limit", type=click.IntRange(1), default=20, show_default=True, help="How many, newest first.")
@json_option
@click.pass_obj
def history(invocation: Invocation, limit: int, *, as_json: bool) -> None:
    """List what Nacre changed, newest first. "nacre diff N" shows one, "nacre undo N" takes one back."""
    from nacre.vault.history import read_history as read

    past = read(open_memory(invocation).workspace)
    newest = past.operations[::-1][:limit]
    if as_json:
        print_json([{**one._asdict(), "changes": [change._asdict() for change in one.changes]} for one in newest])
        return
    for problem in past.problems:
        note(problem.message)
    rows = [
        (
            str(one.id),
            one.at[:19],
            one.command,
            _state(one.state),
            ", ".join(dict.fromkeys(c.path for c in one.changes)),
        )
        for one in newest
    ]
    if not rows:
        note("Nothing has been changed yet.", "还没有任何变更。")
    table(rows, ("#", say("when", "时间"), say("command", "命令"), say("state", "状态"), say("files", "文件")))


@click.command(cls=Command, epilog="Example:  nacre diff 12")
@click.argument("number", type=int, required=False)
@json_option
@click.pass_obj
def diff(invocation: Invocation, number: int | None, *, as_json: bool) -> None:
    """Show one change of the history, the last when none is named."""
    from nacre.vault.history import diff_operation as difference
    from nacre.vault.history import read_history as read

    workspace = open_memory(invocation).workspace
    if number is None:
        operations = read(workspace).operations
        if not operations:
            raise NotFound("Nothing has been changed yet.", "还没有任何变更。")
        number = operations[-1].id
    text = difference(workspace, number)
    if as_json:
        print_json({"operation": number, "diff": text})
    else:
        click.echo(text, nl=not text.endswith("\n"))


@click.command(cls=Command, epilog="Example:  nacre undo 12 --dry-run")
@click.argument("number", type=click.IntRange(1), required=False)
@click.option("--last", type=click.IntRange(1), metavar="COUNT", help="Undo the last COUNT operations, after a yes.")
@click.option("--only", type=click.IntRange(1), metavar="NUMBER", help="The same as NUMBER.")
@click.option("--yes", is_flag=True, help="Do not ask before --last.")
@dry_run_option
@json_option
@click.pass_obj
def undo(
    invocation: Invocation,
    number: int | None,
    last: int | None,
    only: int | None,
    *,
    yes: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Take one operation back: NUMBER as "nacre history" shows it, or the last that is neither an undo nor undone. An undo is an
    operation too: its own number takes it back.

    What you changed yourself since then is kept; where both touch the same lines, nothing is done (exit code 12).
    """
    if sum(given is not None for given in (number, only, last)) > 1:
        raise BadInput("Give either a number or --last, not both.", "编号与 --last 只能给出一个。")
    memory, number = open_memory(invocation), only if number is None else number
    if last is not None and last > 1 and not dry_run and not yes:
        planned = memory.undo(last=last, dry_run=True)
        if len(planned.undoes) > 1 and planned.resumes is None:
            _ask(memory.workspace, planned.undoes)
            if memory.undo(last=last, dry_run=True).undoes != planned.undoes:
                raise ChangedOutside(
                    "History went on while you were asked, so nothing was undone. Run the command again.",
                    "询问期间又有新的操作，因此未撤销任何内容。请重新运行命令。",
                )
    made = memory.undo(number, last=last or 1, dry_run=dry_run)
    if as_json:
        print_json({"undoes": made.undoes, "steps": [asdict(step) for step in made.plan.steps], "dryRun": dry_run})
        return
    for step in made.plan.steps:
        click.echo("\t".join(part for part in (_verb(step.action), step.path, step.reason, _size(step.detail)) if part))
    if made.resumes is not None:
        note(
            f"Operation {made.resumes}, an undo that had been stopped, is now complete.",
            f"之前中断的撤销（操作 {made.resumes}）现已完成。",
        )
    elif not made.plan:
        note("There was nothing to take back.", "没有需要撤销的内容。")
    elif last is not None and len(made.undoes) < last:
        note(f"There were only {len(made.undoes)} to take back.", f"可撤销的只有 {len(made.undoes)} 步。")


def _ask(workspace: Workspace, numbers: Sequence[int]) -> None:
    from nacre.vault.history import read_history as read

    past = read(workspace)
    for one in map(past.find, numbers):
        note(f"{one.id}  {one.at[:19]}  {one.command}")
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise BadInput(
            "Nobody can be asked here, so nothing was undone; --yes does it without asking, --dry-run only shows it.",
            "此处无法询问，因此未撤销任何内容；--yes 不经询问直接执行，--dry-run 仅作显示。",
        )
    question = say(f"Undo these {len(numbers)} operations?", f"撤销以上 {len(numbers)} 个操作吗？")
    if not click.confirm(question, err=True):
        raise click.exceptions.Exit(1)


def _state(state: str) -> str:
    return {
        "done": say("done", "已完成"),
        "partly done": say("partly done", "部分完成"),
        "not carried out": say("not carried out", "未执行"),
        "undone": say("undone", "已撤销"),
    }.get(state, state)


def _verb(action: str) -> str:
    return {
        "remove": say("remove", "移除"),
        "bring back": say("bring back", "找回"),
        "cut": say("cut", "截去"),
        "restore": say("restore", "恢复"),
        "move back": say("move back", "移回"),
    }.get(action, action)


def _size(detail: str) -> str:
    return detail.removesuffix(" bytes") + say(" bytes", " 字节") if detail.endswith(" bytes") else detail
