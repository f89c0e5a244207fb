"""Where memory says that it comes from: entries that the ledger does not know, and origins that are no longer there."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from nacre.errors import NacreError
from nacre.health.desk import Desk
from nacre.health.finding import ORIGIN, SOURCE, UNKNOWN, Finding, quoted
from nacre.health.logs import Logs
from nacre.text.stamps import bare_words
from nacre.tidy import standing
from nacre.tidy.book import Book, Line
from nacre.vault import atomic, ledger, recalls, weekly
from nacre.vault.files import Found
from nacre.vault.ledger import Standing
from nacre.vault.markdown import words_of
from nacre.words import say

_NAMED = re.compile(r"\(src:\s*(\d{4}-\d{2}-\d{2})\)\s*$")


@dataclass(frozen=True)
class Loose:
    """What leads nowhere and does no harm, so it is only counted."""

    recalls: int = 0  # of files that are gone
    trail: int = 0  # days of the trail without a log
    ledger: int = 0  # candidates and former entries whose day is gone, or that superseded an entry nobody knows


def unknown(desk: Desk) -> list[Finding]:
    """Where files and ledger tell different things: somebody wrote, edited or took out a line since the last night."""
    found = standing.compare(desk.books, desk.known)
    written = say("was written by hand and is not in the ledger yet", "由他人写入，尚未记入账本")
    edited = say("was edited since the ledger saw it", "在记入账本之后被修改过")
    taken = say("was taken out by hand; the ledger still has it", "已被手动移除，账本中仍有记录")
    told = [(book.shown, line, written) for book, line in found.adopted]
    told += [(book.shown, line, edited) for book, line, _ in found.edited]
    return [
        *(
            Finding(UNKNOWN, _told(line.words, why), path, line.start, "nacre tidy", id=line.id)
            for path, line, why in told
        ),
        *(
            Finding(UNKNOWN, _told(one.text or "", taken), one.file, command="nacre tidy", id=one.id)
            for one in found.gone
        ),
    ]


def _told(words: str, why: str) -> str:
    text = quoted(words)
    return say(f"“{text}” {why}.", f"“{text}”{why}。")


def gone(desk: Desk, logs: Logs) -> list[Finding]:
    """Entries whose day, session, line or overtaken entry no longer exists: `nacre why` cannot follow them. A pin says that the
    user vouches for the entry, which then needs no origin."""
    found: list[Finding] = []
    for book, line in desk.lines:
        was = desk.known.get(line.id)
        if was and was.in_memory and not desk.is_pinned(line) and (reason := _reason(was, desk.known, logs)):
            found.append(_gone(book, line, reason))
    return found


def _gone(book: Book, line: Line, reason: str) -> Finding:
    text = quoted(line.words)
    message = say(f"“{text}”: {reason}; pin it if it holds.", f"“{text}”：{reason}；若仍然成立，请固定它。")
    return Finding(ORIGIN, message, book.shown, line.start, f"nacre pin {line.id}", id=line.id)


def _reason(one: Standing, known: Collection[str], logs: Logs) -> str | None:
    source = {name: str(told) for name, told in one.source.items()}
    day, session, bullet = (source.get(name, "") for name in ("day", "session", "bullet"))
    if source.get("checkpoint"):
        return None  # promoted from a checkpoint, which fades; the ledger tells of it
    if bullet and day and not logs.says(day, bullet):
        if day in logs.days:
            return say(f"the line of {day} that it came from is gone", f"{day} 日志中作为来源的那一行已不存在")
        return say(f"the log of {day} that it came from is gone", f"作为来源的 {day} 日志已不存在")
    if day and not bullet and day not in logs.days:
        return say(f"the log of {day} that it came from is gone", f"作为来源的 {day} 日志已不存在")
    if day and session and not logs.has_session(day, session):
        return say(
            f"the log of {day} no longer names the session {session} that it came from",
            f"{day} 的日志中已没有作为来源的会话 {session}",
        )
    if one.supersedes and one.supersedes not in known:
        return say(
            f"the entry {one.supersedes} that it took the place of is not in the ledger",
            f"账本中没有被它取代的条目 {one.supersedes}",
        )
    return None


def sourceless(desk: Desk, logs: Logs) -> list[Finding]:
    """Lines of digests that name a day of which there is no log."""
    found: list[Finding] = []
    for path in weekly.files(desk.workspace).values():
        try:
            data = atomic.read_bytes(path) or b""
        except NacreError:
            continue  # doctor names it
        shown = desk.workspace.relative(path)
        for number, line in enumerate(data.decode("utf-8", "replace").split("\n"), start=1):
            if (named := _NAMED.search(line)) and named[1] not in logs.days:
                known = ledger.identity(bare_words(words_of(line)))
                found.append(_sourceless(shown, number, named[1], known))
    return found


def _sourceless(shown: str, number: int, day: str, known: str) -> Finding:
    message = say(
        f"The line names {day}, of which there is no log; forget it if it is wrong.",
        f"该行标注的来源 {day} 没有日志；若内容有误，请忘记它。",
    )
    return Finding(SOURCE, message, shown, number, f"nacre forget {known}", id=known)


def loose(desk: Desk, logs: Logs, files: Sequence[Found]) -> Loose:
    """Count what leads nowhere."""
    here = {one.path for one in files}
    recalled = sum(
        one.path not in here and not one.path.startswith("sessions/") for one in recalls.read(desk.workspace).recalls
    )
    told = {one.day for one in desk.trail.captured} | {one.day for one in desk.trail.pressed}
    former = [one for one in desk.known.values() if not one.in_memory and one.verdict != "forgotten"]
    return Loose(recalled, len(told - logs.days), sum(_leads_nowhere(one, desk.known, logs) for one in former))


def _leads_nowhere(one: Standing, known: Collection[str], logs: Logs) -> bool:
    day = str(one.source.get("day", ""))
    return bool(day and day not in logs.days) or bool(one.supersedes and one.supersedes not in known)
