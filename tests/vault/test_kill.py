"""Killed at any moment, nothing is torn, nothing acknowledged is lost, and the next command goes on."""

from __future__ import annotations

import os
import random
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from nacre import disk
from nacre.clock import Clock
from nacre.config.settings import Config
from nacre.model import Context, Workspace
from nacre.vault.daily import append_note
from nacre.vault.history import operation
from nacre.vault.storage import Disk, read_rows
from nacre.vault.undo import undo
from nacre.vault.writing import rewrite


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
            append_note(Context(workspace, Config(), clock), text)
            acknowledge(text.strip())

    acknowledged = killed_at_random(work, 20, seed=1)
    assert len(acknowledged) >= 20
    data = workspace.day(clock.today()).read_bytes()
    assert data.endswith(b"\n")
    bullets = Counter(line[2:] for line in data.decode().split("\n") if line.startswith("- "))
    assert all(bullets[text] == 1 for text in acknowledged)
    assert set(bullets.values()) == {1}
    assert {line[:2] for line in data.decode().split("\n")} <= {"# ", "##", "- ", ""}
    assert not read_rows(Disk(workspace), ".nacre/history/operations.jsonl").problems
    undo(Context(workspace, Config(), clock), last=10**6)
    assert not workspace.day(clock.today()).exists()


def test_rewrites_of_killed_processes_are_whole_and_acknowledged_ones_stand(workspace: Workspace, clock: Clock) -> None:
    path = workspace.root / "USER.md"
    path.write_bytes(b"0\n" * 3000)

    def work(acknowledge: Callable[[str], None]) -> None:
        while True:
            old = path.read_bytes()
            number = int(old.split(b"\n")[0]) + 1
            with operation(Context(workspace, Config(), clock), "edit") as op:
                rewrite(op, path, f"{number}\n".encode() * 3000, read=disk.digest(old))
            acknowledge(str(number))

    acknowledged = [int(one) for one in killed_at_random(work, 20, seed=2)]
    lines = path.read_bytes().split(b"\n")
    assert len(set(lines[:-1])) == 1
    assert len(lines) == 3001
    assert acknowledged == sorted(set(acknowledged))
    assert int(lines[0]) - acknowledged[-1] in (0, 1)
    rewrite_once(workspace, clock, path, b"end\n")
    assert [one.name for one in workspace.root.iterdir() if one.name.endswith(".tmp")] == []
    undo(Context(workspace, Config(), clock), last=10**6)
    assert path.read_bytes() == b"0\n" * 3000


def rewrite_once(workspace: Workspace, clock: Clock, path: Path, data: bytes) -> None:
    with operation(Context(workspace, Config(), clock), "edit") as op:
        rewrite(op, path, data, read=disk.digest(path.read_bytes()))
