from __future__ import annotations

import stat
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest
from tests.storage import Dictionary, is_there, put_file, take_file

from nacre import disk
from nacre.clock import Clock
from nacre.config.settings import Config, HistorySettings
from nacre.errors import CannotWrite, NotFound
from nacre.model import Context, Workspace
from nacre.vault.daily import append_note
from nacre.vault.history import Change, diff_operation, latest, operation, read_history
from nacre.vault.problems import file_problems
from nacre.vault.storage import operations_file
from nacre.vault.undo import plan_undo
from nacre.vault.writing import append, move_file, rewrite


def test_operations_are_numbered_and_say_what_they_changed(workspace: Workspace, clock: Clock) -> None:
    append_note(Context(workspace, Config(), clock), "one")
    append_note(Context(workspace, Config(), clock), "two")
    with operation(Context(workspace, Config(), clock), "edit") as op:
        rewrite(op, workspace.root / "USER.md", b"Ann\n", read=None)
        move_file(op, workspace.root / "USER.md", workspace.root / "U.md", read=disk.digest(b"Ann\n"))
    found = read_history(workspace).operations
    assert [(one.id, one.command, one.state) for one in found] == [
        (1, "remember", "done"),
        (2, "remember", "done"),
        (3, "edit", "done"),
    ]
    assert [change.kind for one in found for change in one.changes] == ["create", "append", "create", "move"]
    assert found[0].at == "2026-02-10T14:05:07+00:00"


def test_an_operation_inside_another_joins_it(workspace: Workspace, clock: Clock) -> None:
    with operation(Context(workspace, Config(), clock), "tidy"):
        append_note(Context(workspace, Config(), clock), "one")
        append_note(Context(workspace, Config(), clock), "two")
    (one,) = read_history(workspace).operations
    assert one.command == "tidy"
    assert len(one.changes) == 2


def test_a_change_recorded_but_never_made_is_not_carried_out(workspace: Workspace, clock: Clock) -> None:
    path = workspace.root / "USER.md"
    put_file(path, b"old\n")
    change = Change("USER.md", "rewrite", disk.digest(b"old\n"), disk.digest(b"new\n"))

    def interrupted() -> None:
        with operation(Context(workspace, Config(), clock), "edit") as op:
            op.record([change], [b"old\n", b"new\n"])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert read_history(workspace).operations[0].state == "not carried out"
    with operation(Context(workspace, Config(), clock), "edit") as op:
        rewrite(op, path, b"new\n", read=disk.digest(b"old\n"))
    assert [one.state for one in read_history(workspace).operations] == ["not carried out", "done"]


def test_a_diff_comes_from_what_history_kept(workspace: Workspace, clock: Clock) -> None:
    path = workspace.root / "USER.md"
    put_file(path, b"a\nb\n")
    with operation(Context(workspace, Config(), clock), "edit") as op:
        rewrite(op, path, b"a\nB\n", read=disk.digest(b"a\nb\n"))
        append(op, workspace.memory / "log.md", "- x")
    take_file(path)
    text = diff_operation(workspace, 1)
    assert "-b\n+B\n" in text
    assert "+++ memory/log.md" in text
    assert "+- x\n" in text
    with pytest.raises(NotFound, match="nacre history"):
        diff_operation(workspace, 2)


@pytest.mark.on_disk
def test_history_is_private(workspace: Workspace, clock: Clock) -> None:
    append_note(Context(workspace, Config(), clock), "one")
    for path in (workspace.history, *workspace.history.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)


def test_history_switched_off_leaves_no_trace(workspace: Workspace, clock: Clock) -> None:
    append_note(Context(workspace, Config(history=HistorySettings(enabled=False)), clock), "one")
    assert not is_there(workspace.history)


@pytest.mark.on_disk
def test_without_room_for_history_nothing_is_changed(workspace: Workspace, clock: Clock) -> None:
    put_file(workspace.history, b"in the way")
    with pytest.raises(CannotWrite):
        append_note(Context(workspace, Config(), clock), "one")
    assert not is_there(workspace.day(clock.today()))


@pytest.mark.on_disk
def test_broken_records_are_skipped_and_numbers_go_on(workspace: Workspace, clock: Clock) -> None:
    append_note(Context(workspace, Config(), clock), "one")
    with operations_file(workspace).open("ab") as file:
        file.write(b'{"id":"x","changes":3}\n{"id":7,"changes":[1,{"path":2}],"undoes":"y"}\n{"id":8,"torn')
    append_note(Context(workspace, Config(), clock), "two")
    assert [operation.id for operation in read_history(workspace).operations] == [1, 7, 8]
    assert [problem.line for problem in file_problems(workspace, every_file=True)] == [5]


def test_the_latest_operations_and_an_undo_read_only_the_end_of_the_record(workspace: Workspace, clock: Clock) -> None:
    class Counting(Dictionary):
        read_rows = 0

        def records(self) -> Iterator[dict[str, Any]]:
            for row in super().records():
                self.read_rows += 1
                yield row

    storage = Counting()
    context = Context(Workspace(workspace.root, storage), Config(), clock)
    for number in range(300):
        with operation(context, "note") as op:
            append(op, workspace.memory / "2026-02-10.md", f"- note {number}")
    storage.read_rows = 0
    assert [done.id for done in islice(latest(storage), 3)] == [300, 299, 298]
    assert storage.read_rows < 10
    assert plan_undo(context).undoes == (300,)
    assert storage.read_rows < 20


@pytest.mark.on_disk
def test_a_change_that_failed_and_was_passed_over_is_not_told_as_done(
    workspace: Workspace, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_arguments: Any) -> bool:
        raise CannotWrite("the disk is full")

    with operation(Context(workspace, Config(), clock), "try") as op:
        rewrite(op, workspace.root / "USER.md", b"Ann\n", read=None)
        monkeypatch.setattr(disk, "replace", full)
        with pytest.raises(CannotWrite):
            rewrite(op, workspace.root / "SOUL.md", b"calm\n", read=None)
    (told,) = read_history(workspace).operations
    assert told.state == "partly done"
