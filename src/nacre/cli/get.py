"""nacre get: read lines of a memory file or of a session."""

from __future__ import annotations

import click

from nacre.cli.base import Command, Invocation, json_option, open_memory
from nacre.daemon import answers
from nacre.daemon.answers import GetAsked
from nacre.daemon.asking import at_terminal, by_daemon, show


@click.command(cls=Command, epilog="Example:  nacre get memory/2026-02-10.md:14 -l 20")
@click.argument("path")
@click.option("-l", "--lines", type=click.IntRange(1, 10_000), default=20, show_default=True, help="How many lines.")
@click.option("--from", "start", type=click.IntRange(1), help="First line; also PATH:LINE or PATH#L3-L9.")
@json_option
@click.pass_obj
def get(invocation: Invocation, path: str, lines: int, start: int | None, *, as_json: bool) -> None:
    """Read lines of a memory file, or of a session, as search names them."""
    memory = open_memory(invocation, for_groups=True)
    asked = GetAsked(path, lines, start, as_json=as_json, terminal=at_terminal())
    show(by_daemon(memory, asked) or answers.get(memory, asked))
