"""A real workspace on a real disk, a clock that stands still, and children that may be killed."""

from __future__ import annotations

import datetime as dt
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

from nacre.clock import Clock
from nacre.i18n import use_language
from nacre.model.workspace import Workspace

MOMENT = dt.datetime(2026, 2, 10, 14, 5, 7, tzinfo=dt.UTC)

InChild = Callable[[Callable[[], None]], int]


@pytest.fixture(autouse=True)
def _english() -> None:
    use_language("en")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    root = tmp_path / "ws"
    (root / "memory").mkdir(parents=True)
    (root / ".nacre").mkdir(mode=0o700)
    return Workspace(root)


@pytest.fixture
def clock() -> Clock:
    return Clock(dt.UTC, MOMENT)


def run_in_child(work: Callable[[], None]) -> int:
    """The exit status of a forked child that did the work; 99 when it failed with an error it did not expect."""
    pid = os.fork()
    if pid == 0:
        status = 99
        try:
            work()
            status = 0
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 98
        except BaseException:  # noqa: BLE001 - shown, and told by the exit status
            traceback.print_exc(file=sys.stderr)
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.fixture
def in_child() -> InChild:
    return run_in_child
