"""Waiting for what another process does."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


def until(happened: Callable[[], bool], within: float = 300.0) -> None:
    """Come back when it happened; fail when it does not."""
    end = time.monotonic() + within
    pause = threading.Event()
    while not happened():
        assert time.monotonic() < end, "it did not happen"
        pause.wait(0.02)
