"""Claude Code's launcher never disturbs the agent."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "src" / "nacre" / "plugins" / "claude-code" / "scripts" / "nacre.sh"


def launched(home: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    surroundings = {"HOME": str(home), "PATH": "/usr/bin:/bin", **env}
    return subprocess.run(
        ["sh", str(SCRIPT), *arguments], env=surroundings, input='{"a": 1}', capture_output=True, text=True, check=False
    )


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n", "utf8")
    path.chmod(0o755)
    return path


def test_without_nacre_a_hook_says_nothing_and_all_is_well(tmp_path: Path) -> None:
    done = launched(tmp_path, "hook", "Stop", "--agent", "claude-code")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_hook_that_fails_says_nothing_and_all_is_well(tmp_path: Path) -> None:
    failing = program(tmp_path / "nacre", "echo partial; echo trouble >&2; exit 2")
    done = launched(tmp_path, "hook", "Stop", NACRE_COMMAND=str(failing))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("place", ["named", "path", "home"])
def test_nacre_is_found_and_gets_what_the_agent_gave(tmp_path: Path, place: str) -> None:
    where = {
        "named": tmp_path / "x y" / "nacre",
        "path": tmp_path / "bin" / "nacre",
        "home": tmp_path / ".local/bin/nacre",
    }[place]
    program(where, 'echo "$@"; cat')
    env = {"named": {"NACRE_COMMAND": str(where)}, "path": {"PATH": f"{where.parent}:/usr/bin:/bin"}, "home": {}}[place]
    assert launched(tmp_path, "hook", "Stop", **env).stdout == 'hook Stop\n{"a": 1}\n'
    assert launched(tmp_path, "mcp", **env).stdout == 'mcp\n{"a": 1}'


def test_an_mcp_server_that_is_missing_says_what_to_do(tmp_path: Path) -> None:
    done = launched(tmp_path, "mcp")
    assert (done.returncode, done.stdout) == (127, "")
    assert "NACRE_COMMAND" in done.stderr
