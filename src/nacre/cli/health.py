"""nacre health, nacre doctor: how well memory is kept, and what is wrong with its setup."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from nacre.cli.base import Command, Invocation, echo, json_option, note, open_all, print_json, shown_path, table
from nacre.errors import BadSetting
from nacre.i18n import say
from nacre.model.report import Problem

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from nacre.checks.health import Health
    from nacre.checks.memory_checks import Fade


REASONS = 3  # deductions that are named first
KINDS, FADES, PROJECTS = 9, 4, 3  # lines about findings, about what fades and about projects, unless all are asked for
WIDTH = 56  # columns of the text of a finding, unless all is asked for


@click.command(cls=Command, epilog="Example:  nacre health -v")
@click.option(
    "--verbose", "-v", is_flag=True, help="Show every finding and all that fades, not only the first of each kind."
)
@json_option
@click.pass_obj
def health(invocation: Invocation, *, verbose: bool, as_json: bool) -> None:
    """Show what memory holds, what is wrong with it, which command mends that, what fades next, and a grade from A to F.

    Reads, and changes nothing. A bad grade is no error: the exit code is 0 whenever memory could be looked at.
    """
    from nacre.checks.health import check_health

    found: list[dict[str, Any]] = []
    for memory in open_all(invocation):
        told = check_health(memory)
        found.append(as_plain(told, str(memory.workspace.root), memory.agent))
        if not as_json:
            _show_health(told, memory.workspace.root, verbose=verbose)
    if as_json:
        print_json(found[0] if len(found) == 1 else found)


def as_plain(told: Health, workspace: str, agent: str | None) -> dict[str, Any]:
    """A report as plain values."""
    stock = told.stock
    return {
        "workspace": workspace,
        "agent": agent,
        "grade": told.grade.letter,
        "points": told.grade.points,
        "deductions": [asdict(one) for one in told.grade.deductions],
        "findings": [_plain(one) for one in told.findings],
        "fading": [asdict(one) for one in told.fading],
        "longterm": [asdict(one) for one in stock.sizes],
        "counts": {
            "daily": stock.daily,
            "weekly": stock.weekly,
            "archived": stock.archived,
            "notes": stock.notes,
            "checkpoints": dict(stock.checkpoints),
            "ledger": dict(stock.verdicts),
            "pinned": stock.pinned,
            "questions": dict(stock.questions),
        },
        "tokens": asdict(stock.tokens),
        "loose": asdict(told.loose),
        "meaning": list(told.meaning),
    }


def _plain(one: Problem) -> dict[str, Any]:
    named = {"kind": one.kind, "message": one.message, "path": one.path, "line": one.line, "id": one.id or None}
    is_command = one.remedy.startswith("nacre ")
    return {**named, "command": one.remedy if is_command else None, "byHand": None if is_command else one.remedy}


def _show_health(told: Health, root: Path, *, verbose: bool) -> None:
    grade, where = told.grade, shown_path(root)
    echo(f"{where}: {grade.letter}, {grade.points} of 100", f"{where}：{grade.letter}，{grade.points} 分（满分 100）")
    if grade.deductions:
        lost = say(", ", "，").join(f"{_title(one.kind)} −{one.points:g}" for one in grade.deductions[:REASONS])
        why = say("Points lost", "扣分") if grade.letter == "A" else say("Why not A", "为何不是 A")
        click.echo(why + say(": ", "：") + lost)
    if told.findings:
        click.echo()
        table(_findings(told.findings, verbose=verbose))
    if told.fading:
        click.echo("\n" + say("Fades next", "即将淡出"))
        table(_fades(told.fading, verbose=verbose))
    click.echo("\n" + say("Holds", "现有内容"))
    table(_figures(told, verbose=verbose))


def _findings(findings: Sequence[Problem], *, verbose: bool) -> Iterator[tuple[str, str, str]]:
    """The findings by kind, with what mends them; of each kind the first, unless all are asked for."""
    by_kind: dict[str, list[Problem]] = {}
    for one in findings:
        by_kind.setdefault(one.kind, []).append(one)
    kinds = list(by_kind.items())
    for kind, same in kinds if verbose else kinds[:KINDS]:
        head = _title(kind) + say(f": {len(same)}", f"：{len(same)}")
        for place, one in enumerate(same if verbose else same[:1]):
            mends = f"→ {one.remedy}"
            yield (head if not place else "", mends, _told(one) if verbose else _cut(_told(one)))
    if not verbose and (rest := sum(len(same) for _, same in kinds[KINDS:])):
        yield (say(f"others: {rest}", f"其他：{rest}"), say("-v shows all", "-v 显示全部"), "")


def _cut(text: str) -> str:
    """As much as fits beside the rest; a Han character is as wide as two others."""
    width = 0
    for place, sign in enumerate(text):
        width += 2 if "\u2e80" <= sign <= "\uffef" else 1
        if width > WIDTH:
            return text[:place].rstrip() + "…"
    return text


def _title(kind: str) -> str:
    from nacre.checks.memory_checks import kind_title

    return kind_title(kind)


def _told(one: Problem) -> str:
    if not one.place or one.place in one.message:
        return one.message
    return one.place + say(": ", "：") + one.message


def _fades(fades: Sequence[Fade], *, verbose: bool) -> Iterator[tuple[str, str, str]]:
    shown = fades if verbose else fades[:FADES]
    for one in shown:
        where = f"{one.path}:{one.line}" if one.line else one.path
        keeps = f"  → {one.keep}" if one.keep and verbose else ""
        yield (one.day, where + say(": ", "：") + one.what, one.rule + keeps)
    if rest := len(fades) - len(shown):
        yield ("", say(f"and {rest} more (-v shows all)", f"另有 {rest} 项（-v 显示全部）"), "")


def _figures(told: Health, *, verbose: bool) -> Iterator[tuple[str, str]]:
    stock = told.stock
    general, projects = stock.sizes[:1], sorted(stock.sizes[1:], key=lambda one: -one.share)
    for one in (*general, *(projects if verbose else projects[:PROJECTS])):
        yield (
            one.path,
            say(
                f"{one.entries} entries, {one.lines} lines, {one.bytes} bytes: {one.share:.0%} of its limits",
                f"{one.entries} 条，{one.lines} 行，{one.bytes} 字节：占上限的 {one.share:.0%}",
            ),
        )
    yield (
        say("logs", "日志"),
        say(
            f"{stock.daily} daily, {stock.weekly} weekly, {stock.archived} archived, {stock.notes} notes",
            f"每日 {stock.daily}，每周 {stock.weekly}，归档 {stock.archived}，笔记 {stock.notes}",
        ),
    )
    yield (say("checkpoints", "检查点"), _listed(stock.checkpoints))
    yield (say("ledger", "账本"), _listed({**stock.verdicts, say("pinned", "已固定"): stock.pinned}))
    tokens = stock.tokens
    yield (
        say("tokens, about", "token（约）"),
        say(
            f"MEMORY.md {tokens.longterm:,}, today and yesterday {tokens.recent:,}, a new session {tokens.session:,}, "
            f"everything {tokens.everything:,}",
            f"MEMORY.md {tokens.longterm:,}，今天和昨天 {tokens.recent:,}，新会话 {tokens.session:,}，全部 {tokens.everything:,}",
        ),
    )
    if verbose:
        loose = told.loose
        yield (
            say("leads nowhere", "来源已失"),
            say(
                f"recalls {loose.recalls}, days of the trail {loose.trail}, former entries {loose.ledger}: harmless",
                f"召回 {loose.recalls}，来源记录 {loose.trail} 天，旧条目 {loose.ledger}：无害",
            ),
        )


def _listed(counts: Mapping[str, int]) -> str:
    return say(", ", "，").join(f"{name} {count}" for name, count in counts.items())


# nacre doctor: look for trouble and say how to mend it.


@click.command(cls=Command, epilog="Example:  nacre doctor --fix")
@click.option(
    "--fix",
    is_flag=True,
    help="Mend what can be mended without touching your notes: the index, missing files, permissions, a stale socket.",
)
@json_option
@click.pass_obj
def doctor(invocation: Invocation, *, fix: bool, as_json: bool) -> int:
    """Look for trouble in files, settings, index, models, agents, jobs, daemon and clock, and say how to mend it.

    For each agent on this machine a talk is made up in that agent's own format and taken the whole way in a scratch workspace: read,
    written, found again. Exit code 0 when nothing keeps Nacre from its work, 1 when something does.
    """
    from nacre.agents.connection import connection_problems, state_folder
    from nacre.agents.registry import all_agents
    from nacre.checks.doctor import examine, repair, settings_remedy
    from nacre.checks.proof import agents_here
    from nacre.jobs.installer import this_machine

    proven: list[str] = []
    found: list[tuple[str | None, Problem]] = []
    try:
        for memory in open_all(invocation):
            if fix:
                for line in repair(memory):
                    note(line)
            found += [(memory.agent, problem) for problem in examine(memory)]
            found += [
                (memory.agent, problem)
                for problem in connection_problems(all_agents(), this_machine(), state_folder(), memory.workspace.root)
            ]
            proven += [source.agent for _, source, _ in agents_here(memory)]
    except BadSetting as trouble:  # settings that stop every command are what doctor is asked about
        found.append(
            (None, Problem("bad setting", str(trouble), severity="error", remedy=settings_remedy(str(trouble))))
        )
    if not as_json:
        for _, problem in found:
            _show_doctor(problem)
    listed = [{"agent": agent, **problem.as_plain()} for agent, problem in found]
    failed = any(problem.severity == "error" for _, problem in found)
    if proven and not any(problem.kind == "capture" for _, problem in found):
        names = list(dict.fromkeys(proven))
        note(
            f"Proven in a scratch workspace: a talk with {', '.join(names)} is captured, written and found again.",
            f"已在临时工作区验证：与 {'、'.join(names)} 的对话可被采集、写入并查到。",
        )
    if as_json:
        print_json(listed)
    elif not listed:
        echo("All is well.", "一切正常。")
    return 1 if failed else 0


def _show_doctor(problem: Problem) -> None:
    where = problem.path + (f":{problem.line}" if problem.line else "")
    click.echo("  ".join(part for part in (problem.severity, where, problem.message) if part))
    if problem.remedy:
        click.echo(f"    → {problem.remedy}")
