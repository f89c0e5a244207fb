"""Slugs of names that hold no letters."""

from __future__ import annotations

from nacre.model import slug_of


def test_names_of_signs_alone_are_told_apart() -> None:
    assert slug_of("🔥🔥") != slug_of("—")
    assert slug_of("") == "unnamed"
