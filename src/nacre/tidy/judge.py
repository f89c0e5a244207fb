"""Candidates from the lines of the logs, and the four-way test that decides what is kept."""

from __future__ import annotations

import math
import re
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from nacre.brain.local.judge import Judge, Judged, logit
from nacre.brain.local.likeness import FOR_ONCE, RECURRING, UNSURE, Statement, says
from nacre.brain.local.relation import relations, says_the_same
from nacre.brain.local.wording import (
    BLACKED_OUT,
    Piece,
    joined,
    pieces,
    remember,
    remember_before,
    shorten,
    starts_with_pronoun,
    without_it,
)
from nacre.model import ASK, KEEP, LONGEST, REFUSE, TYPES, Verdict
from nacre.text.tokens import is_question, language_of
from nacre.tidy.collect import LogLine
from nacre.vault.entries import entry_id

if TYPE_CHECKING:
    from nacre.brain.orders import Change

# Odds that a statement belongs into long-term memory from which it is kept, and from which the person is asked. Precision first: of what
# lies between 0.5 and 0.6 every second line was noise in replays of invented weeks; under 0.4, three questions in four were idle.
KEEP_FROM, ASK_FROM = 0.6, 0.4
PLAIN_FROM = 0.4  # the first without the tuned models; nobody is asked then: too many questions would be idle
# How much rarer what is worth keeping is among the sentences of a session than among those that the tuned models learnt from: a
# quarter against two fifths, on the scale on which evidence adds up.
IN_SESSION = 0.7
ALONE = 2.2  # the other way round: what somebody puts forward by itself is mostly worth keeping
_CLEAR = 0.3  # odds under which the type is a guess, and what kind of event it was says more
_HEADS = {"a": "prevents_error", "b": "broad", "c": "self_contained"}


@dataclass(frozen=True)
class Tested:
    judged: Judged
    kind: str  # its type; never TEMP: what is admitted lasts
    without_it: str | None


def assess_all(judge: Judge, texts: Sequence[str], before: Sequence[str] | None = None) -> list[Tested]:
    """The sentences with their types, in view of what was said before each."""
    result: list[Tested] = []
    for judged in judge.read(texts, before or [""] * len(texts)):
        kind = max((kind for kind in TYPES if kind != "TEMP"), key=lambda kind: judged.chance("type", kind))
        if judged.chance("type", kind) < _CLEAR:
            kind = "PREF" if judged.best("category") == "preference" else "TECH"
        result.append(Tested(judged, kind, without_it(judged, kind)))
    return result


def four_way_test(
    tested: Tested, existing: Sequence[Statement] = (), *, support: float = 0.0, lasting: float | None = None
) -> Verdict:
    """What the test says. `support` speaks for keeping it; `lasting` are odds known better than from the text alone."""
    judged = tested.judged
    scores = {name: round(1 - judged.chance(head, "yes"), 3) for head, name in _HEADS.items()}
    near = relations(existing, judged.statement)
    scores["novel"] = round(1 - max((relation.same for relation in near), default=0.0), 3)
    odds = with_support(judged.lasting if lasting is None else lasting, support)
    keep_from = KEEP_FROM if judged.tuned else PLAIN_FROM
    decision = KEEP if odds >= keep_from else ASK if odds >= ASK_FROM and judged.tuned else REFUSE
    failed: list[str] = []
    if decision != KEEP:
        weak = sorted(_HEADS.values(), key=lambda name: scores[name])
        failed = [name for name in weak if scores[name] < 0.5] or weak[:1]
    if any(says_the_same(existing[relation.place], judged.statement, relation) for relation in near):
        failed, decision = [*failed, "novel"], REFUSE
    return Verdict(decision, tuple(failed), tested.without_it, scores, round(odds, 3))


def with_support(lasting: float, support: float) -> float:
    """The odds with what else speaks for it, added on the scale on which evidence adds up."""
    return 1 / (1 + math.exp(-(logit(lasting) + support)))


def test_one_text(judge: Judge, text: str, existing: Sequence[str]) -> Verdict:
    """The test of one text against what a memory holds already; writes nothing."""
    first, *others = assess_all(judge, [text, *existing])
    return judge_alone(first, [other.judged.statement for other in others])


def judge_alone(tested: Tested, existing: Sequence[Statement] = ()) -> Verdict:
    """The test of what somebody put forward by itself."""
    return four_way_test(tested, existing, support=ALONE if tested.judged.tuned else 0.0)


# What of the logs is offered to long-term memory: each line taken apart, one fact an entry.

