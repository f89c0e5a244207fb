"""Add a value to a JSON text, replace one or take one out; no other byte changes, and comments stay."""

from __future__ import annotations

import json
import re
from typing import Any

from nacre.text.json5 import Node, Part, parse

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
