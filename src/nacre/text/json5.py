"""JSON, also with comments and as JSON5: read with the place of every value in its text, and edited without touching any other byte."""

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


# Edits: a value is added, replaced or taken out; no other byte changes, and comments stay.


_DEFAULT_INDENT = "  "
_REST_OF_LINE = re.compile(r"[ \t]*(?:/\*[^\n]*?\*/[ \t]*)*(?://[^\n\r]*)?(?=[\n\r])")


class Style:
    """How the user lays out a file, for values that are added to it."""

    def __init__(self, text: str) -> None:
        root = parse(text)
        parts = root.parts if root else ()
        first = next((part for part in parts if _begins_its_line(text, part.start)), None)
        self.newline = "\r\n" if "\r\n" in text else "\n"
        self.one_line = bool(parts) and "\n" not in text.strip()
        self.unit = _DEFAULT_INDENT
        if root and first:
            self.unit = _indent(text, first.start).removeprefix(_indent(text, root.start)) or _DEFAULT_INDENT

    def rendered(self, value: Any, indent: str, *, flat: bool = False) -> str:
        """The value as the user would write it: a list of words on one line, everything else on lines of its own."""
        is_nested = isinstance(value, dict) or (
            isinstance(value, list) and any(isinstance(item, dict) for item in value)
        )
        if flat or not value or not is_nested:
            return json.dumps(value, ensure_ascii=False)
        inner = indent + self.unit
        if isinstance(value, dict):
            parts = [f"{inner}{json.dumps(key)}: {self.rendered(item, inner)}" for key, item in value.items()]
        else:
            parts = [inner + self.rendered(item, inner) for item in value]
        opening, closing = "{}" if isinstance(value, dict) else "[]"
        return self.newline.join([opening, f",{self.newline}".join(parts), indent + closing])


def new_json(text: str) -> str:
    """A text that holds nothing yet but space and comments, with an empty object."""
    newline = Style(text).newline
    bare = text.removeprefix("\ufeff")
    return text + (newline if bare.strip() and not bare.endswith("\n") else "") + "{}" + newline


def replace_value(text: str, node: Node, value: Any) -> str:
    style = Style(text)
    flat = style.one_line or ("\n" not in text[node.start : node.end] and bool(node.parts))
    return text[: node.start] + style.rendered(value, _indent(text, node.start), flat=flat) + text[node.end :]


def insert_value(text: str, holder: Node, value: Any, key: str | None = None) -> str:
    """The text with a new member (with a key) or item at the end of an object or array, laid out as its neighbours are."""
    style = Style(text)
    lead = "" if key is None else json.dumps(key, ensure_ascii=False) + ": "
    if not holder.parts:
        return _insert_first(text, holder, value, style, lead)
    last = holder.parts[-1]
    behind = last.end if last.comma is None else last.comma + 1
    if not _begins_its_line(text, last.start):
        piece = lead + style.rendered(value, "", flat=True)
        return text[:behind] + (f", {piece}" if last.comma is None else f" {piece},") + text[behind:]
    indent = _indent(text, last.start)
    new = style.newline + indent + lead + style.rendered(value, indent) + ("" if last.comma is None else ",")
    rest = _REST_OF_LINE.match(text, behind)  # a comment about the last part on its own line stays with it
    place = rest.end() if rest else behind
    return text[:behind] + ("," if last.comma is None else "") + text[behind:place] + new + text[place:]


def _insert_first(text: str, holder: Node, value: Any, style: Style, lead: str) -> str:
    inside = text[holder.start + 1 : holder.end - 1]
    if style.one_line:
        return text[: holder.start + 1] + lead + style.rendered(value, "", flat=True) + text[holder.start + 1 :]
    place = holder.start + 1 + len(inside.rstrip())  # behind comments
    base = _indent(text, holder.start)
    new = style.newline + base + style.unit + lead + style.rendered(value, base + style.unit)
    if "\n" not in text[place : holder.end - 1]:
        new += style.newline + base
    return text[:place] + new + text[place:]


def take_out(text: str, holder: Node, part: Part) -> str:
    """The text without a member or item, and without the line that it stood on alone."""
    begin, end = part.start, part.end if part.comma is None else part.comma + 1
    if holds_only(text, holder, part):
        return text[: holder.start + 1] + text[holder.end - 1 :]
    earlier = [other for other in holder.parts if other.end < begin]
    if part.comma is None and earlier and (comma := earlier[-1].comma) is not None:  # the comma that made room for it
        text, begin, end = text[:comma] + text[comma + 1 :], begin - 1, end - 1
    before, behind = text[:begin].rstrip(" \t"), text[end:].lstrip(" \t")
    if before.endswith("\n") and behind.startswith(("\n", "\r", "}", "]")):
        return before.removesuffix("\n").removesuffix("\r") + text[end:]
    return text[:begin] + behind


def holds_only(text: str, holder: Node, part: Part) -> bool:
    """Whether the part is all that stands between the brackets, without a comment."""
    end = part.end if part.comma is None else part.comma + 1
    return not (text[holder.start + 1 : part.start] + text[part.end : end - 1] + text[end : holder.end - 1]).strip()


def _begins_its_line(text: str, place: int) -> bool:
    line = text.rfind("\n", 0, place)
    return line >= 0 and not text[line + 1 : place].strip(" \t")


def _indent(text: str, place: int) -> str:
    line = text[text.rfind("\n", 0, place) + 1 : place]
    return line[: len(line) - len(line.lstrip(" \t"))]
