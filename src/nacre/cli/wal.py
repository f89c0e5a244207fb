"""nacre wal: working memory, written before the agent answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from nacre.cli.base import (
    Group,
    Invocation,
    dry_run_option,
    json_option,
    note,
    note_untrusted,
    owner_only,
    piped,
    print_json,
    table,
)
from nacre.errors import BadInput
from nacre.i18n import say

if TYPE_CHECKING:
    from nacre.memory import Working
    from nacre.model.workspace import Workspace
    from nacre.vault.wal import Edit, SnapshotPlan


@click.group(cls=Group, epilog='Example:  nacre wal decide "PostgreSQL rather than MySQL"')
def wal() -> None:
    """Keep what is going on now in SESSION-STATE.md: the task, decisions, context, what is pending, what blocks.

    It is on disk before the command returns, so that compaction, a crash or a restart loses nothing. A secret is refused (exit code 13).
    "nacre undo" takes a change back.
    """


@wal.command(epilog='Example:  nacre wal task "Move the API to v2"')
@click.argument("text", nargs=-1)
@click.option("--clear", is_flag=True, help="Let the task go unfinished.")
@dry_run_option
@json_option
@click.pass_obj
def task(invocation: Invocation, text: tuple[str, ...], *, clear: bool, dry_run: bool, as_json: bool) -> None:
    """Say what is being done now, in the place of what stood there. "-" takes the text from a pipe."""
    if bool(text) == clear:
        raise click.UsageError(say("Say what the task is, or --clear.", "请说明任务内容，或使用 --clear。"))
    state = _state(invocation)
    done = state.drop(dry_run=dry_run) if clear else state.task(_words(text), dry_run=dry_run)
    _tell(done, dry_run=dry_run, as_json=as_json)


@wal.command(epilog='Example:  nacre wal decide "PostgreSQL rather than MySQL"')
@click.argument("text", nargs=-1, required=True)
@dry_run_option
@json_option
@click.pass_obj
def decide(invocation: Invocation, text: tuple[str, ...], *, dry_run: bool, as_json: bool) -> None:
    """Write a decision down with its time. The oldest move to today's log when there are more than state.max_entries."""
    _tell(_state(invocation).decide(_words(text), dry_run=dry_run), dry_run=dry_run, as_json=as_json)


@wal.command(epilog="Example:  nacre wal context deadline 2026-03-31")
@click.argument("key")
@click.argument("value", nargs=-1, required=True)
@dry_run_option
@json_option
@click.pass_obj
def context(invocation: Invocation, key: str, value: tuple[str, ...], *, dry_run: bool, as_json: bool) -> None:
    """Keep a VALUE by its KEY, in the place of the one that it had."""
    made = _state(invocation).context(key, _words(value), dry_run=dry_run)
    _tell(made, dry_run=dry_run, as_json=as_json)


@wal.command(epilog='Example:  nacre wal pending "Ask Ann for the schema"')
@click.argument("text", nargs=-1, required=True)
@dry_run_option
@json_option
@click.pass_obj
def pending(invocation: Invocation, text: tuple[str, ...], *, dry_run: bool, as_json: bool) -> None:
    """Write down what is still to be done."""
    _tell(_state(invocation).pending(_words(text), dry_run=dry_run), dry_run=dry_run, as_json=as_json)


@wal.command(epilog="Example:  nacre wal done 1")
@click.argument("which", metavar="[N|TEXT]", nargs=-1)
@dry_run_option
@json_option
@click.pass_obj
def done(invocation: Invocation, which: tuple[str, ...], *, dry_run: bool, as_json: bool) -> None:
    """Finish something pending, by its number or words; without either, the current task. Today's log says so."""
    wanted = " ".join(which) if which else None
    _tell(_state(invocation).done(wanted, dry_run=dry_run), dry_run=dry_run, as_json=as_json)


@wal.command(epilog='Example:  nacre wal blocker "No access to staging"')
@click.argument("text", nargs=-1)
@click.option(
    "--clear", is_flag=False, flag_value="", metavar="N|TEXT", help="Take the blocker of that number or text out."
)
@dry_run_option
@json_option
@click.pass_obj
def blocker(invocation: Invocation, text: tuple[str, ...], clear: str | None, *, dry_run: bool, as_json: bool) -> None:
    """Write down what stands in the way; or take it out with --clear, and today's log says so."""
    state = _state(invocation)
    if clear is not None:
        which = " ".join(part for part in (clear, *text) if part)
        made = state.clear(which, dry_run=dry_run)
    else:
        made = state.blocker(_words(text), dry_run=dry_run)
    _tell(made, dry_run=dry_run, as_json=as_json)


