"""nacre history, diff, undo: what was changed, and taking it back."""

from __future__ import annotations

from dataclasses import asdict, replace

import click

from nacre.cli import ui
from nacre.errors import BadInput, ChangedOutside, NotFound
from nacre.i18n import say
from nacre.memory import Memory
from nacre.model.report import Report


@ui.command("nacre history -n 5")
@click.option("-n", "--limit", type=click.IntRange(1), default=20, show_default=True, help="How many, newest first.")
def history(options: ui.Options, limit: int) -> Report:
    """List what Nacre changed, newest first. "nacre diff N" shows one, "nacre undo N" takes one back."""
    newest = ui.open_memory(options).history(limit).operations[::-1]
    states = {
        "done": say("done", "已完成"),
        "partly done": say("partly done", "部分完成"),
        "not carried out": say("not carried out", "未执行"),
        "undone": say("undone", "已撤销"),
    }
    rows = []
    for operation in newest:
        files = ", ".join(dict.fromkeys(change.path for change in operation.changes))
        state = states.get(operation.state, operation.state)
        rows.append((str(operation.id), operation.at[:19], operation.command, state, files))
    return Report(
        [{**entry._asdict(), "changes": [change._asdict() for change in entry.changes]} for entry in newest],
        lines=rows,
        columns=("#", say("when", "时间"), say("command", "命令"), say("state", "状态"), say("files", "文件")),
        notes=ui.every((not newest, "Nothing has been changed yet.", "还没有任何变更。")),
    )


@ui.command("nacre diff 12")
@click.argument("number", type=int, required=False)
def diff(options: ui.Options, number: int | None) -> Report:
    """Show one change of the history, the last when none is named."""
    memory = ui.open_memory(options)
    if number is None:
        operations = memory.history(1).operations
        if not operations:
            raise NotFound("Nothing has been changed yet.", "还没有任何变更。")
        number = operations[-1].id
    text = memory.diff(number)
    return Report({"operation": number, "diff": text}, lines=[text.removesuffix("\n")])


@ui.command("nacre undo 12 --dry-run", dry_run=True)
@click.argument("number", type=click.IntRange(1), required=False)
@click.option("--last", type=click.IntRange(1), metavar="COUNT", help="Undo the last COUNT operations, after a yes.")
@click.option("--only", type=click.IntRange(1), metavar="NUMBER", help="The same as NUMBER.")
@click.option("--yes", is_flag=True, help="Do not ask before --last.")
def undo(options: ui.Options, number: int | None, last: int | None, only: int | None, *, yes: bool) -> Report:
    """Take one operation back: NUMBER as "nacre history" shows it, or the last that is neither an undo nor undone. An undo is an
    operation too: its own number takes it back.

    What you changed yourself since then is kept; where both touch the same lines, nothing is done (exit code 12).
    """
    if sum(named is not None for named in (number, only, last)) > 1:
        raise BadInput("Give either a number or --last, not both.", "编号与 --last 只能给出一个。")
    memory, number = ui.open_memory(options), only if number is None else number
    if last is not None and last > 1 and not options.dry_run and not yes:
        _confirm_last(memory, last)
    made = memory.undo(number, last=last or 1, dry_run=options.dry_run)
    count, resumed = len(made.undoes), made.resumes
    complete = f"Operation {resumed}, an undo that had been stopped, is now complete."
    outcome = ui.first(
        (resumed is not None, complete, f"之前中断的撤销（操作 {resumed}）现已完成。"),
        (not made.plan, "There was nothing to take back.", "没有需要撤销的内容。"),
        (count < (last or 0), f"There were only {count} to take back.", f"可撤销的只有 {count} 步。"),
    )
    verbs = {
        "remove": say("remove", "移除"),
        "bring back": say("bring back", "找回"),
        "cut": say("cut", "截去"),
        "restore": say("restore", "恢复"),
        "move back": say("move back", "移回"),
    }
    facts = {"undoes": made.undoes, "steps": [asdict(step) for step in made.plan.steps], "dryRun": options.dry_run}
    steps = [replace(step, detail=step.detail.replace(" bytes", say(" bytes", " 字节"))) for step in made.plan.steps]
    return Report(facts, lines=ui.step_rows(steps, verbs), notes=[outcome])


def _confirm_last(memory: Memory, last: int) -> None:
    """List what would be undone, and ask."""
    planned = memory.undo(last=last, dry_run=True)
    count = len(planned.undoes)
    if count < 2 or planned.resumes is not None:
        return
    past = {operation.id: operation for operation in memory.history().operations}
    for operation in (past[number] for number in planned.undoes):
        ui.note(f"{operation.id}  {operation.at[:19]}  {operation.command}")
    ui.confirm(f"Undo these {count} operations?", f"撤销以上 {count} 个操作吗？", default=False)
    if memory.undo(last=last, dry_run=True).undoes != planned.undoes:
        raise ChangedOutside(
            "History went on while you were asked, so nothing was undone. Run the command again.",
            "询问期间又有新的操作，因此未撤销任何内容。请重新运行命令。",
        )
