"""nacre context: what a new session is given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from nacre.cli.base import Command, Invocation, json_option, note, open_memory, print_json
from nacre.daemon import requests
from nacre.daemon.requests import ask_daemon, at_terminal, current_folder, print_output

if TYPE_CHECKING:
    from nacre.memory import Memory


@click.command(cls=Command, epilog='Example:  nacre context --budget 4000 --query "the release of shop-api"')
@click.option(
    "--budget", type=click.IntRange(1), metavar="TOKENS", help="Most tokens; default: the setting context.budget."
)
@click.option("--query", metavar="TEXT", help="What the session is about: what answers it is given too.")
@click.option("--project", help="This project and what belongs to none; default: the project of the current folder.")
@click.option("--all", "all_files", is_flag=True, help="USER.md and IDENTITY.md too, for agents that do not read them.")
@click.option(
    "--mode",
    type=click.Choice(["text", "hybrid", "vector"]),
    default="text",
    show_default=True,
    help="How to look for what answers.",
)
@click.option("--last", is_flag=True, help="Show what was given last.")
@click.option("--verbose", "-v", is_flag=True, help="Say what was left out, and why.")
@json_option
@click.pass_obj
def context(
    invocation: Invocation,
    *,
    budget: int | None,
    query: str | None,
    project: str | None,
    all_files: bool,
    mode: str,
    last: bool,
    verbose: bool,
    as_json: bool,
) -> None:
    """Print what a new session should know, within a budget of tokens.

    In this order: working state, long-term memory, what answers the query, today, yesterday, hot checkpoints. Only of the project of
    the current folder and of none; in a group only what is its own or public. What is given here does not count as recalled.
    """
    memory = open_memory(invocation, for_groups=True)
    if last:
        _show_last(memory, as_json=as_json)
        return
    asked: dict[str, Any] = {
        "budget": budget,
        "query": query,
        "project": project,
        "all_files": all_files,
        "mode": mode,
        "verbose": verbose,
        "as_json": as_json,
        "here": current_folder(),
        "terminal": at_terminal(),
    }
    print_output(ask_daemon(memory, "context", asked) or requests.answer_context(memory, **asked))


def _show_last(memory: Memory, *, as_json: bool) -> None:
    from nacre.vault import injected

    scope = "main" if memory.scope.group is None else f"group:{memory.scope.group}"
    found = injected.last_pack(memory.workspace, scope)
    if as_json:
        print_json({**found[0], "text": found[1]} if found else None)
        return
    if not found:
        note("Nothing was given yet, or it is not noted.", "尚未提供过内容，或没有记录。")
        return
    pack, text = found
    click.echo(text, nl=False)
    at, whom = pack.get("at"), pack["scope"]
    hook = f"{pack['hook']}, {pack.get('agent')}" if pack.get("hook") else ""
    note(
        f"Given at {at} to {whom}{hook and f' ({hook})'}, {pack.get('tokens')} tokens.",
        f"{at} 提供给 {whom}{hook and f'（{hook}）'}，{pack.get('tokens')} 个 token。",
    )
