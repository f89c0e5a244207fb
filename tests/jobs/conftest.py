"""A machine of its own for each test."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest
from tests.jobs.standins import World, world

from nacre.clock import Clock

NOW = dt.datetime(2026, 3, 20, 12, 0, tzinfo=dt.UTC)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A workspace, and a machine that has no scheduler yet."""
    monkeypatch.setenv("HOME", str(tmp_path / "machine" / "home"))
    return world(tmp_path / "machine", tmp_path / "workspace", Clock(dt.UTC, NOW))
