"""nacre wal, nacre cache: working memory, written before the agent answers; and values that one session keeps for itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from nacre.cli import ui
from nacre.i18n import say
from nacre.model.report import Report

if TYPE_CHECKING:
    from nacre.memory import SnapshotPlan, Working
    from nacre.vault.cache import Cache


@click.group(cls=ui.Group, epilog='Example:  nacre wal decide "PostgreSQL rather than MySQL"')
def wal() -> None:
    """Keep what is going on now in SESSION-STATE.md: the task, decisions, context, what is pending, what blocks.

    It is on disk before the command returns, so that compaction, a crash or a restart loses nothing. A secret is refused (exit code 13).
    "nacre undo" takes a change back.
    """


@ui.command('nacre wal task "Move the API to v2"', group=wal, dry_run=True)
@click.argument("text", nargs=-1)
@click.option("--clear", is_flag=True, help="Let the task go unfinished.")
def task(options: ui.Options, text: tuple[str, ...], *, clear: bool) -> Report:
    """Say what is being done now, in the place of what stood there. "-" takes the text from a pipe."""
    if bool(text) == clear:
        raise click.UsageError(say("Say what the task is, or --clear.", "请说明任务内容，或使用 --clear。"))
    return _change(options, "drop") if clear else _change(options, "task", ui.words_of(text))


@ui.command('nacre wal decide "PostgreSQL rather than MySQL"', group=wal, dry_run=True)
@click.argument("text", nargs=-1, required=True)
def decide(options: ui.Options, text: tuple[str, ...]) -> Report:
    """Write a decision down with its time. The oldest move to today's log when there are more than state.max_entries."""
    return _change(options, "decide", ui.words_of(text))


@ui.command("nacre wal context deadline 2026-03-31", group=wal, dry_run=True)
@click.argument("key")
@click.argument("value", nargs=-1, required=True)
def context(options: ui.Options, key: str, value: tuple[str, ...]) -> Report:
    """Keep a VALUE by its KEY, in the place of the one that it had."""
    return _change(options, "context", key, ui.words_of(value))


@ui.command('nacre wal pending "Ask Ann for the schema"', group=wal, dry_run=True)
@click.argument("text", nargs=-1, required=True)
def pending(options: ui.Options, text: tuple[str, ...]) -> Report:
    """Write down what is still to be done."""
    return _change(options, "pending", ui.words_of(text))


@ui.command("nacre wal done 1", group=wal, dry_run=True)
@click.argument("which", metavar="[N|TEXT]", nargs=-1)
def done(options: ui.Options, which: tuple[str, ...]) -> Report:
    """Finish something pending, by its number or words; without either, the current task. Today's log says so."""
    return _change(options, "done", " ".join(which)) if which else _change(options, "finish")


@ui.command('nacre wal blocker "No access to staging"', group=wal, dry_run=True)
@click.argument("text", nargs=-1)
@click.option(
    "--clear", is_flag=False, flag_value="", metavar="N|TEXT", help="Take the blocker of that number or text out."
)
def blocker(options: ui.Options, text: tuple[str, ...], clear: str | None) -> Report:
    """Write down what stands in the way; or take it out with --clear, and today's log says so."""
    if clear is None:
        return _change(options, "blocker", ui.words_of(text))
    return _change(options, "clear", " ".join(part for part in (clear, *text) if part))


@ui.command("nacre wal get pending", group=wal)
@click.argument("section", nargs=-1)
def get(options: ui.Options, section: tuple[str, ...]) -> None:
    """Print working memory, or one SECTION of it: task, context, decisions, pending, blockers, or a heading of your own."""
    state = _state(options)
    if options.as_json:
        ui.print_json(state.get(" ".join(section)))
        return
    text = state.text(" ".join(section))
    if text is None:
        ui.note("There is no working memory yet.", "还没有工作记忆。")
    elif text.strip():
        click.echo(text, nl=not text.endswith("\n"))


@ui.command("nacre wal snapshot before-the-move", group=wal, dry_run=True)
@click.argument("name", required=False)
@click.option("--list", "listing", is_flag=True, help="List the snapshots, newest first.")
def snapshot(options: ui.Options, name: str | None, *, listing: bool) -> Report:
    """Keep a copy of working memory; the last 20 stay."""
    state = _state(options)
    if not listing:
        return _snapshot_report(options, state, state.snapshot(name, dry_run=options.dry_run))
    rows = [(kept.moment, kept.name, state.workspace.relative(kept.path)) for kept in state.snapshots()]
    facts = [{"moment": moment, "name": name or None, "path": path} for moment, name, path in rows]
    return Report(facts, lines=rows, columns=(say("moment", "时间"), say("name", "名称"), say("file", "文件")))


@ui.command("nacre wal restore before-the-move", group=wal, dry_run=True)
@click.argument("name", required=False)
def restore(options: ui.Options, name: str | None) -> Report:
    """Bring a snapshot back: the newest, or the one of that name or moment. "nacre undo" takes that back."""
    state = _state(options)
    return _snapshot_report(options, state, state.restore(name, dry_run=options.dry_run))


def _state(options: ui.Options) -> Working:
    ui.owner_only(options)
    from nacre.memory import Working

    state = Working.open(options.workspace, now=options.now, agent=options.agent)
    ui.note_untrusted(state.problems)
    return state


