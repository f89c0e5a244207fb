"""How sure the classifiers may be: each hand's sentences judged by weights that never saw that hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

import fit
from data import Statement
from nacre.brain.local.classifier import HEADS, Weights, design, raw_lasting, softmax

Array = npt.NDArray[np.float32]
STEPS = 100  # enough to see how sure it may be


def across_hands(
    rows: Sequence[Statement], more: Sequence[Statement], language: str, vectors: Array | None, settings: fit.Settings
) -> tuple[dict[str, float], dict[str, float], tuple[float, float]]:
    """The temperature of each head and its accuracy, both on hands that were left out, and the line that makes the odds of
    passing all tests honest. `more` is always trained on."""
    hands = sorted({row.hand for row in rows})
    everything = [*rows, *more]
    logits = np.zeros((len(rows), sum(map(len, HEADS.values()))), np.float32)
    for hand in hands:
        keep = np.array([row.hand != hand for row in everything])
        mine = np.array([row.hand == hand for row in rows])
        seen = [row for row in everything if row.hand != hand]
        weights = fit.fit(seen, language, None if vectors is None else vectors[keep], replace(settings, steps=STEPS))
        texts = [row.text for row in rows if row.hand == hand]
        x = design(texts, language, weights, None if vectors is None else vectors[: len(rows)][mine])
        logits[mine] = x @ weights.matrix + weights.bias
    told = fit.labels_of(rows)
    temperatures, accuracies = {}, {}
    for head, place in _places().items():
        known = told[head] != fit.UNKNOWN
        part, labels = logits[known][:, place], told[head][known]
        temperatures[head] = _temperature(part, labels)
        accuracies[head] = float((part.argmax(axis=1) == labels).mean())
    cool = {head: softmax(logits[:, place] / temperatures[head]) for head, place in _places().items()}
    # What logs really hold decides how sure one may be there: three lines of four are passing.
    known = np.array([bool(row.talk) for row in rows])
    passes = sum(told[test][known] for test in "abc") == 0
    raw = raw_lasting({head: odds[known] for head, odds in cool.items()})
    line = _line(raw, passes)
    accuracies["lasting"] = float(((raw * line[0] + line[1] > 0) == passes).mean())
    return temperatures, accuracies, line


def _line(raw: Array, passes: npt.NDArray[np.bool_]) -> tuple[float, float]:
    """The slope and offset of the logistic curve through what passed and what did not."""
    slope, offset = 1.0, 0.0
    for _ in range(500):
        odds = 1 / (1 + np.exp(-(raw * slope + offset)))
        error = odds - passes
        slope -= 0.3 * float((error * raw).mean())
        offset -= 0.3 * float(error.mean())
    return round(slope, 3), round(offset, 3)


def cooled(weights: Weights, temperatures: dict[str, float]) -> Weights:
    """The weights with their temperatures put in."""
    matrix, bias = weights.matrix.copy(), weights.bias.copy()
    for head, place in _places().items():
        matrix[:, place] /= temperatures[head]
        bias[place] /= temperatures[head]
    return replace(weights, matrix=matrix, bias=bias)


def error(odds: Array, told: npt.NDArray[np.int64]) -> float:
    """The mean gap between how sure it is and how often it is right, over ten steps of sureness."""
    known = told != fit.UNKNOWN
    sure, right = odds[known].max(axis=1), odds[known].argmax(axis=1) == told[known]
    steps = np.minimum((sure * 10).astype(int), 9)
    gaps = [
        abs(sure[steps == one].mean() - right[steps == one].mean()) * (steps == one).mean() for one in np.unique(steps)
    ]
    return float(sum(gaps))


def _places() -> dict[str, slice]:
    found, start = {}, 0
    for head, labels in HEADS.items():
        found[head] = slice(start, start + len(labels))
        start += len(labels)
    return found


def _temperature(logits: Array, told: npt.NDArray[np.int64]) -> float:
    candidates = np.linspace(0.5, 3.0, 51)
    rows = np.arange(len(told))
    losses = [-np.log(np.maximum(softmax(logits / one)[rows, told], 1e-6)).mean() for one in candidates]
    return float(candidates[int(np.argmin(losses))])
