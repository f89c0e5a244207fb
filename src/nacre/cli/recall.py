"""nacre recall: layered search, from the youngest checkpoints to the almost forgotten ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from nacre.cli.base import Command, Invocation, dry_run_option, json_option, note, open_memory, print_json
from nacre.words import say

if TYPE_CHECKING:
    from nacre.recall.layered import Recalled, RecallReport


@click.command(cls=Command, epilog='Example:  nacre recall "what did we settle about payment retries?"')
@click.argument("query", nargs=-1, required=True)
@click.option(
    "-n", "--limit", type=click.IntRange(1, 3), default=3, show_default=True, help="How many checkpoints at most."
)
@dry_run_option
@json_option
@click.pass_obj
def recall(invocation: Invocation, query: tuple[str, ...], limit: int, *, dry_run: bool, as_json: bool) -> None:
    """Look through the checkpoints by layer: hot, warm, gist, forgotten, as far as the first that answers.

    What is found becomes young again: it moves to a younger layer, and "nacre undo" moves it back. A summary that is not enough
    opens its original. The exit code is 1 when nothing answers.
    """
    report = open_memory(invocation).recall(" ".join(query), limit=limit, dry_run=dry_run)
    if as_json:
        print_json(_as_json(report, dry_run=dry_run))
    else:
        for problem in report.problems:
            note(problem.message)
        for one in report.found:
            _show(one)
        if report.reason:
            note(report.reason)
        if dry_run and report.found:
            note(say("Nothing was moved or counted.", "没有移动，也没有计数。"))
    if not report.found:
        raise click.exceptions.Exit(1)


def _show(one: Recalled) -> None:
    click.echo(f"{one.path}  {one.layer}  {_confidence(one)}  {one.title}")
    if one.path != one.was:
        note(say(f"{one.was} was moved to {one.path}.", f"{one.was} 已移到 {one.path}。"))
    if one.opened:
        note(say(f"The summary was not enough; {one.opened} was opened.", f"摘要不够详细；已打开原文 {one.opened}。"))
    for passage in one.passages:
        first, last = passage.start_line, passage.end_line
        click.echo(say(f"  lines {first}-{last}:", f"  第 {first}-{last} 行："))
        for line in passage.text.splitlines():
            click.echo(f"  {line}")
    click.echo("")


def _confidence(one: Recalled) -> str:
    return say(f"confidence {one.certainty} ({one.confidence:g})", f"可信度{one.certainty}（{one.confidence:g}）")


def _as_json(report: RecallReport, *, dry_run: bool) -> dict[str, Any]:
    return {
        "results": [_recalled_json(one) for one in report.found],
        "layer": report.layer,
        "words": list(report.words),
        "narrowed": report.narrowed,
        "reason": report.reason,
        "dryRun": dry_run,
        "problems": [{"kind": one.kind, "path": one.path, "message": one.message} for one in report.problems],
    }


def _recalled_json(one: Recalled) -> dict[str, Any]:
    return {
        "path": one.path,
        "was": one.was,
        "layer": one.layer,
        "title": one.title,
        "confidence": one.confidence,
        "certainty": one.certainty,
        "coverage": one.coverage,
        "opened": one.opened,
        "passages": [
            {"startLine": passage.start_line, "endLine": passage.end_line, "text": passage.text}
            for passage in one.passages
        ],
    }
