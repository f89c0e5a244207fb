"""nacre search: find memories."""

from __future__ import annotations

from typing import Any

import click

from nacre.cli.base import Command, Invocation, json_option, open_all
from nacre.cli.qmdstyle import in_our_words, printed_as, qmd_options
from nacre.daemon import answers
from nacre.daemon.answers import SearchAsked
from nacre.daemon.asking import at_terminal, by_daemon, here, show
from nacre.model.layers import LAYERS


def search_options(function: Any) -> Any:
    """The options that every verb of searching takes."""
    for option in reversed(
        (
            click.argument("query", nargs=-1, required=True),
            click.option("-n", "--limit", type=click.IntRange(1, 1000), help="How many results at most."),
            click.option("--min-score", type=float, help="Lowest score shown; 0 ranks and never abstains."),
            click.option("--since", metavar="DAY", help="Only from this day on (2026-02-01, or 7d for the last week)."),
            click.option("--until", metavar="DAY", help="Only up to this day."),
            click.option(
                "--layer", "layers", multiple=True, type=click.Choice(LAYERS), help="Only this layer; may be repeated."
            ),
            click.option("--type", "kind", metavar="TYPE", help="Only entries of this type or category: PREF, 决策 …"),
            click.option("--tag", help="Only what carries this tag."),
            click.option("--path", metavar="GLOB", help="Only files that fit, such as memory/weekly/*."),
            click.option(
                "--project", help="This project and what belongs to none; default: the project of the current folder."
            ),
            click.option(
                "--corpus",
                type=click.Choice(["memory", "sessions", "all"]),
                default="memory",
                show_default=True,
                help="What to search: memory, the transcripts themselves (see the setting index.sessions), or both.",
            ),
            click.option("--all-projects", is_flag=True, help="Other projects too."),
            click.option("--explain", is_flag=True, help="Show what each score is made of."),
            json_option,
            qmd_options,
            click.pass_obj,
        )
    ):
        function = option(function)
    return function


@click.command(cls=Command, epilog='Example:  nacre search "who owns billing?" -n 3 --since 30d')
@click.option(
    "--mode", type=click.Choice(["hybrid", "text", "vector"]), default="hybrid", show_default=True, help="How to look."
)
@search_options
def search(invocation: Invocation, mode: str, **given: Any) -> None:
    """Find memories by words and meaning.

    Every hit names its file and lines; "nacre get FILE:LINE" reads them.
    """
    run_search(invocation, mode, given)


def run_search(invocation: Invocation, mode: str, given: dict[str, Any]) -> None:
    """Answer by the daemon where one runs, else by ourselves: the same words either way."""
    asked = SearchAsked(mode=mode, here=here(), terminal=at_terminal(), **in_our_words(given))
    memories = list(open_all(invocation, for_groups=True))
    printed = by_daemon(memories[0], asked) if len(memories) == 1 else None
    show(printed_as(given["form"], printed or answers.search(memories, asked)))
