"""The corpus is what the classifiers were trained on: enough of it, well formed, and not changed since."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest

from nacre.brain.local import classifier
from nacre.search import rank

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "training"))

import data  # noqa: E402 - the folder is no package: its files are run, not installed
import worlds  # noqa: E402

LANGUAGES = ("en", "zh")


@pytest.mark.parametrize("language", LANGUAGES)
def test_there_is_enough_of_everything(language: str) -> None:
    statements = data.statements(language)
    assert len(statements) >= 2000
    assert len(data.pairs(language)) >= 500
    assert len(data.dialogues(language)) >= 120
    for label in ("type", "act"):
        counts = Counter(getattr(row, label) for row in statements)
        assert min(counts.values()) >= 80, counts
    assert len({row.hand for row in statements}) >= 4


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_statement_stands_twice(language: str) -> None:
    texts = [row.text.casefold() for row in data.statements(language)]
    assert [text for text, count in Counter(texts).items() if count > 1] == []


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("variant", ["full", "bare"])
def test_the_weights_were_trained_on_this_corpus(language: str, variant: str) -> None:
    assert classifier.load(language, variant).corpus == data.digest(language)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_dialogue_has_three_to_ten_marks(language: str) -> None:
    for dialogue in data.dialogues(language):
        marks = [mark for turn in dialogue.turns for mark in turn.marks if mark.type != "NEVER"]
        assert 3 <= len(marks) <= 10, dialogue.id


@pytest.mark.parametrize("world", sorted((ROOT / "training" / "recall").glob("*/*.tsv")), ids=lambda path: path.stem)
def test_the_questions_of_a_world_name_entries_that_it_has(world: Path) -> None:
    entries, kept, asked = worlds.read(world)
    assert len(entries) >= 80
    assert all(set(ids.split(",")) <= set(entries) for _, ids, _ in kept)
    assert [one for one in asked if not one.gold | one.others <= set(entries)] == []
    assert [one for one in asked if bool(one.gold) == (one.kind == "none")] == []
    assert [one for one in asked if one.kind in ("update", "before") and not one.others] == []


def test_search_was_trained_on_these_worlds() -> None:
    assert rank.learned()["corpus"] == worlds.digest()
