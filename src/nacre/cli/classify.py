"""nacre classify: what kind of memory lines are."""

from __future__ import annotations

import click

from nacre.cli.base import Command, Invocation, dry_run_option, json_option, note, open_memory, print_json, table
from nacre.errors import BadInput
from nacre.memory import Memory
from nacre.words import say


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
            say(
                "--summary and --apply are for the daily logs; leave the text out.",
                "--summary 和 --apply 用于每日日志；请不要同时给出文本。",
            )
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
        note(say("Every line of a note has its type.", "每一行笔记都有类型。"))
    elif do_apply and not dry_run:
        note(say(f"Lines that were given their type: {len(lines)}.", f"已为 {len(lines)} 行标注类型。"))


def _one(memory: Memory, words: str, *, as_json: bool) -> None:
    if not words.strip():
        raise BadInput(say("There is nothing to classify: the text is empty.", "没有可分类的内容：文本为空。"))
    kind, category = memory.classify(words), memory.category(words)
    if as_json:
        print_json({"text": words, "type": kind, "category": category})
    else:
        click.echo(f"{kind}\t{category}")


def _summary(memory: Memory, *, as_json: bool) -> None:
    from nacre.capture.classify import counted

    counts = counted(memory.workspace, memory.brain)
    if as_json:
        print_json({"counts": dict(counts.most_common())})
    else:
        table(([kind, str(count)] for kind, count in counts.most_common()), (say("Type", "类型"), say("Lines", "行数")))
