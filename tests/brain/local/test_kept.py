"""Vectors are made once, and whatever the file holds, what comes out is right."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from nacre.brain.local.judge import VectorCache
from nacre.embed.models import ModelId

MODEL = ModelId("little", "0123abcd", 4)
OTHER = ModelId("little", "ffff0000", 4)


class Counting:
    """An embedder that tells which texts it was given."""

    provider = "local"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def models(self) -> tuple[ModelId, ...]:
        return (MODEL,)

    def models_for(self, _text: str) -> tuple[ModelId, ...]:
        return (MODEL,)

    def embed(
        self, model: ModelId, texts: Sequence[str], *, query: bool = False, hurry: bool = False
    ) -> npt.NDArray[np.float32]:
        self.asked += texts
        return np.array([[len(text), ord(text[0]), int(model.hash[:2], 16), 1] for text in texts], np.float32)


def kept_from(path: Path, *texts: str) -> VectorCache:
    kept = VectorCache(path)
    kept.embed(Counting(), MODEL, texts)
    kept.save()
    return VectorCache(path)


def test_what_was_kept_is_not_made_again(tmp_path: Path) -> None:
    again, embedder = kept_from(tmp_path / "v.npz", "one", "两个"), Counting()
    rows = again.embed(embedder, MODEL, ["new", "two", "one", "两个", "new"])
    assert embedder.asked == ["new", "two"]
    assert np.array_equal(rows, Counting().embed(MODEL, ["new", "two", "one", "两个", "new"]))


def test_what_a_later_run_did_not_use_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "v.npz"
    second = kept_from(path, "one", "two")
    second.embed(Counting(), MODEL, ["two", "three"])
    second.save()
    embedder = Counting()
    VectorCache(path).embed(embedder, MODEL, ["one", "two"])
    assert embedder.asked == ["one"]


def test_another_model_s_vectors_are_never_taken(tmp_path: Path) -> None:
    again, embedder = kept_from(tmp_path / "v.npz", "one"), Counting()
    again.embed(embedder, OTHER, ["one"])
    assert embedder.asked == ["one"]


def test_a_night_that_read_nothing_leaves_the_file_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "v.npz"
    kept_from(path, "one")
    before = path.read_bytes()
    VectorCache(path).save()
    assert path.read_bytes() == before


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04 torn", b"not a file of vectors", None])
def test_a_damaged_or_missing_file_costs_only_time(tmp_path: Path, damage: bytes | None) -> None:
    path = tmp_path / "v.npz"
    kept_from(path, "one")
    path.write_bytes(path.read_bytes()[:100] if damage is None else damage)
    embedder = Counting()
    assert VectorCache(path).embed(embedder, MODEL, ["one"]).shape == (1, 4)
    assert embedder.asked == ["one"]
