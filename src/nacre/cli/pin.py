"""nacre pin: keep an entry of MEMORY.md whatever happens."""

from __future__ import annotations

import click

from nacre.cli.base import Command, Invocation, dry_run_option, json_option, note, open_memory, print_json
from nacre.guard.showing import legible
from nacre.words import say


@click.command(cls=Command, epilog="Example:  nacre pin MEMORY.md:9")
@click.argument("what", metavar="ID|FILE:LINE", nargs=-1, required=True)
@click.option("--off", is_flag=True, help="Take the pin out.")
@dry_run_option
@json_option
@click.pass_obj
def pin(invocation: Invocation, what: tuple[str, ...], *, off: bool, dry_run: bool, as_json: bool) -> None:
    """Pin an entry of a MEMORY.md: it is never demoted or merged away. The file itself is not changed."""
    made = open_memory(invocation).pin(" ".join(what), off=off, dry_run=dry_run)
    line = made.line
    text = legible(line.text)
    if as_json:
        changed = bool(made.records) and not dry_run
        print_json({"path": line.path, "line": line.start, "text": text, "pinned": made.pinned, "changed": changed})
        return
    if not made.records:
        note(say("It is pinned already.", "它已经固定。") if made.pinned else say("It is not pinned.", "它没有固定。"))
    elif dry_run:
        note(say("Would be pinned.", "将固定。") if made.pinned else say("Would be unpinned.", "将取消固定。"))
    else:
        note(say("Pinned.", "已固定。") if made.pinned else say("No longer pinned.", "已取消固定。"))
    click.echo(f"{line.place}\t{text}")
