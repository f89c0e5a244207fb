"""SESSION-STATE.md, working memory: its five sections, whatever language their headings are in, and slice edits of them."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from nacre import disk
from nacre.clock import Clock
from nacre.errors import BadInput, PathEscape
from nacre.guard.values import pattern
from nacre.i18n import language
from nacre.model import Workspace
from nacre.text.blocks import real_day, unclosed_fences
from nacre.vault.entries import (
    Document,
    Item,
    Section,
    add_bullet,
    add_section,
    document,
    insert_lines,
    plain_title,
    shape_of,
    words_of,
)
from nacre.vault.storage import storage_of

TASK, CONTEXT, DECISIONS, PENDING, BLOCKERS = SECTIONS = ("task", "context", "decisions", "pending", "blockers")
LARGEST = 1_000_000  # bytes; what is longer is no working memory
TITLE = ("Session State", "会话状态")
HEADINGS: Mapping[str, tuple[str, str]] = {  # as a new file has them
    TASK: ("Current Task", "当前任务"),
    CONTEXT: ("Key Context", "关键上下文"),
    DECISIONS: ("Recent Decisions", "近期决策"),
    PENDING: ("Pending", "待办事项"),
    BLOCKERS: ("Blockers", "阻塞项"),
}
_NAMES = {  # in plain form, best first: as a new file has them, then as users and their agents call them too
    name: (*map(plain_title, HEADINGS[name]), *others)
    for name, others in {
        TASK: ("task", "active task", "任务", "进行中的任务"),
        CONTEXT: ("context", "上下文", "关键信息"),
        DECISIONS: ("decisions", "decision", "decide", "key decisions", "最近决策", "近期决定", "决策", "决定"),
        PENDING: ("pending actions", "pending items", "pending tasks", "todo", "to do", "待办", "待处理"),
        BLOCKERS: ("blocker", "blocked", "阻塞", "阻碍", "障碍"),
    }.items()
}
DAY_MARK = re.compile(r"[ \t]*<!--[ \t]*day:[ \t]*(\d{4}-\d{2}-\d{2})[ \t]*-->[ \t]*")
_TIMED = re.compile(r"\[(?:(\d{4}-\d{2}-\d{2})[ T])?(\d{1,2}:\d{2})\]\s*")
_BOX = r"\[([ xX])\]\s*"
_KEY = r"(.[^:：\n]*)[:：](.*)"
# What would be Markdown at the beginning of a line, and must stay text there.
_SIGNS = (
    r"#{1,6}(?=\s|\Z)|>|`{3,}|~{3,}|[-+*](?=\s|\Z)|[-=]+\s*\Z|(?:[-*_]\s*){3,}\Z|<(?=[A-Za-z/!?])|\[[ xX]\](?=\s|\Z)"
    r"|\d{1,9}[.)](?=\s|\Z)"
)


class StateEntry(NamedTuple):
    """An entry of a section. It goes from line `start` to `end`, both counted from 1."""

    words: str  # what it says, without its time, its box or its key
    start: int
    end: int
    key: str = ""
    time: str = ""
    day: str = ""  # as the line itself tells it
    done: bool = False


class State(NamedTuple):
    """Working memory as read: its hash (None: a new file), and the day on which it was last changed."""

    document: Document
    read: str | None
    written: dt.date | None = None


def path_of(workspace: Workspace) -> Path:
    return workspace.inside(workspace.state.name)


def writable(workspace: Workspace) -> Path:
    """Where working memory is written; an error where a link stands: what it leads to is another file, with rules of its own."""
    stored = storage_of(workspace).about(workspace.state.name)
    if stored and stored.is_link:
        raise PathEscape(
            f"{workspace.state.name} is a link, so Nacre does not write to it. Replace it with the file itself.",
            f"{workspace.state.name} 是链接，Nacre 不会写入。请换成真正的文件。",
        )
    return path_of(workspace)


def read_state(workspace: Workspace, clock: Clock) -> State:
    """The file as it stands. One that cannot be edited is left alone with a sentence that says why."""
    path, storage = path_of(workspace), storage_of(workspace)
    data = storage.read(path.name)
    if data is None or not data.strip():
        return State(document(path, template()), None if data is None else disk.digest(data))
    if len(data) > LARGEST:
        raise BadInput(
            f"{path.name} is larger than {LARGEST // 1000000} MB, so Nacre does not touch it. Shorten it or move it away.",
            f"{path.name} 超过 {LARGEST // 1_000_000} MB，Nacre 不会改动它。请精简，或将其移走。",
        )
    doc = document(path, data)
    assert doc.text  # a file that is no UTF-8 says so here
    stored = storage.about(path.name)
    modified = dt.datetime.fromtimestamp(stored.modified / 1e9, dt.UTC) if stored else clock.now()
    return State(doc, doc.hash, clock.local(modified).date())


def template() -> bytes:
    chinese = language() == "zh"
    return "".join([f"# {TITLE[chinese]}\n", *(f"## {names[chinese]}\n" for names in HEADINGS.values())]).encode()


def name_of(title: str) -> str | None:
    """The section that a word of the user's means; None when it is none of the five."""
    return next((name for name in SECTIONS if plain_title(title) in (name, *_NAMES[name])), None)


