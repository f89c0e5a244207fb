"""nacre context, hook, flush: what a session is given, what hooks gave it, and its turn to write down what lasts."""

from __future__ import annotations

import os
from typing import Any

import click

from nacre.cli import ui
from nacre.daemon import requests
from nacre.errors import BadInput
from nacre.i18n import say
from nacre.memory import Memory
from nacre.model.report import Problem, Report, fields


@ui.command('nacre context --budget 4000 --query "the release of shop-api"')
@click.option(
    "--budget", type=click.IntRange(1), metavar="TOKENS", help="Most tokens; default: the setting context.budget."
)
@click.option("--query", metavar="TEXT", help="What the session is about: what answers it is given too.")
@click.option("--project", help="This project and what belongs to none; default: the project of the current folder.")
@click.option("--all", "all_files", is_flag=True, help="USER.md and IDENTITY.md too, for agents that do not read them.")
@click.option(
    "--mode",
    type=click.Choice(["text", "hybrid", "vector"]),
    default="text",
    show_default=True,
    help="How to look for what answers.",
)
@click.option("--last", is_flag=True, help="Show what was given last.")
@click.option("--verbose", "-v", is_flag=True, help="Say what was left out, and why.")
def context(options: ui.Options, *, last: bool, **request: Any) -> Report | None:
    """Print what a new session should know, within a budget of tokens.

    In this order: working state, long-term memory, what answers the query, today, yesterday, hot checkpoints. Only of the project of
    the current folder and of none; in a group only what is its own or public. What is given here does not count as recalled.
    """
    memory = ui.open_memory(options, for_groups=True)
    if not last:
        request |= {"as_json": options.as_json, "here": requests.current_folder(), "terminal": requests.at_terminal()}
        printed = requests.ask_daemon(memory, "context", request) or requests.answer_context(memory, **request)
        requests.print_output(printed)
        return None
    pack, text = memory.last_context() or (None, "")
    if pack is None:
        nothing = say("Nothing was given yet, or it is not noted.", "尚未提供过内容，或没有记录。")
        return Report(None, notes=[nothing])
    at, whom, tokens = pack.get("at"), pack["scope"], pack.get("tokens")
    hook = f"{pack['hook']}, {pack.get('agent')}" if pack.get("hook") else ""
    whom += hook and f" ({hook})"
    note = say(f"Given at {at} to {whom}, {tokens} tokens.", f"{at} 提供给 {whom}，{tokens} 个 token。")
    return Report({**pack, "text": text}, lines=[text.removesuffix("\n")] if text else [], notes=[note])


@ui.command("nacre hook --last")
@click.argument("event", required=False)
@click.option(
    "--last",
    is_flag=True,
    help="Show what hooks gave, newest last: when, to whom, and why; and why the last silent one gave nothing.",
)
def hook(options: ui.Options, *, event: str | None, last: bool) -> Report:  # noqa: ARG001 - for --help
    """Answer a hook of an agent: one JSON object on stdin, one or none on stdout, always exit code 0.

    EVENT is SessionStart, UserPromptSubmit, PreCompact, Stop or SessionEnd, or what Cursor calls them; --agent says who fires it:
    claude-code (default), codex or cursor. "nacre connect" registers all of them.
    """
    if not last:
        # A hook that fires was dealt with before any of this was loaded; who reads this wants to know what it is.
        ui.note(
            'This is for agents: they give one JSON object on stdin. "nacre connect" registers it, "nacre hook --last" shows what was given.',
            "这是供代理调用的：由代理从标准输入传入一个 JSON 对象。“nacre connect”会注册它，“nacre hook --last”可查看提供过的内容。",
        )
        raise click.exceptions.Exit(0)
    memory = ui.open_memory(options, for_groups=True)
    log, scope = memory.injected(), memory.scope.name
    packs = [pack for pack in log.packs if pack.get("hook") and scope in ("main", pack["scope"])]
    text = log.text if packs and packs[-1] is log.packs[-1] else ""
    silence = log.silence if log.silence and scope in ("main", log.silence["scope"]) else None
    nothing = say("No hook has given anything yet, or it is not noted.", "钩子尚未提供过内容，或没有记录。")
    notes = [] if packs or silence else [nothing]
    lines: list[str] = []
    for pack in sorted([*packs, *([silence] if silence else [])], key=lambda pack: str(pack.get("at"))):
        head = f"{pack.get('at')}  {pack.get('hook')}  {pack.get('agent')}  session:{pack.get('session')}"
        if pack is silence:
            reason = pack.get("reason")
            lines.append(head + "  " + say(f"nothing given: {reason}", f"未提供内容：{reason}"))
        else:
            head += f"  project:{pack['project']}" if pack.get("project") else ""
            head += f"  {pack.get('mode') or pack.get('source', '')}"
            count, tokens = len(pack.get("parts") or ()), pack.get("tokens")
            english = f"{head}  {tokens} tokens of {ui.plural(count, 'source')}"
            lines.append(say(english, f"{head}  {count} 个来源，{tokens} 个 token"))
        for hit in pack.get("hits") or ():
            terms = say(", ", "、").join(map(str, hit.get("terms") or ())) or "-"
            lines.append(f"  {hit.get('citation')}  {hit.get('score')}  {terms}")
    lines += ["", text.removesuffix("\n")] if text else []
    return Report({"given": packs, "text": text, "silence": silence}, lines=lines, notes=notes)


