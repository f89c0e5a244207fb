"""nacre search, get, query, vsearch, index, update, embed: find and read memories, and the index that this rests on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import click

from nacre.cli import ui
from nacre.daemon import requests
from nacre.i18n import as_sentence, say
from nacre.memory import IndexReport, Memory
from nacre.model.entry import LAYERS
from nacre.model.report import Note, Report, fields

_OPTIONS = (
    click.argument("query", nargs=-1, required=True),
    click.option("-n", "--limit", type=click.IntRange(1, 1000), help="How many results at most."),
    click.option("--min-score", type=float, help="Lowest score shown."),
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


_full = click.option("--full", is_flag=True, help="Read every file again, also those that look unchanged.")
_verbose = click.option("--verbose", is_flag=True, help="Also name the files that could not be read.")


@ui.command("nacre index --full", dry_run=True, join=True)
@_full
@_verbose
def index(options: ui.Options, *, full: bool, verbose: bool) -> Iterator[Report]:
    """Bring text and vectors up to date with the files and the settings, and wait.

    After a changed setting what was read before goes on answering until it is read anew. An interrupted run is carried on.
    """

    def work(memory: Memory) -> IndexReport:
        text = _read(memory, full=full)
        return _embed(memory)._replace(text=text.text)

    return _reports(options, work, verbose=verbose)


@ui.command("nacre update", dry_run=True, join=True)
@_full
@_verbose
def update(options: ui.Options, *, full: bool, verbose: bool) -> Iterator[Report]:
    """Bring the text of the index up to date; vectors are left for "nacre embed"."""
    return _reports(options, lambda memory: _read(memory, full=full), verbose=verbose)


@ui.command("nacre embed", dry_run=True, join=True)
def embed(options: ui.Options) -> Iterator[Report]:
    """Make the vectors that are missing, so that search knows meaning too."""
    return _reports(options, _embed, verbose=False)


def _read(memory: Memory, *, full: bool) -> IndexReport:
    with ui.progress_bar("Reading", "读取") as bar:
        return IndexReport(text=memory.update(progress=bar, full=full))


def _embed(memory: Memory) -> IndexReport:
    with ui.progress_bar("Embedding", "生成向量") as bar:
        return memory.embed(progress=bar)


def _reports(options: ui.Options, work: Callable[[Memory], IndexReport], *, verbose: bool) -> Iterator[Report]:
    for memory in ui.open_all(options):
        if options.dry_run:
            files, passages = memory.waiting()
            english = f"{files} files to read, {passages} passages to embed."
            facts: dict[str, Any] = {"agent": memory.agent, "filesToRead": files, "passagesToEmbed": passages}
            yield Report(facts, notes=[say(english, f"待读取 {files} 个文件，待生成 {passages} 个向量。")])
            continue
        made = work(memory)
        text, count, recovered = made.text, made.embedded, memory.keeper.store.recovered
        sessions = text.sessions if text else None
        names, nothing = "changed removed unreadable", {"files": None, "changed": None, "removed": None}
        facts = {"agent": memory.agent, "workspace": str(memory.workspace.root)}
        facts |= fields(text, f"files {names}") if text else {**nothing, "unreadable": []}
        facts["sessions"] = fields(sessions, f"sessions {names}", sessions=sessions.files) if sessions else None
        facts |= {"embedded": count, "fallback": made.reason, "recovered": recovered}
        english = "The index was damaged; it was set aside and built anew. No note was lost."
        damaged = ui.every((recovered, english, "索引已损坏；已移到一旁并重建。没有丢失任何笔记。"))
        lines: list[str] = []
        for part, unit, chinese in ((text, "files", "文件"), (sessions, "sessions", "会话")):
            if part:
                english = f"{part.files} {unit}, {part.changed} changed, {part.removed} gone."
                changes = f"{part.changed} 个有变化，{part.removed} 个已移除。"
                lines.append(say(english, f"共 {part.files} 个{chinese}，{changes}"))
        paths = [path for part in (text, sessions) if part and verbose for path in part.unreadable]
        lines += [Note(say(f"could not be read: {path}", f"无法读取：{path}")) for path in paths]
        lines += ui.every(
            (count, f"{count} passages embedded.", f"已为 {count} 段文字生成向量。"),
            (not (text or count or made.reason), "Every passage has its vector.", "所有段落都已有向量。"),
        )
        yield Report(facts, heading=damaged, lines=lines, notes=[as_sentence(made.reason)] if made.reason else [])
