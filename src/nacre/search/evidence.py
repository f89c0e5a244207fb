"""What speaks for a candidate: one row of numbers for each statement, from words, meaning, neighbours, form and time.

Copies of one line in a log, its archive, the week's digest and long-term memory are one statement. The numbers lie between 0 and 1 or
near it; what each is worth, `weights.json` says, which `training/rank.py` learns.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import pairwise

from nacre.search.candidates import Candidate, Terms
from nacre.search.query import Question, likely
from nacre.text.blocks import AGENT, LABELS, split_label
from nacre.text.tokens import asks, compiled, sentences, tokens

FEATURES = (
    "words",  # BM25, as a share of the best
    "coverage",  # share of the question's weight that its words cover
    "meaning",  # cosine, from the least to the best of the candidates
    "near",  # cosine in standard deviations above the mean of the candidates
    "either",  # the better of words and meaning
    "phrase",  # share of the question's neighbouring words that stand side by side
    # The shorter entries are, the more their neighbours tell of them.
    "before",  # how well the entry before it fits
    "around",  # and the best of those two before and two after it
    "filled",  # how much more of the question's weight it covers with the entries beside it
    "answers",  # the entry before it is a question that fits
    "question",  # it is itself a question or a request; three times where it repeats what is asked
    "brief",  # it says little; among long messages an instruction does
    "when",  # the question asks for a time, and it tells one
    "amount",  # the question asks for an amount, and it tells one
    "period",  # it was said in the time that the question names; twice where it asks for nothing else
    "longterm",
    "agents",  # it is what the agent said or did
    "wish",  # the question asks for help, and it states how things are to be done
    "wanted",  # the same, times how near it is
)
CONTEXT = ("always", "covered")  # what the worth of each depends on: "covered" is the best coverage of any candidate

_COVERAGE_SHARE = 0.3  # share of coverage within words, for the first estimate
# Tokens of the candidates on average: up to the former their neighbours tell much of them, from the latter on nothing.
SHORT, LONG = 35, 65
EVERGREEN = frozenset({"longterm", "note", "extra"})
_SOURCE = re.compile(r" src \d{4}_\d{2}_\d{2}(?: \d+)*$")
_MOST = 120  # statements that are looked at closely
_CLOSELY = 30  # and those among which entries are joined to the lines they were made of
_REPEATED = 0.95  # of the question's weight that a captured question covers
_HELP, _WISHES = 0.3, 60  # odds from which a question may ask for help, and the best statements that are looked at then
_SAME, _FEW = 0.9, 5  # share of the words of the shorter that stand in the longer; words below which that says nothing
_LOGGED = frozenset({"daily", "archive", "weekly"})

# Of texts in lower case: to look for both cases takes twice as long.
_TELLS_WHEN = (
    r"\b(?:yesterday|today|tomorrow|tonight|last|next|ago|weeks?|weekends?|months?|years?|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|january|february|march|april"
    r"|may|june|july|august|september|october|november|december|since|until|recently)\b|\b\d{4}\b|\d{1,2}[:/]\d{2}|\d(?:st|nd|rd|th)\b|[昨今明前后][天晚]|[上下这本]个?(?:周|月|星期|礼拜)|[月号年]|星期|周[一二三四五六日末]|点"
)
_TELLS_AMOUNT = (
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve|dozen|hundred|thousand|couple|half|both|twice|once)\b"
    r"|[一二两三四五六七八九十百千万半几][个只位条张次天周月年块元家本台件岁斤米度小遍成]"
)
_WANTS_WHEN = r"(?i)\bwhen\b|\bwhat (?:date|day|time|year|month|week)|\bwhich (?:date|day|year|month|week|morning|evening)|\bhow long\b|什么时候|哪[天年月周]|哪一[天年月周]|几[号点月]|何时|多久|日期|时间"
_WANTS_AMOUNT = r"(?i)\bhow (?:many|much|often|old|long|far|big|large|high|tall)\b|\bwhat (?:port|price|number|version|rate|size|percentage|limit|cost)|多少|几|多[大高长远重贵]|价格|端口|版本|预算"


@dataclass(slots=True)
class Statement:
    """What is said in one place or, in the same words, in several; with what speaks for it."""

    copies: list[Candidate]
    shown: Candidate
    words: float = 0.0
    meaning: float = 0.0
    near: float = 0.0
    fit: float = 0.0  # a first estimate from words and meaning alone
    fresh: float = 1.0  # halves with each half-life
    features: list[float] = field(default_factory=list)
    score: float = 0.0
    superseded: bool = False  # a newer statement takes its place for certain, or nearly so

    @property
    def date(self) -> str | None:
        return self.shown.date or next((copy.date for copy in self.copies if copy.date), None)

    @property
    def bm25(self) -> float:
        return max(copy.bm25 for copy in self.copies)

    @property
    def coverage(self) -> float:
        return max(copy.coverage for copy in self.copies)

    def is_timely(self, question: Question) -> bool:
        """Whether it was said in the time that the question names."""
        return any(in_period(copy, question) for copy in self.copies)


def fold_copies(candidates: Collection[Candidate], question: Question) -> list[Statement]:
    """The candidates with copies folded, and a first estimate of each. Shown is the copy of the time that the question names, else the one
    in long-term memory, else the newest, else the one in a log."""

    def precedence(candidate: Candidate) -> tuple[bool, bool, str, bool]:
        timely = in_period(candidate, question)
        return timely, candidate.layer == "longterm", candidate.date or "", candidate.layer != "weekly"

    labels = _labels()
    grouped: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        body = candidate.body.strip()
        if candidate.layer == "weekly":
            body = _SOURCE.sub("", body)
        if body.startswith(labels):
            body = body[next(len(label) for label in labels if body.startswith(label)) :]
        grouped.setdefault(body or str(candidate.id), []).append(candidate)
    folded = [Statement(copies, max(copies, key=precedence)) for copies in grouped.values()]
    _estimate(folded)
    return folded


@cache
def _labels() -> tuple[str, ...]:
    return tuple(" ".join(tokens(label)) + " " for label in LABELS)


def fold_entries(statements: list[Statement]) -> list[Statement]:
    """The statements with entries of long-term memory joined to the lines they were made of: the shorter holds hardly another word."""
    best = sorted(statements, key=lambda statement: -statement.fit)[:_CLOSELY]
    entries = [statement for statement in best if statement.shown.layer == "longterm"]
    words = {id(statement): frozenset(statement.shown.body.split()) for statement in best}
    gone: set[int] = set()
    for statement in best:
        for entry in entries if statement.shown.layer in _LOGGED else ():
            own, others = words[id(statement)], words[id(entry)]
            fewer = min(len(own), len(others))
            if fewer >= _FEW and len(own & others) >= _SAME * fewer:
                entry.copies += statement.copies
                gone.add(id(statement))
                break
    return [statement for statement in statements if id(statement) not in gone]


def _estimate(statements: Sequence[Statement]) -> None:
    """Give each statement its share of words, of meaning, and the mean of both as a first estimate."""
    best = max((statement.bm25 for statement in statements), default=0.0) or 1.0
    ranges: dict[int, tuple[float, float, float, float]] = {}  # of the cosines, by model: least, best, mean, deviation
    by_model: dict[int, list[float]] = {}
    for copy in (copy for statement in statements for copy in statement.copies):
        for model, cosine in copy.cosines.items():
            by_model.setdefault(model, []).append(cosine)
    for model, cosines in by_model.items():
        mean = sum(cosines) / len(cosines)
        deviation = (sum((cosine - mean) ** 2 for cosine in cosines) / len(cosines)) ** 0.5
        ranges[model] = (min(cosines), max(cosines), mean, deviation + 1e-6)
    for statement in statements:
        statement.words = (1 - _COVERAGE_SHARE) * statement.bm25 / best + _COVERAGE_SHARE * statement.coverage
        statement.near = -0.75 if ranges else 0.0
        for copy in statement.copies:
            for model, cosine in copy.cosines.items():
                least, most, mean, deviation = ranges[model]
                share = (cosine - least) / (most - least) if most > least else 1.0
                statement.meaning = max(statement.meaning, share)
                statement.near = max(statement.near, (cosine - mean) / deviation / 4)
        statement.fit = (statement.words + statement.meaning) / 2 if ranges else statement.words


def context_of(statements: Sequence[Statement]) -> list[float]:
    """What the worth of the features depends on, in the order of CONTEXT."""
    return [1.0, max((statement.coverage for statement in statements), default=0.0)]


def need_of_neighbours(statements: Sequence[Statement]) -> float:
    """How much the entries beside one tell of it, from 0 to 1: much where entries are short, as the turns of a conversation."""
    sizes = [copy.size for statement in statements for copy in statement.copies]
    return min(1.0, max(0.0, (LONG - sum(sizes) / max(1, len(sizes))) / (LONG - SHORT)))


def fill(statements: list[Statement], question: Question, terms: Terms, today: dt.date, half_life: float) -> None:
    """Set the features of the best by their first estimate; the others keep none."""
    short = need_of_neighbours(statements)
    places = {(copy.file, copy.position): (statement, copy) for statement in statements for copy in statement.copies}
    best = max((statement.bm25 for statement in statements), default=0.0) or 1.0
    whole = sum(terms.weights.values()) or 1.0
    shares = [weight / whole for weight in terms.weights.values()]
    bits = {token: 1 << at for at, token in enumerate(terms.weights)}
    pairs = [(bits[a] | bits[b], f" {a} {b} ") for a, b in pairwise(question.tokens)]
    lower = question.text.lower()
    wants_when = bool(compiled(_WANTS_WHEN).search(lower))
    wants_amount = bool(compiled(_WANTS_AMOUNT).search(lower))

    best_first = sorted(statements, key=lambda statement: statement.fit + statement.is_timely(question), reverse=True)
    for place, statement in enumerate(best_first[:_MOST]):
        shown, coverage = statement.shown, statement.coverage
        before = around = answers = shared = 0.0
        for copy in statement.copies if short else ():
            beside = [places.get((copy.file, copy.position + offset)) for offset in (-1, 1, -2, 2)]
            fits = [place[0].fit if place else 0.0 for place in beside]
            before, around = max(before, fits[0]), max(around, *fits[1:])
            if beside[0] and fits[0] > answers and asks(beside[0][1].text):
                answers = fits[0]
            previous, following = (place[1].holds if place else 0 for place in beside[:2])
            words = copy.holds | previous | following
            shared = max(shared, sum(share for at, share in enumerate(shares) if words >> at & 1))
        if shown.layer not in EVERGREEN and (date := statement.date) and half_life > 0:
            statement.fresh = 0.5 ** (max(0, (today - dt.date.fromisoformat(date)).days) / half_life)
        wish = question.help * states_wish(shown.text) if question.help > _HELP and place < _WISHES else 0.0
        statement.features = [
            statement.bm25 / best,
            coverage,
            statement.meaning,
            statement.near,
            max(statement.words, statement.meaning),
            sum(shown.holds & both == both and pair in shown.body for both, pair in pairs) / max(1, len(pairs)),
            short * before,
            short * around,
            short * max(0.0, shared - coverage),
            short * answers,
            short * asks(shown.text) * (3.0 if coverage >= _REPEATED else 1.0) if short else 0.0,
            short * min(1.0, 12 / max(1, shown.size)),
            float(wants_when and bool(compiled(_TELLS_WHEN).search(shown.text.lower()))),
            float(wants_amount and bool(compiled(_TELLS_AMOUNT).search(shown.text.lower()))),
            float(statement.is_timely(question)) * (2.0 if question.only_days else 1.0),
            float(shown.layer == "longterm"),
            float(AGENT.match(split_label(shown.text)[1]) is not None),
            wish,
            wish * statement.near,
        ]


@lru_cache(maxsize=4096)
def states_wish(text: str) -> float:
    """How likely one of its sentences states how somebody wants things to be done, from 0 to 1."""
    return max((likely("wish", sentence) for sentence in sentences(split_label(text)[1])), default=0.0)


def in_period(candidate: Candidate, question: Question) -> bool:
    """Whether it was said in the time that the question names."""
    period = question.period
    if not (period and candidate.date and period.first <= candidate.date <= period.last):
        return False
    hour = candidate.time and candidate.time[-5:-3] if period.hours else None  # of 14:05
    return not (period.hours and hour and hour.isdigit()) or period.hours[0] <= int(hour) < period.hours[1]
