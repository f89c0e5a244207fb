"""Reads JSON, JSON with comments and JSON5, and remembers where each part stands, so that one part can be changed and no other byte."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from nacre.words import say

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
_NAME = re.compile(r"(?:[^\W\d]|[$_]|\\u[0-9a-fA-F]{4})(?:\w|[$_\u200c\u200d]|\\u[0-9a-fA-F]{4})*")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|\r\n|.)", re.DOTALL)
_PLAIN = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}
_PLAIN |= dict.fromkeys(("\n", "\r", "\r\n", "\u2028", "\u2029"), "")
_WORDS = {"true": True, "false": False, "null": None}
_DEEPEST = 200  # no settings are nested like this, and Python's own stack is not endless


class NotUnderstood(ValueError):
    """The text is no JSON, nor its cousins; the sentence names line and column, which begin at one."""

    def __init__(self, text: str, at: int, what: str) -> None:
        self.line = text.count("\n", 0, at) + 1
        self.column = at - (text.rfind("\n", 0, at) + 1) + 1
        super().__init__(
            say(f"line {self.line}, column {self.column}: {what}", f"第 {self.line} 行第 {self.column} 列：{what}")
        )


class Token(NamedTuple):
    kind: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Node:
    """A value and where it stands; `parts` of an object or an array."""

    kind: str  # "object", "array" or "plain"
    start: int
    end: int
    plain: Any = None
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """A member of an object, or an item of an array (whose key is empty), and the comma behind it."""

    key: str
    start: int
    end: int
    comma: int | None
    value: Node


@lru_cache(maxsize=2)  # a file is looked at several times, and may be megabytes of an agent's own history
def read(text: str) -> Node | None:
    """The value that the text holds; None when it holds nothing but space and comments."""
    reader = _Reader(text)
    if reader.at == len(reader.tokens):
        return None
    node = reader.value(0)
    if reader.at < len(reader.tokens):
        raise reader.unexpected()
    return node


def value_of(node: Node) -> Any:
    """What a node stands for; of members with the same name the last counts, as it does for the programs that read this."""
    if node.kind == "object":
        return {part.key: value_of(part.value) for part in node.parts}
    if node.kind == "array":
        return [value_of(part.value) for part in node.parts]
    return node.plain


def member(node: Node, key: str) -> Part | None:
    """The member that counts: the last of that name."""
    return next((part for part in reversed(node.parts) if part.key == key), None) if node.kind == "object" else None


def at(node: Node | None, path: tuple[str, ...]) -> Node | None:
    """The value at a path of member names."""
    for key in path:
        found = member(node, key) if node else None
        node = found.value if found else None
    return node


def comments(text: str, start: int, end: int) -> list[Token]:
    """The comments between two places that hold nothing else but space."""
    return [token for token in _tokens(text, start, end) if token.kind == "comment"]


def _tokens(text: str, start: int, end: int) -> Iterator[Token]:
    place = start
    for match in _TOKEN.finditer(text, start, end):
        if match.start() != place:  # something was passed over that is no token
            break
        place = match.end()
        kind = match.lastgroup or ""
        if kind != "space":
            yield Token(kind, match.start(), place)
    if place < end:
        raise NotUnderstood(text, place, _what_of(text, place))


def _what_of(text: str, place: int) -> str:
    if text[place] in "\"'":
        return say("a text that does not end", "字符串没有结束")
    if text.startswith("/*", place):
        return say("a comment that does not end", "注释没有结束")
    return say(f"unexpected {text[place]!r}", f"意外的 {text[place]!r}")


class _Reader:
    """Goes through the tokens that count."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = [one for one in _tokens(text, 0, len(text)) if one.kind != "comment"]
        self.at = 0

    def unexpected(self) -> NotUnderstood:
        if self.at >= len(self.tokens):
            return NotUnderstood(self.text, len(self.text), say("it ends too early", "内容提前结束"))
        token = self.tokens[self.at]
        piece = self.text[token.start : token.end]
        shown = piece if len(piece) <= 20 else piece[:20] + "…"
        return NotUnderstood(self.text, token.start, say(f"unexpected {shown}", f"意外的 {shown}"))

    def value(self, depth: int) -> Node:
        if self.at >= len(self.tokens):
            raise self.unexpected()
        kind, start, end = self.tokens[self.at]
        piece = self.text[start:end]
        if depth > _DEEPEST:
            raise NotUnderstood(self.text, start, say("nested too deeply", "嵌套过深"))
        if kind == "mark" and piece in "{[":
            return self._holder(depth, "object" if piece == "{" else "array")
        if kind == "text":
            plain: Any = _unquoted(piece)
        elif kind == "word" and (piece in _WORDS or _NUMBER.fullmatch(piece)):
            plain = _WORDS[piece] if piece in _WORDS else _number(piece)
        else:
            raise self.unexpected()
        self.at += 1
        return Node("plain", start, end, plain)

    def _holder(self, depth: int, kind: str) -> Node:
        start = self.tokens[self.at].start
        closing = "}" if kind == "object" else "]"
        self.at += 1
        parts: list[Part] = []
        while not self._is(closing):
            if parts and parts[-1].comma is None:
                raise self.unexpected()
            begin = self.tokens[self.at].start if self.at < len(self.tokens) else len(self.text)
            key = self._key() if kind == "object" else ""
            value = self.value(depth + 1)
            comma = None
            if self._is(","):
                comma = self.tokens[self.at].start
                self.at += 1
            parts.append(Part(key, begin, value.end, comma, value))
        end = self.tokens[self.at].end
        self.at += 1
        return Node(kind, start, end, parts=tuple(parts))

    def _key(self) -> str:
        if self.at >= len(self.tokens):
            raise self.unexpected()
        kind, start, end = self.tokens[self.at]
        piece = self.text[start:end]
        if kind == "mark" or (kind == "word" and not _NAME.fullmatch(piece)):
            raise self.unexpected()
        self.at += 1
        if not self._is(":"):
            raise self.unexpected()
        self.at += 1
        return _unquoted(piece) if kind == "text" else _unescaped(piece)

    def _is(self, mark: str) -> bool:
        return self.at < len(self.tokens) and self.text[self.tokens[self.at].start] == mark


def _unquoted(token: str) -> str:
    return _unescaped(token[1:-1])


def _unescaped(text: str) -> str:
    def plain(match: re.Match[str]) -> str:
        escape = match[1]
        if len(escape) > 1 and escape[0] in "ux":
            return chr(int(escape[1:], 16))
        return _PLAIN.get(escape, escape)

    if "\\" not in text:
        return text
    return _ESCAPE.sub(plain, text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _number(token: str) -> Any:
    sign, bare = (-1, token[1:]) if token[0] == "-" else (1, token.removeprefix("+"))
    if bare[:2] in ("0x", "0X"):
        return sign * int(bare, 16)
    if bare.isdigit():
        return sign * int(bare) if len(bare) < 4000 else sign * float(bare)
    return sign * float(bare.replace("Infinity", "inf"))
