"""nacre import: take in existing memories and chat exports."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from nacre.cli.base import (
    Command,
    Invocation,
    dry_run_option,
    json_option,
    note,
    open_memory,
    print_json,
    progress_bar,
    table,
)
from nacre.errors import PartlyDone
from nacre.i18n import say

if TYPE_CHECKING:
    from nacre.capture.importing import Importable
    from nacre.capture.importing_exports import ImportReport


@click.command("import", cls=Command, epilog="Example:  nacre import claude-code --dry-run")
@click.argument("what", required=False, metavar="[PATH|AGENT]")
@click.option(
    "--since", metavar="WHEN", help="Of a chat export, only conversations that went on after this: 90d, a date."
)
@dry_run_option
@json_option
@click.pass_obj
def import_(invocation: Invocation, what: str | None, since: str | None, *, dry_run: bool, as_json: bool) -> None:
    """Take in existing memories. Nothing that is here is overwritten, secrets are blacked out, importing again changes nothing.

    PATH is a memory_fs folder, a refcount.json, another workspace, a CLAUDE.md, AGENTS.md or GEMINI.md, a folder of Markdown
    notes, or a chat export of ChatGPT or Claude.ai (the zip, its folder or conversations.json), which goes into the daily logs
    of its own days. AGENT is claude-code, codex, gemini or opencode for the notes these keep, openclaw for its memory settings.

    Without either: what on this machine could be imported. "nacre undo" takes an import back, settings aside.
    """
    memory = open_memory(invocation)
    if what is None:
        found = memory.importable()
        print_json([row._asdict() for row in found]) if as_json else _list(found)
        return
    with progress_bar(say("Importing", "导入")) as bar:
        report = memory.import_(what, since=since, dry_run=dry_run, progress=bar)
    if as_json:
        print_json(_as_plain(report, dry_run=dry_run))
    else:
        _show(report, dry_run=dry_run)
    if report.unreadable:
        listed = ", ".join(report.unreadable[:3]) + (" …" if len(report.unreadable) > 3 else "")
        raise PartlyDone(
            f"{len(report.unreadable)} files could not be read and were passed over: {listed}",
            f"{len(report.unreadable)} 个文件无法读取，已跳过：{listed}",
        )


def _as_plain(report: ImportReport, *, dry_run: bool) -> dict[str, object]:
    return {
        "kind": report.kind,
        "from": report.origin,
        "changed": report.changed,
        "steps": [asdict(step) for step in report.steps],
        "unreadable": list(report.unreadable),
        "paused": report.paused,
        "dryRun": dry_run,
    }


def _show(report: ImportReport, *, dry_run: bool) -> None:
    if report.paused:
        note('Capture is paused; "nacre resume" goes on.', "采集已暂停；可用“nacre resume”恢复。")
        return
    for step in report.steps:
        click.echo("\t".join(part for part in (step.action, step.path, step.reason, step.detail) if part))
    if not report.changed:
        note("Nothing new: everything is here already.", "没有新内容：全部已在此处。")
    elif dry_run:
        note(f"{report.changed} steps would be taken.", f"将执行 {report.changed} 步。")
    elif report.kind == "settings":
        note(
            f"{report.changed} settings were set for the user; \"nacre config set --user KEY ''\" takes one back.",
            f"已为用户写入 {report.changed} 项设置；“nacre config set --user KEY ''”可撤回一项。",
        )
    else:
        note(
            f'{report.changed} imported; "nacre undo" takes it back.',
            f"已导入 {report.changed} 项；“nacre undo”可撤回。",
        )


def _list(found: list[Importable]) -> None:
    if not found:
        note(
            "Nothing to import was found on this machine; name a file or folder: nacre import PATH",
            "本机没有找到可导入的内容；请指定文件或文件夹：nacre import PATH",
        )
        return
    rows = [(row.what, row.kind, str(row.parts), "" if row.new is None else str(row.new)) for row in found]
    table(
        rows,
        (say("nacre import …", "nacre import …"), say("what it is", "类型"), say("parts", "数量"), say("new", "新增")),
    )
