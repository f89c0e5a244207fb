"""Killed at any moment, nothing is torn, nothing acknowledged is lost, and the next command goes on."""

from __future__ import annotations

import errno
import os
import random
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from nacre.clock import Clock
from nacre.errors import CannotWrite
from nacre.vault import atomic, longterm
from nacre.vault.daily import note
from nacre.vault.history import DONE, NOT_CARRIED_OUT, PARTLY, history
from nacre.vault.markdown import open_document
from nacre.vault.operation import operation
from nacre.vault.rewrite import rewrite
from nacre.vault.undo import undo
from nacre.vault.workspace import Workspace

CALLS = ("open", "write", "fsync", "close", "replace", "rename", "unlink", "mkdir", "ftruncate", "lseek", "fchmod")


def killed_at_random(work: Callable[[Callable[[str], None]], None], kills: int, seed: int) -> list[str]:
    """Everything that children acknowledged before they were killed."""
    chance = random.Random(seed)
    acknowledged: list[str] = []
    for _ in range(kills):
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reader)

            def acknowledge(text: str, writer: int = writer) -> None:
                os.write(writer, f"{text}\n".encode())

            try:
                work(acknowledge)
            finally:
                os._exit(1)
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            seen = [pipe.readline() for _ in range(chance.randrange(1, 4))]
            for _ in range(chance.randrange(0, 20000)):
                pass
            os.kill(pid, signal.SIGKILL)
            seen += pipe.readlines()
        os.waitpid(pid, 0)
        acknowledged += [line.decode().strip() for line in seen if line.endswith(b"\n")]
    return acknowledged


def test_notes_of_killed_processes_are_whole_and_those_acknowledged_are_there_once(
    workspace: Workspace, clock: Clock
) -> None:
    def work(acknowledge: Callable[[str], None]) -> None:
        step = 0
        while True:
            step += 1
            text = f"note {os.getpid()}-{step} " + "x" * (step % 50)
            note(workspace, clock, text)
            acknowledge(text.strip())

    acknowledged = killed_at_random(work, 20, seed=1)
    assert len(acknowledged) >= 20
    data = workspace.day(clock.today()).read_bytes()
    assert data.endswith(b"\n")
    bullets = Counter(line[2:] for line in data.decode().split("\n") if line.startswith("- "))
    assert all(bullets[text] == 1 for text in acknowledged)
    assert set(bullets.values()) == {1}
    assert {line[:2] for line in data.decode().split("\n")} <= {"# ", "##", "- ", ""}
    assert not history(workspace).problems
    undo(workspace, clock, last=10**6)
    assert not workspace.day(clock.today()).exists()


def test_rewrites_of_killed_processes_are_whole_and_acknowledged_ones_stand(workspace: Workspace, clock: Clock) -> None:
    path = workspace.root / "USER.md"
    path.write_bytes(b"0\n" * 3000)

    def work(acknowledge: Callable[[str], None]) -> None:
        while True:
            old = path.read_bytes()
            number = int(old.split(b"\n")[0]) + 1
            with operation(workspace, clock, "edit") as op:
                rewrite(op, path, f"{number}\n".encode() * 3000, read=atomic.digest(old))
            acknowledge(str(number))

    acknowledged = [int(one) for one in killed_at_random(work, 20, seed=2)]
    lines = path.read_bytes().split(b"\n")
    assert len(set(lines[:-1])) == 1
    assert len(lines) == 3001
    assert acknowledged == sorted(set(acknowledged))
    assert int(lines[0]) - acknowledged[-1] in (0, 1)
    rewrite_once(workspace, clock, path, b"end\n")
    assert [one.name for one in workspace.root.iterdir() if one.name.endswith(".tmp")] == []
    undo(workspace, clock, last=10**6)
    assert path.read_bytes() == b"0\n" * 3000


