"""A secret in a text: its kind and place, never its value; and findings merged into one redaction."""

from __future__ import annotations

import os
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from operator import itemgetter
from typing import NamedTuple


@dataclass(frozen=True)
class Finding:
    """A secret in the original text, from `start` up to `end`."""

    kind: str
    start: int
    end: int


@dataclass(frozen=True)
class Redaction:
    """The text without its secrets, and where they stood."""

    text: str
    findings: tuple[Finding, ...]


Findings = Iterator[Finding]


@cache
def pattern(expression: str, flags: int = 0) -> re.Pattern[str]:
    """A compiled expression, made when it is first needed so that importing the guard costs nothing."""
    return re.compile(expression, flags)


LONG_RUN = r"(?<![A-Za-z0-9_])[A-Za-z0-9_-]{15,}"  # in which whatever a machine makes is found
MARK = r"\[redacted: [a-z0-9 -]{1,40}\]"


@cache
def rule_rows(section: str) -> tuple[tuple[str, str, str], ...]:
    with open(os.path.join(os.path.dirname(__file__), "rules.tsv"), encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file if line.startswith(f"{section}\t")]
    return tuple((kind, *pair) for _, kind, *rest in rows for pair in zip(rest[::2], rest[1::2], strict=True))


class Rule(NamedTuple):
    """What to look for in a text, or in one line of it, if it holds the hint; the last group of the expression is the secret."""

    kind: str
    hint: str
    expression: str
    accepts: Callable[[str], bool] = lambda _: True


def apply_rules(rules: Iterable[Rule], text: str, searched: str | None = None) -> Findings:
    """What the rules find in a text, or in its lower-cased form of the same length."""
    searched = text if searched is None else searched
    for kind, hint, expression, accepts in rules:
        if hint in searched:
            for match in pattern(expression).finditer(searched):
                begin, end = match.span(match.lastindex or 0)
                if accepts(text[begin:end]):
                    yield Finding(kind, begin, end)


@cache
def any_of(words: tuple[str, ...]) -> re.Pattern[str]:
    """One expression for many words, sorted by their first letter so that few of them are tried at each place."""
    by_first: dict[str, list[str]] = {}
    for word in words:
        by_first.setdefault(word[0], []).append(re.escape(word[1:]))
    return re.compile("|".join(f"{re.escape(first)}(?:{'|'.join(rest)})" for first, rest in by_first.items()))


def lowered(text: str) -> str:
    """Lower case with every character in its place."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


# Findings brought together: apart from each other, outside earlier marks, and the same value wherever it stands.

PLAIN_KINDS = ("password", "token", "secret", "access token", "key")  # from the most telling to the least
# How many characters may be searched for values that were found already: keeps a text full of secrets linear.
REPEAT_BUDGET = 200_000_000
LEAST = 4  # letters and digits of what is left of a value beside a mark


def merged(text: str, findings: list[Finding]) -> list[Finding]:
    """What was found in `text`, with the same values elsewhere in it and without what was marked before."""
    if not findings:
        return []
    marks = [match.span() for match in pattern(MARK).finditer(text)] if "[redacted: " in text else []
    pieces: list[Finding] = []
    for finding in findings:
        start = finding.start
        for at in range(bisect_right(marks, start, key=itemgetter(1)), len(marks)):
            begin, end = marks[at]
            if begin >= finding.end:
                break
            if sum(map(str.isalnum, text[start:begin])) >= LEAST:
                pieces.append(Finding(finding.kind, start, begin))
            start = end
        if start == finding.start or sum(map(str.isalnum, text[start : finding.end])) >= LEAST:
            pieces.append(Finding(finding.kind, start, finding.end))
    # The same value where nothing announces it: who writes a password twice names it once.
    kinds = {text[piece.start : piece.end]: piece.kind for piece in pieces if 4 <= piece.end - piece.start <= 200}
    for value in list(kinds)[: max(50, REPEAT_BUDGET // len(text))]:
        place = text.find(value)
        while place >= 0:
            end = place + len(value)
            mark = bisect_left(marks, end, key=itemgetter(0)) - 1  # the last one that begins before
            if (mark < 0 or marks[mark][1] <= place) and _stands_alone(text, value, place, end):
                pieces.append(Finding(kinds[value], place, end))
            place = text.find(value, end)
    return joined(pieces)


def _rank(kind: str) -> int:
    return -1 if kind == "private key" else PLAIN_KINDS.index(kind) + 1 if kind in PLAIN_KINDS else 0


def joined(findings: list[Finding]) -> list[Finding]:
    """In order and apart from each other; the most telling kind names what overlapped."""
    apart: list[Finding] = []
    for finding in sorted(findings, key=lambda finding: (finding.start, finding.end)):
        if apart and finding.start < apart[-1].end:
            last = apart.pop()
            # A block swallows all, a vendor's name says more than "password", and that more than "key".
            kind = min(last.kind, finding.kind, key=_rank)
            finding = Finding(kind, last.start, max(last.end, finding.end))  # noqa: PLW2901
        apart.append(finding)
    return apart


def _stands_alone(text: str, value: str, place: int, end: int) -> bool:
    """Not a part of a longer word; a plain number or word not a part of a name or an amount either."""
    before, after = text[place - 1 : place], text[end : end + 1]
    if value.isalnum() and (len(value) < 6 or value.isalpha() or value.isdigit()):
        joins = "_-.,/$€"
        inside = bool(after) and after in joins and _letter(text[end + 1 : end + 2])
        return not (_letter(before) or _letter(after) or (before and before in joins) or inside)
    return not (_letter(before) and _letter(value[0])) and not (_letter(after) and _letter(value[-1]))


def _letter(char: str) -> bool:
    """A letter or digit of a script that sets words apart by spaces."""
    return char.isalnum() and char < "\u2e80"
