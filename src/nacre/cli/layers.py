"""nacre checkpoint, organise, promote, recall, refresh: the layers of whole conversations."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from nacre.cli import ui
from nacre.i18n import say
from nacre.model.report import Note, Report, fields

if TYPE_CHECKING:
    from nacre.memory import OrganiseReport, PromotePlan


@ui.command("nacre checkpoint 61871d67", dry_run=True)
@click.argument("session", required=False)
@click.option("--title", metavar="TEXT", help="What text from a pipe is called.")
def checkpoint(options: ui.Options, session: str | None, title: str | None) -> Report:
    """Write a whole conversation to memory_fs/hot, with its secrets blacked out.

    SESSION is the beginning of a session's id; without it the session that went on last (or OPENCLAW_SESSION_ID). "-" takes text,
    or what an agent's hook says, from a pipe. The same session again brings its file up to date.
    """
    memory, text = ui.open_memory(options), ui.words_of("-") if session == "-" else None
    session = None if text is not None else session or os.environ.get("OPENCLAW_SESSION_ID")
    written = memory.checkpoint(session, text=text, title=title, dry_run=options.dry_run)
    outcome = ui.first(
        (options.dry_run, "Would be written:", "将写入："),
        (not written.changed, "Already there, unchanged:", "已存在，没有变化："),
    )
    facts = fields(written, "path changed", dryRun=options.dry_run)
    return Report(facts, heading=[outcome], lines=[written.path])


@ui.command("nacre organise --dry-run", dry_run=True)
@ui.flag("--verbose", "-v", "Show every step with its reason.")
def organise(options: ui.Options, *, verbose: bool) -> Iterator[Report]:
    """Bring every checkpoint into the layer where it belongs, and count the recalls.

    Hot for 3 hours, warm for 7 days, then a summary in gist stands for it while the original stays in warm; forgotten after 14 days
    without a recall, deleted after 30 days there unless its user marked it. A recall makes it young again. Ages count from the content's
    own time. Deletions are listed first; "nacre undo" brings everything back.
    """
    for memory in ui.open_all(options):
        made = memory.organise(dry_run=options.dry_run)
        lines: list[str] = []
        for step in made.steps:
            if verbose or options.dry_run or step.action == "delete":  # what is deleted is named in any case
                to = f" → {step.detail}" if step.detail else ""
                lines.append(f"{_word(step.action):>10}  {step.path}{to}\n{'':>12}{step.reason}")
        if made.steps or made.counted:
            lines += [f"{layer:>10}  {before} → {made.after[layer]}" for layer, before in made.before.items()]
        summary = organise_summary(made)
        facts: dict[str, Any] = {"changed": made.changed, "dryRun": options.dry_run, "summary": summary}
        facts |= {"before": dict(made.before), "after": dict(made.after), "counted": made.counted}
        facts["steps"] = [fields(step, "action path to reason", to=step.detail or None) for step in made.steps]
        facts |= {"problems": ui.problems_json(made.notes), "left": ui.problems_json(made.left)}
        yield Report(facts, lines=[*lines, summary], problems=made.notes, left=made.left)


def organise_summary(report: OrganiseReport) -> str:
    counts = Counter(step.action for step in report.steps)
    parts = [f"{_word(action)} {count}" for action, count in counts.items()]
    parts += [say(f"recalls counted {report.counted}", f"计入调用 {report.counted}")] if report.counted else []
    if not parts:
        return say("Nothing to organise.", "没有需要整理的内容。")
    done = say("Would be organised: ", "将整理：") if report.dry_run else say("Organised: ", "已整理：")
    return done + say(", ", "，").join(parts) + say(".", "。")


def _word(action: str) -> str:
    words = {"delete": "删除", "forget": "遗忘", "move": "移动", "summarise": "摘要", "rise": "回升"}
    return say("drop double", "去重") if action == "drop" else say(action, words.get(action, action))


@ui.command("nacre promote --apply", dry_run=True)
@ui.flag("--apply", "carry_out", "Carry out what the report proposes.")
def promote(options: ui.Options, *, carry_out: bool) -> Iterator[Report]:
    """Write promote_report.md: which checkpoints were recalled so often that what they teach should last.

    Nominated is what was recalled 3 times in 7 days, 5 times in 14, 8 times in all, or what the user marked. With --apply, lessons
    about a skill go to skills/<skill>/docs/retrospect.md, everything else is put to the four tests of MEMORY.md, and the checkpoint
    is never nominated again.
    """
    for memory in ui.open_all(options):
        made, applied = memory.promote(apply=carry_out, dry_run=options.dry_run), carry_out and not options.dry_run
        facts, text = (
            _promoted_json(made, applied=applied, dry_run=options.dry_run),
            memory.promote_report(made, applied=applied),
        )
        notes = ui.every((not options.dry_run, "Written to promote_report.md.", "已写入 promote_report.md。"))
        yield Report(facts, lines=[text.rstrip("\n")], notes=notes, left=made.left)


def _promoted_json(made: PromotePlan, *, applied: bool, dry_run: bool) -> dict[str, Any]:
    return {
        "candidates": [
            fields(one, "path title")
            | {"total": one.nominee.total, "7d": one.nominee.week, "14d": one.nominee.fortnight}
            | {"user_marked": one.nominee.marked, "rule": one.nominee.rule}
            | {"lessons": [fields(lesson, "skill text known") for lesson in one.lessons]}
            | {"lines": [line.words for line in one.lines]}
            for one in made.promoted
        ],
        "steps": [fields(step, "action path reason", text=step.detail) for step in made.distilled.steps],
        "problems": [problem.message for problem in made.left],
        "applied": applied,
        "dryRun": dry_run,
    }


@ui.command('nacre recall "what did we settle about payment retries?"', dry_run=True)
@click.argument("query", nargs=-1, required=True)
@click.option(
    "-n", "--limit", type=click.IntRange(1, 3), default=3, show_default=True, help="How many checkpoints at most."
)
def recall(options: ui.Options, query: tuple[str, ...], limit: int) -> Report:
    """Look through the checkpoints by layer: hot, warm, gist, forgotten, as far as the first that answers.

    What is found becomes young again: it moves to a younger layer, and "nacre undo" moves it back. A summary that is not enough
    opens its original. The exit code is 1 when nothing answers.
    """
    made = ui.open_memory(options).recall(" ".join(query), limit=limit, dry_run=options.dry_run)
    results: list[dict[str, Any]] = []
    lines: list[str] = []
    for recalled in made.found:
        passages = [fields(passage, "start_line end_line text") for passage in recalled.passages]
        names = "path was layer title confidence certainty coverage opened"
        results.append(fields(recalled, names, passages=passages))
        path, was, opened, certainty = recalled.path, recalled.was, recalled.opened, recalled.certainty
        sure = say(f"confidence {certainty} ({recalled.confidence:g})", f"可信度{certainty}（{recalled.confidence:g}）")
        lines.append(f"{path}  {recalled.layer}  {sure}  {recalled.title}")
        moved = ui.every(
            (path != was, f"{was} was moved to {path}.", f"{was} 已移到 {path}。"),
            (opened, f"The summary was not enough; {opened} was opened.", f"摘要不够详细；已打开原文 {opened}。"),
        )
        lines += map(Note, moved)
        for passage in recalled.passages:
            first, last = passage.start_line, passage.end_line
            lines.append(say(f"  lines {first}-{last}:", f"  第 {first}-{last} 行："))
            lines.append("\n".join(f"  {line}" for line in passage.text.splitlines()))
        lines.append("")
    looked = ui.every((options.dry_run and made.found, "Nothing was moved or counted.", "没有移动，也没有计数。"))
    facts = fields(made, "layer words narrowed reason", words=list(made.words), dryRun=options.dry_run)
    facts = {"results": results, **facts, "problems": ui.problems_json(made.problems)}
    code = 0 if made.found else 1
    return Report(facts, problems=made.problems, lines=lines, notes=[made.reason, *looked], code=code)


@ui.command("nacre refresh", dry_run=True)
@click.argument("session", required=False)
@ui.flag("--apply", "carry_out", "Promote what is nominated, too; else only the report is written.")
@click.option("--budget", type=click.IntRange(1), metavar="TOKENS", help="Most tokens of the context that is printed.")
def refresh(options: ui.Options, session: str | None, *, carry_out: bool, budget: int | None) -> Report:
    """Checkpoint the session, organise the layers, promote, and print a fresh context.

    SESSION is the beginning of a session's id; without it the session that went on last (or OPENCLAW_SESSION_ID). What is printed is
    what "nacre context" gives, ready for the first turn of the new session.
    """
    session = session or os.environ.get("OPENCLAW_SESSION_ID")
    done = ui.open_memory(options).refresh(session, apply=carry_out, budget=budget, dry_run=options.dry_run)
    path = done.checkpoint.path if done.checkpoint else None
    steps, candidates = len(done.organised.steps), len(done.promoted.promoted)
    deleted = [step for step in done.organised.steps if step.action == "delete"]
    heading = ui.every(
        (not path, done.missing, done.missing),
        (path and options.dry_run, f"Session to be put away: {path}", f"对话将存入：{path}"),
        (path and not options.dry_run, f"Session put away: {path}", f"对话已存入：{path}"),
        *((True, f"Deleted: {step.path}, {step.reason}", f"已删除：{step.path}，{step.reason}") for step in deleted),
    )
    english = f"Layers: {steps} changes. Nominated for promotion: {candidates} (promote_report.md)."
    heading.append(say(english, f"分层：{steps} 处变动。晋升候选：{candidates} 个（promote_report.md）。"))
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
    return Report(facts, heading=heading, lines=[text] if text else [], left=left)
