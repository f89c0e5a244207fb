"""What was forgotten is not learned again from the transcripts that still hold it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.capture.talks import Desk
from tests.forget.conftest import take

from nacre.memory import Memory

NOW = "2026-03-02T12:00"
SAID = (
    ("2026-03-02 09:00", "user", "Please move the shop api to v2 and keep the old endpoints for a month."),
    ("2026-03-02 09:10", "agent", "Done: the api is on v2, the old endpoints stay until April, 41 tests pass."),
    ("2026-03-02 09:12", "user", "From now on always use pnpm, never npm, in this repository."),
    ("2026-03-02 09:20", "user", "Maria from billing needs the report by Friday."),
)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NACRE_TIMEZONE", "UTC")
    made = Desk(tmp_path)
    made.claude(*SAID)
    return made


def test_a_bullet_that_was_forgotten_is_not_captured_again(desk: Desk) -> None:
    with Memory.init(desk.workspace.root, now=NOW) as memory:
        memory.sync(since="all")
        line = next(number for number, text in enumerate(desk.log("2026-03-02").splitlines(), 1) if "pnpm" in text)
        memory.forget(f"memory/2026-03-02.md:{line}", choose=take)
        before = desk.log("2026-03-02")
        assert "pnpm" not in before
        assert "Maria" in before
        desk.workspace.cursors.unlink()
        (desk.workspace.memory / "2026-03-02.md").unlink()
        memory.sync(since="all")
    again = desk.log("2026-03-02")
    assert "pnpm" not in again
    assert "Maria" in again


def test_extract_passes_over_what_was_forgotten(desk: Desk) -> None:
    said = "From now on always use pnpm, never npm, in this repository."
    with Memory.init(desk.workspace.root, now=NOW) as memory:
        (bullet,) = memory.extract(said)
        entry = memory.remember(bullet.text, bullet.type)
        memory.forget(f"{entry.path}:{entry.line}", choose=take)
        assert memory.extract(said, write=True) == []
        memory.remember(bullet.text, bullet.type)
        assert memory.extract(said) == [bullet]