def _change(options: ui.Options, action: str, *words: str) -> Report:
    edit = _state(options).change(action, *words, dry_run=options.dry_run)
    name, changed = edit.path.name, edit.changed and not options.dry_run
    outcome = ui.first(
        (changed, f"Written to {name}.", f"已写入 {name}。"),
        (edit.changed, f"{name} would be changed.", f"将修改 {name}。"),
        (edit.line, f"{name} says so already.", f"{name} 已是如此。"),
        (True, "No task is set.", "没有当前任务。"),
    )
    logged = [say(f"Into today's log: {bullet}", f"记入今日日志：{bullet}") for bullet in edit.log]
    facts = {"section": edit.section, "text": edit.line, "changed": changed, "dryRun": options.dry_run, "path": name}
    lines = [edit.line] if edit.line else []
    return Report({**facts, "log": list(edit.log)}, heading=[outcome, *logged], lines=lines)


def _snapshot_report(options: ui.Options, state: Working, made: SnapshotPlan) -> Report:
    words = {
        "keep": (say("kept", "已保存"), say("would keep", "将保存")),
        "remove": (say("removed", "已移除"), say("would remove", "将移除")),
        "restore": (say("restored", "已恢复"), say("would restore", "将恢复")),
    }
    path = state.workspace.relative(made.snapshot.path)
    heading = ["\t".join((words[step.action][options.dry_run], step.path, step.reason)) for step in made.plan.steps]
    changed = bool(made.plan) and not options.dry_run
    facts = {"path": path, "moment": made.snapshot.moment, "changed": changed, "dryRun": options.dry_run}
    same = say("It is the same as that snapshot.", "与该快照相同。")
    return Report(facts, heading=heading or [same], lines=[path])


# nacre cache: values that one session keeps for itself.

SESSION_VARIABLES = ["NACRE_SESSION", "OPENCLAW_SESSION_ID", "CLAUDE_CODE_SESSION_ID", "CLAUDE_SESSION_ID"]
session_option = click.option(
    "--session",
    metavar="ID",
    envvar=SESSION_VARIABLES,
    default="default",
    help="Whose cache; default OPENCLAW_SESSION_ID or CLAUDE_CODE_SESSION_ID, else one for all.",
)


@click.group(cls=ui.Group, epilog="Example:  nacre cache set branch feature/login")
def cache() -> None:
    """Keep values for one session: in the user's own temp folder, readable by nobody else, gone after a restart or a day.

    It needs no workspace. A secret is refused (exit code 13).
    """


@ui.command("nacre cache set branch feature/login", "set", group=cache, dry_run=True)
@click.argument("key")
@click.argument("value", nargs=-1, required=True)
@session_option
def set_value(options: ui.Options, key: str, value: tuple[str, ...], session: str) -> Report:
    """Keep a VALUE by its KEY. "-" takes the value from a pipe."""
    from nacre.vault.cache import put_value

    dry_run = options.dry_run
    kept = put_value(_open_cache(options, session), key, ui.words_of(value), dry_run=dry_run)
    outcome = ui.first(
        (dry_run, f'"{key}" would be kept.', f"将缓存“{key}”。"),
        (True, f'"{key}" is kept for this session.', f"已为此会话缓存“{key}”。"),
    )
    facts = {"key": key, "value": kept.text, "session": session, "changed": not dry_run, "dryRun": dry_run}
    return Report(facts, notes=[outcome])


@ui.command("nacre cache get branch", "get", group=cache)
@click.argument("key")
@session_option
def get_value(options: ui.Options, key: str, session: str) -> Report:
    """Print the value of a KEY. Exit code 1 when there is none."""
    from nacre.vault.cache import get_value

    value = get_value(_open_cache(options, session), key)
    facts = {"key": key, "value": value.text, "at": value.at.isoformat(timespec="seconds")}
    return Report(facts, lines=[value.text.removesuffix("\n")])


@ui.command("nacre cache list", "list", group=cache)
@session_option
def list_values(options: ui.Options, session: str) -> Report:
    """List the keys with their sizes and times."""
    from nacre.vault.cache import read_values

    values = [
        (key, len(kept.text.encode()), kept.at) for key, kept in read_values(_open_cache(options, session)).items()
    ]
    return Report(
        [{"key": key, "bytes": size, "at": at.isoformat(timespec="seconds")} for key, size, at in values],
        heading=ui.every((not values, "This session keeps nothing.", "此会话没有缓存内容。")),
        lines=[(key, ui.size_of(size), f"{at:%H:%M}") for key, size, at in values],
        columns=(say("key", "键"), say("size", "大小"), say("since", "时间")),
    )


@ui.command("nacre cache clear branch", group=cache, dry_run=True)
@click.argument("key", required=False)
@session_option
def clear(options: ui.Options, key: str | None, session: str) -> Report:
    """Forget one KEY, or everything that the session keeps."""
    from nacre.vault.cache import clear_values

    keys = clear_values(_open_cache(options, session), key, dry_run=options.dry_run)
    heading = ui.every(
        (not keys, "There was nothing to clear.", "没有可清除的内容。"),
        (keys and options.dry_run, f"{len(keys)} would be cleared.", f"将清除 {len(keys)} 项。"),
    )
    return Report({"cleared": list(keys), "dryRun": options.dry_run}, heading=heading, lines=keys)


def _open_cache(options: ui.Options, session: str) -> Cache:
    ui.owner_only(options)
    from nacre.config import settings
    from nacre.memory import clock_for
    from nacre.vault.cache import open_cache

    config = settings.load()
    return open_cache(session, config.cache, clock_for(config, options.now))
