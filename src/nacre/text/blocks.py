"""Markdown as blocks with exact lines: headings, list items, paragraphs, code, frontmatter; and what their words say about themselves.

A line scanner, not a parser: it knows just enough of CommonMark that a "#" inside a code fence, a comment or frontmatter is
never taken for a heading, and it is thirty times faster than a full parse. Where it differs from CommonMark it does so to lose
nothing: HTML tags and link definitions are text, a comment that is never closed hides only its own line, a fence that is never
closed ends at the next section of a daily log, a quote is one piece with the lines directly below it, and a long paragraph above
"---" is a paragraph, not a title.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from typing import NamedTuple

FRONT, HEADING, ITEM, CODE, TEXT = "front", "heading", "item", "code", "text"


class Block(NamedTuple):
    """Lines `start` to `end`, both counted from 1, both included. `text` is a heading's title; `level` its depth."""

    kind: str
    start: int
    end: int
    level: int = 0
    text: str = ""


_FENCE = re.compile(r" *(`{3,}|~{3,})(.*)")
_SECTION = re.compile(r"## \d{2}:\d{2} (?:session:[^\s|]+|note)(?:[ \t]*\||[ \t]*$)")  # as we write it into a daily log
_HEADING = re.compile(r" {0,3}(#{1,6})(?![^ \t])")
_ITEM = re.compile(r"( *)([-*+]|[0-9]{1,9}[.)])(?:([ \t]+)([^ \t].*)?|)$")
_CONTAINERS = re.compile(r"(?:[ \t]*(?:[-*+]|[0-9]{1,9}[.)]|>)(?![^ \t]))*[ \t]*")
_RULE = re.compile(r" {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$")
_SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_FIELD = re.compile(r"""["']?[\w][^:]*:(?:\s|$)""")
# For each line: how many lines from it on begin or end a fence, and the longest that can end one, by its sign.
_Below = list[tuple[int, dict[str, int]]]
_LONGEST_TITLE = 200  # characters of a title that is marked only by a line under it


def blocks(lines: list[str], *, strict: bool = False) -> list[Block]:
    """The blocks of a file given as lines without their line ends; blank lines between blocks belong to none.

    With `strict` a fence that is never closed goes on to the end of the file, as in CommonMark.
    """
    result: list[Block] = []
    at, count = 0, len(lines)
    if front := frontmatter_end(lines):
        result.append(Block(FRONT, 1, front))
        at = front
    paragraph = -1  # where the open paragraph began
    quoted = False  # whether it is a quote
    comments = True  # whether any comment is closed from here on
    below: _Below | None = None if strict else []  # made when first asked for

    def close(end: int) -> None:
        nonlocal paragraph
        if paragraph >= 0:
            result.append(Block(TEXT, paragraph + 1, end))
            paragraph = -1

    while at < count:
        line = lines[at]
        bare = line.strip()
        if not bare:
            close(at)
            at += 1
            continue
        first, block = bare[0], None
        inside_text = paragraph >= 0 and not quoted
        if _indent(line) >= 4:
            if paragraph < 0:
                end = at + 1
                for position in range(at + 1, count):
                    if lines[position].strip():
                        if _indent(lines[position]) < 4:
                            break
                        end = position + 1
                block = Block(CODE, at + 1, end)
        elif first in "`~" and (fence := _opening_fence(line)):
            block = Block(CODE, at + 1, _fence_end(lines, at + 1, fence, below=below))
        elif first == "#" and (heading := _HEADING.match(line)):
            rest = line[heading.end() :].strip()
            title = rest.rstrip("#")
            title = title.rstrip() if not title or title[-1] in " \t" else rest  # without marks at its end
            block = Block(HEADING, at + 1, at + 1, len(heading[1]), title)
        elif bare.startswith("<!--"):
            # One that is never closed hides only its own line.
            ends = (position + 1 for position in range(at, count) if "-->" in lines[position])
            end = next(ends, at + 1) if comments else at + 1
            comments = "-->" in lines[end - 1]
            block = Block(TEXT, at + 1, end)
        elif inside_text and first in "=-" and _SETEXT.match(line):
            title = " ".join(part.strip() for part in lines[paragraph:at])
            block = Block(HEADING, paragraph + 1, at + 1, 1 if first == "=" else 2, title)
            if len(title) > _LONGEST_TITLE:
                block = Block(TEXT, paragraph + 1, at + 1)
            paragraph = -1
        elif first in "-*_" and _RULE.match(line):
            close(at)
            at += 1
            continue
        elif (first in "-*+" or first.isdigit()) and (item := _ITEM.match(line)):
            # Inside a paragraph only a filled bullet, or a number one, begins a list.
            if not inside_text or (item[4] and (not item[2][0].isdigit() or item[2][:-1] == "1")):
                block = Block(ITEM, at + 1, _item_end(lines, at, item))
        elif first == ">" and not quoted:
            close(at)
        if block:
            close(at)
            result.append(block)
            at = block.end
            continue
        if paragraph < 0:
            paragraph, quoted = at, first == ">"
        at += 1
    close(count)
    return result


