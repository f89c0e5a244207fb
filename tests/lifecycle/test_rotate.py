"""A recall brings a checkpoint back at once."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest
from tests.lifecycle.layers import Layers

from nacre.vault.history import history


@pytest.fixture
def layers(memory_disk: Path) -> Layers:
    return Layers(memory_disk / "ws")


def test_what_is_hot_stays_and_nothing_is_recorded(layers: Layers) -> None:
    layers.put("hot/x.md")
    before = layers.tree()
    assert layers.recall("hot/x.md") == {"memory_fs/hot/x.md": "memory_fs/hot/x.md"}
    assert layers.tree() == before
    assert not history(layers.workspace).operations


def test_a_warm_one_returns_to_hot_and_its_counts_follow(layers: Layers) -> None:
    layers.put("warm/x.md", age="2d")
    layers.count({"warm/x.md": {"total": 4, "mood": "good"}, "other": 1})
    before = layers.tree()
    assert layers.recall("warm/x.md") == {"memory_fs/warm/x.md": "memory_fs/hot/x.md"}
    assert layers.places() == ["hot/x.md"]
    counts = layers.counts()
    assert list(counts) == ["hot/x.md", "other"]
    assert (counts["hot/x.md"]["total"], counts["hot/x.md"]["mood"]) == (4, "good")
    layers.undo()
    assert layers.tree() == before


def test_a_gist_and_its_original_both_return(layers: Layers) -> None:
    layers.put("warm/支付.md", "# 支付\n", age="8d")
    layers.put("gist/支付.md", "# 摘要\n", age="1d")
    assert layers.recall("gist/支付.md") == {"memory_fs/gist/支付.md": "memory_fs/hot/支付.gist.md"}
    assert layers.places() == ["hot/支付.gist.md", "hot/支付.md"]
    layers.now += dt.timedelta(days=1)
    layers.organise()
    assert layers.places() == ["warm/支付.gist.md", "warm/支付.md"]
    layers.now += dt.timedelta(days=7)
    layers.organise()
    assert layers.places() == ["gist/支付.md", "warm/支付.md"]
    assert (layers.folder / "gist/支付.md").read_text("utf8") == "# 摘要\n"


def test_a_forgotten_one_returns_to_warm_is_marked_and_stays_there(layers: Layers) -> None:
    layers.put("forgotten/x.md", age="90d")
    layers.organise()
    before = layers.tree()
    layers.now += dt.timedelta(days=20)
    layers.recall("forgotten/x.md")
    assert layers.places() == ["warm/x.md"]
    entry = layers.counts()["warm/x.md"]
    assert entry["user_marked"] is True
    assert "forgotten" not in entry
    layers.now += dt.timedelta(hours=1)
    layers.organise()  # the recall was answered: it is counted, and does not lift it again
    assert layers.places() == ["warm/x.md"]
    assert layers.counts()["warm/x.md"]["total"] == 1
    layers.undo(2)
    assert layers.tree() == before


def test_a_forgotten_one_that_was_never_counted_is_marked_too(layers: Layers) -> None:
    layers.put("forgotten/x.md", age="90d")
    layers.recall("forgotten/x.md")
    entry = layers.counts()["warm/x.md"]
    assert (entry["user_marked"], entry["created"]) == (True, int(layers.ago("90d").timestamp()))


def test_a_taken_name_is_not_written_over(layers: Layers) -> None:
    layers.put("hot/x.md", "# new\n")
    layers.put("warm/x.md", "# old\n", age="2d")
    assert layers.recall("warm/x.md") == {"memory_fs/warm/x.md": "memory_fs/hot/x-2.md"}
    assert (layers.folder / "hot/x.md").read_text("utf8") == "# new\n"
    assert (layers.folder / "hot/x-2.md").read_text("utf8") == "# old\n"


def test_with_broken_counts_or_a_link_in_the_way_the_answer_stands_and_nothing_moves(
    layers: Layers, memory_disk: Path
) -> None:
    layers.put("warm/x.md", age="2d")
    layers.refcount.write_text("{", "utf8")
    before = layers.tree()
    assert layers.recall("warm/x.md") == {"memory_fs/warm/x.md": "memory_fs/warm/x.md"}
    assert layers.tree() == before
    layers.refcount.unlink()
    (memory_disk / "elsewhere").mkdir()
    (layers.folder / "hot").symlink_to(memory_disk / "elsewhere")
    assert layers.recall("warm/x.md") == {"memory_fs/warm/x.md": "memory_fs/warm/x.md"}
    assert layers.places() == ["warm/x.md"]


def test_several_are_rotated_as_one_operation(layers: Layers) -> None:
    layers.put("warm/a.md", "# a\n", age="2d")
    layers.put("warm/b.md", "# b\n", age="2d")
    before = layers.tree()
    layers.recall("warm/a.md", "warm/b.md")
    assert layers.places() == ["hot/a.md", "hot/b.md"]
    assert [one.command for one in history(layers.workspace).operations] == ["recall"]
    layers.undo()
    assert layers.tree() == before
