"""An undo that is stopped: run again it goes on under its own number, and ends where an undo in peace ends."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.faults import calls as faults
from tests.faults.calls import FULL, KILLED, TORN
from tests.tidy.nights import JEST, RULE, VITEST, Nights

from nacre import disk
from nacre.clock import Clock
from nacre.config.settings import Config
from nacre.errors import CannotWrite, NacreError, PartlyDone, cannot_write
from nacre.model import Context, Workspace
from nacre.vault.history import read_history
from nacre.vault.storage import Disk
from nacre.vault.undo import undo as taken_back


@pytest.fixture
def nights(memory_disk: Path, monkeypatch: pytest.MonkeyPatch) -> Nights:
    """A night that pressed a week, archived a log, made entries and superseded one, after a note of the same day."""
    monkeypatch.setenv("NACRE_MODELS_PATH", str(memory_disk / "none"))
    nights = Nights(memory_disk / "ws")
    nights.entries(JEST, source={"day": "2026-02-01", "session": "aaaaaaaa", "bullet": "12345678"})
    nights.log("2026-03-03", "The shop api moved to v2 and 41 tests pass")
    nights.log("2026-03-19", RULE, VITEST)
    with nights.memory(time="01:00:00") as memory:
        memory.remember("The ferry leaves at nine")
    nights.tidy()
    assert RULE in nights.kept()
    assert (nights.root / "memory/archive/2026/2026-03-03.md").exists()
    return nights


def undo(nights: Nights, **which: int) -> None:
    clock = Clock(dt.UTC, dt.datetime(2026, 3, 20, 4, tzinfo=dt.UTC))
    taken_back(Context(Workspace(nights.root), Config(), clock), number=which.get("number"), last=which.get("last", 1))


def files(nights: Nights) -> dict[str, bytes]:
    """Every byte of the user's."""
    return {
        name: path.read_bytes()
        for path in nights.root.rglob("*")
        if path.is_file() and not (name := path.relative_to(nights.root).as_posix()).startswith(".nacre/")
    }


def past(nights: Nights) -> list[tuple[int, str, str]]:
    return [(one.id, one.command, one.state) for one in read_history(Workspace(nights.root)).operations]


def exit_code(work: Callable[[], None]) -> Callable[[], int]:
    def run() -> int:
        try:
            work()
        except (CannotWrite, PartlyDone):
            return 3
        return 0

    return run


can_alter = pytest.mark.skipif(faults.only_kills() is not None, reason=str(faults.only_kills()))


@can_alter
@pytest.mark.parametrize(
    ("fault", "which"), [(KILLED, {"last": 2}), (TORN, {"last": 2}), (FULL, {}), (TORN, {"number": 3})]
)
def test_an_undo_stopped_at_any_call_and_run_again_equals_an_undo_in_peace(
    nights: Nights, fault: str, which: dict[str, int]
) -> None:
    root, start = nights.root, nights.root.with_name("start")
    before = files(nights)
    shutil.copytree(root, start)
    undo(nights, **which)
    in_peace, told = files(nights), past(nights)
    at, reached, stopped = 0, True, 0
    while reached:
        at += 1
        shutil.rmtree(root)
        shutil.copytree(start, root)
        ran = faults.run(exit_code(lambda: undo(nights, **which)), fault, at)
        reached = ran.reached
        if ran.status == 0:
            continue
        if read_history(Workspace(root)).operations[-1].finished and past(nights) == told:
            assert files(nights) == in_peace  # it had said that it was done: only its process had still to end
            continue
        stopped += 1
        undo(nights, **which)
        assert files(nights) == in_peace, at
        number = past(nights)[-1][0]
        assert past(nights)[-1] == (number, "undo", "done")
        if number == told[-1][0]:
            assert past(nights) == told
        undo(nights, number=number)
        assert files(nights) == before, at
    assert stopped > 5


def test_an_undo_of_tidying_that_fails_half_way_goes_on_when_the_trouble_is_over(
    nights: Nights, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, start = nights.root, nights.root.with_name("start")
    before = files(nights)
    shutil.copytree(root, start)
    undo(nights)
    in_peace = files(nights)
    for broken in sorted(name for name in in_peace.keys() | before.keys() if in_peace.get(name) != before.get(name)):
        shutil.rmtree(root)
        shutil.copytree(start, root)
        with monkeypatch.context() as patched:
            for name in ("replace", "rename", "unlink", "ftruncate"):
                patched.setattr(os, name, _failing(getattr(os, name), root / broken))
            patched.setattr(disk, "rename", _failing(disk.rename, root / broken))
            with contextlib.suppress(NacreError):
                undo(nights)
        undo(nights)
        assert files(nights) == in_peace, broken
        undo(nights, number=past(nights)[-1][0])
        assert files(nights) == before, broken


def _failing(call: Callable[..., object], path: Path) -> Callable[..., object]:
    def fails(*given: object, **named: object) -> object:
        if any(isinstance(one, str | os.PathLike) and os.fspath(one) == str(path) for one in given):
            raise cannot_write(path, OSError(5, os.strerror(5)))
        return call(*given, **named)

    return fails


def test_an_undo_that_an_earlier_version_left_blocked_by_its_own_line_goes_on(nights: Nights) -> None:
    """It noted what had left memory behind the record, in a trail that it had still to put back."""
    undo(nights)
    in_peace = files(nights)
    operations = nights.root / ".nacre/history/operations.jsonl"
    lines = operations.read_text("utf8").splitlines(keepends=True)
    (change,) = [one for one in json.loads(lines[-2])["changes"] if one["path"] == "memory/trail.jsonl"]
    operations.write_text("".join(lines[:-1]), "utf8")  # it never said that it was done
    trail = nights.root / "memory/trail.jsonl"
    note = b'{"day":"2026-03-20","offered":["undone:0123456789"]}\n'
    trail.write_bytes(Disk(Workspace(nights.root)).content(change["before"]) + note)
    undo(nights)
    assert files(nights) == in_peace | {"memory/trail.jsonl": in_peace["memory/trail.jsonl"] + note}
    assert past(nights)[-1] == (4, "undo", "done")