def frontmatter_end(lines: list[str]) -> int:
    """The number of lines of frontmatter at the top; 0 when there is none, also when it is never closed.

    Text between two rules is not frontmatter, and must not be lost to search: the first line in it has to name a field.
    """
    if not lines or lines[0].lstrip("\ufeff").rstrip() != "---":
        return 0
    end = next((at for at in range(1, min(len(lines), 200)) if lines[at].rstrip() in ("---", "...")), 0)
    first = next((line for line in map(str.rstrip, lines[1:end]) if line and not line.startswith("#")), "")
    return end + 1 if end and (not first or _FIELD.match(first)) else 0


def _indent(line: str) -> int:
    """The column where a line begins; a tab goes on to the next multiple of four."""
    spaces = len(line) - len(line.lstrip(" "))
    if line[spaces : spaces + 1] != "\t":
        return spaces
    return len(line[: len(line) - len(line.lstrip(" \t"))].expandtabs(4))


def _opening_fence(line: str) -> str | None:
    match = _FENCE.match(line)
    return match[1] if match and not (match[1][0] == "`" and "`" in match[2]) else None


def _fence_end(lines: list[str], at: int, fence: str, inside: int = 0, below: _Below | None = None) -> int:
    """Where a fence ends: at its closing line, with the list item (indented by `inside`) that holds it, or, if it is never
    closed, before the next section of a daily log."""
    end = at
    section = None  # the first one that stands in the fence: quoted there if the fence is closed
    for position in range(at, len(lines)):
        line = lines[position]
        bare = line.strip()
        if not bare:
            continue
        if inside and _indent(line) < inside:
            return end
        if below is not None and section is None and line.startswith("## ") and _SECTION.match(line):
            if not _is_closed(lines, position, fence, below):
                return position
            section = position
        end = position + 1
        if _closes(line, fence, inside):
            return end
        if section is not None and bare.startswith(fence) and _opening_fence(bare):
            return section  # another fence begins, so this one was left open
    return end if inside else len(lines)


def _closes(line: str, fence: str, inside: int = 0) -> bool:
    bare = line.strip()
    return bare.startswith(fence) and not bare.strip(fence[0]) and _indent(line) < inside + 4


def _is_closed(lines: list[str], at: int, fence: str, below: _Below) -> bool:
    """Whether one of the lines below closes a fence. Where they pair up among themselves, none of them does."""
    if not below:
        count, longest = 0, {"`": 0, "~": 0}
        for line in reversed(lines):
            bare = _inside_containers(line).rstrip()
            if bare.startswith(("```", "~~~")) and (other := _opening_fence(bare)):
                count += 1
                if bare == other:
                    longest = longest | {other[0]: max(longest[other[0]], len(other))}
            below.append((count, longest))
        below.reverse()
    count, longest = below[at]
    return count % 2 == 1 and longest[fence[0]] >= len(fence)


def _inside_containers(line: str) -> str:
    return line[_CONTAINERS.match(line).end() :]  # type: ignore[union-attr]  # it matches the empty string too


def unclosed_fences(lines: list[str]) -> set[int]:
    """The lines at which a fence begins that is never closed."""
    unclosed: set[int] = set()
    for block in blocks(lines):
        line = lines[block.start - 1]
        fence = _opening_fence(line) if block.kind == CODE and _indent(line) < 4 else None
        if fence and (block.end == block.start or not _closes(lines[block.end - 1], fence)):
            unclosed.add(block.start)
    return unclosed


