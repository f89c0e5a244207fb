"""Small linear classifiers over a sentence's structure, its words and, where the models are installed, its embedding."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from nacre.brain.local.features import grams, structure

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[np.float32]

TYPES = ("PREF", "PROJ", "TECH", "LESSON", "PEOPLE", "TEMP")
CATEGORIES = ("decision", "discovery", "preference", "task", "-")
ACTS = (
    "request",
    "question",
    "inform",
    "instruct",
    "decide",
    "agree",
    "correct",
    "report",
    "speculate",
    "social",
    "offrecord",
)
YES_NO = ("no", "yes")
HEADS: dict[str, tuple[str, ...]] = {
    "type": TYPES,
    "category": CATEGORIES,
    "act": ACTS,
    "a": YES_NO,
    "b": YES_NO,
    "c": YES_NO,
}


@dataclass(frozen=True)
class Weights:
    """What training left behind for one language and one set of features."""

    vocabulary: dict[str, int]
    matrix: Array  # features × outputs of all heads
    bias: Array
    center: Array  # mean of the embeddings seen in training
    scale: float  # how much the embedding weighs beside the rest
    model: str  # hash of the embedding model; empty when there is none
    corpus: str = ""  # digest of what they were trained on
    worth: Array | None = (
        None  # what a sentence of a talk is worth: embedding, structure, odds, what stands around it, bias
    )
    lasting: tuple[float, ...] = (1.0, 0.0)  # slope and offset that make the odds of passing all tests honest


@cache
def load(language: str, variant: str) -> Weights:
    """The weights in the package: "full" with embeddings, "bare" without."""
    import io

    import numpy as np

    data = resources.files("nacre.brain.local").joinpath("weights", f"{language}-{variant}.npz").read_bytes()
    with np.load(io.BytesIO(data), allow_pickle=False) as stored:
        about = json.loads(bytes(stored["about"]).decode("utf-8"))
        matrix = stored["matrix"].astype(np.float32) * stored["step"].astype(np.float32)
        return Weights(
            {gram: place for place, gram in enumerate(about["vocabulary"])},
            matrix,
            stored["bias"].astype(np.float32),
            stored["center"].astype(np.float32),
            float(about["scale"]),
            about["model"],
            about["corpus"],
            stored["worth"].astype(np.float32) if "worth" in stored else None,
            tuple(about["lasting"]),
        )


def design(texts: Sequence[str], language: str, weights: Weights, vectors: Array | None) -> Array:
    """The features of sentences as rows: embedding, structure, words."""
    import numpy as np

    shape = np.array([structure(text, language) for text in texts], np.float32).reshape(len(texts), -1)
    words = np.zeros((len(texts), len(weights.vocabulary)), np.float32)
    for row, text in enumerate(texts):
        for gram in grams(text, language):
            place = weights.vocabulary.get(gram)
            if place is not None:
                words[row, place] = 1.0
    words /= np.sqrt(np.maximum(words.sum(axis=1, keepdims=True), 1.0))
    parts = [shape, words]
    if vectors is not None:
        parts.insert(0, (vectors - weights.center) * weights.scale)
    return np.hstack(parts)


def by_head(logits: Array) -> dict[str, Array]:
    """Probabilities for each head from the outputs of all."""
    found: dict[str, Array] = {}
    start = 0
    for head, labels in HEADS.items():
        found[head] = softmax(logits[:, start : start + len(labels)])
        start += len(labels)
    return found


def softmax(logits: Array) -> Array:
    import numpy as np

    raised = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True), np.float32)


def raw_lasting(odds: dict[str, Array]) -> Array:
    """How much speaks for keeping each sentence for good, before it is made honest: no test failed, and not of the passing kind."""
    import numpy as np

    passed = np.prod([odds[test][:, YES_NO.index("no")] for test in "abc"], axis=0)
    share = np.clip(passed * (1 - odds["type"][:, TYPES.index("TEMP")]), 1e-4, 1 - 1e-4)
    return np.asarray(np.log(share / (1 - share)), np.float32)
