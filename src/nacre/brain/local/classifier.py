"""Small linear classifiers over a sentence's structure, its words and, where the models are installed, its embedding."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from nacre.embed import tuned

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[np.float32]


@cache
def _patterns(language: str) -> tuple[re.Pattern[str], ...]:
    """The features of a language, each one expression; `features.tsv` says what it looks for."""
    with_case = ("capitals", "name inside", "name first", "ticket")
    return tuple(
        re.compile(text, 0 if name in with_case else re.IGNORECASE)
        for own, name, text in read_table("features.tsv")
        if own in ("", language)
    )


def read_table(name: str) -> list[list[str]]:
    """The rows of a table in this folder, without its comments."""
    lines = resources.files("nacre.brain.local").joinpath(name).read_text(encoding="utf-8").split("\n")
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


def structure(text: str, language: str) -> list[float]:
    size, full = (len(text), 60) if language == "zh" else (len(text.split()), 30)
    held = [float(pattern.search(text) is not None) for pattern in _patterns(language)]
    return [*held, min(size / full, 1.0), float(size < full / 7), min(len(text) / 200, 1.0)]


_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?|\d+|[\u3400-\u9fff]|[?!？！]")


def grams(text: str, language: str) -> set[str]:
    """The words and pairs of neighbours of a sentence, digits made alike; where it begins and ends counts too."""
    words = ["<", *("0" if word[0].isdigit() else word for word in _WORD.findall(text.lower())), ">"]
    result = {*words[1:-1], *(f"{left} {right}" for left, right in itertools.pairwise(words))}
    if language == "zh":
        result |= {" ".join(words[i : i + 3]) for i in range(len(words) - 2)}
    return result


TYPES = ("PREF", "PROJ", "TECH", "LESSON", "PEOPLE", "TEMP")
CATEGORIES = ("decision", "discovery", "preference", "task", "-")
ACTS = tuple("request question inform instruct decide agree correct report speculate social offrecord".split())
YES_NO = ("no", "yes")
HEADS = {"type": TYPES, "category": CATEGORIES, "act": ACTS, "a": YES_NO, "b": YES_NO, "c": YES_NO}


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
    worth: Array | None = None  # of a sentence of a session: embedding, structure, odds, what stands around it, bias
    lasting: tuple[float, ...] = (1.0, 0.0)  # slope and offset that make the odds of passing all tests honest


def read_weights(name: str) -> tuple[dict[str, Any], dict[str, Array]]:
    return tuned.read_weights(resources.files("nacre.brain.local").joinpath("weights", f"{name}.npz"))


@cache
def load(language: str, variant: str) -> Weights:
    """The weights in the package: "full" with embeddings, "bare" without."""
    about, arrays = read_weights(f"{language}-{variant}")
    return Weights(
        {gram: place for place, gram in enumerate(about["vocabulary"])},
        arrays["matrix"] * arrays["step"],
        arrays["bias"],
        arrays["center"],
        float(about["scale"]),
        about["model"],
        about["corpus"],
        arrays.get("worth"),
        tuple(about["lasting"]),
    )


def design(texts: Sequence[str], language: str, weights: Weights, vectors: Array | None) -> Array:
    import numpy as np

    shape = np.array([structure(text, language) for text in texts], np.float32).reshape(len(texts), -1)
    words = np.zeros((len(texts), len(weights.vocabulary)), np.float32)
    for row, text in enumerate(texts):
        words[row, [weights.vocabulary[gram] for gram in grams(text, language) if gram in weights.vocabulary]] = 1.0
    words /= np.sqrt(np.maximum(words.sum(axis=1, keepdims=True), 1.0))
    parts = [shape, words]
    if vectors is not None:
        parts.insert(0, (vectors - weights.center) * weights.scale)
    return np.hstack(parts)


def by_head(logits: Array) -> dict[str, Array]:
    ends = itertools.accumulate(map(len, HEADS.values()))
    return {head: softmax(logits[:, end - len(HEADS[head]) : end]) for head, end in zip(HEADS, ends, strict=True)}


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
