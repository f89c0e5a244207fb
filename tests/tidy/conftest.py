"""A workspace with old days in it, a clock that stands still, and children that may be killed."""

from __future__ import annotations

import datetime as dt
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.tidy.nights import Nights

from nacre.brain.local.judge import Judge
from nacre.clock import Clock
from nacre.config.settings import Config
from nacre.model import Problem, Workspace
from nacre.tidy import archive, compress
from nacre.tidy.collect import TidyContext
from nacre.vault.history import operation

MOMENT = dt.datetime(2026, 3, 20, 3, 0, 0, tzinfo=dt.UTC)
CALLS = ("open", "write", "fsync", "close", "replace", "rename", "unlink", "mkdir", "ftruncate", "lseek", "fchmod")

Lay = Callable[..., Path]
Tidy = Callable[..., tuple[Problem, ...]]
InChild = Callable[[Callable[[], None]], int]


def room_at(root: Path, config: Config | None = None, moment: dt.datetime = MOMENT) -> TidyContext:
    workspace = Workspace(root)
    workspace.memory.mkdir(parents=True, exist_ok=True)
    workspace.machine.mkdir(mode=0o700, exist_ok=True)
    return TidyContext(workspace, config or Config(), Clock(dt.UTC, moment), judge=lambda: Judge(None))


@pytest.fixture
def room(tmp_path: Path) -> TidyContext:
    return room_at(tmp_path / "ws")


@pytest.fixture
def lay(room: TidyContext) -> Lay:
    """Writes a file of the workspace: a day's log by its date alone."""

    def write(name: str, text: str | bytes) -> Path:
        path = room.workspace.root / (f"memory/{name}.md" if name[0].isdigit() else name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


@pytest.fixture
def nights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Nights:
    """A workspace that is tidied night by night, judged without embedding models."""
    monkeypatch.setenv("NACRE_MODELS_PATH", str(tmp_path / "none"))
    return Nights(tmp_path / "ws")


def tidied(room: TidyContext) -> tuple[Problem, ...]:
    """Both phases as one operation; everything that was left, with the reason."""
    with operation(room, "tidy") as op:
        pressed = compress.plan(room)
        left = compress.apply(room, op, pressed)
        problems: list[Problem] = []
        moves = archive.plan(room, pressed, problems)
        return (*pressed.problems, *left, *problems, *archive.apply(room, op, moves))


@pytest.fixture
def tidy(room: TidyContext) -> Tidy:
    def run(again: TidyContext = room) -> tuple[Problem, ...]:
        return tidied(again)

    return run


def run_in_child(work: Callable[[], None]) -> int:
    """The exit status of a forked child that did the work; 99 when it failed with an error it did not expect."""
    pid = os.fork()
    if pid == 0:
        status = 99
        try:
            work()
            status = 0
        except BaseException:  # noqa: BLE001 - shown, and told by the exit status
            traceback.print_exc(file=sys.stderr)
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def killed_at(which: int, work: Callable[[], object]) -> bool:
    """Whether a child died at its `which`-th call into the operating system, instead of finishing the work."""

    def dying() -> None:
        left = which

        def counting(call: Callable[..., object]) -> Callable[..., object]:
            def counted(*given: object, **named: object) -> object:
                nonlocal left
                left -= 1
                if left == 0:
                    os._exit(77)
                return call(*given, **named)

            return counted

        for name in CALLS:
            setattr(os, name, counting(getattr(os, name)))
        work()

    status = run_in_child(dying)
    assert status in (0, 77)
    return status == 77


def contents(workspace: Workspace) -> dict[str, bytes]:
    """The user's files; one that was just made and is still empty says nothing yet."""
    return {
        path.relative_to(workspace.root).as_posix(): path.read_bytes()
        for path in workspace.root.rglob("*")
        if path.is_file() and path.stat().st_size and ".nacre" not in path.parts and not path.name.endswith(".tmp")
    }
