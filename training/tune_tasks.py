"""Tune the embedding models for two questions: is a sentence worth keeping for good, and how does a statement stand to a remembered one.

python training/tune_tasks.py [keep|relation] [en|zh]     tune on everything, score, write the weights (some minutes each; needs requirements/train.txt)
python training/tune_tasks.py --hold HAND keep en         leave one author's file out, and score on it
python training/tune_tasks.py --further relation en       go on from the weights in the package, with what is said later beside whole memories
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from data import lines, statements, tuned_digest
from nacre.brain.local import encoder
from nacre.brain.local.classifier import CATEGORIES, TYPES, read_weights
from nacre.brain.local.judge import AT_ONCE, Judge
from nacre.brain.local.likeness import statement
from nacre.brain.local.relation import LABELS, features
from nacre.embed.local import LocalEmbedder
from nights import SIGNS
from nights import read as read_nights
from tune_layers import Example, tune, write
from vectors import embed

DATA = Path(__file__).resolve().parent / "tuned"
_MARK = re.compile(r"\s*\[([KMN])(<?)(?: ([A-Z]+))?\]\s*")
KEEP = ("no", "maybe", "yes")
KEEP_HEADS = {"keep": KEEP, "type": TYPES, "leans": ("no", "yes"), "category": CATEGORIES}
OTHER = 0.4  # weight of examples that were written for another question


def talk_examples(path: Path) -> list[Example]:
    """Each marked sentence with what stands before it: the sentence of the same message, else the end of what the agent said, and
    once more without that, as it stands in a log."""
    examples: list[Example] = []
    before = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("=="):
            before = ""
        elif line.startswith("A:"):
            before = line[2:].strip()
        elif line.startswith("U:"):
            parts = _MARK.split(line[2:].strip())
            marked = zip(parts[0::4], parts[1::4], parts[2::4], parts[3::4], strict=False)
            for place, (text, mark, leans, kind) in enumerate(marked):
                labels = ("NMK".index(mark), _place(TYPES, kind), -1 if mark == "N" else len(leans), -1)
                contexts = [before] if place or not before else [before, ""]
                examples += [Example(context, text.strip(), labels, 1.2 / len(contexts)) for context in contexts]
                before = text.strip()
    return examples


def keep_examples(language: str, hold: str = "") -> tuple[list[Example], list[Example]]:
    """What to learn from, and what one author wrote that is held out."""
    learnt: list[Example] = []
    held: list[Example] = []
    for path in sorted((DATA / language).glob("talk-*.txt")):
        (held if path.stem == hold else learnt).extend(talk_examples(path))
    for line in (DATA / language / "alone.txt").read_text(encoding="utf-8").splitlines():
        mark, _, text = line.partition(" ")
        kind, _, rest = text.partition(" ") if mark != "N" else ("", "", text)
        learnt.append(Example("", rest, ("NMK".index(mark), _place(TYPES, kind), 0 if mark != "N" else -1, -1)))
    typed = map(json.loads, (DATA / language / "lines.jsonl").read_text(encoding="utf-8").splitlines())
    learnt += [_typed(row["text"], row["type"], row["category"]) for row in typed]
    # Statements that were written for other tests: what they are, not whether they are worth keeping.
    learnt += [_typed(row.text, row.type, row.category, OTHER) for row in statements(language)[::2]]
    learnt += [Example("", row.text, (0 if row.fails else 2, -1, -1, -1), OTHER) for row in lines(language)[::2]]
    return learnt, held


def _typed(text: str, type_: str | None, category: str | None, weight: float = 1.0) -> Example:
    return Example("", text, (-1, _place(TYPES, type_), -1, _place(CATEGORIES, category)), weight)


def _place(names: Sequence[str], name: str | None) -> int:
    return names.index(name) if name in names else -1


def relation_examples(language: str, hold: str = "") -> tuple[list[Example], list[Example]]:
    learnt: list[Example] = []
    held: list[Example] = []
    for path in sorted((DATA / language).glob("relations-*.jsonl")):
        for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            example = Example(row["old"], row["new"], (LABELS.index(row["label"]),))
            (held if path.stem == hold else learnt).append(example)
    for path in sorted((DATA / language).glob("families-*.txt")):
        (held if path.stem == hold else learnt).extend(family_examples(path))
    return [*learnt, *strangers(language, learnt)], held


REPLAYED = 6900  # examples of the first training that are gone through again in the second
NEAREST, BESIDE = 3, 0.7  # entries of the same memory that a statement stands beside; what each of them weighs


def further_examples(language: str) -> list[Example]:
    """What people say later against the entry that they mean, and against the nearest others, beside which it stands; with some of the
    examples of the first training."""
    made = random.Random(2).sample(relation_examples(language)[0], REPLAYED)
    people = [said for path in sorted((DATA / language).glob("nights-*.txt")) for said in read_nights(path)]
    for said in people:
        entries, _ = embed(said[0].entries, language)
        news, _ = embed([later.text for later in said], language)
        for later, likeness in zip(said, news @ entries.T, strict=True):
            others = [later.entries[place] for place in np.argsort(-likeness) if place != later.about]
            made += [Example(old, later.text, (LABELS.index("adds"),), BESIDE) for old in others[:NEAREST]]
            if later.about >= 0:
                label = LABELS.index(SIGNS[later.sign])
                made.append(Example(later.entries[later.about], later.text, (label,)))
    return made


def temperature(language: str, about: dict[str, Any], arrays: dict[str, np.ndarray]) -> float:
    """By how much the odds are too sure, on what authors said later whom the model never saw."""
    paths = sorted((DATA / "weighed").glob(f"nights-{language}-*.txt"))
    said = [later for path in paths for some in read_nights(path) for later in some]
    pairs = [(later.entries[later.about], later) for later in said if later.about >= 0]
    examples = [Example(old, later.text, (LABELS.index(SIGNS[later.sign]),)) for old, later in pairs]
    made = encoder.with_weights(about, arrays)
    assert made
    odds = made.read([example[:2] for example in examples], pair_features(language, examples))["relation"]
    right = [example.labels[0] for example in examples]

    def loss(degrees: float) -> float:
        cooled = odds ** (1 / degrees)
        return float(-np.log((cooled / cooled.sum(axis=1, keepdims=True))[range(len(right)), right]).mean())

    return min((round(degrees, 2) for degrees in np.arange(0.8, 2, 0.05)), key=loss)


def family_examples(path: Path) -> list[Example]:
    """Each statement of a family against the entry that stands first in it."""
    old, examples = "", []
    for line in filter(None, path.read_text(encoding="utf-8").splitlines()):
        sign, text = line[0], line[1:].strip()
        if sign == "#":
            old = text
        else:
            examples.append(Example(old, text, (LABELS.index(SIGNS[sign]),)))
    return examples


def strangers(language: str, examples: Sequence[Example]) -> list[Example]:
    """For every second new statement a remembered one that it was not written for, mostly one of the nearest: both hold."""
    olds = list(dict.fromkeys(example.first for example in examples))
    vectors, _ = embed(olds, language)
    examples = examples[::2]
    news, _ = embed([example.second for example in examples], language)
    chance = random.Random(0)
    made: list[Example] = []
    for number, (example, vector) in enumerate(zip(examples, news, strict=True)):
        near = [olds[place] for place in np.argsort(-(vectors @ vector))[:6] if olds[place] != example.first][:4]
        made.append(Example(chance.choice(near if number % 4 else olds), example.second, (LABELS.index("adds"),)))
    return made


def frozen(language: str) -> list[Example]:
    rows = map(json.loads, (DATA / "frozen" / f"pairs-{language}.jsonl").read_text(encoding="utf-8").splitlines())
    return [Example(row["old"], row["new"], (LABELS.index(row["label"]),)) for row in rows]


def pair_features(language: str, examples: Sequence[Example]) -> np.ndarray:
    texts = list(dict.fromkeys(text for example in examples for text in (example.first, example.second)))
    vectors, _ = embed(texts, language)
    meant = {text: statement(text, language, vector) for text, vector in zip(texts, vectors, strict=True)}
    return np.array([features(meant[example.first], meant[example.second]) for example in examples], np.float32)


def summaries(examples: Sequence[Example]) -> np.ndarray:
    judge, texts = Judge(LocalEmbedder()), [example.second for example in examples]
    some = (texts[start : start + AT_ONCE] for start in range(0, len(texts), AT_ONCE))
    return np.array([judged.summary for part in some for judged in judge.read(part)])


def score_keep(name: str, odds: np.ndarray, examples: Sequence[Example]) -> None:
    worth, told = odds[:, 2] + 0.5 * odds[:, 1], np.array([example.labels[0] for example in examples])
    for least in (0.3, 0.4, 0.5, 0.6, 0.7):
        chosen = worth >= least
        right, all_ = (chosen & (told == 2)).sum(), max((told == 2).sum(), 1)
        print(
            f"  {name} ≥ {least}: recall {right / all_:.2f}, precision {right / max(chosen.sum(), 1):.2f}, with maybe {(chosen & (told > 0)).sum() / max(chosen.sum(), 1):.2f}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", default=["keep", "relation", "en", "zh"])
    parser.add_argument("--hold", default="")
    parser.add_argument("--further", action="store_true")
    parser.add_argument("--epochs", type=int)
    args = parser.parse_args()
    if args.further and (args.hold or "keep" in args.tasks or "relation" not in args.tasks):
        parser.error("--further is for relation, with all authors")
    for language in [name for name in args.tasks if name in ("en", "zh")] or ["en", "zh"]:
        for task in [name for name in args.tasks if name in ("keep", "relation")] or ["keep", "relation"]:
            is_keep = task == "keep"
            learnt, held = (keep_examples if is_keep else relation_examples)(language, args.hold)
            heads = {head: list(names) for head, names in KEEP_HEADS.items()} if is_keep else {"relation": list(LABELS)}
            start = None
            if args.further:
                was, start = read_weights(f"relation-{language}")
                if was["corpus"] != tuned_digest(language, "relation"):
                    parser.error(
                        f"tune relation {language} first: these weights have gone further, or learned from other files"
                    )
                learnt = further_examples(language)
            extra = summaries(learnt) if is_keep else pair_features(language, learnt)
            epochs, rate = (2, 5e-4) if start else (3 if is_keep else 4, 1e-3)
            about, arrays = tune(
                language, task, heads, learnt, extra, epochs=args.epochs or epochs, rate=rate, save=False, start=start
            )
            if start:
                about["temperature"] = temperature(language, about, arrays)
            about["corpus"] = tuned_digest(language, "further" if start else task)
            if not args.hold:
                write(language, task, about, arrays)
            made = encoder.with_weights(about, arrays)
            assert made
            unseen = talk_examples(DATA / "frozen" / f"talk-{language}.txt") if is_keep else frozen(language)
            tests = held if args.hold else unseen
            if tests:
                odds = made.read(
                    [(test.first, test.second) for test in tests],
                    summaries(tests) if is_keep else pair_features(language, tests),
                )
                if is_keep:
                    score_keep(f"{language} {args.hold}", odds["keep"], tests)
                else:
                    print(
                        language,
                        "right",
                        (odds["relation"].argmax(axis=1) == [test.labels[0] for test in tests]).mean(),
                    )


if __name__ == "__main__":
    main()
