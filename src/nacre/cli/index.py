"""nacre index, update, embed: bring the index up to date."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from nacre.cli.base import (
    Command,
    Invocation,
    dry_run_option,
    echo,
    json_option,
    note,
    open_all,
    print_json,
    progress_bar,
)
from nacre.i18n import as_sentence, say
from nacre.index.freshness import TextReport
from nacre.memory import IndexReport, Memory

_full = click.option("--full", is_flag=True, help="Read every file again, also those that look unchanged.")
# What prompts written for qmd give these verbs: taken, and without effect here.
_pull = click.option("--pull", is_flag=True, hidden=True, expose_value=False)
_force = click.option("-f", "--force", is_flag=True, hidden=True, expose_value=False)
_collection = click.option("-c", "--collection", multiple=True, hidden=True, expose_value=False)
_verbose = click.option("--verbose", is_flag=True, help="Also name the files that could not be read.")


@click.command(cls=Command, epilog="Example:  nacre index --full")
@_full
@_verbose
@dry_run_option
@json_option
@click.pass_obj
def index(invocation: Invocation, *, full: bool, verbose: bool, dry_run: bool, as_json: bool) -> None:
    """Bring text and vectors up to date with the files and the settings, and wait.

    A changed setting builds a new index beside the old one, which goes on answering. An interrupted run is carried on.
    """

    def work(memory: Memory) -> IndexReport:
        with progress_bar(say("Reading", "读取")) as reading:
            text = memory.update(progress=reading, full=full)
        with progress_bar(say("Embedding", "生成向量")) as embedding:
            return replace(memory.embed(progress=embedding), text=text)

    _each(invocation, work, as_json=as_json, verbose=verbose, dry_run=dry_run)


@click.command(cls=Command, epilog="Example:  nacre update")
@_pull
@_collection
@_full
@_verbose
@dry_run_option
@json_option
@click.pass_obj
def update(invocation: Invocation, *, full: bool, verbose: bool, dry_run: bool, as_json: bool) -> None:
    """Bring the text of the index up to date; vectors are left for "nacre embed"."""

    def work(memory: Memory) -> IndexReport:
        with progress_bar(say("Reading", "读取")) as reading:
            return IndexReport(text=memory.update(progress=reading, full=full))

    _each(invocation, work, as_json=as_json, verbose=verbose, dry_run=dry_run)


@click.command(cls=Command, epilog="Example:  nacre embed")
@_force
@_collection
@dry_run_option
@json_option
@click.pass_obj
def embed(invocation: Invocation, *, dry_run: bool, as_json: bool) -> None:
    """Make the vectors that are missing, so that search knows meaning too."""

    def work(memory: Memory) -> IndexReport:
        with progress_bar(say("Embedding", "生成向量")) as embedding:
            return memory.embed(progress=embedding)

    _each(invocation, work, as_json=as_json, verbose=False, dry_run=dry_run)


def _each(invocation: Invocation, work: Any, *, as_json: bool, verbose: bool, dry_run: bool) -> None:
    """Do the work in each workspace that the options name, and report."""
    rows = []
    for memory in open_all(invocation):
        if dry_run:
            files, passages = memory.waiting()
            rows.append({"agent": memory.agent, "filesToRead": files, "passagesToEmbed": passages})
            if not as_json:
                note(
                    f"{files} files to read, {passages} passages to embed.",
                    f"待读取 {files} 个文件，待生成 {passages} 个向量。",
                )
            continue
        report: IndexReport = work(memory)
        rows.append(_as_json(memory, report))
        if not as_json:
            _tell(memory, report, verbose=verbose)
    if as_json:
        print_json(rows[0] if len(rows) == 1 else rows)


def _as_json(memory: Memory, report: IndexReport) -> dict[str, Any]:
    text = report.text
    return {
        "agent": memory.agent,
        "workspace": str(memory.workspace.root),
        "files": text.files if text else None,
        "changed": text.changed if text else None,
        "removed": text.removed if text else None,
        "unreadable": text.unreadable if text else [],
        "sessions": _sessions(text.sessions) if text and text.sessions else None,
        "embedded": report.embedded,
        "fallback": report.reason,
        "recovered": memory.keeper.store.recovered,
    }


def _sessions(report: TextReport) -> dict[str, Any]:
    return {
        "sessions": report.files,
        "changed": report.changed,
        "removed": report.removed,
        "unreadable": report.unreadable,
    }


def _tell(memory: Memory, report: IndexReport, *, verbose: bool) -> None:
    if memory.keeper.store.recovered:
        note(
            "The index was damaged; it was set aside and built anew. No note was lost.",
            "索引已损坏；已移到一旁并重建。没有丢失任何笔记。",
        )
    if text := report.text:
        echo(
            f"{text.files} files, {text.changed} changed, {text.removed} gone.",
            f"共 {text.files} 个文件，{text.changed} 个有变化，{text.removed} 个已移除。",
        )
        talks = text.sessions
        if talks:
            echo(
                f"{talks.files} sessions, {talks.changed} changed, {talks.removed} gone.",
                f"共 {talks.files} 个会话，{talks.changed} 个有变化，{talks.removed} 个已移除。",
            )
        for path in [*text.unreadable, *(talks.unreadable if talks else ())] if verbose else ():
            note(f"could not be read: {path}", f"无法读取：{path}")
    if report.embedded:
        echo(f"{report.embedded} passages embedded.", f"已为 {report.embedded} 段文字生成向量。")
    if report.text is None and not report.embedded and not report.reason:
        echo("Every passage has its vector.", "所有段落都已有向量。")
    if report.reason:
        note(as_sentence(report.reason))
