"""Killed at any moment, or run eight times at once: afterwards the logs are those of one undisturbed run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.capture.talks import Desk

from nacre.capture import sync as syncing
from nacre.vault.storage import Disk, read_rows

CALLS = (
    "open",
    "write",
    "replace",
    "unlink",
    "mkdir",
    "ftruncate",
)  # those after which something else stands on the disk
EIGHT = 8
RUN = """
import sys
from pathlib import Path
from tests.capture.talks import Desk
sys.stdin.read()
Desk(Path(sys.argv[1])).sync("2026-03-04 12:00")
"""


def talk(desk: Desk) -> None:
    """A talk that was captured yesterday and went on, one over three days, and others between them."""
    desk.claude(("2026-03-02 09:00", "user", "a1"), ("2026-03-02 09:05", "user", "a2"), session="aaaaaaaa-1")
    desk.sync("2026-03-02 10:00")
    desk.claude(
        ("2026-03-02 22:00", "user", "b1"),
        ("2026-03-03 10:00", "user", "b2"),
        ("2026-03-03 10:05", "user", "b3"),
        ("2026-03-04 09:00", "user", "b4"),
        session="bbbbbbbb-1",
    )
    for number, name in enumerate("cdef"):
        said = [(f"2026-03-0{2 + number % 2} {hour}:{number:02}", "user", f"{name}{hour}") for hour in (12, 14)]
        desk.claude(*said, session=f"{name * 8}-1")
    desk.claude(("2026-03-03 11:00", "user", "a3"), ("2026-03-03 11:05", "user", "a4"), session="aaaaaaaa-1")


def killed(work: Callable[[], object], after: int) -> int:
    """The exit status of a child that dies, without a word, at one of its calls into the operating system: 77."""
    pid = os.fork()
    if pid == 0:
        left = after

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
        status = 99
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.mark.parametrize("batch", [pytest.param(40, marks=pytest.mark.long), 3])
def test_killed_at_every_single_call_a_run_is_completed_by_the_next_to_the_very_byte(
    disk: Path, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    monkeypatch.setattr(syncing, "BATCH", batch)
    ready, expected = _prepared(disk)
    trail = _trail(Desk(disk / "desk"))
    points, status = 0, 77
    while status == 77:
        points += 1
        desk = _back_to(ready, disk)
        status = killed(lambda desk=desk: desk.sync("2026-03-04 12:00"), points)  # type: ignore[misc]
        assert status in (77, 0)
        desk.sync("2026-03-04 12:00")
        assert desk.logs() == expected, f"killed at call {points}"
        assert _trail(desk) == trail, f"killed at call {points}"
        assert not list(desk.workspace.root.rglob("*.tmp"))
        assert not read_rows(Disk(desk.workspace), ".nacre/history/operations.jsonl").problems
    assert points > 80
    assert desk.sync("2026-03-04 12:00").sections == ()


def test_killed_over_and_over_a_run_comes_through_in_the_end(disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(syncing, "BATCH", 3)
    ready, expected = _prepared(disk)
    for step in (31, 37, 43):
        desk = _back_to(ready, disk)
        allowed = step
        while killed(lambda desk=desk: desk.sync("2026-03-04 12:00"), allowed) == 77:  # type: ignore[misc]
            allowed += 1  # a run that dies at the same call for ever gets nowhere
        assert desk.logs() == expected


def test_eight_processes_at_once_write_what_one_writes(disk: Path) -> None:
    ready, expected = _prepared(disk)
    one = Desk(disk / "desk")
    cursors, trail = one.workspace.cursors.read_bytes(), _trail(one)
    many = _back_to(ready, disk)
    env = {**os.environ, "HOME": str(many.home), "PYTHONPATH": os.pathsep.join(("src", "."))}
    command = [sys.executable, "-c", RUN, str(many.home)]
    running = [subprocess.Popen(command, stdin=subprocess.PIPE, env=env) for _ in range(EIGHT)]
    for process in running:
        assert process.stdin
        process.stdin.close()
    assert [process.wait() for process in running] == [0] * EIGHT
    assert many.logs() == expected
    assert _trail(many) == trail
    assert many.workspace.cursors.read_bytes() == cursors


def _prepared(disk: Path) -> tuple[Path, dict[str, str]]:
    """A desk before a run, put aside, and the logs of an undisturbed one."""
    desk, aside = Desk(disk / "desk"), disk / "aside"
    talk(desk)
    shutil.copytree(desk.home, aside)  # with the times of its files
    desk.sync("2026-03-04 12:00")
    assert len(desk.headings()) == 8  # of nine: the last day's lone remark still waits
    return aside, desk.logs()


def _trail(desk: Desk) -> list[str]:
    return sorted(desk.workspace.trail.read_text("utf8").splitlines())


def _back_to(ready: Path, disk: Path) -> Desk:
    shutil.rmtree(disk / "desk")
    shutil.copytree(ready, disk / "desk")
    return Desk(disk / "desk")
