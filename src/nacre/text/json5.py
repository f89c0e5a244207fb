"""Read JSON, also with comments and as JSON5, with the place of every value in its text."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from nacre.i18n import say

_SPACE = re.compile(r"(?:[\s\ufeff]+|//[^\n\r\u2028\u2029]*|/\*.*?\*/)*", re.DOTALL)
_TEXT = r""""[^"\\\n\r]*(?:\\(?:\r\n|.)[^"\\\n\r]*)*"|'[^'\\\n\r]*(?:\\(?:\r\n|.)[^'\\\n\r]*)*'"""
_KEY = re.compile(
    rf"(?P<text>{_TEXT})|(?:[^\W\d]|[$_]|\\u[0-9a-fA-F]{{4}})(?:\w|[$\u200c\u200d]|\\u[0-9a-fA-F]{{4}})*", re.DOTALL
)
_PLAIN = re.compile(
    rf"(?P<text>{_TEXT})|(?P<word>true|false|null|undefined)(?!\w)|(?P<hex>[+-]?0[xX][0-9a-fA-F]+)(?!\w)"
    r"|(?P<number>[+-]?(?:Infinity|NaN|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?))(?![\w.])",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|\r\n|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}
_ESCAPES |= dict.fromkeys(("\n", "\r", "\r\n", "\u2028", "\u2029"), "")
_WORDS: dict[str, Any] = {"true": True, "false": False}
_DEEPEST = 200  # no settings are nested like this, and Python's own stack is not endless


class NotJson(ValueError):
    """The text is no JSON; the sentence names line and column, which begin at one."""

    def __init__(self, text: str, at: int, what: str = "") -> None:
        self.line = text.count("\n", 0, at) + 1
        self.column = at - text.rfind("\n", 0, at)
        if at >= len(text):
            what = say("unexpected end", "内容意外结束")
        elif text.startswith("/*", at):
            what = say("unclosed comment", "注释没有闭合")
        elif not what:
            token = text[at : at + 20].split(maxsplit=1)[0]
            what = say(f"unexpected {token}", f"意外的 {token}")
        place = say(f"line {self.line}, column {self.column}: ", f"第 {self.line} 行第 {self.column} 列：")
        super().__init__(place + what)


@dataclass(frozen=True, slots=True)
class Node:
    """A value and where it stands; `parts` of an object or an array."""

    kind: str  # "object", "array" or "plain"
    start: int
    end: int
    plain: Any = None
    parts: tuple[Part, ...] = ()

    @property
    def value(self) -> Any:
        """What a node stands for; of members with the same name the last counts."""
        if self.kind == "object":
            return {part.key: part.node.value for part in self.parts}
        return [part.node.value for part in self.parts] if self.kind == "array" else self.plain

    def member(self, key: str) -> Part | None:
        parts = self.parts if self.kind == "object" else ()
        return next((part for part in reversed(parts) if part.key == key), None)


@dataclass(frozen=True, slots=True)
class Part:
    """A member of an object, or an item of an array (whose key is empty), and the place of the comma behind it."""

    key: str
    start: int
    end: int
    comma: int | None
    node: Node


def loads(text: str) -> Any:
    """The value that the text holds; `ValueError` when it holds none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        root = parse(text)
    if root is None:
        raise NotJson(text, len(text))
    return root.value


@lru_cache(maxsize=2)  # a file is looked at several times, and may be megabytes of an agent's own history
def parse(text: str) -> Node | None:
    """The value that the text holds with its places; None when it holds nothing but space and comments."""
    start = _skip(text, 0)
    if start == len(text):
        return None
    node = _value(text, start, 0)
    end = _skip(text, node.end)
    if end < len(text):
        raise NotJson(text, end)
    return node


def _skip(text: str, at: int) -> int:
    """The place behind space and comments."""
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _value(text: str, start: int, depth: int) -> Node:
    if depth > _DEEPEST:
        raise NotJson(text, start, say("nested too deeply", "嵌套过深"))
    if text[start : start + 1] in ("{", "["):
        return _holder(text, start, depth)
    match = _PLAIN.match(text, start)
    if not match:
        raise NotJson(
            text,
            start,
            say("unclosed string", "字符串没有闭合") if text[start : start + 1] in ("'", '"') else "",
        )
    token, value = match[0], _WORDS.get(match[0])
    if match["text"]:
        value = _unescaped(token[1:-1])
    elif match["hex"]:
        value = int(token, 16)
    elif match["number"]:
        value = int(token) if token.lstrip("+-").isdigit() and len(token) < 4000 else float(token)
    return Node("plain", start, match.end(), value)


def _holder(text: str, start: int, depth: int) -> Node:
    is_object = text[start] == "{"
    closing, parts = "}" if is_object else "]", []
    at = _skip(text, start + 1)
    while text[at : at + 1] != closing:
        begin, key = at, ""
        if is_object:
            match = _KEY.match(text, at)
            if not match:
                raise NotJson(text, at)
            key = _unescaped(match[0][1:-1] if match["text"] else match[0])
            at = _skip(text, match.end())
            if text[at : at + 1] != ":":
                raise NotJson(text, at)
            at = _skip(text, at + 1)
        node = _value(text, at, depth + 1)
        at = _skip(text, node.end)
        comma = at if text[at : at + 1] == "," else None
        if comma is None and text[at : at + 1] != closing:
            raise NotJson(text, at)
        parts.append(Part(key, begin, node.end, comma, node))
        at = at if comma is None else _skip(text, at + 1)
    return Node("object" if is_object else "array", start, at + 1, parts=tuple(parts))


def _unescaped(text: str) -> str:
    def plain(match: re.Match[str]) -> str:
        escape = match[1]
        if len(escape) > 1 and escape[0] in "ux":
            return chr(int(escape[1:], 16))
        return _ESCAPES.get(escape, escape)

    if "\\" not in text:
        return text
    return _ESCAPE.sub(plain, text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
