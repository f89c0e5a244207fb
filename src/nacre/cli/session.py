"""nacre context, hook, flush, wal, cache: the context of a session, its flush before compaction, working memory, cached values."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from nacre.cli import ui
from nacre.config import settings
from nacre.errors import BadInput
from nacre.i18n import say
from nacre.memory import Memory, Working, clock_for
from nacre.model import Report, fields, problem
from nacre.vault import cache as cache_values

if TYPE_CHECKING:
    from nacre.memory import SnapshotPlan


@ui.command('nacre context --budget 4000 --query "the release of shop-api"')
@click.option(
    "--budget", type=click.IntRange(1), metavar="TOKENS", help="Token limit; default: the setting context.budget."
)
@click.option("--query", metavar="TEXT", help="What the session is about; matching memories are included.")
@click.option(
    "--project", help="Only this project and entries without a project; default: the project of the current folder."
)
@ui.flag("--all", "all_files", "Also include USER.md and IDENTITY.md, for agents that do not read them.")
@click.option(
    "--mode",
    type=click.Choice(["text", "hybrid", "vector"]),
    default="text",
    show_default=True,
    help="How to search for matching memories.",
)
@ui.flag("--verbose", "-v", "Show what was left out and why.")
def context(options: ui.Options, **request: Any) -> None:
    """Print the context for a new session, within a token budget.

    In this order: working memory, long-term memory, matches for the query, today, yesterday, hot checkpoints. Limited to the project of the
    current folder and entries without a project; in a group, to the group's own and public entries. This does not count as a recall.
    """
    from nacre.daemon import requests

    memory = ui.open_memory(options, for_groups=True)
    request |= {"as_json": options.as_json, "here": requests.current_folder(), "terminal": requests.terminal_width()}
    printed = requests.ask_daemon(memory, "context", request) or requests.answer_context(memory, **request)
    requests.print_output(printed)


@ui.command("nacre hook SessionStart --agent codex")
@click.argument("event", required=False)
def hook(options: ui.Options, *, event: str | None) -> None:  # noqa: ARG001 - for --help
    """Handle an agent hook: read one JSON object from stdin, print at most one, and always exit with 0.

    EVENT is SessionStart, UserPromptSubmit, PreCompact, Stop or SessionEnd, or Cursor's name for it; --agent is the agent that calls it:
    claude-code (default), codex or cursor. "nacre connect" registers all hooks.
    """
    # A hook that fires was dealt with before any of this was loaded; who reads this wants to know what it is.
    ui.note(
        'This command is called by agents, with a JSON object on stdin. "nacre connect" registers it.',
        "此命令由智能体调用，从标准输入读取一个 JSON 对象。“nacre connect”会注册它。",
    )


@ui.command("nacre flush --tokens 178000 --window 200000 --json", dry_run=True)
@click.option("--tokens", type=click.IntRange(0), metavar="N", help="Number of tokens in the context now.")
@click.option("--window", type=click.IntRange(1), metavar="N", help="Size of the context window in tokens.")
@click.option(
    "--compactions", type=click.IntRange(0), metavar="N", help="How many times the session has been compacted."
)
@click.option("--session", metavar="ID", help="The session; default: OPENCLAW_SESSION_ID, or one shared session.")
@click.option("--answer", metavar="TEXT", help="Write the agent's answer to today's log; \"-\" reads it from a pipe.")
def flush(options: ui.Options, session: str | None, answer: str | None, **counts: int | None) -> Report:
    """Check whether an agent should save what matters before its context is compacted, and print the two prompts for it.

    A flush is due when the context reaches window − flush.reserve_tokens − flush.soft_threshold_tokens (at least a quarter of the window),
    once per compaction. Without --compactions, it is due again after the context has dropped below half of that. Without --tokens, only the
    prompts are printed. Answers are only appended to the day's log; NO_REPLY writes nothing.
    """
    memory = ui.open_memory(options, for_groups=True)
    session = session or os.environ.get("OPENCLAW_SESSION_ID") or "default"
    if answer is not None:
        return _answer_report(memory, ui.words_of([answer]), dry_run=options.dry_run)
    missing = [f"--{name}" for name in ("tokens", "window") if counts[name] is None]
    if len(missing) == 1:
        raise BadInput(
            f"{missing[0]} is missing; use --tokens and --window together.",
            f"缺少 {missing[0]}；--tokens 和 --window 需同时使用。",
        )
    due = memory.flush(session=session, dry_run=options.dry_run, **counts)
    if not (prompts := due.prompts):
        facts = fields(due, "due code reason threshold", due=False, threshold=due.threshold or None)
        return Report(facts, notes=[due.reason])
    facts = {
        "due": due.due,
        "reason": due.reason,
        "systemPrompt": prompts.system,
        "prompt": prompts.user,
        "path": due.path,
        "session": session,
        "threshold": due.threshold or None,
        **fields(memory.config.flush, "reserve_tokens soft_threshold_tokens"),
    }
    system, user = say("System prompt", "系统提示词"), say("Prompt", "提示词")
    return Report(facts, lines=[f"{system}\n\n{prompts.system}\n\n{user}\n\n{prompts.user}"])


def _answer_report(memory: Memory, text: str, *, dry_run: bool) -> Report:
    taken = memory.flush_answer(text, dry_run=dry_run)
    count, path, over = len(taken.written), taken.path, len(taken.over)
    already, forgotten = taken.already, taken.forgotten
    skipped = f'Skipped: {ui.plural(forgotten, "line")} that you removed with "nacre forget".'
    written = ui.done(f"written to {path}: {ui.plural(count, 'line')}.", f"写入 {path}：{count} 行。", dry_run=dry_run)
    english = f"Not written: {ui.plural(over, 'line')}, because the limit is 30 lines per turn. Send the rest in another answer."
    left = problem("over", english, f"有 {over} 行未写入：每轮最多写 30 行。请在下一次回答中发送其余内容。")
    return Report(
        fields(
            taken,
            "path written already forgotten left silent",
            written=[fields(entry, "line type text") for entry in taken.written],
            left=taken.over,
            dryRun=dry_run,
        ),
        lines=[f"- [{entry.type}] {entry.text}" if entry.type else f"- {entry.text}" for entry in taken.written],
        notes=ui.every(
            (count or dry_run, written, written),
            (not (count or dry_run), "Nothing new to write.", "没有新内容可写。"),
            (already, f"Already in the log: {ui.plural(already, 'line')}.", f"日志中已有：{already} 行。"),
            (forgotten, skipped, f"此前已用“nacre forget”删除，未写入：{forgotten} 行。"),
        ),
        left=[left] if over else [],
    )


@click.group(cls=ui.Group, epilog='Example:  nacre wal decide "PostgreSQL rather than MySQL"')
def wal() -> None:
    """Keep working memory in SESSION-STATE.md: current task, decisions, context, pending items, blockers.

    Changes are on disk before the command returns, so nothing is lost to compaction, a crash or a restart. Secrets are refused (exit code 13).
    "nacre undo" reverts a change.
    """


@ui.command('nacre wal task "Move the API to v2"', group=wal, dry_run=True)
@click.argument("text", nargs=-1)
@ui.flag("--clear", "Abandon the current task.")
def task(options: ui.Options, text: tuple[str, ...], *, clear: bool) -> Report:
    """Set the current task, replacing the previous one. "-" reads the text from a pipe."""
    if bool(text) == clear:
        raise click.UsageError(say("Describe the task, or use --clear.", "请填写任务内容，或使用 --clear。"))
    return _change(options, "drop") if clear else _change(options, "task", ui.words_of(text))


@ui.command('nacre wal decide "PostgreSQL rather than MySQL"', group=wal, dry_run=True)
@click.argument("text", nargs=-1, required=True)
def decide(options: ui.Options, text: tuple[str, ...]) -> Report:
    """Record a decision with its time. If there are more than state.max_entries, the oldest move to today's log."""
    return _change(options, "decide", ui.words_of(text))


