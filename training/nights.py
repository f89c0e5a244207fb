"""Learns and scores how what somebody says later is weighed against a whole memory: thirty entries of one person, and what they say afterwards.

    python training/nights.py --learn      learn from tuned/weighed/, write weights/nearest.json, then score
    python training/nights.py [en|zh]      score on tuned/frozen/, which is never trained on

An entry (`E`) has a number; a later statement (`N`) replaces the entry that it names (`>`), says the same (`=`), adds to it (`+`), is an
exception (`!`), leaves it open (`?`), or is about none of them (`-`). Counted is what a night would do.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from data import weighed_digest
from nacre.brain.local import relation
from nacre.brain.local.classifier import softmax
from nacre.brain.local.judge import Judge
from nacre.brain.local.likeness import Statement
from nacre.brain.local.relation import FEW, LABELS, label_odds, nearest, nearest_features
from nacre.embed.local import LocalEmbedder
from nacre.tidy.compare import EntryParts, compare_with, entry_parts, flattened

TUNED = Path(__file__).parent / "tuned"
WEIGHTS = Path(__file__).parents[1] / "src/nacre/brain/local/weights/nearest.json"
SIGNS = {"=": "same", ">": "replaces", "+": "adds", "!": "exception", "?": "ask"}
LASTING = 0.6  # odds that what is said lasts, as of a statement that is kept
DECAY, STEPS = 1.0, 600


class Later(NamedTuple):
    """What somebody says later, beside what is remembered of them."""

    sign: str
    about: int  # place of the entry that is meant; -1: none
    text: str
    entries: list[str]


def read(path: Path) -> Iterator[list[Later]]:
    """What each person says later."""
    for world in path.read_text(encoding="utf-8").split("\n# "):
        rows = [line.split(" ", 2) for line in world.splitlines() if line[:2] in ("E ", "N ")]
        entries = {number: text for kind, number, text in rows if kind == "E"}
        said: list[Later] = []
        for _, sign, rest in (row for row in rows if row[0] == "N"):
            about, text = ("", rest) if sign == "-" else rest.split(" ", 1)
            said.append(Later(sign, list(entries).index(about) if about else -1, text, list(entries.values())))
        yield said


def beside(path: Path, judge: Judge) -> Iterator[tuple[Later, Statement, list[EntryParts]]]:
    """What is said later, with what it and the entries mean."""
    for said in read(path):
        parts = entry_parts(said[0].entries, judge.meant)
        for later, new in zip(said, judge.meant([later.text for later in said]), strict=True):
            yield later, new, parts


def score(path: Path, judge: Judge) -> Counter[str]:
    counts: Counter[str] = Counter()
    for (sign, about, _, _), new, parts in beside(path, judge):
        compared, _ = compare_with(new, parts, LASTING)
        kinds = {one.place: one.kind for one in compared}
        replaced = next((one.place for one in compared if one.kind == "replaces"), None)
        counts["statements"] += 1
        if sign == ">":
            counts["changes"] += 1
            counts["changes seen"] += replaced == about
            counts["changes asked about"] += kinds.get(about) == "ask" and replaced is None
        # To put a statement in the place of one that says the same harms nobody.
        counts["wrongly replaced"] += replaced is not None and (replaced != about or sign not in ">=")
        counts["wrongly dropped"] += any(
            kind == "same" and (place != about or sign != "=") for place, kind in kinds.items()
        )
        asks = "ask" in kinds.values() and replaced is None
        counts["asked needlessly"] += asks and not (sign in ">?" and kinds.get(about) == "ask")
    return counts


def examples(path: Path, language: str, judge: Judge) -> Iterator[tuple[np.ndarray, int]]:
    """What is weighed of each of the nearest entries, and the number of its label."""
    for later, new, parts in beside(path, judge):
        flat = flattened(parts)
        near = [at for at in nearest([old for _, _, old in flat], new) if flat[at][2].language == new.language]
        rows = label_odds([(flat[at][2], new) for at in near], language) if new.language == language else None
        entries = [flat[at][0] for at in near]
        if rows is None or len(set(entries)) < FEW:
            continue
        features = nearest_features(rows, [relation.likeness(flat[at][2], new) for at in near], entries, None)
        for at, row in zip(near, features, strict=True):
            place, part, _ = flat[at]
            if place != later.about:
                yield row, LABELS.index("adds")
            elif part is None:  # which of its parts is meant nobody said
                yield row, LABELS.index(SIGNS[later.sign])


def learn(language: str, judge: Judge) -> dict[str, Any]:
    paths = sorted((TUNED / "weighed").glob(f"nights-{language}-*.txt"))
    rows, labels = zip(*(one for path in paths for one in examples(path, language, judge)), strict=True)
    features = np.array(rows, float)
    mean, spread = features.mean(axis=0), features.std(axis=0) + 1e-6
    x = np.hstack([np.clip((features - mean) / spread, -3, 3), np.ones((len(rows), 1))])
    target = np.eye(len(LABELS))[list(labels)]
    matrix = np.zeros((x.shape[1], len(LABELS)))
    first, second = np.zeros_like(matrix), np.zeros_like(matrix)
    for step in range(1, STEPS + 1):
        slope = (x.T @ (softmax((x @ matrix).astype(np.float32)) - target) + DECAY * matrix) / len(x)
        first, second = 0.9 * first + 0.1 * slope, 0.99 * second + 0.01 * slope**2
        move = (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.99**step)) + 1e-8)
        matrix -= 0.05 * min(1.0, 2 * (1 - step / (STEPS + 1))) * move
    learned = {"matrix": matrix, "mean": mean, "spread": spread}
    return {name: np.round(values, 4).tolist() for name, values in learned.items()} | {
        "corpus": weighed_digest(language)
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("languages", nargs="*")
    parser.add_argument("--learn", action="store_true")
    args = parser.parse_args()
    judge, languages = Judge(LocalEmbedder()), args.languages or ["en", "zh"]
    if args.learn:
        known = json.loads(WEIGHTS.read_text(encoding="utf-8")) if WEIGHTS.exists() else {}
        known |= {language: learn(language, judge) for language in languages}
        WEIGHTS.write_text(json.dumps(known) + "\n", encoding="utf-8")
    for language in languages:
        counts: Counter[str] = Counter()
        for path in sorted((TUNED / "frozen").glob(f"nights-{language}-*.txt")):
            counts += score(path, judge)
        print(language, ", ".join(f"{name} {count}" for name, count in counts.items()))


if __name__ == "__main__":
    main()
