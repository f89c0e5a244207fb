"""What the turn did to a reference file is taken back, and what Nacre wrote there meanwhile is kept."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

from nacre.clock import Clock
from nacre.config.settings import Config
from nacre.memory import Memory
from nacre.model.context import Context
from nacre.model.workspace import Workspace
from nacre.vault.disk import digest
from nacre.vault.history import operation
from nacre.vault.writing import rewrite

NOW = "2026-02-14T15:30:00+00:00"
WINDOW, FULL = 200_000, 176_000
BEFORE = "# Long-Term Memory\n\n## User Preferences\n- Use pnpm\n\n## Key Decisions\n- PostgreSQL\n\n## Important Contacts\n- Ann\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    Memory.init(tmp_path / "ws", now=NOW).close()
    (tmp_path / "ws" / "MEMORY.md").write_text(BEFORE, "utf8")
    return tmp_path / "ws"


def admit(root: Path, old: str, new: str, moment: str = NOW) -> None:
    """As Nacre changes MEMORY.md itself: recorded in history."""
    workspace = Workspace(root)
    with operation(Context(workspace, Config(), Clock(dt.UTC, dt.datetime.fromisoformat(moment))), "tidy") as op:
        data = workspace.longterm.read_bytes()
        rewrite(op, workspace.longterm, data.replace(old.encode(), new.encode()), read=digest(data))


def edit(root: Path, old: str, new: str) -> None:
    """As an agent does that was told not to."""
    path = root / "MEMORY.md"
    path.write_text(path.read_text("utf8").replace(old, new), "utf8")


def restored(root: Path, moment: str = NOW) -> str:
    with Memory.open(root, now=moment) as memory:
        memory.flush_check(restore=True)
    return (root / "MEMORY.md").read_text("utf8")


@pytest.mark.parametrize("order", ["admit edit", "edit admit", "edit admit edit again", "admit edit admit again"])
def test_what_was_admitted_meanwhile_stays_when_an_agents_edit_is_taken_back(root: Path, order: str) -> None:
    with Memory.open(root, now=NOW) as memory:
        memory.flush(FULL, WINDOW)
    admitted = edited = 0
    for step in order.removesuffix(" again").split():
        if step == "admit":
            admitted += 1
            admit(root, "- PostgreSQL\n", f"- PostgreSQL\n- Admitted {admitted}\n")
        else:
            edited += 1
            edit(root, "- Ann\n", f"- Ann\n- Intruder {edited}\n")
    after = restored(root)
    assert "Intruder" not in after
    assert after.count("Admitted") == admitted
    assert after.replace("- Admitted 2\n", "").replace("- Admitted 1\n", "") == BEFORE


def test_what_was_taken_out_meanwhile_does_not_come_back(root: Path) -> None:
    with Memory.open(root, now=NOW) as memory:
        memory.flush(FULL, WINDOW)
    admit(root, "- Use pnpm\n", "")
    edit(root, "- Ann\n", "- Ann\n- Intruder\n")
    assert restored(root) == BEFORE.replace("- Use pnpm\n", "")


def test_what_was_written_before_the_prompts_in_the_same_second_is_not_written_twice(root: Path) -> None:
    admit(root, "- PostgreSQL\n", "- PostgreSQL\n- Admitted\n")
    with Memory.open(root, now=NOW) as memory:
        memory.flush(FULL, WINDOW)
    edit(root, "- Ann\n", "- Eve\n")
    assert restored(root) == BEFORE.replace("- PostgreSQL\n", "- PostgreSQL\n- Admitted\n")


def test_where_both_changed_the_same_lines_nothing_is_taken_back(root: Path) -> None:
    with Memory.open(root, now=NOW) as memory:
        memory.flush(FULL, WINDOW)
    edit(root, "- PostgreSQL\n", "- MySQL\n")
    admit(root, "- MySQL\n", "- MySQL 8\n")
    edit(root, "- Ann\n", "- Eve\n")
    with Memory.open(root, now=NOW) as memory:
        assert [one.command for one in memory.flush_check()[0].touched] == [""]
    assert "- MySQL 8\n" in restored(root)
