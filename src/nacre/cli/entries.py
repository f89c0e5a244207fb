"""nacre remember, extract, classify, forget, pin, why, history, diff, undo: what is written, taken out, explained and taken back."""

from __future__ import annotations

import difflib
import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from nacre.cli import ui
from nacre.errors import BadInput, ChangedOutside, NotFound, PartlyDone
from nacre.i18n import say
from nacre.memory import Memory
from nacre.model import EVERYWHERE, TYPES, Note, Report, Step, fields
from nacre.text.layout import cut_path, shortened

if TYPE_CHECKING:
    from nacre.memory import ForgetReport, Removal, Target, UndoPlan


@ui.command('nacre remember "Use pnpm, never npm" --type PREF', dry_run=True)
@click.argument("text", nargs=-1, required=True)
@click.option("--type", "kind", metavar="|".join(TYPES), help="The type of memory.")
@click.option(
    "--project",
    is_flag=False,
    flag_value="",
    metavar="[NAME]",
    help="The project it belongs to; by default, or without a name, the project of the current folder.",
)
@ui.flag("--global", "everywhere", "Apply it to every project.")
def remember(
    options: ui.Options, text: tuple[str, ...], kind: str | None, project: str | None, *, everywhere: bool
) -> Report:
    """Save a note to today's log. Use "nacre remember -" to read it from a pipe.

    Agents working in the current folder's project will get it; with --global, all agents will.

    Secrets are refused (exit code 13) and never echoed.
    """
    if everywhere and project is not None:
        raise click.UsageError(
            say("--project and --global cannot be used together.", "--project 与 --global 不能同时使用。")
        )
    words, project = ui.words_of(text), EVERYWHERE if everywhere else project or None
    entry = ui.open_memory(options).remember(words, kind, project=project, dry_run=options.dry_run)
    where = f"{entry.path}:{entry.line}" if entry.line else entry.path
    where += say(f" (project {entry.project})", f"（项目 {entry.project}）") if entry.project else ""
    written = ui.done(f"written to {where}", f"写入 {where}", dry_run=options.dry_run)
    return Report(
        fields(entry, "path line type text already", project=entry.project or None, dryRun=options.dry_run),
        heading=[say(f"Already saved: {where}", f"已经记过：{where}") if entry.already else written],
        lines=[f"- [{entry.type}] {entry.text}" if entry.type else f"- {entry.text}"],
    )


@ui.command('nacre extract "we moved to pnpm, never use npm here again"', dry_run=True)
@click.argument("text", nargs=-1, required=True)
@ui.flag("--auto", "Write the result to today's log.")
def extract(options: ui.Options, text: tuple[str, ...], *, auto: bool) -> Report:
    """Extract what is worth remembering from a text, each line with its type; "-" reads the text from a pipe.

    With --auto, new lines are written to today's log. No model service is called and nothing leaves this machine.
    """
    words, write = ui.words_of(text), auto and not options.dry_run
    bullets = ui.open_memory(options).extract(words, write=write)
    return Report(
        {"lines": [fields(bullet, "text type") for bullet in bullets], "written": write and bool(bullets)},
        lines=[f"- {bullet.line}" for bullet in bullets],
        notes=ui.every((not bullets, "Nothing worth remembering found.", "没有找到值得记住的内容。")),
    )


@ui.command('nacre classify "Reports are written in Typst"', dry_run=True)
@click.argument("text", nargs=-1)
@ui.flag("--summary", "Only show how many lines of the daily logs have each type.")
@ui.flag("--apply", "do_apply", "Add the type to notes that have none.")
def classify(options: ui.Options, text: tuple[str, ...], *, summary: bool, do_apply: bool) -> Report:
    """Classify a text: PREF, PROJ, TECH, LESSON, PEOPLE or TEMP.

    Without TEXT, list the lines of the daily logs that have no type yet, with the type each would get. Nothing changes unless you
    pass --apply, which "nacre undo" reverts.
    """
    if text and (summary or do_apply):
        raise BadInput(
            "--summary and --apply work on the daily logs; omit TEXT.",
            "--summary 和 --apply 用于每日日志；请不要指定 TEXT。",
        )
    memory = ui.open_memory(options)
    if text:
        words = " ".join(text)
        if not words.strip():
            raise BadInput("Nothing to classify: the text is empty.", "没有可分类的内容：文本为空。")
        kind, category = memory.classify(words), memory.category(words)
        return Report({"text": words, "type": kind, "category": category}, lines=[f"{kind}\t{category}"])
    apply = do_apply and not options.dry_run
    lines = memory.untyped(apply=apply)
    notes = ui.every(
        (not lines, "Every note has a type.", "所有笔记都已有类型。"),
        (lines and apply, f"Type added to {ui.plural(len(lines), 'line')}.", f"已为 {len(lines)} 行标注类型。"),
    )
    if summary:
        counts = memory.count_types().most_common()
        rows = [(kind, str(count)) for kind, count in counts]
        return Report({"counts": dict(counts)}, columns=ui.headings("Type 类型|Lines 行数"), lines=rows, notes=notes)
    return Report(
        {"lines": [fields(line, "path line type text") for line in lines], "applied": apply},
        lines=[(f"{line.path}:{line.line}", line.type or "", line.text) for line in lines],
        notes=notes,
    )


_FILE_WIDTH = 36  # columns of a file's name in the history


@ui.command("nacre forget 190d40841b --dry-run", dry_run=True)
@click.argument("what", metavar="ID|WORDS|FILE:LINE", nargs=-1, required=True)
@ui.flag("--similar", "Also remove similar lines, which are otherwise only listed.")
@ui.flag("--purge", "Also erase it from history and backups, then check everything Nacre writes. Cannot be undone.")
def forget(options: ui.Options, what: tuple[str, ...], *, similar: bool, purge: bool) -> Report:
    """Remove a fact from memory: every line that states it, in MEMORY.md, logs, digests, notes and checkpoints.

    With an id from search or the full text of a line, it is removed right away. With FILE:LINE or part of a text, you are shown the
    matching lines and choose. Without a terminal, nothing is removed (exit code 2), so scripts should use ids.

    It is not learned again from old transcripts unless you save it with "nacre remember". "nacre undo" restores it, except after --purge.
    Exit code 3 means that some copies remain.
    """
    words, memory = " ".join(what), ui.open_memory(options)

    def choose(targets: Sequence[Target], certain: bool) -> Sequence[Target]:
        if len(targets) == 1 and (certain or options.dry_run):
            return targets
        more = [] if certain else _further_mentions(memory, words, targets)
        if ui.is_interactive() and not options.as_json:
            for sentence in more:
                ui.note(sentence)
            return _ask_which(targets)
        rows = [(target.id, *_row(target)) for target in targets]
        candidates = [
            {"id": target.id, "text": ui.legible(target.words)}
            | ({"path": target.line.path, "line": target.line.start} if target.line else {})
            for target in targets
        ]
        ui.print_reports([Report({"candidates": candidates}, lines=rows)], as_json=options.as_json)
        count, id_ = len(targets), targets[0].id
        single = f"1 match; nothing was removed yet. To remove it: nacre forget {id_}"
        several = f"{count} matches; nothing was removed. To remove one: nacre forget ID"
        outcome = ui.first(
            (count == 1, single, f"有 1 项匹配，尚未删除任何内容。要删除它：nacre forget {id_}"),
            (True, several, f"有 {count} 项匹配，未删除任何内容。要删除其中一项：nacre forget ID"),
        )
        for sentence in (outcome, *more):
            ui.note(sentence)
        raise click.exceptions.Exit(2)

    made = memory.forget(words, purge=purge, dry_run=options.dry_run, similar=similar, choose=choose)
    rows = [(removal.line.place, removal.reason, ui.legible(removal.line.text)) for removal in made.plan.going]
    lines: list[str | tuple[str, ...]] = [*rows, *map(Note, _notes(made, dry_run=options.dry_run))]
    left = made.purged.left if made.purged else ()
    if made.purged:
        lines += [(f"{copy.path}:{copy.line}" if copy.line else copy.path, copy.reason) for copy in left]
        lines += [Note(say("Git history was not checked.", "未检查 git 历史。"))]
    facts = _forgotten_json(made, dry_run=options.dry_run)
    return Report(facts, lines=lines, code=PartlyDone.exit_code if left else 0)


def _further_mentions(memory: Memory, words: str, targets: Sequence[Target]) -> list[str]:
    """A note that more lines mention the words than `forget` offers, with the command that lists them."""
    try:
        further = memory.about(words).entries - len(targets)
    except NotFound:
        return []
    what = "1 more line mentions" if further == 1 else f"{further} more lines mention"
    command = f"nacre about {words if words.isalnum() else shlex.quote(words)}"
    return ui.every((further > 0, f"{what} it: {command}", f"另有 {further} 条提到它：{command}"))


def _row(target: Target) -> tuple[str, str]:
    return target.line.place if target.line else say("ledger", "账本"), ui.legible(target.words)


