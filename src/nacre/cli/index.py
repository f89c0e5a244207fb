"""nacre index, update, embed: bring the index up to date."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from nacre.cli import ui
from nacre.i18n import as_sentence
from nacre.memory import IndexReport, Memory

_full = click.option("--full", is_flag=True, help="Read every file again, also those that look unchanged.")
_verbose = click.option("--verbose", is_flag=True, help="Also name the files that could not be read.")
# What prompts written for qmd give these verbs: taken, and without effect here.
_pull = click.option("--pull", is_flag=True, hidden=True, expose_value=False)
_force = click.option("-f", "--force", is_flag=True, hidden=True, expose_value=False)
_collection = click.option("-c", "--collection", multiple=True, hidden=True, expose_value=False)


@ui.command("nacre index --full", dry_run=True)
@_full
@_verbose
def index(invocation: ui.Invocation, *, full: bool, verbose: bool, dry_run: bool, as_json: bool) -> None:
    """Bring text and vectors up to date with the files and the settings, and wait.

    A changed setting builds a new index beside the old one, which goes on answering. An interrupted run is carried on.
    """

    def work(memory: Memory) -> IndexReport:
        text = _read(memory, full=full)
        return _embed(memory)._replace(text=text.text)

    _each(invocation, work, as_json=as_json, verbose=verbose, dry_run=dry_run)


@ui.command("nacre update", dry_run=True)
@_pull
@_collection
@_full
@_verbose
def update(invocation: ui.Invocation, *, full: bool, verbose: bool, dry_run: bool, as_json: bool) -> None:
    """Bring the text of the index up to date; vectors are left for "nacre embed"."""
    _each(invocation, lambda memory: _read(memory, full=full), as_json=as_json, verbose=verbose, dry_run=dry_run)


@ui.command("nacre embed", dry_run=True)
@_force
@_collection
def embed(invocation: ui.Invocation, *, dry_run: bool, as_json: bool) -> None:
    """Make the vectors that are missing, so that search knows meaning too."""
    _each(invocation, _embed, as_json=as_json, verbose=False, dry_run=dry_run)


def _read(memory: Memory, *, full: bool) -> IndexReport:
    with ui.progress_bar("Reading", "读取") as bar:
        return IndexReport(text=memory.update(progress=bar, full=full))


def _embed(memory: Memory) -> IndexReport:
    with ui.progress_bar("Embedding", "生成向量") as bar:
        return memory.embed(progress=bar)


def _each(
    invocation: ui.Invocation, work: Callable[[Memory], IndexReport], *, as_json: bool, verbose: bool, dry_run: bool
) -> None:
    """Do the work in each workspace that the options name, and report."""
    rows: list[dict[str, Any]] = []
    for memory in ui.open_all(invocation):
        if dry_run:
            files, passages = memory.waiting()
            rows.append({"agent": memory.agent, "filesToRead": files, "passagesToEmbed": passages})
            if not as_json:
                ui.note(
                    f"{files} files to read, {passages} passages to embed.",
                    f"待读取 {files} 个文件，待生成 {passages} 个向量。",
                )
            continue
        report = work(memory)
        names = "changed removed unreadable"
        text: dict[str, Any] = {"files": None, "changed": None, "removed": None, "unreadable": []}
        sessions = report.text.sessions if report.text else None
        rows.append(
            {"agent": memory.agent, "workspace": str(memory.workspace.root)}
            | (ui.fields(report.text, f"files {names}") if report.text else text)
            | {"sessions": ui.fields(sessions, f"sessions {names}", sessions=sessions.files) if sessions else None}
            | {"embedded": report.embedded, "fallback": report.reason, "recovered": memory.keeper.store.recovered}
        )
        if not as_json:
            _show(memory, report, verbose=verbose)
    if as_json:
        ui.print_one_or_list(rows)


def _show(memory: Memory, report: IndexReport, *, verbose: bool) -> None:
    if memory.keeper.store.recovered:
        ui.note(
            "The index was damaged; it was set aside and built anew. No note was lost.",
            "索引已损坏；已移到一旁并重建。没有丢失任何笔记。",
        )
    text, count = report.text, report.embedded
    if text:
        ui.echo(
            f"{text.files} files, {text.changed} changed, {text.removed} gone.",
            f"共 {text.files} 个文件，{text.changed} 个有变化，{text.removed} 个已移除。",
        )
    if text and (sessions := text.sessions):
        ui.echo(
            f"{sessions.files} sessions, {sessions.changed} changed, {sessions.removed} gone.",
            f"共 {sessions.files} 个会话，{sessions.changed} 个有变化，{sessions.removed} 个已移除。",
        )
    unreadable = [*text.unreadable, *(text.sessions.unreadable if text.sessions else ())] if text and verbose else []
    for path in unreadable:
        ui.note(f"could not be read: {path}", f"无法读取：{path}")
    for line in ui.every(
        (count, f"{count} passages embedded.", f"已为 {count} 段文字生成向量。"),
        (not (text or count or report.reason), "Every passage has its vector.", "所有段落都已有向量。"),
    ):
        click.echo(line)
    if report.reason:
        ui.note(as_sentence(report.reason))
