"""Candidates from the lines of the logs, and the four-way test that decides what is kept."""

from __future__ import annotations

import math
import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace

from nacre.brain.local.judge import Judge, Judged
from nacre.brain.local.likeness import CHANGE, FOR_ONCE, FROM_TO, LEAVES, PASSING, RECURRING, UNSURE, Statement, says
from nacre.brain.local.relation import relations, says_the_same
from nacre.brain.local.wording import BLACKED_OUT, Piece, joined, pieces, shorten, starts_with_pronoun, without_it
from nacre.model.entry import TYPES
from nacre.model.verdict import Verdict
from nacre.text.tokens import language_of
from nacre.tidy.collect import LogLine
from nacre.vault.entries import entry_id

LASTING = 0.4  # odds above which a statement passes the first three tests
_CLEAR = 0.3  # odds under which the type is a guess, and what kind of event it was says more
_HEADS = {"a": "prevents_error", "b": "broad", "c": "self_contained"}


@dataclass(frozen=True)
class Tested:
    judged: Judged
    kind: str  # its type; never TEMP: what is admitted lasts
    without_it: str | None


def assess_all(judge: Judge, texts: Sequence[str]) -> list[Tested]:
    result: list[Tested] = []
    for judged in judge.read(texts):
        kind = max((kind for kind in TYPES if kind != "TEMP"), key=lambda kind: judged.chance("type", kind))
        if judged.chance("type", kind) < _CLEAR:
            kind = "PREF" if judged.best("category") == "preference" else "TECH"
        result.append(Tested(judged, kind, without_it(judged, kind)))
    return result


def four_way_test(
    tested: Tested, existing: Sequence[Statement] = (), *, support: float = 0.0, lasting: float | None = None
) -> Verdict:
    """What the test says. `support` speaks for keeping it; `lasting` are odds known better than from the text alone."""
    scores = {name: round(1 - tested.judged.chance(head, "yes"), 3) for head, name in _HEADS.items()}
    near = relations(existing, tested.judged.statement)
    scores["novel"] = round(1 - max((relation.same for relation in near), default=0.0), 3)
    failed: list[str] = []
    odds = min(max(tested.judged.lasting if lasting is None else lasting, 1e-6), 1 - 1e-6)
    # What speaks for it is added on the scale on which evidence adds up.
    if 1 / (1 + math.exp(-(math.log(odds / (1 - odds)) + support))) < LASTING:
        weak = sorted(_HEADS.values(), key=lambda name: scores[name])
        failed = [name for name in weak if scores[name] < 0.5] or weak[:1]
    if tested.without_it is None and "prevents_error" not in failed:
        failed.insert(0, "prevents_error")
    if any(says_the_same(existing[relation.place], tested.judged.statement, relation) for relation in near):
        failed.append("novel")
    return Verdict(not failed, tuple(failed), tested.without_it, scores)


def test_one_text(judge: Judge, text: str, existing: Sequence[str]) -> Verdict:
    """The test of one text against what a memory holds already; writes nothing."""
    first, *others = assess_all(judge, [text, *existing])
    return four_way_test(first, [other.judged.statement for other in others])


# What of the logs is offered to long-term memory: each line taken apart, the chatter beside a lasting statement left out.

LONGEST = {"en": 240, "zh": 110}  # characters of an entry: MEMORY.md has 5 KB for everything
_CHATTER = 0.12  # odds under which a piece of a line is left out
_SMALL_TALK = ("social", "question", "agree", "offrecord", "speculate")
_LINKED = {"en": 0.3, "zh": 0.5}  # likeness above which two pieces speak of the same; the models' scales differ
_LIKELY_TYPE = 0.25  # odds above which the type that a log gives is believed
_LEANS = 0.4  # odds above which a piece cannot be understood without the one before it


@dataclass(frozen=True)
class Candidate:
    """A statement that is offered, and where it was said."""

    id: str
    tested: Tested
    said: LogLine
    lasting: float  # the odds of its best piece: what stands around a rule does not make it less of one
    core: Statement  # that piece, by itself
    support: float = 0.0  # what speaks for it besides its words
    agents: bool = False  # not the owner's word: it is never kept unasked, and corrects nothing that the owner said

    @property
    def text(self) -> str:
        return self.tested.judged.text


