"""A statement that tells what is given up replaces what names it, or is asked about; it never stands beside it without a word."""

from __future__ import annotations

import numpy as np
import pytest

from nacre.brain.local import relation
from nacre.brain.local.likeness import statement

VECTORS = np.array([1, 0], np.float32), np.array([0.4, 0.9], np.float32)  # of different matters, by their meaning
BEFORE = "Use pnpm in this repo, never npm"


@pytest.mark.parametrize(
    ("old", "new", "odds", "labels"),
    [
        (BEFORE, "We switched from pnpm to Bun last weekend", (0.0, 0.71, 0.25), {"replaces", "ask"}),
        (BEFORE, "We switched from pnpm to Bun last weekend", (0.0, 0.3, 0.65), {"replaces", "ask"}),
        (BEFORE, "We switched from Jenkins to Actions", (0.0, 0.3, 0.65), {"adds"}),
        ("依赖管理一律用 pnpm", "上周末从 pnpm 换成 Bun 了", (0.4, 0.28, 0.3), {"replaces", "ask"}),
    ],
)
def test_what_is_given_up_by_name(
    monkeypatch: pytest.MonkeyPatch, old: str, new: str, odds: tuple[float, float, float], labels: set[str]
) -> None:
    row = [[*odds, 0.02, 0.02]]
    monkeypatch.setattr(relation, "label_odds", lambda pairs, _: np.array(row * len(pairs)) if pairs else None)
    language = "en" if old.isascii() else "zh"
    before, after = (statement(text, language, vector) for text, vector in zip((old, new), VECTORS, strict=True))
    (found,) = relation.compare_nearest(after, [(0, before)], 0.5)
    assert found.label in labels


def test_the_nearest_of_many_is_meant() -> None:
    """The same odds count for less where another entry is nearer, and a memory of one entry is not taken for one of many."""
    rows = np.array([[0.02, 0.5, 0.44, 0.02, 0.02]] * 2, np.float32)
    weights = relation.nights("en")
    near, far = weights.weigh(relation.night_features(rows, [0.6, 0.3], [0, 1]))
    assert near[1] > far[1]
    alone = relation.night_features(rows[:1], [0.6], [0], weights.mean[[relation.NEXT, relation.RIVAL]])
    assert weights.weigh(alone)[0, 1] < 0.9
