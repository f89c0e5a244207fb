"""Health of entries: duplicates, conflicts, entries without provenance, and stale working memory."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from nacre.checks.snapshot import (
    CONTRADICTION,
    DUPLICATE,
    ORIGIN,
    QUESTION,
    SOURCE,
    STATE,
    UNKNOWN,
    UNREADABLE,
    Finding,
    Logs,
    Snapshot,
    quoted,
)
from nacre.errors import NacreError
from nacre.i18n import say
from nacre.tidy import compare, memory_files
from nacre.tidy.compare import Comparison, EntryParts
from nacre.tidy.draft import Draft
from nacre.tidy.memory_files import Line, LongTermFile
from nacre.vault import disk, refcount, review, weekly, working
from nacre.vault.entries import bare_words, entry_id, normal_words, words_of
from nacre.vault.files import MemoryFile
from nacre.vault.ledger import EntryState

SAME = "same"


@dataclass(frozen=True)
class _Entry:
    """An entry with what it says taken apart, and the day from which it holds, where the ledger knows one."""

    book: LongTermFile
    line: Line
    known: EntryParts
    since: str
    plain: str  # its words as forgetting compares them

    @property
    def place(self) -> str:
        return f"{self.book.shown}:{self.line.start}"

    @property
    def shown(self) -> str:
        text = quoted(self.line.words)
        return say(f"“{text}” ({self.place})", f"“{text}”（{self.place}）")


@dataclass(frozen=True)
class _Pair:
    """Two entries of one matter; the older one first, as far as that is known."""

    old: _Entry
    new: _Entry
    stand: Comparison


def duplicates_and_conflicts(desk: Snapshot) -> list[Finding]:
    """Duplicates and contradictions. What holds in one project is not held against another: no session is given both."""
    if desk.night is None:
        return []
    general, *projects = _shelves(desk, desk.night)
    pairs: dict[frozenset[str], _Pair] = {}
    for new, old in _turns(general, projects):
        for pair in _pairs(new, old):
            _note(pairs, pair)
    return [_finding(pair) for pair in pairs.values()]


_SINCE_THEN = "~"  # a line that the ledger does not know was written after everything that it does


def _shelves(desk: Snapshot, night: Draft) -> list[list[_Entry]]:
    """The entries of every file, the general one first."""
    by_file: dict[str, list[_Entry]] = {book.shown: [] for book in desk.books}
    for book, line, known in night.memory.entries(night.memory.general):
        was = desk.known.get(line.id)
        since = (was.valid_from or "") if was else _SINCE_THEN
        by_file[book.shown].append(_Entry(book, line, known, since, normal_words(line.words)))
    return list(by_file.values())


def _turns(general: list[_Entry], projects: list[list[_Entry]]) -> Iterator[tuple[_Entry, list[_Entry]]]:
    """Each entry with those that it is held against: its own file's and the general ones."""
    for shelf in (general, *projects):
        others = [] if shelf is general else general
        for one in shelf:
            yield one, [*(other for other in shelf if other is not one), *others]
        for one in others:
            yield one, shelf


def _pairs(new: _Entry, others: Sequence[_Entry]) -> Iterator[_Pair]:
    """What an entry is to the others, as if it were said now; not to those of which it is known that they are younger."""
    older = [one for one in others if not (one.since and new.since and one.since > new.since)]
    exact = [one for one in older if one.plain == new.plain]
    yield from (_Pair(one, new, Comparison(SAME, 0, 1.0)) for one in exact)
    rest = [one for one in older if one.plain != new.plain]
    for stand in compare.compare_with(new.known.whole, [one.known for one in rest])[0]:
        old = rest[stand.place]
        if stand.kind == SAME or _counts(old, new, stand):
            yield _Pair(old, new, stand)


def _counts(old: _Entry, new: _Entry, stand: Comparison) -> bool:
    """Whether a clash is one: a project may do otherwise than the rest unless it says so; across languages words alone are
    compared, so there the odds must be good."""
    if old.book is not new.book and stand.why != "goodbye":
        return False
    return old.known.whole.language == new.known.whole.language or stand.odds >= compare.CONFLICT


def _note(pairs: dict[frozenset[str], _Pair], pair: _Pair) -> None:
    """Keep the better reading of two entries: that they clash, where either says so, since what replaces a statement repeats
    most of its words."""
    both = frozenset((pair.old.place, pair.new.place))
    was = pairs.get(both)
    rank = (pair.stand.kind != SAME, pair.stand.odds)
    if was is None or rank > (was.stand.kind != SAME, was.stand.odds):
        pairs[both] = pair


def _finding(pair: _Pair) -> Finding:
    old, new = pair.old, pair.new
    if pair.stand.kind == SAME:
        return _duplicate(old, new)
    if pair.stand.kind == "supersedes" and (old.since != _SINCE_THEN or new.since != _SINCE_THEN):
        message = say(f"{old.shown} seems overtaken by {new.shown}.", f"{old.shown}似乎已被{new.shown}取代。")
    else:
        message = say(
            f"{old.shown} and {new.shown} cannot both hold; forget the wrong one.",
            f"{old.shown}与{new.shown}不能同时成立；请忘记错误的一条。",
        )
    command = f"nacre forget {old.line.id}"
    return Finding(CONTRADICTION, message, old.book.shown, old.line.start, command, id=old.line.id)


