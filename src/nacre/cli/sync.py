"""nacre sync: read what was said since the last time into the daily logs, after asking what to leave out."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import click

from nacre.cli.base import Command, Invocation, dry_run_option, json_option, note, open_all, print_json, progress_bar
from nacre.i18n import say
from nacre.memory import Memory
from nacre.sources.consent import NO_FOLDER

if TYPE_CHECKING:
    from nacre.capture.read import Capturable
    from nacre.capture.sync import SyncReport


_NONE = frozenset(("n", "no", "none", "nothing", "-", "无", "不", "没有", "否", "不用", "不排除"))


def ask_consent(memory: Memory, since: str | None, found: Sequence[Capturable] | None = None) -> list[str]:
    """Before the first run: what there is, and what to leave out, which goes into the user's settings.

    Without a terminal nothing is asked: there the settings and --exclude say it.
    """
    if memory.synced() is not None or not sys.stdin.isatty() or not sys.stderr.isatty():
        return []
    found = memory.survey(since) if found is None else found
    if not any(not row.left_out for row in found):
        return []
    show_found(found)
    from nacre.capture.read import remember_exclusions

    everything = sorted({row.agent for row in found})
    while True:
        answer = click.prompt(
            say(
                'Leave out any? Names separated by commas or spaces, "all" for everything, or Enter for none',
                "要排除哪些？用逗号或空格分隔名称，“all”表示全部排除，直接回车表示不排除",
            ),
            default="",
            show_default=False,
            err=True,
        )
        known = {name.casefold() for row in found for name in (row.name, row.agent)}
        names = chosen(answer, known)
        names = everything if [name.casefold() for name in names] == ["all"] else names
        strange = [name for name in names if name.casefold() not in known]
        if not strange:
            remember_exclusions(memory.config, found, names)
            return names
        for name in strange:  # a slip must not capture what was to be left out
            note(f'Nothing is called "{name}".', f"没有名为“{name}”的项目。")


def chosen(answer: str, known: Collection[str]) -> list[str]:
    """The names that were typed, separated by commas or by spaces; a name that holds spaces itself is found first. None where no was
    meant."""
    if answer.strip().casefold() in _NONE - set(known):
        return []
    names: list[str] = []
    for part in re.split(r"[,，、;；]", answer):
        words = part.split()
        while words:
            longest = (size for size in range(len(words), 0, -1) if " ".join(words[:size]).casefold() in known)
            size = next(longest, 1)
            names.append(" ".join(words[:size]))
            words = words[size:]
    return names


def show_found(found: Sequence[Capturable]) -> None:
    """The agents, projects and chats, for people."""
    if not found:
        note("No talk of any agent was found in this span.", "在此时间范围内没有找到任何代理的对话。")
    for row in found:
        left_out = say("  (left out)", "（已排除）") if row.left_out else ""
        note(
            f"  {row.agent:12} {row.name:28} {row.sessions:5} session{'s' if row.sessions > 1 else ' '}"
            f" {row.messages:6} messages{left_out}",
            f"  {row.agent:12} {row.name:28} {row.sessions:5} 个会话 {row.messages:6} 条消息{left_out}",
        )


# nacre sync: what was said becomes the day's log.


@click.command(cls=Command, epilog="Example:  nacre sync --since 7d")
@click.option("--since", metavar="WHEN", help='How far back to look: 4h, 7d, a date, or "all".')
@click.option(
    "--exclude", metavar="PATTERN", multiple=True, help="Leave out a project, folder or chat; may be repeated."
)
@click.option("--list", "only_list", is_flag=True, help="Show which agents, projects and chats there are, and stop.")
@dry_run_option
@json_option
@click.pass_obj
def sync(
    invocation: Invocation,
    since: str | None,
    exclude: tuple[str, ...],
    *,
    only_list: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Read what you and your agents said since the last time and write it into the daily logs.

    Each session gets one heading with three to ten lines in the log of its own day; a session that goes on gets the new part
    only. Secrets are blacked out first. Running it again, or eight times at once, changes nothing.
    """
    said = False
    for memory in open_all(invocation):
        if only_list:
            found = memory.survey(since, exclude=exclude)
            print_json([row._asdict() for row in found]) if as_json else show_found(found)
            continue
        left_out = [*exclude, *([] if dry_run else ask_consent(memory, since))]
        with progress_bar(say("Capturing", "采集")) as bar:
            report = memory.sync(since=since, exclude=left_out, progress=bar, dry_run=dry_run)
        said = said or bool(report.sections)
        print_json(as_plain(report, dry_run=dry_run)) if as_json else _show(report, dry_run=dry_run)
    if not said and not only_list and not as_json and os.environ.get("OPENCLAW_SESSION_ID"):
        click.echo("ANNOUNCE_SKIP")  # what OpenClaw's scheduler takes for "nothing to say"


def _show(report: SyncReport, *, dry_run: bool) -> None:
    """What a run did, for people. Where nobody watches, only trouble is told."""
    if report.paused:
        note('Capture is paused; "nacre resume" goes on.', "采集已暂停；可用“nacre resume”恢复。")
    for path in report.unreadable:
        note(f"{path} cannot be read and was passed over.", f"{path} 无法读取，已跳过。")
    if nowhere := report.passed_over.get(NO_FOLDER):
        many = "1 talk was" if nowhere == 1 else f"{nowhere} talks were"
        note(
            f"{many} not captured: it is not known in which folder, and some folders are to be left out.",
            f"有 {nowhere} 个对话未采集：不知道它们属于哪个文件夹，而有的文件夹已被排除。",
        )
    for section in report.sections:
        if dry_run or sys.stdout.isatty():
            click.echo(f"{section.day}  ## {section.heading}")
            for bullet in section.bullets:
                click.echo(f"  - {bullet}")
    if report.paused or not (dry_run or sys.stderr.isatty()):
        return
    count = len(report.sections)
    if not count:
        note("Nothing new to write down.", "没有新的内容可记录。")
    elif dry_run:
        note(f"Would be written: {_sections(count)}.", f"将写入 {count} 段。")
    else:
        note(f"Written: {_sections(count)}.", f"已写入 {count} 段。")


def _sections(count: int) -> str:
    return "1 section" if count == 1 else f"{count} sections"


def as_plain(report: SyncReport, *, dry_run: bool) -> dict[str, object]:
    """A report as plain values."""
    from nacre.guard.sanitise import clean
    from nacre.guard.secrets import redact

    return {
        "sessions": [
            {
                "day": section.day.isoformat(),
                "session": redact(clean(section.session)).text,
                "heading": section.heading,
                "bullets": list(section.bullets),
            }
            for section in report.sections
        ],
        "lookedAt": report.looked_at,
        "passedOver": dict(report.passed_over),
        "unknownEntries": report.unknown,
        "unreadable": list(report.unreadable),
        "paused": report.paused,
        "dryRun": dry_run,
    }
