"""nacre search: find memories."""

from __future__ import annotations

import sys
from typing import Any

import click

from nacre.cli.base import Command, Invocation, json_option, note, open_all, print_json, sentence
from nacre.model.hit import Hit, SearchReport
from nacre.model.layers import LAYERS
from nacre.words import say


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
            click.option("--type", "kind", metavar="TYPE", help="Only entries of this type or category: PREF, 决策 …"),
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
    run_search(invocation, mode, **given)


def run_search(
    invocation: Invocation,
    mode: str,
    *,
    query: tuple[str, ...],
    limit: int | None,
    min_score: float | None,
    since: str | None,
    until: str | None,
    layers: tuple[str, ...],
    kind: str | None,
    tag: str | None,
    path: str | None,
    project: str | None,
    corpus: str,
    all_projects: bool,
    explain: bool,
    as_json: bool,
) -> None:
    reports: list[tuple[str | None, SearchReport]] = []
    for memory in open_all(invocation, for_groups=True):
        chosen = None if all_projects else project or memory.project_here()
        filters = memory.filters(since=since, until=until, layers=layers, type=kind, tag=tag, path=path, project=chosen)
        report = memory.ask(" ".join(query), limit, min_score=min_score, mode=mode, filters=filters, corpus=corpus)
        reports.append((memory.agent, report))
    hits = sorted(((hit, agent) for agent, report in reports for hit in report.hits), key=lambda pair: -pair[0].score)
    hits = hits[: limit or memory.config.search.max_results]
    first = reports[0][1]
    if as_json:
        print_json(_as_json(hits, [report for _, report in reports], explain=explain))
        return
    for reason in {report.fallback for _, report in reports if report.fallback}:
        note(sentence(reason))
    if any(report.stale and not report.fallback for _, report in reports):
        note(
            say(
                'Part of the index is still to be made; "nacre index" completes it.',
                "索引尚未完全建好；“nacre index”可以补全。",
            )
        )
    if not hits:
        note(_nothing(first))
        return
    for hit, agent in hits:
        _show(hit, agent, explain=explain)


def _nothing(report: SearchReport) -> str:
    if report.abstained:
        return say(
            "Nothing in memory seems to answer that. (--min-score 0 shows the nearest all the same.)",
            "记忆中似乎没有答案。（--min-score 0 可显示最接近的内容。）",
        )
    return say("Nothing in memory matches.", "记忆中没有匹配的内容。")


def _show(hit: Hit, agent: str | None, *, explain: bool) -> None:
    where = f"{hit.path}:{hit.start_line}"
    about = "  ".join(
        part for part in (hit.date, hit.layer, agent, hit.project and f"project:{hit.project}", hit.id) if part
    )
    colour = sys.stdout.isatty()
    click.echo(f"{click.style(where, fg='cyan', bold=True) if colour else where}  {hit.score:.2f}  {about}")
    if hit.heading:
        click.echo(click.style(f"  {hit.heading}", dim=True) if colour else f"  {hit.heading}")
    for line in hit.snippet.splitlines():
        click.echo(f"  {line}")
    if explain:
        parts = "  ".join(f"{name} {value:g}" for name, value in hit.parts.items())
        click.echo(f"  = {parts}")
        if hit.provenance:
            click.echo("  < " + "  ".join(f"{name} {value}" for name, value in hit.provenance.items()))
    click.echo("")


def _as_json(hits: list[tuple[Hit, str | None]], reports: list[SearchReport], *, explain: bool) -> dict[str, Any]:
    first = reports[0]
    return {
        "results": [_hit_json(hit, agent, explain=explain) for hit, agent in hits],
        "mode": first.mode,
        "model": first.model,
        "provider": first.provider,
        "fallback": next((report.fallback for report in reports if report.fallback), None),
        "abstained": all(report.abstained for report in reports),
        "disabled": False,
        "stale": any(report.stale for report in reports),
        "tookMs": round(sum(report.took_ms for report in reports), 2),
    }


def _hit_json(hit: Hit, agent: str | None, *, explain: bool) -> dict[str, Any]:
    row: dict[str, Any] = {
        "id": hit.id,
        "path": hit.path,
        "startLine": hit.start_line,
        "endLine": hit.end_line,
        "heading": hit.heading,
        "score": hit.score,
        "vectorScore": hit.vector_score,
        "textScore": hit.text_score,
        "snippet": hit.snippet,
        "source": hit.source,
        "layer": hit.layer,
        "date": hit.date,
        "citation": hit.citation,
        "provenance": dict(hit.provenance),
    }
    if hit.project:
        row["project"] = hit.project
    if agent:
        row["agent"] = agent
    if explain:
        row["parts"] = dict(hit.parts)
    return row