def _duplicate(old: _Entry, new: _Entry) -> Finding:
    """Of two that say the same the shorter may go; forgetting would take both where they share their very words."""
    weaker, other = sorted((old, new), key=lambda one: (len(one.line.words), one.place))
    message = say(f"{weaker.shown} says the same as {other.shown}.", f"{weaker.shown}与{other.shown}意思相同。")
    where = weaker.book.shown, weaker.line.start
    if weaker.plain != other.plain:
        return Finding(DUPLICATE, message, *where, f"nacre forget {weaker.line.id}", id=weaker.line.id)
    first, last = weaker.line.start, weaker.line.end
    lines = f"{first}" if first == last else f"{first}-{last}"
    hand = say(f"delete line {lines} of {weaker.book.shown}", f"请删除 {weaker.book.shown} 第 {lines} 行")
    return Finding(DUPLICATE, message, *where, by_hand=hand, id=weaker.line.id)


def open_questions(desk: Snapshot) -> list[Finding]:
    """What waits for the user's word."""
    shown = desk.workspace.relative(desk.workspace.review)
    return [
        Finding(
            QUESTION, f"[{review.kind_title(one.kind)}] {quoted(one.text)}", shown, command="nacre review", id=one.id
        )
        for one in desk.asked
    ]


# Where memory says that it comes from: entries that the ledger does not know, and origins that are no longer there.

_NAMED = re.compile(r"\(src:\s*(\d{4}-\d{2}-\d{2})\)\s*$")


@dataclass(frozen=True)
class LooseEnds:
    """What leads nowhere and does no harm, so it is only counted."""

    recalls: int = 0  # of files that are gone
    trail: int = 0  # days of the trail without a log
    ledger: int = 0  # candidates and former entries whose day is gone, or that superseded an entry nobody knows


def unknown_entries(desk: Snapshot) -> list[Finding]:
    """Where files and ledger tell different things: somebody wrote, edited or took out a line since the last night."""
    found = memory_files.hand_edits(desk.books, desk.known)
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


def entries_without_origin(desk: Snapshot, logs: Logs) -> list[Finding]:
    """Entries whose day, session, line or overtaken entry no longer exists: `nacre why` cannot follow them. A pin says that the
    user vouches for the entry, which then needs no origin."""
    found: list[Finding] = []
    for book, line in desk.lines:
        was = desk.known.get(line.id)
        if was and was.in_memory and not desk.is_pinned(line) and (reason := _reason(was, desk.known, logs)):
            found.append(_without_origin(book, line, reason))
    return found


def _without_origin(book: LongTermFile, line: Line, reason: str) -> Finding:
    text = quoted(line.words)
    message = say(f"“{text}”: {reason}; pin it if it holds.", f"“{text}”：{reason}；若仍然成立，请固定它。")
    return Finding(ORIGIN, message, book.shown, line.start, f"nacre pin {line.id}", id=line.id)


def _reason(one: EntryState, known: Collection[str], logs: Logs) -> str | None:
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


def digest_lines_without_day(desk: Snapshot, logs: Logs) -> list[Finding]:
    """Lines of digests that name a day of which there is no log."""
    found: list[Finding] = []
    for path in weekly.digest_files(desk.workspace).values():
        try:
            data = disk.read_bytes(path) or b""
        except NacreError:
            continue  # doctor names it
        shown = desk.workspace.relative(path)
        for number, line in enumerate(data.decode("utf-8", "replace").split("\n"), start=1):
            if (named := _NAMED.search(line)) and named[1] not in logs.days:
                known = entry_id(bare_words(words_of(line)))
                found.append(_sourceless(shown, number, named[1], known))
    return found


def _sourceless(shown: str, number: int, day: str, known: str) -> Finding:
    message = say(
        f"The line names {day}, of which there is no log; forget it if it is wrong.",
        f"该行标注的来源 {day} 没有日志；若内容有误，请忘记它。",
    )
    return Finding(SOURCE, message, shown, number, f"nacre forget {known}", id=known)


def count_loose_ends(desk: Snapshot, logs: Logs, files: Sequence[MemoryFile]) -> LooseEnds:
    """Count what leads nowhere."""
    here = {one.path for one in files}
    recalled = sum(
        one.path not in here and not one.path.startswith("sessions/")
        for one in refcount.read_recalls(desk.workspace).recalls
    )
    told = {one.day for one in desk.trail.captured} | {one.day for one in desk.trail.pressed}
    former = [one for one in desk.known.values() if not one.in_memory and one.verdict != "forgotten"]
    return LooseEnds(recalled, len(told - logs.days), sum(_leads_nowhere(one, desk.known, logs) for one in former))


def _leads_nowhere(one: EntryState, known: Collection[str], logs: Logs) -> bool:
    day = str(one.source.get("day", ""))
    return bool(day and day not in logs.days) or bool(one.supersedes and one.supersedes not in known)


# Working memory that was left behind: a task in SESSION-STATE.md that nobody has touched for days.

LEFT = 7  # days without a change after which a task counts as left behind


def stale_task(desk: Snapshot) -> list[Finding]:
    """The task that stands there, when it is old."""
    shown = desk.workspace.relative(desk.workspace.state)
    try:
        found = working.read_state(desk.workspace, desk.clock)
        task = working.current_task(found.document)
    except NacreError as trouble:
        hand = say("mend the file or move it away", "请修复该文件或将其移走")
        return [Finding(UNREADABLE, str(trouble), shown, by_hand=hand)]
    marked = working.day_mark(found.document)  # what the file says of itself, else when it was written
    written = marked[1] if marked else found.written
    age = (desk.today - written).days if written else 0
    if not task or age <= LEFT:
        return []
    message = say(
        f"“{quoted(task)}” has been the current task for {age} days without a change.",
        f"“{quoted(task)}”作为当前任务已有 {age} 天没有变化。",
    )
    return [Finding(STATE, message, shown, command="nacre wal task --clear")]
