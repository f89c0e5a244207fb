"""Making room in a full MEMORY.md: merge, shorten, demote; the least needed first, never what the user pinned or wrote."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from nacre.brain.local.pieces import pieces
from nacre.brain.local.wording import joined
from nacre.text.language import language_of
from nacre.tidy.book import Book, Line
from nacre.vault.ledger import Standing
from nacre.words import say

MERGE, SHORTEN, DEMOTE = "merge", "shorten", "demote"


@dataclass(frozen=True)
class Worth:
    """What speaks for an entry: how sure we are of it, how often it was recalled, whether its time is over."""

    confidence: float
    recalls: int = 0
    faded: str = ""  # why it may be no longer needed
    age: int = 0  # days

    @property
    def value(self) -> float:
        if self.faded:
            return 0.0
        return self.confidence + min(self.recalls, 10) * 0.05 - min(self.age, 1000) / 4000


@dataclass(frozen=True)
class Cut:
    """One step towards room: what happens to a line, into which words, and why."""

    action: str
    line: Line
    words: str | None
    reason: str


def may_go(line: Line, standing: Standing | None) -> bool:
    """Whether a line may be changed or taken out without asking: ours, not pinned, one line long."""
    if standing is None or standing.pinned or line.pinned or not line.whole:
        return False
    if any("answer" in record.more for record in standing.records):
        return False  # the user decided about it in review
    return standing.verdict in ("admitted", "restored")


@dataclass(frozen=True)
class _Desk:
    """What the steps look at: the book in hand, and how its lines are valued and compared."""

    book: Book
    known: Mapping[str, Standing]
    worth: Callable[[Line], Worth]
    same: Callable[[Sequence[Line]], Sequence[tuple[Line, Line]]]
    value: float  # of what is to come in

    @property
    def loose(self) -> list[Line]:
        return [line for line in self.book.lines if may_go(line, self.known.get(line.id))]


def make_room(
    book: Book,
    fits: Callable[[], bool],
    known: Mapping[str, Standing],
    worth: Callable[[Line], Worth],
    same: Callable[[Sequence[Line]], Sequence[tuple[Line, Line]]],
    value: float,
) -> list[Cut] | None:
    """The cuts after which something of this value fits, made in the book in hand; None when it is worth less than all that
    could go, and then nothing is cut."""
    kept, desk = book.doc, _Desk(book, known, worth, same, value)
    made: list[Cut] = []
    for step in (_merged, _shortened, _demoted):
        while not fits() and (cut := step(desk)):
            _carry_out(book, cut)
            made.append(cut)
    if fits():
        return made
    book.restore(kept)
    return None


def _carry_out(book: Book, cut: Cut) -> None:
    line = book.find(cut.line.id)
    assert line is not None
    if cut.words is None:
        book.remove(line)
    else:
        book.replace(line, cut.words)


def _merged(desk: _Desk) -> Cut | None:
    """Two lines that say nearly the same: the surer one stays."""
    for one, other in desk.same(desk.loose):
        weaker, stronger = sorted((one, other), key=lambda line: desk.worth(line).value)
        reason = say(f"says the same as “{stronger.words}”", f"与“{stronger.words}”意思相同")
        return Cut(MERGE, weaker, None, reason)
    return None


def _shortened(desk: _Desk) -> Cut | None:
    """The longest line that has more than one statement loses its last."""
    for line in sorted(desk.loose, key=lambda line: -len(line.words.encode())):
        parts = pieces(line.words)
        if len(parts) > 1 and len(line.words) > _LONG[language_of(line.words)]:
            words = joined([part.text for part in parts[:-1]], parts[0].language)
            reason = say("shortened to its main statement to make room", "为腾出空间，仅保留主要内容")
            return Cut(SHORTEN, line, words, reason)
    return None


_LONG = {"en": 120, "zh": 50}  # characters above which a line may lose a statement


def _demoted(desk: _Desk) -> Cut | None:
    """What is over, then what is least recalled and least sure; only what is worth less than the newcomer."""
    weakest = min(desk.loose, key=lambda line: desk.worth(line).value, default=None)
    if weakest is None or desk.worth(weakest).value >= desk.value:
        return None
    told = desk.worth(weakest)
    reason = told.faded or say(
        f"least needed: recalled {told.recalls} times, confidence {told.confidence:.2f}",
        f"最不需要：被召回 {told.recalls} 次，置信度 {told.confidence:.2f}",
    )
    return Cut(DEMOTE, weakest, None, reason)
