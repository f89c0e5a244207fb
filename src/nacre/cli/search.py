"""nacre search, get, query, vsearch, multi-get: find and read memories, also by qmd's verbs."""

from __future__ import annotations

import fnmatch
from typing import Any

import click

from nacre.cli import ui
from nacre.daemon import requests
from nacre.errors import NacreError, NotFound
from nacre.model.hit import LAYERS
from nacre.model.report import Note, Report, fields

_OPTIONS = (
    click.argument("query", nargs=-1, required=True),
    click.option("-n", "--limit", type=click.IntRange(1, 1000), help="How many results at most."),
    click.option("--min-score", type=float, help="Lowest score shown; 0 ranks and never abstains."),
    click.option("--since", metavar="DAY", help="Only from this day on (2026-02-01, or 7d for the last week)."),
    click.option("--until", metavar="DAY", help="Only up to this day."),
    click.option(
        "--layer", "layers", multiple=True, type=click.Choice(LAYERS), help="Only this layer; may be repeated."
    ),
    click.option("--type", metavar="TYPE", help="Only entries of this type or category: PREF, 决策 …"),
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
    ui.flag("--all-projects", "Other projects too."),
    ui.flag("--explain", "Show what each score is made of."),
    ui.json_option,
)


def search_options(function: Any) -> Any:
    """The options that every verb of searching takes."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def run_search(options: ui.Options, mode: str, request: dict[str, Any]) -> None:
    """Answer by the daemon where one runs, else by ourselves: the same words either way."""
    request |= {"query": " ".join(request["query"]), "mode": mode, "as_json": options.as_json}
    request |= {"here": requests.current_folder(), "terminal": requests.at_terminal()}
    memories = list(ui.open_all(options, for_groups=True))
    printed = requests.ask_daemon(memories[0], "search", request) if len(memories) == 1 else None
    requests.print_output(printed or requests.answer_search(memories, **request))


@ui.command('nacre search "who owns billing?" -n 3 --since 30d', as_json=False)
@click.option(
    "--mode", type=click.Choice(["hybrid", "text", "vector"]), default="hybrid", show_default=True, help="How to look."
)
@search_options
def search(options: ui.Options, mode: str, **request: Any) -> None:
    """Find memories by words and meaning.

    Every hit names its file and lines; "nacre get FILE:LINE" reads them.
    """
    run_search(options, mode, request)


@ui.command("nacre get memory/2026-02-10.md:14 -l 20")
@click.argument("path")
@click.option("-l", "--lines", type=click.IntRange(1, 10_000), default=20, show_default=True, help="How many lines.")
@click.option("--from", "start", type=click.IntRange(1), help="First line; also PATH:LINE or PATH#L3-L9.")
def get(options: ui.Options, **request: Any) -> None:
    """Read lines of a memory file, or of a session, as search names them."""
    memory = ui.open_memory(options, for_groups=True)
    request |= {"as_json": options.as_json, "terminal": requests.at_terminal()}
    requests.print_output(requests.ask_daemon(memory, "get", request) or requests.answer_get(memory, **request))


@ui.command('nacre query "what did we decide about the API?" -n 5', as_json=False)
@search_options
def query(options: ui.Options, **request: Any) -> None:
    """Find memories by words and meaning (as search; the verb that prompts written for qmd use)."""
    run_search(options, "hybrid", request)


@ui.command('nacre vsearch "how we ship to customers"', as_json=False)
@search_options
def vsearch(options: ui.Options, **request: Any) -> None:
    """Find memories by meaning alone (the verb that prompts written for qmd use)."""
    run_search(options, "vector", request)


@ui.command('nacre multi-get "memory/2026-02-*.md" -l 40', "multi-get")
@click.argument("pattern")
@click.option(
    "-l", "--lines", type=click.IntRange(1, 10_000), default=200, show_default=True, help="Most lines of each."
)
def multi_get(options: ui.Options, pattern: str, lines: int) -> Report:
    """Read several memory files at once: those that fit a pattern, or names and #ids between commas (qmd's verb)."""
    memory = ui.open_memory(options)
    names = [name.strip() for name in pattern.split(",") if name.strip()]
    if set(pattern) & set("*?["):
        names = sorted(file.path for file in memory.files() if fnmatch.fnmatchcase(file.path, pattern))
    if not names:
        raise NotFound(f"No memory file fits {pattern}.", f"没有符合 {pattern} 的记忆文件。")
    facts: list[dict[str, Any]] = []
    shown: list[str] = []
    for name in names:
        try:
            excerpt = memory.get(name, lines=lines)
        except NacreError as error:
            shown.append(Note(error))
            continue
        facts.append(fields(excerpt, "path start_line text more"))
        shown.append(f"==> {excerpt.path}:{excerpt.start_line} <==\n{excerpt.text}\n")
    return Report(facts, lines=shown)
