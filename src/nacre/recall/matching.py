"""How far a text holds the key words of a question, and on which lines."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from nacre.text.keywords import QUOTED, KeyWord
from nacre.text.language import cjk_count
from nacre.text.tokens import tokens

WINDOW = 40  # lines within which the words must stand together: a question, its answer and what was said about it
_LOOSE = 0.7  # what words of a phrase count for that stand on one line, but not as they were quoted
_PARTLY = 0.6  # share of the characters of a long Chinese word that must stand on a line, in pieces of two or more
_APART = 6  # characters that may stand between the halves of a Chinese compound
_COMPOUND = 4  # characters from which a Chinese word is two
_MANY = 5000  # lines that are looked at closely; where so many come near, the rest says the same
_HYPHENATED = re.compile(r"(?<![^\W\d_])[^\W\d_]+(?:-[^\W\d_]+)+")
_SEPARATORS = r"[\s._/:@+-]*"


class Sought(NamedTuple):
    """A key word made ready for looking."""

    word: KeyWord
    probes: tuple[str, ...]  # in lower case; a line that holds the word contains one of them
    pattern: re.Pattern[str] | None  # None: Chinese, by characters
    stem: str | None  # of an English word: what is found must have the same
    amount: int = 1  # how many words it stands for: "重试策略" says as much as "retry policy"

    @property
    def weight(self) -> float:
        return self.word.weight * (1 + self.amount) / 2


@dataclass(frozen=True)
class Match:
    """What a text has of the key words: the share of each, and of their weight in its best stretch of lines."""

    coverage: float = 0.0
    shares: tuple[float, ...] = ()  # for each key word, its best on any line of that stretch
    lines: dict[int, float] = field(default_factory=dict)  # counted from 1, with the weight that each holds
    title: float = 0.0  # the weight that the title holds, which is one of the lines

    def weighed(self, weights: Sequence[float]) -> Match:
        """The same match where the words weigh otherwise."""
        return replace(self, coverage=_weighed(self.shares, weights) / (sum(weights) or 1.0))


def sought(words: Sequence[KeyWord]) -> tuple[Sought, ...]:
    return tuple(_sought(word) for word in words)


def _sought(word: KeyWord) -> Sought:
    lower = folded(word.text)
    if cjk_count(lower) == len(lower):
        pairs = tuple(lower[at : at + 2] for at in range(len(lower) - 1)) if len(lower) > 3 else (lower,)
        return Sought(word, pairs, None, None, 2 if len(lower) >= _COMPOUND else 1)
    if lower.isascii() and lower.isalpha() and word.weight < QUOTED and len(lower) > 2:
        stem = tokens(lower)[0]
        # The stem of "retry" is "retri": its last letter does not stand in every form.
        probe = stem[:-1] if stem.endswith("i") and len(stem) > 3 else stem
        probe = probe if lower.startswith(probe) else lower
        return Sought(word, (probe,), re.compile(rf"(?<![^\W\d_]){re.escape(probe)}[^\W\d_]*"), stem)
    parts = [re.escape(part) for part in re.split(r"[\s._/:@+-]+", lower) if part]
    inner = _SEPARATORS.join(parts) or re.escape(lower)
    first = next((part for part in re.split(r"[\s._/:@+-]+", lower) if part), lower)
    before = r"(?<!\d)" if lower[:1].isdigit() else r"(?<![a-z0-9])" if lower[:1].isascii() else ""
    after = r"(?!\d)" if lower[-1:].isdigit() else r"(?:e?s)?(?![a-z0-9])" if lower[-1:].isascii() else ""
    return Sought(word, (first,), re.compile(before + inner + after), None)


def folded(text: str) -> str:
    """The text as it is compared: lower case, full-width letters as plain ones."""
    return text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).lower()


def match(text: str, wanted: Sequence[Sought]) -> Match:
    """Look for the words; those of the title count as if they stood beside every line."""
    whole = folded(text)
    likely = [one for one in wanted if may_hold(whole, one)]
    if not likely:
        return Match(0.0, (0.0,) * len(wanted))
    rows: dict[int, list[float]] = {}
    lines = whole.split("\n")
    heading = next((at for at, line in enumerate(lines) if line.strip()), 0)
    looked_at = 0
    for at, line in enumerate(lines):
        if looked_at < _MANY and any(may_hold(line, one) for one in likely):
            looked_at += 1
            found = [_share(line, one, lines[heading]) for one in wanted]
            if any(found):
                rows[at + 1] = found
    weights = [one.weight for one in wanted]
    title = rows.get(heading + 1, [0.0] * len(wanted))
    best = _best_window(rows, title, weights)
    coverage = _weighed(best, weights) / (sum(weights) or 1.0)
    held = {at: _weighed(found, weights) for at, found in rows.items()}
    return Match(coverage, tuple(best), held, _weighed(title, weights))


def may_hold(text: str, one: Sought) -> bool:
    """Whether a folded text comes near the word: quickly told, and never wrong about a no."""
    return any(probe in text for probe in one.probes)


def _best_window(rows: dict[int, list[float]], title: list[float], weights: list[float]) -> list[float]:
    """The shares of the words in the stretch of lines that holds most of their weight."""
    best, best_weight = title, _weighed(title, weights)
    places = sorted(rows)
    start = 0
    for end, at in enumerate(places):
        while at - places[start] >= WINDOW:
            start += 1
        together = zip(title, *(rows[place] for place in places[start : end + 1]), strict=True)
        shares = [max(one) for one in together]
        if (weight := _weighed(shares, weights)) > best_weight:
            best, best_weight = shares, weight
        if all(share == 1 for share in best):
            break
    return best


def _weighed(shares: Sequence[float], weights: Sequence[float]) -> float:
    return sum(share * weight for share, weight in zip(shares, weights, strict=True))


def _share(line: str, one: Sought, title: str) -> float:
    """How much of a key word stands on a line: all of it, or the pieces of a long one."""
    if one.pattern is None:
        return _han_share(line, folded(one.word.text), title)
    if one.stem is not None:
        return float(any(one.stem in tokens(found) for found in one.pattern.findall(line)))
    if one.pattern.search(line):
        return 1.0
    joined = one.word.weight >= QUOTED or " " in one.word.text or _HYPHENATED.fullmatch(one.word.text)
    parts = set(tokens(one.word.text)) if joined else set()
    return _LOOSE if len(parts) > 1 and parts <= set(tokens(line)) else 0.0


def _han_share(line: str, word: str, title: str) -> float:
    if word in line:
        return 1.0
    if len(word) < _COMPOUND or not any(word[at : at + 2] in line for at in range(len(word) - 1)):
        return 0.0
    if any(_side_by_side(line, word[:cut], word[cut:]) for cut in range(2, len(word) - 1)):
        return 1.0
    line = f"{line}\n{title}"
    covered = 0
    place = 0
    while place < len(word) - 1:
        size = next((size for size in range(len(word) - place, 1, -1) if word[place : place + size] in line), 0)
        covered += size
        place += size or 1
    share = covered / len(word)
    return share * 0.9 if share >= _PARTLY else 0.0


def _side_by_side(line: str, first: str, second: str) -> bool:
    """Whether both halves stand in one breath, in either order: "妈妈的生日", "生日那天妈妈"."""
    place = line.find(first)
    while place >= 0:
        near = line[max(0, place - len(second) - _APART) : place + len(first) + len(second) + _APART]
        if second in near:
            return True
        place = line.find(first, place + 1)
    return False
