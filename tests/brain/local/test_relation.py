"""A statement that tells what is given up replaces what names it, or is asked about; it never stands beside it without a word."""

from __future__ import annotations

import numpy as np
import pytest

from nacre.brain.local import relation
from nacre.brain.local.likeness import statement

VECTORS = np.array([1, 0], np.float32), np.array([0.4, 0.9], np.float32)  # of different matters, by their meaning


@pytest.mark.parametrize(
    ("old", "new", "odds", "label"),
    [
        (
            "Use pnpm in this repo, never npm",
            "We switched from pnpm to Bun last weekend",
            (0.0, 0.71, 0.25),
            "replaces",
        ),
        ("Use pnpm in this repo, never npm", "We switched from pnpm to Bun last weekend", (0.0, 0.3, 0.65), "ask"),
        ("Use pnpm in this repo, never npm", "We switched from Jenkins to Actions", (0.0, 0.71, 0.25), "adds"),
        ("依赖管理一律用 pnpm", "上周末从 pnpm 换成 Bun 了", (0.4, 0.28, 0.3), "ask"),
    ],
)
def test_what_is_given_up_by_name(
    monkeypatch: pytest.MonkeyPatch, old: str, new: str, odds: tuple[float, float, float], label: str
) -> None:
    row = [[*odds, 0.02, 0.02]]
    monkeypatch.setattr(relation, "label_odds", lambda pairs, _: np.array(row * len(pairs)) if pairs else None)
    language = "en" if old.isascii() else "zh"
    before, after = (statement(text, language, vector) for text, vector in zip((old, new), VECTORS, strict=True))
    (found,) = relation.compare_pairs([(before, after)], nearby=True)
    assert found.label == label
