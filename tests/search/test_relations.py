"""Entries are compared with those like them when they are indexed, so that a search knows which of them holds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.conftest import FakeEmbedder
from tests.search.conftest import lay_out
from tests.search.test_statements import log, longterm, said

from nacre.memory import Memory
from nacre.search.relations import LONGEST, Odds, relate

OLD = "The Friday market stall of Mrs Ansah sells the barley bread"
NEW = "The barley bread stall of Mrs Ansah was given up, we bake it at home"
FURTHER = "The Friday market opens at seven, and the stalls close at noon"


class Compare:
    """Not a model: what replaces what is told beforehand. Notes which pairs it was asked about."""

    def __init__(self, *replaces: tuple[str, str]) -> None:
        self.replaces = replaces
        self.asked: list[tuple[str, str]] = []

    def __call__(self, pairs: Sequence[tuple[str, str]]) -> list[Odds]:
        self.asked += pairs
        return [Odds(0.02, 0.95, 0.03) if pair in self.replaces else Odds(0.02, 0.03, 0.95) for pair in pairs]


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    lay_out(
        tmp_path, log("2026-02-05", OLD, "Otto slept all day") | log("2026-02-09", NEW) | log("2026-02-11", FURTHER)
    )
    return Memory.open(tmp_path, embedder=FakeEmbedder())


def related(memory: Memory, compare: Compare, most: int = 100) -> int:
    memory.embed()
    keeper, meaning = memory.indexes.memory
    return relate(keeper.store, meaning.scanner, compare, most)


def test_each_entry_is_compared_once_with_older_ones_like_it(memory: Memory) -> None:
    compare = Compare((OLD, NEW))
    assert related(memory, compare) == 4
    assert (OLD, NEW) in compare.asked
    assert (OLD, FURTHER) in compare.asked
    assert (NEW, OLD) not in compare.asked
    assert not any("Otto" in text for pair in compare.asked for text in pair)
    assert related(memory, again := Compare()) == 0
    lay_out(memory.workspace.root, log("2026-02-12", "Mrs Ansah sells barley bread at the Friday market again"))
    assert related(memory, again) == 1
    assert {older for older, _ in again.asked} == {OLD, NEW, FURTHER}


def test_what_an_entry_replaces_stands_below_it_although_it_fits_better(memory: Memory) -> None:
    asked = "where does the barley bread stall of Mrs Ansah sell?"
    assert said(memory.ask(asked, now="2026-03-01").hits)[0] == OLD
    related(memory, Compare((OLD, NEW)))
    assert said(memory.ask(asked, now="2026-03-01").hits)[:2] == [NEW, OLD]
    assert said(memory.ask(asked, now="2026-03-01", mode="text").hits)[0] == NEW
    assert said(memory.ask(asked, now="2026-02-06").hits)[0] == OLD  # nobody knew


def test_what_is_known_stays_when_the_log_is_archived(memory: Memory) -> None:
    related(memory, Compare((OLD, NEW)))
    root = memory.workspace.root
    (root / "memory/archive/2026").mkdir(parents=True)
    (root / "memory/2026-02-05.md").rename(root / "memory/archive/2026/2026-02-05.md")
    assert related(memory, compare := Compare()) == 2
    assert compare.asked == []


def test_questions_long_entries_and_copies_are_not_compared(tmp_path: Path) -> None:
    long = f"{OLD}, " + " ".join(f"loaf{number}" for number in range(LONGEST))
    lay_out(
        tmp_path, longterm(OLD) | log("2026-02-05", OLD, long) | log("2026-02-09", "Where does Mrs Ansah sell bread?")
    )
    related(Memory.open(tmp_path, embedder=FakeEmbedder()), compare := Compare())
    assert compare.asked == []


def test_of_many_only_the_newest_are_compared(memory: Memory) -> None:
    assert related(memory, compare := Compare(), most=1) == 1
    assert {newer for _, newer in compare.asked} == {FURTHER}
    assert related(memory, compare) == 0
