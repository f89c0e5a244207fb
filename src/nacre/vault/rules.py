"""The rules about memory that an agent is given, in English and Chinese: one text behind AGENTS.md, MCP, plugins and skills, and its block in AGENTS.md."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from nacre.text.tables import wordings

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
    language: {
        "search": f'`nacre search "{sought}"`',
        "get": f"`nacre get {place} -l 20`",
        "write": f'`nacre remember "{words}" --type PREF`',
        "state": "`nacre wal task|decide|context|pending|done|blocker|get`",
        "layers": f'`nacre recall "{sought}"`',
    }
    for language, sought, place, words in (
        ("en", "what you need", "FILE:LINE", "…"),
        ("zh", "要找的内容", "文件:行号", "……"),
    )
}


def rules_section(language: str, names: Mapping[str, str], *, writes: bool = True) -> str:
    """The rules as Markdown, from their heading on, ending in a newline: those of rules.en.md and rules.zh.md. Who may not write is not
    told how."""
    opening, both, reading, writing = wordings("vault/rules", language)
    opening = opening if names is TOOLS else f"{opening}{' ' if language == 'en' else ''}{both}"
    parts = [TITLE[language], opening, reading, *([writing] if writes else [])]
    return "\n\n".join(parts).format_map(names) + "\n"


BEGIN, END = "<!-- nacre:begin -->", "<!-- nacre:end -->"


def rules_block(language: str = "en") -> str:
    """The rules between their markers, ending in a newline."""
    return f"{BEGIN}\n{rules_section(language, COMMANDS[language])}{END}\n"


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
