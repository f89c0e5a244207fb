"""nacre brain: choose what writes the memory, show what that cost today, and list the orders sent to a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from nacre.brain.orders import CLAIMS
from nacre.cli import ui
from nacre.config.settings import user_config_file
from nacre.errors import BadInput
from nacre.i18n import say
from nacre.memory import change_setting, gate_reason
from nacre.model import Report

if TYPE_CHECKING:
    from nacre.memory import Memory, NextOrder, Record

_AGENTS = {"claude-code": "Claude Code", "codex": "Codex", "gemini": "Gemini CLI", "opencode": "opencode", "openclaw": "OpenClaw"}  # fmt: skip


@click.group(
    cls=ui.Group, params=[ui.JSON], invoke_without_command=True, epilog="Example:  nacre brain use claude-code"
)
@click.pass_context
def brain(ctx: click.Context, *, as_json: bool) -> None:
    """Show what writes your memory (this machine or a model of your choice) and today's usage."""
    if ctx.invoked_subcommand:
        return
    memory = ui.open_memory(ctx.obj)
    facts = memory.brain_facts()
    if not as_json and offer(memory, facts):
        facts = memory.brain_facts()
    there = [_AGENTS[name] for name in facts["installed"]]
    rows = [
        (say("daily logs written by", "每日日志由谁撰写"), writer(facts["extract"], facts["model"])),
        (say("weekly digests written by", "每周摘要由谁撰写"), writer(facts["digest"], facts["model"])),
        (say("MEMORY.md maintained by", "MEMORY.md 由谁维护"), writer(facts["distil"], facts["model"])),
        (say("checkpoint summaries written by", "检查点摘要由谁撰写"), writer(facts["summarise"], facts["model"])),
        (say("used today", "今日用量"), spent(facts)),
        (say("saved by the cache", "缓存节省"), say(f"{facts['saved']} tokens", f"{facts['saved']} 个 token")),
        *((say("waiting for your agent", "等待你的智能体处理"), text) for text in waiting(facts)),
        (say("private projects", "不外发的项目"), say(", ", "、").join(facts["private"]) or say("none", "无")),
        (say("agents found", "可用的智能体"), say(", ", "、").join(there) or say("none", "无")),
    ]
    example = (*facts["installed"], "claude-code")[0]
    english = f'"nacre brain use {example}" lets {_AGENTS[example]} write your memory; "nacre brain use local" switches back to this machine.'
    chinese = f"“nacre brain use {example}”让 {_AGENTS[example]} 撰写记忆；“nacre brain use local”改回由本机撰写。"
    ui.print_reports([Report(facts, lines=rows, notes=[say(english, chinese)])], as_json=as_json)


def offer(memory: Memory, facts: dict[str, Any]) -> bool:
    """Ask, once ever, whether an agent that is logged in may write the memory; return the answer."""
    ready, settings = facts["loggedIn"], memory.config.brain
    if not ready or any(facts[work] != "local" for work in CLAIMS) or settings.offered or not ui.is_interactive():
        return False
    agent, private = _AGENTS[ready[0]], ", ".join(facts["private"]) or say("none", "无")
    english = (
        f"{agent} is installed and logged in. Let it write your memory? About 12 short calls a day, on your own account; "
        f"secrets are removed first. Projects that are never sent: {private}."
    )
    chinese = f"{agent} 已安装并登录。让它撰写你的记忆吗？每天约 12 次简短调用，计入你自己的账户；敏感信息会先移除。不外发的项目：{private}。"
    agreed = click.confirm(say(english, chinese), default=False, err=True)
    change_setting(user_config_file(), "brain.offered", value=True)
    if agreed:
        memory.use_brain(ready[0])
    return agreed


def writer(mode: str, model: str | None) -> str:
    return ui.first(
        (mode == "local", "this machine", "本机"),
        (mode == "turn", "your agent, in a separate turn", "你的智能体（单独一轮）"),
        (mode == "hybrid", f"this machine; {model} for long sessions", f"本机；较长的会话由 {model} 处理"),
        (True, f"{model}", f"{model}"),
    )


