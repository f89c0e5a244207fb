"""Lines of a file as they may be shown: without secrets and what the eye cannot see, each still known by its number."""

from __future__ import annotations

import re
from collections.abc import Sequence

from nacre.guard.sanitise import clean, one_line
from nacre.guard.secrets import redact

# Headings as we write them, in which nobody said anything: a name in them is a plain word, which cannot be a token.
_WORD = r"(?:[a-z]{1,20}|[\u4e00-\u9fff]{1,20})"
_OURS = re.compile(
    r"# Session State|## (?:Key Decisions|Key Context|Blockers|\d\d:\d\d (?:note|session:[0-9a-f-]{1,12} \| \d{1,5} messages?)"
    rf"(?: \| (?:continued|(?:project|group):{_WORD}(?:-{_WORD}){{0,4}}(?:-[0-9a-f]{{6}})?))*)"
)


def safe(lines: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    """The lines that may be shown; those that a secret went over are one with the line where it began."""
    # A heading of ours names a key or a session, which would call the whole guard to look at it.
    ours = {number: text for number, text in lines if _OURS.fullmatch(text)}
    plain = "\n".join("" if number in ours else seen(text) for number, text in lines)
    redacted = redact(plain)
    hidden: set[int] = set()  # lines whose place a mark in the line before them took
    for one in redacted.findings:
        first = plain.count("\n", 0, one.start) + 1
        hidden.update(range(first, first + plain.count("\n", one.start, one.end)))
    kept = [line for at, line in enumerate(lines) if at not in hidden]
    texts = redacted.text.split("\n")
    return [(number, ours.get(number, new)) for (number, _), new in zip(kept, texts, strict=False)]


def seen(text: str) -> str:
    """A line without what the eye cannot see."""
    return clean(text.removesuffix("\r").replace("\r", " "))


def legible(text: str) -> str:
    """Words of memory as they may be shown: without secrets, nor what the eye cannot see."""
    return redact(clean(text)).text


def quoted(text: str, most: int) -> str:
    """The beginning of such words on one line, as a sentence quotes them; a secret that the cut would halve is gone before."""
    return one_line(legible(text))[:most]
