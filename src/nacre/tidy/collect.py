"""What the daily logs and weekly digests say, line by line, and which of it is new to long-term memory."""

from __future__ import annotations

import datetime as dt
import os
import re
import stat
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from nacre.clock import Clock
from nacre.config.settings import Config
from nacre.errors import NacreError, raise_unless_absent
from nacre.guard.sanitise import one_line
from nacre.guard.secrets import redact
from nacre.i18n import say
from nacre.model.entry import TYPES
from nacre.model.report import Problem
from nacre.model.workspace import Workspace
from nacre.text.blocks import HEADING, ITEM, TEXT, Block
from nacre.text.stamps import Stamp, label_of, labelled_spans, stamp_of
from nacre.vault import disk, weekly
from nacre.vault.entries import bare_words, bullet_id, entry_id, source_day, words_of
from nacre.vault.files import LARGEST
from nacre.vault.ledger import Record
from nacre.vault.markdown import Document, Item, document, open_document, set_field
from nacre.vault.provenance import Provenance
from nacre.vault.review import Question

if TYPE_CHECKING:
    from nacre.brain.local.judge import Judge


@dataclass(frozen=True)
class TidyContext:
    """A workspace with its clock, its settings, and the local brain, loaded when first asked for."""

    workspace: Workspace
    clock: Clock
    config: Config
    judge: Callable[[], Judge]


# Facts that have a field of their own: the agent's name in IDENTITY.md; the owner's name, address and time zone in
# USER.md.

IDENTITY, USER = "IDENTITY.md", "USER.md"
_END = r"(?=[\s,.;!?，。；！？、“”\"'「」（）()]|就行|就好|就可以|好了|吧|了|啊|哈|呀|$)"
_NAME = r"[\"“「'‘]?(?P<value>[A-Z][\w'’.-]*(?:\s[A-Z][\w'’.-]*){0,2}|[\u4e00-\u9fff·]{1,10})"
_HAN_NAME = rf"[\"“「『]?(?P<value>[\u4e00-\u9fffA-Za-z0-9·]{{1,10}}?){_END}"


@dataclass(frozen=True)
class Field:
    """A value for the first of the named fields that the file has."""

    file: str
    names: tuple[str, ...]
    value: str


_RULES: tuple[tuple[str, tuple[str, ...], str], ...] = (
    (
        IDENTITY,
        ("Name", "名字", "姓名"),
        r"(?i:\b(?:you(?:'re| are)(?: now)? (?:called|named)|your (?:new )?name (?:is|will be)(?: now)?|(?:i'?ll|i will|i'?m going to|we'?ll) call you"
        r"|call yourself|(?:i )?(?:re)?named? (?:you|yourself|the assistant|the agent)(?: to| as)?"
        r"|(?:the )?(?:assistant|agent) (?:is (?:now )?|was )?(?:called|named|renamed)(?: to)?))\s+" + _NAME,
    ),
    (
        IDENTITY,
        ("Name", "名字", "姓名"),
        r"(?:你|助手|机器人)(?:的)?(?:新)?(?:名字)?(?:以后|现在|今后|从今天起|从现在起|就|也)*(?:叫做?|改名(?:为|叫|成)?|名叫|名字(?:是|叫|改成|改为))\s*"
        + _HAN_NAME,
    ),
    (USER, ("What to call them", "Preferred name", "Called", "称呼", "怎么称呼"), r"\b(?i:call me)\s+" + _NAME),
    (USER, ("Name", "名字", "姓名"), r"\b(?i:my name is|my name's)\s+" + _NAME),
    (
        USER,
        ("What to call them", "Preferred name", "Called", "称呼", "怎么称呼"),
        r"(?<![别不再用要])叫我\s*" + _HAN_NAME,
    ),
    (USER, ("Name", "名字", "姓名"), r"(?:我叫|我的名字(?:是|叫)|我姓名是)\s*" + _HAN_NAME),
    (USER, ("Timezone", "Time zone", "时区"), r"\b(?i:my time ?zone is(?: now)?)\s+(?P<value>[A-Z][\w/+:-]+)"),
    (
        USER,
        ("Timezone", "Time zone", "时区"),
        r"我(?:的|在的)?时区(?:是|改成|改为|换成)\s*(?P<value>[\w/+:\u4e00-\u9fff-]{2,24})",
    ),
    (
        USER,
        ("Language", "Preferred language", "语言", "常用语言"),
        r"\b(?:always )?(?:answer|reply|write|speak|talk)(?: to me)?(?: always)? in (?P<value>English|Chinese|German|French|Spanish|Japanese|Korean|Italian)\b(?! (?:for|this|today))",
    ),
    (
        USER,
        ("Language", "Preferred language", "语言", "常用语言"),
        r"(?:以后|默认|一律|统一|平时)(?:都)?用(?P<value>中文|英文|英语|日语|汉语)(?:回复|回答|交流|跟我说)",
    ),
)
_NO_NAME = re.compile(
    r"(?:什么|啥|谁|哪|怎么|一声|一下|起床|醒|过来|外卖|明天|后天|今晚|稍后|以后).*|The|When|If|Back|Later|Tomorrow|Now"
)
_NOT_SO = re.compile(
    r"\b(?:don'?t|do not|never|stop|not|says?|said|told|asked|he|she|they|colleague'?s?|his|her|their)\W+(?:\w+\W+){0,3}\Z|(?:别|不要|不许|他说|她说|人家)[^，。]{0,4}\Z",
    re.IGNORECASE,
)  # a name that is refused, or somebody else's
_QUESTION = re.compile(r"[?？]\s*\Z|吗\s*[?？]?\Z")