def find_section(doc: Document, name: str) -> Section | None:
    """The section of the file, by the best of the headings that it may have."""
    titles = {plain_title(section.title): section for section in reversed(doc.sections) if section.level}
    return next((titles[title] for title in _NAMES[name] if title in titles), None)


def heading_for(doc: Document, name: str) -> str:
    """The heading that a missing section gets: in the language of the others."""
    titles = {section.title for section in doc.sections}
    chinese = (number for pair in (TITLE, *HEADINGS.values()) for number in (0, 1) if pair[number] in titles)
    return HEADINGS[name][next(chinese, language() == "zh")]


def section_entries(doc: Document, name: str) -> tuple[StateEntry, ...]:
    entries = (_entry(name, item) for item in _section_items(doc, name))
    return tuple(entry for entry in entries if entry.words or entry.key)


def nested_entries(doc: Document, name: str) -> list[tuple[StateEntry, str]]:
    """The entries of a section at every depth, each with what it says before its first nested one."""
    items = _section_items(doc, name)[::-1]
    entries: list[tuple[StateEntry, str]] = []
    while items:
        item = items.pop()
        inner = doc.nested(item)
        text = "\n".join(item.text.split("\n")[: inner[0].start - item.start]) if inner else item.text
        entries.append((_entry(name, item), _entry(name, item._replace(text=text)).words))
        items += inner[::-1]
    return entries


def _section_items(doc: Document, name: str) -> list[Item]:
    section = find_section(doc, name)
    return [item for item in doc.entries if section and section.start <= item.start <= section.end]


def _entry(name: str, item: Item) -> StateEntry:
    words, lines = words_of(item.text), (item.start, item.end)
    if name == DECISIONS and (timed := _TIMED.match(words)):
        return StateEntry(plain(words[timed.end() :], first=False), *lines, time=timed[2], day=timed[1] or "")
    if name == PENDING and (box := pattern(_BOX).match(words)):
        return StateEntry(plain(words[box.end() :], first=False), *lines, done=box[1] != " ")
    if name == CONTEXT and (pair := pattern(_KEY).fullmatch(plain(words))):
        return StateEntry(pair[2].strip(), *lines, key=pair[1].strip())
    return StateEntry(plain(words), *lines)


def task_lines(doc: Document) -> tuple[int, ...]:
    """The numbers of the lines that say what the task is; comments and blank lines are not among them."""
    section = find_section(doc, TASK)
    numbers: list[int] = []
    for block in doc.blocks if section else ():
        inside = section and section.start + section.headings <= block.start <= section.end
        if inside and not doc.bare[block.start - 1].lstrip().startswith("<!--"):
            numbers += range(block.start, block.end + 1)
    return tuple(numbers)


def current_task(doc: Document) -> str:
    first, *rest = [doc.bare[number - 1].strip() for number in task_lines(doc)] or [""]
    return " ".join([plain(first.removeprefix("- ")), *rest]).strip()


def day_mark(doc: Document) -> tuple[int, dt.date] | None:
    """The line that says of which day the times without a date are, and that day."""
    for number, line in enumerate(doc.bare, start=1):
        if (match := DAY_MARK.fullmatch(line)) and real_day(match[1]):
            return number, dt.date.fromisoformat(match[1])
    return None


def as_plain(state: State) -> dict[str, Any]:
    doc = state.document
    mark = day_mark(doc)
    day = mark[1].isoformat() if mark else ""
    return {
        TASK: current_task(doc) or None,
        CONTEXT: [{"key": entry.key, "value": entry.words} for entry in section_entries(doc, CONTEXT)],
        DECISIONS: [
            {"at": f"{entry.day or day} {entry.time}".strip() if entry.time else None, "text": entry.words}
            for entry in section_entries(doc, DECISIONS)
        ],
        PENDING: [entry.words for entry in section_entries(doc, PENDING) if not entry.done],
        BLOCKERS: [entry.words for entry in section_entries(doc, BLOCKERS)],
    }


def section_body(doc: Document, title: str) -> str | None:
    """What stands in a section, by one of our names for it or by its own heading; None when there is none."""
    if name := name_of(title):
        section = find_section(doc, name)
    else:
        same_title = (part for part in doc.sections if part.level and plain_title(part.title) == plain_title(title))
        section = next(same_title, None)
    if not section:
        return "" if name else None
    inside = doc.bare[section.start + section.headings - 1 : section.end]
    return "".join(f"{line}\n" for line in inside if line.strip())


def as_text(words: str, *, first: bool = True) -> str:
    """The words so written that nothing in them is taken for Markdown; `plain` gives them back."""
    safe = words.replace("<!--", "&lt;!--")
    return "\\" + safe if first and _is_sign(safe) else safe


def plain(written: str, *, first: bool = True) -> str:
    """The words that `as_text` wrote so."""
    is_escaped = first and written.startswith("\\") and _is_sign(written)
    return written[is_escaped:].replace("&lt;!--", "<!--")


