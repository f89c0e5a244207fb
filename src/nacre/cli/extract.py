"""nacre extract: what of a text is worth remembering."""

from __future__ import annotations

import click

from nacre.cli.base import Command, Invocation, dry_run_option, json_option, note, open_memory, piped, print_json
from nacre.words import say


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
        note(say("Nothing in it is worth a line.", "其中没有值得记录的内容。"))
