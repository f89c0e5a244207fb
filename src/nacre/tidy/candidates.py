"""What of the logs is offered to long-term memory: each line taken apart, the chatter beside a lasting statement left out."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from nacre.brain.local.likeness import (
    Statement,
    holds_once,
    is_passing,
    is_unsure,
    recurs,
    tells_a_change,
    tells_a_move,
)
from nacre.brain.local.pieces import Piece, pieces
from nacre.brain.local.relation import as_statement
from nacre.brain.local.wording import joined, shorten, starts_with_pronoun
from nacre.model.entry import TYPES
from nacre.text.language import language_of
from nacre.tidy import admit
from nacre.tidy.admit import Tested
from nacre.tidy.days import Said
from nacre.vault.ledger import identity

if TYPE_CHECKING:
    from nacre.brain.local.judge import Judge, Judged

LONGEST = {"en": 240, "zh": 110}  # characters of an entry: MEMORY.md has 5 KB for everything
_CHATTER = 0.12  # odds under which a piece of a line is left out
_SMALL_TALK = ("social", "question", "agree", "offrecord", "speculate")
_LINKED = {
    "en": 0.3,
    "zh": 0.5,
}  # likeness above which two pieces of a line speak of the same; the models' scales differ
UNSURE = 1.0  # what speaks against a statement that is asked, guessed or hearsay
PASSING = 0.7  # and against one of today, or for this once
RECURRING = 0.6  # what speaks for one of what comes again and again
_LIKELY_TYPE = 0.25  # odds above which the type that a log gives is believed
_LEANS = 0.4  # odds above which a piece cannot be understood without the one before it
_BLACKED_OUT = re.compile(r"\[redacted: [^\]\n]+\]")


@dataclass(frozen=True)
class Candidate:
    """A statement that is offered, and where it was said."""

    id: str
    tested: Tested
    said: Said
    lasting: float  # the odds of its best piece: what stands around a rule does not make it less of one
    core: Statement  # that piece, by itself
    support: float = 0.0  # what speaks for it besides its words
    agents: bool = False  # not the owner's word: it is never kept unasked, and corrects nothing that the owner said

    @property
    def text(self) -> str:
        return self.tested.text


def candidates(said: Sequence[Said], judge: Judge, agents: Container[tuple[str, str]] = ()) -> list[Candidate]:
    """One or more for each line; a line in which nothing lasts is offered whole, so that its refusal can be told.

    `agents` are the lines, by day and mark, that are the agent's word alone. What is said to stand elsewhere is nobody's word,
    unless the owner wrote it down as a memory.
    """
    split = [_by(one, (one.day, one.mark) in agents) for one in said]
    judged = iter(judge.read([piece.text for parts in split for piece in parts]))
    offered: list[tuple[Said, str, list[Piece], Judged | None]] = []
    for one, parts in zip(said, split, strict=True):
        read = [(piece, next(judged)) for piece in parts]
        runs = list(_runs(one, read))
        if not runs:
            language = language_of(one.words)
            own = [piece for piece in parts if not piece.agents]
            words = one.words if len(own) in (0, len(parts)) else joined([piece.text for piece in own], language)
            offered.append((one, shorten(words, language, LONGEST[language]), own or parts, None))
        for run in runs:
            language = run[0][0].language
            text = joined([piece.text for piece, _ in run], language)
            best = max((judged for _, judged in run), key=lambda judged: judged.lasting)
            offered.append((one, shorten(text, language, LONGEST[language]), [piece for piece, _ in run], best))
    tested = admit.tested(judge, [text for _, text, _, _ in offered])
    return [
        Candidate(
            identity(text),
            _of_type(test, one),
            one,
            max(best.lasting, test.judged.lasting) if best else 0.0,
            as_statement(best) if best else test.statement,
            _support(one, run, test),
            one.by_agent or all(piece.agents for piece in run),
        )
        for (one, text, run, best), test in zip(offered, tested, strict=True)
        if text.strip()
    ]


def _of_type(tested: Tested, said: Said) -> Tested:
    """The type that somebody gave a line counts, unless the classifiers are sure of another."""
    given = said.label if said.label in TYPES and said.label != "TEMP" else None
    if given and (said.session is None or tested.judged.chance("type", given) >= _LIKELY_TYPE):
        return replace(tested, kind=given)
    return tested


def _by(said: Said, agents: bool) -> list[Piece]:
    """The pieces of a line; those that are not the owner's word are counted as the agent's, who may have brought them."""
    noted = said.session is None and not said.by_agent
    agents = agents or said.by_agent
    return [one._replace(agents=one.agents or agents or (one.reported and not noted)) for one in pieces(said.words)]


def _runs(said: Said, read: Sequence[tuple[Piece, Judged]]) -> Iterator[list[tuple[Piece, Judged]]]:
    """The pieces that last, those of one matter together."""
    if said.label == "TEMP" and said.session is None:
        return  # the user or an agent wrote by hand that it is passing
    if said.by_agent:  # the person is asked about it
        read = [(piece._replace(agents=False), judged) for piece, judged in read]
    if said.session is None and said.label in TYPES and any(_lasts(piece, judged) for piece, judged in read):
        yield [one for one in read if not _BLACKED_OUT.search(one[0].text)]  # written down on purpose: it stays whole
        return
    run: list[tuple[Piece, Judged]] = []
    aside: tuple[Piece, Judged] | None = None
    for piece, judged in read:
        if not _lasts(piece, judged):
            aside = (piece, judged) if not piece.agents and not _BLACKED_OUT.search(piece.text) else None
            continue
        if aside and (starts_with_pronoun(piece.text, piece.language) or _is_context(judged, *aside)):
            run.append(aside)  # "the cracks came from the brine": what the rule after it is about
        aside = None
        if run and not _belongs(judged, run[-1][1]):
            yield run
            run = []
        run.append((piece, judged))
    if run and any(judged.chance("c", "yes") < 0.7 for _, judged in run):
        yield run


def _lasts(piece: Piece, judged: Judged) -> bool:
    if _BLACKED_OUT.search(piece.text):
        return False  # what leans on a secret is of no use without it
    if piece.agents:
        return False  # only the owner's words become long-term memory
    if judged.best("act") in _SMALL_TALK:
        return False
    if tells_a_move(piece.text, piece.language) or recurs(piece.text, piece.language):
        return True  # standing dates, and what was given up is what an entry may have to be corrected by
    odds = (1 - judged.chance("a", "yes")) * (1 - judged.chance("b", "yes")) * (1 - judged.chance("type", "TEMP"))
    return odds >= _CHATTER


def _is_context(judged: Judged, piece: Piece, before: Judged) -> bool:
    """Whether a piece that would not be kept for itself tells what the next one is about."""
    small = before.best("act") in (*_SMALL_TALK, "request")
    return not (small or piece.asked) and _of_one_matter(judged, before)


def _of_one_matter(judged: Judged, before: Judged) -> bool:
    if judged.language != before.language or judged.vector is None or before.vector is None:
        return False
    return float(judged.vector @ before.vector) >= _LINKED[judged.language]


def _belongs(judged: Judged, before: Judged) -> bool:
    """Whether a piece goes on with what the one before it said. Two that would each be kept alone may part."""
    if judged.language != before.language or judged.chance("c", "yes") > _LEANS:
        return True
    if min(judged.lasting, before.lasting) < admit.LASTING or tells_a_change(before.text, before.language):
        return True
    return judged.vector is None or before.vector is None or _of_one_matter(judged, before)


def _support(said: Said, run: Sequence[Piece], tested: Tested) -> float:
    """Directness: a rule that was announced as one, or written down on purpose, counts more; a request or the agent's word less."""
    found = 0.0
    if any(piece.announced for piece in run):
        found += 0.8
    if said.session is None and said.label in TYPES:
        found += 1.0  # somebody wrote it into the log as a memory of this type
    if any(piece.asked for piece in run) and tested.judged.best("act") in ("request", "question"):
        found -= 0.5
    language = tested.judged.language
    if is_unsure(tested.text, language):
        found -= UNSURE
    if holds_once(tested.text, language) or (
        is_passing(tested.text, language) and not tells_a_change(tested.text, language)
    ):
        found -= PASSING
    elif recurs(tested.text, language):
        found += RECURRING
    return found
