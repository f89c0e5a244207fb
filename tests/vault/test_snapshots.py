"""Snapshots of working memory are the user's own bytes, whatever these are, and a link is never written through."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest
from tests.storage import file_bytes, put_file, take_file

from nacre.clock import Clock
from nacre.config.settings import Config
from nacre.errors import PathEscape
from nacre.memory import Working
from nacre.model import Context, Workspace
from nacre.vault.undo import undo

NOON = dt.datetime(2026, 3, 28, 14, 5, tzinfo=dt.UTC)
KEY = "sk-" + "proj-" + "Ab3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF3gH6jK9mN2pQ5sT8"


def at(workspace: Workspace, minutes: int = 0) -> Working:
    return Working(Context(workspace, Config(), Clock(dt.UTC, NOON + dt.timedelta(minutes=minutes))))


@pytest.mark.parametrize(
    "data",
    [
        f"# Session State\n## Key Context\n- key: {KEY}\n".encode(),
        b"\xef\xbb\xbf# Session State\r\n## Pending\r\n- [ ] no line end",
        "# Session State\n- a zero\u200bwidth space, a bell \x07, an escape \x1b[31m\n".encode(),
        b"# Session State\n\xff\xfe not UTF-8\n",
    ],
    ids=["a secret", "a mark and other line ends", "unseen characters", "not UTF-8"],
)
def test_a_snapshot_is_a_copy_byte_for_byte_and_comes_back_so(workspace: Workspace, data: bytes) -> None:
    put_file(workspace.state, data)
    kept = at(workspace).snapshot("whole").snapshot
    assert file_bytes(kept.path) == data
    assert not at(workspace, 1).snapshot("whole").plan
    put_file(workspace.state, b"# Session State\n")
    at(workspace, 2).restore("whole")
    assert file_bytes(workspace.state) == data
    undo(Context(workspace, Config(), Clock(dt.UTC, NOON)))
    assert file_bytes(workspace.state) == b"# Session State\n"


@pytest.mark.on_disk
@pytest.mark.parametrize("inside", [True, False])
def test_working_memory_that_is_a_link_is_not_written(workspace: Workspace, tmp_path: Path, inside: bool) -> None:
    at(workspace).task("first")
    at(workspace).snapshot()
    target = workspace.root / "MEMORY.md" if inside else tmp_path / "elsewhere.md"
    put_file(target, "# Long-Term Memory\n\n## Key Decisions\n- PostgreSQL\n")
    before = file_bytes(target)
    take_file(workspace.state)
    workspace.state.symlink_to(target)
    desk = at(workspace, 1)
    for change in (
        lambda: desk.decide("pnpm"),
        lambda: desk.decide("pnpm", dry_run=True),
        lambda: desk.task("second"),
        desk.done,
        desk.restore,
    ):
        with pytest.raises(PathEscape, match="is a link, so"):
            change()
    assert file_bytes(target) == before
    assert workspace.state.is_symlink()
