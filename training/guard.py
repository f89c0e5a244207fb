"""Learns the weights by which the guard tells values in conversation (`src/nacre/guard/said_weights.json`), and measures them.

python training/guard.py           cross-validate, measure on the fifth that was held out, write the weights
python training/guard.py --check   only measure the weights in the package, with the rules of the guard
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nacre.guard import said
from nacre.guard.secrets import redact

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
TABLE = ROOT / "src" / "nacre" / "guard" / "said_weights.json"
BLOCK, FOLDS = 20, 5  # neighbouring messages may be pairs that differ in little: they go together
Floats = NDArray[np.float64]


@dataclass
class Example:
    """A message, the places of its secrets, and every candidate with its features and label."""

    text: str
    spans: list[tuple[int, int]]
    secrets: list[str]
    kind: str
    fold: int  # of the cross-validation; -1: always learned from, -2: held out
    language: str
    general: list[str] = field(default_factory=list)
    candidates: list[said.Candidate] = field(default_factory=list)
    features: list[list[str]] = field(default_factory=list)
    labels: list[float] = field(default_factory=list)  # 1, 0, or -1 for a part of a secret


def places(text: str, secrets: Iterable[str]) -> list[tuple[int, int]]:
    return sorted(
        {match.span() for secret in secrets if secret.strip() for match in re.finditer(re.escape(secret.strip()), text)}
    )


def read_messages(language: str) -> list[Example]:
    """The messages of a language; every fifth block is held out, the others take turns in the cross-validation."""
    found = []
    lines = (HERE / "secrets" / f"{language}.jsonl").read_text("utf8").splitlines()
    for at, line in enumerate(lines):
        row = json.loads(line)
        block = at // BLOCK
        fold = -2 if block % 5 == 4 else (block - block // 5) % FOLDS
        spans = places(row["text"], row["secrets"])
        found.append(Example(row["text"], spans, row["secrets"], row["kind"], fold, language))
    return found


def read_marked(path: Path, kind: str) -> list[Example]:
    """Messages of one line each: ⟦ ⟧ hold a secret, ␤ ends a line."""
    found = []
    for line in path.read_text("utf8").splitlines():
        if not line or line.startswith("##") or "‹" in line:
            continue
        marked = line.replace("␤", "\n")
        text = re.sub("[⟦⟧]", "", marked)
        spans, taken = [], 0
        for match in re.finditer("⟦(.*?)⟧", marked, re.DOTALL):
            spans.append((match.start() - taken, match.end() - taken - 2))
            taken += 2
        found.append(Example(text, spans, [text[a:b] for a, b in spans], kind, -1, _language(text)))
    return found


def read_lines() -> list[Example]:
    """What is always learned from: messages of our own hand and the lines of the guard's tests."""
    lines = ROOT / "tests" / "guard" / "lines"
    return [
        *read_marked(HERE / "secrets" / "own.txt", "own"),
        *(
            example
            for name in ("spoken", "told", "harmless", "configured")
            for example in read_marked(lines / f"{name}.txt", name)
        ),
    ]


def _language(text: str) -> str:
    return "zh" if re.search("[\u3400-\u9fff]", text) else "en"


