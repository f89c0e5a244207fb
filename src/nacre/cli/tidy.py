"""nacre tidy, decay, review: press old days into weeks, distil what lasts, archive the oldest logs, answer what is left to you."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import click

from nacre.cli import ui
from nacre.i18n import say
from nacre.model.report import Report, Step, fields

if TYPE_CHECKING:
    from nacre.memory import DecayReport, Memory, Question, TidyReport


@ui.command("nacre tidy --dry-run", dry_run=True)
@ui.flag("--verbose", "-v", "Show every step with its reason, refusals too.")
def tidy(options: ui.Options, *, verbose: bool) -> Iterator[Report]:
    """Press old days into weeks, distil what lasts into MEMORY.md, and archive.

    Each line of the last days is put to four tests: without it the agent would make a specific mistake; it holds for many sessions; it
    can be understood alone; it is not there yet. MEMORY.md never grows over 80 lines or 5 KB. Running it again changes nothing;
    "nacre undo" takes a night back.
    """
    for memory in ui.open_all(options):
        made = memory.tidy(dry_run=options.dry_run)
        summary, lines = tidy_summary(made), []
        for phase, step in made.steps:
            news = phase == "distil" and step.action not in ("refuse", "say once", "merge")
            if verbose or options.dry_run or (sys.stdout.isatty() and news):
                lines.append(_step(step))
        facts = _facts(made, summary=summary)
        yield Report(facts, lines=[*lines, summary], problems=made.problems, left=made.left)


@ui.command("nacre decay --dry-run", dry_run=True)
@ui.flag("--promote-only", "Only put what lasts to long-term memory; archive nothing.")
@ui.flag("--verbose", "-v", "Show every step with its reason.")
def decay(options: ui.Options, *, promote_only: bool, verbose: bool) -> Iterator[Report]:
    """Promote what lasts in the oldest daily logs, then archive these: the profile with tidy.retention = "decay".

    Sets in when a MEMORY.md is over decay.max_lines, there are more than decay.max_files daily logs, or one is older than
    decay.keep_days. The lines of the logs that go are put to the same four tests as in "nacre tidy", [TEMP] lines are not. Logs move to
    memory/archive/YYYY-MM/, their bytes unchanged; with archive.compress as .md.gz, in which search, "nacre get" and
    "nacre forget" go on finding every line. "nacre undo" takes it all back.
    """
    for memory in ui.open_all(options):
        made = memory.decay(promote_only=promote_only, dry_run=options.dry_run)
        summary = decay_summary(made)
        english = 'The weekly profile is in force (tidy.retention is "weekly"); this is what decay would do instead.'
        weekly = say(english, "当前采用周报方式（tidy.retention 为“weekly”）；以下是改用 decay 时会做的事。")
        heading = [*([] if made.in_force else [weekly]), *made.occasions, *(row.message for row in made.problems)]
        lines = [_step(step) for phase, step in made.steps if verbose or options.dry_run or phase == "review"]
        facts = _facts(made, inForce=made.in_force, summary=summary, occasions=list(made.occasions))
        yield Report(facts, heading=heading, lines=[*lines, summary], left=made.left)


def tidy_summary(report: TidyReport) -> str:
    if not report.changed:
        return say("memory-tidy done, nothing changed.", "memory-tidy 完成,无变更。")
    counts = report.counts
    return _summary(
        "memory-tidy",
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
        dry_run=report.dry_run,
    )


def decay_summary(report: DecayReport) -> str:
    counts = report.counts
    return _summary(
        "memory-decay",
        (counts["promote add"], "promoted", "收录"),
        (counts["promote supersede"], "superseded", "更新"),
        (counts["promote merge"], "known already", "已有"),
        (counts["promote refuse"], "refused", "拒绝"),
        (counts["promote drop"], "passing", "临时"),
        (counts["promote ask"], 'for "nacre review"', "待“nacre review”"),
        (counts["archive move"] + counts["archive append"] + counts["archive compress"], "days archived", "归档天数"),
        (counts["review propose"], 'proposed for "nacre review --adopt"', "建议用“nacre review --adopt”移出"),
        dry_run=report.dry_run,
    )


def _summary(job: str, *counted: tuple[int, str, str], dry_run: bool) -> str:
    parts = [f"{say(english, chinese)} {count}" for count, english, chinese in counted if count]
    if not parts:
        return say(f"{job} done, nothing changed.", f"{job} 完成，无变更。")
    done = say("would do", "将进行") if dry_run else say("done", "完成")
    return f"{job} {done}" + say(": ", "：") + say(", ", "，").join(parts) + say(".", "。")


def _step(step: Step) -> str:
    from nacre.tidy.run import action_word

    return f"{action_word(step.action):>10}  {step.path}: {step.detail}\n{'':>12}{step.reason}"


def _facts(report: TidyReport | DecayReport, **about: Any) -> dict[str, Any]:
    names = "action path text reason"
    steps = [{"phase": phase, **fields(step, names, text=step.detail)} for phase, step in report.steps]
    facts = {
        "changed": report.changed,
        "dryRun": report.dry_run,
        **about,
        "steps": steps,
        "counts": dict(report.counts),
    }
    return facts | {"problems": ui.problems_json(report.problems), "left": ui.problems_json(report.left)}


@ui.command('nacre review --accept 7f3a9c41d2 --edit 19c0ffee01 "Use pnpm in every repository"', dry_run=True)
@click.option("--accept", metavar="ID", multiple=True, help="Take it in (or let a faded line go); may be repeated.")
@click.option("--refuse", metavar="ID", multiple=True, help="Leave it out (or keep a faded line); may be repeated.")
@click.option("--pin", metavar="ID", multiple=True, help="Take it in and never let it go; may be repeated.")
@click.option("--edit", nargs=2, metavar="ID TEXT", multiple=True, help="Take it in, in these words; may be repeated.")
@ui.flag("--adopt", "Bring a MEMORY.md that is over its limits under them.")
@ui.flag("--yes", "Do not ask before --adopt.")
def review(
    options: ui.Options, edit: tuple[tuple[str, str], ...], *, adopt: bool, yes: bool, **by_verb: tuple[str, ...]
) -> Iterable[Report]:
    """Answer what "nacre tidy" left to you: clashes, lines that found no room, lines whose time may be over.

    Without options it asks about each where somebody watches, and lists them where not. --adopt moves what does not fit from a
    MEMORY.md that is over its limits into a note, after showing it; "nacre undo" takes it back.
    """
    memory = ui.open_memory(options)
    if adopt:
        return _adopt(options, memory, yes=yes)
    verbs = ("refuse", "accept", "pin")
    answers: list[tuple[str, str, str | None]] = [(id_, verb, None) for verb in verbs for id_ in by_verb[verb]]
    answers += [(id_, "accept", text) for id_, text in edit]
    if answers:
        steps = memory.answer(answers, dry_run=options.dry_run)
        facts = [fields(step, "action path", text=ui.legible(step.detail)) for step in steps]
        lines = [f"{step.action}  {step.path}: {ui.legible(step.detail)}\n    {step.reason}" for step in steps]
        return [Report(facts, lines=lines)]
    questions = memory.questions()
    if questions and sys.stdin.isatty() and sys.stdout.isatty() and not (options.dry_run or options.as_json):
        _ask_each(memory, questions)
        return []
    nothing = ui.every((not questions, "Nothing to review.", "没有待审内容。"))
    return [Report(list(map(question_json, questions)), lines=[*map(question_line, questions), *nothing])]


def question_json(question: Question) -> dict[str, Any]:
    shown = {"text": ui.legible(question.text), "why": ui.legible(question.why)}
    return {**fields(question, "id kind"), **shown, **question.about}


def question_line(question: Question) -> str:
    from nacre.vault.review import kind_title

    title, text, why = kind_title(question.kind), ui.legible(question.text), ui.legible(question.why)
    return f"{question.id}  [{title}] {text}\n            {why}"


def _ask_each(memory: Memory, questions: list[Question]) -> None:
    """One after the other; what is skipped stays open."""
    from nacre.vault.review import FADED

    verbs = {"a": "accept", "r": "refuse", "p": "pin", "e": "accept"}
    keys = click.Choice([*verbs, "s", "q"])
    for question in questions:
        click.echo(question_line(question))
        faded, others = question.kind == FADED, "[e] edit, [p] pin, [s] skip, [q] quit"
        takes = say("let it go", "移除") if faded else say("take it in", "收录")
        leaves = say("keep it", "保留") if faded else say("leave it out", "不收")
        prompt = f"[a] {takes}, [r] {leaves}, " + say(others, "[e] 修改，[p] 固定，[s] 跳过，[q] 退出")
        key = click.prompt(prompt, type=keys, show_choices=False, default="s")
        if key == "q":
            return
        text = click.prompt(say("In these words", "改为"), default=question.text) if key == "e" else None
        if key in verbs:
            memory.answer([(question.id, verbs[key], text)])


def _adopt(options: ui.Options, memory: Memory, *, yes: bool) -> Iterator[Report]:
    facts: list[dict[str, Any]] = []
    lines: list[str] = []
    planned = memory.adopting()
    for plan in planned:
        count, place = len(plan.moving), memory.workspace.relative(plan.note)
        facts.append({"path": plan.shown, "note": place, "moves": [ui.legible(step.detail) for step in plan.steps]})
        lines += [f"  {ui.legible(step.detail)}\n      {step.reason}" for step in plan.steps]
        lines.append(say(f"{plan.shown}: {count} would move to {place}.", f"{plan.shown}：{count} 项将移到 {place}。"))
    fine = say("Every MEMORY.md is within its limits.", "所有 MEMORY.md 都在上限以内。")
    yield Report(facts, lines=lines or [fine])
    if planned and not options.dry_run:
        ui.confirm("Move them?", "现在移动吗？", yes=yes, default=False)
        memory.adopt(planned)
        yield Report(notes=[say('Done; "nacre undo" takes it back.', "完成；可用“nacre undo”撤销。")])
