"""nacre query, vsearch: the verbs of searching that prompts written for qmd use."""

from __future__ import annotations

from typing import Any

import click

from nacre.cli.base import Command, Invocation
from nacre.cli.search import run_search, search_options


@click.command(cls=Command, epilog='Example:  nacre query "what did we decide about the API?"')
@search_options
def query(invocation: Invocation, **given: Any) -> None:
    """Find memories by words and meaning (as search; the verb that prompts written for qmd use)."""
    run_search(invocation, "hybrid", **given)


@click.command(cls=Command, epilog='Example:  nacre vsearch "how we ship to customers"')
@search_options
def vsearch(invocation: Invocation, **given: Any) -> None:
    """Find memories by meaning alone (the verb that prompts written for qmd use)."""
    run_search(invocation, "vector", **given)
