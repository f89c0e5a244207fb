"""nacre get: read lines of a memory file or of a session."""

from __future__ import annotations

import click

from nacre.cli.base import Command, Invocation, json_option, note, open_memory, print_json
from nacre.words import say


@click.command(cls=Command, epilog="Example:  nacre get memory/2026-02-10.md:14 -l 20")
@click.argument("path")
@click.option("-l", "--lines", type=click.IntRange(1, 10_000), default=20, show_default=True, help="How many lines.")
@click.option("--from", "start", type=click.IntRange(1), help="First line; also PATH:LINE or PATH#L3-L9.")
@json_option
@click.pass_obj
def get(invocation: Invocation, path: str, lines: int, start: int | None, *, as_json: bool) -> None:
    """Read lines of a memory file, or of a session, as search names them."""
    memory = open_memory(invocation, for_groups=True)
    excerpt = memory.get(path, start, lines)
    for problem in memory.problems:
        if problem.kind == "not counted":
            note(problem.message)
    if as_json:
        print_json(
            {
                "path": excerpt.path,
                "startLine": excerpt.start_line,
                "endLine": excerpt.end_line,
                "text": excerpt.text,
                "more": excerpt.more,
            }
        )
        return
    click.echo(excerpt.text)
    if excerpt.more:
        after = f"{excerpt.path}:{excerpt.end_line + 1}"
        note(say(f'The file goes on; next: "nacre get {after}"', f"后面还有内容；继续：“nacre get {after}”"))
