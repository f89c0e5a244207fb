"""Text without what the eye cannot see, and text folded to plain letters."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate

from nacre.guard.values import pattern

ZWNJ, ZWJ = "\u200c", "\u200d"
# C0 without tab and line feed, DEL and C1; direction marks that override; invisible spaces and fillers; the tag
# characters (a known way to hide instructions from people and show them to models); lone surrogates.
UNSEEN = (
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\u180e\ufff9-\ufffb"
    "\U000e0000-\U000e007f\ud800-\udfff]"
)
# Scripts in which a joiner or non-joiner changes how letters are written.
JOINING_SCRIPTS = (
    "ARABIC", "SYRIAC", "MONGOLIAN", "NKO", "MANDAIC", "DEVANAGARI", "BENGALI", "GURMUKHI", "GUJARATI", "ORIYA", "TAMIL", "TELUGU",
    "KANNADA", "MALAYALAM", "SINHALA", "KHMER", "MYANMAR", "TIBETAN",
)  # fmt: skip
FLAG = "\U0001f3f4[\U000e0020-\U000e007e]{2,8}\U000e007f"


def clean(text: str) -> str:
    """The text without unseen characters and with plain line ends; everything else as it was."""
    if text.isascii() and text.isprintable():
        return text
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    # The flags of Scotland and Wales are spelled with tag characters; only such whole flags keep them.
    text = pattern(f"({FLAG})|{UNSEEN}").sub(lambda match: match[1] or "", text)
    if ZWJ in text or ZWNJ in text:
        text = pattern("[\u200c\u200d]+").sub(_joiner, text)
    return text


def one_line(text: str) -> str:
    """The clean text on one line, with single spaces."""
    return " ".join(clean(text).split())


def _joiner(match: re.Match[str]) -> str:
    """One joiner where it joins: between the parts of an emoji, or inside a word of a script that needs it."""
    joiner, before = match[0][0], match.string[max(0, match.start() - 1) : match.start()]
    after = match.string[match.end() : match.end() + 1]
    if before and unicodedata.name(before, "").startswith(JOINING_SCRIPTS):
        return joiner
    return joiner if joiner == ZWJ and _is_emoji(before) and _is_emoji(after) else ""


def _is_emoji(char: str) -> bool:
    return bool(char) and (unicodedata.category(char) in {"So", "Sk"} or char == "\ufe0f" or char >= "\U0001f000")


# A text as the eye reads it: wide, styled and look-alike letters made plain, nothing invisible, every place known.

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
    """The plain text, where each stretch of it begins, and where that began and ended in the original."""

    text: str
    begins: tuple[int, ...] = ()
    stretches: tuple[tuple[int, int], ...] = ()

    def original(self, start: int, end: int) -> tuple[int, int]:
        """The place of a span in the original; a stretch of another length is taken whole."""
        if not self.begins:
            return start, end
        first, last = bisect_right(self.begins, start) - 1, bisect_right(self.begins, end - 1) - 1
        (begin, stop), (last_begin, last_stop) = self.stretches[first], self.stretches[last]
        if self.begins[first + 1] - self.begins[first] == stop - begin:
            begin += start - self.begins[first]
        if self.begins[last + 1] - self.begins[last] == last_stop - last_begin:
            last_stop = last_begin + end - self.begins[last]
        return begin, last_stop


def replaced(text: str, changes: Iterable[tuple[int, int, str]]) -> Folded:
    """The text with other words at some places, each given by where it begins and ends and what stands there instead."""
    pieces: list[tuple[int, int, str]] = []
    place = 0
    for start, end, plain in changes:
        pieces += [(place, start, text[place:start]), (start, end, plain)]
        place = end
    pieces = [piece for piece in (*pieces, (place, len(text), text[place:])) if piece[2]]
    begins = tuple(accumulate((len(plain) for _, _, plain in pieces), initial=0))
    return Folded("".join(plain for _, _, plain in pieces), begins, tuple((begin, end) for begin, end, _ in pieces))


def fold(text: str) -> Folded:
    """The same text for whoever reads it, and a plain one for whoever searches it."""
    if text.isascii() or not pattern(f"[{INVISIBLE}{SPACES}{WIDE}{STYLED}{FOREIGN}\u0300-\u036f]").search(text):
        return Folded(text)
    mixed = pattern(f"[A-Za-z][{FOREIGN}]|[{FOREIGN}][A-Za-z]").search(text)
    matches = pattern(f"{FOLDED}|{MIXED}" if mixed else FOLDED).finditer(text)
    changes = ((*match.span(), plain) for match in matches if (plain := _plain(match)) != match[0])
    return replaced(text, changes)


def _plain(match: re.Match[str]) -> str:
    if match.lastgroup in ("invisible", "space"):
        return " " if match.lastgroup == "space" else ""
    if match.lastgroup == "word":
        # A word of one script is what it is; only letters that hide among others are taken for what they look like.
        return match[0].translate(LOOK_ALIKES) if pattern("[A-Za-z]").search(match[0]) else match[0]
    return unicodedata.normalize("NFKC", match[0])