@ui.command("nacre wal context deadline 2026-03-31", "context", group=wal, dry_run=True)
@click.argument("key")
@click.argument("value", nargs=-1, required=True)
def keep_context(options: ui.Options, key: str, value: tuple[str, ...]) -> Report:
    """Store VALUE under KEY, replacing the previous value."""
    return _change(options, "context", key, ui.words_of(value))


@ui.command('nacre wal pending "Ask Ann for the schema"', group=wal, dry_run=True)
@click.argument("text", nargs=-1, required=True)
def pending(options: ui.Options, text: tuple[str, ...]) -> Report:
    """Add a pending item."""
    return _change(options, "pending", ui.words_of(text))


@ui.command("nacre wal done 1", group=wal, dry_run=True)
@click.argument("which", metavar="[N|TEXT]", nargs=-1)
def done(options: ui.Options, which: tuple[str, ...]) -> Report:
    """Complete a pending item, by number or text; without either, the current task. It is recorded in today's log."""
    return _change(options, "done", " ".join(which)) if which else _change(options, "finish")


@ui.command('nacre wal blocker "No access to staging"', group=wal, dry_run=True)
@click.argument("text", nargs=-1)
@click.option(
    "--clear", is_flag=False, flag_value="", metavar="N|TEXT", help="Remove the blocker with this number or text."
)
def blocker(options: ui.Options, text: tuple[str, ...], clear: str | None) -> Report:
    """Add a blocker, or remove one with --clear and record that in today's log."""
    if clear is None:
        return _change(options, "blocker", ui.words_of(text))
    return _change(options, "clear", " ".join(part for part in (clear, *text) if part))


