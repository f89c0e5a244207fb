"""nacre checkpoint: a whole conversation into the hot layer."""

from __future__ import annotations

import os

import click

from nacre.cli.base import Command, Invocation, dry_run_option, json_option, note, open_memory, piped, print_json
from nacre.words import say


@click.command(cls=Command, epilog="Example:  nacre checkpoint 61871d67")
@click.argument("session", required=False)
@click.option("--title", metavar="TEXT", help="What text from a pipe is called.")
@dry_run_option
@json_option
@click.pass_obj
def checkpoint(invocation: Invocation, session: str | None, title: str | None, *, dry_run: bool, as_json: bool) -> None:
    """Write a whole conversation to memory_fs/hot, with its secrets blacked out.

    SESSION is the beginning of a session's id; without it the talk that went on last (or OPENCLAW_SESSION_ID). "-" takes text,
    or what an agent's hook says, from a pipe. The same talk again brings its file up to date.
    """
    memory = open_memory(invocation)
    text = piped() if session == "-" else None
    wanted = None if text is not None else session or os.environ.get("OPENCLAW_SESSION_ID")
    done = memory.checkpoint(wanted, text=text, title=title, dry_run=dry_run)
    if as_json:
        print_json({"path": done.path, "changed": done.changed, "dryRun": dry_run})
        return
    if dry_run:
        note(say("Would be written:", "将写入："))
    elif not done.changed:
        note(say("Already there, unchanged:", "已存在，没有变化："))
    click.echo(done.path)