def _item_end(lines: list[str], at: int, item: re.Match[str]) -> int:
    marker = len(item[1]) + len(item[2])
    offset = marker + 1
    if item[4]:
        start = len(lines[at][: item.start(4)].expandtabs(4))
        offset = start if start - marker <= 4 else marker + 1
    end = position = at + 1
    text = True  # whether what came last is text, which a line that is not indented may carry on
    if item[4] and item[4][0] in "`~" and (fence := _opening_fence(item[4])):
        position = end = _fence_end(lines, position, fence, offset)
        text = False
    elif not item[4] and position < len(lines) and not lines[position].strip():
        return end  # an empty item does not reach over a blank line
    blank = False
    while position < len(lines):
        line = lines[position]
        if not line.strip():
            blank = True
            position += 1
            continue
        indent = _indent(line)
        if indent >= offset:
            if line.lstrip()[0] in "`~" and (fence := _opening_fence(line.lstrip())):
                position = end = _fence_end(lines, position + 1, fence, offset)
                text = blank = False
                continue
            text = True
        elif blank or not text or (indent < 4 and _starts_block(line)) or not _is_text(lines[position - 1]):
            break
        blank = False
        position += 1
        end = position
    return end


def _is_text(line: str) -> bool:
    """Whether a line of an item ends in a paragraph: not a heading, a rule, or a marker with nothing after it."""
    bare = _inside_containers(line)
    return bool(bare) and not (bare[0] == "#" and _HEADING.match(bare)) and not (bare[0] in "*_-" and _RULE.match(bare))


def _starts_block(line: str) -> bool:
    """Whether a line that is not indented into an item ends it, rather than carrying its paragraph on."""
    if line.lstrip(" ").startswith((">", "<!--")) or _opening_fence(line):
        return True
    return any(form.match(line) for form in (_HEADING, _RULE, _ITEM))


# What a heading or a bullet says about itself: time, session, project, group, type, category, source day.


_TIME = re.compile(r"(\d{1,2}:\d{2})(?!\d)")
_DATE = re.compile(r"(?<!\d)[0-9]{4}-[0-9]{2}-[0-9]{2}(?!\d)")
_SESSION = re.compile(r"\bsession:([^\s|]+)")
_STAMP_FIELD = re.compile(r"(project|group):\s*(\S.*)")
# What a heading that only says when is made of: times, dates, the fields of a stamp, and the words that we write beside them.
_WHEN = re.compile(
    r"(?:\d{4}-\d{2}-\d{2}(?=[T\s|,]|$)|T?\d{1,2}:\d{2}(?::\d{2})?(?:\.\d+)?(?!\d)|(?:session|project|group):[^\s|]+|\d+ messages?\b"
    r"|(?:note|agent|continued|UTC|GMT|Z)(?!\w)|[+-]\d{2}:?\d{2}|\(?(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*\)?(?!\w)|[\s|,])+"
)
AGENT_MARK = {"en": "Agent: ", "zh": "助手："}  # before what an agent tells of its work, in the log
AGENT = re.compile(r"(?i)\A(?:Agent|Assistant|助手|代理)\s*[：:]\s*")  # the same, as others write it too
LABELS = (
    *("PREF", "PROJ", "TECH", "LESSON", "PEOPLE", "TEMP"),
    *("决策", "发现", "偏好", "任务", "Decision", "Discovery", "Preference", "Task"),
)
_LABEL = re.compile(r"\[([A-Z]{4,6}|决策|发现|偏好|任务|Decision|Discovery|Preference|Task)\]\s*")
_PROJECT = re.compile(r"project:\s*([^\s|*][^|]*)")
_HEAD_PROJECT = re.compile(r"project:(\S+)")
_TAG = re.compile(r"(?:^|(?<=\s))#([^\W\d_][\w/-]*)")
_TAG_LINE = re.compile(r"(?im)^(?:Tags|标签)[:\uff1a][ \t]*(.+)$")
_MARKER = re.compile(r"\A\s*(?:[-*+]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?")


