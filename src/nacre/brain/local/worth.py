"""Whether a sentence of a talk is worth a line in the day's log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from nacre.brain.local import classifier
from nacre.brain.local.dialogue import Sentence, context
from nacre.brain.local.judge import Judged

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

VECTOR_SCALE = 2.0


def inputs(judged: Judged, around: npt.NDArray[np.float32], center: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """One sentence as numbers: embedding, structure, the odds of every label, what stands around it, and 1."""
    import numpy as np

    odds = np.concatenate([np.log(np.clip(one, 1e-3, 1.0)) * 0.3 for one in judged.odds.values()])
    vector = np.zeros(0, np.float32) if judged.vector is None else (judged.vector - center) * VECTOR_SCALE
    # Whose words they are changes what everything else means, so the odds count once for each speaker.
    mine = odds * around[0]
    return np.concatenate([vector, judged.features, odds, mine, around, np.ones(1, np.float32)]).astype(np.float32)


def worth(talk: Sequence[Sentence], judged: Sequence[Judged]) -> list[float]:
    """The chance of each sentence that a good minute-taker would have written it down."""
    import numpy as np

    around = context(talk, judged)
    found: list[float] = []
    for place, one in enumerate(judged):
        weights = classifier.load(one.language, "bare" if one.vector is None else "full")
        assert weights.worth is not None
        score = float(inputs(one, around[place], weights.center) @ weights.worth)
        found.append(float(1 / (1 + np.exp(-score))))
    return found
