"""nacre search, get, query, vsearch, multi-get: find and read memories, also by qmd's verbs."""

from __future__ import annotations

import fnmatch
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from nacre.cli.base import Command, Invocation, json_option, note, open_all, open_memory, print_json
from nacre.daemon import requests
from nacre.daemon.requests import (
    OUT,
    Printed,
    ask_daemon,
    at_terminal,
    current_folder,
    print_output,
)
from nacre.errors import BadInput, NacreError, NotFound
from nacre.i18n import say
from nacre.model.hit import LAYERS

if TYPE_CHECKING:
    from nacre.memory import Memory
    from nacre.search.read import Excerpt


FORMS = ("cli", "json", "md", "files")
EVERYTHING = 1000  # hits of --all
_TYPED = re.compile(r"(?m)^[ \t]*(?:intent|lex|vec|hyde):[ \t]*")
_IGNORED = ("--full", "--line-numbers", "--full-path", "--no-rerank", "--no-gpu")
_IGNORED_VALUES = (("-C", "--candidate-limit"), ("--intent",), ("--chunk-strategy",), ("--index",))


def qmd_options(function: Any) -> Any:
    """What qmd's searches take beside ours. What has no meaning here is taken and does nothing: a prompt must not fail for it."""
    about = "Only this: memory, sessions, a layer, or a folder; may be repeated."
    for option in reversed(
        (
            click.option("--format", "form", type=click.Choice(FORMS), help="How to print."),
            click.option("--md", "form", flag_value="md", help="Print Markdown."),
            click.option("--files", "form", flag_value="files", help="Print one line for each: #id,score,path:line."),
            click.option("-c", "--collection", "collections", multiple=True, metavar="NAME", help=about),
            click.option("--all", "every", is_flag=True, help="Every match, not only the best."),
            *(click.option(name, is_flag=True, hidden=True, expose_value=False) for name in _IGNORED),
            *(click.option(*names, hidden=True, expose_value=False) for names in _IGNORED_VALUES),
        )
    ):
        function = option(function)
    return function


def in_our_words(given: Mapping[str, Any]) -> dict[str, Any]:
    """A search as we ask it: typed lines are searched by their words, collections narrow it, --all has no limit."""
    told = {name: value for name, value in given.items() if name not in ("form", "collections", "every")}
    told["query"] = " ".join(_TYPED.sub(" ", word).strip() for word in given["query"])
    told["layers"] = list(given["layers"])
    if given["every"] and given["limit"] is None:
        told["limit"] = EVERYTHING
    told["as_json"] = given["as_json"] or given["form"] in ("json", "md", "files")
    return told | _narrowed(given["collections"], told["layers"])


def _narrowed(collections: Sequence[str], layers: Sequence[str]) -> dict[str, Any]:
    """Where to look, by the names of collections: ours are memory and sessions; a layer or a folder narrows memory further."""
    told: dict[str, Any] = {}
    named = [name for name in collections if name in LAYERS]
    talks = [name for name in collections if name.startswith("sessions")]
    folders = [
        name for name in collections if name not in (*named, *talks, "memory") and not name.startswith("memory-")
    ]
    if named:
        told["layers"] = [*layers, *named]
    if talks:
        told["corpus"] = "sessions" if len(talks) == len(collections) else "all"
    if len(folders) > 1:
        raise BadInput(
            f"Only one folder can be searched at a time; given: {', '.join(folders)}.",
            f"一次只能搜索一个文件夹；给出的有：{'、'.join(folders)}。",
        )
    if folders:
        told["path"] = f"{folders[0].strip('/')}/*"
    return told


def printed_as(form: str | None, printed: Printed) -> Printed:
    """The answer in another form; as it is where none was asked for."""
    if form not in ("md", "files"):
        return printed
    found = json.loads("".join(text for kind, text in printed.parts if kind == OUT))["results"]
    made = Printed()
    for line in _as_files(found) if form == "files" else _as_markdown(found):
        made.out(line)
    if not found:
        made.note(say("Nothing in memory matches.", "记忆中没有匹配的内容。"))
    return made


def _as_files(hits: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for hit in hits:
        yield f"#{hit['id']},{hit['score']:.2f},{hit['path']}:{hit['startLine']}"


def _as_markdown(hits: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for hit in hits:
        yield f"---\n# {hit['heading'] or hit['path']}\n\n**file:** `{hit['citation']}`\n**docid:** `#{hit['id']}`\n\n{hit['snippet']}\n"


# nacre search: find memories.


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
    asked = in_our_words(given) | {"mode": mode, "here": current_folder(), "terminal": at_terminal()}
    memories = list(open_all(invocation, for_groups=True))
    printed = ask_daemon(memories[0], "search", asked) if len(memories) == 1 else None
    print_output(printed_as(given["form"], printed or requests.answer_search(memories, **asked)))


# nacre get: read lines of a memory file or of a session.


@click.command(cls=Command, epilog="Example:  nacre get memory/2026-02-10.md:14 -l 20")
@click.argument("path")
@click.option("-l", "--lines", type=click.IntRange(1, 10_000), default=20, show_default=True, help="How many lines.")
@click.option("--from", "start", type=click.IntRange(1), help="First line; also PATH:LINE or PATH#L3-L9.")
@json_option
@click.pass_obj
def get(invocation: Invocation, path: str, lines: int, start: int | None, *, as_json: bool) -> None:
    """Read lines of a memory file, or of a session, as search names them."""
    memory = open_memory(invocation, for_groups=True)
    asked: dict[str, Any] = {
        "path": path,
        "lines": lines,
        "start": start,
        "as_json": as_json,
        "terminal": at_terminal(),
    }
    print_output(ask_daemon(memory, "get", asked) or requests.answer_get(memory, **asked))


# nacre query, vsearch, multi-get: verbs that prompts written for qmd use.


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
    names = _named_files(memory, pattern, max_bytes)
    if not names:
        raise NotFound(f"No memory file fits {pattern}.", f"没有符合 {pattern} 的记忆文件。")
    if form == "files":
        for name in names:
            click.echo(name)
        return
    read = list(_read_files(memory, names, lines))
    if as_json or form == "json":
        print_json(
            [{"path": one.path, "startLine": one.start_line, "text": one.text, "more": one.more} for one in read]
        )
        return
    for one in read:
        head = f"# {one.path}:{one.start_line}\n" if form == "md" else f"==> {one.path}:{one.start_line} <=="
        click.echo(f"{head}\n{one.text}\n")


def _named_files(memory: Memory, pattern: str, max_bytes: int) -> list[str]:
    """What is meant: names are taken as they are, a pattern is looked for among the files of memory."""
    if not set(pattern) & set("*?["):
        return [name.strip() for name in pattern.split(",") if name.strip()]
    from nacre.vault.files import memory_files

    found = memory_files(memory.workspace, memory.config)
    return sorted(one.path for one in found if one.size <= max_bytes and fnmatch.fnmatchcase(one.path, pattern))


def _read_files(memory: Memory, names: Sequence[str], lines: int) -> Iterator[Excerpt]:
    for name in names:
        try:
            yield memory.get(name, lines=lines)
        except NacreError as trouble:
            note(str(trouble))