_NEVER = ("social", "question", "offrecord")  # what somebody does with words that are no statement
_LIKELY_TYPE = 0.25  # odds above which the type that a log gives is believed
# Odds of leaning on what was said before, from which a piece is joined to it, or is not understood without it.
_JOINED, _DANGLES = 0.13, 0.5


@dataclass(frozen=True)
class Candidate:
    """A statement that is offered, and where it was said."""

    id: str
    tested: Tested
    said: LogLine
    lasting: float
    support: float = 0.0  # what speaks for it besides its words
    agents: bool = False  # not the owner's word: it is never kept unasked, and corrects nothing that the owner said
    explicit: bool = False  # the person's word: kept without the test
    dangling: bool = False  # nobody could tell what it is about
    parts: tuple[Statement, ...] = ()  # of what was joined from two pieces, each by itself
    above: LogLine | None = None  # the line before it in the log, where it was joined to that
    change: Change | None = None  # what the user's own model says is to become of it

    @property
    def text(self) -> str:
        return self.tested.judged.text


class _Part(NamedTuple):
    """What becomes a candidate: the words, what was said before them, and the pieces that they are made of."""

    said: LogLine
    text: str
    before: str
    pieces: list[Piece]
    explicit: bool = False
    follows: bool = False  # right upon the part before it
    above: LogLine | None = None  # the line of that part, where it is another than its own


def make_candidates(said: Sequence[LogLine], judge: Judge, agents: Container[tuple[str, str]] = ()) -> list[Candidate]:
    """One for each statement of each line. `agents`: lines that are the agent's word alone."""
    parts: list[_Part] = []
    for above, line in zip((None, *said), said, strict=False):
        _add_parts(parts, line, above, by_agent=(line.day, line.mark) in agents)
    tested = assess_all(judge, [part.text for part in parts], [part.before for part in parts])
    candidates: list[Candidate] = []
    for place, part in enumerate(parts):
        line, test = part.said, tested[place]
        judged = test.judged
        before = parts[place - 1] if part.follows else None
        dangles = judged.needs_context > _DANGLES or starts_with_pronoun(judged.text, judged.language)
        leans = dangles or judged.needs_context > _JOINED
        alone = candidates[-1].lasting if before else 0.0
        least = KEEP_FROM if alone >= KEEP_FROM else ASK_FROM
        worth = judged.lasting >= least or part.explicit or not judged.tuned
        if before and before.said is not line:  # joined to what is worth keeping by itself, and lasts like it
            lasts = alone >= KEEP_FROM and not before.above and not says(FOR_ONCE, judged.text, judged.language)
            worth, leans = worth and lasts and judged.tuned, dangles
        joined_of: tuple[Statement, ...] = ()
        line_above: LogLine | None = None
        text = joined([before.text, part.text], judged.language) if before else ""
        fits = before and len(text) <= LONGEST[judged.language] and before.pieces[0].agents == part.pieces[0].agents
        if before and leans and worth and fits:
            # "the cracks came from the brine": what it is about stands in the piece before it, and both are one entry.
            (whole,) = assess_all(judge, [text], [before.before])
            lasting = max(judged.lasting, alone if judged.tuned else whole.judged.lasting)
            test = replace(whole, judged=replace(whole.judged, lasting=lasting))
            joined_of = (tested[place - 1].judged.statement, judged.statement)
            line_above = before.above if before.said is line else before.said
            dangles = tested[place - 1].judged.best("act") == "question"  # with its answer it is no statement yet
            parts[place] = part._replace(text=text, before=before.before, above=line_above)
            if not before.explicit:
                candidates.pop()
        # The type that somebody gave a line counts, unless the classifiers are sure of another.
        label = line.label if line.label in TYPES and line.label != "TEMP" else None
        if label and (line.session is None or test.judged.chance("type", label) >= _LIKELY_TYPE):
            test = replace(test, kind=label)
        by_agent = line.by_agent or all(piece.agents for piece in part.pieces)
        candidates.append(
            Candidate(
                entry_id(test.judged.text),
                test,
                line,
                lasting=0.0 if not part.explicit and _is_idle(part, test.judged) else test.judged.lasting,
                support=_support(part, test.judged),
                agents=by_agent,
                explicit=part.explicit and not by_agent,
                dangling=dangles and not part.explicit,
                parts=joined_of,
                above=line_above,
            )
        )
    return candidates


_SURE = {KEEP: 0.9, ASK: 0.5, REFUSE: 0.0}  # how likely what a model decided lasts


def decision_of(change: Change) -> str:
    return {"ask": ASK, "drop": REFUSE}.get(change.verdict, KEEP)