def waiting(facts: dict[str, Any]) -> list[str]:
    """A line about the orders that wait for the user's agent; empty when there are none."""
    count, since = facts["waiting"], (facts["waitingSince"] or "").replace("T", " ")[:16]
    return ui.every((count, f"{ui.plural(count, 'request')} since {since}", f"{count} 个请求，自 {since} 起"))


def spent(facts: dict[str, Any]) -> str:
    calls, tokens = facts["calls"], facts["tokens"]
    most, most_tokens = facts["callsPerDay"], facts["tokensPerDay"]
    english = f"{calls} of {most} requests, {tokens} of {most_tokens} tokens"
    return say(english, f"{calls}/{most} 个请求，{tokens}/{most_tokens} 个 token")


@ui.command("nacre brain use claude-code", group=brain, dry_run=True)
@click.argument("name")
@ui.flag("--hybrid", "Use it only for sessions with 20 or more messages, or when this machine extracts little.")
@ui.flag("--yes", "Do not ask for confirmation.")
def use(options: ui.Options, name: str, *, hybrid: bool, yes: bool) -> Report:
    """Choose what writes your memory (logs, weekly digests, MEMORY.md, summaries).

    NAME is an agent's program, "command" for your own program (brain.command.argv), "api" for the configured service, "turn" to let your
    agent fetch the requests itself, or "local" for this machine.
    """
    memory = ui.open_memory(options)
    names = (*_AGENTS, "command", "api", "turn", "local")
    if name not in names:
        raise BadInput(f'"{name}" is not one of {", ".join(names)}.', f"“{name}”不是 {'、'.join(names)} 之一。")
    if name == "command" and not memory.config.brain.command.argv:
        raise BadInput(
            'No program is configured. Set one: nacre config set --user brain.command.argv \'["my-program", "--flag"]\'',
            '尚未设置程序。请运行：nacre config set --user brain.command.argv \'["my-program", "--flag"]\'',
        )
    if hybrid and name == "turn":
        raise BadInput("--hybrid works only with programs and services.", "--hybrid 只能用于程序和服务。")
    if name != "local":
        shown = say("your agent", "你的智能体") if name == "turn" else _AGENTS.get(name, name)
        kept = ", ".join(memory.config.brain.private) or say("none", "无")
        english = f"Let {shown} write your memory? Your sessions are sent to it, with secrets removed. Projects that are never sent: {kept}."
        chinese = f"让 {shown} 撰写你的记忆吗？你的会话会在移除敏感信息后发给它。不外发的项目：{kept}。"
        ui.confirm(english, chinese, yes=yes or options.dry_run)
    changes = memory.use_brain(name, hybrid=hybrid, dry_run=options.dry_run)
    turn = 'Requests now wait for your agent. It can fetch them over MCP (memory_orders); "nacre jobs install --with openclaw" makes OpenClaw\'s cron jobs answer them.'
    turn_chinese = "请求会等待你的智能体处理：它可以通过 MCP（memory_orders）领取；“nacre jobs install --with openclaw”可让 OpenClaw 的定时任务来回答。"
    agent, missing = _AGENTS.get(name), name in _AGENTS and name not in memory.brain_facts()["installed"]
    absent = f"{agent} was not found on this machine; Nacre does the work itself until you install it."
    note = ui.first(
        (name == "local", "", ""),
        (missing, absent, f"本机没有找到 {agent}；安装之前仍由本机撰写。"),
        (name == "turn", turn, turn_chinese),
        (True, '"nacre brain test" sends it a short test request.', "“nacre brain test”会发送一个简短的测试请求。"),
    )
    settings = [f"{key} = {value}" for key, value in changes.items()]
    return Report({"settings": changes, "dryRun": options.dry_run}, lines=settings, notes=[note])


