"""Slice edits of SESSION-STATE.md: an entry added or taken out, a task set, times of earlier days given their date."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence

from nacre.text.blocks import unclosed_fences
from nacre.vault import working
from nacre.vault.markdown import Document, add_bullet, add_section, document, insert_lines
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
    new: dict[int, str | None] = {}
    if day and (day != today if mark else day < today):
        bare = [one for one in lines(doc, DECISIONS) if one.time and not one.day]
        told = {
            one.start: doc.bare[one.start - 1].replace(f"[{one.time}]", f"[{day.isoformat()} {one.time}]", 1)
            for one in bare
        }
        new |= _without_secrets(told)
    if mark:
        return _with_lines(doc, {**new, mark[0]: working.day_line(today)})
    doc = _with_lines(doc, new)
    title = next((one for one in doc.sections if one.level == 1), None)
    place = title.start + title.headings - 1 if title else _before_decisions(doc)
    made = document(doc.path, insert_lines(doc, place, [working.day_line(today)]))
    if hides_nothing(doc, made):
        return made
    # A comment that the user never closed would end at our mark, and hide what stands between: the top is above it.
    top = 0 if doc.frontmatter is None else doc.blocks[0].end
    return document(doc.path, insert_lines(doc, top, [working.day_line(today)]))


def _without_secrets(told: Mapping[int, str]) -> dict[int, str]:
    """The lines that may be written anew: what the user wrote long ago must not stop today's decision from being written."""
    from nacre.guard.secrets import redact

    text = "\n".join(told.values())
    found = redact(text).findings
    numbers = list(told)
    secret = {
        numbers[at]
        for one in found
        for at in range(text.count("\n", 0, one.start), text.count("\n", 0, max(one.start, one.end - 1)) + 1)
    }
    return {number: line for number, line in told.items() if number not in secret}


def _with_lines(doc: Document, new: Mapping[int, str | None]) -> Document:
    """The file with other words in the lines of these numbers, each ending as it did; without the line where there are none."""
    if not new:
        return doc
    made: list[str] = []
    for number, (line, bare) in enumerate(zip(doc.lines, doc.bare, strict=True), start=1):
        words = new.get(number, bare)
        mark = "\ufeff" if line.startswith("\ufeff") else ""
        made.append(mark if words is None else mark + words + line[len(mark) + len(bare) :])
    return document(doc.path, "".join(made).encode())


def _before_decisions(doc: Document) -> int:
    found = working.section(doc, DECISIONS)
    return found.start - 1 if found else len(doc.lines)


def with_section(doc: Document, name: str) -> Document:
    if working.section(doc, name):
        return doc
    return document(doc.path, add_section(doc, working.heading_for(doc, name), []))


def hides_nothing(old: Document, new: Document, *, but: str | None = None) -> bool:
    """Whether every heading and entry of the old file is still one in the new, those of one section set aside."""
    return _seen(old, but) == _seen(new, but)


def _seen(doc: Document, but: str | None) -> tuple[list[str], list[str], str | None]:
    aside = working.section(doc, but) if but else None
    items = [item.text for item in doc.items if not aside or not aside.start <= item.start <= aside.end]
    return [one.title for one in doc.sections if one.level], items, doc.frontmatter


def added(doc: Document, name: str, line: str) -> Document:
    doc = with_section(doc, name)
    found = working.section(doc, name)
    if found is None:
        raise working.stuck(doc, working.heading_for(doc, name))  # a fence or comment that is never closed hides it
    return document(doc.path, add_bullet(doc, found, line))


def without(doc: Document, gone: Iterable[Line]) -> Document:
    return _with_lines(doc, {number: None for one in gone for number in range(one.start, one.end + 1)})


def oldest(doc: Document, name: str, most: int) -> tuple[Document, list[Line]]:
    """The file with no more than so many entries in the section, and the oldest, which leave it."""
    known = lines(doc, name)
    gone = list(known[: max(0, len(known) - most)])
    return without(doc, gone), gone


def with_task(doc: Document, line: str | None) -> Document:
    """The file with this as its task, or none."""
    found = working.section(doc, TASK)
    numbers = working.task_lines(doc)
    if found is None:
        raise working.stuck(doc, working.heading_for(doc, TASK))
    if _never_closed(doc, numbers):
        raise working.stuck(doc, found.title)  # what follows is hidden in it, and is not the task
    marker = "- " if numbers and doc.bare[numbers[0] - 1].startswith("- ") else ""
    bare = _with_lines(doc, dict.fromkeys(numbers))
    if line is None:
        return bare
    top = (numbers[0] if numbers else found.start + found.headings) - 1
    for lines_ in ([marker + line], [marker + line, ""], ["", marker + line, ""]):
        made = document(doc.path, insert_lines(bare, top, lines_))
        if working.task(made) == plain(line) and hides_nothing(doc, made, but=TASK):
            return made
    raise working.stuck(doc, found.title)


def _never_closed(doc: Document, numbers: Sequence[int]) -> bool:
    """Whether a code fence among these lines goes on to the end of the file because nothing closes it."""
    return max(numbers, default=0) == len(doc.lines) and not unclosed_fences(list(doc.bare)).isdisjoint(numbers)
