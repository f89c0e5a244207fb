"""What the night did is told on the desktop where there is one, and to the next session."""

from __future__ import annotations

from pathlib import Path

import pytest

from nacre.config.settings import Config, JobsSettings
from nacre.jobs.installer import Machine
from nacre.jobs.run import notify, run_due, runner_for
from nacre.memory import Memory, opened_at

LOG = "# 2026-03-02\n\n## 09:00 session:5e551011 | 4 messages\n- [PREF] Use pnpm, never npm, in every repository\n"


@pytest.fixture
def desktop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the desktop was told, one argument a line."""
    programs, told = tmp_path / "programs", tmp_path / "told"
    programs.mkdir()
    for name in ("notify-send", "osascript"):
        (programs / name).write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >{told}\n')
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    monkeypatch.setenv("DISPLAY", ":0")
    return told


def workspace(tmp_path: Path, config: Config | None = None) -> Memory:
    root = tmp_path / "workspace"
    Memory.init(root, now="2026-03-02T12:00").close()
    (root / "memory" / "2026-03-02.md").write_text(LOG, "utf8")
    opened = opened_at(root, "2026-03-03T03:05")
    return Memory(opened if config is None else opened.__class__(opened.workspace, config, opened.clock))


def test_a_night_that_kept_something_is_told_on_the_desktop_and_at_the_head_of_the_next_session(
    tmp_path: Path, desktop: Path
) -> None:
    with workspace(tmp_path) as memory:
        run_due(runner_for(memory), "memory-tidy")
        assert desktop.read_text("utf8").splitlines()[-2:] == ["Nacre", "Last night: 1 kept."]
        assert memory.context().text.splitlines()[1] == "> Last night: 1 kept."
    with Memory.open(tmp_path / "workspace", now="2026-03-04T09:00") as memory:
        assert "Last night" not in memory.context().text


def test_a_run_by_day_is_no_night(tmp_path: Path) -> None:
    with workspace(tmp_path), Memory.open(tmp_path / "workspace", now="2026-03-03T09:00") as memory:
        memory.tidy()
    with Memory.open(tmp_path / "workspace", now="2026-03-03T09:01") as memory:
        assert memory.context().text.splitlines()[1] == "> Last tidy, 1 minute ago: 1 kept."


def test_nothing_is_shown_when_it_is_switched_off_or_nothing_happened(tmp_path: Path, desktop: Path) -> None:
    with workspace(tmp_path, Config(timezone="UTC", jobs=JobsSettings(notify=False))) as memory:
        run_due(runner_for(memory), "memory-tidy")
    with Memory.open(tmp_path / "workspace", now="2026-03-04T03:05") as memory:
        run_due(runner_for(memory), "memory-tidy")
    assert not desktop.exists()


def test_a_machine_without_a_display_is_told_nothing(tmp_path: Path, desktop: Path) -> None:
    here = {"PATH": f"{tmp_path / 'programs'}:/usr/bin:/bin"}
    assert not notify(Machine(here, tmp_path, "linux", "python"), "one")
    assert not desktop.exists()
    assert notify(Machine(here, tmp_path, "darwin", "python"), 'a "quoted" word')
    assert desktop.read_text("utf8").splitlines()[-2:] == ['a "quoted" word', "Nacre"]
