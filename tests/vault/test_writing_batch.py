"""Many files changed as one are as safe as each alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.storage import file_bytes, files_below, put_file

from nacre import disk
from nacre.clock import Clock
from nacre.config.settings import Config
from nacre.errors import PathEscape
from nacre.model import Context, Workspace
from nacre.vault.history import operation, read_history
from nacre.vault.undo import undo
from nacre.vault.writing import Batch


def file(workspace: Workspace, name: str, text: str = "x\n") -> tuple[Path, str]:
    path = workspace.root / name
    put_file(path, text)
    return path, disk.digest(text.encode())


def tree(workspace: Workspace) -> dict[str, str]:
    return {name: file_bytes(workspace.root / name).decode() for name in files_below(workspace.root)}


def test_all_are_made_under_one_record_and_undone_as_one(workspace: Workspace, clock: Clock) -> None:
    a, read = file(workspace, "a/a.md", "a\n")
    b, other = file(workspace, "a/b.md", "b\n")
    before = tree(workspace)
    with operation(Context(workspace, Config(), clock), "test") as op:
        batch = Batch(op)
        batch.add(0, a, to=workspace.root / "b/a.md", read=read)
        batch.add(1, b, read=other)
        batch.add(2, workspace.root / "c.md", data=b"c\n", read=None)
        batch.add(3, workspace.root / "d.md", data=b"d\n", read=None)
        assert tree(workspace) == before
        batch.carry_out()
    assert tree(workspace) == {"b/a.md": "a\n", "c.md": "c\n", "d.md": "d\n"}
    assert not batch.failed
    undo(Context(workspace, Config(), clock))
    assert tree(workspace) == before


def test_one_that_is_no_longer_what_was_read_does_not_stop_the_others(workspace: Workspace, clock: Clock) -> None:
    a, read = file(workspace, "a.md")
    b, other = file(workspace, "b.md")
    with operation(Context(workspace, Config(), clock), "test") as op:
        batch = Batch(op)
        batch.add(0, a, read=other.replace("0", "1"))
        batch.add(0, a, to=workspace.root / "never.md", read=read)
        batch.add(1, b, to=workspace.root / "c.md", read=other)
        batch.carry_out()
    assert list(batch.failed) == [0]
    assert tree(workspace) == {"a.md": "x\n", "c.md": "x\n"}
    (one,) = read_history(workspace).operations
    assert [change.path for change in one.changes] == ["b.md"]


def test_a_file_that_goes_where_another_has_just_left_waits_for_it(workspace: Workspace, clock: Clock) -> None:
    a, read = file(workspace, "a.md", "a\n")
    b, other = file(workspace, "b.md", "b\n")
    with operation(Context(workspace, Config(), clock), "test") as op:
        batch = Batch(op)
        batch.add(0, b, to=workspace.root / "c.md", read=other)
        batch.add(1, a, to=b, read=read)
        batch.carry_out()
    assert tree(workspace) == {"b.md": "a\n", "c.md": "b\n"}
    undo(Context(workspace, Config(), clock))
    assert tree(workspace) == {"a.md": "a\n", "b.md": "b\n"}


def test_nothing_is_written_over_that_comes_after_the_check(
    workspace: Workspace, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, read = file(workspace, "a.md")
    b, other = file(workspace, "b.md")
    with operation(Context(workspace, Config(), clock), "test") as op:
        batch = Batch(op)
        batch.add(0, a, to=workspace.root / "to.md", read=read)
        batch.add(1, b, read=other)
        record = op.record

        def recorded(*given: object) -> None:
            record(*given)  # type: ignore[arg-type]
            file(workspace, "to.md", "theirs\n")
            file(workspace, "b.md", "edited\n")

        monkeypatch.setattr(op, "record", recorded)
        batch.carry_out()
    assert sorted(batch.failed) == [0, 1]
    assert tree(workspace) == {"a.md": "x\n", "b.md": "edited\n", "to.md": "theirs\n"}


@pytest.mark.on_disk
def test_nothing_leads_out_of_the_workspace(workspace: Workspace, clock: Clock) -> None:
    a, read = file(workspace, "a.md")
    outside = workspace.root.parent / "out"
    outside.mkdir()
    (workspace.root / "link").symlink_to(outside)
    with operation(Context(workspace, Config(), clock), "test") as op:
        batch = Batch(op)
        batch.add(0, a, to=workspace.root / "link/a.md", read=read)
        batch.carry_out()
    assert isinstance(batch.failed[0], PathEscape)
    assert not os.listdir(outside)
