"""nacre classify: what kind of memory lines are."""

from __future__ import annotations

from collections import Counter

import click

from nacre.cli.base import Command, Invocation, dry_run_option, json_option, note, open_memory, print_json, table
from nacre.words import say


@click.command(cls=Command, epilog='Example:  nacre classify "Reports are written in Typst"')
@click.argument("text", nargs=-1)
@click.option("--summary", is_flag=True, help="Only count the lines of the logs by type.")
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
    memory = open_memory(invocation)
    if text:
        words = " ".join(text)
        kind, category = memory.classify(words), memory.category(words)
        if as_json:
            print_json({"text": words, "type": kind, "category": category})
        else:
            click.echo(f"{kind}\t{category}")
        return
    lines = memory.untyped(apply=do_apply and not dry_run)
    if as_json:
        rows = [{"path": one.path, "line": one.line, "type": one.type, "text": one.text} for one in lines]
        print_json({"lines": rows, "applied": do_apply and not dry_run})
        return
    if summary:
        counts = Counter(one.type or "-" for one in lines)
        table(([kind, str(count)] for kind, count in counts.most_common()), (say("Type", "类型"), say("Lines", "行数")))
    else:
        table([f"{one.path}:{one.line}", one.type or "", one.text] for one in lines)
    if not lines:
        note(say("Every line has its type.", "每一行都有类型。"))
    elif do_apply and not dry_run:
        note(say(f"{len(lines)} lines were given their type.", f"已为 {len(lines)} 行标注类型。"))
