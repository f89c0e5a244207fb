"""nacre tidy, nacre decay: press old days into weeks, distil what lasts, archive the oldest logs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from nacre.cli.base import Command, Invocation, dry_run_option, json_option, note, open_all, print_json
from nacre.errors import PartlyDone
from nacre.i18n import say
from nacre.tidy.run import action_word

if TYPE_CHECKING:
    from nacre.tidy.run import DecayReport, TidyReport


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
        print_json(as_plain(report)) if as_json else _show_tidied(report, verbose=verbose or dry_run)
    if left:
        raise PartlyDone(" ".join(left))


def _show_tidied(report: TidyReport, *, verbose: bool) -> None:
    for problem in report.problems:
        note(problem.message)
    for phase, step in report.steps:
        quiet = step.action in ("refuse", "say once", "merge")
        if verbose or (sys.stdout.isatty() and phase == "distil" and not quiet):
            click.echo(f"{action_word(step.action):>10}  {step.path}: {step.detail}\n{'':>12}{step.reason}")
    click.echo(tidy_summary(report))


def tidy_summary(report: TidyReport) -> str:
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
        "summary": tidy_summary(report),
        "steps": [
            {"phase": phase, "action": step.action, "path": step.path, "text": step.detail, "reason": step.reason}
            for phase, step in report.steps
        ],
        "counts": dict(report.counts),
        "problems": [{"kind": one.kind, "path": one.path, "message": one.message} for one in report.problems],
        "left": [{"kind": one.kind, "path": one.path, "message": one.message} for one in report.left],
    }


# nacre decay: old daily logs give up what lasts, and go to the archive.


@click.command(cls=Command, epilog="Example:  nacre decay --dry-run")
@click.option("--promote-only", is_flag=True, help="Only put what lasts to long-term memory; archive nothing.")
@click.option("--verbose", "-v", is_flag=True, help="Show every step with its reason.")
@dry_run_option
@json_option
@click.pass_obj
def decay(invocation: Invocation, *, promote_only: bool, verbose: bool, dry_run: bool, as_json: bool) -> None:
    """Promote what lasts in the oldest daily logs, then archive these: the profile with tidy.retention = "decay".

    Sets in when a MEMORY.md is over decay.max_lines, there are more than decay.max_files daily logs, or one is older than
    decay.keep_days. The lines of the logs that go are put to the same four tests as in "nacre tidy", [TEMP] lines are not. Logs move to
    memory/archive/YYYY-MM/, their bytes unchanged; with archive.compress as .md.gz, in which search, "nacre get" and
    "nacre forget" go on finding every line. "nacre undo" takes it all back.
    """
    left: list[str] = []
    for memory in open_all(invocation):
        report = memory.decay(promote_only=promote_only, dry_run=dry_run)
        left += [problem.message for problem in report.left]
        print_json(_plain(report)) if as_json else _show_decayed(report, verbose=verbose or dry_run)
    if left:
        raise PartlyDone(" ".join(left))


def _show_decayed(report: DecayReport, *, verbose: bool) -> None:
    if not report.in_force:
        note(
            'The weekly profile is in force (tidy.retention is "weekly"); this is what decay would do instead.',
            "当前采用周报方式（tidy.retention 为“weekly”）；以下是改用 decay 时会做的事。",
        )
    for sentence in (*report.occasions, *(problem.message for problem in report.problems)):
        note(sentence)
    for phase, step in report.steps:
        if verbose or phase == "review":
            click.echo(f"{_word(step.action):>10}  {step.path}: {step.detail}\n{'':>12}{step.reason}")
    click.echo(decay_summary(report))


def decay_summary(report: DecayReport) -> str:
    """The run in one sentence."""
    counts = report.counts
    told = [
        (counts["promote add"], "promoted", "收录"),
        (counts["promote supersede"], "superseded", "更新"),
        (counts["promote merge"], "known already", "已有"),
        (counts["promote refuse"], "refused", "拒绝"),
        (counts["promote drop"], "passing", "临时"),
        (counts["promote ask"], 'for "nacre review"', "待“nacre review”"),
        (counts["archive move"] + counts["archive append"] + counts["archive compress"], "days archived", "归档天数"),
        (counts["review propose"], 'proposed for "nacre review --adopt"', "建议用“nacre review --adopt”移出"),
    ]
    parts = [f"{say(english, chinese)} {count}" for count, english, chinese in told if count]
    if not parts:
        return say("memory-decay done, nothing changed.", "memory-decay 完成，无变更。")
    done = say("would do", "将进行") if report.dry_run else say("done", "完成")
    return f"memory-decay {done}" + say(": ", "：") + say(", ", "，").join(parts) + say(".", "。")


def _word(action: str) -> str:
    from nacre.tidy.run import action_word

    return {
        "drop": say("drop", "略过"),
        "compress": say("compress", "压缩"),
        "propose": say("propose", "建议"),
    }.get(action) or action_word(action)


def _plain(report: DecayReport) -> dict[str, object]:
    return {
        "changed": report.changed,
        "dryRun": report.dry_run,
        "inForce": report.in_force,
        "summary": decay_summary(report),
        "occasions": list(report.occasions),
        "steps": [
            {"phase": phase, "action": step.action, "path": step.path, "text": step.detail, "reason": step.reason}
            for phase, step in report.steps
        ],
        "counts": dict(report.counts),
        "problems": [{"kind": one.kind, "path": one.path, "message": one.message} for one in report.problems],
        "left": [{"kind": one.kind, "path": one.path, "message": one.message} for one in report.left],
    }
