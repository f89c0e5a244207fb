"""The weekly digest: which file holds a week, what it says, and new lines in it that leave every other byte as it was."""

from __future__ import annotations

import datetime as dt
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from nacre.clock import monday
from nacre.errors import BadInput, raise_unless_absent
from nacre.i18n import say
from nacre.model.workspace import Workspace
from nacre.text.blocks import HEADING, ITEM, TEXT, Block
from nacre.text.stamps import date_in, label_of, labelled_spans, project_named, real_day, stamp_of
from nacre.vault.entries import source_day, words_of
from nacre.vault.markdown import Document, document, insert_lines

_NAME = re.compile(r"(\d{4}-\d{2}-\d{2})\.md")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_LEVEL = 3  # of a day's heading, where the file shows no other


@dataclass(frozen=True)
class DigestLine:
    """One thing that a digest says: as it stands there on one line, the day it is from, and its project."""

    text: str
    day: str | None
    project: str | None


@dataclass(frozen=True)
class _Head:
    """A heading: its own lines, where what it is about ends, and what it says of that."""

    start: int
    last: int  # of the heading itself
    own: int  # last line before the next heading of any depth
    end: int  # last line before the next heading that does not belong to it
    level: int
    day: str | None
    project: str | None


def digest_path(workspace: Workspace, day: dt.date) -> Path:
    """Where the digest of the week that holds a day is to be, when there is none yet."""
    return workspace.weekly / f"{monday(day).isoformat()}.md"


def digest_files(workspace: Workspace) -> dict[dt.date, Path]:
    """The digests by their Mondays. One named for another weekday is that week's, unless there is one named for Monday."""
    try:
        names = sorted(os.listdir(workspace.weekly))
    except OSError as error:
        raise_unless_absent(workspace.weekly, error)
        return {}
    found: dict[dt.date, Path] = {}
    for name in names:
        if (match := _NAME.fullmatch(name)) and real_day(match[1]):
            found.setdefault(monday(dt.date.fromisoformat(match[1])), workspace.weekly / name)
    return found


def digest_lines(doc: Document) -> tuple[DigestLine, ...]:
    """Everything that the digest says, whoever wrote it: labelled lines, list items, paragraphs."""
    heads = _heads(doc)
    found: list[DigestLine] = []
    for block in doc.blocks:
        if block.kind not in (ITEM, TEXT):
            continue
        day = next((head.day for head in reversed(heads) if head.day and head.last < block.start <= head.end), None)
        project = _above(heads, block.start)
        told = (words for text in _texts(doc, block) if (words := words_of(text)))
        found += [DigestLine(words, source_day(words) or day, project) for words in told]
    return tuple(found)


def add_lines(doc: Document, day: str, project: str | None, new: Sequence[str]) -> bytes:
    """New lines in the section of their day, and there below the sub-heading of their project; both are made where missing.

    Raises `BadInput` where the lines would become part of something else, such as a code fence that is never closed.
    """
    heads = _heads(doc)
    dated = [head for head in heads if head.day and not _above(heads, head.start)]
    of_day = next((head for head in dated if head.day == day), None)
    in_day = _in_day(doc, heads, of_day, project, new) if of_day else ()
    for after, added in chain(in_day, _new_day(doc, dated, day, project, new)):
        for whole in (added, [*added, ""]):  # a blank line below keeps them from becoming part of what follows
            data = insert_lines(doc, after, whole)
            if _only_adds(doc, document(doc.path, data), after, whole, project):
                return data
    raise BadInput(
        say(
            f"Nothing can be added to {doc.path} for {day}: a code fence there is never closed. Close it.",
            f"无法向 {doc.path} 添加 {day} 的内容：其中有未闭合的代码块。请将其闭合。",
        )
    )


def _in_day(
    doc: Document, heads: Sequence[_Head], of_day: _Head, project: str | None, new: Sequence[str]
) -> Iterator[tuple[int, Sequence[str]]]:
    """Where lines may go in the section of their day, best first: after which line, and with what about them."""
    if project is None:
        yield from _below(doc, of_day, new)
        return
    inside = [head for head in heads if of_day.last < head.start <= of_day.end]
    if of_project := next((head for head in inside if head.project == project), None):
        yield from _below(doc, of_project, new)
        return
    section = [_heading(of_day.level + 1, f"project:{project}"), *new]
    yield of_day.end, _with_air(doc, of_day.end, section)
    yield of_day.own, _with_air(doc, of_day.own, section)


def _new_day(
    doc: Document, dated: Sequence[_Head], day: str, project: str | None, new: Sequence[str]
) -> Iterator[tuple[int, Sequence[str]]]:
    """A section of its own: behind the day before it, before the day after it, else at the end."""
    before = max((head for head in dated if (head.day or "") < day), key=lambda one: one.day or "", default=None)
    after = min((head for head in dated if (head.day or "") > day), key=lambda one: one.day or "", default=None)
    beside = before or after
    level = beside.level if beside else _LEVEL
    spot = before.end if before else after.start - 1 if after else len(doc.lines)
    # Else out of order, rather than inside a code fence; or higher up, rather than below the heading of a project.
    others = [(head.start - 1, head.level) for head in dated] + [(len(doc.lines), high) for high in (_LEVEL, 2, 1)]
    for line, depth in [(spot, level), *others]:
        of_project = [_heading(depth + 1, f"project:{project}")] if project else []
        yield line, _with_air(doc, line, [_heading(depth, day), *of_project, *new])


