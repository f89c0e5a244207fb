"""Editing a daily log in place: whoever holds it open loses nothing, and a kill leaves nothing torn."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from tests.faults import calls as faults
from tests.faults.calls import KILLED, TORN

from nacre import disk
from nacre.clock import Clock
from nacre.config.settings import Config
from nacre.disk import lock
from nacre.errors import CannotWrite
from nacre.model import Context, Workspace
from nacre.vault.history import operation
from nacre.vault.writing import rewrite

BEFORE = b"# 2026-02-10\n\n## 09:00 note\n- one\n- two\n- three\n"
SHORTER = BEFORE.replace(b"- two\n", b"")
LONGER = BEFORE.replace(b"- two\n", b"- [TECH] two, and what follows from it\n")
LATE = b"- late\n"


@pytest.fixture
def log(workspace: Workspace, clock: Clock) -> Path:
    path = workspace.day(clock.today())
    path.write_bytes(BEFORE)
    return path


@pytest.fixture
def hand(log: Path) -> Iterator[int]:
    """An agent that opened the log before, and writes into it later."""
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND)
    yield descriptor
    os.close(descriptor)


@pytest.mark.parametrize("after", [SHORTER, LONGER])
def test_a_line_written_by_an_open_hand_after_a_log_was_edited_stands_in_it(
    workspace: Workspace, clock: Clock, log: Path, hand: int, after: bytes
) -> None:
    with operation(Context(workspace, Config(), clock), "forget") as op:
        rewrite(op, log, after, read=disk.digest(BEFORE), log=True)
    os.write(hand, LATE)
    assert log.read_bytes() == after + LATE


@pytest.mark.parametrize("name", ["open", "fsync", "replace", "fstat", "close"])
@pytest.mark.parametrize("after", [SHORTER, LONGER])
def test_what_is_appended_while_a_log_is_edited_stays_at_its_end(
    workspace: Workspace, log: Path, hand: int, monkeypatch: pytest.MonkeyPatch, name: str, after: bytes
) -> None:
    call = getattr(os, name)
    appended: list[bytes] = []

    def append_just_before(*given: object, **named: object) -> object:
        if len(appended) < 2:
            appended.append(b"- late %d\n" % len(appended))
            os.write(hand, appended[-1])
        return call(*given, **named)

    monkeypatch.setattr(os, name, append_just_before)
    assert disk.edit_log(workspace, log, BEFORE, after)
    assert appended
    assert log.read_bytes() == after + b"".join(appended)


def test_a_log_that_was_changed_by_hand_is_not_edited(workspace: Workspace, log: Path) -> None:
    log.write_bytes(LONGER)
    assert not disk.edit_log(workspace, log, BEFORE, SHORTER)
    assert log.read_bytes() == LONGER


@pytest.mark.skipif(faults.missing() is not None, reason=str(faults.missing()))
@pytest.mark.parametrize("fault", [KILLED, TORN])
@pytest.mark.parametrize("after", [SHORTER, LONGER, b"", b"another text\n"])
@pytest.mark.parametrize("late", [b"", LATE])
def test_an_edit_killed_at_any_call_is_completed_by_the_next_command(
    memory_disk: Path, clock: Clock, after: bytes, fault: str, late: bytes
) -> None:
    at, reached = 0, True
    while reached:
        at += 1
        workspace = Workspace(memory_disk / str(at))
        workspace.memory.mkdir(parents=True)
        workspace.machine.mkdir()
        log = workspace.day(clock.today())
        log.write_bytes(BEFORE)
        reached = faults.run(partial(_edit, workspace, log, after), fault, at).reached
        with log.open("ab") as agent:
            agent.write(late)
        with lock(workspace):
            assert (disk.read_bytes(log) or b"") in (BEFORE + late, after + late)
        assert [path.name for path in workspace.machine.iterdir() if path.name == "edit.json"] == []
    assert at > 1


def _edit(workspace: Workspace, log: Path, after: bytes) -> int:
    return 0 if disk.edit_log(workspace, log, BEFORE, after) else 1


def test_a_disk_that_is_full_leaves_the_log_as_it_was(
    workspace: Workspace, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_all = disk.write_all

    def full(descriptor: int, data: bytes) -> None:
        if data in LONGER:  # the first half of what is new still fits
            os.write(descriptor, data[: len(data) // 2])
            raise OSError(28, os.strerror(28))
        write_all(descriptor, data)

    monkeypatch.setattr(disk, "write_all", full)
    with pytest.raises(CannotWrite):
        disk.edit_log(workspace, log, BEFORE, LONGER)
    monkeypatch.undo()
    with lock(workspace):
        assert log.read_bytes() == BEFORE


def test_a_journal_that_came_with_a_clone_changes_no_other_file(workspace: Workspace) -> None:
    user = workspace.root / "USER.md"
    user.write_bytes(b"theirs\n")
    journal = workspace.machine / "edit.json"
    journal.symlink_to(workspace.root / "nowhere.md")
    with lock(workspace):
        assert not journal.is_symlink()
    for name in ("../USER.md", "notes.md", "", 7):
        told = f'{{"log": "{name}", "before": "theirs\\n", "after": "ours\\n"}}'
        journal.write_text(told)
        with lock(workspace):
            assert user.read_bytes() == b"theirs\n"
        assert not journal.exists()
