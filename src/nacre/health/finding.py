"""What an examination finds, as values."""

from __future__ import annotations

from dataclasses import dataclass

from nacre.guard.sanitise import one_line
from nacre.guard.secrets import redact
from nacre.model.problem import Problem
from nacre.words import say

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


def title(kind: str) -> str:
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
