"""nacre remember, extract, classify: write something down, or say what kind of memory it is."""

from __future__ import annotations

import click

from nacre.cli import ui
from nacre.errors import BadInput
from nacre.i18n import say
from nacre.model.entry import EVERYWHERE, TYPES
from nacre.model.report import Report, fields


@ui.command('nacre remember "Use pnpm, never npm" --type PREF', dry_run=True)
@click.argument("text", nargs=-1, required=True)
@click.option("--type", "kind", metavar="|".join(TYPES), help="What kind of memory it is.")
@click.option(
    "--project",
    is_flag=False,
    flag_value="",
    metavar="[NAME]",
    help="The project that it is about; without a name, and by default, that of the current folder.",
)
@click.option("--global", "everywhere", is_flag=True, help="It holds in every project.")
def remember(
    options: ui.Options, text: tuple[str, ...], kind: str | None, project: str | None, *, everywhere: bool
) -> Report:
    """Write one thing down in today's log, at once. Text from a pipe: "nacre remember -".

    It is given to agents in the project of the current folder; with --global, to all.

    A secret is refused (exit code 13) and never repeated in the message.
    """
    if everywhere and project is not None:
        raise click.UsageError(
            say("--project and --global exclude each other.", "--project 与 --global 不能同时使用。")
        )
    words = ui.words_of(text)
    project = EVERYWHERE if everywhere else project or None
    entry = ui.open_memory(options).remember(words, kind, project=project, dry_run=options.dry_run)
    where = f"{entry.path}:{entry.line}" if entry.line else entry.path
    where += ui.first((entry.project, f", for the project {entry.project}", f"，属于项目 {entry.project}"))
    outcome = ui.done(f"written to {where}", f"写入 {where}", dry_run=options.dry_run)
    if entry.already:
        outcome = say(f"Already there: {where}", f"已经记过：{where}")
    facts = fields(entry, "path line type text already", project=entry.project or None, dryRun=options.dry_run)
    line = f"- [{entry.type}] {entry.text}" if entry.type else f"- {entry.text}"
    return Report(facts, heading=[outcome], lines=[line])


@ui.command('nacre extract "we moved to pnpm, never use npm here again"', dry_run=True)
@click.argument("text", nargs=-1, required=True)
@click.option("--auto", is_flag=True, help="Write what was found into today's log.")
def extract(options: ui.Options, text: tuple[str, ...], *, auto: bool) -> Report:
    """Say what of a text is worth remembering, each line with its type; "-" takes the text from a pipe.

    With --auto the lines go into today's log, those that stand there already not again. No model server is asked and nothing
    leaves this machine.
    """
    words, write = ui.words_of(text), auto and not options.dry_run
    bullets = ui.open_memory(options).extract(words, write=write)
    notes = ui.every((not bullets, "Nothing in it is worth a line.", "其中没有值得记录的内容。"))
    facts = {"lines": [fields(bullet, "text type") for bullet in bullets], "written": write and bool(bullets)}
    lines = [f"- {bullet.line}" for bullet in bullets]
    return Report(facts, lines=lines, notes=notes)


@ui.command('nacre classify "Reports are written in Typst"', dry_run=True)
@click.argument("text", nargs=-1)
@click.option("--summary", is_flag=True, help="Only count the lines of the daily logs by type.")
@click.option("--apply", "do_apply", is_flag=True, help="Put the type before the lines of notes that have none.")
def classify(options: ui.Options, text: tuple[str, ...], *, summary: bool, do_apply: bool) -> Report:
    """Say what kind of memory a text is: PREF, PROJ, TECH, LESSON, PEOPLE or TEMP.

    Without TEXT: the bullets of the daily logs that carry no type yet, each with the one it would get. Nothing is changed unless
    --apply is given; undo takes it back.
    """
    if text and (summary or do_apply):
        raise BadInput(
            "--summary and --apply are for the daily logs; leave the text out.",
            "--summary 和 --apply 用于每日日志；请不要同时给出文本。",
        )
    memory = ui.open_memory(options)
    if text:
        words = " ".join(text)
        if not words.strip():
            raise BadInput("There is nothing to classify: the text is empty.", "没有可分类的内容：文本为空。")
        kind, category = memory.classify(words), memory.category(words)
        return Report({"text": words, "type": kind, "category": category}, lines=[f"{kind}\t{category}"])
    apply = do_apply and not options.dry_run
    lines = memory.untyped(apply=apply)
    notes = ui.every(
        (not lines, "Every line of a note has its type.", "每一行笔记都有类型。"),
        (lines and apply, f"Lines that were given their type: {len(lines)}.", f"已为 {len(lines)} 行标注类型。"),
    )
    if summary:
        counts = dict(memory.count_types().most_common())
        counted = [(kind, str(count)) for kind, count in counts.items()]
        return Report(
            {"counts": counts}, lines=counted, columns=(say("Type", "类型"), say("Lines", "行数")), notes=notes
        )
    facts = {"lines": [fields(line, "path line type text") for line in lines], "applied": apply}
    rows = [(f"{line.path}:{line.line}", line.type or "", line.text) for line in lines]
    return Report(facts, lines=rows, notes=notes)
