"""Tune the embedding models for two questions: is a sentence worth keeping for good, and how does a statement stand to a remembered one.

python training/tune_tasks.py [keep|relation] [en|zh]     tune on everything, score, write the weights (some minutes each; needs requirements/train.txt)
python training/tune_tasks.py --hold HAND keep en         leave one author's file out, and score on it
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from data import lines, pairs, statements, tuned_digest
from nacre.brain.local import encoder
from nacre.brain.local.classifier import TYPES
from nacre.brain.local.likeness import statement
from nacre.brain.local.relation import LABELS, features
from tune_layers import BASES, Example, tune, write
from vectors import embed

DATA = Path(__file__).resolve().parent / "tuned"
AS_LABEL = {"same": "same", "update": "replaces", "contradict": "replaces", "unrelated": "adds"}
_MARK = re.compile(r"\s*\[([KMN])(?: ([A-Z]+))?\]\s*")
KEEP = ("no", "maybe", "yes")
STRANGE = 0.5  # weight of pairs that were not written as such
OTHER = 0.4  # weight of examples that were written for another question


def talk_examples(path: Path) -> list[Example]:
    """Each marked sentence with what stands before it: the sentence of the same message, else the end of what the agent said."""
    examples: list[Example] = []
    before = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("=="):
            before = ""
        elif line.startswith("A:"):
            before = line[2:].strip()
        elif line.startswith("U:"):
            parts = _MARK.split(line[2:].strip())
            for text, mark, kind in zip(parts[0::3], parts[1::3], parts[2::3], strict=False):
                type_ = TYPES.index(kind) if kind in TYPES else -1
                examples.append(Example(before, text.strip(), ("NMK".index(mark), type_)))
                before = text.strip()
    return examples


def keep_examples(language: str, hold: str = "") -> tuple[list[Example], list[Example]]:
    """What to learn from, and what one author wrote that is held out."""
    learnt: list[Example] = []
    held: list[Example] = []
    for path in sorted((DATA / language).glob("talk-*.txt")):
        (held if path.stem == hold else learnt).extend(talk_examples(path))
    for row in (*statements(language), *lines(language))[::2]:  # half of them: they are many, and of another kind
        type_ = TYPES.index(row.type) if row.type in TYPES else -1
        learnt.append(Example("", row.text, (0 if row.fails else 2, type_), OTHER))
    return learnt, held


def relation_examples(language: str, hold: str = "") -> tuple[list[Example], list[Example]]:
    learnt: list[Example] = []
    held: list[Example] = []
    for path in sorted((DATA / language).glob("relations-*.jsonl")):
        for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            example = Example(row["old"], row["new"], (LABELS.index(row["label"]),))
            (held if path.stem == hold else learnt).append(example)
    learnt += [Example(pair.old, pair.new, (LABELS.index(AS_LABEL[pair.relation]),), OTHER) for pair in pairs(language)]
    return [*learnt, *strangers(language, learnt)], held


def strangers(language: str, examples: Sequence[Example]) -> list[Example]:
    """For each new statement a remembered one that it was not written for, by turns one of the nearest and any: both hold."""
    olds = list(dict.fromkeys(example.first for example in examples))
    vectors, _ = embed(olds, language)
    news, _ = embed([example.second for example in examples], language)
    chance = random.Random(0)
    made: list[Example] = []
    for number, (example, vector) in enumerate(zip(examples, news, strict=True)):
        near = [olds[place] for place in np.argsort(-(vectors @ vector))[:6] if olds[place] != example.first][:4]
        made.append(
            Example(chance.choice(near if number % 2 else olds), example.second, (LABELS.index("adds"),), STRANGE)
        )
    return made


def frozen(language: str) -> list[Example]:
    rows = map(json.loads, (DATA / "frozen" / f"pairs-{language}.jsonl").read_text(encoding="utf-8").splitlines())
    return [Example(row["old"], row["new"], (LABELS.index(row["label"]),)) for row in rows]


def pair_features(language: str, examples: Sequence[Example]) -> np.ndarray:
    texts = list(dict.fromkeys(text for example in examples for text in (example.first, example.second)))
    vectors, _ = embed(texts, language)
    meant = {text: statement(text, language, vector) for text, vector in zip(texts, vectors, strict=True)}
    return np.array([features(meant[example.first], meant[example.second]) for example in examples], np.float32)


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
    parser.add_argument("--epochs", type=int)
    args = parser.parse_args()
    for language in [name for name in args.tasks if name in ("en", "zh")] or ["en", "zh"]:
        for task in [name for name in args.tasks if name in ("keep", "relation")] or ["keep", "relation"]:
            is_keep = task == "keep"
            learnt, held = (keep_examples if is_keep else relation_examples)(language, args.hold)
            heads = {"keep": list(KEEP), "type": list(TYPES)} if is_keep else {"relation": list(LABELS)}
            extra = None if is_keep else pair_features(language, learnt)
            about, arrays = tune(
                language, task, heads, learnt, extra, epochs=args.epochs or (3 if is_keep else 4), save=False
            )
            about["corpus"] = tuned_digest(language)
            if not args.hold:
                write(language, task, about, arrays)
            made = encoder.Encoder(about, arrays, BASES[language])
            tests = held if args.hold else ([] if is_keep else frozen(language))
            if tests:
                odds = made.read(
                    [(test.first, test.second) for test in tests], None if is_keep else pair_features(language, tests)
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