@ui.command("nacre wal get pending", group=wal)
@click.argument("section", nargs=-1)
def get(options: ui.Options, section: tuple[str, ...]) -> Report:
    """Print working memory, or one SECTION: task, context, decisions, pending, blockers, or your own heading."""
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
    """Save a copy of working memory; the last 20 are kept."""
    state = _state(options)
    if not listing:
        return _snapshot_report(options, state, state.snapshot(name, dry_run=options.dry_run))
    rows = [(kept.moment, kept.name, state.workspace.relative(kept.path)) for kept in state.snapshots()]
    return Report(
        [{"moment": moment, "name": name or None, "path": path} for moment, name, path in rows],
        columns=ui.headings("time 时间|name 名称|file 文件"),
        lines=rows,
    )


@ui.command("nacre wal restore before-the-move", group=wal, dry_run=True)
@click.argument("name", required=False)
def restore(options: ui.Options, name: str | None) -> Report:
    """Restore a snapshot: the newest, or the one with the given name or time. "nacre undo" reverts it."""
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
        (edit.line, f"{name} was left unchanged.", f"{name} 无需更改。"),
        (True, "No task is set.", "没有当前任务。"),
    )
    logged = [
        ui.done(f"added to today's log: {bullet}", f"记入今天的日志：{bullet}", dry_run=options.dry_run)
        for bullet in edit.log
    ]
    names = "section text changed dryRun path log"
    return Report(
        fields(edit, names, text=edit.line, changed=changed, dryRun=options.dry_run, path=name),
        heading=[outcome, *logged],
        lines=[edit.line] if edit.line else [],
    )


def _snapshot_report(options: ui.Options, state: Working, made: SnapshotPlan) -> Report:
    words = {"keep": ("saved", "保存"), "remove": ("removed", "移除"), "restore": ("restored", "恢复")}
    path, heading = state.workspace.relative(made.snapshot.path), []
    for step in made.plan.steps:
        past, chinese = words[step.action]
        what = say(f"would be {past}", f"将{chinese}") if options.dry_run else say(past, f"已{chinese}")
        heading.append(f"{what}\t{step.path}\t{step.reason}")
    changed = bool(made.plan) and not options.dry_run
    same = say("Nothing to do: working memory is the same as the snapshot.", "工作记忆与快照相同，无需更改。")
    return Report(
        {"path": path, "moment": made.snapshot.moment, "changed": changed, "dryRun": options.dry_run},
        heading=heading or [same],
        lines=[path],
    )


