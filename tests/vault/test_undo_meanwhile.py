"""Undoing what others have touched since, or touch while it is undone: theirs stays, and it is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.storage import file_bytes, is_there, move_by_hand, put_file, take_file

from nacre import disk
from nacre.clock import Clock
from nacre.config.settings import Config
from nacre.errors import ChangedOutside, NacreError, NotFound, PartlyDone
from nacre.model import Context, Workspace
from nacre.vault.daily import append_note
from nacre.vault.history import MOVE, REWRITE, operation, read_history
from nacre.vault.undo import undo
from nacre.vault.writing import move_file, rewrite


def archive(workspace: Workspace, clock: Clock, *names: str) -> None:
    """Files moved by a command that went through."""
    with operation(Context(workspace, Config(), clock), "archive") as op:
        for name in names:
            move_file(
                op, workspace.memory / name, workspace.archive / name, read=disk.digest(b"# %s\n" % name.encode())
            )


def put(workspace: Workspace, *names: str) -> None:
    for name in names:
        put_file(workspace.memory / name, b"# %s\n" % name.encode())


def states(workspace: Workspace) -> list[str]:
    return [one.state for one in read_history(workspace).operations]


def before_the_first(monkeypatch: pytest.MonkeyPatch, name: str, happens: Callable[[], None]) -> None:
    """Somebody else acts when everything was checked and recorded, and the first file is about to be touched."""
    real = getattr(disk, name)
    come: list[bool] = []

    def act(*given: Any, **named: Any) -> Any:
        if not come:
            come.append(True)
            happens()
        return real(*given, **named)

    monkeypatch.setattr(disk, name, act)


@pytest.mark.on_disk
def test_what_others_write_while_an_undo_works_stays_and_the_next_undo_goes_on(
    workspace: Workspace, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(workspace, "a.md", "b.md", "c.md")
    with operation(Context(workspace, Config(), clock), "tidy") as op:
        rewrite(op, workspace.root / "new.md", b"new\n", read=None)
        archive(workspace, clock, "b.md", "c.md", "a.md")

    def others() -> None:
        put_file(workspace.archive / "b.md", b"edited\n")
        put_file(workspace.memory / "c.md", b"written by an agent\n")

    before_the_first(monkeypatch, "rename", others)
    with pytest.raises(PartlyDone, match=r"memory/c\.md, memory/archive/b\.md\. Restored 1 of 4 files.*again"):
        undo(Context(workspace, Config(), clock))
    assert file_bytes(workspace.memory / "a.md") == b"# a.md\n"
    assert file_bytes(workspace.memory / "c.md") == b"written by an agent\n"
    assert file_bytes(workspace.archive / "b.md") == b"edited\n"
    assert file_bytes(workspace.archive / "c.md") == b"# c.md\n"
    with pytest.raises(ChangedOutside, match=r"memory/c\.md"):
        undo(Context(workspace, Config(), clock))
    (workspace.memory / "c.md").rename(workspace.memory / "theirs.md")
    undo(Context(workspace, Config(), clock))
    assert file_bytes(workspace.memory / "b.md") == b"edited\n"
    assert file_bytes(workspace.memory / "c.md") == b"# c.md\n"
    assert not is_there(workspace.root / "new.md")
    assert states(workspace)[0] == "undone"
    with pytest.raises(NotFound):
        undo(Context(workspace, Config(), clock))


@pytest.mark.on_disk
def test_a_file_that_is_edited_before_an_undo_comes_to_removing_it_stays(
    workspace: Workspace, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = workspace.root / "one.md", workspace.root / "two.md"
    with operation(Context(workspace, Config(), clock), "edit") as op:
        rewrite(op, one, b"1\n", read=None)
        rewrite(op, two, b"2\n", read=None)
    before_the_first(monkeypatch, "remove", lambda: put_file(one, b"user\n"))
    with pytest.raises(PartlyDone, match=r"one\.md\. Restored 1 of 2"):
        undo(Context(workspace, Config(), clock))
    assert file_bytes(one) == b"user\n"
    assert not is_there(two)


@pytest.mark.on_disk
def test_nothing_that_was_written_meanwhile_is_covered_by_a_file_that_comes_back(
    workspace: Workspace, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = workspace.root / "one.md"
    with operation(Context(workspace, Config(), clock), "edit") as op:
        rewrite(op, path, b"1\n", read=None)
    undo(Context(workspace, Config(), clock))
    before_the_first(monkeypatch, "replace", lambda: put_file(path, b"user\n"))
    with pytest.raises(ChangedOutside, match=r"one\.md"):
        undo(Context(workspace, Config(), clock), number=2)
    assert file_bytes(path) == b"user\n"


@pytest.mark.parametrize("elsewhere", [None, "memory/other.md"])
def test_a_file_moved_on_or_deleted_by_hand_does_not_let_the_command_before_be_undone(
    workspace: Workspace, clock: Clock, elsewhere: str | None
) -> None:
    put(workspace, "a.md")
    append_note(Context(workspace, Config(), clock), "ours")
    archive(workspace, clock, "a.md")
    moved = workspace.archive / "a.md"
    if elsewhere is None:
        take_file(moved)
    else:
        move_by_hand(moved, workspace.root / elsewhere)
    with pytest.raises(ChangedOutside, match=r"archive/a\.md has been moved or deleted"):
        undo(Context(workspace, Config(), clock))
    assert b"ours" in file_bytes(workspace.day(clock.today()))
    assert states(workspace) == ["done", "done"]


def test_a_file_moved_back_by_hand_counts_as_taken_back(workspace: Workspace, clock: Clock) -> None:
    put(workspace, "a.md")
    append_note(Context(workspace, Config(), clock), "ours")
    archive(workspace, clock, "a.md")
    move_by_hand(workspace.archive / "a.md", workspace.memory / "a.md")
    assert undo(Context(workspace, Config(), clock)).undoes == (2,)
    assert is_there(workspace.memory / "a.md")
    assert b"ours" in file_bytes(workspace.day(clock.today()))


def test_taking_an_undo_back_never_doubles_a_file_that_has_moved_on(workspace: Workspace, clock: Clock) -> None:
    put(workspace, "a.md")
    archive(workspace, clock, "a.md")
    undo(Context(workspace, Config(), clock))
    with operation(Context(workspace, Config(), clock), "organise") as op:
        move_file(op, workspace.memory / "a.md", workspace.memory / "on.md", read=disk.digest(b"# a.md\n"))
    with pytest.raises(ChangedOutside, match=r"memory/a\.md"):
        undo(Context(workspace, Config(), clock), number=2)
    assert not is_there(workspace.archive / "a.md")
    undo(Context(workspace, Config(), clock))
    undo(Context(workspace, Config(), clock), number=2)
    assert is_there(workspace.archive / "a.md")
    assert not is_there(workspace.memory / "a.md")


@pytest.mark.on_disk
def test_a_file_moved_and_then_edited_is_moved_back_as_one_and_forth_again(workspace: Workspace, clock: Clock) -> None:
    put(workspace, "a.md")
    (workspace.memory / "a.md").chmod(0o640)
    archive(workspace, clock, "a.md")
    moved = workspace.archive / "a.md"
    with operation(Context(workspace, Config(), clock), "forget") as op:
        rewrite(op, moved, b"# less\n", read=disk.digest(b"# a.md\n"))
    undo(Context(workspace, Config(), clock), last=2)
    assert file_bytes(workspace.memory / "a.md") == b"# a.md\n"
    assert (workspace.memory / "a.md").stat().st_mode & 0o777 == 0o640
    assert not is_there(moved)
    assert [change.kind for change in read_history(workspace).operations[2].changes] == [MOVE, REWRITE]
    undo(Context(workspace, Config(), clock), number=3)
    assert file_bytes(moved) == b"# less\n"
    assert not is_there(workspace.memory / "a.md")


@pytest.mark.on_disk
def test_a_link_where_a_moved_file_was_is_not_written_over(workspace: Workspace, clock: Clock) -> None:
    put(workspace, "a.md")
    archive(workspace, clock, "a.md")
    (workspace.memory / "a.md").symlink_to("nowhere.md")
    with pytest.raises(ChangedOutside):
        undo(Context(workspace, Config(), clock))
    assert (workspace.memory / "a.md").is_symlink()


@pytest.mark.on_disk
def test_a_move_that_was_recorded_but_not_made_is_not_taken_back(
    workspace: Workspace, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(workspace, "a.md", "b.md")
    with operation(Context(workspace, Config(), clock), "organise") as op:
        reads = {name: disk.digest(file_bytes(workspace.memory / name)) for name in ("a.md", "b.md")}
        move_file(op, workspace.memory / "a.md", workspace.archive / "a.md", read=reads["a.md"])
        before_the_first(monkeypatch, "rename", (workspace.memory / "b.md").unlink)
        with pytest.raises(NacreError):
            move_file(op, workspace.memory / "b.md", workspace.archive / "b.md", read=reads["b.md"])
    assert states(workspace) == ["partly done"]
    undo(Context(workspace, Config(), clock))
    assert is_there(workspace.memory / "a.md")
    assert not is_there(workspace.archive / "a.md")
