"""nacre index, update, embed: bring the index up to date."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import click

from nacre.cli import ui
from nacre.i18n import as_sentence, say
from nacre.memory import IndexReport, Memory
from nacre.model.report import Note, Report, fields

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
        names = "changed removed unreadable"
        texts: dict[str, Any] = {"files": None, "changed": None, "removed": None, "unreadable": []}
        facts = {
            "agent": memory.agent,
            "workspace": str(memory.workspace.root),
            **(fields(text, f"files {names}") if text else texts),
            "sessions": fields(sessions, f"sessions {names}", sessions=sessions.files) if sessions else None,
            "embedded": count,
            "fallback": made.reason,
            "recovered": recovered,
        }
        english = "The index was damaged; it was set aside and built anew. No note was lost."
        damaged = ui.every((recovered, english, "索引已损坏；已移到一旁并重建。没有丢失任何笔记。"))
        lines: list[str] = []
        for part, unit, chinese in ((text, "files", "文件"), (sessions, "sessions", "会话")):
            if part:
                english = f"{part.files} {unit}, {part.changed} changed, {part.removed} gone."
                changes = f"{part.changed} 个有变化，{part.removed} 个已移除。"
                lines.append(say(english, f"共 {part.files} 个{chinese}，{changes}"))
        unread = [path for part in (text, sessions) if part and verbose for path in part.unreadable]
        lines += [Note(say(f"could not be read: {path}", f"无法读取：{path}")) for path in unread]
        lines += ui.every(
            (count, f"{count} passages embedded.", f"已为 {count} 段文字生成向量。"),
            (not (text or count or made.reason), "Every passage has its vector.", "所有段落都已有向量。"),
        )
        yield Report(facts, heading=damaged, lines=lines, notes=[as_sentence(made.reason)] if made.reason else [])
