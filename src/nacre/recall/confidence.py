"""How sure we are that the best candidate answers at all, so that a question nobody answered gets an honest nothing.

Logistic curves over what the best candidates reach in absolute terms: the share of the question's weight that their words
cover, and their cosine. Fitted to questions put to the memory that answers them and to one that does not (docs/search.md); the
curve for Chinese words alone, the floor and the correction for size were then set by hand.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from nacre.recall.fuse import Scored

SURE_OF_DAYS = 0.6  # a question for nothing but a day is answered by what was written on it
FLOOR = 0.2  # on the questions it was fitted to, in English: about 98 of 100 answers kept, more than half of the others dropped


class _Curve(NamedTuple):
    start: float
    coverage: float
    cosine: float


# By script of the question, because each has its own embedding model; Han is also covered by chance more easily.
_WORDS = {"latin": _Curve(-3.0, 8.9, 0.0), "han": _Curve(-2.2, 7.5, 0.0)}
_BOTH = {"latin": _Curve(-5.4, 5.5, 8.9), "han": _Curve(-4.8, 3.9, 6.4)}


# The best of many unrelated passages comes nearer to a question than the best of few: by the medians of three sets about this much in cosine
# for every e-fold of passages. The curves hold for a memory of TYPICAL size.
_BY_CHANCE = 0.029
_TYPICAL = 200


def confidence(scored: list[Scored], script: str, total: int, *, text_only: bool) -> float:
    """From 0 to 1, by the best three candidates out of a memory of `total` passages."""
    if not scored:
        return 0.0
    best = scored[:3]
    coverage = max(one.candidate.coverage for one in best)
    cosine = max((max(one.candidate.cosines.values(), default=0.0) for one in best), default=0.0)
    cosine -= _BY_CHANCE * math.log(max(1, total) / _TYPICAL) if cosine else 0.0
    curve = (_WORDS if text_only else _BOTH)[script]
    return 1 / (1 + math.exp(-(curve.start + curve.coverage * coverage + curve.cosine * cosine)))
