"""Read JSON, also with comments and as JSON5, with the place of every value in its text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from nacre.i18n import say

_TOKEN = re.compile(
    r"""
      (?P<space>   [\s\ufeff]+ )
    | (?P<comment> //[^\n\r\u2028\u2029]* | /\*.*?\*/ )
    | (?P<text>    "[^"\\\n\r]*(?:\\(?:\r\n|.)[^"\\\n\r]*)*" | '[^'\\\n\r]*(?:\\(?:\r\n|.)[^'\\\n\r]*)*' )
    | (?P<mark>    [{}\[\]:,] )
    | (?P<word>    [^\s\ufeff{}\[\]:,"'/]+ )
    """,
    re.VERBOSE | re.DOTALL,
)
_NUMBER = re.compile(r"[+-]?(?:0[xX][0-9a-fA-F]+|Infinity|NaN|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)")
_IDENTIFIER = re.compile(r"(?:[^\W\d]|[$_]|\\u[0-9a-fA-F]{4})(?:\w|[$_\u200c\u200d]|\\u[0-9a-fA-F]{4})*")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|\r\n|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}
_ESCAPES |= dict.fromkeys(("\n", "\r", "\r\n", "\u2028", "\u2029"), "")
_LITERALS = {"true": True, "false": False, "null": None, "undefined": None}
_DEEPEST = 200  # no settings are nested like this, and Python's own stack is not endless


_Token = tuple[str, int, int]  # kind, begin and end


class NotJson(ValueError):
    """The text is no JSON; the sentence names line and column, which begin at one."""

    def __init__(self, text: str, at: int, what: str) -> None:
        self.line = text.count("\n", 0, at) + 1
        self.column = at - text.rfind("\n", 0, at)
        super().__init__(
            say(f"line {self.line}, column {self.column}: {what}", f"第 {self.line} 行第 {self.column} 列：{what}")
        )


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
        raise NotJson(text, len(text), say("it ends too early", "内容提前结束"))
    return root.value


@lru_cache(maxsize=2)  # a file is looked at several times, and may be megabytes of an agent's own history
def parse(text: str) -> Node | None:
    """The value that the text holds with its places; None when it holds nothing but space and comments."""
    tokens = [token for token in _tokens(text, 0, len(text)) if token[0] != "comment"]
    if not tokens:
        return None
    node, at = _value(text, [*tokens, ("end", len(text), len(text))], 0, 0)
    if at < len(tokens):
        raise _unexpected(text, tokens[at])
    return node


def comments_between(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Begin and end of each comment between two places that hold nothing else but space."""
    return [(begin, stop) for kind, begin, stop in _tokens(text, start, end) if kind == "comment"]


def _tokens(text: str, start: int, end: int) -> Iterator[_Token]:
    at = start
    for match in _TOKEN.finditer(text, start, end):
        if match.start() != at:  # something was passed over that is no token
            break
        at = match.end()
        if match.lastgroup != "space":
            yield match.lastgroup or "", match.start(), at
    if at < end:
        what = say(f"unexpected {text[at]!r}", f"意外的 {text[at]!r}")
        if text[at] in "\"'":
            what = say("a text that does not end", "字符串没有结束")
        elif text.startswith("/*", at):
            what = say("a comment that does not end", "注释没有结束")
        raise NotJson(text, at, what)


def _unexpected(text: str, token: _Token) -> NotJson:
    kind, start, end = token
    if kind == "end":
        return NotJson(text, start, say("it ends too early", "内容提前结束"))
    shown = text[start:end] if end - start <= 20 else text[start : start + 20] + "…"
    return NotJson(text, start, say(f"unexpected {shown}", f"意外的 {shown}"))


def _value(text: str, tokens: list[_Token], at: int, depth: int) -> tuple[Node, int]:
    """The value that begins at a token, and the token after it."""
    kind, start, end = tokens[at]
    piece = text[start:end]
    if depth > _DEEPEST:
        raise NotJson(text, start, say("nested too deeply", "嵌套过深"))
    if kind == "mark" and piece in "{[":
        return _holder(text, tokens, at, depth)
    if kind == "text":
        return Node("plain", start, end, _unescaped(piece[1:-1])), at + 1
    if kind == "word" and piece in _LITERALS:
        return Node("plain", start, end, _LITERALS[piece]), at + 1
    if kind == "word" and _NUMBER.fullmatch(piece):
        return Node("plain", start, end, _number(piece)), at + 1
    raise _unexpected(text, tokens[at])


def _holder(text: str, tokens: list[_Token], at: int, depth: int) -> tuple[Node, int]:
    begin = tokens[at][1]
    is_object = text[begin] == "{"
    parts: list[Part] = []
    at += 1
    while text[slice(*tokens[at][1:])] != ("}" if is_object else "]"):
        if parts and parts[-1].comma is None:
            raise _unexpected(text, tokens[at])
        kind, start, end = tokens[at]
        key = ""
        if is_object:
            piece = text[start:end]
            if kind in ("mark", "end") or (kind == "word" and not _IDENTIFIER.fullmatch(piece)):
                raise _unexpected(text, tokens[at])
            if text[slice(*tokens[at + 1][1:])] != ":":
                raise _unexpected(text, tokens[at + 1])
            key = _unescaped(piece[1:-1] if kind == "text" else piece)
            at += 2
        node, at = _value(text, tokens, at, depth + 1)
        comma = tokens[at][1] if text[slice(*tokens[at][1:])] == "," else None
        at += comma is not None
        parts.append(Part(key, start, node.end, comma, node))
    return Node("object" if is_object else "array", begin, tokens[at][2], parts=tuple(parts)), at + 1


def _unescaped(text: str) -> str:
    def plain(match: re.Match[str]) -> str:
        escape = match[1]
        if len(escape) > 1 and escape[0] in "ux":
            return chr(int(escape[1:], 16))
        return _ESCAPES.get(escape, escape)

    if "\\" not in text:
        return text
    return _ESCAPE.sub(plain, text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _number(token: str) -> int | float:
    sign, bare = (-1, token[1:]) if token[0] == "-" else (1, token.removeprefix("+"))
    if bare[:2] in ("0x", "0X"):
        return sign * int(bare, 16)
    if bare.isdigit() and len(bare) < 4000:
        return sign * int(bare)
    return sign * float(bare.replace("Infinity", "inf"))
