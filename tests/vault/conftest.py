"""A real workspace on a real disk, a clock that stands still, and children that may be killed."""

from __future__ import annotations

import datetime as dt
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.storage import Dictionary, memories

from nacre.clock import Clock
from nacre.i18n import use_language
from nacre.model import Workspace

MOMENT = dt.datetime(2026, 2, 10, 14, 5, 7, tzinfo=dt.UTC)

InChild = Callable[[Callable[[], None]], int]


@pytest.fixture(autouse=True)
def _english() -> None:
    use_language("en")


# The behaviour of the vault is the same over every storage; a test that is about disks has the mark `on_disk`.
ON_EVERY_STORAGE = {
    f"test_{name}"
    for name in (
        *(
            "checkpoints",
            "daily",
            "history",
            "ledger",
            "longterm",
            "overtaken",
            "problems",
            "provenance",
            "refcount",
            "review",
            "snapshots",
        ),
        *("undo", "undo_meanwhile", "wal", "weekly", "working", "writing_append", "writing_batch", "writing_rewrite"),
    )
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    on_disk = metafunc.definition.get_closest_marker("on_disk")
    if (
        "workspace" in metafunc.fixturenames
        and not on_disk
        and metafunc.module.__name__.split(".")[-1] in ON_EVERY_STORAGE
    ):
        metafunc.parametrize("workspace", ["disk", "dictionary"], indirect=True)


@pytest.fixture
def workspace(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Workspace]:
    root = tmp_path / "ws"
    if getattr(request, "param", "disk") == "dictionary":
        memories[root] = Dictionary()
        yield Workspace(root, memories[root])
        del memories[root]
        assert not root.exists(), "something went past the storage"
        return
    (root / "memory").mkdir(parents=True)
    (root / ".nacre").mkdir(mode=0o700)
    yield Workspace(root)


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
