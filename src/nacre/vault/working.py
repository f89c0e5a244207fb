"""SESSION-STATE.md, working memory: its five sections, whatever language their headings are in, and slice edits of them."""

from __future__ import annotations

import datetime as dt
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from nacre.clock import Clock
from nacre.errors import BadInput, PathEscape
from nacre.guard.finding import pattern
from nacre.i18n import language, say
from nacre.model.workspace import Workspace
from nacre.text.blocks import unclosed_fences
from nacre.vault import disk
from nacre.vault.entries import words_of
from nacre.vault.markdown import Document, Item, Section, add_bullet, add_section, document, insert_lines

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
_CALLED = {  # as users and their agents call them too, best first
    TASK: ("task", "active task", "任务", "进行中的任务"),
    CONTEXT: ("context", "上下文", "关键信息"),
    DECISIONS: ("decisions", "decision", "decide", "key decisions", "最近决策", "近期决定", "决策", "决定"),
    PENDING: ("pending actions", "pending items", "pending tasks", "todo", "to do", "待办", "待处理"),
    BLOCKERS: ("blocker", "blocked", "阻塞", "阻碍", "障碍"),
}
_DAY = re.compile(r"[ \t]*<!--[ \t]*day:[ \t]*(\d{4}-\d{2}-\d{2})[ \t]*-->[ \t]*")
_TIMED = re.compile(r"\[(?:(\d{4}-\d{2}-\d{2})[ T])?(\d{1,2}:\d{2})\]\s*")
_BOX = r"\[([ xX])\]\s*"
_TAG = r"</?[A-Za-z][\w-]*(?:[\s/>]|$)"
_KEY = r"(.[^:：\n]*)[:：](.*)"
# What would be Markdown at the beginning of a line, and must stay text there.
_SIGNS = (
    r"#{1,6}(?=\s|\Z)|>|`{3,}|~{3,}|[-+*](?=\s|\Z)|[-=]+\s*\Z|(?:[-*_]\s*){3,}\Z|<(?=[A-Za-z/!?])|\[[ xX]\](?=\s|\Z)"
)
_NUMBER = r"\A(\d{1,9})(\\*)([.)])(?=\s|\Z)"
_WRITTEN_COMMENT = "&((?:amp;)*)lt;!--"


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
    """Working memory as read (the hash of it; None: there is no file yet, and the document is the one that would be made).

    `written` is the day on which the file was last changed.
    """

    document: Document
    read: str | None
    written: dt.date | None = None


def path_of(workspace: Workspace) -> Path:
    """Where working memory lies; `PathEscape` when a link leads out of the workspace."""
    return workspace.inside(workspace.relative(workspace.state))


def writable(workspace: Workspace) -> Path:
    """Where working memory is written; an error where a link stands: what it leads to is another file, with rules of its own."""
    if os.path.islink(workspace.state):
        raise PathEscape(
            say(
                f"{workspace.state.name} is a link, so Nacre does not write to it. Put the file itself in its place.",
                f"{workspace.state.name} 是链接，Nacre 不会写入。请换成真正的文件。",
            )
        )
    return path_of(workspace)


def read_state(workspace: Workspace, clock: Clock) -> State:
    """The file as it stands. One that cannot be edited is left alone with a sentence that says why."""
    path = path_of(workspace)
    try:
        about = path.stat()
    except OSError:
        about = None
    if about and about.st_size > LARGEST:
        raise BadInput(
            say(
                f"{path.name} is larger than {LARGEST // 1_000_000} MB, so Nacre leaves it alone. Shorten it, or move it away.",
                f"{path.name} 超过 {LARGEST // 1_000_000} MB，Nacre 不会改动它。请精简，或将其移走。",
            )
        )
    data = disk.read_bytes(path)
    if data is None or not data.strip():
        return State(document(path, template()), None if data is None else disk.digest(data))
    doc = document(path, data)
    assert doc.text  # a file that is no UTF-8 says so here
    moment = dt.datetime.fromtimestamp(about.st_mtime, dt.UTC) if about else None
    return State(doc, doc.hash, clock.local(moment).date() if moment else None)


