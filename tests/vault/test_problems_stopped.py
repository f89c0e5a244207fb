"""What stops a part of Nacre is a row with a remedy, and what goes away while it is looked at is none."""

from __future__ import annotations

import datetime as dt
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from nacre.clock import Clock
from nacre.config.settings import Config
from nacre.errors import NotFound
from nacre.memory import Working
from nacre.model.context import Context
from nacre.model.report import Problem
from nacre.model.workspace import Workspace
from nacre.vault import problems as module
from nacre.vault.problems import file_problems
from nacre.vault.undo import undo
from nacre.vault.working import LARGEST


def of(workspace: Workspace, kind: str) -> list[Problem]:
    return [one for one in file_problems(workspace) if one.kind == kind]


def follow(problem: Problem) -> None:
    """Run the remedy as it is told."""
    subprocess.run(["/bin/sh", "-c", problem.remedy], check=True)


@pytest.mark.parametrize("broken", [b"", b'{"hot/x.md": {', b"[]", b"\xff\xfe"])
def test_counts_that_cannot_be_read_are_told_until_they_are_moved_away(workspace: Workspace, broken: bytes) -> None:
    path = workspace.refcount(Config().tiers.path)
    path.write_bytes(broken)
    for _ in range(2):  # what was wrong is not held to be in order by the next look
        (found,) = of(workspace, "counts unreadable")
        assert (found.path, found.severity) == ("refcount.json", "error")
    follow(found)
    assert not path.exists()
    assert of(workspace, "counts unreadable") == []


def test_working_memory_that_is_not_written_is_told(workspace: Workspace, tmp_path: Path) -> None:
    workspace.state.write_bytes(b"- x\n" * (LARGEST // 4 + 1))
    assert [one.path for one in of(workspace, "working memory too large")] == ["SESSION-STATE.md"]
    workspace.state.unlink()
    (tmp_path / "away.md").write_text("# Session State\n")
    workspace.state.symlink_to(tmp_path / "away.md")
    found = [one for one in file_problems(workspace) if one.path == "SESSION-STATE.md"]
    assert [one.kind for one in found] == ["working memory is a link"]
    assert "extra_paths" not in found[0].remedy


def test_a_layer_that_is_a_link_is_told_until_it_is_a_folder(workspace: Workspace, tmp_path: Path) -> None:
    layers = workspace.tiers(None)
    layers.mkdir()
    (layers / "hot").symlink_to(workspace.memory)
    (layers / "warm").symlink_to(tmp_path)
    for found in of(workspace, "layer is a link"):
        follow(found)
    assert (layers / "hot").is_dir()
    assert not (layers / "hot").is_symlink()
    assert not [one for one in file_problems(workspace) if "link" in one.kind]
    assert workspace.memory.is_dir()


def test_layers_that_lead_out_of_the_workspace_are_told_with_the_setting_for_that(
    workspace: Workspace, tmp_path: Path
) -> None:
    (tmp_path / "my layers").mkdir()
    workspace.tiers(None).symlink_to(tmp_path / "my layers")
    (found,) = of(workspace, "layers are a link")
    assert shlex.split(found.remedy)[-2:] == ["tiers.path", str(tmp_path / "my layers")]


def test_a_journal_full_of_garbage_is_one_row(workspace: Workspace) -> None:
    journal = workspace.machine / "jobs.jsonl"
    journal.parent.mkdir(exist_ok=True)
    journal.write_text("garbage\n" * 500)
    (found,) = of(workspace, "journal of jobs broken")
    assert "500 lines" in found.message
    follow(found)
    assert of(workspace, "journal of jobs broken") == []


def test_history_that_lost_what_an_undo_needs_is_told(workspace: Workspace) -> None:
    clock = Clock(dt.UTC, dt.datetime(2026, 3, 28, 14, 5, tzinfo=dt.UTC))
    working = Working(Context(workspace, Config(), clock))
    working.task("Move the shop")
    working.task("Paint the shop")
    assert of(workspace, "history lost") == []
    shutil.rmtree(workspace.history / "blobs")
    assert [one.path for one in of(workspace, "history lost")] == [".nacre/history/blobs"]
    with pytest.raises(NotFound):
        undo(Context(workspace, Config(), clock))


def test_a_file_that_moves_while_it_is_looked_at_is_no_problem(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        (workspace.memory / f"note-{number}.md").write_text("# note\n")
    walk = module._walk

    def gone(*given: object) -> object:
        for entry in list(walk(*given)):  # type: ignore[arg-type]
            if entry.name == "note-1.md":
                entry.unlink()
            yield entry

    monkeypatch.setattr(module, "_walk", gone)
    assert file_problems(workspace) == []
