"""nacre sync, nacre import: read what was said since the last time into the daily logs; take in what other tools kept."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from nacre.cli import ui
from nacre.i18n import say
from nacre.model import Problem, Report, fields, problem

if TYPE_CHECKING:
    from nacre.memory import Capturable, Memory, SyncReport


def ask_consent(memory: Memory, since: str | None, survey: Sequence[Capturable] | None = None) -> list[str]:
    """Before the first capture, show what there is and ask what to exclude; the answer is saved in the user's settings.

    Without a terminal nothing is asked: there the settings and --exclude say it.
    """
    if memory.synced() is not None or not ui.is_interactive():
        return []
    survey = memory.survey(since) if survey is None else survey
    if all(row.left_out for row in survey):
        return []
    show_survey(survey)
    english = 'Exclude any? Names separated by commas, "all" to exclude everything, or Enter for none'
    question = say(english, "要排除哪些？用逗号分隔名称，“all”表示全部排除，直接回车表示不排除")
    known = {name.casefold() for row in survey for name in (row.name, row.agent)}
    while True:
        answer = click.prompt(question, default="", show_default=False, err=True)
        names = [name.strip() for name in re.split(r"[,，、;；]", answer) if name.strip()]
        if [name.casefold() for name in names] == ["all"]:
            names = sorted({row.agent for row in survey})
        unknown = [name for name in names if name.casefold() not in known]
        if not unknown:
            memory.exclude(survey, names)
            return names
        for name in unknown:  # a slip must not capture what was to be left out
            ui.note(f'"{name}" is not in the list.', f"列表中没有“{name}”。")


def show_survey(survey: Sequence[Capturable]) -> None:
    """Print the survey on stderr."""
    report = _survey_report(survey)
    for line in (*report.notes, *report.lines):
        ui.note(str(line))


def _survey_report(survey: Sequence[Capturable]) -> Report:
    lines = []
    for row in survey:
        counts = f"{ui.plural(row.sessions, 'session')}, {ui.plural(row.messages, 'message')}"
        line = f"  {row.agent:12} {row.name:28} " + say(counts, f"{row.sessions} 个会话，{row.messages} 条消息")
        lines.append(line + (say("  (excluded)", "（已排除）") if row.left_out else ""))
    notes = ui.every((not survey, "No agent sessions found in this period.", "这段时间内没有找到会话。"))
    return Report([row._asdict() for row in survey], lines=lines, notes=notes)


@ui.command("nacre sync --since 7d", dry_run=True)
@click.option("--since", metavar="WHEN", help='How far back to look: 4h, 7d, a date, or "all".')
@click.option("--exclude", metavar="PATTERN", multiple=True, help="Exclude a project, folder or chat; may be repeated.")
@ui.flag("--list", "only_list", "List the agents, projects and chats, then exit.")
def sync(options: ui.Options, since: str | None, exclude: tuple[str, ...], *, only_list: bool) -> Iterator[Report]:
    """Read your new agent sessions and write what matters to the daily logs.

    Each session gets one heading with three to ten lines in that day's log; if a session continues, only the new part is added.
    Secrets are removed first. It is safe to run again, even concurrently.
    """
    written = False
    for memory in ui.open_all(options):
        if only_list:
            yield _survey_report(memory.survey(since, exclude=exclude))
            continue
        left_out = [*exclude, *([] if options.dry_run else ask_consent(memory, since))]
        with ui.progress_bar("Capturing", "采集") as bar:
            made = memory.sync(since=since, exclude=left_out, progress=bar, dry_run=options.dry_run)
        written = written or bool(made.sections)
        yield _sync_report(made, dry_run=options.dry_run)
    if not written and not only_list and os.environ.get("OPENCLAW_SESSION_ID"):
        yield Report(lines=[ui.SKIP])


def _sync_report(made: SyncReport, *, dry_run: bool) -> Report:
    """What a run did; without a terminal only its problems."""
    unread, count, sections = made.unreadable, made.passed_over.get("no folder", 0), len(made.sections)
    asked = made.passed_over.get("asked", 0)
    unplaced = (
        f"Not captured: {ui.plural(count, 'session')} whose folder is unknown, because some folders are excluded."
    )
    written = ui.done(f"written: {ui.plural(sections, 'section')}.", f"写入 {sections} 节。", dry_run=dry_run)
    lines: list[str] = []
    for section in made.sections if dry_run or sys.stdout.isatty() else ():
        lines += [f"{section.day}  ## {section.heading}", *(f"  - {bullet}" for bullet in section.bullets)]
    names = "day session heading bullets"
    return Report(
        {
            "sessions": [
                fields(section, names, day=str(section.day), session=ui.legible(section.session))
                for section in made.sections
            ],
            "checkpoints": made.checkpoints,
            "lookedAt": made.looked_at,
            "passedOver": dict(made.passed_over),
            "unknownEntries": made.unknown,
            "unreadable": unread,
            "paused": made.paused,
            "dryRun": dry_run,
        },
        heading=ui.every(
            (made.paused, 'Capture is paused; "nacre resume" resumes it.', "采集已暂停；可用“nacre resume”恢复。"),
            *((True, f"{path} could not be read and was skipped.", f"{path} 无法读取，已跳过。") for path in unread),
            (count, unplaced, f"有 {count} 个会话未采集：无法确定它们的文件夹，而你排除了部分文件夹。"),
            (asked == 1, "1 session is waiting for your agent.", "有 1 个会话等待你的智能体处理。"),
            (asked > 1, f"{asked} sessions are waiting for your agent.", f"有 {asked} 个会话等待你的智能体处理。"),
        ),
        lines=lines,
        notes=[
            ui.first(
                (made.paused or not (dry_run or sys.stderr.isatty()), "", ""),
                (not sections, "Nothing new to capture.", "没有新内容需要采集。"),
                (True, written, written),
            )
        ],
        left=[Problem("checkpoint not written", sentence) for sentence in made.unwritten],
    )


@ui.command("nacre import claude-code --dry-run", "import", dry_run=True)
@click.argument("what", required=False, metavar="[PATH|AGENT]")
@click.option(
    "--since", metavar="WHEN", help="For chat exports: only conversations active since then (90d, or a date)."
)
def import_(options: ui.Options, what: str | None, since: str | None) -> Report:
    """Import existing memories. Nothing is overwritten, secrets are removed, and importing again changes nothing.

    PATH is a memory_fs folder, a refcount.json, another workspace, a CLAUDE.md, AGENTS.md or GEMINI.md, a folder of Markdown
    notes, or a chat export of ChatGPT or Claude.ai (the zip, its folder or conversations.json), which is written to the daily
    logs of the matching days. AGENT is claude-code, codex, gemini or opencode to import its notes, or openclaw for its memory settings.

    Without an argument, list what can be imported on this machine. "nacre undo" reverts an import, except for settings.
    """
    memory = ui.open_memory(options)
    if what is None:
        importable = memory.importable()
        nothing = "Nothing to import was found on this machine. Pass a file or folder: nacre import PATH"
        return Report(
            [row._asdict() for row in importable],
            columns=("nacre import …", say("type", "类型"), say("parts", "数量"), say("new", "新增")),
            lines=[(row.what, row.kind, str(row.parts), "" if row.new is None else str(row.new)) for row in importable],
            notes=ui.every(
                (not importable, nothing, "本机没有找到可导入的内容；请指定文件或文件夹：nacre import PATH")
            ),
        )
    with ui.progress_bar("Importing", "导入") as bar:
        made = memory.import_(what, since=since, dry_run=options.dry_run, progress=bar)
    changed, unread = made.changed, len(made.unreadable)
    paused = 'Nothing was imported, because capture is paused; "nacre resume" resumes it.'
    imported = f'{ui.plural(changed, "item")} imported; "nacre undo" reverts the import.'
    outcome = ui.first(
        (made.paused, paused, "采集已暂停，未导入任何内容；可用“nacre resume”恢复。"),
        (not changed, "Nothing new: everything is already imported.", "没有新内容：已全部导入。"),
        (options.dry_run, f"{ui.plural(changed, 'change')} would be made.", f"将进行 {changed} 处改动。"),
        (made.kind == "settings", f"User settings changed: {changed}.", f"已更改 {changed} 项用户设置。"),
        (True, imported, f"已导入 {changed} 项；“nacre undo”可撤销。"),
    )
    names = ", ".join(made.unreadable[:3]) + (" …" if unread > 3 else "")
    missing = f"Files that could not be read ({unread}): {names}", f"有 {unread} 个文件无法读取：{names}"
    facts = {"kind": made.kind, "from": made.origin, "changed": changed, "steps": list(map(asdict, made.steps))}
    return Report(
        {**facts, "unreadable": made.unreadable, "paused": made.paused, "dryRun": options.dry_run},
        lines=ui.step_rows(() if made.paused else made.steps),
        notes=[outcome],
        left=[problem("unreadable", *missing)] if unread else [],
    )
