"""How a candidate relates to the entries of memory: a duplicate, a successor, an exception, in conflict, or unrelated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nacre.brain.local.likeness import Statement
from nacre.brain.local.relation import compare_nearest, nearest
from nacre.brain.local.wording import pieces


@dataclass(frozen=True)
class EntryParts:
    """A remembered entry taken apart: the whole first, then its statements where it holds several."""

    whole: Statement
    parts: tuple[Statement, ...] = ()


def entry_parts(entries: Sequence[str], meant: Callable[[Sequence[str]], Sequence[Statement]]) -> list[EntryParts]:
    """Entries taken apart, all at once; `meant` gives texts their meaning."""
    split = {words: [piece.text for piece in pieces(words)] for words in entries}
    split = {words: parts if len(parts) > 1 else [] for words, parts in split.items()}
    texts = list(dict.fromkeys(text for words, parts in split.items() for text in (words, *parts)))
    by_text = dict(zip(texts, meant(texts), strict=True))
    return [EntryParts(by_text[words], tuple(by_text[text] for text in split[words])) for words in entries]


def flattened(entries: Sequence[EntryParts]) -> list[tuple[int, int | None, Statement]]:
    """Each entry and each of its parts: the place of the entry, the number of the part, and what it says."""
    flat: list[tuple[int, int | None, Statement]] = []
    for place, entry in enumerate(entries):
        flat.append((place, None, entry.whole))
        flat += [(place, number, part) for number, part in enumerate(entry.parts)]
    return flat


@dataclass(frozen=True)
class Comparison:
    """How a candidate relates to one entry. `part` is the statement of the entry that is meant, where it holds several."""

    kind: str  # "same", "replaces", "exception", "ask"
    place: int
    odds: float
    part: int | None = None


def compare_with(new: Statement, entries: Sequence[EntryParts], lasting: float = 0.5) -> tuple[list[Comparison], float]:
    """The entries that a candidate repeats, replaces, excepts from or may conflict with, the surest first, and the odds that all of it
    is there. `lasting`: the odds that what it says lasts."""
    flat = flattened(entries)
    near = nearest([statement for _, _, statement in flat], new)
    by_entry: dict[int, list[Comparison]] = {}
    relations = compare_nearest(new, [(flat[at][0], flat[at][2]) for at in near], lasting)
    for at, relation in zip(near, relations, strict=True):
        place, part, _ = flat[at]
        if relation.label != "adds":
            by_entry.setdefault(place, []).append(Comparison(relation.label, place, relation.confidence, part))
    surest: list[Comparison] = []
    for comparisons in by_entry.values():
        best = max(comparisons, key=lambda comparison: comparison.odds)
        if best.kind == "replaces" and best.part is None:  # where part of the entry is stale, the part that is meant
            parts = [other for other in comparisons if other.kind == best.kind and other.part is not None]
            best = max(parts, key=lambda comparison: comparison.odds, default=best)
        surest.append(best)
    same = max((comparison.odds for comparison in surest if comparison.kind == "same"), default=0.0)
    return sorted(surest, key=lambda comparison: -comparison.odds), same
