"""What stops a part of Nacre is a row with a remedy, and what goes away while it is looked at is none."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nacre import disk
from nacre.config.settings import Config
from nacre.model import Problem, Stored, Workspace
from nacre.vault.problems import file_problems


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


def test_layers_that_lead_out_of_the_workspace_are_told_with_the_setting_for_that(
    workspace: Workspace, tmp_path: Path
) -> None:
    (tmp_path / "my layers").mkdir()
    workspace.tiers(None).symlink_to(tmp_path / "my layers")
    (found,) = of(workspace, "layers are a link")
    assert shlex.split(found.remedy)[-2:] == ["tiers.path", str(tmp_path / "my layers")]


def test_a_file_that_moves_while_it_is_looked_at_is_no_problem(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        (workspace.memory / f"note-{number}.md").write_text("# note\n")
    walk = disk.walk

    def gone(*given: Any) -> Iterator[Stored]:
        for stored in list(walk(*given)):
            if stored.name == "memory/note-1.md":
                (workspace.root / stored.name).unlink()
            yield stored

    monkeypatch.setattr(disk, "walk", gone)
    assert file_problems(workspace) == []
