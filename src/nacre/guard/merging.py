"""Findings brought together: apart from each other, outside earlier marks, and the same value wherever it stands."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable

from nacre.guard.finding import MARK, Finding, Findings, mark, pattern

PLAIN_KINDS = ("password", "token", "secret", "access token", "key")
# How many characters may be searched for values that were found already: keeps a text full of secrets linear.
REPEAT_BUDGET = 200_000_000
Spans = list[tuple[int, int]]


def merged(text: str, findings: list[Finding]) -> list[Finding]:
    """What was found in `text`, with the same values elsewhere in it and without what was marked before."""
    if not findings:
        return []
    marks = [match.span() for match in pattern(MARK).finditer(text)] if "[redacted: " in text else []
    pieces = [piece for finding in findings for piece in _outside(text, finding, marks)]
    return joined(pieces + _repeated(text, pieces, marks))


def joined(findings: list[Finding]) -> list[Finding]:
    """In order and apart from each other; the most telling kind names what overlapped."""
    apart: list[Finding] = []
    for finding in sorted(findings, key=lambda one: (one.start, one.end)):
        last = apart[-1] if apart else None
        if last and finding.start < last.end:
            kind = last.kind if _telling(last) <= _telling(finding) else finding.kind
            apart[-1] = Finding(kind, last.start, max(last.end, finding.end))
        else:
            apart.append(finding)
    return apart


def marked(text: str, findings: list[Finding]) -> tuple[str, Callable[[int], int], Spans]:
    """The text with marks, the way back from a place in it to the place in the original, and where the marks stand."""
    parts: list[str] = []
    kept: list[tuple[int, int]] = []
    marks: Spans = []
    place = length = 0
    for finding in findings:
        kept.append((length, place))
        parts += (text[place : finding.start], mark(finding.kind))
        length += finding.start - place + len(parts[-1])
        marks.append((length - len(parts[-1]), length))
        place = finding.end
    kept.append((length, place))
    parts.append(text[place:])

    def origin(at: int) -> int:
        begin, original = kept[bisect_right(kept, at, key=lambda one: one[0]) - 1]
        return original + at - begin

    return "".join(parts), origin, marks


def _telling(finding: Finding) -> int:
    """A block swallows all, a vendor's name says more than "password", and that more than "key"."""
    if finding.kind == "private key":
        return -1
    return PLAIN_KINDS.index(finding.kind) + 1 if finding.kind in PLAIN_KINDS else 0


def _outside(text: str, finding: Finding, marks: Spans) -> Findings:
    start = finding.start
    for at in range(bisect_right(marks, start, key=lambda one: one[1]), len(marks)):
        begin, end = marks[at]
        if begin >= finding.end:
            break
        if _holds_something(text[start:begin]):
            yield Finding(finding.kind, start, begin)
        start = end
    if start == finding.start or _holds_something(text[start : finding.end]):
        yield Finding(finding.kind, start, finding.end)


def _holds_something(piece: str) -> bool:
    return sum(map(str.isalnum, piece)) >= 4


def _repeated(text: str, findings: list[Finding], marks: Spans) -> list[Finding]:
    """The same value where nothing announces it: who writes a password twice names it once."""
    kinds = {text[one.start : one.end]: one.kind for one in findings if 4 <= one.end - one.start <= 200}
    more: list[Finding] = []
    for value in list(kinds)[: max(50, REPEAT_BUDGET // len(text))]:
        place = text.find(value)
        while place >= 0:
            end = place + len(value)
            if _stands_alone(text, value, place, end) and not _in_a_mark(place, end, marks):
                more.append(Finding(kinds[value], place, end))
            place = text.find(value, end)
    return more


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


def _in_a_mark(place: int, end: int, marks: Spans) -> bool:
    at = bisect_left(marks, end, key=lambda one: one[0]) - 1
    return at >= 0 and marks[at][1] > place
