"""Text without what the eye cannot see: control characters, direction overrides, hidden joiners, broken halves of characters."""

from __future__ import annotations

import re
import unicodedata

from nacre.guard.finding import pattern

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
    text, kind = match.string, match.group()[0]
    before = text[match.start() - 1] if match.start() else ""
    after = text[match.end() : match.end() + 1]
    if not before:
        return ""
    if _needs_joiners(before):
        return kind
    return kind if kind == ZWJ and _is_emoji(before) and _is_emoji(after) else ""


def _is_emoji(char: str) -> bool:
    return bool(char) and (unicodedata.category(char) in {"So", "Sk"} or char == "\ufe0f" or char >= "\U0001f000")


def _needs_joiners(char: str) -> bool:
    return unicodedata.name(char, "").startswith(JOINING_SCRIPTS)
