"""What every health check reads, read once; what cannot be read is a problem and left out."""

from __future__ import annotations

import datetime as dt
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nacre.clock import Clock, monday
from nacre.config.settings import Config
from nacre.errors import NacreError
from nacre.guard.sanitise import one_line
from nacre.guard.secrets import redact
from nacre.i18n import say
from nacre.memory import Memory
from nacre.model.report import Problem
from nacre.model.workspace import Workspace
from nacre.text.stamps import real_day
from nacre.tidy import collect
from nacre.tidy.collect import Day, LogLine, TidyContext
from nacre.tidy.draft import Draft
from nacre.tidy.memory_files import Line, LongTermFile
from nacre.vault import disk, ledger, provenance, review, weekly
from nacre.vault.disk import real_target
from nacre.vault.entries import bullet_id
from nacre.vault.ledger import EntryState
from nacre.vault.provenance import Provenance
from nacre.vault.review import Question

LONGEST = 120  # characters of a line that are quoted

UNREADABLE, OVER = "unreadable", "over limits"
CONTRADICTION, QUESTION, DUPLICATE, FADED = "contradiction", "question", "duplicate", "faded"
UNKNOWN, ORIGIN, SOURCE = "unknown entry", "origin gone", "source gone"
UNTYPED, UNPRESSED, EMPTY = "untyped", "unpressed", "empty log"
UNSORTED, COPY, UNCOUNTED = "unsorted", "copy", "count without file"
STATE = "stale state"
# The most important first: the order in which people are told.
KINDS = (
    *(UNREADABLE, OVER, CONTRADICTION, DUPLICATE, QUESTION, FADED, STATE, ORIGIN, UNKNOWN, UNTYPED),
    *(UNPRESSED, UNSORTED, EMPTY, COPY, UNCOUNTED, SOURCE),
)


@dataclass(frozen=True)
class Finding:
    """One thing that is not as it should be, where, and what mends it: a command, or else the user's own hand."""

    kind: str
    message: str
    path: str = ""
    line: int | None = None
    command: str = ""
    by_hand: str = ""
    id: str = ""

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}" if self.line else self.path


def quoted(words: str) -> str:
    """As much of a line as is shown: on one line, its secrets blacked out."""
    text = one_line(redact(words).text)
    return text if len(text) <= LONGEST else text[: LONGEST - 1].rstrip() + "…"


def unreadable(problem: Problem) -> Finding:
    """Trouble with a file as a finding: it is left alone, and what it says counts for nothing here."""
    remedy = problem.remedy or say("mend it or move it away", "请修复或移走")
    return Finding(UNREADABLE, problem.message, problem.path, problem.line, by_hand=remedy)


def kind_title(kind: str) -> str:
    """What findings of a kind are called."""
    return {
        UNREADABLE: say("files or lines that are left alone", "无法处理的文件或行"),
        OVER: say("MEMORY.md over its limits", "MEMORY.md 超出上限"),
        CONTRADICTION: say("entries that contradict each other", "互相矛盾的条目"),
        QUESTION: say("questions that wait for you", "待您决定的问题"),
        DUPLICATE: say("entries that say the same", "意思相同的条目"),
        FADED: say("entries whose time is over", "已过时的条目"),
        UNKNOWN: say("entries that the ledger does not know", "账本中没有记录的条目"),
        ORIGIN: say("entries whose origin is gone", "来源已不存在的条目"),
        SOURCE: say("lines of digests without their day", "周报中来源日期不存在的行"),
        UNTYPED: say("notes without a type", "没有类型的笔记"),
        UNPRESSED: say("old logs that are not put away yet", "尚未归档的旧日志"),
        EMPTY: say("empty logs", "空的日志"),
        UNSORTED: say("checkpoints in the wrong layer", "所在层级不对的检查点"),
        COPY: say("checkpoints with the same content", "内容相同的检查点"),
        UNCOUNTED: say("recall counts without a file", "没有对应文件的召回计数"),
        STATE: say("working memory left behind", "遗留的工作记忆"),
    }[kind]


# What every part of an examination looks at, read once; what cannot be read is told and left out.


@dataclass(frozen=True)
class Snapshot:
    """A workspace laid out. Without a night MEMORY.md could not be read, and nothing is said about what stands in it."""

    room: TidyContext
    today: dt.date
    night: Draft | None
    known: Mapping[str, EntryState]
    trail: Provenance
    asked: Sequence[Question]
    days: Sequence[Day]
    problems: Sequence[Problem]

    @property
    def workspace(self) -> Workspace:
        return self.room.workspace

    @property
    def config(self) -> Config:
        return self.room.config

    @property
    def clock(self) -> Clock:
        return self.room.clock

    @property
    def books(self) -> Sequence[LongTermFile]:
        return self.night.memory.files if self.night else ()

    @property
    def lines(self) -> list[tuple[LongTermFile, Line]]:
        """Every entry of every MEMORY.md."""
        return [(book, line) for book in self.books for line in book.lines]

    def is_pinned(self, line: Line) -> bool:
        was = self.known.get(line.id)
        return line.pinned or bool(was and was.in_memory and was.pinned)


