"""The rules that an agent finds in AGENTS.md: how to search memory and what to write into it."""

from __future__ import annotations

import re

from nacre.errors import BadInput
from nacre.vault.markdown import Document
from nacre.words import say

BEGIN, END = "<!-- nacre:begin -->", "<!-- nacre:end -->"

_ENGLISH = """\
## Memory

Your memory is kept by Nacre: `MEMORY.md` for what must never be got wrong, `memory/YYYY-MM-DD.md` for each day.

Reading:
- Before you answer from memory, search: `nacre search "what you need"`. Search in the user's own words.
- Never read whole memory files. Take only the lines you need: `nacre get FILE:LINE -l 20`.
- When nothing is found, say so. Do not guess what was agreed earlier.

Writing:
- Write decisions, preferences and finished work at once: `nacre remember "…" --type PREF`. Do not wait for the end of the session.
- One fact, one line, with names, dates and reasons, so that it can be understood without this conversation.
- `MEMORY.md` is only for what prevents a concrete mistake later. Everything else belongs in the day's log.
- Daily logs are only added to. Never edit or remove what stands there.
- Never write passwords, keys, tokens or other secrets, nor what was said in private into a group.
"""

_CHINESE = """\
## 记忆

你的记忆由 Nacre 保管：`MEMORY.md` 存放绝不能弄错的事，`memory/YYYY-MM-DD.md` 是每天的日志。

读取：
- 凭记忆回答之前先搜索：`nacre search "要找的内容"`，并使用用户自己的说法。
- 不要通读记忆文件。只取需要的几行：`nacre get 文件:行号 -l 20`。
- 没有找到就直说，不要猜测以前的约定。

写入：
- 决定、偏好和完成的工作要立刻写下：`nacre remember "……" --type PREF`。不要等到会话结束。
- 一件事写一行，带上名称、日期和原因，脱离本次对话也能看懂。
- 只有能避免具体错误的内容才进 `MEMORY.md`，其余写入当天的日志。
- 每日日志只追加，不修改、不删除已有内容。
- 绝不写入密码、密钥、令牌等机密，也不要把私下谈话写进群组。
"""


def block(language: str = "en") -> str:
    """The rules between their markers, ending in a newline."""
    if language not in ("en", "zh"):
        raise BadInput(
            say(f'The rules exist in "en" and "zh", not in "{language}".', f"规则只有“en”和“zh”，没有“{language}”。")
        )
    return f"{BEGIN}\n{_CHINESE if language == 'zh' else _ENGLISH}{END}\n"


def with_block(doc: Document, language: str = "en") -> bytes:
    """The file with our block up to date: replaced where it stands, else added at the end; no other byte changes."""
    text = doc.text
    found = _span(text)
    if found and _CHINESE.splitlines()[0] in text[slice(*found)].splitlines():
        language = "zh"  # the block that is there keeps its language, whatever locale the command runs in
    elif found:
        language = "en"
    wanted = block(language).replace("\n", doc.newline)
    if found:
        start, end = found
        return (text[:start] + wanted.removesuffix(doc.newline) + text[end:]).encode()
    if not text:
        return wanted.encode()
    gap = doc.newline if text.endswith("\n") else doc.newline * 2
    if text.endswith(("\n\n", "\n\r\n")):
        gap = ""
    return (text + gap + wanted).encode()


def without_block(doc: Document) -> bytes:
    """The file without our block and the blank line before it."""
    found = _span(doc.text)
    if not found:
        return doc.data
    start, end = found
    head, rest = doc.text[:start], doc.text[end:]
    rest = rest.removeprefix(doc.newline)
    if head.endswith(doc.newline * 2):
        head = head.removesuffix(doc.newline)
    return (head + rest).encode()


def _span(text: str) -> tuple[int, int] | None:
    """Where the block stands: two markers on lines of their own around words that begin as ours do.

    A marker that the user quotes, or one without its other half, is the user's text.
    """
    titles = "|".join(re.escape(rules.splitlines()[0]) for rules in (_ENGLISH, _CHINESE))
    found = re.search(rf"^{BEGIN}\r?\n(?:{titles})\r?\n(?:(?!{BEGIN})[^\n]*\n)*?{END}(?=\r?\n|\Z)", text, re.MULTILINE)
    return found.span() if found else None
