"""Slice edits of SESSION-STATE.md: an entry added or taken out, a task set, times of earlier days given their date."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from nacre.text.blocks import CODE
from nacre.vault import working
from nacre.vault.markdown import Document, add_bullet, add_section, delete_lines, document, insert_lines, replace_lines
from nacre.vault.working import DECISIONS, TASK, Line, State, lines, plain


def dated(state: State, today: dt.date, *, marked: bool = False) -> Document:
    """The file with the date before every time of an earlier day, and the mark that says whose times have none.

    A file of another tool has no mark: there the times are of the day when it was last written.
    """
    doc = state.document
    mark = working.day_mark(doc)
    if not mark and not marked:
        return doc
    day = mark[1] if mark else state.written
    bare = [one for one in lines(doc, DECISIONS) if one.time and not one.day]
    if day and (day != today if mark else day < today):
        for one in bare:
            line = doc.bare[one.start - 1].replace(f"[{one.time}]", f"[{day.isoformat()} {one.time}]", 1)
            if _holds_no_secret(line):
                doc = document(doc.path, replace_lines(doc, one.start, one.start, [line]))
    if mark:
        return document(doc.path, replace_lines(doc, mark[0], mark[0], [working.day_line(today)]))
    title = next((one for one in doc.sections if one.level == 1), None)
    place = title.start + title.headings - 1 if title else _before_decisions(doc)
    return document(doc.path, insert_lines(doc, place, [working.day_line(today)]))


def _holds_no_secret(line: str) -> bool:
    """What the user wrote into the file long ago must not stop today's decision from being written."""
    from nacre.guard.secrets import redact

    return not redact(line).findings


def _before_decisions(doc: Document) -> int:
    found = working.section(doc, DECISIONS)
    return found.start - 1 if found else len(doc.lines)


def with_section(doc: Document, name: str) -> Document:
    if working.section(doc, name):
        return doc
    return document(doc.path, add_section(doc, working.heading_for(doc, name), []))


def added(doc: Document, name: str, line: str) -> Document:
    doc = with_section(doc, name)
    found = working.section(doc, name)
    if found is None:
        raise working.stuck(doc, working.heading_for(doc, name))  # a fence or comment that is never closed hides it
    return document(doc.path, add_bullet(doc, found, line))


def without(doc: Document, one: Line) -> Document:
    return document(doc.path, delete_lines(doc, one.start, one.end))


def oldest(doc: Document, name: str, most: int) -> tuple[Document, list[Line]]:
    """The file with no more than so many entries in the section, and the oldest, which leave it."""
    known = lines(doc, name)
    gone = list(known[: max(0, len(known) - most)])
    for one in reversed(gone):
        doc = without(doc, one)
    return doc, gone


def with_task(doc: Document, line: str | None) -> Document:
    """The file with this as its task, or none."""
    found = working.section(doc, TASK)
    numbers = working.task_lines(doc)
    if found is None:
        raise working.stuck(doc, working.heading_for(doc, TASK))
    if _never_closed(doc, numbers):
        raise working.stuck(doc, found.title)  # what follows is hidden in it, and is not the task
    marker = "- " if numbers and doc.bare[numbers[0] - 1].startswith("- ") else ""
    bare = doc
    for number in reversed(numbers):
        bare = document(doc.path, delete_lines(bare, number, number))
    if line is None:
        return bare
    top = (numbers[0] if numbers else found.start + found.headings) - 1
    for lines_ in ([marker + line], [marker + line, ""], ["", marker + line, ""]):
        made = document(doc.path, insert_lines(bare, top, lines_))
        if working.task(made) == plain(line) and _titles(made) == _titles(doc):
            return made
    raise working.stuck(doc, found.title)


def _never_closed(doc: Document, numbers: Sequence[int]) -> bool:
    """Whether a code fence among these lines goes on to the end of the file because nothing closes it."""
    last = max(numbers, default=0)
    if last < len(doc.lines):
        return False
    block = next(block for block in doc.blocks if block.start <= last <= block.end)
    fence = doc.bare[block.start - 1].strip()[:3]
    return block.kind == CODE and fence in ("```", "~~~") and not doc.bare[last - 1].strip().startswith(fence)


def _titles(doc: Document) -> list[str]:
    return [one.title for one in doc.sections]