def _is_sign(words: str) -> bool:
    return pattern(_SIGNS).match(words.lstrip("\\")) is not None


def same(words: str, other: str) -> bool:
    return words.casefold().split() == other.casefold().split()


def stuck(doc: Document, name: str) -> BadInput:
    section = find_section(doc, name)
    title = section.title if section else heading_for(doc, name)
    return BadInput(
        f"“{title}” in {doc.path.name} cannot be changed: it contains an unclosed code fence or comment. Close it first.",
        f"无法修改 {doc.path.name} 的“{title}”：其中有未闭合的代码块或注释。请先将其闭合。",
    )


# Slice edits: an entry added or taken out, a task set, times of earlier days given their date.


def dated(state: State, today: dt.date, *, marked: bool = False) -> Document:
    """The file with dates before the times of earlier days, and the mark that says of which day the other times are."""
    from nacre.guard.secrets import redact

    doc, mark = state.document, day_mark(state.document)
    if not mark and not marked:
        return doc
    day = mark[1] if mark else state.written
    new: dict[int, str | None] = {}
    if day and (day != today if mark else day < today):
        for entry in section_entries(doc, DECISIONS):
            if entry.time and not entry.day:
                line = doc.bare[entry.start - 1]
                new[entry.start] = line.replace(f"[{entry.time}]", f"[{day.isoformat()} {entry.time}]", 1)
        if redact("\n".join(filter(None, new.values()))).findings:  # such a line would be refused: it stays as it is
            new = {number: line for number, line in new.items() if not redact(line or "").findings}
    day_line = f"<!-- day: {today.isoformat()} -->"
    if mark:
        return with_lines(doc, {**new, mark[0]: day_line})
    doc = with_lines(doc, new)
    title = next((section for section in doc.sections if section.level == 1), None)
    section = find_section(doc, DECISIONS)
    place = title.start + title.headings - 1 if title else section.start - 1 if section else len(doc.lines)
    # Else above a comment that is never closed, and would end here.
    top = 0 if doc.frontmatter is None else doc.blocks[0].end
    edited = document(doc.path, insert_lines(doc, place, [day_line]))
    return edited if shape_of(doc) == shape_of(edited) else document(doc.path, insert_lines(doc, top, [day_line]))


def with_lines(doc: Document, new: Mapping[int, str | None]) -> Document:
    """The file with other words in the lines of these numbers, each ending as it did; without the line where there are none."""
    if not new:
        return doc
    lines: list[str] = []
    for number, (line, bare) in enumerate(zip(doc.lines, doc.bare, strict=True), start=1):
        words = new.get(number, bare)
        mark = "\ufeff" if line.startswith("\ufeff") else ""
        lines.append(mark if words is None else mark + words + line[len(mark) + len(bare) :])
    return document(doc.path, "".join(lines).encode())


def hides_nothing(old: Document, new: Document, name: str) -> bool:
    """Whether every heading and entry of the old file is still one in the new, those of one section set aside."""
    sections = ((doc, find_section(doc, name)) for doc in (old, new))
    first, second = (shape_of(doc, range(part.start, part.end + 1) if part else ()) for doc, part in sections)
    return first == second


def with_entry(doc: Document, name: str, line: str) -> Document:
    doc, section = _with_section(doc, name)
    return document(doc.path, add_bullet(doc, section, line))


def _with_section(doc: Document, name: str) -> tuple[Document, Section]:
    if section := find_section(doc, name):
        return doc, section
    doc = document(doc.path, add_section(doc, heading_for(doc, name), []))
    if section := find_section(doc, name):
        return doc, section
    raise stuck(doc, name)  # a fence or comment that is never closed hides it


def without(doc: Document, entries: Iterable[StateEntry]) -> Document:
    return with_lines(doc, {number: None for entry in entries for number in range(entry.start, entry.end + 1)})


def without_oldest(doc: Document, name: str, most: int) -> tuple[Document, tuple[StateEntry, ...]]:
    """The file with no more than so many entries in the section, and the oldest, which leave it."""
    entries = section_entries(doc, name)
    oldest = entries[: max(0, len(entries) - most)]
    return without(doc, oldest), oldest


def with_task(doc: Document, line: str | None) -> Document:
    doc, section = _with_section(doc, TASK)
    numbers = task_lines(doc)
    if not unclosed_fences(list(doc.bare)).isdisjoint(numbers):
        raise stuck(doc, TASK)  # what follows is hidden in a fence that nothing closes, and is not the task
    marker = "- " if numbers and doc.bare[numbers[0] - 1].startswith("- ") else ""
    bare = with_lines(doc, dict.fromkeys(numbers))
    if line is None:
        return bare
    top = (numbers[0] if numbers else section.start + section.headings) - 1
    for lines in ([marker + line], [marker + line, ""], ["", marker + line, ""]):
        edited = document(doc.path, insert_lines(bare, top, lines))
        if current_task(edited) == plain(line) and hides_nothing(doc, edited, TASK):
            return edited
    raise stuck(doc, TASK)
