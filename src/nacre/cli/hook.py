"""nacre hook: what agents call when a session begins, is asked something, compacts or ends; and what they were given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from nacre.cli.base import Command, Invocation, json_option, note, open_memory, print_json
from nacre.i18n import say


@click.command(cls=Command, epilog="Example:  nacre hook --last")
@click.argument("event", required=False)
@click.option(
    "--last",
    is_flag=True,
    help="Show what hooks gave, newest last: when, to whom, and why; and why the last silent one gave nothing.",
)
@json_option
@click.pass_obj
def hook(invocation: Invocation, *, event: str | None, last: bool, as_json: bool) -> None:  # noqa: ARG001 - for --help
    """Answer a hook of an agent: one JSON object on stdin, one or none on stdout, always exit code 0.

    EVENT is SessionStart, UserPromptSubmit, PreCompact, Stop or SessionEnd, or what Cursor calls them; --agent says who fires it:
    claude-code (default), codex or cursor. "nacre connect" registers all of them.
    """
    if not last:
        # A hook that fires was dealt with before any of this was loaded; who reads this wants to know what it is.
        note(
            'This is for agents: they give one JSON object on stdin. "nacre connect" registers it, "nacre hook --last" shows what was given.',
            "这是供代理调用的：由代理从标准输入传入一个 JSON 对象。“nacre connect”会注册它，“nacre hook --last”可查看提供过的内容。",
        )
        return
    from nacre.vault import injected

    memory = open_memory(invocation, for_groups=True)
    scope = "main" if memory.scope.group is None else f"group:{memory.scope.group}"
    log = injected.read_injected(memory.workspace)
    packs = [one for one in log.packs if one.get("hook") and scope in ("main", one["scope"])]
    text = log.text if packs and packs[-1] is log.packs[-1] else ""
    silence = log.silence if log.silence and scope in ("main", log.silence["scope"]) else None
    if as_json:
        print_json({"given": packs, "text": text, "silence": silence})
        return
    if not packs and not silence:
        note("No hook has given anything yet, or it is not noted.", "钩子尚未提供过内容，或没有记录。")
    for one in sorted([*packs, *([silence] if silence else [])], key=lambda one: str(one.get("at"))):
        click.echo(_silent(one) if one is silence else _line(one))
        for hit in one.get("hits") or ():
            click.echo(f"  {_why(hit)}")
    if text:
        click.echo()
        click.echo(text, nl=False)


def _line(pack: Mapping[str, Any]) -> str:
    parts = len(pack.get("parts") or ())
    place = f"  project:{pack['project']}" if pack.get("project") else ""
    mode = f"  {pack['mode']}" if pack.get("mode") else f"  {pack.get('source', '')}"
    return say(
        f"{pack.get('at')}  {pack['hook']}  {pack.get('agent')}  session:{pack.get('session')}{place}{mode}  {pack.get('tokens')} tokens of {parts} source{'' if parts == 1 else 's'}",
        f"{pack.get('at')}  {pack['hook']}  {pack.get('agent')}  session:{pack.get('session')}{place}{mode}  {parts} 个来源，{pack.get('tokens')} 个 token",
    )


def _silent(prompt: Mapping[str, Any]) -> str:
    reason = prompt.get("reason")
    return f"{prompt.get('at')}  {prompt.get('hook')}  {prompt.get('agent')}  session:{prompt.get('session')}  " + say(
        f"nothing given: {reason}", f"未提供内容：{reason}"
    )


def _why(hit: Mapping[str, Any]) -> str:
    terms = say(", ", "、").join(map(str, hit.get("terms") or ())) or "-"
    return f"{hit.get('citation')}  {hit.get('score')}  {terms}"
