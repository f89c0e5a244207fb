"""Variety among the results: what says nearly the same as a better hit moves down (maximal marginal relevance)."""

from __future__ import annotations

from collections.abc import Sequence


def diversify(scores: Sequence[float], words: Sequence[frozenset[str]], balance: float, count: int) -> list[int]:
    """The positions of the best `count`, in order. `balance` 1 is relevance alone, 0 variety alone.

    `scores` are best first and at most 1. Only near-copies are worth a place: what merely shares a topic is not pushed down.
    """
    waiting = list(range(len(scores)))
    if balance >= 1:
        return waiting[:count]
    taken: list[int] = []
    nearest = [0.0] * len(scores)
    while waiting and len(taken) < count:
        best = max(waiting, key=lambda at: balance * scores[at] - (1 - balance) * nearest[at])
        waiting.remove(best)
        taken.append(best)
        for at in waiting:
            nearest[at] = max(nearest[at], _copy(words[best], words[at]))
    return taken


def _copy(one: frozenset[str], other: frozenset[str]) -> float:
    """0 for texts that share less than half of their words, rising to 1 for the same words."""
    shared = len(one & other)
    if not shared:
        return 0.0
    return max(0.0, 2 * shared / (len(one) + len(other) - shared) - 1)
