"""nacre search, get, about, query, vsearch, index, update, embed: find and read memories, and the index that this rests on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import click

from nacre.cli import ui
from nacre.daemon import requests
from nacre.i18n import as_sentence, say
from nacre.memory import IndexReport, Memory
from nacre.model import LAYERS, Note, Report, fields

_OPTIONS = (
    click.argument("query", nargs=-1, required=True),
    click.option("-n", "--limit", type=click.IntRange(1, 1000), help="Maximum number of results."),
    click.option("--min-score", type=float, help="Minimum score to show."),
    click.option("--since", metavar="DAY", help="Only on or after this day (2026-02-01, or 7d for the last week)."),
    click.option("--until", metavar="DAY", help="Only on or before this day."),
    click.option(
        "--layer", "layers", multiple=True, type=click.Choice(LAYERS), help="Only this layer; may be repeated."
    ),
    click.option("--type", metavar="TYPE", help="Only entries of this type or category, such as PREF or LESSON."),
    click.option("--tag", help="Only entries with this tag."),
    click.option("--path", metavar="GLOB", help="Only matching files, such as memory/weekly/*."),
    click.option(
        "--project", help="Only this project and entries without a project; default: the project of the current folder."
    ),
    click.option(
        "--corpus",
        type=click.Choice(["memory", "sessions", "all"]),
        default="memory",
        show_default=True,
        help="What to search: memory, the session transcripts (see the setting index.sessions), or both.",
    ),
    ui.flag("--all-projects", "Include other projects."),
    ui.flag("--explain", "Show how each score is computed."),
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
    request |= {"here": requests.current_folder(), "terminal": requests.terminal_width()}
    memories = list(ui.open_all(options, for_groups=True))
    printed = requests.ask_daemon(memories[0], "search", request) if len(memories) == 1 else None
    if printed is None:
        with ui.waiting("Searching", "正在搜索"):
            printed = requests.answer_search(memories, **request)
    requests.print_output(printed)


@ui.command('nacre search "who owns billing?" -n 3 --since 30d', as_json=False)
@click.option(
    "--mode",
    type=click.Choice(["hybrid", "text", "vector"]),
    default="hybrid",
    show_default=True,
    help="How to search.",
)
@search_options
def search(options: ui.Options, mode: str, **request: Any) -> None:
    """Search memory by keyword and meaning.

    Every result shows its file and line; "nacre get FILE:LINE" prints the text.
    """
    run_search(options, mode, request)


@ui.command("nacre get memory/2026-02-10.md:14 -l 20")
@click.argument("path")
@click.option("-l", "--lines", type=click.IntRange(1, 10_000), default=20, show_default=True, help="Number of lines.")
@click.option("--from", "start", type=click.IntRange(1), help="First line; also PATH:LINE or PATH#L3-L9.")
def get(options: ui.Options, **request: Any) -> None:
    """Read lines from a memory file or session, named as in search results."""
    memory = ui.open_memory(options, for_groups=True)
    request |= {"as_json": options.as_json, "terminal": requests.terminal_width()}
    requests.print_output(requests.ask_daemon(memory, "get", request) or requests.answer_get(memory, **request))


@ui.command('nacre about "Mara Olsen"')
@click.argument("name", nargs=-1)
def about(options: ui.Options, name: tuple[str, ...]) -> Iterator[Report]:
    """Show what memory knows about NAME (a person, project or tool): since when, where, and what is mentioned with it.

    Without NAME, list the projects and names in long-term memory and recent entries.
    """
    for memory in ui.open_all(options):
        if not name:
            names = memory.names()
            facts: Any = [known._asdict() for known in names]
            kinds = ui.localised({"project": "项目", "name": "名称"})
            rows = [(known.name, str(known.entries), known.last or "", kinds[known.kind]) for known in names]
            columns = {"name": "名称", "entries": "条目数", "last mentioned": "最近提到", "kind": "类别"}
            nobody = "Memory does not mention any people or things yet.", "记忆中还没有提到任何人或事物。"
            notes = ui.every((not names, *nobody))
            yield Report(facts, lines=rows, columns=[*ui.localised(columns).values()], notes=notes)
            continue
        profile = memory.about(" ".join(name))
        lines: list[tuple[str, ...]] = []
        for mention in profile.mentions:
            now = say(f"; now: {mention.now}", f"；现为：{mention.now}") if mention.now else ""
            ended = say(f" (until {mention.ended}{now})", f"（有效至 {mention.ended}{now}）")
            place = f"{mention.row.path}:{mention.row.start_line}"
            lines.append((mention.last or "", mention.text + (ended if mention.ended else ""), place))
        english = f"{profile.name}: {ui.plural(profile.entries, 'entry')}"
        head = say(english, f"{profile.name}：{profile.entries} 条")
        others = say(", ", "、").join(f"{known.name} ({known.entries})" for known in profile.relations)
        with_others = f"Mentioned with: {others}", f"同时提到：{others}"
        yield Report(profile.as_plain(), heading=[head], lines=lines, notes=ui.every((others, *with_others)))


@ui.command('nacre query "what did we decide about the API?" -n 5', as_json=False)
@search_options
def query(options: ui.Options, **request: Any) -> None:
    """Search by keyword and meaning, same as search (for prompts written for qmd, which use this name)."""
    run_search(options, "hybrid", request)


@ui.command('nacre vsearch "how we ship to customers"', as_json=False)
@search_options
def vsearch(options: ui.Options, **request: Any) -> None:
    """Search by meaning only (for prompts written for qmd, which use this name)."""
    run_search(options, "vector", request)


_full = click.option("--full", is_flag=True, help="Read every file again, even if it looks unchanged.")


@ui.command("nacre index --full", dry_run=True, join=True)
@_full
def index(options: ui.Options, *, full: bool) -> Iterator[Report]:
    """Update the text and vectors of the index, and wait until it is done.

    After settings change, searches use the old index until the new one is ready. An interrupted run resumes where it stopped.
    """

    def work(memory: Memory) -> IndexReport:
        text = _read(memory, full=full)
        return _embed(memory)._replace(text=text.text)

    return _reports(options, work)


@ui.command("nacre update", dry_run=True, join=True)
@_full
def update(options: ui.Options, *, full: bool) -> Iterator[Report]:
    """Update only the text of the index; "nacre embed" generates the vectors."""
    return _reports(options, lambda memory: _read(memory, full=full))


@ui.command("nacre embed", dry_run=True, join=True)
def embed(options: ui.Options) -> Iterator[Report]:
    """Generate missing vectors so that search also works by meaning."""
    return _reports(options, _embed)


def _read(memory: Memory, *, full: bool) -> IndexReport:
    with ui.progress_bar("Reading", "读取") as bar:
        return IndexReport(text=memory.update(progress=bar, full=full))


def _embed(memory: Memory) -> IndexReport:
    with ui.progress_bar("Embedding", "生成向量") as bar:
        return memory.embed(progress=bar)


def _reports(options: ui.Options, work: Callable[[Memory], IndexReport]) -> Iterator[Report]:
    for memory in ui.open_all(options):
        if options.dry_run:
            files, passages = memory.waiting()
            english = f"{ui.plural(files, 'file')} to read, {ui.plural(passages, 'passage')} to embed."
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
        english = "The index was damaged and has been rebuilt. No notes were lost."
        damaged = ui.every((recovered, english, "索引已损坏，现已重建。没有丢失任何笔记。"))
        lines: list[str] = []
        for part, unit, chinese in ((text, "file", "文件"), (sessions, "session", "会话")):
            if part:
                english = f"{ui.plural(part.files, unit)}, {part.changed} changed, {part.removed} removed."
                changes = f"{part.changed} 个有变化，{part.removed} 个已移除。"
                lines.append(say(english, f"共 {part.files} 个{chinese}，{changes}"))
        paths = [path for part in (text, sessions) if part for path in part.unreadable]
        lines += [Note(say(f"Could not read {path}", f"无法读取：{path}")) for path in paths]
        lines += ui.every(
            (count, f"{ui.plural(count, 'passage')} embedded.", f"已为 {count} 段文字生成向量。"),
            (not (text or count or made.reason), "All vectors are up to date.", "所有向量都是最新的。"),
        )
        yield Report(facts, heading=damaged, lines=lines, notes=[as_sentence(made.reason)] if made.reason else [])
