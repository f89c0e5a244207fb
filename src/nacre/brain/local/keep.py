"""Whether a sentence is worth keeping for good: the odds of no, maybe and yes, in view of what was said before it."""

from __future__ import annotations

from collections.abc import Sequence

from nacre.brain.local import encoder
from nacre.text.tokens import language_of

KEEP = ("no", "maybe", "yes")


def worth_keeping(pairs: Sequence[tuple[str, str]]) -> list[float | None]:
    """For each (what was said before, sentence) the odds that it should be kept, a maybe counting half; none without the models."""
    result: list[float | None] = [None] * len(pairs)
    for language in ("en", "zh"):
        places = [place for place, (_, text) in enumerate(pairs) if language_of(text) == language]
        made = encoder.load(language, "keep") if places else None
        if made:
            odds = made.read([pairs[place] for place in places])["keep"]
            for place, (_, maybe, yes) in zip(places, odds.tolist(), strict=True):
                result[place] = yes + maybe / 2
    return result
