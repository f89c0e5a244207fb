"""A store that is closed again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store(tmp_path)
    yield made
    made.close()
