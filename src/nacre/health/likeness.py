"""Entries of MEMORY.md held against each other: those that say the same, and those that cannot both hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nacre.health.desk import Desk
from nacre.health.finding import CONTRADICTION, DUPLICATE, QUESTION, Finding, quoted
from nacre.tidy import conflict
from nacre.tidy.book import Book, Line
from nacre.tidy.conflict import Known, Stand
from nacre.tidy.night import Night
from nacre.vault import review
from nacre.vault.tombstones import normal
from nacre.words import say

SAME = "same"


@dataclass(frozen=True)
class _Entry:
    """An entry with what it says taken apart, and the day from which it holds, where the ledger knows one."""

    book: Book
    line: Line
    known: Known
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
    stand: Stand


def compared(desk: Desk) -> list[Finding]:
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


def _shelves(desk: Desk, night: Night) -> list[list[_Entry]]:
    """The entries of every file, the general one first."""
    by_file: dict[str, list[_Entry]] = {book.shown: [] for book in desk.books}
    for book, line, known in night.library.shelf(night.library.general):
        was = desk.known.get(line.id)
        since = (was.valid_from or "") if was else _SINCE_THEN
        by_file[book.shown].append(_Entry(book, line, known, since, normal(line.words)))
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
    yield from (_Pair(one, new, Stand(SAME, 0, 1.0)) for one in exact)
    rest = [one for one in older if one.plain != new.plain]
    for stand in conflict.stand(new.known.whole, [one.known for one in rest])[0]:
        old = rest[stand.place]
        if stand.kind == SAME or _counts(old, new, stand):
            yield _Pair(old, new, stand)


def _counts(old: _Entry, new: _Entry, stand: Stand) -> bool:
    """Whether a clash is one: a project may do otherwise than the rest unless it says so; across languages words alone are
    compared, so there the odds must be good."""
    if old.book is not new.book and stand.why != "goodbye":
        return False
    return old.known.whole.language == new.known.whole.language or stand.odds >= conflict.CLASH


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
    if pair.stand.kind == "overtakes" and (old.since != _SINCE_THEN or new.since != _SINCE_THEN):
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


def questions(desk: Desk) -> list[Finding]:
    """What waits for the user's word."""
    shown = desk.workspace.relative(desk.workspace.review)
    return [
        Finding(QUESTION, f"[{review.title(one.kind)}] {quoted(one.text)}", shown, command="nacre review", id=one.id)
        for one in desk.asked
    ]
