"""Change one part of a JSON text (also with comments, and JSON5) and no other byte."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

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
_PLAIN = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}
_PLAIN |= dict.fromkeys(("\n", "\r", "\r\n", "\u2028", "\u2029"), "")
_LITERALS = {"true": True, "false": False, "null": None}
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
def parse_json(text: str) -> Node | None:
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


def node_at(node: Node | None, path: tuple[str, ...]) -> Node | None:
    """The value at a path of member names."""
    for key in path:
        found = member(node, key) if node else None
        node = found.value if found else None
    return node


def comments_between(text: str, start: int, end: int) -> list[Token]:
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
        raise NotUnderstood(text, place, _unexpected_text(text, place))


def _unexpected_text(text: str, place: int) -> str:
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
        elif kind == "word" and (piece in _LITERALS or _NUMBER.fullmatch(piece)):
            plain = _LITERALS[piece] if piece in _LITERALS else _number_value(piece)
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
        if kind == "mark" or (kind == "word" and not _IDENTIFIER.fullmatch(piece)):
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


def _number_value(token: str) -> Any:
    sign, bare = (-1, token[1:]) if token[0] == "-" else (1, token.removeprefix("+"))
    if bare[:2] in ("0x", "0X"):
        return sign * int(bare, 16)
    if bare.isdigit():
        return sign * int(bare) if len(bare) < 4000 else sign * float(bare)
    return sign * float(bare.replace("Infinity", "inf"))


# Adds a member or an item to a JSON text, replaces one, or takes one out; every other byte stays as it was.

_DEFAULT_INDENT = "  "
_ON_ITS_LINE = re.compile(r"[ \t]*(?:/\*[^\n]*?\*/[ \t]*)*(?://[^\n\r]*)?")


@dataclass(frozen=True)
class Style:
    """How the user lays out the file."""

    newline: str
    unit: str
    one_line: bool  # the whole file is one line

    def rendered(self, value: Any, indent: str, *, flat: bool) -> str:
        """The value as the user would write it: a list of words on one line, everything else on lines of its own."""
        plain = not isinstance(value, (dict, list))
        if (
            flat
            or plain
            or not value
            or (isinstance(value, list) and not any(isinstance(one, (dict, list)) for one in value))
        ):
            return json.dumps(value, ensure_ascii=False)
        inner = indent + self.unit
        rows = value.items() if isinstance(value, dict) else (("", one) for one in value)
        parts = [
            inner
            + (json.dumps(name, ensure_ascii=False) + ": " if isinstance(value, dict) else "")
            + self.rendered(one, inner, flat=False)
            for name, one in rows
        ]
        opening, closing = "{}" if isinstance(value, dict) else "[]"
        return self.newline.join([opening, f",{self.newline}".join(parts), indent + closing])


def style_of(text: str, root: Node | None) -> Style:
    newline = "\r\n" if "\r\n" in text else "\n"
    return Style(
        newline,
        _indent_unit(text, root) if root else _DEFAULT_INDENT,
        bool(root and root.parts) and "\n" not in text.strip(),
    )


def insert_member(text: str, holder: Node, key: str, value: Any, style: Style) -> str:
    """The text with a new member at the end of an object."""
    return _insert(text, holder, value, style, json.dumps(key, ensure_ascii=False) + ": ")


def insert_item(text: str, holder: Node, value: Any, style: Style) -> str:
    """The text with a new item at the end of an array."""
    return _insert(text, holder, value, style, "")


def replace_value(text: str, node: Node, value: Any, style: Style) -> str:
    """The text with another value in the place of one."""
    flat = style.one_line or ("\n" not in text[node.start : node.end] and node.kind != "plain" and bool(node.parts))
    return text[: node.start] + style.rendered(value, _indent(text, node.start), flat=flat) + text[node.end :]


def fresh_json(text: str, value: Any) -> str:
    """A text that holds nothing yet but space and comments, with a value."""
    style = style_of(text, None)
    bare = text.removeprefix("\ufeff")
    gap = style.newline if bare.strip() and not bare.endswith("\n") else ""
    return text + gap + style.rendered(value, "", flat=False) + style.newline


def _insert(text: str, holder: Node, value: Any, style: Style, lead: str) -> str:
    if not holder.parts:
        return _insert_first(text, holder, value, style, lead)
    last = holder.parts[-1]
    behind = last.end if last.comma is None else last.comma + 1
    if not _begins_its_line(text, last.start):
        piece = lead + style.rendered(value, "", flat=True)
        new = f", {piece}" if last.comma is None else f" {piece},"
        return text[:behind] + new + text[behind:]
    indent = _indent(text, last.start)
    new = style.newline + indent + lead + style.rendered(value, indent, flat=False)
    if last.comma is not None:
        new += ","
    rest = _ON_ITS_LINE.match(text, behind)
    assert rest is not None
    # What is said about the last part on its own line stays with it.
    place = rest.end() if text[rest.end() : rest.end() + 1] in ("\n", "\r") else behind
    comma = "," if last.comma is None else ""
    return text[:behind] + comma + text[behind:place] + new + text[place:]


def _insert_first(text: str, holder: Node, value: Any, style: Style, lead: str) -> str:
    inside = holder.start + 1
    if style.one_line:
        return text[:inside] + lead + style.rendered(value, "", flat=True) + text[inside:]
    said = comments_between(text, inside, holder.end - 1)
    place = said[-1].end if said else inside
    base = _indent(text, holder.start)
    indent = base + style.unit
    new = style.newline + indent + lead + style.rendered(value, indent, flat=False)
    if "\n" not in text[place : holder.end - 1]:
        new += style.newline + base
    return text[:place] + new + text[place:]


def take_out_part(text: str, holder: Node, part: Part, inside: str | None = None) -> str:
    """The text without a member or item. `inside` is what stood between the brackets before the first part came."""
    index = holder.parts.index(part)
    end = part.end if part.comma is None else part.comma + 1
    if len(holder.parts) == 1:
        return _emptied(text, holder, part, end, inside)
    before = holder.parts[index - 1] if index else None
    begin = _cut_start(text, part, before.comma + 1 if before and before.comma is not None else holder.start + 1)
    if index == len(holder.parts) - 1:
        assert before is not None
        if part.comma is None and before.comma is not None:  # the comma that made room for it goes too
            return text[: before.comma] + text[before.comma + 1 : begin] + text[end:]
        return text[:begin] + text[end:]
    if not _begins_its_line(text, part.start):
        while text[end : end + 1] in (" ", "\t"):
            end += 1
        begin = part.start
    return text[:begin] + text[end:]


def _emptied(text: str, holder: Node, part: Part, end: int, inside: str | None) -> str:
    said = comments_between(text, holder.start + 1, part.start)
    left = text[holder.start + 1 : said[-1].end if said else holder.start + 1]
    kept = left + text[end : holder.end - 1]
    if inside is not None and kept.split() == inside.split():
        kept = inside
    elif not kept.strip():
        kept = ""
    return text[: holder.start + 1] + kept + text[holder.end - 1 :]


def _cut_start(text: str, part: Part, least: int) -> int:
    """From where a part is cut: the end of the line before it, or what stands before it on its own line."""
    if _begins_its_line(text, part.start):
        line = text.rfind("\n", least, part.start)
        if line >= 0:
            return line - 1 if text[line - 1 : line] == "\r" and line - 1 >= least else line
    said = comments_between(text, least, part.start)
    return said[-1].end if said else least


def _begins_its_line(text: str, place: int) -> bool:
    line = text.rfind("\n", 0, place)
    return line >= 0 and not text[line + 1 : place].strip(" \t")


def _indent(text: str, place: int) -> str:
    start = text.rfind("\n", 0, place) + 1
    line = text[start:place]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _indent_unit(text: str, node: Node) -> str:
    """By how much a part stands further in than what holds it; the first that tells, from outside in."""
    level = [node]
    while level:
        for one in level:
            base = _indent(text, one.start)
            for part in one.parts:
                if _begins_its_line(text, part.start):
                    indent = _indent(text, part.start)
                    if len(indent) > len(base) and indent.startswith(base):
                        return indent[len(base) :]
        level = [part.value for one in level for part in one.parts if part.value.parts]
    return _DEFAULT_INDENT
