"""Whether one statement turns another round: "pnpm, never npm" and "npm, never pnpm" have all their words in common."""

from __future__ import annotations

import re
from functools import lru_cache

from nacre.brain.local.likeness import Statement
from nacre.text.tokens import STOP_HAN, STOP_WORDS, tokens

# What stands after one of these, up to the end of the clause, is what is not wanted.
_HINGE = {
    "en": re.compile(r"\b(?:never|not|don't|do not|rather than|instead of|no longer|over)\b", re.IGNORECASE),
    "zh": re.compile("而不是|而不用|不要再?|不再|不用|不许|不准|绝不|禁止|别再?|不是"),
}
_CLAUSE = re.compile(r"[,;，；、。!！?？]|\.(?=\s|$)")
_WAY = {
    "en": re.compile(r"\bfrom\s+(\S+)\s+(?:in)?to\s+(\S+)", re.IGNORECASE),
    "zh": re.compile(r"从\s{0,3}(\S{1,40}?)\s{0,3}(?:到|换成|改成|换到|迁到)\s{0,3}([^\s，。；、]{1,40})"),
}


def turns_round(old: Statement, new: Statement) -> bool:
    """Whether the new statement wants what the old one does not want, and the other way about; or leads the other way."""
    if old.language != new.language:
        return False
    wanted, unwanted = _sides(old.text, old.language)
    now_wanted, now_unwanted = _sides(new.text, new.language)
    if (wanted - unwanted) & (now_unwanted - now_wanted) and (unwanted - wanted) & (now_wanted - now_unwanted):
        return True
    way, other = _way(old), _way(new)
    return bool(way and other and way == other[::-1] and way[0] != way[1])


@lru_cache(maxsize=4096)
def _sides(text: str, language: str) -> tuple[frozenset[str], frozenset[str]]:
    """The words that a statement is for, and those that it is against."""
    wanted: list[str] = []
    unwanted: list[str] = []
    hinge = _HINGE[language]
    for clause in _CLAUSE.split(text):
        before, *after = hinge.split(clause, maxsplit=1)
        wanted += _words(before)
        unwanted += _words(" ".join(after))
    return frozenset(wanted), frozenset(unwanted)


def _words(text: str) -> list[str]:
    return [one for one in tokens(text) if one not in STOP_WORDS and one not in STOP_HAN]


def _way(one: Statement) -> tuple[str, ...]:
    """Whence and whither the first way leads that a statement names."""
    found = _WAY[one.language].search(one.text)
    return tuple(part.strip(".,;:，。").lower() for part in found.groups()) if found else ()
