"""Fitting linear classifiers with numpy alone: all heads at once, one matrix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from data import Statement
from nacre.brain.local.classifier import HEADS, Weights, by_head, design, grams, raw_lasting, structure

Array = npt.NDArray[np.float32]
UNKNOWN = -1
# How much more rare labels count, 1 making all labels equal: what is common in our corpus is not so in a digest or a memory.
RARE = {"type": 0.7, "category": 1.0}


def labels_of(rows: Sequence[Statement]) -> dict[str, npt.NDArray[np.int64]]:
    def told(head: str, row: Statement) -> int:
        if head in "abc":
            return UNKNOWN if row.fails is None else int(head in row.fails)
        label = getattr(row, head)
        return UNKNOWN if label is None else HEADS[head].index(label)

    return {head: np.array([told(head, row) for row in rows]) for head in HEADS}


def vocabulary(texts: Sequence[str], language: str, least: int, most: int) -> dict[str, int]:
    counts = Counter(gram for text in texts for gram in grams(text, language))
    common = [gram for gram, count in counts.most_common() if count >= least][:most]
    return {gram: place for place, gram in enumerate(common)}


@dataclass(frozen=True)
class Settings:
    """What was chosen by leaving out one hand after the other, not by the held-out fifth."""

    scale: float  # of the embedding beside the rest
    decay: tuple[float, float, float]  # of the weights of embedding, structure, words
    least: int = 4  # how often a word must occur
    most: int = 2500  # words
    steps: int = 300
    marked: float = 0.3  # how much a marked part of a talk counts beside a statement


def fit(
    rows: Sequence[Statement], language: str, vectors: Array | None, settings: Settings, model: str = ""
) -> Weights:
    """Fit all heads by gradient descent with momentum on the mean of their losses, each block of features with its own decay."""
    texts = [row.text for row in rows]
    center: Array = vectors.mean(axis=0) if vectors is not None else np.zeros(0, np.float32)
    words = vocabulary(texts, language, settings.least, settings.most)
    none = np.zeros(0, np.float32)
    blank = Weights(words, none, none, center, settings.scale, model)
    x = design(texts, language, blank, vectors)
    penalty = penalties(language, center.size, len(words), settings.decay)
    # Parts of talks lean on what stands around them, so each teaches less than a statement that stands alone.
    trust = np.array([settings.marked if row.fails is None else 1.0 for row in rows], np.float32)
    matrix, bias = descend(x, labels_of(rows), trust, penalty, settings.steps)
    return Weights(words, matrix, bias, center, settings.scale, model)


def penalties(language: str, dims: int, words: int, decay: tuple[float, float, float]) -> Array:
    shape = len(structure("", language))
    return np.concatenate([np.full(dims, decay[0]), np.full(shape, decay[1]), np.full(words, decay[2])]).astype(
        np.float32
    )


def descend(
    x: Array, told: dict[str, npt.NDArray[np.int64]], trust: Array, penalty: Array, steps: int
) -> tuple[Array, Array]:
    outputs = sum(map(len, HEADS.values()))
    matrix, bias = np.zeros((x.shape[1], outputs), np.float32), np.zeros(outputs, np.float32)
    first = [np.zeros_like(matrix), np.zeros_like(bias)]
    second = [np.zeros_like(matrix), np.zeros_like(bias)]
    target = np.zeros((x.shape[0], outputs), np.float32)
    weight = np.zeros((x.shape[0], outputs), np.float32)
    start = 0
    for head, labels in HEADS.items():
        known = np.flatnonzero(told[head] != UNKNOWN)
        places = told[head][known]
        target[known, start + places] = 1
        share = np.bincount(places, minlength=len(labels)) / len(places)
        per_row = (1 / np.maximum(share, 0.02)) ** RARE.get(head, 0.4)
        rows = per_row[places] * trust[known]
        weight[known, start : start + len(labels)] = (rows / rows.mean())[:, None]
        start += len(labels)
    for step in range(1, steps + 1):
        odds = np.hstack(list(by_head(x @ matrix + bias).values()))
        error = (odds - target) * weight / len(x)
        slopes = [x.T @ error + penalty[:, None] * matrix, error.sum(axis=0)]
        rate = 0.05 * min(1.0, 2 * (1 - step / (steps + 1)))
        for place, (values, slope) in enumerate(zip((matrix, bias), slopes, strict=True)):
            first[place] = 0.9 * first[place] + 0.1 * slope
            second[place] = 0.99 * second[place] + 0.01 * slope**2
            move = (first[place] / (1 - 0.9**step)) / (np.sqrt(second[place] / (1 - 0.99**step)) + 1e-8)
            np.subtract(values, rate * move, out=values)
    return matrix, bias


def predict(weights: Weights, texts: Sequence[str], language: str, vectors: Array | None) -> dict[str, Array]:
    return by_head(design(texts, language, weights, vectors) @ weights.matrix + weights.bias)


def accuracy(found: dict[str, Array], told: dict[str, npt.NDArray[np.int64]]) -> dict[str, float]:
    known = {head: told[head] != UNKNOWN for head in HEADS}
    return {head: float((found[head].argmax(axis=1) == told[head])[known[head]].mean()) for head in HEADS}


def tests(
    found: dict[str, Array], told: dict[str, npt.NDArray[np.int64]], lasting: tuple[float, ...]
) -> dict[str, float]:
    """Precision and recall of each test's failing, and of keeping for good: on lines as logs hold them, which have no type."""
    known = (told["a"] != UNKNOWN) & (told["type"] == UNKNOWN)
    rows = {test: (found[test][known].argmax(axis=1) == 1, told[test][known] == 1) for test in "abc"}
    passes = sum(told[test][known] for test in "abc") == 0
    rows["lasting"] = (
        raw_lasting({head: one[known] for head, one in found.items()}) * lasting[0] + lasting[1] > 0,
        passes,
    )
    scores: dict[str, float] = {"lasting": float((rows["lasting"][0] == passes).mean())}
    for name, (said, meant) in rows.items():
        scores[f"{name} precision"] = float((said & meant).sum() / max(said.sum(), 1))
        scores[f"{name} recall"] = float((said & meant).sum() / max(meant.sum(), 1))
    return scores