class Stamp(NamedTuple):
    """The stamp of a log section: `## 14:05 session:61871d67 | 12 messages | project:shop-api | group:team`, `## 14:05 note | agent`."""

    time: str | None = None
    session: str | None = None
    project: str | None = None
    group: str | None = None
    by: str | None = None  # "agent" where an agent wrote a note down

    @property
    def by_agent(self) -> bool:
        return self.by == "agent"

    def within(self, outer: Stamp) -> Stamp:
        """This stamp, with the fields of an outer heading's where it names none."""
        return Stamp(*(own or others for own, others in zip(self, outer, strict=True)))


def stamp_of(heading: str) -> Stamp:
    """What the heading of a log section says of it. Only our own form counts, a time and then fields between bars: a heading
    that merely mentions a group must not open a private section to it."""
    first, *rest = (part.strip() for part in heading.split("|"))
    time = _TIME.match(first)
    if not time:
        return Stamp()
    session = _SESSION.search(first)
    fields = {match[1]: match[2] for part in rest if (match := _STAMP_FIELD.fullmatch(part)) and match[2] != "*"}
    by = "agent" if "agent" in rest else None
    return Stamp(time[1], session[1] if session else None, fields.get("project"), fields.get("group"), by)


def project_named(heading: str) -> str | None:
    """The project of what stands under a heading of a weekly digest that is nothing but its name: `#### project:shop-api`."""
    match = _PROJECT.fullmatch(heading.strip())
    return match[1] if match else None


MESSAGE_MARK = re.compile(r"(?m)^(\*\*.{1,100}\*\* \d{4}-\d{2}-\d{2} \d{2}:\d{2}) <!-- [a-p]{8} -->$")


def without_message_marks(text: str) -> str:
    """A checkpoint as it is shown and searched: without the marks by which `forget` finds the messages of an entry."""
    return MESSAGE_MARK.sub(r"\1", text)


def project_in_head(lines: Sequence[str]) -> str | None:
    """The project that a checkpoint or its summary names below its title: `session:… | project:shop-api | …`, or a line alone."""
    for line in lines[:6]:
        first, *rest = (part.strip() for part in line.split("|"))
        fields = rest if first.startswith("session:") else [] if rest else [first]
        if match := next(filter(None, map(_HEAD_PROJECT.fullmatch, fields)), None):
            return match[1]
    return None


def is_structural(heading: str) -> bool:
    """Whether a heading only says when something was, so that its words tell nothing of the content."""
    return bool(_WHEN.fullmatch(heading.strip()))


def date_in(text: str) -> str | None:
    """The first day that a text names; none when the calendar does not know it."""
    match = _DATE.search(text)
    return real_day(match[0]) if match else None


def real_day(day: str) -> str | None:
    """The day, unless it is one like 2026-02-30: what sorts and counts days must be able to trust them."""
    try:
        return dt.date.fromisoformat(day).isoformat()
    except ValueError:
        return None


def label_of(text: str) -> str | None:
    """The type or category at the head of a bullet: `[PREF]`, `[决策]`."""
    return split_label(text)[0]


def split_label(bullet: str) -> tuple[str | None, str]:
    """The label of a bullet, and what stands behind its marker and label."""
    body = _MARKER.sub("", bullet, count=1)
    label = _LABEL.match(body)
    return (label[1], body[label.end() :]) if label else (None, body)


def labelled_spans(lines: Sequence[str]) -> list[tuple[int, int]]:
    """A paragraph in which each line carries a label, as in weekly digests, by entries: the slices of its lines. None where the
    first line has no label."""
    starts = [at for at, line in enumerate(lines) if label_of(line)]
    return list(zip(starts, [*starts[1:], len(lines)], strict=True)) if starts[:1] == [0] else []


def tags_in(text: str) -> tuple[str, ...]:
    """Hashtags, and the tags of a `Tags: a, b` or `标签: a, b` line."""
    tags = dict.fromkeys(_TAG.findall(text)) if "#" in text else {}
    for listed in _TAG_LINE.findall(text):
        tags |= dict.fromkeys(part.strip() for part in re.split(r"[,\uff0c、]", listed) if part.strip())
    return tuple(tags)