@ui.command("nacre brain test", group=brain)
def test(options: ui.Options) -> Report:
    """Send a short test request to the configured model and show which lines of its answer pass the checks."""
    with ui.waiting("Asking", "正在询问"):
        kept, dropped, tokens = ui.open_memory(options).test_brain()
    count, total = len(kept), len(kept) + len(dropped)
    english = f"{count} of {ui.plural(total, 'line')} passed the checks; {tokens} tokens."
    return Report(
        {"kept": kept, "dropped": [{"text": text, "reason": reason} for text, reason in dropped], "tokens": tokens},
        lines=[*(f"- {text}" for text in kept), *(f"✗ {gate_reason(reason)}: {text}" for text, reason in dropped)],
        notes=[say(english, f"{total} 行中有 {count} 行通过检查；{tokens} 个 token。")],
    )


@ui.command("nacre brain orders", group=brain)
@click.argument("order", required=False)
@click.option("-n", "count", default=20, show_default=True, help="How many to list.")
@ui.flag("--next", "only_next", "Print the next request waiting for your agent, with its id.")
def orders(options: ui.Options, order: str | None, count: int, *, only_next: bool) -> Report:
    """List the requests sent to the model, newest last, or show one with its answer. Secrets were removed before sending."""
    memory = ui.open_memory(options)
    if only_next:
        return _next_report(memory.next_order())
    records = memory.orders()
    if order:
        record = next((record for record in reversed(records) if record.key.startswith(order)), None)
        if record is None:
            raise BadInput(f'No request id starts with "{order}".', f"没有编号以“{order}”开头的请求。")
        shown = [record.text, record.answer or record.why or say("(no answer yet)", "（尚无回答）")]
        shown += [f"✗ {gate_reason(reason)}: {text}" for reason, text in record.claims]
        details = {"text": record.text, "answer": record.answer}
        return Report(record.as_plain(memory.clock) | details, lines=[ui.legible(text) for text in shown])
    listed = [(record.as_plain(memory.clock), _outcome(record)) for record in records[-count:]]
    names = "id", "at", "work", "brain", "tokens"
    return Report(
        [row for row, _ in listed],
        columns=ui.headings("request 编号|time 时间|work 类型|model 模型|tokens token|outcome 结果"),
        lines=[(*(str(row[name]) for name in names), outcome) for row, outcome in listed],
        notes=ui.every((not records, "No requests have been sent yet.", "还没有发出过请求。")),
    )


@ui.command("nacre brain answer 3f2a9c01 < answer.json", group=brain)
@click.argument("order")
def answer(options: ui.Options, order: str) -> Report:
    """Read the answer to a waiting request (the JSON object it asks for) from stdin, and print the next request."""
    return _next_report(ui.open_memory(options).answer_order(order, ui.words_of(("-",))))


def _next_report(coming: NextOrder) -> Report:
    """The next order as an agent reads it."""
    order, count = coming.order, coming.waiting
    if order is None:
        return Report({"waiting": count}, lines=[coming.note])
    head = say(f"Request {order.key} ({count} waiting)", f"请求 {order.key}（共 {count} 个等待中）")
    facts = {"waiting": count, "id": order.key, "work": order.work, "order": order.text}
    return Report(facts, lines=[head, "", ui.legible(order.text)])


def _outcome(record: Record) -> str:
    dropped = ", ".join(
        gate_reason(reason) + say(f" ({count})", f" {count}") for reason, count in record.dropped.items()
    )
    return ui.first(
        (record.why, f"failed: {record.why}", f"失败：{record.why}"),
        (record.waits, "waiting for your agent", "等待你的智能体处理"),
        (record.answer is None, "no answer", "没有回答"),
        (dropped, f"{record.kept} kept; dropped: {dropped}", f"保留 {record.kept} 条；丢弃：{dropped}"),
        (True, f"{record.kept or 0} kept", f"保留 {record.kept or 0} 条"),
    )
