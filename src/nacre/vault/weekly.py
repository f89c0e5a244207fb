"""The weekly digest: which file holds a week, what it says, and new lines in it that leave every other byte as it was."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Sequence
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from nacre.clock import monday
from nacre.errors import BadInput
from nacre.model import Workspace
from nacre.text.blocks import HEADING, ITEM, TEXT, date_in, label_of, labelled_spans, project_named, real_day, stamp_of
from nacre.vault.entries import Document, document, insert_lines, source_day, words_of
from nacre.vault.storage import names

_NAME = re.compile(r"(\d{4}-\d{2}-\d{2})\.md")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_LEVEL = 3  # of a day's heading, where the file shows no other


class DigestLine(NamedTuple):
    """One thing that a digest says: as it stands there on one line, the day it is from, and its project."""

    text: str
    day: str | None
    project: str | None


class _Head(NamedTuple):
    """A heading: its own lines, where what it is about ends, and what it says of that."""

    start: int
    last: int  # of the heading itself
    stop: int  # last line before the next heading of any depth
    end: int  # last line before the next heading that does not belong to it
    level: int
    day: str | None
    project: str | None


def digest_path(workspace: Workspace, day: dt.date) -> Path:
    return workspace.weekly / f"{monday(day).isoformat()}.md"


def digest_files(workspace: Workspace) -> dict[dt.date, Path]:
    """The digests by their Mondays. One named for another weekday is that week's, unless there is one named for Monday."""
    digests: dict[dt.date, Path] = {}
    for name in names(workspace, workspace.weekly, ".md"):
        path = workspace.root / name
        if path.parent == workspace.weekly and (match := _NAME.fullmatch(path.name)) and real_day(match[1]):
            digests.setdefault(monday(dt.date.fromisoformat(match[1])), path)
    return digests


def digest_lines(doc: Document) -> tuple[DigestLine, ...]:
    """Everything that the digest says, whoever wrote it: labelled lines, list items, paragraphs."""
    heads = _heads(doc)
    lines: list[DigestLine] = []
    for block in doc.blocks:
        bare = doc.bare[block.start - 1 : block.end]
        if block.kind not in (ITEM, TEXT) or bare[0].lstrip().startswith("<!--"):
            continue
        above = (head for head in reversed(heads) if head.day and head.last < block.start <= head.end)
        day = next((head.day for head in above), None)
        spans = labelled_spans(bare) if block.kind == TEXT else []
        for first, last in spans or [(0, len(bare))]:
            if words := words_of("\n".join(bare[first:last])):
                lines.append(DigestLine(words, source_day(words) or day, _project_above(heads, block.start)))
    return tuple(lines)


def add_lines(doc: Document, day: str, project: str | None, new: Sequence[str]) -> bytes:
    """New lines below the headings of their day and project; `BadInput` where they would not be text."""
    before = digest_lines(doc)
    added = tuple(DigestLine(words_of(line), source_day(line) or day, project) for line in new)
    for after, lines in _places(doc, day, project, new):
        for candidate in (lines, [*lines, ""]):  # a blank line below keeps them from becoming part of what follows
            data = insert_lines(doc, after, candidate)
            edited = digest_lines(document(doc.path, data))
            if any(edited == (*before[:at], *added, *before[at:]) for at in range(len(before) + 1)):
                return data
    raise BadInput(
        f"Nothing can be added to {doc.path} for {day}: it contains an unclosed code fence. Close it first.",
        f"无法向 {doc.path} 添加 {day} 的内容：其中有未闭合的代码块。请先将其闭合。",
    )


def _places(doc: Document, day: str, project: str | None, new: Sequence[str]) -> Iterator[tuple[int, Sequence[str]]]:
    """Where lines may go, best first: after which line, and with what about them."""
    heads = _heads(doc)
    days = [(head.day, head) for head in heads if head.day and not _project_above(heads, head.start)]
    of_day = next((head for date, head in days if date == day), None)
    if of_day:
        inside = [head for head in heads if of_day.last < head.start <= of_day.end]
        of_project = next((head for head in inside if head.project == project), None)
        if head := of_project if project else of_day:
            blocks = [block for block in doc.blocks if head.last < block.start <= head.stop and block.kind != HEADING]
            if blocks:
                if blocks[-1].kind == TEXT and label_of(doc.bare[blocks[-1].start - 1]):
                    yield blocks[-1].end, new
                yield blocks[-1].end, ["", *new]  # a blank line keeps them from becoming part of it
            yield head.last, [*new, ""] if blocks else new
        else:
            section = [_heading(of_day.level + 1, f"project:{project}"), *new]
            yield of_day.end, _with_air(doc, of_day.end, section)
            yield of_day.stop, _with_air(doc, of_day.stop, section)
    # A section of its own: behind the day before it, before the day after it, else at the end.
    before = max((pair for pair in days if pair[0] < day), key=itemgetter(0), default=(None, None))[1]
    after = min((pair for pair in days if pair[0] > day), key=itemgetter(0), default=(None, None))[1]
    beside = before or after
    spot = before.end if before else after.start - 1 if after else len(doc.lines)
    # Else out of order, rather than inside a code fence; or higher up, rather than below the heading of a project.
    others = [(head.start - 1, head.level) for _, head in days] + [(len(doc.lines), level) for level in (_LEVEL, 2, 1)]
    for line, level in [(spot, beside.level if beside else _LEVEL), *others]:
        of_its_own = [_heading(level + 1, f"project:{project}")] if project else []
        yield line, _with_air(doc, line, [_heading(level, day), *of_its_own, *new])


def _with_air(doc: Document, after: int, section: Sequence[str]) -> list[str]:
    """A new section with blank lines about it, where the file has blank lines above its headings."""
    heads = (block.start for block in doc.blocks if block.kind == HEADING)
    airy = any(start > 1 and not doc.bare[start - 2].strip() for start in heads)
    lead = [""] if airy and after and doc.bare[after - 1].strip() else []
    return [*lead, *section, *([""] if airy and after < len(doc.lines) else [])]


def _heading(level: int, title: str) -> str:
    return f"{'#' * min(level, 6)} {title}"


def _heads(doc: Document) -> list[_Head]:
    sections = [section for section in doc.sections if section.level]
    days: list[str | None] = []
    for section in sections:  # the day that a section is about: its title begins with it and names no other
        dates = _DATE.findall(section.title)
        day = real_day(dates[0]) if len(dates) == 1 and section.title.startswith(dates[0]) else None
        days.append(None if not days and section.level == 1 and _is_title(doc, section.title) else day)
    heads: list[_Head] = []
    for position, section in enumerate(sections):
        later = zip(sections[position + 1 :], days[position + 1 :], strict=True)
        outside = (part.start - 1 for part, day in later if part.level <= section.level or (day and days[position]))
        end, last = next(outside, len(doc.lines)), section.start + section.headings - 1
        project = _project_of(section.title)
        heads.append(_Head(section.start, last, section.end, end, section.level, days[position], project))
    return heads


def _project_above(heads: Sequence[_Head], line: int) -> str | None:
    return next((head.project for head in reversed(heads) if head.project and head.last < line <= head.end), None)


def _project_of(title: str) -> str | None:
    return project_named(title) or stamp_of(title).project


def _is_title(doc: Document, title: str) -> bool:
    """Whether the first heading names the week, rather than a day of it."""
    named, week = date_in(title), _NAME.fullmatch(doc.path.name)
    if named is None or week is None or not real_day(week[1]):
        return named is None
    return named in (week[1], monday(dt.date.fromisoformat(week[1])).isoformat())
