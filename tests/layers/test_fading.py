"""What fades next, and bringing it back."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path

import pytest
from tests.layers.helpers import NOW, Layers

from nacre.errors import NotFound
from nacre.layers.fading import Fading, bring_back, read_layers


def fading(layers: Layers, layer: str = "warm") -> dict[str, Fading]:
    return {one.title: one for one in read_layers(layers.context, layer, 0, 30, 30).next}


def test_what_is_said_to_fade_next_is_what_organise_does_then_and_not_before(tmp_path: Path) -> None:
    layers = Layers(tmp_path)
    for name, age in (
        ("new", dt.timedelta(hours=1)),
        ("week", dt.timedelta(days=6)),
        ("old", dt.timedelta(days=13, hours=-1)),
    ):
        at = f"{NOW - age:%Y-%m-%d-%H%M}"
        layers.put(f"hot/{at}-{name}.md", f"# {name}\n\nwords\n")
    layers.organise()
    assert {title: one.layer for title, one in fading(layers).items()} == {"new": "hot", "week": "warm", "old": "gist"}
    assert list(fading(layers)) == ["new", "week", "old"]  # in two hours, in a day, an hour later
    for title, one in fading(layers).items():
        assert one.at is not None
        assert one.why
        then = dt.datetime.fromisoformat(one.at)
        before = fading(replace(layers, now=then - dt.timedelta(minutes=1)))[title]
        assert (before.layer, before.next, before.at) == (one.layer, one.next, one.at)
        steps = replace(layers, now=then).organise(dry_run=True).steps
        moved = [step for step in steps if title in step.path]
        assert moved
        assert one.why in moved[0].reason
        assert not [
            step
            for step in replace(layers, now=then - dt.timedelta(minutes=1)).organise(dry_run=True).steps
            if title in step.path
        ]


def test_one_that_is_brought_back_is_young_again_and_can_be_sent_back(tmp_path: Path) -> None:
    layers = Layers(tmp_path)
    layers.put(f"hot/{NOW - dt.timedelta(days=20):%Y-%m-%d}-old.md", "# old\n\nwords\n")
    layers.organise()
    (one,) = read_layers(layers.context, "forgotten", 0, 30, 30).checkpoints
    assert (one.layer, one.next, one.recalls) == ("forgotten", None, 0)
    moved = bring_back(layers.context, one.path)
    assert moved.startswith("memory_fs/warm/")
    layers.organise()
    (back,) = read_layers(layers.context, "warm", 0, 30, 30).checkpoints
    assert (back.path, back.recalls, back.marked) == (moved, 1, True)
    with pytest.raises(NotFound):
        bring_back(layers.context, one.path)
    with pytest.raises(NotFound):
        bring_back(layers.context, "memory_fs/warm/../../MEMORY.md")
