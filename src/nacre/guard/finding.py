"""What the guard says about a secret: its kind and its place, never its value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache


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


def mark(kind: str) -> str:
    return f"[redacted: {kind}]"


def holds_any(text: str, words: tuple[str, ...]) -> bool:
    """A plain loop: for the few dozen short words we look for it beats one large expression."""
    for word in words:  # noqa: SIM110 - a generator costs more than the search
        if word in text:
            return True
    return False


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
