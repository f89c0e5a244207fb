"""What a client reads without calling a tool: resources, prompts, and the instructions of the server."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

from nacre.errors import NotFound
from nacre.i18n import language, say
from nacre.vault.rules import TOOLS, rules_section

if TYPE_CHECKING:
    from nacre.memory import Memory

MEMORY, TODAY, CONTEXT = "nacre://memory", "nacre://today", "nacre://context"
MARKDOWN = "text/markdown"
_ALL = 10_000  # lines; the characters of one answer are bounded by reading itself
_RECENT = 7  # days
_MOST_QUESTIONS = 20


def instructions(tongue: str | None = None, *, group: bool = False) -> str:
    """What a client tells its model about this server. A group reads, and is told nothing of writing."""
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
    distil = say(
        "Find what from the last few days belongs in long-term memory.", "找出最近几天中应进入长期记忆的内容。"
    )
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
    size, limits = memory.longterm_size(), memory.config.memory
    english = f"{size.lines} of {limits.max_lines} lines, {size.bytes} of {limits.max_bytes} bytes"
    fullness = say(english, f"{size.lines}/{limits.max_lines} 行，{size.bytes}/{limits.max_bytes} 字节")
    if name == "distil":
        today = memory.clock.today()
        recent = (f"memory/{today - dt.timedelta(days=back)}.md" for back in range(_RECENT))
        there = {file.path for file in memory.files()}
        logs = "\n".join(f"- {name}" for name in recent if name in there)
        return _DISTIL[language()].format(days=_RECENT, logs=logs or say("- none yet", "- 暂无"), size=fullness)
    waiting, state = [question.text for question in memory.questions()], memory.state.get()
    more = len(waiting) - _MOST_QUESTIONS
    rows = waiting[:_MOST_QUESTIONS] + ([say(f"and {more} more", f"另有 {more} 项")] if more > 0 else [])
    questions = "\n   - ".join([str(len(waiting)), *rows]) if rows else say("none", "没有")
    pending, blockers = len(state["pending"]), len(state["blockers"])
    open_ends = say(f"{pending} pending, {blockers} blocking", f"待办 {pending} 项，阻塞 {blockers} 项")
    return _REVIEW[language()].format(size=fullness, questions=questions, state=open_ends, days=_RECENT)


_DISTIL = {
    "en": (
        "Go through the logs of the last {days} days and find what belongs in long-term memory (now {size}). Read them with memory_get, a few lines at a time:\n\n"
        "{logs}\n\n"
        "A candidate must pass all four tests:\n"
        "1. It prevents a mistake: without it, a specific thing would go wrong. Name that thing; if you cannot, drop the candidate.\n"
        "2. It is broad: it applies to many future sessions, not to one task.\n"
        "3. It is self-contained: the line can be understood without any context.\n"
        "4. It is new: memory_search finds nothing that says the same. If it changes what is known, say what it replaces.\n\n"
        "Show the user the candidates, each with the mistake it prevents, and those you dropped, each with the test it failed. Save the ones the user agrees to with memory_write, "
        "with their type. Do not edit MEMORY.md yourself: the nightly tidying applies the same tests to every line and keeps the file within its limits."
    ),
    "zh": (
        "通读最近 {days} 天的日志，找出应进入长期记忆的内容（目前 {size}）。用 memory_get 分段读取：\n\n"
        "{logs}\n\n"
        "每条候选都必须通过四项检验：\n"
        "1. 防错：没有它，就会出某个具体的错误。请说出是什么错误；说不出就放弃。\n"
        "2. 通用：适用于今后的许多会话，而不只是某一个任务。\n"
        "3. 独立：只看这一行就能明白。\n"
        "4. 新增：memory_search 找不到同样的内容。如果它改变了已有的内容，说明取代了哪一条。\n\n"
        "把候选连同各自能避免的错误列给用户，也列出放弃的及其未通过的检验。用户同意的用 memory_write 写入，并注明类型。"
        "不要自己修改 MEMORY.md：夜间整理会对每一行做同样的检验，并保证文件不超过上限。"
    ),
}
_REVIEW = {
    "en": (
        "Take the user through this week's memory review, one point at a time, and wait for an answer to each:\n\n"
        "1. Questions that tidying left open: {questions}\n   `nacre review` lists them and takes the answers.\n"
        "2. MEMORY.md: {size}. Read nacre://memory and ask what is no longer true; remove it with memory_forget.\n"
        "3. Working memory: {state}. Read it with memory_state get, and complete what is done.\n"
        "4. The last {days} days: list the decisions and lessons with their sources, and ask whether anything is missing or wrong.\n"
        "5. promote_report.md, if it exists: it lists what was recalled often. `nacre promote --apply` applies its proposals.\n\n"
        "Change nothing without the user's consent. At the end, summarise in three lines what changed."
    ),
    "zh": (
        "带用户完成本周的记忆回顾，一次一项，每项等到答复再继续：\n\n"
        "1. 整理时留下的问题：{questions}\n   `nacre review` 会列出并接受答复。\n"
        "2. MEMORY.md：{size}。读取 nacre://memory，询问用户哪些已不成立；用 memory_forget 移除。\n"
        "3. 工作记忆：{state}。用 memory_state get 查看，把已完成的事项标为完成。\n"
        "4. 最近 {days} 天：列出其中的决定和教训及出处，询问有没有遗漏或错误。\n"
        "5. promote_report.md（如果有）：其中是经常召回的内容。`nacre promote --apply` 可应用其中的建议。\n\n"
        "未经用户同意不作任何改动。最后用三行说明改了什么。"
    ),
}
