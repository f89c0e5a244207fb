"""Entries of memory: the one reader of their lines (bullet, label, marks in comments, source note) and their one id."""

from __future__ import annotations

import hashlib
import unicodedata

from nacre.guard.values import pattern
from nacre.text.stamps import real_day, split_label

_SOURCE = r"\(src:\s*(\d{4}-\d{2}-\d{2})\)\s*$"
_MARK = r"<!--\s{0,8}([\w-]{1,60})\s{0,8}:((?:(?!<!--|-->).)*)-->"
_COMMENTS = r"(?<!\s)\s*<!--(?:(?!<!--|-->).)*-->"
_ENDS = " \t.,;:!?~…。、·\"'“”‘’「」"  # after NFKC, which makes the wide ones narrow
# What a line carries before and behind its words: its bullet, label or time, speaker, source.
AROUND = r"\A\s*(?:[-*+]\s+)?(?:\[[^\]]{1,20}\]\s*)?(?:\*\*[^*]{1,30}[:：]\*\*\s*)?|(?<!\s)\s*\(src: [^)]{0,40}\)\s*\Z"
SAYING_NOTHING = ("#", ">", "<!--")  # what a heading, a quoted rule or a comment begins with
_SHORTEST = 4  # characters below which a line says too little to be a repetition


def words_of(text: str) -> str:
    """What a line says, on one line: without comments such as OpenClaw's `<!-- importance: 8 -->`."""
    return " ".join(without_comments(text).split())


def bare_words(bullet: str) -> str:
    """A bullet without its marker, label and source note."""
    return pattern(_SOURCE).sub("", split_label(bullet)[1]).strip()


def normal_words(text: str) -> str:
    """The bare words whatever their case, width of letters and closing punctuation."""
    words = unicodedata.normalize("NFKC", bare_words(words_of(text))).casefold()
    return " ".join(words.split()).strip(_ENDS)


def comparable_words(line: str) -> str:
    """The bare words without punctuation; empty for a heading, a quoted rule, a comment, and what is too short to be a repetition."""
    if line.lstrip().startswith(SAYING_NOTHING):
        return ""
    words = pattern(r"[\W_]+").sub(" ", pattern(AROUND).sub("", line)).strip().casefold()
    return words if len(words) >= _SHORTEST else ""


def source_day(text: str) -> str | None:
    """The day of a `(src: 2026-03-01)` note at the end of a line."""
    match = pattern(_SOURCE).search(text)
    return real_day(match[1]) if match else None


def entry_id(words: str) -> str:
    """The id of an entry: the hash of its words, so that a line of MEMORY.md needs no mark of ours."""
    return hashlib.sha256(" ".join(words.split()).casefold().encode("utf-8", "replace")).hexdigest()[:10]


BULLET = 8  # characters of a bullet's id


def bullet_id(bullet: str) -> str:
    """The id of a bullet in a log, by its bare words: the beginning of the id that the same words have as an entry."""
    return entry_id(bare_words(bullet))[:BULLET]


def line_digest(line: str) -> str:
    """How hooks note that a session was given a line; empty for one that says nothing, such as a heading."""
    words = comparable_words(line)
    return hashlib.blake2b(words.encode("utf-8", "replace"), digest_size=6).hexdigest() if words else ""


def marks_in(text: str) -> dict[str, str]:
    """The marks in comments, by their names: `<!-- pinned: true -->`."""
    return {name: value.strip() for name, value in pattern(_MARK).findall(text)}


def comments_in(text: str) -> str:
    """The comments of a line one after the other, each with the space before it."""
    return "".join(pattern(_COMMENTS).findall(text))


def without_comments(text: str, opening: str = "<!--", closing: str = "-->", instead: str = " ") -> str:
    """The text with something else for every comment that is closed on its own line; linear in its length."""
    if opening not in text or closing not in text:
        return text
    lines = []
    for line in text.split("\n"):
        at, parts = 0, []
        while (start := line.find(opening, at)) >= 0 and (end := line.find(closing, start + len(opening))) >= 0:
            parts += [line[at:start], instead]
            at = end + len(closing)
        lines.append("".join([*parts, line[at:]]))
    return "\n".join(lines)
