"""Files are moved and removed only while they are what was read, and to places where nothing stands."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.storage import file_bytes, files_below, put_file

from nacre import disk
from nacre.clock import Clock
from nacre.config.settings import Config
from nacre.errors import ChangedOutside, PathEscape
from nacre.model.workspace import Context, Workspace
from nacre.vault.history import operation
from nacre.vault.undo import undo
from nacre.vault.writing import move_file, remove_file


def file(workspace: Workspace, name: str, text: str = "x\n") -> tuple[Path, str]:
    path = workspace.root / name
    put_file(path, text)
    return path, disk.digest(text.encode())


def tree(workspace: Workspace) -> dict[str, str]:
    return {name: file_bytes(workspace.root / name).decode() for name in files_below(workspace.root)}


def test_a_file_goes_where_another_has_just_left(workspace: Workspace, clock: Clock) -> None:
    a, read = file(workspace, "a.md", "a\n")
    b, other = file(workspace, "b.md", "b\n")
    with operation(Context(workspace, Config(), clock), "test") as op:
        move_file(op, b, workspace.root / "c.md", read=other)
        move_file(op, a, b, read=read)
    assert tree(workspace) == {"b.md": "a\n", "c.md": "b\n"}
    undo(Context(workspace, Config(), clock))
    assert tree(workspace) == {"a.md": "a\n", "b.md": "b\n"}


def test_nothing_is_written_over_that_comes_after_the_check(
    workspace: Workspace, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, read = file(workspace, "a.md")
    b, other = file(workspace, "b.md")
    with operation(Context(workspace, Config(), clock), "test") as op:
        record = op.record

        def recorded(*given: object) -> None:
            record(*given)  # type: ignore[arg-type]
            file(workspace, "to.md", "theirs\n")
            file(workspace, "b.md", "edited\n")

        monkeypatch.setattr(op, "record", recorded)
        with pytest.raises(ChangedOutside):
            move_file(op, a, workspace.root / "to.md", read=read)
        with pytest.raises(ChangedOutside):
            remove_file(op, b, read=other)
    assert tree(workspace) == {"a.md": "x\n", "b.md": "edited\n", "to.md": "theirs\n"}


@pytest.mark.on_disk
def test_nothing_leads_out_of_the_workspace(workspace: Workspace, clock: Clock) -> None:
    a, read = file(workspace, "a.md")
    outside = workspace.root.parent / "out"
    outside.mkdir()
    (workspace.root / "link").symlink_to(outside)
    with operation(Context(workspace, Config(), clock), "test") as op, pytest.raises(PathEscape):
        move_file(op, a, workspace.root / "link/a.md", read=read)
    assert not os.listdir(outside)
