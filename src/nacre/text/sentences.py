"""Sentences of what people type in chats: lower case, without full stops, Chinese and English mixed."""

from __future__ import annotations

import re
from functools import cache

_FENCE = re.compile(r"(?ms)^[ \t]*(```|~~~).*?(?:^[ \t]*\1[^\n]*$|\Z)")
_LINE = re.compile(r"\n+")
_MARKER = re.compile(r"\A\s*(?:[-*+•·]|\d{1,2}[.)、]|[（(]\d{1,2}[)）])\s+")
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|mr|mrs|ms|dr|prof|approx|no|fig|st|jr|sr|inc|ltd|co|dept|est|min|max|resp|cf|a\.m|p\.m)"
    r"|\b[A-Za-z]|\d)\.\Z",
    re.IGNORECASE,
)
_OPEN, _CLOSE = "([{（【「『“《", ")]}）】」』”》"


@cache
def _end() -> re.Pattern[str]:
    return re.compile(
        r"[。！？；…]+[”’」』）)】》\"']*|[.!?]+[\"'”’)\]]*(?=\s|\Z|[\u4e00-\u9fff])|;(?=[\s\u4e00-\u9fff])"
    )


def sentences(text: str) -> list[str]:
    """The sentences of a message, in order; code blocks are left out. Lines end sentences too."""
    found: list[str] = []
    for line in _LINE.split(_FENCE.sub("\n", text)):
        found += _of_line(_MARKER.sub("", line.strip()))
    return found


def _of_line(line: str) -> list[str]:
    found: list[str] = []
    start = 0
    for match in _end().finditer(line):
        piece = line[start : match.end()]
        if _is_inside(piece) or (match[0] == "." and _ABBREVIATION.search(piece) and not _ends_a_number(piece, line)):
            continue
        found.append(piece.strip())
        start = match.end()
    found.append(line[start:].strip())
    return [one for one in found if any(character.isalnum() for character in one)]


def _is_inside(piece: str) -> bool:
    """Whether a bracket or a backtick is still open, so that the stop belongs to what is inside."""
    if piece.count("`") % 2:
        return True
    depth = sum(piece.count(one) for one in _OPEN) - sum(piece.count(one) for one in _CLOSE)
    return depth > 0 and len(piece) < 300


def _ends_a_number(piece: str, line: str) -> bool:
    """Whether "at 14:00." or "costs 5." ends the sentence: the next one begins with a letter or a capital."""
    rest = line[len(piece) :]
    return bool(re.search(r"\d\.\Z", piece)) and (not rest.strip() or rest.lstrip()[:1].isalpha())


_BREAK = re.compile(r"(?<=[,，;；:：])\s*|\s+(?=(?:but|because|so|and|which|otherwise)\b)|\s+[-–—]+\s+")


def clauses(sentence: str) -> list[str]:
    """The clauses of a long sentence, by its commas and joining words."""
    return [part.strip() for part in _BREAK.split(sentence) if part.strip()]
