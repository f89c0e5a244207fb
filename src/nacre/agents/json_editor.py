"""Add a value to a JSON text, replace one or take one out; no other byte changes, and comments stay."""

from __future__ import annotations

import json
import re
from typing import Any

from nacre.text.json5 import Node, Part, comments_between

_DEFAULT_INDENT = "  "
_REST_OF_LINE = re.compile(r"[ \t]*(?:/\*[^\n]*?\*/[ \t]*)*(?://[^\n\r]*)?")


class Style:
    """How the user lays out a file, for values that are added to it."""

    def __init__(self, text: str, root: Node | None) -> None:
        self.newline = "\r\n" if "\r\n" in text else "\n"
        self.unit = _indent_unit(text, root) if root else _DEFAULT_INDENT
        self.one_line = bool(root and root.parts) and "\n" not in text.strip()

    def rendered(self, value: Any, indent: str, *, flat: bool = False) -> str:
        """The value as the user would write it: a list of words on one line, everything else on lines of its own."""
        nested = isinstance(value, dict) or (
            isinstance(value, list) and any(isinstance(item, (dict, list)) for item in value)
        )
        if flat or not value or not nested:
            return json.dumps(value, ensure_ascii=False)
        inner = indent + self.unit
        if isinstance(value, dict):
            keys = (json.dumps(key, ensure_ascii=False) for key in value)
            parts = [
                f"{inner}{key}: {self.rendered(item, inner)}" for key, item in zip(keys, value.values(), strict=True)
            ]
        else:
            parts = [inner + self.rendered(item, inner) for item in value]
        opening, closing = "{}" if isinstance(value, dict) else "[]"
        return self.newline.join([opening, f",{self.newline}".join(parts), indent + closing])


def new_json(text: str) -> str:
    """A text that holds nothing yet but space and comments, with an empty object."""
    newline = Style(text, None).newline
    bare = text.removeprefix("\ufeff")
    return text + (newline if bare.strip() and not bare.endswith("\n") else "") + "{}" + newline


def replace_value(text: str, node: Node, value: Any, style: Style) -> str:
    flat = style.one_line or ("\n" not in text[node.start : node.end] and bool(node.parts))
    return text[: node.start] + style.rendered(value, _indent(text, node.start), flat=flat) + text[node.end :]


def insert_value(text: str, holder: Node, value: Any, style: Style, key: str | None = None) -> str:
    """The text with a new member (with a key) or item at the end of an object or array, laid out as its neighbours are."""
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
    rest = _REST_OF_LINE.match(text, behind)
    assert rest is not None
    # A comment about the last part on its own line stays with it.
    place = rest.end() if text[rest.end() : rest.end() + 1] in ("\n", "\r") else behind
    return text[:behind] + ("," if last.comma is None else "") + text[behind:place] + new + text[place:]


def _insert_first(text: str, holder: Node, value: Any, style: Style, lead: str) -> str:
    inside = holder.start + 1
    if style.one_line:
        return text[:inside] + lead + style.rendered(value, "", flat=True) + text[inside:]
    comments = comments_between(text, inside, holder.end - 1)
    place = comments[-1][1] if comments else inside
    base = _indent(text, holder.start)
    new = style.newline + base + style.unit + lead + style.rendered(value, base + style.unit)
    if "\n" not in text[place : holder.end - 1]:
        new += style.newline + base
    return text[:place] + new + text[place:]


def take_out(text: str, holder: Node, part: Part, inside: str | None = None) -> str:
    """The text without a member or item. `inside` is what stood between the brackets before the first part came."""
    index = holder.parts.index(part)
    end = part.end if part.comma is None else part.comma + 1
    if len(holder.parts) == 1:
        comments = comments_between(text, holder.start + 1, part.start)
        kept = text[holder.start + 1 : comments[-1][1] if comments else holder.start + 1] + text[end : holder.end - 1]
        if inside is not None and kept.split() == inside.split():
            kept = inside
        return text[: holder.start + 1] + (kept if kept.strip() or kept == inside else "") + text[holder.end - 1 :]
    before = holder.parts[index - 1] if index else None
    begin = _cut_start(text, part, before.comma + 1 if before and before.comma is not None else holder.start + 1)
    if before and index == len(holder.parts) - 1:
        if part.comma is None and before.comma is not None:  # the comma that made room for it goes too
            return text[: before.comma] + text[before.comma + 1 : begin] + text[end:]
    elif not _begins_its_line(text, part.start):
        begin, end = part.start, end + len(text[end:]) - len(text[end:].lstrip(" \t"))
    return text[:begin] + text[end:]


def _cut_start(text: str, part: Part, least: int) -> int:
    """From where a part is cut: the end of the line before it, or what stands before it on its own line."""
    if _begins_its_line(text, part.start):
        line = text.rfind("\n", least, part.start)
        if line >= 0:
            return line - 1 if text[line - 1 : line] == "\r" and line - 1 >= least else line
    comments = comments_between(text, least, part.start)
    return comments[-1][1] if comments else least


def has_comments(text: str, holder: Node) -> bool:
    """Whether comments stand between the brackets of something with at most one part."""
    if not holder.parts:
        return bool(comments_between(text, holder.start + 1, holder.end - 1))
    (part,) = holder.parts
    end = part.end if part.comma is None else part.comma + 1
    gaps = ((holder.start + 1, part.start), (part.end, max(part.end, end - 1)), (end, holder.end - 1))
    return any(comments_between(text, *gap) for gap in gaps)


def _begins_its_line(text: str, place: int) -> bool:
    line = text.rfind("\n", 0, place)
    return line >= 0 and not text[line + 1 : place].strip(" \t")


def _indent(text: str, place: int) -> str:
    line = text[text.rfind("\n", 0, place) + 1 : place]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _indent_unit(text: str, root: Node) -> str:
    """By how much the first part on a line of its own stands further in than what holds it."""
    for part in root.parts:
        if _begins_its_line(text, part.start):
            return _indent(text, part.start).removeprefix(_indent(text, root.start)) or _DEFAULT_INDENT
    return _DEFAULT_INDENT
