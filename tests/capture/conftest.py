"""A machine of one's own for each test."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.capture.talks import Desk


@pytest.fixture
def disk() -> Iterator[Path]:
    """A folder where fsync costs nothing, where there is one."""
    place = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=place, prefix="nacre-test-") as folder:
        yield Path(folder)


@pytest.fixture
def desk(disk: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("HOME", str(disk))
    return Desk(disk)
