"""nacre forget, pin, why: take a fact out of memory, keep it whatever happens, or show where it comes from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from nacre.cli import ui
from nacre.i18n import say
from nacre.model.report import Note, Report, fields

if TYPE_CHECKING:
    from nacre.memory import ForgetReport, Remaining, Removal, Target, Why


NOT_ALL = 3  # exit code: something is left


@ui.command("nacre forget 190d40841b --dry-run", dry_run=True)
@click.argument("what", metavar="ID|WORDS|FILE:LINE [WORDS]", nargs=-1, required=True)
@click.option("--all", "every", is_flag=True, help="Everything found that holds all of these words.")
@click.option("--similar", is_flag=True, help="Also lines that look like it, which are otherwise only listed.")
@click.option(
    "--purge", is_flag=True, help="Also out of history and backups, then search all that Nacre writes for it. No undo."
)
def forget(options: ui.Options, what: tuple[str, ...], *, every: bool, similar: bool, purge: bool) -> Report:
    """Take a fact out of memory: every line that says it, in MEMORY.md, logs, digests, notes and checkpoints.

    Named by the id that search shows, or by its whole words, it is forgotten at once. FILE:LINE shows what stands there, and words
    that are not the whole of one line list what they may mean: you choose. Where nobody can be asked, nothing is done (exit code 2):
    a script gives the id, or FILE:LINE with the words of that line, and is told by exit code 12 when another line stands there.

    It is not learned again from old transcripts; "nacre remember" of the same thing lifts that. "nacre undo" brings it back, unless
    --purge was given; exit code 3 says that something is left.
    """
    words, memory = " ".join(what), ui.open_memory(options)

    def choose(targets: Sequence[Target], certain: bool) -> Sequence[Target]:
        if len(targets) == 1 and (certain or options.dry_run):
            return targets
        if every and (meant := targets if certain else memory.holding(targets, words)):
            return meant
        if ui.is_interactive() and not options.as_json:
            return _ask_which(targets)
        rows, candidates, count = [(target.id, *_row(target)) for target in targets], [], len(targets)
        for target in targets:
            place = {"path": target.line.path, "line": target.line.start} if target.line else {}
            candidates.append({"id": target.id, "text": ui.legible(target.words), **place})
        ui.print_reports([Report({"candidates": candidates}, lines=rows)], as_json=options.as_json)
        things = ui.plural(count, "thing")
        english = f"{things} may be meant and nothing was forgotten. Name one by its id, or by FILE:LINE and its words."
        ui.note(english, f"可能指 {count} 项内容，未忘记任何内容。请用 id，或“文件:行号”加该行原文指定一项。")
        raise click.exceptions.Exit(2)

    made = memory.forget(words, purge=purge, dry_run=options.dry_run, similar=similar, choose=choose)
    rows = [(removal.line.place, removal.reason, ui.legible(removal.line.text)) for removal in made.plan.going]
    notes = [*_forgotten_notes(made, dry_run=options.dry_run), *_purged_notes(made, dry_run=options.dry_run)]
    lines: list[str | tuple[str, ...]] = [*rows, *map(Note, notes)]
    left = made.purged.left if made.purged else ()
    if made.purged:
        lines += [*left_rows(left), Note(say("The history of git is not covered.", "git 的历史不在检查范围内。"))]
    return Report(_forgotten_json(made, dry_run=options.dry_run), lines=lines, code=NOT_ALL if left else 0)


def _row(target: Target) -> tuple[str, str]:
    return target.line.place if target.line else say("ledger", "账本"), ui.legible(target.words)


def _ask_which(targets: Sequence[Target]) -> Sequence[Target]:
    if len(targets) == 1:
        ui.note("  ".join(_row(targets[0])))
        ui.confirm("Forget this?", "忘记这一条？", default=False)
        return targets
    for number, target in enumerate(targets, 1):
        ui.note(f"{number:>3}  " + "  ".join(_row(target)))
    question = say("Which? (numbers, or all; empty for none)", "哪几项？（编号，或 all；直接回车表示都不是）")
    by_number = {str(number): target for number, target in enumerate(targets, 1)}
    while True:
        answer = click.prompt(question, default="", show_default=False, err=True).strip().lower()
        numbers = list(by_number) if answer == "all" else answer.replace(",", " ").split()
        if not numbers:
            raise click.Abort
        if all(number in by_number for number in numbers):
            return [by_number[number] for number in dict.fromkeys(numbers)]


def _forgotten_notes(report: ForgetReport, *, dry_run: bool) -> list[str]:
    plan, count = report.plan, len(report.plan.going)
    undo = "" if report.purged else say(' "nacre undo" brings it back.', "可用“nacre undo”恢复。")
    outcome = ui.done(f"forgotten: {ui.plural(count, 'line')}.", f"忘记 {count} 行。", dry_run=dry_run)
    notes = [outcome + ("" if dry_run else undo)] if dry_run or count or plan else []
    if plan.alike:
        notes.append(
            say("Also looks like it, and stays (--similar takes it too):", "看起来也像（--similar 可一并删除）：")
        )
    return notes + [f"  {like.line.place}  {like.reason}  {ui.legible(like.line.text)}" for like in plan.alike]


def _purged_notes(report: ForgetReport, *, dry_run: bool) -> list[str]:
    if (purge := report.purge_plan) is None:
        return []
    contents, backups, numbers = len(purge.blobs), len(purge.backups), ", ".join(map(str, purge.undoes))
    cleaned = f"cleaned: {contents} earlier contents in history, {backups} backups, the ledger and the index."
    chinese = f"清理：历史中的 {contents} 份旧内容、{backups} 个备份、账本和索引。"
    notes = [ui.done(cleaned, chinese, dry_run=dry_run)]
    if numbers:
        notes.append(say(f"These operations can no longer be undone: {numbers}.", f"以下操作无法再撤销：{numbers}。"))
    for session in purge.sessions:
        name, day = f"{session.agent} {session.session}".strip(), session.day
        english = (
            f"The agent's own transcript of that session ({name}, {day}) still holds it; it is not Nacre's to change."
        )
        notes.append(say(english, f"代理自己的对话记录（{name}，{day}）仍保留该内容；Nacre 不会改动它。"))
    if report.purged and report.purged.left:
        notes.append(say("It still stands in:", "仍存在于："))
    elif report.purged and not purge.words:
        notes.append(
            say("Nobody knows its words any more, so they were not looked for.", "已无人知道其原文，因此没有查找。")
        )
    elif report.purged:
        english = "Everything that Nacre writes was searched: the words stand nowhere any more."
        notes.append(say(english, "已搜索 Nacre 写入的所有内容：相关文字已不存在。"))
    return notes


def left_rows(left: Sequence[Remaining]) -> list[tuple[str, str]]:
    return [(f"{line.path}:{line.line}" if line.line else line.path, line.reason) for line in left]


def _forgotten_json(report: ForgetReport, *, dry_run: bool) -> dict[str, Any]:
    plan, purge = report.plan, report.purge_plan
    facts: dict[str, Any] = {
        "forgotten": [{"id": fact.id, "text": ui.legible(fact.words)} for fact in plan.facts],
        "removed": [_removal_json(removal) for removal in plan.going],
        "alike": [_removal_json(removal) for removal in plan.alike],
        "ledgerLines": plan.redacts,
        "dryRun": dry_run,
    }
    if purge:
        left = None if report.purged is None else [fields(one, "path line reason") for one in report.purged.left]
        facts["purge"] = {
            "historyContents": len(purge.blobs),
            "notUndoable": list(purge.undoes),
            "backups": [gone[0].path for _, gone in purge.backups],
            "transcripts": [fields(one, "agent session day") for one in purge.sessions],
            "left": left,
        }
    return facts


def _removal_json(removal: Removal) -> dict[str, Any]:
    line = removal.line
    names, text = "path startLine endLine text layer reason", ui.legible(line.text)
    return fields(line, names, startLine=line.start, endLine=line.end, text=text, reason=removal.reason)


# nacre pin: keep an entry of MEMORY.md whatever happens.


@ui.command("nacre pin MEMORY.md:9", dry_run=True)
@click.argument("what", metavar="ID|FILE:LINE", nargs=-1, required=True)
@click.option("--off", is_flag=True, help="Take the pin out.")
def pin(options: ui.Options, what: tuple[str, ...], *, off: bool) -> Report:
    """Pin an entry of a MEMORY.md: it is never demoted or merged away. The file itself is not changed."""
    made = ui.open_memory(options).pin(" ".join(what), off=off, dry_run=options.dry_run)
    line, text = made.line, ui.legible(made.line.text)
    outcome = ui.first(
        (not made.records and made.pinned, "It is pinned already.", "它已经固定。"),
        (not made.records, "It is not pinned.", "它没有固定。"),
        (options.dry_run and made.pinned, "Would be pinned.", "将固定。"),
        (options.dry_run, "Would be unpinned.", "将取消固定。"),
        (made.pinned, "Pinned.", "已固定。"),
        (True, "No longer pinned.", "已取消固定。"),
    )
    changed = bool(made.records) and not options.dry_run
    facts = {"path": line.path, "line": line.start, "text": text, "pinned": made.pinned, "changed": changed}
    return Report(facts, heading=[outcome], lines=[f"{line.place}\t{text}"])


# nacre why: where a memory comes from.


@ui.command("nacre why MEMORY.md:9")
@click.argument("what", metavar="ID|FILE:LINE", nargs=-1, required=True)
def why(options: ui.Options, what: tuple[str, ...]) -> Report:
    """Show where a memory comes from: MEMORY.md, weekly digest, daily log, session, message; and what the ledger tells of it."""
    origin = ui.open_memory(options).why(" ".join(what))
    about = [origin.id, *([say("pinned", "已固定")] if origin.pinned else [])]
    about += [say(f"confidence {origin.confidence:g}", f"置信度 {origin.confidence:g}")] if origin.confidence else []
    lines = [f"{ui.legible(origin.words)}  ({', '.join(about)})"]
    kinds = {
        "longterm": say("long-term", "长期"),
        "weekly": say("week", "周报"),
        "daily": say("day", "日志"),
        "note": say("note", "笔记"),
        "session": say("session", "会话"),
        "checkpoint": say("checkpoint", "检查点"),
        "message": say("message", "消息"),
    }
    for link in origin.chain:
        place = f"{link.path}:{link.line}" if link.line else ""
        if link.kind in ("session", "checkpoint") and link.path:
            place = ui.shown_path(link.path) if link.kind == "session" else link.path
        parts = kinds[link.kind], place, link.date or "", link.about if link.about != link.date else ""
        lines.append("  " + "  ".join(filter(None, parts)))
        if link.text and link.kind in ("message", "weekly", "daily", "note"):
            lines.append(f"      {ui.legible(link.text)}")
    lines += [Note(f"  {origin.ends}")] if origin.ends else []
    for older in origin.superseded:
        until, text = older.valid_to or older.records[-1].at[:10], ui.legible(older.text or "")
        lines.append("  " + say(f"superseded, until {until}: {text}", f"已被取代（至 {until}）：{text}"))
    lines += [say("Ledger:", "账本：")] if origin.story else []
    for record in origin.story:
        scores = "  ".join(f"{name} {score:g}" for name, score in record.tests.items())
        failed = say(f"failed: {record.failed}", f"未通过：{record.failed}") if record.failed else ""
        columns = (record.at[:16].replace("T", " "), record.verdict, record.section or "", failed, scores)
        lines.append("  " + "  ".join(filter(None, columns)))
        if without := ui.legible(record.without_it or ""):
            lines.append("      " + say(f"without it: {without}", f"没有它：{without}"))
    return Report(_why_json(origin), lines=lines)


def _why_json(origin: Why) -> dict[str, Any]:
    links, ledger = [], []
    for link in origin.chain:
        text, about = ui.legible(link.text) or None, link.about or None
        links.append(fields(link, "kind path line date text about", path=link.path or None, text=text, about=about))
    for record in origin.story:
        row = {"tests": dict(record.tests), "withoutIt": ui.legible(record.without_it or "") or None}
        names = "id at verdict section tests failed withoutIt confidence valid_from valid_to supersedes brain"
        ledger.append({**fields(record, names, **row), "pinned": record.more.get("pinned")})
    superseded = [fields(old, "id text valid_to", text=ui.legible(old.text or "") or None) for old in origin.superseded]
    names = "id text pinned confidence chain ends superseded ledger"
    shown = {"text": ui.legible(origin.words), "chain": links, "ends": origin.ends or None}
    return fields(origin, names, **shown, superseded=superseded, ledger=ledger)
