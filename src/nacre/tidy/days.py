"""The days of a workspace: every daily log, living or archived, and what each of them says."""

from __future__ import annotations

import datetime as dt
import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from nacre.errors import NacreError, raise_unless_absent
from nacre.guard.sanitise import one_line
from nacre.model.entry import TYPES
from nacre.model.problem import Problem
from nacre.text.blocks import HEADING, ITEM, TEXT, Block
from nacre.text.stamps import Stamp, bare_words, label_of, stamp_of
from nacre.vault import atomic
from nacre.vault.files import LARGEST
from nacre.vault.markdown import Document, Item, document, words_of
from nacre.vault.trail import mark_of
from nacre.vault.workspace import Workspace
from nacre.words import say

CATEGORIES = ("决策", "发现", "偏好", "任务", "Decision", "Discovery", "Preference", "Task")
LONGEST_PROSE = 400  # characters of a paragraph that go into the digest
LONGEST_JUDGED = 2_000  # characters of a statement that are looked at to tell what it is
_NAME = re.compile(r"(\d{4}-\d{2}-\d{2})\.md")
_FOLDER = re.compile(r"\d{4}(?:-\d{2})?")
_BOX = re.compile(r"\A\[[ xX]\]\s+")
_QUOTE = re.compile(r"\A[ \t]*>[ \t]?")
_TABLE = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
_SENTENCE_END = re.compile(r"[。！？；…]+[”’」』）)】》\"']*|(?<![.!?])[.!?]+[\"'”’)\]]*(?=\s)")


@dataclass(frozen=True)
class Day:
    """A daily log as the folder shows it, unread."""

    date: dt.date
    path: Path
    archived: bool
    size: int


@dataclass(frozen=True)
class Days:
    """Every daily log by its date, and trouble with what looks like one."""

    days: tuple[Day, ...]
    problems: tuple[Problem, ...]


@dataclass(frozen=True)
class Said:
    """One thing that a log says: a list item with all that is nested in it, or a paragraph, on one line."""

    day: str
    words: str  # without its type or category
    label: str | None  # its type or category, as written
    project: str | None
    group: str | None
    session: str | None
    heading: str
    line: int
    mark: str
    checkpoint: str = ""  # the file of the layers that it stands in, where it was promoted from one
    by_agent: bool = False  # an agent noted it


@dataclass(frozen=True)
class Log:
    """A daily log as it was read."""

    day: Day
    hash: str
    size: int
    said: tuple[Said, ...]


def days(workspace: Workspace, today: dt.date) -> Days:
    """Every daily log, oldest first. What is named for no real day, or for one that has not come, is left alone."""
    found: list[Day] = []
    problems: list[Problem] = []
    early: list[str] = []
    latest = _after(today, 1)
    for entry, archived in _entries(workspace):
        match = _NAME.fullmatch(entry.name)
        if match is None:
            continue
        date = _date(match[1])
        try:
            about = entry.stat(follow_symlinks=False)
        except OSError:
            continue  # gone meanwhile
        if date is None:
            problems.append(_no_real_day(_shown(workspace, entry)))
        elif date > latest:
            early.append(_shown(workspace, entry))
        elif not stat.S_ISREG(about.st_mode) or about.st_size > LARGEST:
            problems.append(_no_log(_shown(workspace, entry), large=about.st_size > LARGEST))
        else:
            found.append(Day(date, Path(entry.path), archived, about.st_size))
    problems += [_not_yet(sorted(early))] if early else []
    return Days(tuple(sorted(found, key=lambda one: (one.date, one.archived, one.path))), tuple(problems))


def _date(name: str) -> dt.date | None:
    try:
        return dt.date.fromisoformat(name)
    except ValueError:
        return None


def _shown(workspace: Workspace, entry: os.DirEntry[str]) -> str:
    return workspace.relative(Path(entry.path))


def _entries(workspace: Workspace) -> Iterator[tuple[os.DirEntry[str], bool]]:
    for entry in _listed(workspace.memory):
        yield entry, False
    for folder in _listed(workspace.archive):
        if _FOLDER.fullmatch(folder.name) and folder.is_dir(follow_symlinks=False):
            for entry in _listed(Path(folder.path)):
                yield entry, True


def _listed(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda one: one.name)
    except OSError as error:
        raise_unless_absent(folder, error)
        return []


def _after(day: dt.date, count: int) -> dt.date:
    try:
        return day + dt.timedelta(days=count)
    except OverflowError:
        return dt.date.max


def read(day: Day) -> Log:
    """The log with what it says. Raises `NacreError` when it is gone or cannot be read."""
    data = atomic.read_bytes(day.path)
    if data is None:
        raise NacreError(say(f"{day.path} is gone; run the command again.", f"{day.path} 已不存在；请重新运行命令。"))
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise NacreError(
            say(
                f"{day.path} is stored as UTF-16 and stays as it is; save it as UTF-8.",
                f"{day.path} 以 UTF-16 保存，保持原样；请另存为 UTF-8。",
            )
        )
    return Log(day, atomic.digest(data), len(data), said(day.date.isoformat(), data))