def make_candidates(said: Sequence[LogLine], judge: Judge, agents: Container[tuple[str, str]] = ()) -> list[Candidate]:
    """One or more for each line, or the whole line where nothing in it lasts. `agents`: lines that are the agent's word alone."""
    split: list[list[Piece]] = []
    for (
        line
    ) in said:  # what is said to stand elsewhere counts as the agent's word, unless the owner wrote it down as a memory
        noted = line.session is None and not line.by_agent
        by_agent = line.by_agent or (line.day, line.mark) in agents
        parts = pieces(line.words)
        split.append([part._replace(agents=part.agents or by_agent or (part.reported and not noted)) for part in parts])
    judged = iter(judge.read([piece.text for parts in split for piece in parts]))
    offered: list[tuple[LogLine, str, list[Piece], Judged | None]] = []
    for line, parts in zip(said, split, strict=True):
        runs = list(_runs(line, [(piece, next(judged)) for piece in parts]))
        if not runs:
            language = language_of(line.words)
            own = [piece for piece in parts if not piece.agents]
            words = line.words if len(own) in (0, len(parts)) else joined([piece.text for piece in own], language)
            offered.append((line, shorten(words, language, LONGEST[language]), own or parts, None))
        for run in runs:
            language = run[0][0].language
            text = joined([piece.text for piece, _ in run], language)
            best = max((judged for _, judged in run), key=lambda judged: judged.lasting)
            offered.append((line, shorten(text, language, LONGEST[language]), [piece for piece, _ in run], best))
    tested = assess_all(judge, [text for _, text, _, _ in offered])
    candidates: list[Candidate] = []
    for (line, text, own, core), test in zip(offered, tested, strict=True):
        # The type that somebody gave a line counts, unless the classifiers are sure of another.
        label = line.label if line.label in TYPES and line.label != "TEMP" else None
        typed = label and (line.session is None or test.judged.chance("type", label) >= _LIKELY_TYPE)
        if text.strip():
            candidates.append(
                Candidate(
                    entry_id(text),
                    replace(test, kind=label) if label and typed else test,
                    line,
                    max(core.lasting, test.judged.lasting) if core else 0.0,
                    (core or test.judged).statement,
                    _support(line, own, test),
                    line.by_agent or all(piece.agents for piece in own),
                )
            )
    return candidates


def _runs(said: LogLine, read: Sequence[tuple[Piece, Judged]]) -> Iterator[list[tuple[Piece, Judged]]]:
    """The pieces that last, those of one matter together."""
    if said.label == "TEMP" and said.session is None:
        return  # the user or an agent wrote by hand that it is passing
    if said.by_agent:  # the person is asked about it
        read = [(piece._replace(agents=False), judged) for piece, judged in read]
    if said.session is None and said.label in TYPES and any(_lasts(piece, judged) for piece, judged in read):
        yield [row for row in read if not BLACKED_OUT.search(row[0].text)]  # written down on purpose: it stays whole
        return
    run: list[tuple[Piece, Judged]] = []
    aside: tuple[Piece, Judged] | None = None
    for piece, judged in read:
        if not _lasts(piece, judged):
            aside = (piece, judged) if not piece.agents and not BLACKED_OUT.search(piece.text) else None
            continue
        if aside:  # "the cracks came from the brine": what the rule after it is about
            idle = aside[0].asked or aside[1].best("act") in (*_SMALL_TALK, "request")
            if starts_with_pronoun(piece.text, piece.language) or (not idle and _of_one_matter(judged, aside[1])):
                run.append(aside)
        aside = None
        if run and not _belongs(judged, run[-1][1]):
            yield run
            run = []
        run.append((piece, judged))
    if run and any(judged.chance("c", "yes") < 0.7 for _, judged in run):
        yield run


def _lasts(piece: Piece, judged: Judged) -> bool:
    # What leans on a secret is of no use without it, and only the owner's words become long-term memory.
    if BLACKED_OUT.search(piece.text) or piece.agents or judged.best("act") in _SMALL_TALK:
        return False
    moves = says(LEAVES, piece.text, piece.language) and says(FROM_TO, piece.text, piece.language)
    if moves or says(RECURRING, piece.text, piece.language):
        return True  # standing dates, and what was given up is what an entry may have to be corrected by
    odds = (1 - judged.chance("a", "yes")) * (1 - judged.chance("b", "yes")) * (1 - judged.chance("type", "TEMP"))
    return odds >= _CHATTER


def _of_one_matter(judged: Judged, before: Judged) -> bool:
    if judged.language != before.language or judged.vector is None or before.vector is None:
        return False
    return float(judged.vector @ before.vector) >= _LINKED[judged.language]


def _belongs(judged: Judged, before: Judged) -> bool:
    """Whether a piece goes on with what the one before it said. Two that would each be kept alone may part."""
    if judged.language != before.language or judged.chance("c", "yes") > _LEANS:
        return True
    if min(judged.lasting, before.lasting) < LASTING or says(CHANGE, before.text, before.language):
        return True
    return judged.vector is None or before.vector is None or _of_one_matter(judged, before)


def _support(said: LogLine, run: Sequence[Piece], tested: Tested) -> float:
    """Directness: a rule that was announced as one, or written down on purpose, counts more; a request or the agent's word less."""
    support = 0.0
    if any(piece.announced for piece in run):
        support += 0.8
    if said.session is None and said.label in TYPES:
        support += 1.0  # somebody wrote it into the log as a memory of this type
    if any(piece.asked for piece in run) and tested.judged.best("act") in ("request", "question"):
        support -= 0.5
    text, language = tested.judged.text, tested.judged.language
    if says(UNSURE, text, language):
        support -= 1.0
    if says(FOR_ONCE, text, language) or (says(PASSING, text, language) and not says(CHANGE, text, language)):
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
    kind, language, text = candidate.tested.kind, candidate.tested.judged.language, candidate.text
    if kind == "PEOPLE" or _EVERYWHERE[language].search(text):
        return True
    return kind == "PREF" and bool(_SELF[language].search(text))
