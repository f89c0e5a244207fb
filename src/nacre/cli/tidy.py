"""nacre tidy, decay, review: condense old logs, distil lasting facts, archive the oldest logs, answer open questions."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import click

from nacre.cli import ui
from nacre.i18n import say
from nacre.model import Report, Step, fields
from nacre.text.layout import nested_quotes
from nacre.text.tables import rows

if TYPE_CHECKING:
    from nacre.memory import DecayReport, Memory, Question, TidyReport


@ui.command("nacre tidy --dry-run", dry_run=True)
@ui.flag("--verbose", "-v", "Show every step with its reason, including refused lines.")
def tidy(options: ui.Options, *, verbose: bool) -> Iterator[Report]:
    """Condense old logs into weekly digests, distil lasting facts into MEMORY.md, and archive the condensed logs.

    A line from recent days is kept only if it passes four tests: without it, an agent would make a specific mistake; it matters for many
    sessions; it is clear on its own; and it is new. MEMORY.md never exceeds 80 lines or 5 KB. Running it again changes nothing; "nacre undo"
    reverts a run.
    """
    for memory in ui.open_all(options):
        with ui.waiting("Tidying", "正在整理"):
            made = memory.tidy(dry_run=options.dry_run)
        summary, lines = tidy_summary(made), []
        for phase, step in made.steps:
            news = phase == "distil" and step.action not in ("refuse", "say once", "merge")
            if verbose or options.dry_run or (sys.stdout.isatty() and news):
                lines.append(_step(step))
        yield Report(_facts(made, summary=summary), lines=[*lines, summary], problems=made.problems, left=made.left)


@ui.command("nacre decay --dry-run", dry_run=True)
@ui.flag("--promote-only", "Only promote lasting facts to long-term memory; archive nothing.")
@ui.flag("--verbose", "-v", "Show every step with its reason.")
def decay(options: ui.Options, *, promote_only: bool, verbose: bool) -> Iterator[Report]:
    """Promote lasting facts from the oldest daily logs to long-term memory, then archive those logs (for tidy.retention = "decay").

    Starts when a MEMORY.md exceeds decay.max_lines, there are more than decay.max_files daily logs, or a log is older than decay.keep_days.
    Lines must pass the same four tests as in "nacre tidy"; [TEMP] lines are skipped. Logs move unchanged to
    memory/archive/YYYY-MM/; with archive.compress they become .md.gz, which search, "nacre get" and "nacre forget" can still read.
    "nacre undo" reverts a run.
    """
    for memory in ui.open_all(options):
        with ui.waiting("Tidying", "正在整理"):
            made = memory.decay(promote_only=promote_only, dry_run=options.dry_run)
        summary = decay_summary(made)
        weekly = 'tidy.retention is "weekly", so this only shows what "decay" would do.'
        weekly_chinese = "当前 tidy.retention 为“weekly”；以下只是改用“decay”时会做的操作。"
        lines = [_step(step) for phase, step in made.steps if verbose or options.dry_run or phase == "review"]
        yield Report(
            _facts(made, inForce=made.in_force, summary=summary, occasions=made.occasions),
            heading=[
                *ui.every((not made.in_force, weekly, weekly_chinese)),
                *made.occasions,
                *(problem.message for problem in made.problems),
            ],
            lines=[*lines, summary],
            left=made.left,
        )


def tidy_summary(report: TidyReport | DecayReport, job: str = "memory-tidy") -> str:
    """One line with the counts of a run, and a second about long-term memory when it changed."""
    counts = Counter(report.counts)
    counts["archive"] = sum(counts[f"archive {action}"] for action in ("move", "append", "compress"))
    # What the steps of a phase are called, in this order.
    named = rows("cli/tidy.tsv").items()
    parts = [say(f"{counts[step]} {words[0]}", f"{words[1]} {counts[step]}") for step, words in named if counts[step]]
    if not parts:
        return say(f"{job} done, nothing changed.", f"{job} 完成，无变更。")
    done = say("dry run", "试运行") if report.dry_run else say("done", "完成")
    summary = f"{job} {done}" + say(": ", "：") + say(", ", "，").join(parts) + say(".", "。")
    if report.dry_run or not any(report.changes):
        return summary
    return f"{summary}\n" + say(f"long-term memory: {report.changes.line}", f"长期记忆：{report.changes.line}")


def decay_summary(report: DecayReport) -> str:
    return tidy_summary(report, "memory-decay")


def _step(step: Step) -> str:
    return f"{step.word:>10}  {step.path}: {step.detail}\n{'':>12}{nested_quotes(step.reason)}"


def _facts(report: TidyReport | DecayReport, **about: Any) -> dict[str, Any]:
    names = "phase action path text reason"
    return {
        "changed": report.changed,
        "dryRun": report.dry_run,
        **about,
        "steps": [fields(step, names, phase=phase, text=step.detail) for phase, step in report.steps],
        "counts": dict(report.counts),
        "problems": ui.problems_json(report.problems),
        "left": ui.problems_json(report.left),
    }


@ui.command('nacre review --edit 19c0ffee01 "Use pnpm in every repository"', dry_run=True)
@click.option("--accept", metavar="ID", multiple=True, help="Accept a new line, or keep an old one; may be repeated.")
@click.option("--refuse", metavar="ID", multiple=True, help="Refuse a new line, or remove an old one; may be repeated.")
@click.option("--pin", metavar="ID", multiple=True, help="Accept a line and keep it permanently; may be repeated.")
@click.option(
    "--edit", nargs=2, metavar="ID TEXT", multiple=True, help="Accept a line with this wording; may be repeated."
)
@ui.flag("--adopt", "Make room in a MEMORY.md that is over its limits.")
@ui.flag("--yes", "Do not ask for confirmation with --adopt.")
def review(
    options: ui.Options, edit: tuple[tuple[str, str], ...], *, adopt: bool, yes: bool, **by_verb: tuple[str, ...]
) -> Iterable[Report]:
    """Answer the questions "nacre tidy" left for you: conflicting lines, lines that did not fit, lines that may be outdated.

    On a terminal it asks about each one (k keep, e edit, r refuse, l later); otherwise it lists them. At most three questions are added per
    day, and one unanswered for 30 days counts as refused. --adopt moves what does not fit in MEMORY.md to a note, after showing it;
    "nacre undo" reverts it.
    """
    memory = ui.open_memory(options)
    if adopt:
        return _adopt(options, memory, yes=yes)
    answers = [
        *((id_, verb, None) for verb in ("refuse", "accept", "pin") for id_ in by_verb[verb]),
        *((id_, "accept", text) for id_, text in edit),
    ]
    if answers:
        steps = memory.answer(answers, dry_run=options.dry_run)
        facts = [fields(step, "action path", text=ui.legible(step.detail)) for step in steps]
        return [Report(facts, lines=list(map(_answered, steps)))]
    questions = memory.questions()
    if questions and sys.stdin.isatty() and sys.stdout.isatty() and not (options.dry_run or options.as_json):
        _ask_each(memory, questions)
        return []
    nothing = ui.every((not questions, "Nothing to review.", "没有待确认的问题。"))
    return [Report(list(map(question_json, questions)), lines=[*map(question_line, questions), *nothing])]


def _answered(step: Step) -> str:
    return f"{step.word}  {step.path}: {ui.legible(step.detail)}\n    {nested_quotes(step.reason)}"


def question_json(question: Question) -> dict[str, Any]:
    text, why = ui.legible(question.text), ui.legible(question.why)
    return {**fields(question, "id kind text why", text=text, why=why), **question.about}


def question_line(question: Question) -> str:
    shown = question.shown()
    return f"{question.id}  [{shown['title']}] {shown['text']}\n            {nested_quotes(shown['why'])}"


def _ask_each(memory: Memory, questions: list[Question]) -> None:
    """Ask the questions one by one, each answered with one key."""
    verbs = {"k": "accept", "e": "accept", "r": "refuse"}
    for question in questions:
        click.echo(question_line(question))
        keeps, refuses = map(question.shown().get, ("keeps", "refuses"))
        prompt = f"[k] {keeps}, [e] edit, [r] {refuses}, [l] later, [q] quit: "
        click.echo(say(prompt, f"[k] {keeps}，[e] 修改，[r] {refuses}，[l] 以后再说，[q] 退出："), nl=False)
        # A key may arrive together with Enter, from a paste or an input method.
        while (key := click.getchar().strip().lower()[:1]) not in (*verbs, "l", "q"):
            if key:
                click.echo(say("k, e, r, l or q? ", "请按 k、e、r、l 或 q："), nl=False)
        click.echo(key)
        if key == "q":
            return
        text = click.prompt(say("New wording", "改为"), default=question.text) if key == "e" else None
        if key in verbs:
            click.echo("\n".join(map(_answered, memory.answer([(question.id, verbs[key], text)]))))


def _adopt(options: ui.Options, memory: Memory, *, yes: bool) -> Iterator[Report]:
    facts: list[dict[str, Any]] = []
    lines: list[str] = []
    planned = memory.adopting()
    for plan in planned:
        count, place = len(plan.moving), memory.workspace.relative(plan.note)
        facts.append({"path": plan.shown, "note": place, "moves": [ui.legible(step.detail) for step in plan.steps]})
        lines += [f"  {ui.legible(step.detail)}\n      {step.reason}" for step in plan.steps]
        english = f"{plan.shown}: {ui.plural(count, 'entry')} to move to {place}."
        lines.append(say(english, f"{plan.shown}：{count} 条将移到 {place}。"))
    fine = say("Every MEMORY.md is within its limits.", "所有 MEMORY.md 都在上限以内。")
    yield Report(facts, lines=lines or [fine])
    if planned and not options.dry_run:
        ui.confirm("Move them?", "要移动吗？", yes=yes, default=False)
        memory.adopt(planned)
        yield Report(notes=[say('Moved; "nacre undo" reverts it.', "已移动；可用“nacre undo”撤销。")])