def template() -> bytes:
    """A new file, in the language that Nacre speaks."""
    chinese = language() == "zh"
    return "".join([f"# {TITLE[chinese]}\n", *(f"## {names[chinese]}\n" for names in HEADINGS.values())]).encode()


def name_of(wanted: str) -> str | None:
    """The section that a word of the user's means; None when it is none of the five."""
    for name in SECTIONS:
        if _plain(wanted) in (name, *map(_plain, HEADINGS[name]), *_CALLED[name]):
            return name
    return None


def find_section(doc: Document, name: str) -> Section | None:
    """The section of the file, by the best of the headings that it may have."""
    titles = {_plain(one.title): one for one in reversed(doc.sections) if one.level}
    for wanted in (*map(_plain, HEADINGS[name]), *_CALLED[name]):
        if wanted in titles:
            return titles[wanted]
    return None


def heading_for(doc: Document, name: str) -> str:
    """The heading that a missing section gets: in the language of the others."""
    titles = {one.title for one in doc.sections}
    known = [chinese for pair in (TITLE, *HEADINGS.values()) for chinese in (False, True) if pair[chinese] in titles]
    return HEADINGS[name][known[0] if known else language() == "zh"]


def section_entries(doc: Document, name: str) -> tuple[StateEntry, ...]:
    """The entries of a section, oldest first."""
    found = find_section(doc, name)
    if not found:
        return ()
    items = [_without_foreign(item) for item in doc.items if found.start <= item.start <= found.end]
    return tuple(line for item in items if (line := _line(name, item)).words or line.key)


class Nested(NamedTuple):
    """An entry at any depth: as a whole, and what it says before the first entry that is nested in it."""

    line: StateEntry
    own: StateEntry


def nested_entries(doc: Document, name: str) -> list[Nested]:
    """The entries of a section with those that are nested in them, each before its own."""
    outermost = {one.start for one in section_entries(doc, name)}
    todo = [_without_foreign(item) for item in doc.items if item.start in outermost][::-1]
    found: list[Nested] = []
    while todo:
        item = todo.pop()
        inner = [_without_foreign(one) for one in doc.nested(item)]
        own = _until(item, inner[0].start) if inner else item
        found.append(Nested(_line(name, item), _line(name, own)))
        todo += inner[::-1]
    return found


def _without_foreign(item: Item) -> Item:
    """An entry without the tags below it, such as the end of a fold around the list: they are no words of it."""
    at = next((at for at, line in enumerate(item.text.split("\n")) if at and pattern(_TAG).match(line)), None)
    return item if at is None else _until(item, item.start + at)


def _until(item: Item, line: int) -> Item:
    """An entry up to the line before one."""
    kept = item.text.split("\n")[: line - item.start]
    while len(kept) > 1 and not kept[-1].strip():
        kept.pop()
    text = "\n".join(kept)
    return replace(item, end=item.start + len(kept) - 1, text=text, words=words_of(text))


def _line(name: str, item: Item) -> StateEntry:
    words = words_of(item.text)
    if name == DECISIONS and (timed := _TIMED.match(words)):
        return StateEntry(
            plain(words[timed.end() :], first=False), item.start, item.end, time=timed[2], day=timed[1] or ""
        )
    if name == PENDING and (box := pattern(_BOX).match(words)):
        return StateEntry(plain(words[box.end() :], first=False), item.start, item.end, done=box[1] != " ")
    if name == CONTEXT and (pair := pattern(_KEY).fullmatch(plain(words))):
        return StateEntry(pair[2].strip(), item.start, item.end, key=pair[1].strip())
    return StateEntry(plain(words), item.start, item.end)


def task_lines(doc: Document) -> tuple[int, ...]:
    """The numbers of the lines that say what the task is; comments and blank lines are not among them."""
    found = find_section(doc, TASK)
    if not found:
        return ()
    numbers: list[int] = []
    for block in doc.blocks:
        inside = found.start + found.headings <= block.start <= found.end
        if inside and not doc.bare[block.start - 1].lstrip().startswith("<!--"):
            numbers += range(block.start, block.end + 1)
    return tuple(numbers)


