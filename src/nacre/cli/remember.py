"""nacre remember, extract, classify: write something down, or say what kind of memory it is."""

from __future__ import annotations

import click

from nacre.cli.base import Command, Invocation, dry_run_option, json_option, note, open_memory, piped, print_json, table
from nacre.errors import BadInput
from nacre.i18n import say
from nacre.memory import Memory
from nacre.model.entry import EVERYWHERE, TYPES


@click.command(cls=Command, epilog='Example:  nacre remember "Use pnpm, never npm" --type PREF')
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
@dry_run_option
@json_option
@click.pass_obj
def remember(
    invocation: Invocation,
    text: tuple[str, ...],
    kind: str | None,
    project: str | None,
    *,
    everywhere: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Write one thing down in today's log, at once. Text from a pipe: "nacre remember -".

    It is given to agents in the project of the current folder; with --global, to all.

    A secret is refused (exit code 13) and never repeated in the message.
    """
    if everywhere and project is not None:
        raise click.UsageError(
            say("--project and --global exclude each other.", "--project 与 --global 不能同时使用。")
        )
    words = piped() if text == ("-",) else " ".join(text)
    memory = open_memory(invocation)
    entry = memory.remember(words, kind, project=EVERYWHERE if everywhere else project or None, dry_run=dry_run)
    if as_json:
        print_json(
            {
                "path": entry.path,
                "line": entry.line,
                "type": entry.type,
                "text": entry.text,
                "already": entry.already,
                "project": entry.project or None,
                "dryRun": dry_run,
            }
        )
        return
    where = f"{entry.path}:{entry.line}" if entry.line else entry.path
    if entry.project:
        where += say(f", for the project {entry.project}", f"，属于项目 {entry.project}")
    if entry.already:
        note(f"Already there: {where}", f"已经记过：{where}")
    elif dry_run:
        note(f"Would be written to {where}", f"将写入 {where}")
    else:
        note(f"Written to {where}", f"已写入 {where}")
    click.echo(f"- [{entry.type}] {entry.text}" if entry.type else f"- {entry.text}")


# nacre extract: what of a text is worth remembering.


@click.command(cls=Command, epilog='Example:  nacre extract "we moved to pnpm, never use npm here again"')
@click.argument("text", nargs=-1, required=True)
@click.option("--auto", is_flag=True, help="Write what was found into today's log.")
@dry_run_option
@json_option
@click.pass_obj
def extract(invocation: Invocation, text: tuple[str, ...], *, auto: bool, dry_run: bool, as_json: bool) -> None:
    """Say what of a text is worth remembering, each line with its type; "-" takes the text from a pipe.

    With --auto the lines go into today's log, those that stand there already not again. No model server is asked and nothing
    leaves this machine.
    """
    words = piped() if text == ("-",) else " ".join(text)
    memory = open_memory(invocation)
    found = memory.extract(words, write=auto and not dry_run)
    if as_json:
        rows = [{"text": one.text, "type": one.type} for one in found]
        print_json({"lines": rows, "written": auto and not dry_run and bool(found)})
        return
    for one in found:
        click.echo(f"- {one.line}")
    if not found:
        note("Nothing in it is worth a line.", "其中没有值得记录的内容。")


# nacre classify: what kind of memory lines are.


@click.command(cls=Command, epilog='Example:  nacre classify "Reports are written in Typst"')
@click.argument("text", nargs=-1)
@click.option("--summary", is_flag=True, help="Only count the lines of the daily logs by type.")
@click.option("--apply", "do_apply", is_flag=True, help="Put the type before the lines of notes that have none.")
@dry_run_option
@json_option
@click.pass_obj
def classify(
    invocation: Invocation, text: tuple[str, ...], *, summary: bool, do_apply: bool, dry_run: bool, as_json: bool
) -> None:
    """Say what kind of memory a text is: PREF, PROJ, TECH, LESSON, PEOPLE or TEMP.

    Without TEXT: the bullets of the daily logs that carry no type yet, each with the one it would get. Nothing is changed unless
    --apply is given; undo takes it back.
    """
    if text and (summary or do_apply):
        raise BadInput(
            "--summary and --apply are for the daily logs; leave the text out.",
            "--summary 和 --apply 用于每日日志；请不要同时给出文本。",
        )
    memory = open_memory(invocation)
    if text:
        _one(memory, " ".join(text), as_json=as_json)
        return
    lines = memory.untyped(apply=do_apply and not dry_run)
    if summary:
        _summary(memory, as_json=as_json)
    elif as_json:
        rows = [{"path": one.path, "line": one.line, "type": one.type, "text": one.text} for one in lines]
        print_json({"lines": rows, "applied": do_apply and not dry_run})
    else:
        table([f"{one.path}:{one.line}", one.type or "", one.text] for one in lines)
    if as_json:
        return
    if not lines:
        note("Every line of a note has its type.", "每一行笔记都有类型。")
    elif do_apply and not dry_run:
        note(f"Lines that were given their type: {len(lines)}.", f"已为 {len(lines)} 行标注类型。")


def _one(memory: Memory, words: str, *, as_json: bool) -> None:
    if not words.strip():
        raise BadInput("There is nothing to classify: the text is empty.", "没有可分类的内容：文本为空。")
    kind, category = memory.classify(words), memory.category(words)
    if as_json:
        print_json({"text": words, "type": kind, "category": category})
    else:
        click.echo(f"{kind}\t{category}")


def _summary(memory: Memory, *, as_json: bool) -> None:
    from nacre.capture.extract import count_types

    counts = count_types(memory.workspace, memory.brain)
    if as_json:
        print_json({"counts": dict(counts.most_common())})
    else:
        table(([kind, str(count)] for kind, count in counts.most_common()), (say("Type", "类型"), say("Lines", "行数")))