# nacre flush: the turn before compaction, in which an agent writes down what lasts.


@ui.command("nacre flush --tokens 178000 --window 200000 --json", dry_run=True)
@click.option("--tokens", type=click.IntRange(0), metavar="N", help="How many tokens the context holds now.")
@click.option("--window", type=click.IntRange(1), metavar="N", help="How many it can hold.")
@click.option("--compactions", type=click.IntRange(0), metavar="N", help="How often the session was compacted so far.")
@click.option("--session", metavar="ID", help="The session; else OPENCLAW_SESSION_ID, else one for all.")
@click.option("--answer", metavar="TEXT", help="Take the agent's answer into today's log; \"-\" reads a pipe.")
@click.option("--check", is_flag=True, help="Say which reference files changed since the prompts were handed out.")
def flush(
    options: ui.Options,
    tokens: int | None,
    window: int | None,
    compactions: int | None,
    session: str | None,
    answer: str | None,
    *,
    check: bool,
) -> Report:
    """Decide whether a context that nears its end is due for a flush, and print the two prompts for it.

    Due from window − flush.reserve_tokens − flush.soft_threshold_tokens on (never below a fourth of the window), once for each
    compaction of a session; without --compactions, until the context has fallen below half of that. Without --tokens only the
    prompts are printed. Prompts that were handed out and never heard of again are handed out once more, after ten minutes.
    The answer is only ever appended to the day's log; NO_REPLY is silence.
    """
    memory = ui.open_memory(options, for_groups=True)
    session = session or os.environ.get("OPENCLAW_SESSION_ID") or "default"
    if answer is not None:
        report = _answer_report(memory, ui.words_of([answer]), session, dry_run=options.dry_run)
    elif check:
        report = _check_report(memory, session)
    elif (tokens is None) is not (window is None):
        missing = "--window" if window is None else "--tokens"
        raise BadInput(f"{missing} is missing; give both.", f"缺少 {missing}；请同时给出 --tokens 和 --window。")
    else:
        due = memory.flush(tokens, window, session=session, compactions=compactions, dry_run=options.dry_run)
        if prompts := due.prompts:
            limits = fields(memory.config.flush, "reserve_tokens soft_threshold_tokens")
            facts = {"due": due.due, "reason": due.reason, "systemPrompt": prompts.system, "prompt": prompts.user}
            facts |= {"path": due.path, "session": session, "threshold": due.threshold or None, **limits}
            system, user = say("System prompt", "系统提示词"), say("Prompt", "提示词")
            lines = [f"{system}\n\n{prompts.system}\n\n{user}\n\n{prompts.user}"]
            report = Report({**facts, "attempt": due.tries}, lines=lines)
        else:
            facts = fields(due, "due code reason threshold", due=False, threshold=due.threshold or None)
            report = Report(facts, notes=[due.reason])
    return report


def _answer_report(memory: Memory, text: str, session: str, *, dry_run: bool) -> Report:
    taken = memory.flush_answer(text, session=session, dry_run=dry_run)
    count, path, over, forgotten = len(taken.written), taken.path, len(taken.over), taken.forgotten
    notes = [
        ui.first(
            (dry_run, f"Would be written to {path}: {count}.", f"将写入 {path}：{count} 行。"),
            (count, f"Written to {path}: {count}.", f"已写入 {path}：{count} 行。"),
            (True, "Nothing new to write.", "没有新内容可写。"),
        ),
        *ui.every(
            (taken.already, f"Already there: {taken.already}.", f"已有 {taken.already} 行。"),
            (forgotten, f"Forgotten before, so left out: {forgotten}.", f"此前已遗忘，未写入：{forgotten} 行。"),
        ),
    ]
    english = f"{over} lines were not written: one turn may write 30. Give them in a second answer."
    left = ui.every((over, english, f"有 {over} 行未写入：一轮最多写 30 行。请在下一次回答中给出。"))
    written = [fields(entry, "line type text") for entry in taken.written]
    names = "path written already forgotten left silent"
    facts = fields(taken, names, written=written, left=list(taken.over), dryRun=dry_run)
    lines = [f"- [{entry.type}] {entry.text}" if entry.type else f"- {entry.text}" for entry in taken.written]
    return Report(facts, lines=lines, notes=notes, left=[Problem("over", sentence) for sentence in left])


def _check_report(memory: Memory, session: str) -> Report:
    check = memory.flush_check(session=session)
    outcome = ui.first(
        (check.since is None, "This session has had no flush.", "此会话没有进行过压缩前记录。"),
        (not check.touched, "No reference file has changed.", "参考文件均无改动。"),
    )
    facts = {
        "since": check.since.isoformat(timespec="seconds") if check.since else None,
        "changed": [fields(file, "path how") for file in check.touched],
    }
    return Report(facts, heading=[outcome], lines=[file.sentence for file in check.touched])
