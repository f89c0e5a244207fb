"""Adds a member or an item to a JSON text, replaces one, or takes one out; every other byte stays as it was."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from nacre.connect.spans import Node, Part, comments

_UNIT = "  "
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
    return Style(newline, _unit(text, root) if root else _UNIT, bool(root and root.parts) and "\n" not in text.strip())


def put(text: str, holder: Node, key: str, value: Any, style: Style) -> str:
    """The text with a new member at the end of an object."""
    return _insert(text, holder, value, style, json.dumps(key, ensure_ascii=False) + ": ")


def add(text: str, holder: Node, value: Any, style: Style) -> str:
    """The text with a new item at the end of an array."""
    return _insert(text, holder, value, style, "")


def replace(text: str, node: Node, value: Any, style: Style) -> str:
    """The text with another value in the place of one."""
    flat = style.one_line or ("\n" not in text[node.start : node.end] and node.kind != "plain" and bool(node.parts))
    return text[: node.start] + style.rendered(value, _indent(text, node.start), flat=flat) + text[node.end :]


def fresh(text: str, value: Any) -> str:
    """A text that holds nothing yet but space and comments, with a value."""
    style = style_of(text, None)
    bare = text.removeprefix("\ufeff")
    gap = style.newline if bare.strip() and not bare.endswith("\n") else ""
    return text + gap + style.rendered(value, "", flat=False) + style.newline


def _insert(text: str, holder: Node, value: Any, style: Style, lead: str) -> str:
    if not holder.parts:
        return _first(text, holder, value, style, lead)
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


def _first(text: str, holder: Node, value: Any, style: Style, lead: str) -> str:
    inside = holder.start + 1
    if style.one_line:
        return text[:inside] + lead + style.rendered(value, "", flat=True) + text[inside:]
    said = comments(text, inside, holder.end - 1)
    place = said[-1].end if said else inside
    base = _indent(text, holder.start)
    indent = base + style.unit
    new = style.newline + indent + lead + style.rendered(value, indent, flat=False)
    if "\n" not in text[place : holder.end - 1]:
        new += style.newline + base
    return text[:place] + new + text[place:]


def take_out(text: str, holder: Node, part: Part, inside: str | None = None) -> str:
    """The text without a member or item. `inside` is what stood between the brackets before the first part came."""
    index = holder.parts.index(part)
    end = part.end if part.comma is None else part.comma + 1
    if len(holder.parts) == 1:
        return _emptied(text, holder, part, end, inside)
    before = holder.parts[index - 1] if index else None
    begin = _begin(text, part, before.comma + 1 if before and before.comma is not None else holder.start + 1)
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
    said = comments(text, holder.start + 1, part.start)
    left = text[holder.start + 1 : said[-1].end if said else holder.start + 1]
    kept = left + text[end : holder.end - 1]
    if inside is not None and kept.split() == inside.split():
        kept = inside
    elif not kept.strip():
        kept = ""
    return text[: holder.start + 1] + kept + text[holder.end - 1 :]


def _begin(text: str, part: Part, least: int) -> int:
    """From where a part is cut: the end of the line before it, or what stands before it on its own line."""
    if _begins_its_line(text, part.start):
        line = text.rfind("\n", least, part.start)
        if line >= 0:
            return line - 1 if text[line - 1 : line] == "\r" and line - 1 >= least else line
    said = comments(text, least, part.start)
    return said[-1].end if said else least


def _begins_its_line(text: str, place: int) -> bool:
    line = text.rfind("\n", 0, place)
    return line >= 0 and not text[line + 1 : place].strip(" \t")


def _indent(text: str, place: int) -> str:
    start = text.rfind("\n", 0, place) + 1
    line = text[start:place]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str, node: Node) -> str:
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
    return _UNIT
