"""Every agent whose transcripts Nacre can read."""

from __future__ import annotations

import importlib

from nacre.sources.transcript import Source

MODULES = ("openclaw.classic", "openclaw.database", "claude", "codex", "cursor.cli", "cursor.ide", "gemini", "opencode")


def sources() -> tuple[Source, ...]:
    """The sources, in the order in which they are asked. Importing them all costs little: they hold only functions."""
    found: list[Source] = []
    for name in MODULES:
        source = importlib.import_module(f"nacre.sources.{name}").SOURCE
        assert isinstance(source, Source)
        found.append(source)
    return tuple(found)
