"""nacre tidy: days become weeks, and only what prevents a mistake becomes long-term memory."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from nacre.cli.base import Command, Invocation, dry_run_option, json_option, note, open_all, print_json
from nacre.errors import PartlyDone
from nacre.tidy.words import word
from nacre.words import say

if TYPE_CHECKING:
    from nacre.tidy.run import TidyReport


@click.command(cls=Command, epilog="Example:  nacre tidy --dry-run")
@click.option("--verbose", "-v", is_flag=True, help="Show every step with its reason, refusals too.")
@dry_run_option
@json_option
@click.pass_obj
def tidy(invocation: Invocation, *, verbose: bool, dry_run: bool, as_json: bool) -> None:
    """Press old days into weeks, distil what lasts into MEMORY.md, and archive.

    Each line of the last days is put to four tests: without it the agent would make a specific mistake; it holds for many talks; it
    can be understood alone; it is not there yet. MEMORY.md never grows over 80 lines or 5 KB. Running it again changes nothing;
    "nacre undo" takes a night back.
    """
    left: list[str] = []
    for memory in open_all(invocation):
        report = memory.tidy(dry_run=dry_run)
        left += [problem.message for problem in report.left]
        print_json(as_plain(report)) if as_json else _show(report, verbose=verbose or dry_run)
    if left:
        raise PartlyDone(" ".join(left))


def _show(report: TidyReport, *, verbose: bool) -> None:
    for problem in report.problems:
        note(problem.message)
    for phase, step in report.steps:
        quiet = step.action in ("refuse", "say once", "merge")
        if verbose or (sys.stdout.isatty() and phase == "distil" and not quiet):
            click.echo(f"{word(step.action):>10}  {step.path}: {step.detail}\n{'':>12}{step.reason}")
    click.echo(summary(report))


def summary(report: TidyReport) -> str:
    """The night in one sentence."""
    if not report.changed:
        return say("memory-tidy done, nothing changed.", "memory-tidy 完成,无变更。")
    counts = report.counts
    told = [
        (counts["compress add"], "pressed into weeks", "压缩进周报"),
        (counts["distil add"], "admitted", "收录"),
        (counts["distil supersede"], "superseded", "更新"),
        (counts["distil merge"], "known already", "已有"),
        (counts["distil refuse"], "refused", "拒绝"),
        (counts["distil adopt"], "adopted", "采纳"),
        (counts["distil demote"], "demoted", "移出"),
        (counts["distil set"], "fields set", "设置字段"),
        (counts["distil ask"], 'for "nacre review"', "待“nacre review”"),
        (counts["archive move"] + counts["archive append"], "days archived", "归档天数"),
        (counts["archive remove"], "old backups removed", "清理旧备份"),
    ]
    parts = [f"{say(english, chinese)} {count}" for count, english, chinese in told if count]
    done = say("would do", "将进行") if report.dry_run else say("done", "完成")
    return f"memory-tidy {done}" + say(": ", "：") + say(", ", "，").join(parts) + say(".", "。")


def as_plain(report: TidyReport) -> dict[str, object]:
    """A report as plain values."""
    return {
        "changed": report.changed,
        "dryRun": report.dry_run,
        "summary": summary(report),
        "steps": [
            {"phase": phase, "action": step.action, "path": step.path, "text": step.detail, "reason": step.reason}
            for phase, step in report.steps
        ],
        "counts": dict(report.counts),
        "problems": [{"kind": one.kind, "path": one.path, "message": one.message} for one in report.problems],
        "left": [{"kind": one.kind, "path": one.path, "message": one.message} for one in report.left],
    }