def take_snapshot(memory: Memory) -> Snapshot:
    """Read the ledger, the trail, the questions, every MEMORY.md and the list of days."""
    room = TidyContext(memory.workspace, memory.config, memory.clock, judge=lambda: memory.brain)
    today = room.clock.today()
    days, listing_problems = collect.list_days(room.workspace, today)
    night, problems = _night(room)
    problems += listing_problems
    if night is None:
        told = ledger.read_ledger(room.workspace)
        known, asked = ledger.entry_states(told.records), review.read_review(room.workspace)
        problems += told.problems
        return Snapshot(room, today, None, known, provenance.read_provenance(room.workspace), asked, days, problems)
    night.recent, troubles = _lately(room, days, today)
    problems += troubles
    return Snapshot(room, today, night, night.states, night.provenance, night.questions, days, problems)


def _night(room: TidyContext) -> tuple[Draft | None, list[Problem]]:
    """All that a night of tidying knows; none where MEMORY.md cannot be read, or lies elsewhere."""
    try:
        real_target(room.workspace.longterm, room.workspace.root)
        night = Draft(room)
        _ = night.memory.general.lines  # decoded now, not in the middle of the examination
    except NacreError as trouble:
        shown = room.workspace.relative(room.workspace.longterm)
        return None, [Problem("unreadable", str(trouble), shown, severity="error")]
    return night, [*night.problems, *night.memory.problems]


def _lately(room: TidyContext, every: Sequence[Day], today: dt.date) -> tuple[list[LogLine], list[Problem]]:
    """What the logs of the last days say: it tells what is over. A log that cannot be read is trouble."""
    found: list[LogLine] = []
    troubles: list[Problem] = []
    for day in every:
        if (today - day.date).days <= room.config.tidy.daily_days:
            try:
                found += collect.read_log(day).lines
            except NacreError as trouble:
                troubles.append(Problem("unreadable", str(trouble), room.workspace.relative(day.path)))
    return found, troubles


# The logs and digests by their days: which days there are, and whether a line or a session still stands in one.

_DAY = re.compile(r"(\d{4}-\d{2}-\d{2})\.md")
_ITEM = re.compile(r"^[-*+] .*$", re.MULTILINE)


class Logs:
    """Every day that left something behind; its text is read when first asked for."""

    def __init__(self, desk: Snapshot) -> None:
        self._paths: dict[str, list[Path]] = {}
        for one in desk.days:
            self._paths.setdefault(one.date.isoformat(), []).append(one.path)
        self.days = frozenset(_named(desk)) | self._paths.keys()
        self._digests = weekly.digest_files(desk.workspace)
        self._read: dict[str, tuple[str, str]] = {}

    def has_session(self, day: str, session: str) -> bool:
        return day not in self._paths or f"session:{session}" in self._texts(day)[0]

    def says(self, day: str, mark: str) -> bool:
        """Whether a line of this mark stands in the log or the digest of a day. A log that is compressed, or cannot be read, is
        believed."""
        log, digest = self._texts(day)
        if mark in _quickly(log) or mark in {bullet_id(line) for line in digest.split("\n")}:
            return True
        if any(one.mark == mark for one in collect.log_lines(day, log.encode("utf-8", "replace"))):
            return True
        return day in self.days and day not in self._paths

    def _texts(self, day: str) -> tuple[str, str]:
        if day not in self._read:
            digest = self._digests.get(monday(dt.date.fromisoformat(day))) if real_day(day) else None
            log = "\n".join(map(_text, self._paths.get(day, ())))
            self._read[day] = log, _text(digest) if digest else ""
        return self._read[day]


def _quickly(log: str) -> set[str]:
    """The marks of the lines that are a statement by themselves, as nearly all are: no need to parse for these."""
    return {bullet_id(line) for line in _ITEM.findall(log)}


def _text(path: Path) -> str:
    try:
        return (disk.read_bytes(path) or b"").decode("utf-8", "replace")
    except NacreError:
        return ""  # doctor names it


def _named(desk: Snapshot) -> Iterator[str]:
    """The days that a file is named for, whatever it is: a compressed log is a log too."""
    for folder in (desk.workspace.memory, *_folders(desk.workspace.archive)):
        for name in _names(folder):
            if found := _DAY.match(name):
                yield found[1]


def _folders(archive: Path) -> list[Path]:
    return [archive / name for name in _names(archive)]


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []
