"""nacre remember, extract, classify, forget, pin, why, history, diff, undo: what is written, taken out, explained and taken back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import click

from nacre.cli import ui
from nacre.errors import BadInput, ChangedOutside, NotFound
from nacre.i18n import say
from nacre.memory import Memory
from nacre.model.entry import EVERYWHERE, TYPES
from nacre.model.report import Note, Report, fields

if TYPE_CHECKING:
    from nacre.memory import ForgetReport, Remaining, Removal, Target, Why


@ui.command('nacre remember "Use pnpm, never npm" --type PREF', dry_run=True)
@click.argument("text", nargs=-1, required=True)
@click.option("--type", "kind", metavar="|".join(TYPES), help="What kind of memory it is.")
@click.option(
    "--project",
    is_flag=False,
    flag_value="",
    metavar="[NAME]",
    help="The project that it is about; without a name, and by default, that of the current folder.",
)
@ui.flag("--global", "everywhere", "It holds in every project.")
def remember(
    options: ui.Options, text: tuple[str, ...], kind: str | None, project: str | None, *, everywhere: bool
) -> Report:
    """Write one thing down in today's log, at once. Text from a pipe: "nacre remember -".

    It is given to agents in the project of the current folder; with --global, to all.

    A secret is refused (exit code 13) and never repeated in the message.
    """
    if everywhere and project is not None:
        raise click.UsageError(
            say("--project and --global exclude each other.", "--project 与 --global 不能同时使用。")
        )
    words = ui.words_of(text)
    project = EVERYWHERE if everywhere else project or None
    entry = ui.open_memory(options).remember(words, kind, project=project, dry_run=options.dry_run)
    where = f"{entry.path}:{entry.line}" if entry.line else entry.path
    where += ui.first((entry.project, f", for the project {entry.project}", f"，属于项目 {entry.project}"))
    outcome = ui.done(f"written to {where}", f"写入 {where}", dry_run=options.dry_run)
    if entry.already:
        outcome = say(f"Already there: {where}", f"已经记过：{where}")
    facts = fields(entry, "path line type text already", project=entry.project or None, dryRun=options.dry_run)
    line = f"- [{entry.type}] {entry.text}" if entry.type else f"- {entry.text}"
    return Report(facts, heading=[outcome], lines=[line])


@ui.command('nacre extract "we moved to pnpm, never use npm here again"', dry_run=True)
@click.argument("text", nargs=-1, required=True)
@ui.flag("--auto", "Write what was found into today's log.")
def extract(options: ui.Options, text: tuple[str, ...], *, auto: bool) -> Report:
    """Say what of a text is worth remembering, each line with its type; "-" takes the text from a pipe.

    With --auto the lines go into today's log, those that stand there already not again. No model server is asked and nothing
    leaves this machine.
    """
    words, write = ui.words_of(text), auto and not options.dry_run
    bullets = ui.open_memory(options).extract(words, write=write)
    notes = ui.every((not bullets, "Nothing in it is worth a line.", "其中没有值得记录的内容。"))
    facts = {"lines": [fields(bullet, "text type") for bullet in bullets], "written": write and bool(bullets)}
    lines = [f"- {bullet.line}" for bullet in bullets]
    return Report(facts, lines=lines, notes=notes)


@ui.command('nacre classify "Reports are written in Typst"', dry_run=True)
@click.argument("text", nargs=-1)
@ui.flag("--summary", "Only count the lines of the daily logs by type.")
@ui.flag("--apply", "do_apply", "Put the type before the lines of notes that have none.")
def classify(options: ui.Options, text: tuple[str, ...], *, summary: bool, do_apply: bool) -> Report:
    """Say what kind of memory a text is: PREF, PROJ, TECH, LESSON, PEOPLE or TEMP.

    Without TEXT: the bullets of the daily logs that carry no type yet, each with the one it would get. Nothing is changed unless
    --apply is given; undo takes it back.
    """
    if text and (summary or do_apply):
        raise BadInput(
            "--summary and --apply are for the daily logs; leave the text out.",
            "--summary 和 --apply 用于每日日志；请不要同时给出文本。",
        )
    memory = ui.open_memory(options)
    if text:
        words = " ".join(text)
        if not words.strip():
            raise BadInput("There is nothing to classify: the text is empty.", "没有可分类的内容：文本为空。")
        kind, category = memory.classify(words), memory.category(words)
        return Report({"text": words, "type": kind, "category": category}, lines=[f"{kind}\t{category}"])
    apply = do_apply and not options.dry_run
    lines = memory.untyped(apply=apply)
    notes = ui.every(
        (not lines, "Every line of a note has its type.", "每一行笔记都有类型。"),
        (lines and apply, f"Lines that were given their type: {len(lines)}.", f"已为 {len(lines)} 行标注类型。"),
    )
    if summary:
        counts = dict(memory.count_types().most_common())
        counted = [(kind, str(count)) for kind, count in counts.items()]
        return Report(
            {"counts": counts}, lines=counted, columns=(say("Type", "类型"), say("Lines", "行数")), notes=notes
        )
    facts = {"lines": [fields(line, "path line type text") for line in lines], "applied": apply}
    rows = [(f"{line.path}:{line.line}", line.type or "", line.text) for line in lines]
    return Report(facts, lines=rows, notes=notes)


NOT_ALL = 3  # exit code: something is left


@ui.command("nacre forget 190d40841b --dry-run", dry_run=True)
@click.argument("what", metavar="ID|WORDS|FILE:LINE", nargs=-1, required=True)
@ui.flag("--similar", "Also lines that look like it, which are otherwise only listed.")
@ui.flag("--purge", "Also out of history and backups, then search all that Nacre writes for it. No undo.")
def forget(options: ui.Options, what: tuple[str, ...], *, similar: bool, purge: bool) -> Report:
    """Take a fact out of memory: every line that says it, in MEMORY.md, logs, digests, notes and checkpoints.

    Named by the id that search shows, or by its whole words, it is forgotten at once. FILE:LINE shows what stands there, and words
    that are not the whole of one line list what they may mean: you choose. Where nobody can be asked, nothing is done (exit code 2):
    a script gives the id.

    It is not learned again from old transcripts; "nacre remember" of the same thing lifts that. "nacre undo" brings it back, unless
    --purge was given; exit code 3 says that something is left.
    """
    words, memory = " ".join(what), ui.open_memory(options)

    def choose(targets: Sequence[Target], certain: bool) -> Sequence[Target]:
        if len(targets) == 1 and (certain or options.dry_run):
            return targets
        if ui.is_interactive() and not options.as_json:
            return _ask_which(targets)
        rows = [(target.id, *_row(target)) for target in targets]
        candidates = [
            {"id": target.id, "text": ui.legible(target.words)}
            | ({"path": target.line.path, "line": target.line.start} if target.line else {})
            for target in targets
        ]
        ui.print_reports([Report({"candidates": candidates}, lines=rows)], as_json=options.as_json)
        things = ui.plural(len(rows), "thing")
        english = f"{things} may be meant and nothing was forgotten. Name one by its id."
        ui.note(english, f"可能指 {len(rows)} 项内容，未忘记任何内容。请用 id 指定一项。")
        raise click.exceptions.Exit(2)

    made = memory.forget(words, purge=purge, dry_run=options.dry_run, similar=similar, choose=choose)
    rows = [(removal.line.place, removal.reason, ui.legible(removal.line.text)) for removal in made.plan.going]
    lines: list[str | tuple[str, ...]] = [*rows, *map(Note, _notes(made, dry_run=options.dry_run))]
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


def _notes(report: ForgetReport, *, dry_run: bool) -> list[str]:
    """What was forgotten, what looks like it, and where purging found it."""
    plan, purge, purged, count = report.plan, report.purge_plan, report.purged, len(report.plan.going)
    undo = "" if purged or dry_run else say(' "nacre undo" brings it back.', "可用“nacre undo”恢复。")
    outcome = ui.done(f"forgotten: {ui.plural(count, 'line')}.", f"忘记 {count} 行。", dry_run=dry_run) + undo
    alike = "Also looks like it, and stays (--similar takes it too):"
    notes = ui.every(
        (dry_run or count or plan, outcome, outcome), (plan.alike, alike, "看起来也像（--similar 可一并删除）：")
    )
    notes += [f"  {like.line.place}  {like.reason}  {ui.legible(like.line.text)}" for like in plan.alike]
    if purge is None:
        return notes
    contents, backups, numbers = len(purge.blobs), len(purge.backups), ", ".join(map(str, purge.undoes))
    cleaned = f"cleaned: {contents} earlier contents in history, {backups} backups, the ledger and the index."
    chinese = f"清理：历史中的 {contents} 份旧内容、{backups} 个备份、账本和索引。"
    notes.append(ui.done(cleaned, chinese, dry_run=dry_run))
    notes += ui.every(
        (numbers, f"These operations can no longer be undone: {numbers}.", f"以下操作无法再撤销：{numbers}。")
    )
    for session in purge.sessions:
        name = f"{session.agent} {session.session}".strip()
        english = f"The agent's own transcript of that session ({name}, {session.day}) still holds it; it is not Nacre's to change."
        notes.append(say(english, f"代理自己的对话记录（{name}，{session.day}）仍保留该内容；Nacre 不会改动它。"))
    unknown = "Nobody knows its words any more, so they were not looked for."
    searched = "Everything that Nacre writes was searched: the words stand nowhere any more."
    found = ui.first(
        (purged is None, "", ""),
        (purged and purged.left, "It still stands in:", "仍存在于："),
        (not purge.words, unknown, "已无人知道其原文，因此没有查找。"),
        (True, searched, "已搜索 Nacre 写入的所有内容：相关文字已不存在。"),
    )
    return [*notes, found] if found else notes


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


@ui.command("nacre pin MEMORY.md:9", dry_run=True)
@click.argument("what", metavar="ID|FILE:LINE", nargs=-1, required=True)
@ui.flag("--off", "Take the pin out.")
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


@ui.command("nacre why MEMORY.md:9")
@click.argument("what", metavar="ID|FILE:LINE", nargs=-1, required=True)
def why(options: ui.Options, what: tuple[str, ...]) -> Report:
    """Show where a memory comes from: MEMORY.md, weekly digest, daily log, session, message; and what the ledger tells of it."""
    origin = ui.open_memory(options).why(" ".join(what))
    about = [origin.id, *([say("pinned", "已固定")] if origin.pinned else [])]
    about += [say(f"confidence {origin.confidence:g}", f"置信度 {origin.confidence:g}")] if origin.confidence else []
    lines = [f"{ui.legible(origin.words)}  ({', '.join(about)})"]
    kinds = ui.localised({"note": "笔记", "session": "会话", "checkpoint": "检查点", "message": "消息"})
    kinds |= {"longterm": say("long-term", "长期"), "weekly": say("week", "周报"), "daily": say("day", "日志")}
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


@ui.command("nacre history -n 5")
@click.option("-n", "--limit", type=click.IntRange(1), default=20, show_default=True, help="How many, newest first.")
def history(options: ui.Options, limit: int) -> Report:
    """List what Nacre changed, newest first. "nacre diff N" shows one, "nacre undo N" takes one back."""
    newest = ui.open_memory(options).history(limit).operations[::-1]
    states = {"done": "已完成", "partly done": "部分完成", "not carried out": "未执行", "undone": "已撤销"}
    rows = []
    for operation in newest:
        files = ", ".join(dict.fromkeys(change.path for change in operation.changes))
        state = say(operation.state, states.get(operation.state, operation.state))
        rows.append((str(operation.id), operation.at[:19], operation.command, state, files))
    return Report(
        [{**entry._asdict(), "changes": [change._asdict() for change in entry.changes]} for entry in newest],
        lines=rows,
        columns=("#", say("when", "时间"), say("command", "命令"), say("state", "状态"), say("files", "文件")),
        notes=ui.every((not newest, "Nothing has been changed yet.", "还没有任何变更。")),
    )


@ui.command("nacre diff 12")
@click.argument("number", type=int, required=False)
def diff(options: ui.Options, number: int | None) -> Report:
    """Show one change of the history, the last when none is named."""
    memory = ui.open_memory(options)
    if number is None:
        operations = memory.history(1).operations
        if not operations:
            raise NotFound("Nothing has been changed yet.", "还没有任何变更。")
        number = operations[-1].id
    text = memory.diff(number)
    return Report({"operation": number, "diff": text}, lines=[text.removesuffix("\n")])


@ui.command("nacre undo 12 --dry-run", dry_run=True)
@click.argument("number", type=click.IntRange(1), required=False)
@click.option("--last", type=click.IntRange(1), metavar="COUNT", help="Undo the last COUNT operations, after a yes.")
@click.option("--only", type=click.IntRange(1), metavar="NUMBER", help="The same as NUMBER.")
@ui.flag("--yes", "Do not ask before --last.")
def undo(options: ui.Options, number: int | None, last: int | None, only: int | None, *, yes: bool) -> Report:
    """Take one operation back: NUMBER as "nacre history" shows it, or the last that is neither an undo nor undone. An undo is an
    operation too: its own number takes it back.

    What you changed yourself since then is kept; where both touch the same lines, nothing is done (exit code 12).
    """
    if sum(named is not None for named in (number, only, last)) > 1:
        raise BadInput("Give either a number or --last, not both.", "编号与 --last 只能给出一个。")
    memory, number = ui.open_memory(options), only if number is None else number
    if last is not None and last > 1 and not options.dry_run and not yes:
        _confirm_last(memory, last)
    made = memory.undo(number, last=last or 1, dry_run=options.dry_run)
    count, resumed = len(made.undoes), made.resumes
    complete = f"Operation {resumed}, an undo that had been stopped, is now complete."
    outcome = ui.first(
        (resumed is not None, complete, f"之前中断的撤销（操作 {resumed}）现已完成。"),
        (not made.plan, "There was nothing to take back.", "没有需要撤销的内容。"),
        (count < (last or 0), f"There were only {count} to take back.", f"可撤销的只有 {count} 步。"),
    )
    verbs = ui.localised(
        {"remove": "移除", "bring back": "找回", "cut": "截去", "restore": "恢复", "move back": "移回"}
    )
    facts = {"undoes": made.undoes, "steps": [asdict(step) for step in made.plan.steps], "dryRun": options.dry_run}
    steps = [replace(step, detail=step.detail.replace(" bytes", say(" bytes", " 字节"))) for step in made.plan.steps]
    return Report(facts, lines=ui.step_rows(steps, verbs), notes=[outcome])


def _confirm_last(memory: Memory, last: int) -> None:
    """List what would be undone, and ask."""
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
            "History went on while you were asked, so nothing was undone. Run the command again.",
            "询问期间又有新的操作，因此未撤销任何内容。请重新运行命令。",
        )