def said(day: str, data: bytes) -> tuple[Said, ...]:
    """What a log says, in order. Code, tables, comments and headings are no statements; bytes that are not UTF-8 are replaced."""
    doc = document(Path(f"{day}.md"), data.decode("utf-8", "replace").encode())
    items = {item.start: item for item in doc.items}
    found: list[Said] = []
    path: list[tuple[int, str]] = []
    for block in doc.blocks:
        if block.kind == HEADING:
            while path and path[-1][0] >= block.level:
                path.pop()
            path.append((block.level, block.text))
            continue
        stamp = _stamp([title for _, title in path])
        for line, text in _texts(doc, block, items):
            if words := _visible(text):
                found.append(_said(day, words, text, stamp, path[-1][1] if path else "", line))
    return tuple(found)


def _said(day: str, words: str, text: str, stamp: Stamp, heading: str, line: int) -> Said:
    label = label_of(words)
    if label not in (*TYPES, *CATEGORIES):
        label = None  # "[HTTP] …" belongs to the words
    bare = bare_words(words) if label else words
    about = (stamp.project, stamp.group, stamp.session)
    return Said(day, bare, label, *about, heading, line, mark_of(text), by_agent=stamp.by_agent)


def _stamp(headings: list[str]) -> Stamp:
    """What the headings above say together; the innermost that names a field has the last word on it."""
    found = Stamp()
    for heading in headings:
        found = stamp_of(heading).within(found)
    return found


def _visible(text: str) -> str:
    """The words as people see them; none when nothing is said."""
    words = one_line(text)
    return words if any(sign.isalnum() for sign in bare_words(words)) else ""


def _texts(doc: Document, block: Block, items: Mapping[int, Item]) -> Iterator[tuple[int, str]]:
    """The statements of one block, each with its line."""
    if block.kind == ITEM:
        yield block.start, _BOX.sub("", items[block.start].words)
    elif block.kind == TEXT:
        yield from _paragraph(doc.bare[block.start - 1 : block.end], block.start)


def _paragraph(own: tuple[str, ...], start: int) -> Iterator[tuple[int, str]]:
    if own[0].lstrip().startswith("<!--"):
        return
    table = next((at for at, line in enumerate(own) if at and "|" in own[at - 1] and _TABLE.fullmatch(line)), None)
    prose = [_QUOTE.sub("", line) for line in (own if table is None else own[: table - 1])]
    heads = [at for at, line in enumerate(prose) if label_of(line)]
    begins = heads if heads and heads[0] == 0 else [0]  # lines that carry a label each are statements of their own
    for first, last in zip(begins, [*begins[1:], len(prose)], strict=True):
        if text := words_of("\n".join(prose[first:last])):
            yield start + first, _shortened(text)


def _shortened(text: str) -> str:
    """At most 400 characters, up to the end of a sentence; of a sentence that is longer, up to the end of a word."""
    if len(text) <= LONGEST_PROSE:
        return text
    head = text[:LONGEST_PROSE]
    ends = [match.end() for match in _SENTENCE_END.finditer(text, 0, LONGEST_PROSE + 1)]
    if fitting := [end for end in ends if LONGEST_PROSE // 4 <= end <= LONGEST_PROSE]:
        return head[: fitting[-1]]
    space = head.rfind(" ", LONGEST_PROSE // 2, LONGEST_PROSE - 1)
    return (head[:space] if space > 0 else head[:-1]) + "…"


def judged_part(words: str) -> str:
    """As much of a statement as is taken apart and judged; of a longer one its beginning, up to the end of a word."""
    if len(words) <= LONGEST_JUDGED:
        return words
    space = words.rfind(" ", LONGEST_JUDGED // 2, LONGEST_JUDGED)
    return words[: space if space > 0 else LONGEST_JUDGED - 1] + "…"


def _no_real_day(shown: str) -> Problem:
    return Problem(
        "no real date",
        say(
            f"{shown} is named for a day that does not exist and stays as it is.",
            f"{shown} 的文件名不是真实日期，保持原样。",
        ),
        shown,
        remedy=say("rename it to the day it is about", "请改名为对应的日期"),
    )


def _not_yet(shown: list[str]) -> Problem:
    count = len(shown)
    named = (
        shown[0] if count == 1 else say(f"{count} logs ({shown[0]} and later)", f"{count} 个日志（{shown[0]} 及之后）")
    )
    return Problem(
        "after today",
        say(
            f"{named}: dated after today, left as they are."
            if count > 1
            else f"{named} is dated after today, left as it is.",
            f"{named} 的日期晚于今天，保持原样。",
        ),
        shown[0],
        remedy=say("check the clock, or rename what is misnamed", "请检查系统时钟，或更正文件名"),
    )


def _no_log(shown: str, *, large: bool) -> Problem:
    if large:
        return Problem(
            "too large",
            say(f"{shown} is too large for a daily log and stays as it is.", f"{shown} 作为每日日志过大，保持原样。"),
            shown,
            remedy=say("split it into smaller files", "请拆分成较小的文件"),
        )
    return Problem(
        "no ordinary file",
        say(f"{shown} is a link or no ordinary file; it stays as it is.", f"{shown} 是链接或不是普通文件，保持原样。"),
        shown,
    )
