"""A line of nacre up: what it is about, and what came of it, one under the other in both languages."""

from __future__ import annotations

from unicodedata import east_asian_width

from nacre.cli.base import note
from nacre.words import say

_WIDTH = 11  # columns


def tell(about: str, english: str, about_chinese: str, chinese: str) -> None:
    note(padded(say(about, about_chinese)) + say(english, chinese))


def padded(label: str) -> str:
    """A label as wide as all others: a Han character takes two columns."""
    return label + " " * (_WIDTH - sum(2 if east_asian_width(sign) in "WF" else 1 for sign in label))
