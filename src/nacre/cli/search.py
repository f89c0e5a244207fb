"""nacre search, get, query, vsearch, multi-get: find and read memories, also by qmd's verbs."""

from __future__ import annotations

import fnmatch
import json
import re
from typing import Any

import click

from nacre.cli import ui
from nacre.daemon import requests
from nacre.daemon.requests import OUT, Printed
from nacre.errors import BadInput, NacreError, NotFound
from nacre.i18n import say
from nacre.model.hit import LAYERS
from nacre.model.report import fields

FORMS = ("cli", "json", "md", "files")
EVERYTHING = 1000  # hits of --all
_TYPED = re.compile(r"(?m)^[ \t]*(?:intent|lex|vec|hyde):[ \t]*")
_IGNORED = ("--full", "--line-numbers", "--full-path", "--no-rerank", "--no-gpu")
_IGNORED_VALUES = (("-C", "--candidate-limit"), ("--intent",), ("--chunk-strategy",), ("--index",))


def run_search(options: ui.Options, mode: str, request: dict[str, Any]) -> None:
    """Answer by the daemon where one runs, else by ourselves: the same words either way.

    Typed lines are searched by their words, collections (memory, sessions, a layer or a folder) narrow it, --all has no limit.
    """
    form, collections, every = (request.pop(name) for name in ("form", "collections", "every"))
    request["query"] = " ".join(_TYPED.sub(" ", word).strip() for word in request["query"])
    if every and request["limit"] is None:
        request["limit"] = EVERYTHING
    request["as_json"] = options.as_json or form in ("json", "md", "files")
    request["layers"] = [*request["layers"], *(name for name in collections if name in LAYERS)]
    sessions = [name for name in collections if name.startswith("sessions")]
    if sessions:
        request["corpus"] = "sessions" if len(sessions) == len(collections) else "all"
    known = {"memory", *LAYERS, *sessions}
    folders = [name for name in collections if name not in known and not name.startswith("memory-")]
    if len(folders) > 1:
        raise BadInput(
            f"Only one folder can be searched at a time; given: {', '.join(folders)}.",
            f"一次只能搜索一个文件夹；给出的有：{'、'.join(folders)}。",
        )
    if folders:
        request["path"] = f"{folders[0].strip('/')}/*"
    request |= {"mode": mode, "here": requests.current_folder(), "terminal": requests.at_terminal()}
    memories = list(ui.open_all(options, for_groups=True))
    printed = requests.ask_daemon(memories[0], "search", request) if len(memories) == 1 else None
    requests.print_output(_printed_as(form, printed or requests.answer_search(memories, **request)))


def _printed_as(form: str | None, printed: Printed) -> Printed:
    """The answer in another form; as it is where none was asked for."""
    if form not in ("md", "files"):
        return printed
    hits = json.loads("".join(text for kind, text in printed.parts if kind == OUT))["results"]
    made = Printed()
    for hit in hits:
        if form == "files":
            made.out(f"#{hit['id']},{hit['score']:.2f},{hit['path']}:{hit['startLine']}")
        else:
            head = f"# {hit['heading'] or hit['path']}\n\n**file:** `{hit['citation']}`\n**docid:** `#{hit['id']}`"
            made.out(f"---\n{head}\n\n{hit['snippet']}\n")
    if not hits:
        made.note(say("Nothing in memory matches.", "记忆中没有匹配的内容。"))
    return made


def search_options(function: Any) -> Any:
    """The options that every verb of searching takes, qmd's too. What has no meaning here is taken and does nothing: a prompt must
    not fail for it."""
    collection = "Only this: memory, sessions, a layer, or a folder; may be repeated."
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
            click.option("--all-projects", is_flag=True, help="Other projects too."),
            click.option("--explain", is_flag=True, help="Show what each score is made of."),
            ui.json_option,
            click.option("--format", "form", type=click.Choice(FORMS), help="How to print."),
            click.option("--md", "form", flag_value="md", help="Print Markdown."),
            click.option("--files", "form", flag_value="files", help="Print one line for each: #id,score,path:line."),
            click.option("-c", "--collection", "collections", multiple=True, metavar="NAME", help=collection),
            click.option("--all", "every", is_flag=True, help="Every match, not only the best."),
            *(click.option(name, is_flag=True, hidden=True, expose_value=False) for name in _IGNORED),
            *(click.option(*names, hidden=True, expose_value=False) for names in _IGNORED_VALUES),
        )
    ):
        function = option(function)
    return function


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
def get(options: ui.Options, path: str, lines: int, start: int | None) -> None:
    """Read lines of a memory file, or of a session, as search names them."""
    memory = ui.open_memory(options, for_groups=True)
    request: dict[str, Any] = {"path": path, "lines": lines, "start": start, "as_json": options.as_json}
    request["terminal"] = requests.at_terminal()
    requests.print_output(requests.ask_daemon(memory, "get", request) or requests.answer_get(memory, **request))


@ui.command('nacre query "what did we decide about the API?" --files -n 5', as_json=False)
@search_options
def query(options: ui.Options, **request: Any) -> None:
    """Find memories by words and meaning (as search; the verb that prompts written for qmd use).

    A query of typed lines (intent:, lex:, vec:, hyde:) is searched by the words of all of them.
    """
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
@click.option("--max-bytes", type=click.IntRange(1), default=65_536, show_default=True, help="Pass over larger files.")
@click.option("--format", "form", type=click.Choice(FORMS), help="How to print.")
@click.option("--md", "form", flag_value="md", help="Print Markdown.")
@click.option("--files", "form", flag_value="files", help="Print only the paths.")
def multi_get(options: ui.Options, *, pattern: str, lines: int, max_bytes: int, form: str | None) -> None:
    """Read several memory files at once: those that fit a pattern, or names and #ids between commas (qmd's verb)."""
    memory = ui.open_memory(options)
    names = [name.strip() for name in pattern.split(",") if name.strip()]
    if set(pattern) & set("*?["):
        small = (file.path for file in memory.files() if file.size <= max_bytes)
        names = sorted(path for path in small if fnmatch.fnmatchcase(path, pattern))
    if not names:
        raise NotFound(f"No memory file fits {pattern}.", f"没有符合 {pattern} 的记忆文件。")
    if form == "files":
        click.echo("\n".join(names))
        return
    excerpts = []
    for name in names:
        try:
            excerpts.append(memory.get(name, lines=lines))
        except NacreError as error:
            ui.note(str(error))
    if options.as_json or form == "json":
        ui.print_json([fields(excerpt, "path start_line text more") for excerpt in excerpts])
        return
    for excerpt in excerpts:
        place = f"{excerpt.path}:{excerpt.start_line}"
        head = f"# {place}\n" if form == "md" else f"==> {place} <=="
        click.echo(f"{head}\n{excerpt.text}\n")