def _ask_which(targets: Sequence[Target]) -> Sequence[Target]:
    if len(targets) == 1:
        ui.note("  ".join(_row(targets[0])))
        ui.confirm("Remove this line?", "要删除这一行吗？", default=False)
        return targets
    for number, target in enumerate(targets, 1):
        ui.note(f"{number:>3}  " + "  ".join(_row(target)))
    question = say('Which ones? (numbers, "all", or Enter for none)', "要删除哪几项？（编号或 all，直接回车则不删除）")
    by_number = {str(number): target for number, target in enumerate(targets, 1)}
    while True:
        answer = click.prompt(question, default="", show_default=False, err=True).strip().lower()
        numbers = list(by_number) if answer == "all" else answer.replace(",", " ").split()
        if not numbers:
            raise click.Abort
        if all(number in by_number for number in numbers):
            return [by_number[number] for number in dict.fromkeys(numbers)]


def _notes(report: ForgetReport, *, dry_run: bool) -> list[str]:
    """Sentences about what was removed, which lines are similar, and what purging cleaned."""
    plan, purge, purged, count = report.plan, report.purge_plan, report.purged, len(report.plan.going)
    undo = "" if purged or dry_run else say(' Run "nacre undo" to restore what was removed.', "可用“nacre undo”恢复。")
    outcome = ui.done(f"removed: {ui.plural(count, 'line')}.", f"删除 {count} 行。", dry_run=dry_run) + undo
    alike = "Similar lines, not removed (use --similar to remove them too):"
    notes = ui.every(
        (dry_run or count or plan, outcome, outcome), (plan.alike, alike, "相似的行，未删除（--similar 可一并删除）：")
    )
    notes += [f"  {like.line.place}  {like.reason}  {ui.legible(like.line.text)}" for like in plan.alike]
    if purge is None:
        return notes
    contents, backups, numbers = len(purge.blobs), len(purge.backups), ", ".join(map(str, purge.undoes))
    cleaned = f"cleaned: history ({contents}), backups ({backups}), the ledger and the index."
    chinese = f"清理：历史中的 {contents} 个旧版本、{backups} 个备份、账本和索引。"
    transcript = (
        "The agent's own transcript of that session ({0}, {1}) still contains it; Nacre does not change transcripts."
    )
    transcript_chinese = "智能体自己的会话记录（{0}，{1}）仍包含该内容；Nacre 不会改动会话记录。"
    sessions = [(f"{session.agent} {session.session}".strip(), session.day) for session in purge.sessions]
    unknown = "The original text is unknown, so its copies could not be searched for."
    searched = "Searched everything Nacre writes: no copy of the text is left."
    remains = ui.first(
        (not purged, "", ""),
        (purged and purged.left, "Still found in:", "仍存在于："),
        (not purge.words, unknown, "原文已不存在，无法搜索残留的副本。"),
        (True, searched, "已搜索 Nacre 写入的所有内容，没有残留。"),
    )
    return [
        *notes,
        ui.done(cleaned, chinese, dry_run=dry_run),
        *ui.every(
            (numbers, f"These operations can no longer be undone: {numbers}.", f"以下操作无法再撤销：{numbers}。"),
            *((True, transcript.format(*session), transcript_chinese.format(*session)) for session in sessions),
            (remains, remains, remains),
        ),
    ]


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
        left = None if report.purged is None else [fields(copy, "path line reason") for copy in report.purged.left]
        facts["purge"] = {
            "historyContents": len(purge.blobs),
            "notUndoable": list(purge.undoes),
            "backups": [gone[0].path for _, gone in purge.backups],
            "transcripts": [fields(session, "agent session day") for session in purge.sessions],
            "left": left,
        }
    return facts


def _removal_json(removal: Removal) -> dict[str, Any]:
    line = removal.line
    names, text = "path startLine endLine text layer reason", ui.legible(line.text)
    return fields(line, names, startLine=line.start, endLine=line.end, text=text, reason=removal.reason)


@ui.command("nacre pin MEMORY.md:9", dry_run=True)
@click.argument("what", metavar="ID|FILE:LINE", nargs=-1, required=True)
@ui.flag("--off", "Unpin it.")
def pin(options: ui.Options, what: tuple[str, ...], *, off: bool) -> Report:
    """Pin an entry in a MEMORY.md so that it is never moved out or merged. The file itself does not change."""
    made = ui.open_memory(options).pin(" ".join(what), off=off, dry_run=options.dry_run)
    line, text = made.line, ui.legible(made.line.text)
    change = ("pinned.", "固定。") if made.pinned else ("unpinned.", "取消固定。")
    unchanged = say("Already pinned.", "已经固定。") if made.pinned else say("It was not pinned.", "未固定。")
    outcome = ui.done(*change, dry_run=options.dry_run) if made.records else unchanged
    changed = bool(made.records) and not options.dry_run
    facts = {"path": line.path, "line": line.start, "text": text, "pinned": made.pinned, "changed": changed}
    return Report(facts, heading=[outcome], lines=[f"{line.place}\t{text}"])


