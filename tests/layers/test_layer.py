"""recalls.jsonl enters refcount.json once, however often that is done."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.layers.helpers import NOW, Layers

from nacre.clock import Clock
from nacre.layers.organise import fold_recalls


@pytest.fixture
def layers(memory_disk: Path) -> Layers:
    return Layers(memory_disk / "ws")


def test_two_recalls_of_one_second_are_two_and_none_is_counted_twice(layers: Layers) -> None:
    layers.put("hot/x.md", age="2h")
    at = layers.ago("1h")
    layers.get("hot/x.md", at)
    layers.get("hot/x.md", at)
    layers.organise()
    layers.organise()
    entry = layers.counts()["hot/x.md"]
    assert (entry["total"], entry["timestamps"]) == (2, [int(at.timestamp())] * 2)


def test_recalls_are_found_by_the_place_where_the_file_lay_and_for_the_summary_too(layers: Layers) -> None:
    layers.put("warm/deep/x.md", age="8d")
    layers.put("gist/deep/x.md", age="8d")
    for hours, place in enumerate(("hot/deep/x.md", "gist/deep/x.md", "hot/deep/x.gist.md", "warm/deep/x.md")):
        layers.get(place, layers.ago(f"{40 + hours}h"))
    for place in ("warm/x.md", "hot/deep/y.md", "warm/deep/x.txt", "elsewhere/deep/x.md"):
        layers.get(place, layers.ago("1h"))
    assert layers.organise().counted == 4
    assert layers.counts()["warm/deep/x.md"]["total"] == 4


def test_a_talk_that_went_on_keeps_the_recalls_of_its_beginning(layers: Layers) -> None:
    began, last = layers.ago("5d"), layers.ago("1h")
    about = f"session:abc | codex | {began:%Y-%m-%d %H:%M} – {last:%Y-%m-%d %H:%M}"
    layers.put("hot/x.md", f"# A talk\n\n{about}\n\nhello\n")
    layers.get("hot/x.md", layers.ago("4d"))
    layers.organise()
    assert layers.counts()["hot/x.md"]["total"] == 1
    assert layers.places() == ["hot/x.md"]


def test_what_has_not_happened_yet_is_not_counted(layers: Layers) -> None:
    layers.put("hot/x.md", age="1h")
    layers.get("hot/x.md", NOW + dt.timedelta(days=1))
    assert not layers.organise().counted
    layers.now += dt.timedelta(days=2)
    assert layers.organise().counted == 1


def test_broken_lines_are_told_and_passed_over(layers: Layers) -> None:
    layers.put("hot/x.md", age="1h")
    layers.workspace.recalls.write_text('{"at": 5}\nnonsense\n', "utf8")
    layers.get("hot/x.md", layers.ago("0.5h"))
    strange = {"at": "one day", "path": "memory_fs/hot/x.md", "id": "", "lines": [1, 2], "via": "get"}
    with layers.workspace.recalls.open("a", encoding="utf8") as file:
        file.write(json.dumps(strange) + "\n")
    report = layers.organise()
    assert report.counted == 1
    assert len(report.notes) == 2


def test_two_entries_of_one_checkpoint_become_one(layers: Layers) -> None:
    layers.put("warm/x.md", "# x\n", age="8d")
    layers.put("gist/x.md", "# short\n", age="8d")
    layers.count({"gist/x.md": {"total": 2, "timestamps": [7]}, "warm/x.md": {"total": 3, "user_marked": True}})
    layers.organise()
    counts = layers.counts()
    assert list(counts) == ["warm/x.md"]
    assert (counts["warm/x.md"]["total"], counts["warm/x.md"]["user_marked"]) == (5, True)


def test_times_that_other_tools_wrote_as_text_are_understood_and_kept(layers: Layers) -> None:
    layers.put("warm/x.md", age="20d")
    at = layers.ago("2d")
    layers.count({"warm/x.md": {"total": 1, "timestamps": [f"{at:%Y-%m-%dT%H:%M:%S}"]}})
    layers.get("warm/x.md", at)
    layers.organise()
    assert layers.places() == ["warm/x.md"]
    assert layers.counts()["warm/x.md"]["timestamps"] == [f"{at:%Y-%m-%dT%H:%M:%S}"]


seconds = st.integers(int(NOW.timestamp()) - 50, int(NOW.timestamp()))


@given(before=st.lists(seconds), asked=st.lists(st.tuples(seconds, st.sampled_from(["get", "recall", "mcp"]))))
def test_folding_again_adds_nothing(before: list[int], asked: list[tuple[int, str]]) -> None:
    clock, told = Clock(dt.UTC, NOW), list(asked)
    entry = {"total": len(before), "timestamps": before}
    once, _ = fold_recalls(entry, told, clock)
    assert fold_recalls(once, told, clock) == (once, False)
    assert once["total"] == len(once["timestamps"])
    assert all(once["timestamps"].count(at) == max(before.count(at), sum(second == at for second, _ in told)) for at in range(
        int(NOW.timestamp()) - 50, int(NOW.timestamp()) + 1
    ))  # fmt: skip
