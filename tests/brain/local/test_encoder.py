"""The tuned models: how two statements relate, and what is worth keeping."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from nacre.brain.local import encoder
from nacre.brain.local.classifier import read_weights
from nacre.brain.local.judge import Judge
from nacre.brain.local.relation import LABELS, compare_pairs, learned_nearest

sys.path.insert(0, str(Path(__file__).parents[3] / "training"))

import data

TASKS = [(language, task) for language in ("en", "zh") for task in ("keep", "relation")]


@pytest.mark.parametrize(("language", "task"), TASKS)
def test_the_tuned_weights_were_trained_on_this_corpus(language: str, task: str) -> None:
    about, arrays = read_weights(f"{task}-{language}")
    assert about["corpus"] == data.tuned_digest(language, "further" if task == "relation" else task)
    assert arrays["out"].shape[1] == sum(map(len, about["heads"].values()))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_nearest_were_weighed_with_these_models(language: str) -> None:
    assert learned_nearest()[language]["corpus"] == data.weighed_digest(language)


def test_without_models_there_is_no_tuned_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NACRE_MODELS_PATH", str(tmp_path))
    encoder.load.cache_clear()
    assert encoder.load("en", "keep") is None
    encoder.load.cache_clear()


def test_without_models_words_alone_tell_how_statements_relate() -> None:
    judge = Judge(None)
    old, same, other = judge.meant(["Use pnpm, never npm, in every repository"] * 2 + ["Ines plays the cello"])
    labels = [relation.label for relation in compare_pairs([(old, same), (old, other)])]
    assert labels == ["same", "adds"]
    assert set(labels) <= set(LABELS)
