"""nacre status on one screen, and what a terminal shows of tables and colours."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import sys
from pathlib import Path

import pytest
from tests import forked

from nacre.cli import ui
from nacre.text.layout import width_of

LINES = [
    "Prices for companies are always quoted without VAT",
    "Prices for companies are always quoted without VAT",
    "It is the one with the blue door",
    "Yes, that is right",
]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "ws"
    run(root, "init")
    entries = "".join(f"- {line}\n" for line in LINES)
    (root / "MEMORY.md").write_text(f"# Long-Term Memory\n\n## Key Decisions\n{entries}", encoding="utf8")
    return root


def environment(root: Path, **env: str) -> dict[str, str]:
    places = {"NACRE_WORKSPACE": str(root), "NACRE_MODELS_PATH": str(root / "none"), "NACRE_NOW": "2026-03-16T09:00"}
    return {**os.environ, **places, "NACRE_NO_DAEMON": "1", "COLUMNS": "80", "TERM": "xterm", **env}


def run(root: Path, *arguments: str, **env: str) -> str:
    return forked.run(arguments, check=True, env=environment(root, **env)).stdout


def at_terminal(root: Path, *arguments: str, **env: str) -> str:
    """What a command prints where its stdout is a terminal."""
    mine, terminal = pty.openpty()
    command = [sys.executable, "-m", "nacre", *arguments]
    child = subprocess.Popen(command, stdout=terminal, stderr=subprocess.DEVNULL, env=environment(root, **env))
    os.close(terminal)
    shown = b""
    while select.select([mine], [], [], 60)[0]:
        try:
            part = os.read(mine, 65536)
        except OSError:  # the terminal is gone with the program
            break
        shown += part
        if not part:
            break
    os.close(mine)
    assert child.wait() == 0
    return shown.decode().replace("\r\n", "\n")


def bare(screen: str) -> list[str]:
    return re.sub(r"\x1b\[[\d;]*m", "", screen).splitlines()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_status_fits_one_screen_with_two_problems_and_their_remedies(workspace: Path, language: str) -> None:
    screen = at_terminal(workspace, "status", NACRE_LANGUAGE=language)
    lines = bare(screen)
    assert len(lines) <= 24
    assert max(map(width_of, lines)) <= 80
    assert "█" in screen
    remedies = [line for line in lines if line.startswith("    → ")]
    assert len(remedies) == 2
    assert "MEMORY.md" in remedies[0]  # one of two that say the same
    assert "nacre forget" not in screen
    assert "\x1b[" in screen
    assert "\x1b[" not in at_terminal(workspace, "status", NACRE_LANGUAGE=language, NO_COLOR="1")


def test_status_for_programs_is_plain_and_all_shows_the_rest(workspace: Path) -> None:
    plain = run(workspace, "status")
    assert "MEMORY.md\t9%, 7 of 80 lines\n" in plain
    assert "█" not in plain
    assert json.loads(run(workspace, "status", "--json"))["health"]["grade"] in "AB"
    everything = run(workspace, "status", "--all")
    assert "\nindex\t" in everything
    assert "it cannot be understood on its own" in everything
    assert "\nindex\t" in run(workspace, "status", "--deep")


def test_status_follows_what_changes_in_memory(workspace: Path) -> None:
    run(workspace, "index")
    before = run(workspace, "status")
    assert run(workspace, "status") == before
    assert "says the same as" in before
    (workspace / "MEMORY.md").write_text("# Long-Term Memory\n\n## Key Decisions\n- Quote prices without VAT\n", "utf8")
    assert "says the same as" not in run(workspace, "status")


def test_history_and_tables_fit_the_terminal(workspace: Path) -> None:
    run(workspace, "remember", "付款一律用银行转账，不刷卡", "--type", "PREF")
    for arguments in (("history",), ("config",), ("jobs", "list"), ("models", "list"), ("brain",)):
        for language in ("en", "zh"):
            lines = bare(at_terminal(workspace, *arguments, NACRE_LANGUAGE=language))
            assert max(map(width_of, lines)) <= 80, arguments


def test_a_bar_has_the_colour_of_what_it_means() -> None:
    assert [ui.bar(share).colour for share in (0.2, 0.95, 1.2)] == ["green", "yellow", "red"]
