"""Sentences of what people type in chats: lower case, without full stops, Chinese and English mixed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from nacre.text.tokens import compiled

_FENCE = re.compile(r"(?ms)^[ \t]*(```|~~~).*?(?:^[ \t]*\1[^\n]*$|\Z)")
_LINE = re.compile(r"\n+")
_MARKER = re.compile(r"\A\s*(?:[-*+•·]|\d{1,2}[.)、]|[（(]\d{1,2}[)）])\s+")
_ABBREVIATION = re.compile(
    r"(?i)(?:\b(?:e\.g|i\.e|etc|vs|mr|mrs|ms|dr|prof|approx|no|fig|st|jr|sr|inc|ltd|co|dept|est|min|max|resp|cf|a\.m|p\.m)"
    r"|\b[A-Za-z]|\d)\.\Z"
)
_LONGEST_ABBREVIATION = 12  # characters, with what stands before it
_OPEN, _CLOSE = "([{（【「『“《", ")]}）】」』”》"


_END = r"[。！？；…]+[”’」』）)】》\"']*|(?<![.!?])[.!?]+[\"'”’)\]]*(?=\s|\Z|[\u4e00-\u9fff])|;(?=[\s\u4e00-\u9fff])"


def sentences(text: str) -> list[str]:
    """The sentences of a message, in order; code blocks are left out. Lines end sentences too."""
    lines = (_MARKER.sub("", line.strip()) for line in _LINE.split(_FENCE.sub("\n", text)))
    return [sentence for line in lines for sentence in _of_line(line) if any(map(str.isalnum, sentence))]


def _of_line(line: str) -> Iterator[str]:
    start = seen = ticks = depth = 0
    for match in compiled(_END).finditer(line):
        end = match.end()
        part = line[seen:end]  # what is new since the last stop: each character is counted once
        seen = end
        ticks += part.count("`")
        depth += sum(map(part.count, _OPEN)) - sum(map(part.count, _CLOSE))
        # While a backtick or a bracket is open, the stop belongs to what is inside.
        inside = ticks % 2 == 1 or (depth > 0 and end - start < 300)
        if not inside and not (match[0] == "." and _ends_an_abbreviation(line, start, end)):
            yield line[start:end].strip()
            start, ticks, depth = end, 0, 0
    yield line[start:].strip()


def _ends_an_abbreviation(line: str, start: int, end: int) -> bool:
    """Whether a full stop belongs to "e.g." or to a number; "at 14:00." and "costs 5." end the sentence where a letter follows."""
    tail = line[max(start, end - _LONGEST_ABBREVIATION) : end]
    if not _ABBREVIATION.search(tail):
        return False
    rest = line[end : end + 40].lstrip()
    return not (tail[-2:-1].isdigit() and (rest[:1].isalpha() or end == len(line)))


_BREAK = re.compile(r"(?<=[,，;；:：])\s*|(?<!\s)\s+(?=(?:but|because|so|and|which|otherwise)\b)|(?<!\s)\s+[-–—]+\s+")


def clauses(sentence: str) -> list[str]:
    return [part.strip() for part in _BREAK.split(sentence) if part.strip()]