@wal.command(epilog="Example:  nacre wal get pending")
@click.argument("section", nargs=-1)
@json_option
@click.pass_obj
def get(invocation: Invocation, section: tuple[str, ...], *, as_json: bool) -> None:
    """Print working memory, or one SECTION of it: task, context, decisions, pending, blockers, or a heading of your own."""
    from nacre.vault import working

    state = _state(invocation).shown()
    wanted = " ".join(section)
    if as_json:
        everything = working.as_plain(state)
        name = working.name_of(wanted)
        if wanted and not name:
            raise _no_section(wanted)
        print_json({name: everything[name]} if name else everything)
        return
    if state.read is None:
        note("There is no working memory yet.", "还没有工作记忆。")
        return
    shown = working.section_body(state.document, wanted) if wanted else state.document.text
    if shown is None:
        raise _no_section(wanted)
    if shown.strip():
        click.echo(shown, nl=not shown.endswith("\n"))


@wal.command(epilog="Example:  nacre wal snapshot before-the-move")
@click.argument("name", required=False)
@click.option("--list", "listing", is_flag=True, help="List the snapshots, newest first.")
@dry_run_option
@json_option
@click.pass_obj
def snapshot(invocation: Invocation, name: str | None, *, listing: bool, dry_run: bool, as_json: bool) -> None:
    """Keep a copy of working memory; the last 20 stay."""
    state = _state(invocation)
    if listing:
        found = state.snapshots()
        rows = [(one.moment, one.name, state.workspace.relative(one.path)) for one in found]
        if as_json:
            print_json([{"moment": moment, "name": called or None, "path": path} for moment, called, path in rows])
        else:
            table(rows, (say("moment", "时间"), say("name", "名称"), say("file", "文件")))
        return
    made = state.snapshot(name, dry_run=dry_run)
    _tell_kept(state.workspace, made, dry_run=dry_run, as_json=as_json)


@wal.command(epilog="Example:  nacre wal restore before-the-move")
@click.argument("name", required=False)
@dry_run_option
@json_option
@click.pass_obj
def restore(invocation: Invocation, name: str | None, *, dry_run: bool, as_json: bool) -> None:
    """Bring a snapshot back: the newest, or the one of that name or moment. "nacre undo" takes that back."""
    state = _state(invocation)
    made = state.restore(name, dry_run=dry_run)
    _tell_kept(state.workspace, made, dry_run=dry_run, as_json=as_json)


def _state(invocation: Invocation) -> Working:
    owner_only(invocation)
    from nacre.memory import Working

    state = Working.open(invocation.workspace, now=invocation.now, agent=invocation.agent)
    note_untrusted(state.problems)
    return state


def _words(text: tuple[str, ...]) -> str:
    return piped() if text == ("-",) else " ".join(text)


def _tell(made: Edit, *, dry_run: bool, as_json: bool) -> None:
    """The line on stdout, what became of it on stderr."""
    if as_json:
        told = {"section": made.section, "text": made.line, "changed": made.changed and not dry_run, "dryRun": dry_run}
        print_json(told | {"path": made.path.name, "log": list(made.log)})
        return
    name = made.path.name
    if not made.changed:
        note(
            say(f"{name} says so already.", f"{name} 已是如此。")
            if made.line
            else say("No task is set.", "没有当前任务。")
        )
    elif dry_run:
        note(f"{name} would be changed.", f"将修改 {name}。")
    else:
        note(f"Written to {name}.", f"已写入 {name}。")
    for bullet in made.log:
        note(f"Into today's log: {bullet}", f"记入今日日志：{bullet}")
    if made.line:
        click.echo(made.line)


def _tell_kept(workspace: Workspace, made: SnapshotPlan, *, dry_run: bool, as_json: bool) -> None:
    path = workspace.relative(made.snapshot.path)
    if as_json:
        changed = bool(made.plan) and not dry_run
        print_json({"path": path, "moment": made.snapshot.moment, "changed": changed, "dryRun": dry_run})
        return
    for step in made.plan.steps:
        note("\t".join((_word(step.action, dry_run=dry_run), step.path, step.reason)))
    if not made.plan:
        note("It is the same as that snapshot.", "与该快照相同。")
    click.echo(path)


def _word(action: str, *, dry_run: bool) -> str:
    done_, would = {
        "keep": (say("kept", "已保存"), say("would keep", "将保存")),
        "remove": (say("removed", "已移除"), say("would remove", "将移除")),
        "restore": (say("restored", "已恢复"), say("would restore", "将恢复")),
    }[action]
    return would if dry_run else done_


def _no_section(wanted: str) -> BadInput:
    return BadInput(
        f'"{wanted}" is no section; there are task, context, decisions, pending and blockers.',
        f"没有“{wanted}”这一节；可用：task、context、decisions、pending、blockers。",
    )
