"""Train, calibrate and score every classifier, and put the weights into the package.

python training/train.py            train on four fifths, score on the fifth that is held out, write weights and model card
python training/train.py --check    only score what is in the package
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

import calibrate
import fit
import relate
import talks
from card import card
from data import dialogues, digest, lines, marked, statements
from nacre.brain.local import classifier, relation
from nacre.brain.local.classifier import Weights
from nacre.brain.local.judge import LANGUAGES, Judge
from nacre.embed.local import LocalEmbedder
from vectors import embed

WEIGHTS = Path(classifier.__file__).parent / "weights"
SETTINGS = {
    "full": fit.Settings(scale=1.5, decay=(1e-3, 1e-3, 1e-3)),
    "bare": fit.Settings(scale=1.0, decay=(1e-3, 1e-3, 1e-3)),
}


def train_heads(language: str, variant: str) -> dict[str, float]:
    """Fit the heads, set how sure they may be, and return how they do on hands that they have not seen."""
    rows = [row for row in (*statements(language), *lines(language)) if not row.held_out]
    more = marked(language)
    texts = [row.text for row in (*rows, *more)]
    vectors, model = embed(texts, language) if variant == "full" else (None, "")
    settings = SETTINGS[variant]
    temperatures, accuracies, line = calibrate.across_hands(rows, more, language, vectors, settings)
    weights = fit.fit([*rows, *more], language, vectors, settings, model)
    save(language, variant, replace(calibrate.cooled(weights, temperatures), lasting=line))
    return accuracies


def train_worth(language: str, variant: str) -> None:
    """After the heads of every language: a talk may hold sentences of several."""
    weights = classifier.load(language, variant)
    judge = Judge(LocalEmbedder() if variant == "full" else None)
    known = [talks.talk(one, judge) for one in dialogues(language) if not one.held_out]
    x, told = talks.rows(known, weights.center, language)
    save(language, variant, replace(weights, worth=talks.fit_worth(x, told)))


def save(language: str, variant: str, weights: Weights) -> None:
    """Eight bits a weight, with one step for each output: measured, nothing is lost by that."""
    WEIGHTS.mkdir(exist_ok=True)
    step = np.maximum(np.abs(weights.matrix).max(axis=0), 1e-6) / 127
    about = {
        "vocabulary": list(weights.vocabulary),
        "scale": weights.scale,
        "model": weights.model,
        "lasting": weights.lasting,
    }
    about["corpus"] = digest(language)
    stored = {
        "about": np.frombuffer(json.dumps(about, ensure_ascii=False).encode(), np.uint8),
        "matrix": np.round(weights.matrix / step).astype(np.int8),
        "step": step.astype(np.float32),
        "bias": weights.bias.astype(np.float32),
        "center": weights.center.astype(np.float16),
    }
    if weights.worth is not None:
        stored["worth"] = weights.worth.astype(np.float32)
    np.savez_compressed(WEIGHTS / f"{language}-{variant}.npz", **stored)


def score(language: str, variant: str) -> dict[str, float]:
    rows = [row for row in (*statements(language), *lines(language)) if row.held_out]
    texts = [row.text for row in rows]
    vectors = embed(texts, language)[0] if variant == "full" else None
    weights = classifier.load(language, variant)
    odds, labels = fit.predict(weights, texts, language, vectors), fit.labels_of(rows)
    found = fit.accuracy(odds, labels) | {"gap": calibrate.error(odds["type"], labels["type"])}
    found |= fit.tests(odds, labels, weights.lasting)
    judge = Judge(LocalEmbedder() if variant == "full" else None)
    held = [talks.talk(one, judge) for one in dialogues(language) if one.held_out]
    x, told = talks.rows(held, weights.center, language)
    assert weights.worth is not None
    covered, count = talks.coverage(held, judge)
    return found | {"worth": talks.area(x @ weights.worth, told), "covered": covered, "lines": count}


def main() -> None:
    every = [(language, variant) for language in LANGUAGES for variant in SETTINGS]
    hands: dict[tuple[str, str], dict[str, float]] = {}
    training = "--check" not in sys.argv
    if training:
        hands = {one: train_heads(*one) for one in every}
        classifier.load.cache_clear()
        for one in every:
            train_worth(*one)
            relate.train(*one)
        classifier.load.cache_clear()
        relation.load.cache_clear()
    scores = {one: score(*one) | relate.score(*one) for one in every}
    for one in every:
        print(*one, {name: round(value, 3) for name, value in scores[one].items()})
    if training:
        (WEIGHTS / "MODEL_CARD.md").write_text(card(scores, hands), encoding="utf-8")


if __name__ == "__main__":
    main()
