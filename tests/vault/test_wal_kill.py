"""Working memory under real faults: killed at every system call that changes a file, torn, on a full disk."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.vault import faults

from nacre.cli.main import run
from nacre.clock import Clock
from nacre.vault.history import DONE, NOT_CARRIED_OUT, PARTLY, history
from nacre.vault.undo import undo
from nacre.vault.workspace import Workspace

NOW = "2026-02-10T14:05:07+00:00"
DECISION = "chose PostgreSQL over MySQL"
OWN = (
    "# Session State\r\n<!-- day: 2026-02-10 -->\r\n## Recent Decisions\r\n- [09:00] first\r\n\r\n## My own\r\nkept\r\n"
)
FULL = "# Session State\n<!-- day: 2026-02-09 -->\n## Recent Decisions\n" + "".join(
    f"- [08:{minute:02}] decision number {minute}\n" for minute in range(20)
)

can_kill = pytest.mark.skipif(faults.missing() is not None, reason=str(faults.missing()))
can_alter = pytest.mark.skipif(faults.only_kills() is not None, reason=str(faults.only_kills()))
STARTS = pytest.mark.parametrize(
    "start", [None, OWN, FULL], ids=["no file yet", "a file of the user's", "one decision too many"]
)


def decide(root: Path) -> int:
    return run(["--workspace", str(root), "--now", NOW, "wal", "decide", DECISION])


def made(place: Path, start: str | None) -> Workspace:
    workspace = Workspace(place)
    workspace.memory.mkdir(parents=True)
    workspace.machine.mkdir(mode=0o700)
    if start is not None:
        workspace.state.write_bytes(start.encode())
    return workspace


def contents(workspace: Workspace) -> dict[str, bytes]:
    """The user's files; one that was just made and is still empty says nothing yet."""
    files = [path for path in workspace.root.rglob("*") if path.is_file() and ".nacre" not in path.parts]
    return {path.name: path.read_bytes() for path in files if path.stat().st_size and path.suffix != ".tmp"}


@pytest.fixture
def new(memory_disk: Path, start: str | None, capsys: pytest.CaptureFixture[str]) -> dict[str, bytes]:
    """The files as the command leaves them when nothing goes wrong."""
    whole = made(memory_disk / "whole", start)
    assert decide(whole.root) == 0
    assert DECISION.encode() in whole.state.read_bytes()
    return contents(whole)


@can_kill
@STARTS
def test_killed_before_any_call_the_state_is_the_old_or_the_new_one_and_the_next_run_completes_it(
    memory_disk: Path, clock: Clock, start: str | None, new: dict[str, bytes]
) -> None:
    def afterwards(workspace: Workspace, old: dict[str, bytes], outcome: faults.Outcome) -> None:
        now = contents(workspace)
        assert all(data in (old.get(name), new[name]) for name, data in now.items())
        if DECISION in outcome.printed or outcome.status == 0:
            assert now == new
        check_history(workspace, now, new)
        assert decide(workspace.root) == 0
        assert contents(workspace) == new
        assert not list(workspace.root.rglob("*.tmp"))
        undo(workspace, clock, last=99)
        assert contents(workspace) == old

    calls = at_every_call(memory_disk, start, faults.KILLED, afterwards)
    assert calls > 20


@can_alter
@STARTS
def test_killed_in_the_middle_of_any_write_the_state_is_never_half(
    memory_disk: Path, clock: Clock, start: str | None, new: dict[str, bytes]
) -> None:
    def afterwards(workspace: Workspace, old: dict[str, bytes], _outcome: faults.Outcome) -> None:
        now = contents(workspace)
        assert now.get("SESSION-STATE.md") in (old.get("SESSION-STATE.md"), new["SESSION-STATE.md"])
        assert [one.kind for one in history(workspace).problems] in ([], ["torn line"])
        assert decide(workspace.root) == 0
        assert contents(workspace)["SESSION-STATE.md"] == new["SESSION-STATE.md"]
        for name in new.keys() - {
            "SESSION-STATE.md"
        }:  # a log is only added to: half a line may stay, the whole one is there
            assert set(new[name].split(b"\n")) <= set(contents(workspace)[name].split(b"\n"))

    assert at_every_call(memory_disk, start, faults.TORN, afterwards) > 5


@can_alter
@STARTS
def test_on_a_disk_that_is_full_from_any_call_on_nothing_is_lost_and_the_next_run_completes_it(
    memory_disk: Path, clock: Clock, start: str | None, new: dict[str, bytes]
) -> None:
    def afterwards(workspace: Workspace, old: dict[str, bytes], outcome: faults.Outcome) -> None:
        now = contents(workspace)
        assert all(data in (old.get(name), new[name]) for name, data in now.items())
        assert outcome.status in (0, 1)
        assert (now.get("SESSION-STATE.md") == new["SESSION-STATE.md"]) == (outcome.status == 0)
        assert (DECISION in outcome.printed) == (outcome.status == 0)
        assert not list(workspace.root.rglob("*.tmp"))
        assert decide(workspace.root) == 0
        assert contents(workspace) == new
        undo(workspace, clock, last=99)
        assert contents(workspace) == old

    assert at_every_call(memory_disk, start, faults.FULL, afterwards) > 5


@can_alter
def test_the_faults_do_find_a_writer_that_leaves_halves(memory_disk: Path) -> None:
    path = memory_disk / "careless.md"
    seen: set[tuple[str, str]] = set()

    def careless() -> int:
        try:
            path.write_bytes(b"new words")
        except OSError:
            return 1
        return 0

    for fault in (faults.KILLED, faults.TORN, faults.FULL):
        at, reached = 0, True
        while reached:
            at += 1
            path.write_bytes(b"old")
            reached = faults.run(careless, fault, at).reached
            seen.add((fault, path.read_text()))
    assert seen == {
        *((faults.KILLED, text) for text in ("old", "", "new words")),
        *((faults.TORN, text) for text in ("new ", "new words")),
        *((faults.FULL, text) for text in ("old", "", "new words")),
    }


def at_every_call(
    place: Path,
    start: str | None,
    fault: str,
    afterwards: Callable[[Workspace, dict[str, bytes], faults.Outcome], None],
) -> int:
    """Run the command once for each of its calls, with the fault there; how many there were."""
    at, reached = 0, True
    while reached:
        at += 1
        workspace = made(place / str(at), start)
        old = contents(workspace)
        outcome = faults.run(lambda root=workspace.root: decide(root), fault, at)  # type: ignore[misc]
        reached = outcome.reached
        assert reached or outcome.status == 0
        afterwards(workspace, old, outcome)
        shutil.rmtree(workspace.root)
    return at - 1


def check_history(workspace: Workspace, now: dict[str, bytes], new: dict[str, bytes]) -> None:
    """What is recorded as carried out is to be seen in the files, and nothing else is."""
    recorded = history(workspace)
    assert [one.kind for one in recorded.problems] in ([], ["torn line"])
    for one in recorded.operations:
        assert one.state in (DONE, PARTLY, NOT_CARRIED_OUT)
        for change, carried_out in zip(one.changes, one.carried_out, strict=True):
            name = os.path.basename(change.path)
            assert carried_out == (now.get(name) == new[name])