def rewrite_once(workspace: Workspace, clock: Clock, path: Path, data: bytes) -> None:
    with operation(workspace, clock, "edit") as op:
        rewrite(op, path, data, read=atomic.digest(path.read_bytes()))


def fresh(tmp_path: Path, name: str) -> Workspace:
    workspace = Workspace(tmp_path / name)
    workspace.memory.mkdir(parents=True)
    workspace.longterm.write_text("## User Preferences\n- old\n")
    return workspace


def add_entry(workspace: Workspace, clock: Clock) -> None:
    doc = open_document(workspace.longterm)
    longterm.apply(workspace, clock, longterm.plan_add(workspace, workspace.longterm, doc, "new", type="PREF"))


def at_the_call(which: int, happens: Callable[[], None]) -> None:
    """From now on the `which`-th call into the operating system is not made; something else happens."""
    left = which

    def counting(call: Callable[..., object]) -> Callable[..., object]:
        def counted(*given: object, **named: object) -> object:
            nonlocal left
            left -= 1
            if left == 0:
                happens()
            return call(*given, **named)

        return counted

    for name in CALLS:
        setattr(os, name, counting(getattr(os, name)))


@pytest.mark.parametrize("work", [add_entry, lambda workspace, clock: note(workspace, clock, "noted")])
def test_killed_at_every_single_call_the_workspace_is_old_or_new_and_the_next_run_completes_it(
    memory_disk: Path, clock: Clock, in_child: Callable[..., int], work: Callable[[Workspace, Clock], object]
) -> None:
    whole = fresh(memory_disk, "whole")
    before = contents(whole)
    work(whole, clock)
    after = contents(whole)
    which, status = 0, 77
    while status == 77:
        which += 1
        workspace = fresh(memory_disk, str(which))

        def killed(workspace: Workspace = workspace, which: int = which) -> None:
            at_the_call(which, lambda: os._exit(77))
            work(workspace, clock)

        status = in_child(killed)
        now = contents(workspace)
        assert all(now[name] in (before.get(name), after[name]) for name in now)
        recorded = history(workspace)
        assert [problem.kind for problem in recorded.problems] in ([], ["torn line"])
        for one in recorded.operations:
            assert one.state in (DONE, NOT_CARRIED_OUT, PARTLY)
            for change, carried_out in zip(one.changes, one.carried_out, strict=True):
                assert carried_out == (change.path in now and now[change.path] == after[change.path])
        work(workspace, clock)
        assert contents(workspace) == after
        undo(workspace, clock, last=9)
        assert contents(workspace) == before
    assert status == 0
    assert which > 30


def test_a_failure_of_every_single_call_is_an_error_and_leaves_old_or_new(
    memory_disk: Path, clock: Clock, in_child: Callable[..., int]
) -> None:
    old = "## User Preferences\n- old\n"
    which, status = 0, 77
    while status == 77:
        which += 1
        workspace = fresh(memory_disk, str(which))

        def failing(workspace: Workspace = workspace, which: int = which) -> None:
            reached: list[bool] = []

            def happens() -> None:
                reached.append(True)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

            at_the_call(which, happens)
            try:
                add_entry(workspace, clock)
            except CannotWrite:
                raise SystemExit(77) from None
            raise SystemExit(77 if reached else 0)

        status = in_child(failing)
        assert workspace.longterm.read_text() in (old, old + "- new\n")
        assert not list(workspace.root.rglob("*.tmp"))
        add_entry(workspace, clock)
        assert workspace.longterm.read_text() == old + "- new\n"
    assert status == 0
    assert which > 30


def contents(workspace: Workspace) -> dict[str, bytes]:
    """The user's files; one that was just made and is still empty says nothing yet."""
    return {
        path.relative_to(workspace.root).as_posix(): path.read_bytes()
        for path in workspace.root.rglob("*")
        if path.is_file() and path.stat().st_size and ".nacre" not in path.parts and not path.name.endswith(".tmp")
    }
