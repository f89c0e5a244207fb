"""`memory/review.md`: the open questions for the person. Answered with `nacre review`; may be edited by hand."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from nacre.disk import hash_of
from nacre.errors import NacreError
from nacre.guard.sanitise import one_line
from nacre.guard.secrets import legible
from nacre.i18n import say
from nacre.model import Workspace
from nacre.vault.entries import Item, document, without_comments, words_of
from nacre.vault.history import Operation
from nacre.vault.storage import parse_row, read
from nacre.vault.writing import REDACT, guarded, rewrite

CLASH, DOUBT, FULL, ADOPTED, FADED = KINDS = ("clash", "doubt", "full", "adopted", "faded")
# Why a line is offered, where no other line is named: shown in the reader's language, whichever language the run had.
WORTH_KEEPING = ("may be worth keeping. Keep it?", "可能值得保留。要保留吗？")
BY_AGENT = ("noted by an agent. Is it true?", "这是智能体记下的，属实吗？")
REMOVED_BEFORE = ("you removed this before. Add it again?", "你曾移除过这一条，要重新加入吗？")
_OPENING, _CLOSING = "<!-- nacre:{", "} -->"
_HEAD = (
    "# Review\n\n> Questions that Nacre could not decide alone. Answer them with `nacre review`; deleting one here leaves memory unchanged.\n",
    "# 待确认\n\n> Nacre 无法自行决定的问题。请用 `nacre review` 回答；在这里删除问题不会改变记忆。\n",
)


class Question(NamedTuple):
    """One question: an offered text or an entry, why it is asked, and what belongs to it."""

    id: str
    kind: str
    text: str
    why: str
    about: Mapping[str, Any] = {}  # against, file, type, odds, source, tests: for an answer

    @property
    def key(self) -> str:
        """The mark by which provenance notes that it was put."""
        return f"{self.kind}:{self.id}"

    @property
    def about_entry(self) -> bool:
        """Whether it asks about a line that stands in memory, and not about one that is offered."""
        return self.kind in (ADOPTED, FADED)

    @property
    def odds(self) -> float:
        """The odds that it is worth keeping; none where a line stands already."""
        odds = self.about.get("odds")
        return float(odds) if isinstance(odds, int | float) else 0.0

    @property
    def said(self) -> tuple[str, str] | None:
        """The line of the logs that it came from, by day and id."""
        source = self.about.get("source")
        if not isinstance(source, dict) or not source.get("bullet"):
            return None
        return str(source.get("day", "")), str(source["bullet"])

    def shown(self) -> dict[str, Any]:
        """As a person is asked: in words, with what keeping and refusing do."""
        keeps, refuses = answer_meanings(self)
        return {
            "id": self.id,
            "kind": self.kind,
            "title": kind_title(self.kind),
            "text": legible(self.text),
            "why": legible(self.why),
            "file": str(self.about.get("file") or "MEMORY.md"),
            "keeps": keeps,
            "refuses": refuses,
        }


def no_room(file: str) -> tuple[str, str]:
    """Why a line is asked about that a full file has no room for."""
    return (
        f"{file} is full and everything in it seems more important. Add this and remove the least important line?",
        f"{file} 已满，且现有内容似乎都更重要。要加入这一条、移除最不重要的一行吗？",
    )


def read_review(workspace: Workspace) -> list[Question]:
    """The questions that are open, in the order of the file."""
    try:
        data = read(workspace, workspace.review)
    except NacreError:
        return []  # a folder or a pipe stands there: `change_review` says so when there is something to write
    questions: list[Question] = []
    for item in _items(workspace, data):
        about = _about(item.text)
        if isinstance(about.get("id"), str) and about.get("kind") in KINDS:
            first, *rest = item.text.split("\n")
            why = " ".join(line.strip(" -") for line in rest if line.strip())
            pairs = (WORTH_KEEPING, BY_AGENT, REMOVED_BEFORE, no_room(str(about.get("file"))))
            why = next((say(*pair) for pair in pairs if why in pair), why)
            words = without_comments(first, _OPENING, _CLOSING, "").strip()
            questions.append(Question(about.pop("id"), about.pop("kind"), words, why, about))
    return questions


def change_review(op: Operation, *, add: Sequence[Question] = (), drop: Iterable[str] = ()) -> None:
    """Put questions in and take answered ones out, by id; everything else in the file stays as it is."""
    workspace, dropped = op.workspace, set(drop)
    if not add and not dropped:
        return
    old = read(workspace, workspace.review)
    lines = (old or b"").decode("utf-8", "surrogateescape").split("\n")
    lines = [line + "\n" for line in lines[:-1]] + lines[-1:]
    here: set[str] = set()
    for item in reversed(_items(workspace, old)):
        if (name := str(_about(item.text).get("id", ""))) in dropped:
            del lines[item.start - 1 : item.end]
        else:
            here.add(name)
    text = "".join(lines)
    new = {question.id: question for question in add if question.id not in here}
    if new:
        text = text or say(*_HEAD)
        text += ("" if text.endswith("\n") else "\n") + ("" if text.rstrip().endswith("-->") else "\n")
        for question in new.values():
            values = {"id": question.id, "kind": question.kind, **question.about}
            about = json.dumps(values, ensure_ascii=False, separators=(",", ":")).replace("-->", "--\\u003e")
            words, why = (words_of(one_line(guarded(part, REDACT))) for part in (question.text, question.why))
            text += f"- {words} <!-- nacre:{about} -->\n  - {why}\n"
    data = text.encode("utf-8", "surrogateescape")
    if data != (old or b""):
        rewrite(op, workspace.review, data, read=hash_of(old))


def _items(workspace: Workspace, data: bytes | None) -> tuple[Item, ...]:
    """The list items of the file; bytes that are not UTF-8 hide no question."""
    return document(workspace.review, (data or b"").decode("utf-8", "replace").encode()).items


def _about(text: str) -> dict[str, Any]:
    """What the note behind a question tells; nothing where there is none, or none that can be read."""
    for line in text.split("\n"):
        start = line.find(_OPENING)
        end = line.find(_CLOSING, start)
        if 0 <= start < end:
            return parse_row(line[start + len(_OPENING) - 1 : end + 1]) or {}
    return {}


def kind_title(kind: str) -> str:
    return {
        CLASH: say("conflict", "冲突"),
        DOUBT: say("uncertain", "待定"),
        FULL: say("no room", "空间不足"),
        ADOPTED: say("existing line", "已有的行"),
        FADED: say("no longer needed?", "可能已过时"),
    }[kind]


def answer_meanings(question: Question) -> tuple[str, str]:
    """What keeping and refusing do, in words."""
    if question.about_entry:
        return say("keep this line", "保留这一行"), say("remove this line", "移除这一行")
    keeping, refusing = say("add it to memory", "记入长期记忆"), say("it stays in the log", "只留在日志中")
    if question.kind == CLASH:
        keeping, refusing = say("replaces the old line", "取代原有的行"), say("the old line stays", "原有的行不变")
    elif question.kind == FULL:
        keeping = say("removes the least important", "移除最不重要的一行")
    return say(f"keep ({keeping})", f"保留（{keeping}）"), say(f"refuse ({refusing})", f"拒绝（{refusing}）")
