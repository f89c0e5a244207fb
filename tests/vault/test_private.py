"""Nobody but the user can read what Nacre creates; what was there already keeps the mode that its owner gave it."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.faults.commands import SCENARIOS, environment, make_home, nacre

from nacre.http import token


@pytest.fixture(autouse=True)
def _usual_mask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def open_to_others(home: Path, known: set[Path]) -> list[str]:
    open_ones = []
    for path in sorted({*home.rglob("*")} - known):
        with contextlib.suppress(FileNotFoundError):  # what a daemon had open a moment ago
            mode = path.lstat().st_mode
            if not path.is_symlink() and mode & 0o077:
                open_ones.append(f"{stat.filemode(mode)} {path.relative_to(home)}")
    return open_ones


def test_no_command_creates_a_file_or_folder_that_others_can_read(tmp_path: Path) -> None:
    home = tmp_path / "home"
    make_home(home, bare=True)
    known = {*home.rglob("*")}
    with environment(home):
        for scenario in SCENARIOS:
            for command in (*scenario.before, scenario.command):
                nacre(tuple(word.replace("{home}", str(home)) for word in command), scenario.now, scenario.stdin)
        token(home / ".nacre" / "workspace")
    made = [path for path in home.rglob("*.md") if "workspace" in path.parts]
    assert len(made) > 10
    assert (home / ".nacre/workspace/.nacre/index/index.sqlite").exists()
    assert open_to_others(home, known) == []


def test_a_file_keeps_the_mode_that_its_owner_gave_it_when_lines_are_added_or_it_is_rewritten(tmp_path: Path) -> None:
    home = tmp_path / "home"
    make_home(home)
    workspace = home / ".nacre" / "workspace"
    shared = [workspace / "MEMORY.md", workspace / "memory" / "2026-03-18.md"]
    before = [path.read_bytes() for path in shared]
    for path in shared:
        path.chmod(0o664)
    with environment(home):
        nacre(("forget", "Answer in short sentences"))
        nacre(("--now", "2026-03-18T10:00:00+00:00", "remember", "Use uv rather than pip"))
    assert all(path.read_bytes() != data for path, data in zip(shared, before, strict=True))
    assert [stat.S_IMODE(path.stat().st_mode) for path in shared] == [0o664, 0o664]
