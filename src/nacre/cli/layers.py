"""nacre checkpoint, organise, promote, recall, refresh: the layers of whole conversations."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from nacre.cli import ui
from nacre.i18n import say
from nacre.model import Note, Report, fields

if TYPE_CHECKING:
    from nacre.memory import OrganiseReport, PromotePlan


@ui.command("nacre checkpoint 61871d67", dry_run=True)
@click.argument("session", required=False)
@click.option("--title", metavar="TEXT", help="Title for text read from a pipe.")
def checkpoint(options: ui.Options, session: str | None, title: str | None) -> Report:
    """Save a whole session to memory_fs/hot, with secrets removed.

    SESSION is the beginning of a session id; default: the most recent session (or OPENCLAW_SESSION_ID). "-" reads text, or the input of
    an agent hook, from a pipe. Saving the same session again updates its file.
    """
    memory, text = ui.open_memory(options), ui.words_of("-") if session == "-" else None
    session = None if text is not None else session or os.environ.get("OPENCLAW_SESSION_ID")
    written = memory.checkpoint(session, text=text, title=title, dry_run=options.dry_run)
    outcome = ui.first(
        (options.dry_run, "Would be written:", "将写入："),
        (not written.changed, "Already saved, unchanged:", "已保存，没有变化："),
    )
    return Report(fields(written, "path changed", dryRun=options.dry_run), heading=[outcome], lines=[written.path])


@ui.command("nacre organise --dry-run", dry_run=True)
@ui.flag("--verbose", "-v", "Show every step with its reason.")
def organise(options: ui.Options, *, verbose: bool) -> Iterator[Report]:
    """Move every checkpoint to the layer that fits its age, and count recalls.

    Checkpoints stay in hot for 3 hours and in warm for 7 days; then gist holds a summary and warm keeps the original. After 14 days without
    a recall they move to forgotten, and are deleted 30 days later unless you marked them. Age counts from the time of the session; a recall
    resets it. Deletions are listed; "nacre undo" restores everything.
    """
    for memory in ui.open_all(options):
        with ui.waiting("Organising", "正在整理"):
            made = memory.organise(dry_run=options.dry_run)
        lines: list[str] = []
        for step in made.steps:
            if verbose or options.dry_run or step.action == "delete":  # what is deleted is named in any case
                to = f" → {step.detail}" if step.detail else ""
                lines.append(f"{step.word:>10}  {step.path}{to}\n{'':>12}{step.reason}")
        if made.steps or made.counted:
            lines += [f"{layer:>10}  {before} → {made.after[layer]}" for layer, before in made.before.items()]
        summary = organise_summary(made)
        facts = {
            "changed": made.changed,
            "dryRun": options.dry_run,
            "summary": summary,
            "before": dict(made.before),
            "after": dict(made.after),
            "counted": made.counted,
            "steps": [fields(step, "action path to reason", to=step.detail or None) for step in made.steps],
            "problems": ui.problems_json(made.notes),
            "left": ui.problems_json(made.left),
        }
        yield Report(facts, lines=[*lines, summary], problems=made.notes, left=made.left)


def organise_summary(report: OrganiseReport) -> str:
    counts = Counter((step.action, step.word) for step in report.steps)
    parts = [say(f"{count} {_DONE[action]}", f"{word} {count}") for (action, word), count in counts.items()]
    recalls = f"{ui.plural(report.counted, 'recall')} counted"
    parts += ui.every((report.counted, recalls, f"计入召回 {report.counted} 次"))
    if not parts:
        return say("Nothing to organise.", "没有需要整理的内容。")
    done = say("Dry run: ", "试运行：") if report.dry_run else say("Organised: ", "已整理：")
    return done + say(", ", "，").join(parts) + say(".", "。")


_DONE = {"delete": "deleted", "forget": "forgotten", "move": "moved", "summarise": "summarised", "rise": "moved up"}


@ui.command("nacre promote --apply", dry_run=True)
@ui.flag("--apply", "carry_out", "Apply what the report proposes.")
def promote(options: ui.Options, *, carry_out: bool) -> Iterator[Report]:
    """Write promote_report.md: checkpoints recalled often enough that their lessons should be kept.

    A checkpoint becomes a candidate after 3 recalls in 7 days, 5 in 14 days or 8 in total, or when you mark it. With --apply, lessons about a
    skill are written to skills/<skill>/docs/retrospect.md, and everything else must pass the four tests for MEMORY.md; the checkpoint is
    then no longer a candidate.
    """
    for memory in ui.open_all(options):
        with ui.waiting("Promoting", "正在晋升"):
            made, applied = memory.promote(apply=carry_out, dry_run=options.dry_run), carry_out and not options.dry_run
        written = "Report written to promote_report.md.", "报告已写入 promote_report.md。"
        yield Report(
            _promoted_json(made, applied=applied, dry_run=options.dry_run),
            lines=[memory.promote_report(made, applied=applied).rstrip("\n")],
            notes=ui.every((not options.dry_run, *written)),
            left=made.left,
        )


def _promoted_json(made: PromotePlan, *, applied: bool, dry_run: bool) -> dict[str, Any]:
    return {
        "candidates": [
            {
                **fields(checkpoint, "path title"),
                "total": checkpoint.nominee.total,
                "7d": checkpoint.nominee.week,
                "14d": checkpoint.nominee.fortnight,
                "user_marked": checkpoint.nominee.marked,
                "rule": checkpoint.nominee.rule,
                "lessons": [fields(lesson, "skill text known") for lesson in checkpoint.lessons],
                "lines": [line.words for line in checkpoint.lines],
            }
            for checkpoint in made.promoted
        ],
        "steps": [fields(step, "action path reason", text=step.detail) for step in made.distilled.steps],
        "problems": [problem.message for problem in made.left],
        "applied": applied,
        "dryRun": dry_run,
    }


@ui.command('nacre recall "what did we settle about payment retries?"', dry_run=True)
@click.argument("query", nargs=-1, required=True)
@click.option(
    "-n", "--limit", type=click.IntRange(1, 3), default=3, show_default=True, help="Maximum number of checkpoints."
)
def recall(options: ui.Options, query: tuple[str, ...], limit: int) -> Report:
    """Search the checkpoints layer by layer (hot, warm, gist, forgotten) and stop at the first with an answer.

    Checkpoints it finds move to a more recent layer; "nacre undo" moves them back. If a summary is not enough, the original is
    opened. Exit code 1 means that nothing was found.
    """
    with ui.waiting("Searching", "正在查找"):
        made = ui.open_memory(options).recall(" ".join(query), limit=limit, dry_run=options.dry_run)
    results: list[dict[str, Any]] = []
    lines: list[str] = []
    for recalled in made.found:
        passages = [fields(passage, "start_line end_line text") for passage in recalled.passages]
        names = "path was layer title confidence certainty coverage opened"
        results.append(fields(recalled, names, passages=passages))
        path, was, opened, certainty = recalled.path, recalled.was, recalled.opened, recalled.certainty
        sure = say(f"confidence {certainty} ({recalled.confidence:g})", f"置信度{certainty}（{recalled.confidence:g}）")
        lines.append(f"{path}  {recalled.layer}  {sure}  {recalled.title}")
        moved = ui.every(
            (path != was, f"{was} was moved to {path}.", f"{was} 已移到 {path}。"),
            (opened, f"The summary was not detailed enough; opened {opened}.", f"摘要不够详细；已打开原文 {opened}。"),
        )
        lines += map(Note, moved)
        for passage in recalled.passages:
            first, last = passage.start_line, passage.end_line
            lines.append(say(f"  lines {first}-{last}:", f"  第 {first}-{last} 行："))
            lines.append("\n".join(f"  {line}" for line in passage.text.splitlines()))
        lines.append("")
    untouched = ui.every(
        (options.dry_run and made.found, "Dry run: nothing was moved or counted.", "试运行：没有移动，也没有计数。")
    )
    names, problems = "results layer words narrowed reason dryRun", ui.problems_json(made.problems)
    return Report(
        fields(made, names, results=results, dryRun=options.dry_run, problems=problems),
        problems=made.problems,
        lines=lines,
        notes=[made.reason, *untouched],
        code=0 if made.found else 1,
    )


@ui.command("nacre refresh", dry_run=True)
@click.argument("session", required=False)
@ui.flag("--apply", "carry_out", "Also promote the candidates; otherwise only the report is written.")
@click.option("--budget", type=click.IntRange(1), metavar="TOKENS", help="Token limit of the printed context.")
def refresh(options: ui.Options, session: str | None, *, carry_out: bool, budget: int | None) -> Report:
    """Checkpoint the session, organise the layers, list what to promote, and print a fresh context.

    SESSION is the beginning of a session id; default: the most recent session (or OPENCLAW_SESSION_ID). The output is the same as that of
    "nacre context", ready for the first turn of a new session.
    """
    session = session or os.environ.get("OPENCLAW_SESSION_ID")
    with ui.waiting("Refreshing", "正在刷新"):
        done = ui.open_memory(options).refresh(session, apply=carry_out, budget=budget, dry_run=options.dry_run)
    path = done.checkpoint.path if done.checkpoint else None
    heading = ui.every(
        (not path, done.missing, done.missing),
        (path and options.dry_run, f"The session would be saved to {path}.", f"会话将存入 {path}。"),
        (path and not options.dry_run, f"The session was saved to {path}.", f"会话已存入 {path}。"),
    )
    for step in done.organised.steps:
        if step.action == "delete":
            english, chinese = f"deleted: {step.path} ({step.reason})", f"删除：{step.path}（{step.reason}）"
            heading.append(ui.done(english, chinese, dry_run=options.dry_run))
    left = (*done.organised.left, *done.promoted.left)
    facts = {
        "checkpoint": path,
        "organised": [fields(step, "action path to reason", to=step.detail) for step in done.organised.steps],
        "promoted": _promoted_json(done.promoted, applied=carry_out and not options.dry_run, dry_run=options.dry_run),
        "context": done.context.as_plain(),
        "problems": [problem.message for problem in left],
        "dryRun": options.dry_run,
    }
    text = done.context.text.removesuffix("\n")
    return Report(facts, heading=[*heading, done.summary], lines=[text] if text else [], left=left)
