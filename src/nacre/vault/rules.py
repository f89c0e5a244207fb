"""The rules about memory that an agent is given, in English and Chinese: one text behind AGENTS.md, MCP, plugins and skills, and its block in AGENTS.md."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from nacre.errors import BadInput

if TYPE_CHECKING:
    from nacre.vault.entries import Document

TITLE = {"en": "## Memory", "zh": "## 记忆"}

# How each thing to do is called where an agent has the tools, and where it has only the command line.
TOOLS: Mapping[str, str] = {
    "search": "`memory_search`",
    "get": "`memory_get`",
    "write": "`memory_write`",
    "state": "`memory_state`",
    "layers": "`memory_search(query, layer=…)`",
}
COMMANDS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "search": '`nacre search "what you need"`',
        "get": "`nacre get FILE:LINE -l 20`",
        "write": '`nacre remember "…" --type PREF`',
        "state": "`nacre wal task|decide|context|pending|done|blocker|get`",
        "layers": '`nacre recall "what you need"`',
    },
    "zh": {
        "search": '`nacre search "要找的内容"`',
        "get": "`nacre get 文件:行号 -l 20`",
        "write": '`nacre remember "……" --type PREF`',
        "state": "`nacre wal task|decide|context|pending|done|blocker|get`",
        "layers": '`nacre recall "要找的内容"`',
    },
}

OPENING = {
    "en": "Your memory is kept by Nacre: `MEMORY.md` holds what you must never get wrong, `memory/YYYY-MM-DD.md` is the log of each day.",
    "zh": "你的记忆由 Nacre 保管：`MEMORY.md` 存放绝不能弄错的事，`memory/YYYY-MM-DD.md` 是每天的日志。",
}
BOTH = {
    "en": "If you have the tools `memory_search`, `memory_get`, `memory_write` and `memory_state`, use them instead of the commands.",
    "zh": "如果有 `memory_search`、`memory_get`、`memory_write` 和 `memory_state` 这些工具，请用工具代替命令。",
}
HEADS = {
    "en": ("Reading:", "Writing:", "Working memory:"),
    "zh": ("读取：", "写入：", "工作记忆："),
}

READING = {
    "en": (
        "Search before you answer anything about prior work, decisions, dates, people, preferences or todos: {search}. Use the user's own words.",
        (
            "Four signs that you should search: the user returns to something you discussed, asks what was concluded or agreed, says that something "
            "was said or written before, or you notice that you lack something you need."
        ),
        "Never read whole memory files. Search results name the file and lines; read only the lines you need: {get}.",
        (
            "Whole conversations fade in layers: hot and warm keep every word, gist only a summary, forgotten is about to be deleted. {layers} searches them; "
            "the older the layer, the less you should rely on its exact wording."
        ),
        (
            "Cite the source (`path#L3-L9`) when you rely on a memory. If nothing is found, say that you searched and found nothing. Do not guess what was "
            "agreed earlier."
        ),
    ),
    "zh": (
        "回答有关以往的工作、决定、日期、人物、偏好或待办之前，先搜索：{search}，并使用用户自己的说法。",
        "需要搜索的四种信号：用户又提起谈过的话题；问起当时的结论或约定；明说以前说过、写过；或者你发现自己缺少所需的信息。",
        "不要通读记忆文件。搜索会给出文件和行号，只取需要的几行：{get}。",
        "完整的会话按层逐渐淡化：hot 和 warm 保留原文，gist 只有摘要，forgotten 即将被删除。{layers} 可在其中查找；层越旧，越不能依赖具体的字句。",
        "引用记忆时注明出处（`path#L3-L9`）。没有找到就如实说明查过但没有，不要猜测以前的约定。",
    ),
}
WRITING = {
    "en": (
        (
            "Write things down as they happen: decisions, preferences, corrections, lessons and finished work, with {write}. Do not wait for the end of the session; "
            "automatic capture is only a safety net."
        ),
        "One fact per line, with names, dates and reasons, so that it can be understood without this conversation.",
        "`MEMORY.md` is only for what prevents a specific mistake later. Everything else belongs in the daily log.",
        "Daily logs are append-only. Never edit or remove existing lines.",
        "Never write passwords, keys, tokens or other secrets, and never bring what was said in private into a group.",
    ),
    "zh": (
        "决定、偏好、纠正、教训和完成的工作要当场写下：{write}。不要等到会话结束；自动采集只是一道保险。",
        "一件事写一行，写明名称、日期和原因，脱离本次会话也能看懂。",
        "只有能避免具体错误的内容才进 `MEMORY.md`，其余写入当天的日志。",
        "每日日志只追加，不修改、不删除已有内容。",
        "绝不写入密码、密钥、令牌等敏感信息，也绝不把私下的谈话带进群组。",
    ),
}
WORKING = {
    "en": (
        (
            "Before you reply, save what you are working on to disk with {state}: the task, decisions, deadlines and other context, pending items and blockers. It survives "
            "compaction and restarts; read it when a session begins."
        ),
    ),
    "zh": (
        "回复之前，先用 {state} 把正在进行的事存到磁盘：任务、决定、期限等上下文、待办和阻塞项。它不受压缩和重启影响；会话开始时先读它。",
    ),
}


def rules_section(language: str, names: Mapping[str, str], *, note: str = "", writes: bool = True) -> str:
    """The rules as Markdown, from their heading on, ending in a newline. Who may not write is not told how."""
    lines = [TITLE[language], "", f"{OPENING[language]} {note}".rstrip()]
    parts: tuple[Mapping[str, tuple[str, ...]], ...] = (READING, WRITING, WORKING)
    for head, rules in zip(HEADS[language], parts, strict=True):
        if writes or rules is READING:
            lines += ["", head, *(f"- {rule.format_map(names)}" for rule in rules[language])]
    return "\n".join(lines) + "\n"


BEGIN, END = "<!-- nacre:begin -->", "<!-- nacre:end -->"


def rules_block(language: str = "en") -> str:
    """The rules between their markers, ending in a newline."""
    if language not in TITLE:
        raise BadInput(
            f'The rules are available in "en" and "zh", not in "{language}".', f"规则只有“en”和“zh”，没有“{language}”。"
        )
    return f"{BEGIN}\n{rules_section(language, COMMANDS[language], note=BOTH[language])}{END}\n"


def has_block(text: str) -> bool:
    return _block(text) is not None


def with_block(doc: Document, language: str = "en") -> bytes:
    """The file with our block up to date: replaced where it stands, else added at the end; no other byte changes."""
    text, block = doc.text, _block(doc.text)
    if block:  # it keeps its language, whatever locale the command runs in
        language = "zh" if TITLE["zh"] in block[0].splitlines() else "en"
    new = rules_block(language).replace("\n", doc.newline)
    if block:
        return (text[: block.start()] + new.removesuffix(doc.newline) + text[block.end() :]).encode()
    gap = "" if not text or text.endswith(("\n\n", "\n\r\n")) else doc.newline
    return (text + (gap if text.endswith("\n") else gap * 2) + new).encode()


def without_block(doc: Document) -> bytes:
    """The file without our block and the blank line before it."""
    block = _block(doc.text)
    if not block:
        return doc.data
    head, rest = doc.text[: block.start()], doc.text[block.end() :].removeprefix(doc.newline)
    return ((head.removesuffix(doc.newline) if head.endswith(doc.newline * 2) else head) + rest).encode()


def _block(text: str) -> re.Match[str] | None:
    """The block between two markers on lines of their own, around words that begin as ours do."""
    titles = "|".join(map(re.escape, TITLE.values()))
    return re.search(rf"^{BEGIN}\r?\n(?:{titles})\r?\n(?:(?!{BEGIN})[^\n]*\n)*?{END}(?=\r?\n|\Z)", text, re.MULTILINE)