def read_ordinary() -> list[Example]:
    """Ordinary text of the repository: documents, talk, code. What few secrets it may hold do not matter among the rest."""
    paths = [
        path
        for place in ("docs/*.md", "docs/zh/*.md", "src/nacre/*/*.py", "training/scenarios/*/talk.txt")
        for path in sorted(ROOT.glob(place))
    ]
    found = []
    for path in paths:
        lines = path.read_text("utf8").split("\n")
        texts = ["\n".join(lines[at : at + 6]) for at in range(0, len(lines), 6)]
        found += [Example(text, [], [], "ordinary", -1, _language(text)) for text in texts]
    random.Random(1).shuffle(found)
    del found[len(found) // 4 :]
    for path in sorted([*ROOT.glob("training/en/*"), *ROOT.glob("training/zh/*")]):
        for line in path.read_text("utf8").splitlines() if path.is_file() else ():
            if line:
                found.append(Example(line, [], [], "ordinary", -1, _language(line)))
    return found


def varied(examples: Sequence[Example], times: int, seed: int = 1) -> list[Example]:
    """The same messages with other values of the same sort in the place of their secrets."""
    chance = random.Random(seed)
    pool: dict[str, list[str]] = {}
    for example in examples:
        for value in example.secrets:
            pool.setdefault(_sort(value), []).append(value.strip())
    found = []
    for example in [example for example in examples if example.secrets] * times:
        parts, spans, place, size = [], [], 0, 0
        changed = False
        for start, end in example.spans:
            value = example.text[start:end]
            other = chance.choice(pool.get(_sort(value), [value])) if _sort(value) != "other" else value
            changed = changed or other != value
            parts += [example.text[place:start], other]
            size += start - place
            spans.append((size, size + len(other)))
            size += len(other)
            place = end
        text = "".join((*parts, example.text[place:]))
        if changed:
            found.append(Example(text, spans, [text[a:b] for a, b in spans], example.kind, -1, example.language))
    return found


def _sort(value: str) -> str:
    """Among which values one may stand for another."""
    value = value.strip()
    if re.fullmatch(r"[#*]?\d{3,8}[#*]?", value):
        return "digits"
    if re.search("[\u3400-\u9fff]", value):
        return "chinese" if re.fullmatch("[\u3400-\u9fff]{2,12}", value) else "other"
    if " " in value or "\n" in value or len(value) > 24:
        return "phrase" if re.fullmatch(r"[a-z]+(?: [a-z]+){2,}", value) else "other"
    if re.fullmatch("[a-z]{4,}", value):
        return "word"
    return "licence" if value == value.upper() else "password"


def prepare(example: Example) -> None:
    text = example.text
    tokens = said.tokens(text)
    starts = [token.start for token in tokens]
    example.general = list(said.message_features(tokens))
    for candidate in said.weighed(text, tokens):
        example.candidates.append(candidate)
        example.features.append(list(dict.fromkeys(said.features(text, tokens, starts, candidate))))
        example.labels.append(label(example, candidate))


def label(example: Example, candidate: said.Candidate) -> float:
    """1 for a candidate that is a secret, 0 for none, -1 for a part of one or one with too much around it."""
    start, end = candidate.start, candidate.end
    over = [(max(start, a), min(end, b), a, b) for a, b in example.spans if a < end and start < b]
    if not over:
        return 0.0
    covered = sum(b - a for a, b, _, _ in over)
    whole = all((b - a) >= 0.9 * (d - c) for a, b, c, d in over)
    gold = over[-1][3] - over[0][2]
    if whole and (covered >= 0.8 * (end - start) or (len(over) > 3 and end - start <= gold + 4)):
        return 1.0
    return -1.0


# Logistic regression with both penalties, by accelerated proximal steps


def fit(
    rows: Sequence[Sequence[str]],
    labels: Sequence[float],
    weights: Sequence[float],
    *,
    l1: float,
    l2: float,
    rounds: int = 300,
) -> dict[str, float]:
    counts = Counter(name for row in rows for name in row)
    names = {name: at for at, name in enumerate(name for name, count in counts.items() if count >= 3)}
    columns = np.array([names[name] for row in rows for name in row if name in names])
    lengths = [sum(name in names for name in row) for row in rows]
    lines = np.repeat(np.arange(len(rows)), lengths)
    y, w = np.array(labels), np.array(weights)
    theta, ahead, t = np.zeros(len(names)), np.zeros(len(names)), 1.0
    penalty = np.full(len(names), l1)
    penalty[names["bias"]] = 0.0
    step = 1.0 / _largest(columns, lines, w, len(names))
    for _ in range(rounds):
        p = 1 / (1 + np.exp(-np.bincount(lines, ahead[columns], minlength=len(rows))))
        gradient = np.bincount(columns, ((p - y) * w)[lines], minlength=len(names)) + l2 * ahead
        new = ahead - step * gradient
        new = np.sign(new) * np.maximum(np.abs(new) - step * penalty, 0)
        following = (1 + np.sqrt(1 + 4 * t * t)) / 2
        ahead = new + (t - 1) / following * (new - theta)
        theta, t = new, following
    return {name: float(theta[at]) for name, at in names.items() if abs(theta[at]) > 0.01}


def _largest(columns: NDArray[np.int64], lines: NDArray[np.int64], w: Floats, size: int) -> float:
    """How steep the loss can be at most: the largest eigenvalue, by power iteration."""
    vector: Floats = np.ones(size)
    value = 1.0
    for _ in range(30):
        product = np.bincount(lines, vector[columns], minlength=len(w)) * w / 4
        gradient = np.bincount(columns, product[lines], minlength=size).astype(np.float64)
        value = float(np.linalg.norm(gradient))
        vector = gradient / value
    return value * 1.05 + 1e-3


def learn(examples: Sequence[Example], *, l1: float, l2: float, ordinary: float) -> dict[str, float]:
    rows: list[Sequence[str]] = []
    labels: list[float] = []
    weights: list[float] = []
    for example in examples:
        for features, wanted in zip(example.features, example.labels, strict=True):
            rows.append([*features, *example.general])
            labels.append(max(wanted, 0.0))
            weights.append(
                (0.15 if wanted < 0 else 1.0 if wanted else HARMLESS)
                * (ordinary if example.kind == "ordinary" else 1.0)
            )
    return fit(rows, labels, weights, l1=l1, l2=l2)


# Measuring


def shown(secret: str, text: str) -> bool:
    """Whether more than a tenth of a secret, or a third of a phrase of several words, can still be read in one piece."""
    words = secret.split()
    if len(words) > 2:
        return sum(word in text for word in words) > len(words) / 3
    least = max(4, -(-len(secret) * 9 // 10))
    return any(secret[at : at + least] in text for at in range(max(1, len(secret) - least + 1)))


def without(text: str, spans: Iterable[tuple[int, int]]) -> str:
    parts, place = [], 0
    for start, end in sorted(spans):
        if end > place:
            parts += [text[place : max(place, start)], "▒"]
            place = end
    return "".join((*parts, text[place:]))


def scores(example: Example, weights: dict[str, float]) -> list[float]:
    general = sum(weights.get(name, 0.0) for name in example.general)
    return [general + sum(weights.get(name, 0.0) for name in row) for row in example.features]


def select(
    example: Example, scored: Sequence[float], least: float, sibling: float = said.SIBLING
) -> list[tuple[int, int]]:
    pairs = list(zip(scored, example.candidates, strict=True))
    return [(candidate.start, candidate.end) for _, candidate in said.best(example.text, pairs, least, sibling)]


def measure(examples: Sequence[Example], spans: Sequence[Sequence[tuple[int, int]]]) -> tuple[float, float, float]:
    """How many messages with secrets show none, how many harmless ones are touched, and characters cut too much for each secret."""
    found = secret = touched = harmless = excess = 0
    for example, cut in zip(examples, spans, strict=True):
        if example.secrets:
            secret += 1
            left = without(example.text, cut)
            found += not any(shown(value.strip(), left) for value in example.secrets)
            hidden = {at for a, b in cut for at in range(a, b)} - {at for a, b in example.spans for at in range(a, b)}
            excess += sum(example.text[at].isalnum() for at in hidden)
        else:
            harmless += 1
            touched += bool(cut)
    return 100 * found / max(secret, 1), 100 * touched / max(harmless, 1), excess / max(secret, 1)


def report(name: str, examples: Sequence[Example], cut: Callable[[Example], list[tuple[int, int]]]) -> None:
    for language in ("en", "zh"):
        mine = [example for example in examples if example.language == language]
        found, touched, excess = measure(mine, [cut(example) for example in mine])
        print(
            f"{name} {language}: found {found:.1f}%, harmless touched {touched:.1f}%, {excess:.1f} characters too many"
        )


def by(weights: dict[str, float], least: float) -> Callable[[Example], list[tuple[int, int]]]:
    return lambda example: select(example, scores(example, weights), least)


def guarded(example: Example) -> list[tuple[int, int]]:
    """What the whole guard cuts, rules and weights."""
    return [(finding.start, finding.end) for finding in redact(example.text).findings]


THRESHOLD = 1.6  # by cross-validation: at most every fiftieth harmless message is touched
HARMLESS = 1.5  # how much more a harmless value weighs than a secret
SETTINGS = {"l1": 0.5, "l2": 1.0, "ordinary": 0.3}
LEAST = 0.07  # a weight that is kept


def rounded(weights: dict[str, float]) -> dict[str, float]:
    """The weights as the table holds them."""
    return {name: round(weight, 2) for name, weight in weights.items() if abs(weight) >= LEAST}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--threshold", type=float, default=THRESHOLD)
    parser.add_argument("--skip-folds", action="store_true", help="without the cross-validation, which takes minutes")
    given = parser.parse_args()
    messages = [*read_messages("en"), *read_messages("zh")]
    shown_fold = [example for example in messages if example.fold == -2]
    for example in messages:
        prepare(example)
    if given.check:
        report("learned from, whole guard", [example for example in messages if example.fold >= 0], guarded)
        report("held out, whole guard", shown_fold, guarded)
        return
    always = read_lines()
    ordinary = read_ordinary()
    for example in (*always, *ordinary):
        prepare(example)

    def learned_from(chosen: Sequence[Example]) -> dict[str, float]:
        told = [*chosen, *always]
        others = varied(told, 1)
        for example in others:
            prepare(example)
        return rounded(learn([*told, *ordinary, *others], **SETTINGS))

    tested: dict[int, list[float]] = {}
    for fold in range(0 if given.skip_folds else FOLDS):
        weights = learned_from([example for example in messages if example.fold not in {-2, fold}])
        for example in messages:
            if example.fold == fold:
                tested[id(example)] = scores(example, weights)
        report(f"fold {fold}", [example for example in messages if example.fold == fold], by(weights, given.threshold))
    for least in np.arange(0.6, 3.6, 0.2) if tested else ():
        report(
            f"all folds, threshold {least:.1f}",
            [example for example in messages if example.fold >= 0],
            lambda example, least=least: select(example, tested[id(example)], least),  # type: ignore[misc]
        )
    weights = learned_from([example for example in messages if example.fold >= 0])
    report("held out, weights alone", shown_fold, by(weights, given.threshold))
    hundredths = {"threshold": given.threshold} | dict(sorted(weights.items()))
    made = {name: round(100 * weight) for name, weight in hundredths.items()}
    # A line for all features that begin with the same sign.
    lines = (
        json.dumps(dict(some), ensure_ascii=False, separators=(",", ":"))[1:-1]
        for _, some in groupby(made.items(), lambda row: row[0][0])
    )
    TABLE.write_text("{" + ",\n".join(lines) + "}\n", "utf8")
    print(f"{TABLE.relative_to(ROOT)}: {len(made)} weights, {TABLE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
