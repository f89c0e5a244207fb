"""nacre history, diff, undo: what was changed, and taking it back."""

from __future__ import annotations

from dataclasses import asdict

import click

from nacre.cli.base import Command, Invocation, dry_run_option, json_option, note, open_memory, print_json, table
from nacre.errors import NotFound
from nacre.words import say


@click.command(cls=Command, epilog="Example:  nacre history -n 5")
@click.option("-n", "--limit", type=click.IntRange(1), default=20, show_default=True, help="How many, newest first.")
@json_option
@click.pass_obj
def history(invocation: Invocation, limit: int, *, as_json: bool) -> None:
    """List what Nacre changed, newest first. "nacre diff N" shows one, "nacre undo" takes the last back."""
    from nacre.vault.history import history as read

    past = read(open_memory(invocation).workspace)
    newest = past.operations[::-1][:limit]
    if as_json:
        print_json([asdict(one) for one in newest])
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
        note(say("Nothing has been changed yet.", "还没有任何变更。"))
    table(rows, ("#", say("when", "时间"), say("command", "命令"), say("state", "状态"), say("files", "文件")))


@click.command(cls=Command, epilog="Example:  nacre diff 12")
@click.argument("number", type=int, required=False)
@json_option
@click.pass_obj
def diff(invocation: Invocation, number: int | None, *, as_json: bool) -> None:
    """Show one change of the history, the last when none is named."""
    from nacre.vault.history import diff as difference
    from nacre.vault.history import history as read

    workspace = open_memory(invocation).workspace
    if number is None:
        operations = read(workspace).operations
        if not operations:
            raise NotFound(say("Nothing has been changed yet.", "还没有任何变更。"))
        number = operations[-1].id
    text = difference(workspace, number)
    if as_json:
        print_json({"operation": number, "diff": text})
    else:
        click.echo(text, nl=not text.endswith("\n"))


@click.command(cls=Command, epilog="Example:  nacre undo 2 --dry-run")
@click.argument("count", type=click.IntRange(1), default=1)
@click.option("--only", type=int, metavar="NUMBER", help="Undo this one operation; also one that was itself an undo.")
@dry_run_option
@json_option
@click.pass_obj
def undo(invocation: Invocation, count: int, only: int | None, *, dry_run: bool, as_json: bool) -> None:
    """Take the last COUNT changes back. An undo is a change too: it can be undone with --only.

    What you changed yourself since then is kept; where both touch the same lines, nothing is done (exit code 12).
    """
    made = open_memory(invocation).undo(count, only=only, dry_run=dry_run)
    if as_json:
        print_json({"undoes": made.undoes, "steps": [asdict(step) for step in made.plan.steps], "dryRun": dry_run})
        return
    for step in made.plan.steps:
        click.echo("\t".join(part for part in (_verb(step.action), step.path, step.reason, _size(step.detail)) if part))
    if not made.plan:
        note(say("There was nothing to take back.", "没有需要撤销的内容。"))
    elif only is None and len(made.undoes) < count:
        note(say(f"There were only {len(made.undoes)} to take back.", f"可撤销的只有 {len(made.undoes)} 步。"))


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