def candidate_by_model(line: LogLine, change: Change, judge: Judge) -> Candidate:
    """A line as the user's own model words it."""
    (tested,) = assess_all(judge, [change.text.strip() or line.words])
    tested = replace(tested, kind=change.type)
    return Candidate(entry_id(tested.judged.text), tested, line, _SURE[decision_of(change)], change=change)


def _add_parts(parts: list[_Part], line: LogLine, above: LogLine | None, *, by_agent: bool) -> None:
    """Add what a line offers. `above`: the line before it, which it may lean on where both are of one session."""
    # What is said to stand elsewhere counts as the agent's word, unless the owner wrote it down as a memory.
    pieces_ = [
        piece._replace(agents=piece.agents or line.by_agent or by_agent or (piece.reported and not line.by_hand))
        for piece in pieces(line.words)
    ]
    language = language_of(line.words)
    if line.by_hand and line.label != "TEMP":
        if not BLACKED_OUT.search(line.words):
            words = shorten(line.words, language, LONGEST[language])
            parts.append(_Part(line, words, "", pieces_ or [Piece(line.words, language)], explicit=True))
        return
    place = (line.day, line.session, line.line - 1)
    is_next = above is not None and line.session is not None and (above.day, above.session, above.line) == place
    last = pieces(above.words)[-1:] if above and is_next else []
    before = last[0].text if last else ""
    has_before = bool(last and parts and parts[-1].said is above and parts[-1].pieces[-1].text == before)
    follows = has_before
    for piece in pieces_:
        own = not piece.agents and not piece.asked
        when = remember_before(piece.text, piece.language) if own and has_before else None
        if when is not None:
            text = shorten(joined([parts[-1].text, when], piece.language), piece.language, LONGEST[piece.language])
            parts[-1] = parts[-1]._replace(text=text, explicit=True)
            continue
        words, asks = remember(piece.text, piece.language)
        # In a session only the owner's words are offered; what an agent wrote down as a memory is put to the person.
        if words and not BLACKED_OUT.search(words) and (line.by_agent or not piece.agents):
            text = shorten(words, piece.language, LONGEST[piece.language])
            parts.append(_Part(line, text, before, [piece], asks and own, follows))
            has_before = follows = True
        else:
            has_before = follows = False
        before = piece.text


def _is_idle(part: _Part, judged: Judged) -> bool:
    """Whether it states nothing that could be kept: a question, a greeting, a yes; or somebody wrote that it is passing."""
    if part.said.label == "TEMP" and part.said.session is None:
        return True
    return (not judged.tuned and judged.best("act") in _NEVER) or is_question(judged.text, judged.language)


def _support(part: _Part, judged: Judged) -> float:
    """Directness: a rule that was announced as one counts more; what is said with doubt or for once less."""
    text, language = judged.text, judged.language
    support = 0.8 if any(piece.announced for piece in part.pieces) else 0.0
    if judged.tuned and part.said.session and not part.said.by_agent:
        support -= IN_SESSION
    if says(UNSURE, text, language):
        support -= 1.0
    if says(FOR_ONCE, text, language):
        support -= 0.7
    elif says(RECURRING, text, language):
        support += 0.6
    return support


# Where a fact belongs: to everybody's memory or to one project's.

_SELF = {
    "en": re.compile(
        r"\b(?:i|i'm|i've|i'd|i'll|my|me|mine|the user)\b|\b(?:answers?|repl(?:y|ies)|explanations?|tone|summar(?:y|ies))\b",
        re.IGNORECASE,
    ),
    "zh": re.compile(r"我(?!们)|回答|回复|解释|语气|称呼|总结"),
}
_EVERYWHERE = {
    "en": re.compile(
        r"\b(?:every|all|any|each)\s(?:\w+\s)?(?:repo\w*|projects?|codebases?)\b|\beverywhere\b", re.IGNORECASE
    ),
    "zh": re.compile(r"(?:所有|每个|每一个|全部|任何|哪个)(?:的)?(?:项目|仓库|工程|代码库)"),
}


def about_the_user(candidate: Candidate) -> bool:
    """Whether a statement made in a project holds everywhere: a person, the owner's own wish, or a rule for every project."""
    if candidate.change:
        return candidate.change.scope == "everywhere"
    kind, language, text = candidate.tested.kind, candidate.tested.judged.language, candidate.text
    if kind == "PEOPLE" or _EVERYWHERE[language].search(text):
        return True
    return kind == "PREF" and bool(_SELF[language].search(text))
