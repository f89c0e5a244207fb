"""nacre forget, nacre pin: take a fact out of memory, or keep it whatever happens."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from nacre.cli.base import Command, Invocation, dry_run_option, json_option, note, open_memory, print_json, table
from nacre.guard.secrets import legible
from nacre.i18n import say

if TYPE_CHECKING:
    from nacre.forget.apply import Choose, ForgetReport, Removal
    from nacre.forget.purge import PurgePlan, Remaining
    from nacre.forget.target import Target


NOT_ALL = 3  # exit code: something is left


@click.command(cls=Command, epilog="Example:  nacre forget 190d40841b --dry-run")
@click.argument("what", metavar="ID|WORDS|FILE:LINE [WORDS]", nargs=-1, required=True)
@click.option("--all", "every", is_flag=True, help="Everything found that holds all of these words.")
@click.option("--similar", is_flag=True, help="Also lines that look like it, which are otherwise only listed.")
@click.option(
    "--purge", is_flag=True, help="Also out of history and backups, then search all that Nacre writes for it. No undo."
)
@dry_run_option
@json_option
@click.pass_obj
def forget(
    invocation: Invocation,
    what: tuple[str, ...],
    *,
    every: bool,
    similar: bool,
    purge: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Take a fact out of memory: every line that says it, in MEMORY.md, logs, digests, notes and checkpoints.

    Named by the id that search shows, or by its whole words, it is forgotten at once. FILE:LINE shows what stands there, and words
    that are not the whole of one line list what they may mean: you choose. Where nobody can be asked, nothing is done (exit code 2):
    a script gives the id, or FILE:LINE with the words of that line, and is told by exit code 12 when another line stands there.

    It is not learned again from old transcripts; "nacre remember" of the same thing lifts that. "nacre undo" brings it back, unless
    --purge was given; exit code 3 says that something is left.
    """
    memory = open_memory(invocation)
    wanted = " ".join(what)
    chosen = _chooser(wanted, every=every, dry_run=dry_run, as_json=as_json)
    report = memory.forget(wanted, purge=purge, dry_run=dry_run, similar=similar, choose=chosen)
    if as_json:
        print_json(_as_json(report, dry_run=dry_run))
    else:
        _show(report, dry_run=dry_run)
    if report.purged and report.purged.left:
        raise click.exceptions.Exit(NOT_ALL)


def _chooser(wanted: str, *, every: bool, dry_run: bool, as_json: bool) -> Choose:
    def choose(targets: Sequence[Target], certain: bool) -> Sequence[Target]:
        from nacre.forget.target import holding

        asks = sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty() and not as_json
        if len(targets) == 1 and (certain or dry_run):
            return targets
        if every and (meant := targets if certain else holding(targets, wanted)):
            return meant
        if asks:
            return _asked(targets)
        if as_json:
            print_json({"candidates": [_target(one) for one in targets]})
        else:
            table(_row(one) for one in targets)
        fits = "1 thing may be meant" if len(targets) == 1 else f"{len(targets)} things may be meant"
        note(
            f"{fits} and nothing was forgotten. Name one by its id, or by FILE:LINE and its words.",
            f"可能指 {len(targets)} 项内容，未忘记任何内容。请用 id，或“文件:行号”加该行原文指定一项。",
        )
        raise click.exceptions.Exit(2)

    return choose


def _asked(targets: Sequence[Target]) -> Sequence[Target]:
    if len(targets) == 1:
        click.echo("  ".join(_row(targets[0])[1:]), err=True)
        if not click.confirm(say("Forget this?", "忘记这一条？"), err=True):
            raise click.exceptions.Exit(1)
        return targets
    for number, one in enumerate(targets, 1):
        click.echo(f"{number:>3}  " + "  ".join(_row(one)[1:]), err=True)
    question = say("Which? (numbers, or all; empty for none)", "哪几项？（编号，或 all；直接回车表示都不是）")
    answer = click.prompt(question, default="", show_default=False, err=True).strip().lower()
    if answer == "all":
        return targets
    numbers = {int(word) for word in answer.replace(",", " ").split() if word.isascii() and word.isdigit()}
    chosen = [one for number, one in enumerate(targets, 1) if number in numbers]
    if not chosen:
        raise click.Abort
    return chosen


def _row(one: Target) -> tuple[str, str, str]:
    return one.id, one.line.place if one.line else say("ledger", "账本"), legible(one.words)


def _target(one: Target) -> dict[str, Any]:
    where = {"path": one.line.path, "line": one.line.start} if one.line else {}
    return {"id": one.id, "text": legible(one.words), **where}


def _show(report: ForgetReport, *, dry_run: bool) -> None:
    made = report.plan
    table((one.line.place, one.reason, legible(one.line.text)) for one in made.going)
    count = len(made.going)
    if dry_run:
        note(f"Would be forgotten: {_lines(count)}.", f"将忘记 {count} 行。")
    elif count or made:
        undo = "" if report.purged else say(' "nacre undo" brings it back.', "可用“nacre undo”恢复。")
        note(say(f"Forgotten: {_lines(count)}.", f"已忘记 {count} 行。") + undo)
    if made.alike:
        note(
            "Also looks like it, and stays (--similar takes it too):",
            "看起来也像，但予以保留（--similar 可一并删除）：",
        )
        for one in made.alike:
            note(f"  {one.line.place}  {one.reason}  {legible(one.line.text)}")
    if report.purge_plan:
        _show_purge(report.purge_plan, report.purged.left if report.purged else (), dry_run=dry_run)