@cache
def _rules() -> tuple[tuple[str, tuple[str, ...], re.Pattern[str]], ...]:
    return tuple((file, names, re.compile(pattern)) for file, names, pattern in _RULES)


def field_in(text: str) -> Field | None:
    """The field that a statement of the owner sets; the last one where it names several ("not A any more, call me B")."""
    if _QUESTION.search(text):
        return None
    for file, names, pattern in _rules():
        for found in reversed(list(pattern.finditer(text))):
            value = found["value"].strip(" '’.-")
            if _NOT_SO.search(text[: found.start()]):
                continue
            if value and not _NO_NAME.fullmatch(value):
                return Field(file, names, value)
    return None


def with_value(doc: Document, field: Field) -> tuple[str, bytes] | None:
    """The name of the field that the file has, and its bytes with the new value; None when it has none of them."""
    for name in field.names:
        data = set_field(doc, name, field.value)
        if data is not None:
            return name, data
    return None


def value_of(doc: Document, name: str) -> str | None:
    """What stands in a field."""
    pattern = re.compile(
        rf"[ \t]*(?:[-*+][ \t]*)?(?:\*\*{re.escape(name)}[:：]\*\*|\*\*{re.escape(name)}\*\*[ \t]*[:：]|{re.escape(name)}[:：])[ \t]*(.*)",
        re.IGNORECASE,
    )
    found = next((match for line in doc.bare if (match := pattern.fullmatch(line))), None)
    return found[1].strip() if found else None


# The days of a workspace: every daily log, living or archived, and what each of them says.

CATEGORIES = ("决策", "发现", "偏好", "任务", "Decision", "Discovery", "Preference", "Task")
LONGEST_PROSE = 400  # characters of a paragraph that go into the digest
LONGEST_JUDGED = 2_000  # characters of a statement that are looked at to tell what it is
_LOG_NAME = re.compile(r"(\d{4}-\d{2}-\d{2})\.md")
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
class DayList:
    """Every daily log by its date, and trouble with what looks like one."""

    days: tuple[Day, ...]
    problems: tuple[Problem, ...]


@dataclass(frozen=True)
class LogLine:
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
    said: tuple[LogLine, ...]


def list_days(workspace: Workspace, today: dt.date) -> DayList:
    """Every daily log, oldest first. What is named for no real day, or for one that has not come, is left alone."""
    found: list[Day] = []
    problems: list[Problem] = []
    early: list[str] = []
    latest = _after(today, 1)
    for entry, archived in _entries(workspace):
        match = _LOG_NAME.fullmatch(entry.name)
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
    return DayList(tuple(sorted(found, key=lambda one: (one.date, one.archived, one.path))), tuple(problems))


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


def read_log(day: Day) -> Log:
    """The log with what it says. Raises `NacreError` when it is gone or cannot be read."""
    data = disk.read_bytes(day.path)
    if data is None:
        raise NacreError(say(f"{day.path} is gone; run the command again.", f"{day.path} 已不存在；请重新运行命令。"))
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise NacreError(
            say(
                f"{day.path} is stored as UTF-16 and stays as it is; save it as UTF-8.",
                f"{day.path} 以 UTF-16 保存，保持原样；请另存为 UTF-8。",
            )
        )
    return Log(day, disk.digest(data), len(data), log_lines(day.date.isoformat(), data))


