"""The rules that an agent finds in AGENTS.md: how to search memory and what to write into it."""

from __future__ import annotations

import re

from nacre.errors import BadInput
from nacre.vault.markdown import Document
from nacre.vault.rulewords import BOTH, COMMANDS, TITLE, section
from nacre.words import say

BEGIN, END = "<!-- nacre:begin -->", "<!-- nacre:end -->"


def block(language: str = "en") -> str:
    """The rules between their markers, ending in a newline."""
    if language not in ("en", "zh"):
        raise BadInput(
            say(f'The rules exist in "en" and "zh", not in "{language}".', f"规则只有“en”和“zh”，没有“{language}”。")
        )
    return f"{BEGIN}\n{section(language, COMMANDS[language], note=BOTH[language])}{END}\n"


def has_block(text: str) -> bool:
    return _span(text) is not None


def with_block(doc: Document, language: str = "en") -> bytes:
    """The file with our block up to date: replaced where it stands, else added at the end; no other byte changes."""
    text = doc.text
    found = _span(text)
    if found and TITLE["zh"] in text[slice(*found)].splitlines():
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
    titles = "|".join(map(re.escape, TITLE.values()))
    found = re.search(rf"^{BEGIN}\r?\n(?:{titles})\r?\n(?:(?!{BEGIN})[^\n]*\n)*?{END}(?=\r?\n|\Z)", text, re.MULTILINE)
    return found.span() if found else None