@ui.command("nacre why MEMORY.md:9")
@click.argument("what", metavar="ID|FILE:LINE", nargs=-1, required=True)
def why(options: ui.Options, what: tuple[str, ...]) -> Report:
    """Show where a memory comes from (MEMORY.md, weekly digest, daily log, session, message) and its ledger records."""
    from nacre.tidy.summary import consequence, failure, outcome

    origin = ui.open_memory(options).why(" ".join(what))
    about = [origin.id, *([say("pinned", "已固定")] if origin.pinned else [])]
    about += [say(f"confidence {origin.confidence:g}", f"置信度 {origin.confidence:g}")] if origin.confidence else []
    lines = [f"{ui.legible(origin.words)}  " + say(f"({', '.join(about)})", f"（{'，'.join(about)}）")]
    kinds = {
        **ui.localised("note 笔记|session 会话|checkpoint 检查点|message 消息"),
        "longterm": say("long-term memory", "长期记忆"),
        "weekly": say("weekly digest", "每周摘要"),
        "daily": say("daily log", "每日日志"),
    }
    tests = {
        "prevents_error": say("prevents a mistake", "避免出错"),
        "broad": say("broad", "适用面广"),
        "self_contained": say("clear on its own", "单独能看懂"),
        "novel": say("new", "新内容"),
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
        lines.append("  " + say(f"superseded (valid until {until}): {text}", f"已被取代（有效至 {until}）：{text}"))
    lines += [say("Ledger:", "账本：")] if origin.story else []
    for record in origin.story:
        scores = say(", ", "，").join(f"{tests.get(name, name)} {score:.2f}" for name, score in record.tests.items())
        at, failed = record.at[:16].replace("T", " "), failure(record.failed or "")
        columns = at, outcome(record.verdict), record.section or "", failed, scores
        lines.append("  " + "  ".join(filter(None, columns)))
        if record.without_it:
            lines.append("      " + ui.legible(consequence(record.without_it)))
    return Report(origin.as_plain(), lines=[ui.folded(line) for line in lines])


@ui.command("nacre history -n 5")
@click.option(
    "-n", "--limit", type=click.IntRange(1), default=20, show_default=True, help="How many to list, newest first."
)
def history(options: ui.Options, limit: int) -> Report:
    """List the changes Nacre made, newest first. "nacre diff N" shows one, "nacre undo N" reverts it."""
    memory = ui.open_memory(options)
    newest, now = memory.history(limit).operations[::-1], memory.clock.now()
    states = {"done": "已完成", "partly done": "部分完成", "not carried out": "未执行", "undone": "已撤销"}
    rows = []
    for operation in newest:
        files = [*dict.fromkeys(change.path for change in operation.changes)]
        state = say(operation.state, states.get(operation.state, operation.state))
        colour = {"done": "green", "undone": "dim"}.get(operation.state, "yellow")
        at = ui.age_of(operation.at, now) if sys.stdout.isatty() else operation.at[:19]
        rows.append((str(operation.id), at, operation.command, ui.Coloured(state, colour), _shown_files(files)))
    return Report(
        [{**entry._asdict(), "changes": [change._asdict() for change in entry.changes]} for entry in newest],
        columns=ui.headings("# #|when 时间|command 命令|state 状态|files 文件"),
        lines=rows,
        notes=ui.every((not newest, "No changes yet.", "还没有任何改动。")),
    )


def _shown_files(paths: Sequence[str]) -> str:
    """The files of an operation; on a terminal only the most telling one and the number of the others, to fit one line."""
    if not sys.stdout.isatty() or not paths:
        return ", ".join(paths)
    notes = [path for path in paths if path.endswith(".md")] or paths  # not the ledger, nor copies
    first = cut_path(min(notes, key=lambda path: not path.endswith("MEMORY.md")), _FILE_WIDTH)
    return f"{first} +{len(paths) - 1}" if len(paths) > 1 else first


@ui.command("nacre diff 12")
@click.argument("number", type=int, required=False)
def diff(options: ui.Options, number: int | None) -> Report:
    """Show one change from the history; default: the most recent."""
    memory = ui.open_memory(options)
    if number is None:
        operations = memory.history(1).operations
        if not operations:
            raise NotFound("No changes yet.", "还没有任何改动。")
        number = operations[-1].id
    text = memory.diff(number)
    return Report({"operation": number, "diff": text}, lines=[text.removesuffix("\n")])


@ui.command("nacre undo 12 --dry-run", dry_run=True)
@click.argument("number", type=click.IntRange(1), required=False)
@click.option(
    "--last", type=click.IntRange(1), metavar="COUNT", help="Undo the last COUNT operations, after confirmation."
)
@click.option("--only", type=click.IntRange(1), metavar="NUMBER", help="Same as NUMBER.")
@ui.flag("--yes", "Do not ask for confirmation with --last.")
def undo(options: ui.Options, number: int | None, last: int | None, only: int | None, *, yes: bool) -> Report:
    """Undo an operation: NUMBER from "nacre history"; default: the last one that is neither an undo nor already undone. An undo is itself an
    operation and can be undone by its number.

    Your own edits since then are kept; if they touch the same lines, nothing is undone (exit code 12).
    """
    if sum(named is not None for named in (number, only, last)) > 1:
        raise BadInput("Use either a number or --last, not both.", "编号与 --last 不能同时使用。")
    memory, number = ui.open_memory(options), only if number is None else number
    if last is not None and last > 1 and not options.dry_run and not yes:
        _confirm_last(memory, last)
    made = memory.undo(number, last=last or 1, dry_run=options.dry_run)
    count, resumed = len(made.undoes), made.resumes
    complete = f"The interrupted undo (operation {resumed}) is now complete."
    outcome = ui.first(
        (resumed is not None, complete, f"之前中断的撤销（操作 {resumed}）现已完成。"),
        (not made.plan, "Nothing to undo.", "没有可撤销的操作。"),
        (count < (last or 0), f"Only {count} could be undone.", f"只有 {count} 个操作可以撤销。"),
    )
    facts = {"undoes": made.undoes, "steps": [asdict(step) for step in made.plan.steps], "dryRun": options.dry_run}
    lines = [*_changed_lines(made), *dict.fromkeys(step.reason for step in made.plan.steps)]
    return Report(facts, lines=lines, notes=[outcome])


_MOST_CHANGED = 12  # lines that are shown of a file
_LONGEST_CHANGED = 100  # characters of each
_NOTES = re.compile(r" *<!-- nacre:.*?-->")


def _changed_lines(made: UndoPlan) -> list[str]:
    """The lines of memory that come back (+) and go (-). Of a checkpoint only its name is shown, of our own files nothing."""
    shown: list[str] = []
    for change in made.changes:
        path, after = change.to or change.name, change.before if change.to and change.data is None else change.data
        if not path.endswith(".md") or "/archive/" in path:
            continue
        before, is_new = None if change.to else change.before, change.to or change.before is None
        action = "move back" if change.to else "remove" if after is None else "bring back" if is_new else "restore"
        shown.append(f"{Step(action, path, '').word}  {path}")
        if change.to or path.startswith("memory_fs/"):
            continue
        old, new = (_NOTES.sub("", (data or b"").decode("utf-8", "replace")).splitlines() for data in (before, after))
        hunks = islice(difflib.unified_diff(old, new, n=0, lineterm=""), 2, None)
        differing = [
            (line[0], line[1:].strip().removeprefix("- ")) for line in hunks if line[0] in "+-" and line[1:].strip()
        ]
        shown += [
            f"  {sign} {shortened(ui.legible(text), _LONGEST_CHANGED)}" for sign, text in differing[:_MOST_CHANGED]
        ]
        more = len(differing) - _MOST_CHANGED
        shown += ui.every((more > 0, f"  … {more} more", f"  …… 另有 {more} 行"))
    return shown


def _confirm_last(memory: Memory, last: int) -> None:
    """List what would be undone, and ask for confirmation."""
    planned = memory.undo(last=last, dry_run=True)
    count = len(planned.undoes)
    if count < 2 or planned.resumes is not None:
        return
    for operation in memory.history().operations[::-1]:
        if operation.id in planned.undoes:
            ui.note(f"{operation.id}  {operation.at[:19]}  {operation.command}")
    ui.confirm(f"Undo these {count} operations?", f"撤销以上 {count} 个操作吗？", default=False)
    if memory.undo(last=last, dry_run=True).undoes != planned.undoes:
        raise ChangedOutside(
            "New operations were recorded in the meantime, so nothing was undone. Run the command again.",
            "询问期间又有新的操作，因此未撤销任何内容。请重新运行命令。",
        )
