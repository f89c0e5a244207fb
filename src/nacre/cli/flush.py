"""nacre flush: the turn before compaction, in which an agent writes down what lasts."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from nacre.cli.base import Command, Invocation, dry_run_option, json_option, note, open_memory, piped, print_json
from nacre.errors import BadInput, PartlyDone
from nacre.i18n import say

if TYPE_CHECKING:
    from nacre.layers.flush import Flush, FlushAnswer
    from nacre.memory import Memory


@click.command(cls=Command, epilog="Example:  nacre flush --tokens 178000 --window 200000 --json")
@click.option("--tokens", type=click.IntRange(0), metavar="N", help="How many tokens the context holds now.")
@click.option("--window", type=click.IntRange(1), metavar="N", help="How many it can hold.")
@click.option("--compactions", type=click.IntRange(0), metavar="N", help="How often the session was compacted so far.")
@click.option("--session", metavar="ID", help="The session; else OPENCLAW_SESSION_ID, else one for all.")
@click.option("--answer", metavar="TEXT", help="Take the agent's answer into today's log; \"-\" reads a pipe.")
@click.option("--check", is_flag=True, help="Say which reference files changed since the prompts were handed out.")
@click.option("--restore", is_flag=True, help="Bring these files back, as far as history has them.")
@dry_run_option
@json_option
@click.pass_obj
def flush(
    invocation: Invocation,
    tokens: int | None,
    window: int | None,
    compactions: int | None,
    session: str | None,
    answer: str | None,
    *,
    check: bool,
    restore: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Decide whether a context that nears its end is due for a flush, and print the two prompts for it.

    Due from window − flush.reserve_tokens − flush.soft_threshold_tokens on (never below a fourth of the window), once for each
    compaction of a session; without --compactions, until the context has fallen below half of that. Without --tokens only the
    prompts are printed. Prompts that were handed out and never heard of again are handed out once more, after ten minutes.
    The answer is only ever appended to the day's log; NO_REPLY is silence.
    """
    memory = open_memory(invocation, for_groups=True)
    named = session or os.environ.get("OPENCLAW_SESSION_ID") or "default"
    if answer is not None:
        _take(memory, piped() if answer == "-" else answer, named, dry_run=dry_run, as_json=as_json)
    elif check or restore:
        _check(memory, named, restore=restore and not dry_run, as_json=as_json)
    elif (tokens is None) is not (window is None):
        missing = "--window" if window is None else "--tokens"
        raise BadInput(
            f"Give both --tokens and --window; {missing} is missing.",
            f"请同时给出 --tokens 和 --window；缺少 {missing}。",
        )
    else:
        asked = memory.flush(tokens, window, session=named, compactions=compactions, dry_run=dry_run)
        _tell(memory, asked, named, as_json=as_json)


def _tell(memory: Memory, asked: Flush, session: str, *, as_json: bool) -> None:
    if asked.prompts is None:
        if as_json:
            print_json({"due": False, "code": asked.code, "reason": asked.reason, "threshold": asked.threshold or None})
        else:
            note(asked.reason)
        return
    told = asked.prompts
    if not as_json:
        click.echo(f"{say('System prompt', '系统提示词')}\n\n{told.system}\n\n{say('Prompt', '提示词')}\n\n{told.user}")
        return
    settings = memory.config.flush
    print_json(
        {
            "due": asked.due,
            "reason": asked.reason,
            "systemPrompt": told.system,
            "prompt": told.user,
            "path": asked.path,
            "session": session,
            "threshold": asked.threshold or None,
            "reserveTokens": settings.reserve_tokens,
            "softThresholdTokens": settings.soft_threshold_tokens,
            "attempt": asked.tries,
        }
    )


def _take(memory: Memory, text: str, session: str, *, dry_run: bool, as_json: bool) -> None:
    taken = memory.flush_answer(text, session=session, dry_run=dry_run)
    if as_json:
        print_json(
            {
                "path": taken.path,
                "written": [{"line": one.line, "type": one.type, "text": one.text} for one in taken.written],
                "already": taken.already,
                "forgotten": taken.forgotten,
                "left": list(taken.over),
                "silent": taken.silent,
                "dryRun": dry_run,
            }
        )
    else:
        _show(taken, dry_run=dry_run)
    if taken.over:
        count = len(taken.over)
        raise PartlyDone(
            f"{count} lines were not written: one turn may write 30. Give them in a second answer.",
            f"有 {count} 行未写入：一轮最多写 30 行。请在下一次回答中给出。",
        )


def _show(taken: FlushAnswer, *, dry_run: bool) -> None:
    for one in taken.written:
        click.echo(f"- [{one.type}] {one.text}" if one.type else f"- {one.text}")
    count, path = len(taken.written), taken.path
    if dry_run:
        note(f"Would be written to {path}: {count}.", f"将写入 {path}：{count} 行。")
    elif count:
        note(f"Written to {path}: {count}.", f"已写入 {path}：{count} 行。")
    else:
        note("Nothing new to write.", "没有新内容可写。")
    if taken.already:
        note(f"Already there: {taken.already}.", f"已有 {taken.already} 行。")
    if taken.forgotten:
        note(f"Forgotten before, so left out: {taken.forgotten}.", f"此前已遗忘，未写入：{taken.forgotten} 行。")


def _check(memory: Memory, session: str, *, restore: bool, as_json: bool) -> None:
    from nacre.layers.flush import change_sentence

    checked, restored = memory.flush_check(session=session, restore=restore)
    if as_json:
        print_json(
            {
                "since": checked.since.isoformat(timespec="seconds") if checked.since else None,
                "changed": [{"path": one.path, "how": one.how, "command": one.command} for one in checked.touched],
                "restored": list(restored),
            }
        )
        return
    if checked.since is None:
        note("This session has had no flush.", "此会话没有进行过压缩前记录。")
    elif not checked.touched:
        note("No reference file has changed.", "参考文件均无改动。")
    for one in checked.touched:
        click.echo(change_sentence(one))
    for path in restored:
        note(f"{path} is as it was.", f"{path} 已恢复原样。")
