"""What was in order is read again only when it changed; whatever changed is."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from nacre import disk
from nacre.config.settings import Config, MemorySettings
from nacre.model import Workspace
from nacre.vault.problems import file_problems

SECRET = "key AKIA" + "Z7QXNT3MPLR5VWKD\n"
Read = Callable[[], set[str]]


@pytest.fixture
def notes(workspace: Workspace) -> list[Path]:
    """A few notes that were written long ago, and an index folder beside which is kept what was looked at."""
    workspace.index.mkdir(parents=True, exist_ok=True)
    made = [workspace.memory / f"note-{number}.md" for number in range(3)]
    for path in (*made, workspace.longterm):
        path.write_text("- the violin is in the attic\n", "utf8")
    return made


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Read:
    """Which files were read since the last question."""
    names: set[str] = set()
    true = disk.read_bytes

    def reading(path: Path, most: int = -1) -> bytes | None:
        names.add(path.name)
        return true(path, most)

    monkeypatch.setattr(disk, "read_bytes", reading)

    def since() -> set[str]:
        told = {name for name in names if name.startswith("note-")}
        names.clear()
        return told

    return since


@pytest.mark.usefixtures("notes")
def test_files_in_order_are_read_once(workspace: Workspace, read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    assert file_problems(workspace) == []
    assert read() == {"note-0.md", "note-1.md", "note-2.md"}
    assert file_problems(workspace) == []
    assert read() == set()
    assert file_problems(workspace, every_file=True) == []
    assert read() == {"note-0.md", "note-1.md", "note-2.md"}


def test_a_file_that_changed_is_read_again_whatever_its_time_says(
    workspace: Workspace, notes: list[Path], read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    file_problems(workspace)
    before = notes[1].stat()
    notes[1].write_text(SECRET.ljust(before.st_size, "."), "utf8")
    os.utime(notes[1], ns=(before.st_atime_ns, before.st_mtime_ns))
    read()
    assert [(one.kind, one.path) for one in file_problems(workspace)] == [("secret", "memory/note-1.md")]
    assert read() == {"note-1.md"}
    assert [one.kind for one in file_problems(workspace)] == ["secret"]  # what is wrong is told every time
    notes[1].unlink()
    assert file_problems(workspace) == []


@pytest.mark.usefixtures("notes")
def test_other_limits_are_felt_at_once(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace.longterm.write_text("- x\n" * 40, "utf8")
    assert file_problems(workspace) == []
    smaller = Config(memory=MemorySettings(max_lines=20))
    assert [one.kind for one in file_problems(workspace, smaller)] == ["over the limits"]


@pytest.mark.usefixtures("notes")
@pytest.mark.parametrize("data", [b"", b"{", b"[1]", b'{"version": 1}', b'{"files": {"a": [1]}}', b"\xff"])
def test_a_record_that_is_broken_or_of_another_version_is_made_anew(
    workspace: Workspace, read: Read, monkeypatch: pytest.MonkeyPatch, data: bytes
) -> None:
    (workspace.index / "looked.json").write_bytes(data)
    assert file_problems(workspace) == []
    read()
    assert file_problems(workspace) == []
    assert read() == set()


@pytest.mark.usefixtures("notes")
def test_another_version_looks_through_every_file(
    workspace: Workspace, read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    file_problems(workspace)
    read()
    monkeypatch.setattr("nacre.__version__", "another")
    file_problems(workspace)
    assert read() == {"note-0.md", "note-1.md", "note-2.md"}


@pytest.mark.usefixtures("notes")
def test_a_link_in_its_place_is_not_written_through(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = tmp_path / "mine"
    mine.write_text("mine", "utf8")
    (workspace.index / "looked.json").symlink_to(mine)
    assert file_problems(workspace) == []
    assert mine.read_text("utf8") == "mine"


@pytest.mark.usefixtures("notes")
def test_without_an_index_folder_nothing_is_written(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace.index.rmdir()
    assert file_problems(workspace) == []
    assert not workspace.index.exists()