def current_task(doc: Document) -> str:
    """What is being done now; empty when nothing is."""
    said = (doc.bare[number - 1].strip() for number in task_lines(doc))
    first, *rest = list(said) or [""]
    return " ".join([plain(first.removeprefix("- ")), *rest]).strip()


def day_mark(doc: Document) -> tuple[int, dt.date] | None:
    """The line that says of which day the times without a date are, and that day."""
    for number, line in enumerate(doc.bare, start=1):
        if match := _DAY.fullmatch(line):
            try:
                return number, dt.date.fromisoformat(match[1])
            except ValueError:
                continue
    return None


def day_line(day: dt.date) -> str:
    return f"<!-- day: {day.isoformat()} -->"


def as_plain(state: State) -> dict[str, Any]:
    """Everything that the file says, as plain values."""
    doc = state.document
    mark = day_mark(doc)
    of_mark = mark[1].isoformat() if mark else None
    decisions = [
        {"at": f"{day} {one.time}" if (day := one.day or of_mark) and one.time else one.time or None, "text": one.words}
        for one in section_entries(doc, DECISIONS)
    ]
    return {
        TASK: current_task(doc) or None,
        CONTEXT: [{"key": one.key, "value": one.words} for one in section_entries(doc, CONTEXT)],
        DECISIONS: decisions,
        PENDING: [one.words for one in section_entries(doc, PENDING) if not one.done],
        BLOCKERS: [one.words for one in section_entries(doc, BLOCKERS)],
    }


def section_body(doc: Document, wanted: str) -> str | None:
    """What stands in a section, by one of our names for it or by its own heading; None when there is none."""
    name = name_of(wanted)
    found = find_section(doc, name) if name else _titled(doc, wanted)
    if not found:
        return "" if name else None
    inside = [line for line in doc.bare[found.start + found.headings - 1 : found.end] if line.strip()]
    return "".join(f"{line}\n" for line in inside)


def _titled(doc: Document, wanted: str) -> Section | None:
    return next((one for one in doc.sections if one.level and _plain(one.title) == _plain(wanted)), None)


def as_text(words: str, *, first: bool = True) -> str:
    """The words as they are written: no sign at their beginning (where they come first on their line), and no comment, is taken
    for Markdown. What looks as if it were written so already is written so once more, and `plain` gives back every word."""
    safe = pattern(_WRITTEN_COMMENT).sub(r"&amp;\1lt;!--", words) if "&" in words else words
    safe = safe.replace("<!--", "&lt;!--")
    if not first:
        return safe
    if pattern(_SIGNS).match(safe, _slashes(safe)):
        return "\\" + safe
    return pattern(_NUMBER).sub(r"\1\\\2\3", safe, count=1) if safe[:1].isdecimal() else safe


def plain(written: str, *, first: bool = True) -> str:
    """The words that were written so."""
    words = pattern(_WRITTEN_COMMENT).sub(_comment, written) if "&" in written else written
    if not first:
        return words
    if words.startswith("\\") and pattern(_SIGNS).match(words, _slashes(words)):
        return words[1:]
    number = pattern(_NUMBER).match(words) if words[:1].isdecimal() else None
    return number[1] + number[2][1:] + words[number.start(3) :] if number and number[2] else words


def _comment(written: re.Match[str]) -> str:
    return f"&{written[1][4:]}lt;!--" if written[1] else "<!--"


def _slashes(words: str) -> int:
    return len(words) - len(words.lstrip("\\"))


def same(one: str, other: str) -> bool:
    """Whether two lines say the same, but for case and spaces."""
    return one.casefold().split() == other.casefold().split()


def stuck(doc: Document, title: str) -> BadInput:
    return BadInput(
        say(
            f"“{title}” in {doc.path.name} cannot be changed: a code fence or comment there is never closed. Close it first.",
            f"无法修改 {doc.path.name} 的“{title}”：其中有未闭合的代码块或注释。请先将其闭合。",
        )
    )


def _plain(title: str) -> str:
    return " ".join(re.sub(r"[\W_]+", " ", title).casefold().split())


# Slice edits of SESSION-STATE.md: an entry added or taken out, a task set, times of earlier days given their date.


