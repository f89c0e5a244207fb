"""What a client may read without asking a question: long-term memory, today's log, and what a new session is given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from nacre.errors import NotFound
from nacre.words import say

if TYPE_CHECKING:
    from nacre.memory import Memory

MEMORY, TODAY, CONTEXT = "nacre://memory", "nacre://today", "nacre://context"
MARKDOWN = "text/markdown"
_ALL = 10_000  # lines; the characters of one answer are bounded by reading itself


@dataclass(frozen=True)
class Resource:
    """A resource as it is listed."""

    uri: str
    name: str
    title: str
    description: str


def resources(*, group: bool = False) -> tuple[Resource, ...]:
    """Every resource; a group has only its own context."""
    every = (
        Resource(
            MEMORY,
            "MEMORY.md",
            say("Long-term memory", "长期记忆"),
            say("What must never be got wrong, at most 80 lines.", "绝不能弄错的事，最多 80 行。"),
        ),
        Resource(
            TODAY,
            "today",
            say("Today's log", "今天的日志"),
            say("What was written down and captured today.", "今天写下和采集到的内容。"),
        ),
        Resource(
            CONTEXT,
            "context",
            say("Context of a new session", "新会话的上下文"),
            say(
                "Working state, long-term memory, today and yesterday, within a budget of tokens.",
                "工作状态、长期记忆、今天和昨天的日志，按 token 预算裁剪。",
            ),
        ),
    )
    return tuple(one for one in every if not group or one.uri == CONTEXT)


def read(memory: Memory, uri: str) -> str:
    """The text of a resource. Reading it counts as given, not as recalled."""
    wanted = uri.rstrip("/").lower()
    if wanted == CONTEXT:
        return memory.context().text
    if memory.scope.group is None and wanted == MEMORY:
        return _file(memory, memory.workspace.relative(memory.workspace.longterm))
    if memory.scope.group is None and wanted == TODAY:
        return _file(memory, memory.workspace.relative(memory.workspace.day(memory.clock.today())))
    known = ", ".join(one.uri for one in resources(group=memory.scope.group is not None))
    raise NotFound(say(f"There is no such resource; there are {known}.", f"没有这个资源；可用：{known}。"))


def _file(memory: Memory, path: str) -> str:
    """A file as an agent may read it; nothing where it is not there yet."""
    from nacre.recall.read import read as lines_of

    try:
        excerpt = lines_of(memory.workspace, memory.config, memory.scope, path, 1, _ALL, None)
    except NotFound:
        return ""
    if not excerpt.more:
        return f"{excerpt.text}\n" if excerpt.text else ""
    going_on = say(
        f"(The file goes on at line {excerpt.end_line + 1}; memory_get reads it.)",
        f"（文件从第 {excerpt.end_line + 1} 行起还有内容；可用 memory_get 读取。）",
    )
    return f"{excerpt.text}\n\n{going_on}\n"
