"""A text as the eye reads it: wide, styled and look-alike letters made plain, nothing invisible, every place known."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from dataclasses import dataclass

from nacre.guard.finding import pattern

INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\U000e0000-\U000e0fff"
)
SPACES = "\u00a0\u2000-\u200a\u202f\u205f\u3000"
# Wide commas, full stops and brackets stay: they end a clause, where the plain ones may belong to a password.
WIDE = "＃＄％＆＊＋－．／０-９：＝＠Ａ-Ｚ＼＾＿ａ-ｚ｜～"
STYLED = (
    "\u00aa\u00b2\u00b3\u00b9\u00ba\u2070-\u209c\u2100-\u214f\u2460-\u24ff\U0001d400-\U0001d7ff\U0001f110-\U0001f169"
)
FOREIGN = "\u0261\u0370-\u03ff\u0400-\u052f"
LOOK_ALIKES = str.maketrans(
    "аеорсухіјѕԁɡһԛԝАВЕКМНОРСТУХІЈЅαονρτυκιΑΒΕΖΗΙΚΜΝΟΡΤΥΧ",
    "aeopcyxijsdghqwABEKMHOPCTYXIJSaovptukiABEZHIKMNOPTYX",
)
FOLDED = (
    f"(?P<invisible>[{INVISIBLE}]+)|(?P<space>[{SPACES}])|(?P<styled>[{WIDE}{STYLED}])"
    "|(?P<composed>[A-Za-z\u0400-\u04ff][\u0300-\u036f]+)"
)
MIXED = f"(?P<word>[A-Za-z{FOREIGN}]+)"


@dataclass(frozen=True)
class Folded:
    """The plain text, and for each stretch of it where it began and ended in the original."""

    text: str
    begins: tuple[int, ...] = ()
    stretches: tuple[tuple[int, int], ...] = ()

    def original(self, start: int, end: int) -> tuple[int, int]:
        if not self.begins:
            return start, end
        first = bisect_right(self.begins, start) - 1
        last = bisect_right(self.begins, end - 1) - 1
        return self._place(first, start, "start"), self._place(last, end, "end")

    def _place(self, stretch: int, at: int, side: str) -> int:
        begin, stop = self.stretches[stretch]
        length = (self.begins[stretch + 1] if stretch + 1 < len(self.begins) else len(self.text)) - self.begins[stretch]
        if length == stop - begin:
            return begin + at - self.begins[stretch]
        return begin if side == "start" else stop


def fold(text: str) -> Folded:
    """The same text for whoever reads it, and a plain one for whoever searches it."""
    if text.isascii():
        return Folded(text)
    if not pattern(f"[{INVISIBLE}{SPACES}{WIDE}{STYLED}{FOREIGN}\u0300-\u036f]").search(text):
        return Folded(text)
    expression = FOLDED
    if pattern(f"[A-Za-z][{FOREIGN}]|[{FOREIGN}][A-Za-z]").search(text):
        expression = f"{FOLDED}|{MIXED}"
    elif not pattern(FOLDED).search(text):
        return Folded(text)
    parts: list[str] = []
    begins: list[int] = []
    stretches: list[tuple[int, int]] = []
    place = length = 0

    def add(part: str, begin: int, end: int) -> None:
        nonlocal length
        if part:
            parts.append(part)
            begins.append(length)
            stretches.append((begin, end))
            length += len(part)

    for match in pattern(expression).finditer(text):
        plain = _plain(match)
        if plain != match.group():
            add(text[place : match.start()], place, match.start())
            add(plain, *match.span())
            place = match.end()
    add(text[place:], place, len(text))
    return Folded("".join(parts), tuple(begins), tuple(stretches))


def _plain(match: re.Match[str]) -> str:
    found = match.group()
    if match.lastgroup == "invisible":
        return ""
    if match.lastgroup == "space":
        return " "
    if match.lastgroup == "word":
        # A word of one script is what it is; only letters that hide among others are taken for what they look like.
        return found.translate(LOOK_ALIKES) if pattern("[A-Za-z]").search(found) else found
    return unicodedata.normalize("NFKC", found)