def _below(doc: Document, head: _Head, new: Sequence[str]) -> Iterator[tuple[int, Sequence[str]]]:
    """At the end of what stands directly under a heading; a blank line keeps them from becoming part of it."""
    own = [block for block in doc.blocks if head.last < block.start <= head.own and block.kind != HEADING]
    if own:
        last = own[-1]
        if last.kind == TEXT and label_of(doc.bare[last.start - 1]):
            yield last.end, new
        yield last.end, ["", *new]
    yield head.last, [*new, ""] if own else new


def _with_air(doc: Document, after: int, section: Sequence[str]) -> list[str]:
    """A new section with blank lines about it, where the file has blank lines above its headings."""
    airy = any(
        block.start > 1 and not doc.bare[block.start - 2].strip() for block in doc.blocks if block.kind == HEADING
    )
    lead = [""] if airy and after and doc.bare[after - 1].strip() else []
    tail = [""] if airy and after < len(doc.lines) else []
    return [*lead, *section, *tail]


def _heading(level: int, title: str) -> str:
    return f"{'#' * min(level, 6)} {title}"


def _only_adds(old: Document, new: Document, after: int, added: Sequence[str], project: str | None) -> bool:
    """Whether all that stood there is still what it was, under the same headings, and the new lines are text of the project."""
    was, now = _shape(old), _shape(new)
    mine = now[after : after + len(added)]
    return (
        now[:after] == was[:after]
        and now[after + len(added) :] == was[after:]
        and all(
            shape is not None and (shape[0] == HEADING if text.startswith("#") else _is_text_of(project, *shape))
            for shape, text in zip(mine, added, strict=True)
            if text
        )
    )


def _is_text_of(project: str | None, kind: str, titles: Sequence[str]) -> bool:
    named = [found for title in titles if (found := _project_of(title))]
    return kind == TEXT and (named[-1] if named else None) == project


def _shape(doc: Document) -> list[tuple[str, tuple[str, ...]] | None]:
    """For each line the kind of block that it is part of, and the headings above it; None for blank lines and rules."""
    found: list[tuple[str, tuple[str, ...]] | None] = [None] * len(doc.lines)
    path: list[tuple[int, str]] = []
    for block in doc.blocks:
        if block.kind == HEADING:
            while path and path[-1][0] >= block.level:
                path.pop()
            path.append((block.level, block.text))
        titles = tuple(title for _, title in path)
        for number in range(block.start, block.end + 1):
            if doc.bare[number - 1].strip():
                found[number - 1] = (block.kind, titles)
    return found


def _heads(doc: Document) -> list[_Head]:
    sections = [section for section in doc.sections if section.level]
    days = [
        None if position == 0 and section.level == 1 and _is_title(doc, section.title) else _day_of(section.title)
        for position, section in enumerate(sections)
    ]
    found: list[_Head] = []
    for position, section in enumerate(sections):
        end = len(doc.lines)
        for later, day in zip(sections[position + 1 :], days[position + 1 :], strict=True):
            if later.level <= section.level or (day and days[position]):
                end = later.start - 1
                break
        last = section.start + section.headings - 1
        project = _project_of(section.title)
        found.append(_Head(section.start, last, section.end, end, section.level, days[position], project))
    return found


def _above(heads: Sequence[_Head], line: int) -> str | None:
    """The project that a line belongs to, by the headings above it."""
    return next((head.project for head in reversed(heads) if head.project and head.last < line <= head.end), None)


def _project_of(title: str) -> str | None:
    return project_named(title) or stamp_of(title).project


def _is_title(doc: Document, title: str) -> bool:
    """Whether the first heading names the week, rather than a day of it."""
    named, week = date_in(title), _NAME.fullmatch(doc.path.name)
    if named is None or week is None or not real_day(week[1]):
        return named is None
    return named in (week[1], monday(dt.date.fromisoformat(week[1])).isoformat())


def _day_of(title: str) -> str | None:
    """The day that a section is about: its title begins with it and names no other."""
    dates = _DATE.findall(title)
    return real_day(dates[0]) if len(dates) == 1 and title.startswith(dates[0]) else None


def _texts(doc: Document, block: Block) -> list[str]:
    """What one block says: in a paragraph each labelled line by itself, else the whole; nothing for a comment."""
    own = doc.bare[block.start - 1 : block.end]
    if own[0].lstrip().startswith("<!--"):
        return []
    spans = labelled_spans(own) if block.kind == TEXT else []
    return ["\n".join(own[first:last]) for first, last in spans or [(0, len(own))]]