SESSION_VARIABLES = ["NACRE_SESSION", "OPENCLAW_SESSION_ID", "CLAUDE_CODE_SESSION_ID", "CLAUDE_SESSION_ID"]
session_option = click.option(
    "--session",
    metavar="ID",
    envvar=SESSION_VARIABLES,
    default="default",
    help="The session; default: OPENCLAW_SESSION_ID or CLAUDE_CODE_SESSION_ID, or one shared session.",
)


@click.group(cls=ui.Group, epilog="Example:  nacre cache set branch feature/login")
def cache() -> None:
    """Store values for one session in a private temporary folder; they expire after a day or a restart.

    No workspace is needed. Secrets are refused (exit code 13).
    """


@ui.command("nacre cache set branch feature/login", "set", group=cache, dry_run=True)
@click.argument("key")
@click.argument("value", nargs=-1, required=True)
@session_option
def set_value(options: ui.Options, key: str, value: tuple[str, ...], session: str) -> Report:
    """Store VALUE under KEY. "-" reads the value from a pipe."""
    dry_run = options.dry_run
    kept = cache_values.put_value(_open_cache(options, session), key, ui.words_of(value), dry_run=dry_run)
    return Report(
        {"key": key, "value": kept.text, "session": session, "changed": not dry_run, "dryRun": dry_run},
        notes=[ui.done(f'cached for this session: "{key}".', f"为此会话缓存“{key}”。", dry_run=dry_run)],
    )


@ui.command("nacre cache get branch", "get", group=cache)
@click.argument("key")
@session_option
def get_value(options: ui.Options, key: str, session: str) -> Report:
    """Print the value of KEY. Exit code 1 if there is none."""
    value = cache_values.get_value(_open_cache(options, session), key)
    facts = {"key": key, "value": value.text, "at": value.at.isoformat(timespec="seconds")}
    return Report(facts, lines=[value.text.removesuffix("\n")])


@ui.command("nacre cache list", "list", group=cache)
@session_option
def list_values(options: ui.Options, session: str) -> Report:
    """List keys with size and time."""
    kept = cache_values.read_values(_open_cache(options, session)).items()
    values = [(key, len(value.text.encode()), value.at) for key, value in kept]
    return Report(
        [{"key": key, "bytes": size, "at": at.isoformat(timespec="seconds")} for key, size, at in values],
        heading=ui.every((not values, "Nothing is cached for this session.", "此会话没有缓存内容。")),
        lines=[(key, ui.size_of(size), f"{at:%H:%M}") for key, size, at in values],
        columns=ui.headings("key 键|size 大小|time 时间"),
    )


@ui.command("nacre cache clear branch", group=cache, dry_run=True)
@click.argument("key", required=False)
@session_option
def clear(options: ui.Options, key: str | None, session: str) -> Report:
    """Delete KEY, or everything stored for the session."""
    keys = cache_values.clear_values(_open_cache(options, session), key, dry_run=options.dry_run)
    heading = ui.every(
        (not keys, "Nothing to clear.", "没有可清除的内容。"),
        (keys and options.dry_run, f"{ui.plural(len(keys), 'key')} would be cleared:", f"将清除 {len(keys)} 项："),
    )
    return Report({"cleared": keys, "dryRun": options.dry_run}, heading=heading, lines=keys)


def _open_cache(options: ui.Options, session: str) -> cache_values.Cache:
    ui.owner_only(options)
    config = settings.load()
    return cache_values.open_cache(session, config.cache, clock_for(config, options.now))
