"""Learns how search ranks, from the worlds in `recall/` and, where a folder of them is given, from public sets with a permissive licence.

    python training/rank.py [--public FOLDER NAME…]            score each author by weights that never saw them, then write weights.json
    python training/rank.py --score FOLDER                      how the weights in the package do on every set of a folder

Three things are learned, all linear: what each feature of a statement is worth in which context, when a newer statement takes the place of
an older one, and how sure one may be that the best hit answers.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from nacre.search import rank
from nacre.search.evidence import CONTEXT, FEATURES, Statement
from nacre.text.tokens import cjk_count
from worlds import HERE, Example, digest, load

Array = npt.NDArray[np.float64]
Table = dict[str, Any]
WEIGHTS = HERE.parent / "src/nacre/search/weights.json"
CALLED_WEAK = 0.07  # share of right answers that are called weak
LOOSE = 1e-3  # how strongly the worth of what speaks for a change between long statements is drawn to nothing
CHANGES = 0.3  # odds from which a newer statement is put above an older one
NOTHING = ("none", "foreign")  # kinds of questions that nothing answers
# Authors whose logs teach what is worth what and what answers nothing, but not when a newer statement takes the place of an older one: with
# them the first hit was wrong more often on the scenarios (decisions/020).
NOT_OF_CHANGES = ("depot", "luyin", "studio", "wuliu")
PERMISSIVE = ("longmemeval-s-500", "madial-zh")  # public sets whose licence lets anybody learn from them


def minimise(loss: Callable[[Array], tuple[float, Array]], size: int) -> Array:
    """Where a smooth convex loss, given with its slope, is least (L-BFGS with a memory of ten steps)."""
    at = np.zeros(size)
    value, slope = loss(at)
    past: list[tuple[Array, Array]] = []  # steps, and how the slope changed with each
    for _ in range(300):
        toward, factors = slope.copy(), []
        for step, change in reversed(past):
            factors.append((step @ toward) / (step @ change))
            toward -= factors[-1] * change
        toward *= (past[-1][0] @ past[-1][1]) / (past[-1][1] @ past[-1][1]) if past else 1.0
        for (step, change), factor in zip(past, reversed(factors), strict=True):
            toward += step * (factor - (change @ toward) / (step @ change))
        length = 1.0
        while (tried := loss(at - length * toward))[0] > value - 1e-4 * length * (slope @ toward) and length > 1e-8:
            length /= 2
        step, change = -length * toward, tried[1] - slope
        if abs(value - tried[0]) < 1e-9 * max(1.0, abs(value)):
            return at + step
        at, value, slope = at + step, *tried
        past = [*past[-9:], (step, change)] if step @ change > 1e-12 else past
    return at


# What each feature is worth: the odds of each right statement against all that are not.


def fit_worth(examples: Sequence[Example], decay: float = 2e-3) -> dict[str, list[float]]:
    """Each world counts alike, whatever the number of its questions to the power of a half."""
    chosen = [one for one in examples if any(one.gold)]
    counts: dict[str, int] = defaultdict(int)
    for one in chosen:
        counts[one.world] += 1
    rows, owner, right = [], [], []
    for number, one in enumerate(chosen):
        features = np.array([statement.features for statement in one.found])
        rows.append((features[:, :, None] * np.array(one.context)[None, None, :]).reshape(len(features), -1))
        owner += [number] * len(features)
        right += one.gold
    x, group, gold = np.concatenate(rows), np.array(owner), np.array(right, float)
    share = np.array([1 / math.sqrt(counts[one.world]) for one in chosen])
    share /= share.sum()
    golds = np.bincount(group, gold, len(chosen))

    def loss(weights: Array) -> tuple[float, Array]:
        scores = x @ weights
        most = np.full(len(chosen), -1e9)
        np.maximum.at(most, group, scores)
        odds = np.exp(scores - most[group])
        wrong = np.bincount(group, odds * (1 - gold), len(chosen))
        p = odds / (odds + wrong[group])  # of a right one, against all wrong ones
        each = gold * (share / golds)[group]
        slope = -each * (1 - p)
        against = np.bincount(group, each * (1 - p) / np.maximum(wrong[group] + 1e-12, 1e-12), len(chosen))
        slope += against[group] * odds * (1 - gold)
        value = -(each * np.log(p + 1e-12)).sum() + decay * (weights @ weights)
        return float(value), x.T @ slope + 2 * decay * weights

    found = minimise(loss, x.shape[1]).reshape(len(FEATURES), len(CONTEXT))
    return {name: [round(float(value), 3) for value in row] for name, row in zip(FEATURES, found, strict=True)}


def ranked(one: Example, table: Table) -> list[Statement]:
    """The statements in the order of their learned scores."""
    worth = np.array([table[name] for name in FEATURES]) @ np.array(one.context)
    for statement in one.found:
        statement.score = float(np.dot(worth, statement.features))
        statement.superseded = False
    return rank.with_leader(sorted(one.found, key=lambda statement: -statement.score))


# When a newer statement takes the place of an older one.


def pairs(one: Example, table: Table) -> list[tuple[list[float], bool, bool]]:
    """What speaks for it, whether it does, and whether one of the two is long: of questions about a change, and of those that an older
    statement answers although a newer one is near, or says the same again."""
    order = ranked(one, table)
    held = {id(statement): names for statement, names in zip(one.found, one.entries, strict=True)}
    result = []
    past = one.asked.kind == "before"
    for older, newer, near in rank.contending(order, one.question, one.weights, one.alike, one.related):
        old, new = held[id(older)], held[id(newer)]
        gold, others = (one.asked.others, one.asked.gold) if past else (one.asked.gold, one.asked.others)
        changed = one.asked.kind in ("update", "before") and bool(old & others - gold and new & gold)
        if changed or old & gold:
            odds = one.related(older, newer)
            row = rank.pair_features(older, newer, one.question, order[0].score, one.weights, near, odds)
            result.append((row, changed, rank.is_long(older, newer)))
    return result


def fit_logistic(rows: Sequence[Sequence[float]], right: Sequence[bool], share: Sequence[float], decay: float) -> Array:
    x, y, weight = np.array(rows), np.array(right, float), np.array(share)
    weight = weight / weight.sum()

    def loss(weights: Array) -> tuple[float, Array]:
        p = 1 / (1 + np.exp(-np.clip(x @ weights, -30, 30)))
        value = -(weight * (y * np.log(p + 1e-12) + (1 - y) * np.log(1 - p + 1e-12))).sum()
        return float(value + decay * (weights @ weights)), x.T @ (weight * (p - y)) + 2 * decay * weights

    return minimise(loss, x.shape[1])


def fit_supersedes(examples: Sequence[Example], tables: dict[bool, Table]) -> Table:
    """For two short statements, and for two of which one is long: there are few of these, so that they are fitted more loosely."""
    rows = [row for one in examples for row in pairs(one, tables[one.text_only])]
    result: Table = {}
    for name, long, decay in (("supersedes", False, 1e-5), ("supersedes long", True, LOOSE)):
        own = [row for row in rows if row[2] == long]
        found = fit_logistic([row[0] for row in own], [row[1] for row in own], [1.0] * len(own), decay)
        found[0] -= math.log(CHANGES / (1 - CHANGES))
        result[name] = {feature: round(float(value), 3) for feature, value in zip(rank.PAIR, found, strict=True)}
    return result


# How sure one may be.


def fit_answers(examples: Sequence[Example], weights: Table) -> dict[str, dict[str, float]]:
    """By script and kind of search: questions that nothing answers weigh as much as the others together. A share of the answers is
    called weak, so that as many as possible of those that are none are."""
    result = {}
    for kind in ("hybrid latin", "hybrid han", "text latin", "text han"):
        rows, right = [], []
        for one in examples:
            if kind != kind_of(one) or not one.found or not one.world.endswith(("-log", "-chat", "-assistant")):
                continue
            order = search_order(one, weights)
            held = {id(statement): names for statement, names in zip(one.found, one.entries, strict=True)}
            answered = any(held[id(statement)] & one.asked.gold for statement in order[:5])
            if answered or one.asked.kind in NOTHING:
                rows.append(rank.sure_features(order, one.total))
                right.append(answered)
        yes = sum(right)
        share = [1 / yes if value else 1 / (len(right) - yes) for value in right]
        found = fit_logistic(rows, right, share, 1e-4)
        least = float(np.quantile((np.array(rows) @ found)[np.array(right)], CALLED_WEAK))
        found[0] += math.log(rank.WEAK / (1 - rank.WEAK)) - least
        result[kind] = {name: round(float(value), 3) for name, value in zip(rank.SURE, found, strict=True)}
    return result


def kind_of(one: Example) -> str:
    return ("text " if one.text_only else "hybrid ") + ("han" if cjk_count(one.asked.text) else "latin")


# How it does.


def search_order(one: Example, weights: Table) -> list[Statement]:
    """The order in which search shows the statements."""
    order = ranked(one, weights["text" if one.text_only else "hybrid"])
    with_weights(weights)
    return rank.supersede(order, one.question, one.weights, one.alike, one.related)


def with_weights(weights: Table) -> None:
    rank.learned = lambda: weights  # type: ignore[assignment]  # what is being learned stands in for the file


def measure(examples: Sequence[Example], weights: Table) -> dict[str, float]:
    counts: dict[str, list[float]] = defaultdict(list)
    for one in examples:
        order = search_order(one, weights) if one.found else []
        held = {id(statement): names for statement, names in zip(one.found, one.entries, strict=True)}
        names = list(dict.fromkeys(name for statement in order[:20] for name in sorted(held[id(statement)])))
        if one.asked.kind in NOTHING:
            sure = rank.confidence(order, one.question, one.total, text_only=one.text_only) if order else 0.0
            counts[f"{one.asked.kind} weak"].append(sure < rank.WEAK)
            continue
        right = [name in one.asked.gold for name in names[:10]]
        if not (one.world.startswith("retrieval/") and one.asked.others):
            for k in (1, 5, 10):
                counts[f"any@{k}"].append(any(right[:k]))
            counts["R@10"].append(sum(right) / len(one.asked.gold))
            if any(right[:5]) and "answers" in weights:
                sure = rank.confidence(order, one.question, one.total, text_only=one.text_only)
                counts["not weak"].append(sure >= rank.WEAK)
        if one.asked.others and one.asked.kind in ("update", "before"):
            new, old = (
                next((at for at, name in enumerate(names) if name in some), 99)
                for some in (one.asked.gold, one.asked.others - one.asked.gold)
            )
            counts[f"{one.asked.kind} first"].append(new < old)
    return {name: 100 * sum(values) / len(values) for name, values in counts.items()} | {"n": len(examples)}


def show(name: str, figures: dict[str, float]) -> None:
    print(f"{name:28}" + "  ".join(f"{key} {value:5.1f}" for key, value in figures.items()), flush=True)


def learn(examples: Sequence[Example]) -> Table:
    tables = {
        text_only: fit_worth([one for one in examples if one.text_only == text_only]) for text_only in (False, True)
    }
    weights: Table = {"hybrid": tables[False], "text": tables[True]}
    weights |= fit_supersedes([one for one in examples if author(one) not in NOT_OF_CHANGES], tables)
    weights["answers"] = fit_answers(examples, weights)
    return weights | {"corpus": digest()}


def author(example: Example) -> str:
    """Worlds of one author, and parts of one public set, are never on both sides."""
    return example.world.split("/")[1].split("-")[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--public", type=Path, help="a folder with public sets to learn from too")
    parser.add_argument("--score", type=Path, help="a folder with sets to score the weights on")
    parser.add_argument("--only", nargs="*", default=[], help="names of the sets to score")
    parser.add_argument("--quick", action="store_true", help="write the weights without scoring each author first")
    args = parser.parse_args()
    if args.score:
        weights = json.loads(WEIGHTS.read_text(encoding="utf-8"))
        for path in sorted(args.score.glob("*.jsonl.gz")):
            if not args.only or path.name.split(".")[0] in args.only:
                show(path.name.split(".")[0], measure(load(path, text_only=False), weights))
        return
    examples = corpus(args.public)
    if not args.quick:
        cross_validate(examples)
    weights = learn(examples)
    WEIGHTS.write_text(json.dumps(weights, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def corpus(public: Path | None) -> list[Example]:
    worlds = sorted((HERE / "recall").glob("*/*.tsv"))
    examples = [one for path in worlds for text_only in (False, True) for one in load(path, text_only=text_only)]
    chats = [path for path in worlds if path.stem.endswith("-chat")]
    examples += [
        one for path in chats for text_only in (False, True) for one in load(path, text_only=text_only, by_session=True)
    ]
    for name in PERMISSIVE if public else ():
        for text_only in (False, True):
            examples += load(Path(str(public)) / f"{name}.jsonl.gz", text_only=text_only)
    return examples


def cross_validate(examples: Sequence[Example]) -> None:
    """Score each author by weights that were learned from the others."""
    by_world: dict[str, list[Example]] = defaultdict(list)
    for name in sorted({author(one) for one in examples}):
        weights = learn([one for one in examples if author(one) != name])
        for one in examples:
            if author(one) == name and not one.text_only:
                by_world[one.world].append(one)
        for world in sorted({one.world for one in examples if author(one) == name}):
            show(world, measure(by_world[world], weights))


if __name__ == "__main__":
    main()
