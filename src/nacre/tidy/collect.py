"""What the daily logs and weekly digests say, line by line, and which of it is new to long-term memory."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

from nacre.brain.local.judge import Judge
from nacre.disk import digest
from nacre.errors import NacreError
from nacre.guard.sanitise import one_line
from nacre.guard.secrets import redact
from nacre.model import TYPES, Context, Problem, Workspace, problem
from nacre.text.blocks import HEADING, ITEM, TEXT, Stamp, label_of, labelled_spans, real_day, stamp_of
from nacre.vault.entries import bare_words, bullet_id, document, words_of
from nacre.vault.ledger import LedgerStates
from nacre.vault.provenance import Trail
from nacre.vault.review import Question
from nacre.vault.storage import LARGEST, read, storage_of


@dataclass(frozen=True)
class TidyContext(Context):
    """A workspace with the local brain, loaded when first asked for."""

    judge: Callable[[], Judge] = field(kw_only=True)


# Facts that have a field of their own: the agent's name in IDENTITY.md; the owner's name, address and time zone in USER.md.

IDENTITY, USER = "IDENTITY.md", "USER.md"
_END = r"(?=[\s,.;!?，。；！？、“”\"'「」（）()]|就行|就好|就可以|好了|吧|了|啊|哈|呀|$)"
_NAME = r"[\"“「'‘]?(?P<value>[A-Z][\w'’.-]*(?:\s[A-Z][\w'’.-]*){0,2}|[\u4e00-\u9fff·]{1,10})"
# Names typed in lower case, where nothing follows that would make a sentence of it: "call me des, only …", not "call me when …".
_TYPED = r"(?P<value>[a-z][\w'’-]{1,20})(?=\s*(?:[,.;!()–-]|$)|\s+(?:please|pls|from now|btw|instead|not|everyone|everybody|ok)\b)"
_HAN_NAME = rf"[\"“「『]?(?P<value>[\u4e00-\u9fffA-Za-z0-9·]{{1,10}}?){_END}"


class Field(NamedTuple):
    """A value for the first of the named fields that the file has."""

    file: str
    names: tuple[str, ...]
    value: str


@cache
def _rules() -> list[tuple[str, tuple[str, ...], re.Pattern[str]]]:
    rules = []
    for line in Path(__file__).with_name("fields.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        file, names, pattern = line.split("\t")
        for mark, name in (("<NAME>", _NAME), ("<TYPED>", _TYPED), ("<HAN>", _HAN_NAME)):
            pattern = pattern.replace(mark, name)
        rules.append((file, tuple(names.split("|")), re.compile(pattern)))
    return rules


_NO_NAME = re.compile(
    r"(?:[他她它我上了停]|快递|什么|啥|谁|哪|怎么|一声|一下|起床|醒|过来|外卖|明天|后天|今晚|稍后|以后|去|来|帮|把|给|[爸妈哥姐弟妹爷奶公婆老][^，]*(?:[来去过给帮]|明|今|后)).*|.*(?:一下|一起|过来)"
    r"|(?i:the|when|if|back|later|tomorrow|today|tonight|now|maybe|crazy|old|lazy|in|at|on|asap|anytime|right|sure|welcome|done|it|so|not|after|once|twice|first|last|required|missing|everything|nothing|yesterday|\w+ly|(?:mon|tues|wednes|thurs|fri|satur|sun)days?)"
)
_NOT_SO = re.compile(
    r"\b(?:don'?t|do not|never|stop|not|says?|said|told|asked|he|she|they|colleague'?s?|his|her|their)\W+(?:\w+\W+){0,3}\Z|(?:别|不要|不许|他说|她说|人家)[^，。]{0,4}\Z",
    re.IGNORECASE,
)  # a name that is refused, or somebody else's
_QUESTION = re.compile(r"[?？]\s*\Z|吗\s*[?？]?\Z")


def fields_in(text: str) -> list[Field]:
    """The fields that a statement of the owner sets; of several values for one the last ("not A any more, call me B")."""
    fields: dict[tuple[str, tuple[str, ...]], Field] = {}
    for file, names, pattern in () if _QUESTION.search(text) else _rules():
        for match in reversed(list(pattern.finditer(text))):
            value = match["value"].strip(" '’.-")
            if value and not _NOT_SO.search(text[: match.start()]) and not _NO_NAME.fullmatch(value):
                fields.setdefault((file, names), Field(file, names, value))
                break
    return list(fields.values())


# Every daily log, living or archived, and what each of them says.

CATEGORIES = ("决策", "发现", "偏好", "任务", "Decision", "Discovery", "Preference", "Task")
LONGEST_PROSE = 400  # characters of a paragraph that go into the digest
LONGEST_JUDGED = 2_000  # characters of a statement that are classified
_LOG_NAME = re.compile(r"memory/(?:archive/\d{4}(?:-\d{2})?/)?(\d{4}-\d{2}-\d{2})\.md")
_BOX = re.compile(r"\A\[[ xX]\]\s+")
_QUOTE = re.compile(r"\A[ \t]*>[ \t]?")
_TABLE = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
_SENTENCE_END = re.compile(r"[。！？；…]+[”’」』）)】》\"']*|(?<![.!?])[.!?]+[\"'”’)\]]*(?=\s)")


@dataclass(frozen=True, slots=True)
class Day:
    """A daily log as the folder shows it, unread."""

    date: dt.date
    path: Path
    archived: bool
    size: int


@dataclass(frozen=True, slots=True)
class LogLine:
    """One statement of a log: a list item with all that is nested in it, or a paragraph, on one line."""

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

    @property
    def by_hand(self) -> bool:
        """Whether a person wrote it down: it is no part of a session, and no agent noted it."""
        return self.session is None and not self.by_agent


@dataclass(frozen=True, slots=True)
class Log:
    day: Day
    hash: str
    size: int
    lines: tuple[LogLine, ...]


def list_days(workspace: Workspace, today: dt.date) -> tuple[list[Day], list[Problem]]:
    """Every daily log, oldest first. One of a day that has not come, or that is no ordinary file, is a problem and left alone."""
    days: list[Day] = []
    problems: list[Problem] = []
    future: list[str] = []
    storage = storage_of(workspace)
    for stored in (*storage.walk("memory", (".md",), depth=1), *storage.walk("memory/archive", (".md",), depth=2)):
        match, path = _LOG_NAME.fullmatch(stored.name), workspace.root / stored.name
        if not match or not real_day(match[1]):
            continue
        date = dt.date.fromisoformat(match[1])
        if (date - today).days > 1:
            future.append(stored.name)
        elif stored.size > LARGEST or not stored.is_plain or stored.is_link:
            english = f"{stored.name} is too large for a daily log or not a regular file; it was left unchanged."
            chinese = f"{stored.name} 对每日日志来说过大，或不是普通文件，未作改动。"
            remedy = ("split it into smaller files, or move it away", "请拆分成较小的文件，或将其移走")
            problems.append(problem("no ordinary file", english, chinese, stored.name, remedy=remedy))
        else:
            days.append(Day(date, path, path.parent != workspace.memory, stored.size))
    if future:
        first, count = min(future), len(future)
        english = f"Logs dated after today were left unchanged: {count} (first: {first})."
        chinese = f"有 {count} 个日志的日期晚于今天，未作改动；第一个是 {first}。"
        remedy = ("check the clock, or correct the file names", "请检查系统时钟，或更正文件名")
        problems.append(problem("after today", english, chinese, first, remedy=remedy))
    return sorted(days, key=lambda day: (day.date, day.archived, day.path)), problems


def read_log(workspace: Workspace, day: Day) -> Log:
    """The log with what it says. Raises `NacreError` when it is gone or cannot be read."""
    data = read(workspace, day.path)
    if data is None:
        raise NacreError(
            f"{day.path} no longer exists; run the command again.", f"{day.path} 已不存在；请重新运行命令。"
        )
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise NacreError(
            f"{day.path} is encoded as UTF-16 and was left unchanged; save it as UTF-8.",
            f"{day.path} 的编码是 UTF-16，未作改动；请另存为 UTF-8。",
        )
    return Log(day, digest(data), len(data), log_lines(day.date.isoformat(), data))


def log_lines(day: str, data: bytes) -> tuple[LogLine, ...]:
    """What a log says, in order. Code, tables, comments and headings are no statements; bytes that are not UTF-8 are replaced."""
    doc = document(Path(f"{day}.md"), data.decode("utf-8", "replace").encode())
    items = {item.start: item for item in doc.items}
    lines: list[LogLine] = []
    headings: list[tuple[int, str]] = []
    for block in doc.blocks:
        if block.kind == HEADING:
            while headings and headings[-1][0] >= block.level:
                headings.pop()
            headings.append((block.level, block.text))
            continue
        stamp = Stamp()  # what the headings above say together; the innermost has the last word on each field
        for _, title in headings:
            stamp = stamp_of(title).within(stamp)
        texts: Iterable[tuple[int, str]] = ()
        if block.kind == ITEM:
            texts = [(block.start, _BOX.sub("", items[block.start].words))]
        elif block.kind == TEXT:
            texts = _paragraph(doc.bare[block.start - 1 : block.end], block.start)
        for number, text in texts:
            words = one_line(text)
            if not any(sign.isalnum() for sign in bare_words(words)):
                continue
            label = label_of(words)
            if label not in (*TYPES, *CATEGORIES):
                label = None  # "[HTTP] …" belongs to the words
            words = bare_words(words) if label else words
            lines.append(
                LogLine(
                    day,
                    words,
                    label,
                    stamp.project,
                    stamp.group,
                    stamp.session,
                    heading=headings[-1][1] if headings else "",
                    line=number,
                    mark=bullet_id(text),
                    by_agent=stamp.by_agent,
                )
            )
    return tuple(lines)


def _paragraph(lines: tuple[str, ...], start: int) -> Iterator[tuple[int, str]]:
    if lines[0].lstrip().startswith("<!--"):
        return
    table = next((at for at, line in enumerate(lines) if at and "|" in lines[at - 1] and _TABLE.fullmatch(line)), None)
    prose = [_QUOTE.sub("", line) for line in (lines if table is None else lines[: table - 1])]
    for first, last in labelled_spans(prose) or [(0, len(prose))]:
        text = words_of("\n".join(prose[first:last]))
        if len(text) > LONGEST_PROSE:  # up to the end of a sentence; of a longer sentence, up to the end of a word
            ends = [match.end() for match in _SENTENCE_END.finditer(text, 0, LONGEST_PROSE + 1)]
            if fitting := [end for end in ends if LONGEST_PROSE // 4 <= end <= LONGEST_PROSE]:
                text = text[: fitting[-1]]
            else:
                space = text.rfind(" ", LONGEST_PROSE // 2, LONGEST_PROSE - 1)
                text = text[: space if space > 0 else LONGEST_PROSE - 1] + "…"
        if text:
            yield start + first, text


def judged_part(words: str) -> str:
    """As much of a statement as is taken apart and judged; of a longer one its beginning, up to the end of a word."""
    if len(words) <= LONGEST_JUDGED:
        return words
    space = words.rfind(" ", LONGEST_JUDGED // 2, LONGEST_JUDGED)
    return words[: space if space > 0 else LONGEST_JUDGED - 1] + "…"


# Which lines of the logs are candidates: those on which nothing was decided yet.

FIELD_NOTE = re.compile(rf"(?:{re.escape(IDENTITY)}|{re.escape(USER)}) [^:]+: ")  # our own note on a field that was set


class DecidedLines:
    """The lines that were decided on, or wait for the user's word, by their day and mark."""

    def __init__(self, trail: Trail, states: LedgerStates, questions: Iterable[Question]) -> None:
        self.trail, self._states = trail, states
        self.more = {question.said for question in questions if question.said}

    def __contains__(self, line: object) -> bool:
        if line in self.more:
            return True
        return isinstance(line, tuple) and (self.trail.is_offered(*line) or self._states.is_decided(*line))


def new_lines(context: TidyContext, decided: DecidedLines) -> tuple[list[LogLine], list[LogLine], list[Problem]]:
    """Lines that are new to long-term memory, oldest first; all lines of the last days; and problems with the files."""
    today = context.clock.today()
    recent = dt.date.fromordinal(max(1, today.toordinal() - context.config.tidy.daily_days))
    days, problems = list_days(context.workspace, today)
    unfinished = {line[0] for line in decided.trail.unoffered() if line not in decided}  # days with an undecided line
    seen = decided.trail.sizes().keys() - unfinished
    new: list[LogLine] = []
    recent_lines: list[LogLine] = []
    for day in days:
        if day.archived and day.date < recent and day.date.isoformat() in seen:
            continue
        try:
            # A log that somebody wrote by hand may hold a secret; no file that is made of it may. A line without end is cut.
            log = read_log(context.workspace, day).lines
            lines = [replace(line, words=judged_part(redact(line.words).text)) for line in log]
        except NacreError:
            continue  # `doctor` reports files that cannot be read
        if day.date >= recent:
            recent_lines += lines
        new += [line for line in lines if (line.day, line.mark) not in decided and not FIELD_NOTE.match(line.words)]
    return sorted(new, key=lambda line: line.day), recent_lines, problems
