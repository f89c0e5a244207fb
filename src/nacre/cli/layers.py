"""nacre checkpoint, organise, promote, recall, refresh: the layers of whole conversations."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from nacre.cli.base import (
    Command,
    Invocation,
    dry_run_option,
    echo,
    json_option,
    note,
    open_all,
    open_memory,
    piped,
    print_json,
)
from nacre.errors import PartlyDone
from nacre.i18n import say

if TYPE_CHECKING:
    from nacre.layers.organise import OrganiseReport
    from nacre.layers.promote import PromotePlan
    from nacre.search.layered import Recalled, RecallReport


@click.command(cls=Command, epilog="Example:  nacre checkpoint 61871d67")
@click.argument("session", required=False)
@click.option("--title", metavar="TEXT", help="What text from a pipe is called.")
@dry_run_option
@json_option
@click.pass_obj
def checkpoint(invocation: Invocation, session: str | None, title: str | None, *, dry_run: bool, as_json: bool) -> None:
    """Write a whole conversation to memory_fs/hot, with its secrets blacked out.

    SESSION is the beginning of a session's id; without it the talk that went on last (or OPENCLAW_SESSION_ID). "-" takes text,
    or what an agent's hook says, from a pipe. The same talk again brings its file up to date.
    """
    memory = open_memory(invocation)
    text = piped() if session == "-" else None
    wanted = None if text is not None else session or os.environ.get("OPENCLAW_SESSION_ID")
    done = memory.checkpoint(wanted, text=text, title=title, dry_run=dry_run)
    if as_json:
        print_json({"path": done.path, "changed": done.changed, "dryRun": dry_run})
        return
    if dry_run:
        note("Would be written:", "将写入：")
    elif not done.changed:
        note("Already there, unchanged:", "已存在，没有变化：")
    click.echo(done.path)


# nacre organise: checkpoints sink by age, rise when they were recalled, and go when they were forgotten for long.


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
        print_json(organise_json(report)) if as_json else _show_organised(report, verbose=verbose or dry_run)
    if left:
        raise PartlyDone(" ".join(left))


def _show_organised(report: OrganiseReport, *, verbose: bool) -> None:
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
    click.echo(organise_summary(report))


def organise_summary(report: OrganiseReport) -> str:
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


def organise_json(report: OrganiseReport) -> dict[str, object]:
    """A report as plain values."""
    return {
        "changed": report.changed,
        "dryRun": report.dry_run,
        "summary": organise_summary(report),
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


# nacre promote: what recalled checkpoints teach becomes lasting memory.


@click.command(cls=Command, epilog="Example:  nacre promote --apply")
@click.option("--apply", "carry_out", is_flag=True, help="Carry out what the report proposes.")
@dry_run_option
@json_option
@click.pass_obj
def promote(invocation: Invocation, *, carry_out: bool, dry_run: bool, as_json: bool) -> None:
    """Write promote_report.md: which checkpoints were recalled so often that what they teach should last.

    Nominated is what was recalled 3 times in 7 days, 5 times in 14, 8 times in all, or what the user marked. With --apply, lessons
    about a skill go to skills/<skill>/docs/retrospect.md, everything else is put to the four tests of MEMORY.md, and the checkpoint
    is never nominated again.
    """
    left: list[str] = []
    for memory in open_all(invocation):
        made = memory.promote(apply=carry_out, dry_run=dry_run)
        left += [problem.message for problem in made.left]
        if as_json:
            print_json(promote_json(made, applied=carry_out and not dry_run, dry_run=dry_run))
            continue
        click.echo(memory.promote_report(made, applied=carry_out and not dry_run).rstrip("\n"))
        if not dry_run:
            note("Written to promote_report.md.", "已写入 promote_report.md。")
    if left:
        raise PartlyDone(" ".join(left))


def promote_json(made: PromotePlan, *, applied: bool, dry_run: bool) -> dict[str, Any]:
    return {
        "candidates": [
            {
                "path": one.path,
                "title": one.title,
                "total": one.nominee.total,
                "7d": one.nominee.week,
                "14d": one.nominee.fortnight,
                "user_marked": one.nominee.marked,
                "rule": one.nominee.rule,
                "lessons": [
                    {"skill": lesson.skill, "text": lesson.text, "known": lesson.known} for lesson in one.lessons
                ],
                "lines": [line.words for line in one.lines],
            }
            for one in made.promoted
        ],
        "steps": [
            {"action": step.action, "path": step.path, "reason": step.reason, "text": step.detail}
            for step in made.distilled.steps
        ],
        "problems": [problem.message for problem in made.left],
        "applied": applied,
        "dryRun": dry_run,
    }


# nacre recall: layered search, from the youngest checkpoints to the almost forgotten ones.


@click.command(cls=Command, epilog='Example:  nacre recall "what did we settle about payment retries?"')
@click.argument("query", nargs=-1, required=True)
@click.option(
    "-n", "--limit", type=click.IntRange(1, 3), default=3, show_default=True, help="How many checkpoints at most."
)
@dry_run_option
@json_option
@click.pass_obj
def recall(invocation: Invocation, query: tuple[str, ...], limit: int, *, dry_run: bool, as_json: bool) -> None:
    """Look through the checkpoints by layer: hot, warm, gist, forgotten, as far as the first that answers.

    What is found becomes young again: it moves to a younger layer, and "nacre undo" moves it back. A summary that is not enough
    opens its original. The exit code is 1 when nothing answers.
    """
    report = open_memory(invocation).recall(" ".join(query), limit=limit, dry_run=dry_run)
    if as_json:
        print_json(_as_json(report, dry_run=dry_run))
    else:
        for problem in report.problems:
            note(problem.message)
        for one in report.found:
            _show_recalled(one)
        if report.reason:
            note(report.reason)
        if dry_run and report.found:
            note("Nothing was moved or counted.", "没有移动，也没有计数。")
    if not report.found:
        raise click.exceptions.Exit(1)


def _show_recalled(one: Recalled) -> None:
    click.echo(f"{one.path}  {one.layer}  {_confidence(one)}  {one.title}")
    if one.path != one.was:
        note(f"{one.was} was moved to {one.path}.", f"{one.was} 已移到 {one.path}。")
    if one.opened:
        note(f"The summary was not enough; {one.opened} was opened.", f"摘要不够详细；已打开原文 {one.opened}。")
    for passage in one.passages:
        first, last = passage.start_line, passage.end_line
        echo(f"  lines {first}-{last}:", f"  第 {first}-{last} 行：")
        for line in passage.text.splitlines():
            click.echo(f"  {line}")
    click.echo("")


def _confidence(one: Recalled) -> str:
    return say(f"confidence {one.certainty} ({one.confidence:g})", f"可信度{one.certainty}（{one.confidence:g}）")


def _as_json(report: RecallReport, *, dry_run: bool) -> dict[str, Any]:
    return {
        "results": [_recalled_json(one) for one in report.found],
        "layer": report.layer,
        "words": list(report.words),
        "narrowed": report.narrowed,
        "reason": report.reason,
        "dryRun": dry_run,
        "problems": [{"kind": one.kind, "path": one.path, "message": one.message} for one in report.problems],
    }


def _recalled_json(one: Recalled) -> dict[str, Any]:
    return {
        "path": one.path,
        "was": one.was,
        "layer": one.layer,
        "title": one.title,
        "confidence": one.confidence,
        "certainty": one.certainty,
        "coverage": one.coverage,
        "opened": one.opened,
        "passages": [
            {"startLine": passage.start_line, "endLine": passage.end_line, "text": passage.text}
            for passage in one.passages
        ],
    }


# nacre refresh: put the talk away, put the layers in order, and begin anew with what matters.


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
                "promoted": promote_json(done.promoted, applied=carry_out and not dry_run, dry_run=dry_run),
                "context": done.context.as_plain(),
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
                note(f"Deleted: {step.path}, {step.reason}", f"已删除：{step.path}，{step.reason}")
        steps, candidates = len(done.organised.steps), len(done.promoted.promoted)
        note(
            f"Layers: {steps} changes. Nominated for promotion: {candidates} (promote_report.md).",
            f"分层：{steps} 处变动。晋升候选：{candidates} 个（promote_report.md）。",
        )
        click.echo(done.context.text, nl=False)
    if left:
        raise PartlyDone(" ".join(left))
