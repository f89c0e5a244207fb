"""nacre context, hook, flush, wal, cache: what a session is given, writes down before compaction, works on, and keeps for itself."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from nacre.cli import ui
from nacre.config import settings
from nacre.errors import BadInput
from nacre.i18n import say
from nacre.memory import Memory, Working, clock_for
from nacre.model.report import Problem, Report, fields

if TYPE_CHECKING:
    from nacre.memory import SnapshotPlan
    from nacre.vault.cache import Cache


@ui.command('nacre context --budget 4000 --query "the release of shop-api"')
@click.option(
    "--budget", type=click.IntRange(1), metavar="TOKENS", help="Most tokens; default: the setting context.budget."
)
@click.option("--query", metavar="TEXT", help="What the session is about: what answers it is given too.")
@click.option("--project", help="This project and what belongs to none; default: the project of the current folder.")
@ui.flag("--all", "all_files", "USER.md and IDENTITY.md too, for agents that do not read them.")
@click.option(
    "--mode",
    type=click.Choice(["text", "hybrid", "vector"]),
    default="text",
    show_default=True,
    help="How to look for what answers.",
)
@ui.flag("--verbose", "-v", "Say what was left out, and why.")
def context(options: ui.Options, **request: Any) -> None:
    """Print what a new session should know, within a budget of tokens.

    In this order: working state, long-term memory, what answers the query, today, yesterday, hot checkpoints. Only of the project of
    the current folder and of none; in a group only what is its own or public. What is given here does not count as recalled.
    """
    from nacre.daemon import requests

    memory = ui.open_memory(options, for_groups=True)
    request |= {"as_json": options.as_json, "here": requests.current_folder(), "terminal": requests.at_terminal()}
    printed = requests.ask_daemon(memory, "context", request) or requests.answer_context(memory, **request)
    requests.print_output(printed)


@ui.command("nacre hook SessionStart --agent codex")
@click.argument("event", required=False)
def hook(options: ui.Options, *, event: str | None) -> None:  # noqa: ARG001 - for --help
    """Answer a hook of an agent: one JSON object on stdin, one or none on stdout, always exit code 0.

    EVENT is SessionStart, UserPromptSubmit, PreCompact, Stop or SessionEnd, or what Cursor calls them; --agent says who fires it:
    claude-code (default), codex or cursor. "nacre connect" registers all of them.
    """
    # A hook that fires was dealt with before any of this was loaded; who reads this wants to know what it is.
    ui.note(
        'This is for agents: they give one JSON object on stdin. "nacre connect" registers it.',
        "这是供代理调用的：由代理从标准输入传入一个 JSON 对象。“nacre connect”会注册它。",
    )


@ui.command("nacre flush --tokens 178000 --window 200000 --json", dry_run=True)
@click.option("--tokens", type=click.IntRange(0), metavar="N", help="How many tokens the context holds now.")
@click.option("--window", type=click.IntRange(1), metavar="N", help="How many it can hold.")
@click.option("--compactions", type=click.IntRange(0), metavar="N", help="How often the session was compacted so far.")
@click.option("--session", metavar="ID", help="The session; else OPENCLAW_SESSION_ID, else one for all.")
@click.option("--answer", metavar="TEXT", help="Take the agent's answer into today's log; \"-\" reads a pipe.")
def flush(options: ui.Options, session: str | None, answer: str | None, **counts: int | None) -> Report:
    """Decide whether a context that nears its end is due for a flush, and print the two prompts for it.

    Due from window − flush.reserve_tokens − flush.soft_threshold_tokens on (never below a fourth of the window), once for each
    compaction of a session; without --compactions, until the context has fallen below half of that. Without --tokens only the
    prompts are printed. The answer is only ever appended to the day's log; NO_REPLY is silence.
    """
    memory = ui.open_memory(options, for_groups=True)
    session = session or os.environ.get("OPENCLAW_SESSION_ID") or "default"
    if answer is not None:
        return _answer_report(memory, ui.words_of([answer]), dry_run=options.dry_run)
    if (counts["tokens"] is None) is not (counts["window"] is None):
        missing = "--window" if counts["window"] is None else "--tokens"
        raise BadInput(f"{missing} is missing; give both.", f"缺少 {missing}；请同时给出 --tokens 和 --window。")
    due = memory.flush(session=session, dry_run=options.dry_run, **counts)
    if not (prompts := due.prompts):
        facts = fields(due, "due code reason threshold", due=False, threshold=due.threshold or None)
        return Report(facts, notes=[due.reason])
    limits = fields(memory.config.flush, "reserve_tokens soft_threshold_tokens")
    facts = {"due": due.due, "reason": due.reason, "systemPrompt": prompts.system, "prompt": prompts.user}
    facts |= {"path": due.path, "session": session, "threshold": due.threshold or None, **limits}
    system, user = say("System prompt", "系统提示词"), say("Prompt", "提示词")
    return Report(facts, lines=[f"{system}\n\n{prompts.system}\n\n{user}\n\n{prompts.user}"])


def _answer_report(memory: Memory, text: str, *, dry_run: bool) -> Report:
    taken = memory.flush_answer(text, dry_run=dry_run)
    count, path, over, forgotten = len(taken.written), taken.path, len(taken.over), taken.forgotten
    written = ui.done(f"written to {path}: {count}.", f"写入 {path}：{count} 行。", dry_run=dry_run)
    notes = ui.every(
        (count or dry_run, written, written),
        (not (count or dry_run), "Nothing new to write.", "没有新内容可写。"),
        (taken.already, f"Already there: {taken.already}.", f"已有 {taken.already} 行。"),
        (forgotten, f"Forgotten before, so left out: {forgotten}.", f"此前已遗忘，未写入：{forgotten} 行。"),
    )
    english = f"{over} lines were not written: one turn may write 30. Give them in a second answer."
    left = ui.every((over, english, f"有 {over} 行未写入：一轮最多写 30 行。请在下一次回答中给出。"))
    facts = fields(
        taken,
        "path written already forgotten left silent",
        written=[fields(entry, "line type text") for entry in taken.written],
        left=list(taken.over),
        dryRun=dry_run,
    )
    lines = [f"- [{entry.type}] {entry.text}" if entry.type else f"- {entry.text}" for entry in taken.written]
    return Report(facts, lines=lines, notes=notes, left=[Problem("over", sentence) for sentence in left])


@click.group(cls=ui.Group, epilog='Example:  nacre wal decide "PostgreSQL rather than MySQL"')
def wal() -> None:
    """Keep what is going on now in SESSION-STATE.md: the task, decisions, context, what is pending, what blocks.

    It is on disk before the command returns, so that compaction, a crash or a restart loses nothing. A secret is refused (exit code 13).
    "nacre undo" takes a change back.
    """


@ui.command('nacre wal task "Move the API to v2"', group=wal, dry_run=True)
@click.argument("text", nargs=-1)
@ui.flag("--clear", "Let the task go unfinished.")
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


@ui.command("nacre wal context deadline 2026-03-31", "context", group=wal, dry_run=True)
@click.argument("key")
@click.argument("value", nargs=-1, required=True)
def keep_context(options: ui.Options, key: str, value: tuple[str, ...]) -> Report:
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
def get(options: ui.Options, section: tuple[str, ...]) -> Report:
    """Print working memory, or one SECTION of it: task, context, decisions, pending, blockers, or a heading of your own."""
    state, name = _state(options), " ".join(section)
    if options.as_json:
        return Report(state.get(name))
    text = state.text(name)
    notes = ui.every((text is None, "There is no working memory yet.", "还没有工作记忆。"))
    return Report(lines=[text.removesuffix("\n")] if text and text.strip() else [], notes=notes)


@ui.command("nacre wal snapshot before-the-move", group=wal, dry_run=True)
@click.argument("name", required=False)
@ui.flag("--list", "listing", "List the snapshots, newest first.")
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
    words = {"keep": ("kept", "保存"), "remove": ("removed", "移除"), "restore": ("restored", "恢复")}
    path, heading = state.workspace.relative(made.snapshot.path), []
    for step in made.plan.steps:
        past, chinese = words[step.action]
        what = say(f"would {step.action}", f"将{chinese}") if options.dry_run else say(past, f"已{chinese}")
        heading.append(f"{what}\t{step.path}\t{step.reason}")
    changed = bool(made.plan) and not options.dry_run
    facts = {"path": path, "moment": made.snapshot.moment, "changed": changed, "dryRun": options.dry_run}
    same = say("It is the same as that snapshot.", "与该快照相同。")
    return Report(facts, heading=heading or [same], lines=[path])


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

    kept = read_values(_open_cache(options, session))
    values = [(key, len(value.text.encode()), value.at) for key, value in kept.items()]
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
    from nacre.vault.cache import open_cache

    ui.owner_only(options)
    config = settings.load()
    return open_cache(session, config.cache, clock_for(config, options.now))
