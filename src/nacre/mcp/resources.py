"""What a client reads without calling a tool: resources, prompts, and the instructions of the server."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

from nacre.errors import NotFound
from nacre.i18n import language, say
from nacre.text.tables import wordings
from nacre.vault.rules import TOOLS, rules_section

if TYPE_CHECKING:
    from nacre.memory import Memory

MEMORY, TODAY, CONTEXT = "nacre://memory", "nacre://today", "nacre://context"
MARKDOWN = "text/markdown"
_ALL = 10_000  # lines; the characters of one answer are bounded by reading itself
_RECENT = 7  # days
_MOST_QUESTIONS = 20


def instructions(tongue: str | None = None, *, group: bool = False) -> str:
    """The instructions for a client's model; for a group without those about writing."""
    return rules_section(tongue or language(), TOOLS, writes=not group).partition("\n\n")[2]


def resources(*, group: bool = False) -> list[dict[str, str]]:
    """Every resource; a group has only its own context."""
    longterm = say("What the agent must never get wrong, in at most 80 lines.", "智能体绝不能弄错的事，最多 80 行。")
    today = say("What was noted and captured today.", "今天记下和采集的内容。")
    english = "Working memory, long-term memory, and the logs of today and yesterday, within a token budget."
    context = say(english, "工作记忆、长期记忆、今天和昨天的日志，不超过 token 预算。")
    rows = (
        (MEMORY, "MEMORY.md", say("Long-term memory", "长期记忆"), longterm),
        (TODAY, "today", say("Today's log", "今天的日志"), today),
        (CONTEXT, "context", say("Context for a new session", "新会话的上下文"), context),
    )
    names = ("uri", "name", "title", "description")
    return [dict(zip(names, row, strict=True), mimeType=MARKDOWN) for row in rows if row[0] == CONTEXT or not group]


def read_resource(memory: Memory, uri: str) -> str:
    """The text of a resource. Reading it counts as given, not as recalled."""
    name, uris = uri.rstrip("/").lower(), [row["uri"] for row in resources(group=memory.scope.group is not None)]
    if name not in uris:
        listed = ", ".join(uris)
        raise NotFound(f"There is no such resource; available: {listed}.", f"没有这个资源；可用：{listed}。")
    if name == CONTEXT:
        return memory.context().text
    workspace = memory.workspace
    path = workspace.longterm if name == MEMORY else workspace.day(memory.clock.today())
    try:
        excerpt = memory.get(workspace.relative(path), 1, _ALL, via=None)
    except NotFound:
        return ""
    if not excerpt.more:
        return f"{excerpt.text}\n" if excerpt.text else ""
    line = excerpt.end_line + 1
    english = f"(The file continues at line {line}; read it with memory_get.)"
    return f"{excerpt.text}\n\n{say(english, f'（文件从第 {line} 行起还有内容；可用 memory_get 读取。）')}\n"


def prompts(*, group: bool = False) -> list[dict[str, Any]]:
    """Every prompt. All of them lead to writing, so a group has none."""
    flush = say("Save what later sessions will need.", "保存以后的会话用得上的内容。")
    distil = say("Find what of the last days belongs in long-term memory.", "找出最近几天中应进入长期记忆的内容。")
    review = say("Go through what needs the user's attention.", "逐一查看需要用户处理的事项。")
    rows = (
        ("flush", say("Flush before compaction", "压缩前保存"), flush),
        ("distil", say("Distil the last few days", "提炼最近几天的内容"), distil),
        ("weekly_review", say("Weekly review", "每周回顾"), review),
    )
    listed = () if group else rows
    return [{"name": name, "title": title, "description": about, "arguments": []} for name, title, about in listed]


def get_prompt(memory: Memory, name: str) -> str:
    names = [prompt["name"] for prompt in prompts(group=memory.scope.group is not None)]
    if name not in names:
        listed = ", ".join(names) or "-"
        english = f'There is no prompt "{name[:40]}"; available: {listed}.'
        raise NotFound(english, f"没有“{name[:40]}”这个提示词；可用：{listed}。")
    if name == "flush":
        plan = memory.flush()
        return f"{plan.prompts.system}\n\n{plan.prompts.user}" if plan.prompts else plan.reason
    distil, review = wordings("mcp/prompts", language())
    forms = "{lines} of {maxLines} lines, {bytes} of {maxBytes} bytes", "{lines}/{maxLines} 行，{bytes}/{maxBytes} 字节"
    fullness = say(*forms).format(**memory.longterm_facts())
    if name == "distil":
        today, paths = memory.clock.today(), {file.path for file in memory.files()}
        recent = (f"memory/{today - dt.timedelta(days=back)}.md" for back in range(_RECENT))
        logs = "\n".join(f"- {name}" for name in recent if name in paths)
        return distil.format(days=_RECENT, logs=logs or say("- none yet", "- 暂无"), size=fullness)
    waiting, state = [question.text for question in memory.questions()], memory.state.get()
    more = len(waiting) - _MOST_QUESTIONS
    rows = waiting[:_MOST_QUESTIONS] + ([say(f"and {more} more", f"另有 {more} 项")] if more > 0 else [])
    questions = "\n   - ".join([str(len(waiting)), *rows]) if rows else say("none", "没有")
    pending, blockers = len(state["pending"]), len(state["blockers"])
    open_ends = say(f"{pending} pending, {blockers} blocking", f"待办 {pending} 项，阻塞 {blockers} 项")
    return review.format(size=fullness, questions=questions, state=open_ends, days=_RECENT)
