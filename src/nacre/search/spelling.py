"""Misspelt names: words of the index that a word which is in no document is likely meant for."""

from __future__ import annotations

import sqlite3
import string
from collections.abc import Iterator
from itertools import chain

from nacre.text.tokens import CJK, compiled, tokens

_SHORTEST = {False: 6, True: 4}  # letters of a word that can be misspelt, by whether it begins as a name does
_LONG = 8  # letters from which two edits are allowed
_SUFFIX = 3  # letters that stemming took away from an ordinary word of English, which is no name
_MOST_NEAR = 3  # words that each may be meant for
_BEGINNING = 3  # letters in which an edit is tried out; after them, whatever begins in the same way is compared
# A word that stands alone: no part of a path, an address, a version or a name in code.
_PLAIN = rf"(?<![A-Za-z0-9_@/.`-])[^\W\d_{CJK}]{{4,64}}(?:['’]s)?(?![A-Za-z0-9_@/`-]|\.\w)"


def plain_words(text: str) -> list[str]:
    """The tokens of the words in a text that can be misspelt names: of letters alone, and nothing that only code writes in that way."""
    found: dict[str, None] = {}
    for word in compiled(_PLAIN).findall(text):
        parts = tokens(word) if word[1:].islower() else ()
        if (
            len(parts) == 1
            and parts[0].isascii()
            and len(word) - _SUFFIX < len(parts[0]) >= _SHORTEST[word[0].isupper()]
        ):
            found[parts[0]] = None
    return list(found)


def near_words(db: sqlite3.Connection, table: str, word: str, at_most: int) -> dict[str, int]:
    """The words of a full text that are one edit away, of a long word two, with the count of their documents: the nearest, the rarest
    first, at most three. The first letter is the same, or has changed places with the second; what is in more than `at_most` documents
    is not what is looked for."""
    most = 2 if len(word) >= _LONG else 1
    # Behind the beginning an edit is found by comparing, in it by trying: few words begin with each of these.
    ranges = [(word[:_BEGINNING], word[:_BEGINNING] + "~")]
    if most == 1:
        ranges += ((tried, tried) for tried in _edited(word))
    else:  # a second edit may follow
        ranges += ((tried, tried + "~") for tried in _edited(word[: _BEGINNING + 2]))
    query = (
        f"select distinct w.term, w.doc from (values {','.join(['(?,?)'] * len(ranges))}) v cross join {table}_terms w"
        " where w.term >= v.column1 and w.term <= v.column2"
    )
    terms = db.execute(query, list(chain.from_iterable(ranges))).fetchall()
    letters = {*word}
    alike = (row for row in terms if abs(len(row[0]) - len(word)) <= most and len(letters ^ {*row[0]}) <= 2 * most)
    near = ((edits_between(word, term, most), count, term) for term, count in alike if count <= at_most)
    found = sorted(row for row in near if row[0] <= most)
    return {term: count for edits, count, term in found[:_MOST_NEAR] if edits == found[0][0]}


def _edited(word: str) -> Iterator[str]:
    """The word with one edit in its beginning, but for its first letter."""
    for at in range(_BEGINNING):
        yield word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    for at in range(1, _BEGINNING):
        yield word[:at] + word[at + 1 :]
        for letter in string.ascii_lowercase:
            yield word[:at] + letter + word[at + 1 :]
            yield word[:at] + letter + word[at:]


def edits_between(first: str, second: str, most: int) -> int:
    """How many letters were left out, put in, changed, or have changed places with the next; more than `most` where it is more."""
    while first and second and first[0] == second[0]:
        first, second = first[1:], second[1:]
    while first and second and first[-1] == second[-1]:
        first, second = first[:-1], second[:-1]
    if not first or not second or most == 0:
        return len(first) + len(second)
    ways = [(first[1:], second), (first, second[1:]), (first[1:], second[1:])]
    if first[:2] == second[1::-1]:
        ways.append((first[2:], second[2:]))
    return 1 + min(edits_between(*way, most - 1) for way in ways)