def dated(state: State, today: dt.date, *, marked: bool = False) -> Document:
    """The file with the date before every time of an earlier day, and the mark that says whose times have none.

    A file of another tool has no mark: there the times are of the day when it was last written.
    """
    doc = state.document
    mark = day_mark(doc)
    if not mark and not marked:
        return doc
    day = mark[1] if mark else state.written
    new: dict[int, str | None] = {}
    if day and (day != today if mark else day < today):
        bare = [one for one in section_entries(doc, DECISIONS) if one.time and not one.day]
        told = {
            one.start: doc.bare[one.start - 1].replace(f"[{one.time}]", f"[{day.isoformat()} {one.time}]", 1)
            for one in bare
        }
        new |= _without_secrets(told)
    if mark:
        return _with_lines(doc, {**new, mark[0]: day_line(today)})
    doc = _with_lines(doc, new)
    title = next((one for one in doc.sections if one.level == 1), None)
    place = title.start + title.headings - 1 if title else _before_decisions(doc)
    made = document(doc.path, insert_lines(doc, place, [day_line(today)]))
    if hides_nothing(doc, made):
        return made
    # A comment that the user never closed would end at our mark, and hide what stands between: the top is above it.
    top = 0 if doc.frontmatter is None else doc.blocks[0].end
    return document(doc.path, insert_lines(doc, top, [day_line(today)]))


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
    found = find_section(doc, DECISIONS)
    return found.start - 1 if found else len(doc.lines)


def with_section(doc: Document, name: str) -> Document:
    if find_section(doc, name):
        return doc
    return document(doc.path, add_section(doc, heading_for(doc, name), []))


def hides_nothing(old: Document, new: Document, *, but: str | None = None) -> bool:
    """Whether every heading and entry of the old file is still one in the new, those of one section set aside."""
    return _seen(old, but) == _seen(new, but)


def _seen(doc: Document, but: str | None) -> tuple[list[str], list[str], str | None]:
    aside = find_section(doc, but) if but else None
    items = [item.text for item in doc.items if not aside or not aside.start <= item.start <= aside.end]
    return [one.title for one in doc.sections if one.level], items, doc.frontmatter


def added(doc: Document, name: str, line: str) -> Document:
    doc = with_section(doc, name)
    found = find_section(doc, name)
    if found is None:
        raise stuck(doc, heading_for(doc, name))  # a fence or comment that is never closed hides it
    return document(doc.path, add_bullet(doc, found, line))


def without(doc: Document, gone: Iterable[StateEntry]) -> Document:
    return _with_lines(doc, {number: None for one in gone for number in range(one.start, one.end + 1)})


def oldest(doc: Document, name: str, most: int) -> tuple[Document, list[StateEntry]]:
    """The file with no more than so many entries in the section, and the oldest, which leave it."""
    known = section_entries(doc, name)
    gone = list(known[: max(0, len(known) - most)])
    return without(doc, gone), gone


def with_task(doc: Document, line: str | None) -> Document:
    """The file with this as its task, or none."""
    found = find_section(doc, TASK)
    numbers = task_lines(doc)
    if found is None:
        raise stuck(doc, heading_for(doc, TASK))
    if _never_closed(doc, numbers):
        raise stuck(doc, found.title)  # what follows is hidden in it, and is not the task
    marker = "- " if numbers and doc.bare[numbers[0] - 1].startswith("- ") else ""
    bare = _with_lines(doc, dict.fromkeys(numbers))
    if line is None:
        return bare
    top = (numbers[0] if numbers else found.start + found.headings) - 1
    for lines_ in ([marker + line], [marker + line, ""], ["", marker + line, ""]):
        made = document(doc.path, insert_lines(bare, top, lines_))
        if current_task(made) == plain(line) and hides_nothing(doc, made, but=TASK):
            return made
    raise stuck(doc, found.title)


def _never_closed(doc: Document, numbers: Sequence[int]) -> bool:
    """Whether a code fence among these lines goes on to the end of the file because nothing closes it."""
    return max(numbers, default=0) == len(doc.lines) and not unclosed_fences(list(doc.bare)).isdisjoint(numbers)
