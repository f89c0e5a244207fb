"""nacre query, vsearch, multi-get: verbs that prompts written for qmd use."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from nacre.cli.base import Command, Invocation, json_option, note, open_memory, print_json
from nacre.cli.qmdstyle import FORMS
from nacre.cli.search import run_search, search_options
from nacre.errors import NacreError, NotFound
from nacre.words import say

if TYPE_CHECKING:
    from nacre.memory import Memory
    from nacre.recall.read import Excerpt


@click.command(cls=Command, epilog='Example:  nacre query "what did we decide about the API?" --files -n 5')
@search_options
def query(invocation: Invocation, **given: Any) -> None:
    """Find memories by words and meaning (as search; the verb that prompts written for qmd use).

    A query of typed lines (intent:, lex:, vec:, hyde:) is searched by the words of all of them.
    """
    run_search(invocation, "hybrid", given)


@click.command(cls=Command, epilog='Example:  nacre vsearch "how we ship to customers"')
@search_options
def vsearch(invocation: Invocation, **given: Any) -> None:
    """Find memories by meaning alone (the verb that prompts written for qmd use)."""
    run_search(invocation, "vector", given)


@click.command("multi-get", cls=Command, epilog='Example:  nacre multi-get "memory/2026-02-*.md" -l 40')
@click.argument("pattern")
@click.option(
    "-l", "--lines", type=click.IntRange(1, 10_000), default=200, show_default=True, help="Most lines of each."
)
@click.option("--max-bytes", type=click.IntRange(1), default=65_536, show_default=True, help="Pass over larger files.")
@click.option("--format", "form", type=click.Choice(FORMS), help="How to print.")
@click.option("--md", "form", flag_value="md", help="Print Markdown.")
@click.option("--files", "form", flag_value="files", help="Print only the paths.")
@json_option
@click.pass_obj
def multi_get(
    invocation: Invocation, *, pattern: str, lines: int, max_bytes: int, form: str | None, as_json: bool
) -> None:
    """Read several memory files at once: those that fit a pattern, or names and #ids between commas (qmd's verb)."""
    memory = open_memory(invocation)
    names = _named(memory, pattern, max_bytes)
    if not names:
        raise NotFound(say(f"No memory file fits {pattern}.", f"没有符合 {pattern} 的记忆文件。"))
    if form == "files":
        for name in names:
            click.echo(name)
        return
    read = list(_read(memory, names, lines))
    if as_json or form == "json":
        print_json(
            [{"path": one.path, "startLine": one.start_line, "text": one.text, "more": one.more} for one in read]
        )
        return
    for one in read:
        head = f"# {one.path}:{one.start_line}\n" if form == "md" else f"==> {one.path}:{one.start_line} <=="
        click.echo(f"{head}\n{one.text}\n")


def _named(memory: Memory, pattern: str, max_bytes: int) -> list[str]:
    """What is meant: names are taken as they are, a pattern is looked for among the files of memory."""
    if not set(pattern) & set("*?["):
        return [name.strip() for name in pattern.split(",") if name.strip()]
    from nacre.vault.files import memory_files

    found = memory_files(memory.workspace, memory.config)
    return sorted(one.path for one in found if one.size <= max_bytes and fnmatch.fnmatchcase(one.path, pattern))


def _read(memory: Memory, names: Sequence[str], lines: int) -> Iterator[Excerpt]:
    for name in names:
        try:
            yield memory.get(name, lines=lines)
        except NacreError as trouble:
            note(str(trouble))
