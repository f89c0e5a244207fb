"""Files of one object a line, and what may stand in their place."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nacre.clock import Clock
from nacre.config.settings import Config
from nacre.errors import NacreError, PathEscape
from nacre.model import Context, Workspace
from nacre.vault import ledger, provenance
from nacre.vault.discover import check_own_files
from nacre.vault.history import operation
from nacre.vault.provenance import Offered
from nacre.vault.storage import Disk, read_rows


def kinds(workspace: Workspace, name: str) -> list[str]:
    rows, problems = read_rows(Disk(workspace), f"memory/{name}.jsonl")
    assert rows == ()
    return [one.kind for one in problems]


def test_a_device_a_pipe_or_a_folder_in_the_place_of_a_file_is_told_and_not_read(workspace: Workspace) -> None:
    (workspace.memory / "zero.jsonl").symlink_to("/dev/zero")
    os.mkfifo(workspace.memory / "pipe.jsonl")
    (workspace.memory / "folder.jsonl").mkdir()
    for name in ("zero", "pipe", "folder"):
        assert kinds(workspace, name) == ["unreadable"]
    assert kinds(workspace, "none") == []


def test_a_link_is_followed_inside_the_workspace_alone(workspace: Workspace, tmp_path: Path) -> None:
    for folder, name in ((tmp_path, "outside"), (workspace.root, "inside")):
        (folder / f"{name}.jsonl").write_text('{"a":1}\n')
        (workspace.memory / f"{name}.jsonl").symlink_to(folder / f"{name}.jsonl")
    assert kinds(workspace, "outside") == ["unreadable"]
    assert [row.value for row in read_rows(Disk(workspace), "memory/inside.jsonl").rows] == [{"a": 1}]


def test_ledger_and_trail_that_cannot_be_read_say_nothing(workspace: Workspace) -> None:
    os.mkfifo(workspace.ledger)
    workspace.trail.symlink_to("/dev/zero")
    told = ledger.read_ledger(workspace)
    assert (told.records, [one.severity for one in told.problems]) == ((), ["error"])
    assert provenance.read_provenance(workspace) == provenance.Provenance()


def test_nothing_waits_on_a_pipe_in_the_place_of_the_trail(workspace: Workspace, clock: Clock) -> None:
    os.mkfifo(workspace.trail)
    with operation(Context(workspace, Config(), clock), "tidy") as op, pytest.raises(NacreError, match="move it away"):
        provenance.write_provenance(op, [Offered("2026-02-10", ("aaaaaaaa",))])


@pytest.mark.parametrize("name", ["key", "distil.json"])
def test_a_link_in_the_place_of_our_key_or_promise_is_refused(workspace: Workspace, tmp_path: Path, name: str) -> None:
    (tmp_path / "outside").write_text("mine\n")
    (workspace.machine / name).symlink_to(tmp_path / "outside")
    with pytest.raises(PathEscape, match="link"):
        check_own_files(workspace)