def log_lines(day: str, data: bytes) -> tuple[LogLine, ...]:
    """What a log says, in order. Code, tables, comments and headings are no statements; bytes that are not UTF-8 are replaced."""
    doc = document(Path(f"{day}.md"), data.decode("utf-8", "replace").encode())
    items = {item.start: item for item in doc.items}
    found: list[LogLine] = []
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
                found.append(_log_line(day, words, text, stamp, path[-1][1] if path else "", line))
    return tuple(found)


def _log_line(day: str, words: str, text: str, stamp: Stamp, heading: str, line: int) -> LogLine:
    label = label_of(words)
    if label not in (*TYPES, *CATEGORIES):
        label = None  # "[HTTP] …" belongs to the words
    bare = bare_words(words) if label else words
    about = (stamp.project, stamp.group, stamp.session)
    return LogLine(day, bare, label, *about, heading, line, bullet_id(text), by_agent=stamp.by_agent)


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
    for first, last in labelled_spans(prose) or [(0, len(prose))]:
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


# Which lines of the logs and digests are offered to long-term memory tonight: what nobody was asked about yet.

WEEKS = 5  # digests that are looked into for lines that came from no log
FIELD_NOTE = re.compile(rf"(?:{re.escape(IDENTITY)}|{re.escape(USER)}) [^:]+: ")  # our own note on a field that was set


LineKeys = set[tuple[str, str]]


def decided_lines(trail: Provenance, records: Iterable[Record], asked: Iterable[Question]) -> LineKeys:
    """The lines, by day and mark, that were decided on, or wait for the user's word."""
    found = {(one.day, mark) for one in trail.offered for mark in one.bullets}
    sources = (one.source for one in records if one.source.get("bullet"))
    found |= {(str(one.get("day", "")), str(one["bullet"])) for one in sources}
    return found | {one.said for one in asked if one.said}


def new_lines(
    room: TidyContext, known: LineKeys, trail: Provenance, entries: Container[str] = ()
) -> tuple[list[LogLine], list[LogLine], list[Problem]]:
    """Lines that are new to long-term memory, oldest first; all lines of the last days; and trouble with the files.

    `entries` are the ids of the ledger: a line of a digest that it knows was put there from MEMORY.md.
    """
    today = room.clock.today()
    recent = dt.date.fromordinal(max(1, today.toordinal() - room.config.tidy.daily_days))
    listed = list_days(room.workspace, today)
    entered = trail.entered()
    new: list[LogLine] = []
    lately: list[LogLine] = []
    for day in listed.days:
        if day.date < recent and day.archived and _dealt_with(day, entered, known):
            continue
        said = _lines_of_day(day)
        if day.date >= recent:
            lately += said
        new += [one for one in said if (one.day, one.mark) not in known and not FIELD_NOTE.match(one.words)]
    pressed = {mark for marks in entered.values() for mark in marks}
    standing = {one.mark for one in new}
    new += [
        one
        for one in _digests(room)
        if (one.day, one.mark) not in known
        and one.mark not in pressed
        and bullet_id(one.words) not in pressed  # a label that is no type of ours stands in front of the words
        and one.mark not in standing
        and entry_id(one.words) not in entries
        and not FIELD_NOTE.match(one.words)
    ]
    return sorted(new, key=lambda one: one.day), lately, list(listed.problems)


def _dealt_with(day: Day, entered: dict[str, set[str]], known: LineKeys) -> bool:
    date = day.date.isoformat()
    marks = entered.get(date)
    return marks is not None and all((date, mark) in known for mark in marks)


def _lines_of_day(day: Day) -> list[LogLine]:
    try:
        log = read_log(day)
    except NacreError:
        return []  # `doctor` tells of files that cannot be read
    return [_without_secrets(one) for one in log.said] if log else []


def _digests(room: TidyContext) -> Iterator[LogLine]:
    """What stands in the digests of the last weeks: lines that the user or another tool wrote there."""
    folder = room.workspace.weekly
    if not folder.is_dir():
        return
    for path in sorted(folder.glob("????-??-??.md"))[-WEEKS:]:
        try:
            doc = open_document(path)
            lines = weekly.digest_lines(doc) if doc else ()
        except NacreError:
            continue
        for line in lines:
            day, label = source_day(line.text), label_of(line.text)
            if day and label:
                words = bare_words(line.text)
                yield _without_secrets(
                    LogLine(day, words, label, line.project, None, None, "", 0, bullet_id(line.text))
                )


def _without_secrets(one: LogLine) -> LogLine:
    """A log that somebody wrote by hand may hold a secret; no file that is made of it may. A line without end is cut."""
    return replace(one, words=judged_part(redact(one.words).text))
