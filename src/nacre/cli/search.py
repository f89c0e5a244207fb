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
    click.Argument(["query"], nargs=-1, required=True),
    click.Option(["-n", "--limit"], type=click.IntRange(1, 1000), help="Maximum number of results."),
    click.Option(["--min-score"], type=float, help="Minimum score to show."),
    click.Option(["--since"], metavar="DAY", help="Only on or after this day (2026-02-01, or 7d for the last week)."),
    click.Option(["--until"], metavar="DAY", help="Only on or before this day."),
    click.Option(
        ["--layer", "layers"], multiple=True, type=click.Choice(LAYERS), help="Only this layer; may be repeated."
    ),
    click.Option(["--type"], metavar="TYPE", help="Only entries of this type or category, such as PREF or LESSON."),
    click.Option(["--tag"], help="Only entries with this tag."),
    click.Option(["--path"], metavar="GLOB", help="Only matching files, such as memory/weekly/*."),
    click.Option(
        ["--project"],
        help="Only this project and entries without a project; default: the project of the current folder.",
    ),
    click.Option(
        ["--corpus"],
        type=click.Choice(["memory", "sessions", "all"]),
        default="memory",
        show_default=True,
        help="What to search: memory, the session transcripts (see the setting index.sessions), or both.",
    ),
    click.Option(["--all-projects"], is_flag=True, help="Include other projects."),
    click.Option(["--explain"], is_flag=True, help="Show how each score is computed."),
)
_MODE = click.Option(
    ["--mode"],
    type=click.Choice(["hybrid", "text", "vector"]),
    default="hybrid",
    show_default=True,
    help="How to search.",
)


def run_search(options: ui.Options, mode: str, request: dict[str, Any]) -> None:
    """Search through the daemon when one runs, else in this process; the output is the same."""
    request |= {"query": " ".join(request["query"]), "mode": mode, "as_json": options.as_json}
    request |= {"here": requests.current_folder(), "terminal": requests.terminal_width()}
    memories = list(ui.open_all(options, for_groups=True))
    printed = requests.ask_daemon(memories[0], "search", request) if len(memories) == 1 else None
    if printed is None:
        with ui.waiting("Searching", "正在搜索"):
            printed = requests.answer_search(memories, **request)
    requests.print_output(printed)


@ui.command('nacre search "who owns billing?" -n 3 --since 30d', params=[_MODE, *_OPTIONS])
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
            names, kinds = memory.names(), ui.localised("project 项目|name 名称")
            nothing = "Memory does not mention any people or things yet.", "记忆中还没有提到任何人或事物。"
            yield Report(
                [known._asdict() for known in names],
                columns=ui.headings("name 名称|entries 条目数|last mentioned 最近提到|kind 类别"),
                lines=[(known.name, str(known.entries), known.last or "", kinds[known.kind]) for known in names],
                notes=ui.every((not names, *nothing)),
            )
            continue
        profile = memory.about(" ".join(name))
        lines: list[tuple[str, ...]] = []
        for mention in profile.mentions:
            now = say(f"; now: {mention.now}", f"；现为：{mention.now}") if mention.now else ""
            ended = say(f" (until {mention.ended}{now})", f"（有效至 {mention.ended}{now}）") if mention.ended else ""
            lines.append((mention.last or "", mention.text + ended, f"{mention.row.path}:{mention.row.start_line}"))
        english = f"{profile.name}: {ui.plural(profile.entries, 'entry')}"
        others = say(", ", "、").join(f"{known.name} ({known.entries})" for known in profile.relations)
        yield Report(
            profile.as_plain(),
            heading=[say(english, f"{profile.name}：{profile.entries} 条")],
            lines=lines,
            notes=ui.every((others, f"Mentioned with: {others}", f"同时提到：{others}")),
        )


@ui.command('nacre query "what did we decide about the API?" -n 5', params=[*_OPTIONS])
def query(options: ui.Options, **request: Any) -> None:
    """Search by keyword and meaning, same as search (for prompts written for qmd, which use this name)."""
    run_search(options, "hybrid", request)


@ui.command('nacre vsearch "how we ship to customers"', params=[*_OPTIONS])
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
        text = _read(memory, full=full).text
        return _embed(memory)._replace(text=text)

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
            yield Report(
                {"agent": memory.agent, "filesToRead": files, "passagesToEmbed": passages},
                notes=[say(english, f"待读取 {files} 个文件，待生成 {passages} 个向量。")],
            )
            continue
        made = work(memory)
        text, count, recovered = made.text, made.embedded, memory.keeper.store.recovered
        sessions, names = text.sessions if text else None, "changed removed unreadable"
        nothing: dict[str, Any] = {"files": None, "changed": None, "removed": None, "unreadable": []}
        facts = {
            "agent": memory.agent,
            "workspace": str(memory.workspace.root),
            **(fields(text, f"files {names}") if text else nothing),
            "sessions": fields(sessions, f"sessions {names}", sessions=sessions.files) if sessions else None,
            "embedded": count,
            "fallback": made.reason,
            "recovered": recovered,
        }
        rebuilt = "The index was damaged and has been rebuilt. No notes were lost."
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
        yield Report(
            facts,
            heading=ui.every((recovered, rebuilt, "索引已损坏，现已重建。没有丢失任何笔记。")),
            lines=lines,
            notes=[as_sentence(made.reason)] if made.reason else [],
        )