def _show_purge(made: PurgePlan, left: Sequence[Remaining], *, dry_run: bool) -> None:
    cleaned = (len(made.blobs), len(made.backups))
    if dry_run:
        note(
            f"Would be cleaned: {cleaned[0]} earlier contents in history, {cleaned[1]} backups.",
            f"将清理：历史中的 {cleaned[0]} 份旧内容、{cleaned[1]} 个备份。",
        )
    else:
        note(
            f"Cleaned: {cleaned[0]} earlier contents in history, {cleaned[1]} backups, the ledger and the index.",
            f"已清理：历史中的 {cleaned[0]} 份旧内容、{cleaned[1]} 个备份、账本和索引。",
        )
    if made.undoes:
        listed = ", ".join(map(str, made.undoes))
        note(f"These operations can no longer be undone: {listed}.", f"以下操作无法再撤销：{listed}。")
    for one in made.sessions:
        named = f"{one.agent} {one.session}".strip()
        note(
            f"The agent's own transcript of that talk ({named}, {one.day}) still holds it; it is not Nacre's to change.",
            f"代理自己的对话记录（{named}，{one.day}）仍保留该内容；Nacre 不会改动它。",
        )
    if dry_run:
        return
    if not left and not made.words:
        note(
            "Nobody knows its words any more; no line of any file is what the tombstone stands for.",
            "已无人知道其原文；没有任何文件的任何一行与墓碑相符。",
        )
    elif not left:
        note(
            "Everything that Nacre writes was searched: the words stand nowhere any more.",
            "已搜索 Nacre 写入的所有内容：相关文字已不存在。",
        )
    else:
        note("It still stands in:", "仍存在于：")
        show_left(left)
    note("The history of git is not covered.", "git 的历史不在检查范围内。")


def show_left(left: Sequence[Remaining]) -> None:
    table((f"{one.path}:{one.line}" if one.line else one.path, one.reason) for one in left)


def _lines(count: int) -> str:
    return "1 line" if count == 1 else f"{count} lines"


def _as_json(report: ForgetReport, *, dry_run: bool) -> dict[str, Any]:
    made = report.plan
    told: dict[str, Any] = {
        "forgotten": [{"id": fact.id, "text": legible(fact.words)} for fact in made.facts],
        "removed": [_going(one) for one in made.going],
        "alike": [_going(one) for one in made.alike],
        "ledgerLines": made.redacts,
        "dryRun": dry_run,
    }
    if report.purge_plan:
        cleaning = report.purge_plan
        told["purge"] = {
            "historyContents": len(cleaning.blobs),
            "notUndoable": list(cleaning.undoes),
            "backups": [gone[0].path for _, gone in cleaning.backups],
            "transcripts": [{"agent": one.agent, "session": one.session, "day": one.day} for one in cleaning.sessions],
            "left": None if report.purged is None else [left_json(one) for one in report.purged.left],
        }
    return told


def left_json(one: Remaining) -> dict[str, Any]:
    return {"path": one.path, "line": one.line, "reason": one.reason}


def _going(one: Removal) -> dict[str, Any]:
    line = one.line
    return {
        "path": line.path,
        "startLine": line.start,
        "endLine": line.end,
        "text": legible(line.text),
        "layer": line.layer,
        "reason": one.reason,
    }


# nacre pin: keep an entry of MEMORY.md whatever happens.


@click.command(cls=Command, epilog="Example:  nacre pin MEMORY.md:9")
@click.argument("what", metavar="ID|FILE:LINE", nargs=-1, required=True)
@click.option("--off", is_flag=True, help="Take the pin out.")
@dry_run_option
@json_option
@click.pass_obj
def pin(invocation: Invocation, what: tuple[str, ...], *, off: bool, dry_run: bool, as_json: bool) -> None:
    """Pin an entry of a MEMORY.md: it is never demoted or merged away. The file itself is not changed."""
    made = open_memory(invocation).pin(" ".join(what), off=off, dry_run=dry_run)
    line = made.line
    text = legible(line.text)
    if as_json:
        changed = bool(made.records) and not dry_run
        print_json({"path": line.path, "line": line.start, "text": text, "pinned": made.pinned, "changed": changed})
        return
    if not made.records:
        note(say("It is pinned already.", "它已经固定。") if made.pinned else say("It is not pinned.", "它没有固定。"))
    elif dry_run:
        note(say("Would be pinned.", "将固定。") if made.pinned else say("Would be unpinned.", "将取消固定。"))
    else:
        note(say("Pinned.", "已固定。") if made.pinned else say("No longer pinned.", "已取消固定。"))
    click.echo(f"{line.place}\t{text}")
