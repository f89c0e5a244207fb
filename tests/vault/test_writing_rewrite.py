from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.storage import file_bytes, is_there, put_file

from nacre import disk
from nacre.clock import Clock
from nacre.config.settings import Config
from nacre.errors import BadInput, ChangedOutside, MemoryFull, PathEscape, SecretRefused
from nacre.model import Context, Workspace
from nacre.vault.history import Operation, operation
from nacre.vault.writing import move_file, remove_file, rewrite

KEY = "sk-" + "proj-" + "Ab3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF3gH6jK9mN2pQ5sT8"


@pytest.fixture
def op(workspace: Workspace, clock: Clock):  # type: ignore[no-untyped-def]
    with operation(Context(workspace, Config(), clock), "test") as begun:
        yield begun


def test_a_file_changed_since_it_was_read_is_left_alone(op: Operation, workspace: Workspace) -> None:
    path = workspace.root / "USER.md"
    put_file(path, b"theirs")
    with pytest.raises(ChangedOutside, match=r"USER\.md"):
        rewrite(op, path, b"ours", read=disk.digest(b"what was read"))
    with pytest.raises(ChangedOutside):
        rewrite(op, path, b"ours", read=None)
    with pytest.raises(ChangedOutside):
        rewrite(op, workspace.root / "gone.md", b"ours", read=disk.digest(b"x"))
    assert file_bytes(path) == b"theirs"
    assert op.id is None


def test_only_added_lines_are_guarded(op: Operation, workspace: Workspace) -> None:
    path = workspace.root / "USER.md"
    old = f"key {KEY}\nname: \n".encode()
    put_file(path, old)
    new = rewrite(op, path, old.replace(b"name: ", b"name: Ann"), read=disk.digest(old))
    assert new == disk.digest(file_bytes(path))
    with pytest.raises(SecretRefused):
        rewrite(op, path, file_bytes(path) + f"again {KEY}x\n".encode(), read=new)
    with pytest.raises(SecretRefused):
        rewrite(op, path, file_bytes(path) + f"key {KEY}\n".encode(), read=new)


def test_control_characters_are_cleaned_from_added_lines_only(op: Operation, workspace: Workspace) -> None:
    path = workspace.root / "USER.md"
    old = b"user's own \x1b here\r\n"
    put_file(path, old)
    new = rewrite(op, path, old + b"ours \x1b[1mthere\x00\r\n", read=disk.digest(old))
    data = file_bytes(path)
    assert new == disk.digest(data)
    assert data.startswith(old)
    assert data.endswith(b"\r\n")
    assert b"\x1b" not in data[len(old) :]
    assert b"\x00" not in data


def test_a_byte_order_mark_stays_when_the_first_line_changes(op: Operation, workspace: Workspace) -> None:
    path = workspace.root / "USER.md"
    put_file(path, b"\xef\xbb\xbfold\nb\n")
    rewrite(op, path, b"\xef\xbb\xbfnew \x1bx\nb\n", read=disk.digest(b"\xef\xbb\xbfold\nb\n"))
    assert file_bytes(path) == b"\xef\xbb\xbfnew x\nb\n"


def test_a_daily_log_is_not_rewritten(op: Operation, workspace: Workspace) -> None:
    path = workspace.memory / "2026-02-10.md"
    put_file(path, b"- one\n")
    with pytest.raises(BadInput, match="daily log"):
        rewrite(op, path, b"", read=disk.digest(b"- one\n"))
    assert file_bytes(path) == b"- one\n"


@pytest.mark.on_disk
def test_what_is_appended_while_a_log_is_removed_stays(
    op: Operation, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = workspace.memory / "2026-02-10.md"
    put_file(path, b"- one\n")
    unlink = os.unlink

    def append_just_before(target: Path) -> None:
        if target == path:
            with path.open("ab") as file:
                file.write(b"- late\n")
        unlink(target)

    monkeypatch.setattr(os, "unlink", append_just_before)
    remove_file(op, path, read=disk.digest(b"- one\n"))
    assert file_bytes(path) == b"- late\n"


@pytest.mark.on_disk
def test_the_limits_hold_for_whoever_writes(op: Operation, workspace: Workspace) -> None:
    full = b"- x\n" * 80
    put_file(workspace.longterm, full)
    with pytest.raises(MemoryFull, match="80 of 80"):
        rewrite(op, workspace.longterm, full + b"- y\n", read=disk.digest(full))
    with pytest.raises(MemoryFull):
        rewrite(op, workspace.root / "projects" / "p" / "MEMORY.md", b"y" * 5121, read=None)
    (workspace.memory / "link.md").symlink_to(workspace.longterm)
    with pytest.raises(MemoryFull):
        rewrite(op, workspace.memory / "link.md", full + b"- y\n", read=disk.digest(full))
    assert file_bytes(workspace.longterm) == full


def test_a_file_over_the_limits_may_only_shrink(op: Operation, workspace: Workspace) -> None:
    over = b"- x\n" * 100
    put_file(workspace.longterm, over)
    with pytest.raises(MemoryFull, match="review --adopt"):
        rewrite(op, workspace.longterm, over.replace(b"- x", b"- y", 1), read=disk.digest(over))
    shorter = over[: 4 * 90]
    rewrite(op, workspace.longterm, shorter, read=disk.digest(over))
    assert file_bytes(workspace.longterm) == shorter


def test_moving_and_removing_want_the_file_as_read(op: Operation, workspace: Workspace) -> None:
    path, to = workspace.memory / "a.md", workspace.archive / "2026" / "a.md"
    put_file(path, b"a")
    with pytest.raises(ChangedOutside):
        move_file(op, path, to, read="0" * 64)
    move_file(op, path, to, read=disk.digest(b"a"))
    assert not is_there(path)
    put_file(path, b"b")
    with pytest.raises(ChangedOutside):
        move_file(op, path, to, read=disk.digest(b"b"))
    with pytest.raises(ChangedOutside):
        remove_file(op, path, read=disk.digest(b"x"))
    remove_file(op, path, read=disk.digest(b"b"))
    assert file_bytes(to) == b"a"
    assert not is_there(path)


@pytest.mark.on_disk
def test_no_path_leads_out(op: Operation, workspace: Workspace) -> None:
    with pytest.raises(PathEscape):
        rewrite(op, workspace.root / ".." / "x.md", b"", read=None)
    with pytest.raises(PathEscape):
        rewrite(op, workspace.root, b"", read=None)


@pytest.mark.on_disk
def test_writing_the_same_bytes_is_no_operation(op: Operation, workspace: Workspace) -> None:
    path = workspace.root / "USER.md"
    put_file(path, b"same")
    inode = path.stat().st_ino
    rewrite(op, path, b"same", read=disk.digest(b"same"))
    assert path.stat().st_ino == inode
    assert op.id is None
