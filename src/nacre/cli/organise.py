"""nacre organise: checkpoints sink by age, rise when they were recalled, and go when they were forgotten for long."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from nacre.cli.base import Command, Invocation, dry_run_option, json_option, note, open_all, print_json
from nacre.errors import PartlyDone
from nacre.words import say

if TYPE_CHECKING:
    from nacre.lifecycle.organise import OrganiseReport


@click.command(cls=Command, epilog="Example:  nacre organise --dry-run")
@click.option("--verbose", "-v", is_flag=True, help="Show every step with its reason.")
@dry_run_option
@json_option
@click.pass_obj
def organise(invocation: Invocation, *, verbose: bool, dry_run: bool, as_json: bool) -> None:
    """Bring every checkpoint into the layer where it belongs, and count the recalls.

    Hot for 3 hours, warm for 7 days, then a summary in gist stands for it while the original stays in warm; forgotten after 14 days
    without a recall, deleted after 30 days there unless its user marked it. A recall makes it young again. Ages count from the content's
    own time. Deletions are listed first; "nacre undo" brings everything back.
    """
    left: list[str] = []
    for memory in open_all(invocation):
        report = memory.organise(dry_run=dry_run)
        left += [problem.message for problem in report.left]
        print_json(as_plain(report)) if as_json else _show(report, verbose=verbose or dry_run)
    if left:
        raise PartlyDone(" ".join(left))


def _show(report: OrganiseReport, *, verbose: bool) -> None:
    for problem in report.notes:
        note(problem.message)
    for step in report.steps:
        if not verbose and step.action != "delete":
            continue  # what is deleted is named in any case
        to = f" → {step.detail}" if step.detail else ""
        click.echo(f"{_word(step.action):>10}  {step.path}{to}\n{'':>12}{step.reason}")
    if report.steps or report.counted:
        for layer, before in report.before.items():
            click.echo(f"{layer:>10}  {before} → {report.after[layer]}")
    click.echo(summary(report))


def summary(report: OrganiseReport) -> str:
    """What was done, in one sentence."""
    told: dict[str, int] = {}
    for step in report.steps:
        told[step.action] = told.get(step.action, 0) + 1
    parts = [f"{_word(action)} {count}" for action, count in told.items()]
    parts += [say(f"recalls counted {report.counted}", f"计入调用 {report.counted}")] if report.counted else []
    if not parts:
        return say("Nothing to organise.", "没有需要整理的内容。")
    done = say("Would be organised: ", "将整理：") if report.dry_run else say("Organised: ", "已整理：")
    return done + say(", ", "，").join(parts) + say(".", "。")


def _word(action: str) -> str:
    return {
        "delete": say("delete", "删除"),
        "forget": say("forget", "遗忘"),
        "move": say("move", "移动"),
        "summarise": say("summarise", "摘要"),
        "rise": say("rise", "回升"),
        "drop": say("drop double", "去重"),
    }.get(action, action)


def as_plain(report: OrganiseReport) -> dict[str, object]:
    """A report as plain values."""
    return {
        "changed": report.changed,
        "dryRun": report.dry_run,
        "summary": summary(report),
        "before": dict(report.before),
        "after": dict(report.after),
        "counted": report.counted,
        "steps": [
            {"action": step.action, "path": step.path, "to": step.detail or None, "reason": step.reason}
            for step in report.steps
        ],
        "problems": [{"kind": one.kind, "path": one.path, "message": one.message} for one in report.notes],
        "left": [{"kind": one.kind, "path": one.path, "message": one.message} for one in report.left],
    }
