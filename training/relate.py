"""Fitting how a new statement stands to a remembered one: same, clash, beside; with numpy alone."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from data import Pair, dialogues, digest, held_out, pairs, statements
from nacre.brain.local import relation
from nacre.brain.local.classifier import softmax
from nacre.brain.local.likeness import Statement, compare, statement
from nacre.brain.local.relation import RELATIONS, VECTOR_SCALE, Weights
from nacre.text.tokens import tokens
from vectors import embed

Array = npt.NDArray[np.float32]
WEIGHTS = Path(relation.__file__).parent / "weights"
# An update and a plain contradiction are one thing here: which of the two holds is decided by who said it, when and how.
AS_RELATION = {"same": "same", "update": "clash", "contradict": "clash", "unrelated": "beside"}
DECAY = {"full": 5e-3, "bare": 5e-3}
ECHO = 0.8  # nearer than that, two statements of one talk may say the same
STRANGERS = (
    1  # for each new statement, the nearest remembered one that it was not written for: they stand beside each other
)


def rarity(language: str) -> tuple[dict[str, float], float]:
    """How rare words are in our corpus, and the rarity of a word that it does not know."""
    texts = [one.text for one in statements(language)] + [one.old for one in pairs(language)]
    counts = Counter(word for text in texts for word in set(tokens(text)))
    common = {word: round(float(np.log(len(texts) / (1 + count))), 2) for word, count in counts.items() if count > 2}
    return common, float(np.log(len(texts)))


def train(language: str, variant: str) -> None:
    known = [one for one in pairs(language) if not held_out(one.old + one.new)]
    words, rarest = rarity(language)
    couples, told = couples_of(known, language, variant)
    near = neighbours(language, variant)
    couples += near
    told = np.concatenate([told, np.full(len(near), RELATIONS.index("beside"))])
    width = len(compare(*couples[0], words, rarest))
    blank = Weights(
        np.zeros((width, 3), np.float32),
        np.zeros(3, np.float32),
        np.zeros(width, np.float32),
        np.ones(width, np.float32),
        words,
        rarest,
    )
    raw = relation.design(couples, blank)
    mean, spread = raw.mean(axis=0), raw.std(axis=0) + 1e-6
    x = (raw - mean) / spread
    if variant == "full":
        x = np.hstack([x, np.array([new.vector for _, new in couples], np.float32) * VECTOR_SCALE])
    matrix, bias = _descend(x, told, DECAY[variant])
    about = {"rarity": words, "rarest": rarest, "corpus": digest(language)}
    np.savez_compressed(
        WEIGHTS / f"relation-{language}-{variant}.npz",
        about=np.frombuffer(json.dumps(about, ensure_ascii=False).encode(), np.uint8),
        matrix=matrix.astype(np.float16),
        bias=bias.astype(np.float32),
        mean=mean.astype(np.float32),
        spread=spread.astype(np.float32),
    )


def score(language: str, variant: str) -> dict[str, float]:
    """On the fifth that was held out: how often right, and precision and recall of what acts on memory."""
    known = [one for one in pairs(language) if held_out(one.old + one.new)]
    couples, told = couples_of(known, language, variant, strangers=0)
    odds = relation.odds(couples, language, relation.load(language, variant))
    best = odds.argmax(axis=1)
    found = {"relation": float((best == told).mean())}
    for place, name in enumerate(RELATIONS):
        chosen, meant = best == place, told == place
        found[f"{name} precision"] = float((chosen & meant).sum() / max(chosen.sum(), 1))
        found[f"{name} recall"] = float((chosen & meant).sum() / max(meant.sum(), 1))
    return found


def couples_of(
    known: Sequence[Pair], language: str, variant: str, strangers: int = STRANGERS
) -> tuple[list[tuple[Statement, Statement]], npt.NDArray[np.int64]]:
    old_texts, new_texts = [one.old for one in known], [one.new for one in known]
    old_vectors = new_vectors = None
    if variant == "full":
        old_vectors, new_vectors = embed(old_texts, language)[0], embed(new_texts, language)[0]
    olds = [
        statement(text, language, None if old_vectors is None else old_vectors[n]) for n, text in enumerate(old_texts)
    ]
    news = [
        statement(text, language, None if new_vectors is None else new_vectors[n]) for n, text in enumerate(new_texts)
    ]
    couples = list(zip(olds, news, strict=True))
    told = [RELATIONS.index(AS_RELATION[one.relation]) for one in known]
    for place in range(len(known)) if strangers else ():
        others = [n for n in range(len(known)) if known[n].old != known[place].old]
        nearest = sorted(others, key=lambda n: _near(olds[n], news[place]), reverse=True)[:strangers]
        couples += [(olds[n], news[place]) for n in nearest]
        told += [RELATIONS.index("beside")] * len(nearest)
    return couples, np.array(told)


def neighbours(language: str, variant: str) -> list[tuple[Statement, Statement]]:
    """What one person said in one talk: statements on the same matters, which nearly always hold beside each other."""
    talks = [
        [mark.text for turn in one.turns if turn.who == "U" for mark in turn.marks if mark.type != "NEVER"]
        for one in dialogues(language)
        if not one.held_out
    ]
    texts = [text for talk in talks for text in talk]
    vectors = embed(texts, language)[0] if variant == "full" else None
    read = iter([statement(text, language, None if vectors is None else vectors[n]) for n, text in enumerate(texts)])
    found: list[tuple[Statement, Statement]] = []
    for talk in talks:
        said = [next(read) for _ in talk]
        found += [(old, new) for place, new in enumerate(said) for old in said[:place] if _near(old, new) < ECHO]
    return found


def _near(old: Statement, new: Statement) -> float:
    if old.vector is not None and new.vector is not None:
        return float(old.vector @ new.vector)
    both = set(old.words) | set(new.words)
    return len(set(old.words) & set(new.words)) / max(len(both), 1)


def _descend(x: Array, told: npt.NDArray[np.int64], decay: float, steps: int = 400) -> tuple[Array, Array]:
    matrix, bias = np.zeros((x.shape[1], len(RELATIONS))), np.zeros(len(RELATIONS))
    first, second = [np.zeros_like(matrix), np.zeros_like(bias)], [np.zeros_like(matrix), np.zeros_like(bias)]
    target = np.eye(len(RELATIONS))[told]
    for step in range(1, steps + 1):
        odds = softmax((x @ matrix + bias).astype(np.float32))
        error = (odds - target) / len(x)
        slopes = [x.T @ error + decay * matrix, error.sum(axis=0)]
        rate = 0.05 * min(1.0, 2 * (1 - step / (steps + 1)))
        for place, (values, slope) in enumerate(zip((matrix, bias), slopes, strict=True)):
            first[place] = 0.9 * first[place] + 0.1 * slope
            second[place] = 0.99 * second[place] + 0.01 * slope**2
            move = (first[place] / (1 - 0.9**step)) / (np.sqrt(second[place] / (1 - 0.99**step)) + 1e-8)
            np.subtract(values, rate * move, out=values)
    return matrix.astype(np.float32), bias.astype(np.float32)
