"""Claude Code's launcher never disturbs the agent."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

PLUGIN = Path(__file__).resolve().parents[2] / "src" / "nacre" / "plugins" / "claude-code"


def launched(home: Path, *arguments: str, plugin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    """The launcher of a plugin that lies in a folder of its own, unless it is named: this clone has an environment."""
    if not plugin:
        plugin = str(home / "plugin")
        shutil.copytree(PLUGIN, plugin, dirs_exist_ok=True)
    surroundings = {"HOME": str(home), "PATH": "/usr/bin:/bin", **env}
    return subprocess.run(
        ["sh", f"{plugin}/scripts/nacre.sh", *arguments],
        env=surroundings,
        input='{"a": 1}',
        capture_output=True,
        text=True,
        check=False,
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


def test_the_environment_of_the_clone_that_holds_the_plugin_is_tried_too(tmp_path: Path) -> None:
    clone = tmp_path / "a clone"
    plugin = clone / "src" / "nacre" / "plugins" / "claude-code"
    shutil.copytree(PLUGIN, plugin)
    program(clone / ".venv" / "bin" / "nacre", 'echo "$@"; cat')
    assert launched(tmp_path, "hook", "Stop", plugin=str(plugin)).stdout == 'hook Stop\n{"a": 1}\n'
    program(tmp_path / ".local" / "bin" / "nacre", "echo installed")
    assert launched(tmp_path, "hook", "Stop", plugin=str(plugin)).stdout == "installed\n"


def test_the_environment_of_the_clone_from_which_claude_code_copied_the_plugin_is_tried_too(tmp_path: Path) -> None:
    program(tmp_path / "a clone" / ".venv" / "bin" / "nacre", 'echo "$@"; cat')
    program(tmp_path / "other" / ".venv" / "bin" / "nacre", "echo of another marketplace")
    plugin = tmp_path / ".claude" / "plugins" / "cache" / "nacre" / "nacre" / "0.1.0"
    shutil.copytree(PLUGIN, plugin)
    known = {
        name: {"source": {"source": "directory", "path": str(place)}, "installLocation": str(place), "lastUpdated": ""}
        for name, place in (("other", tmp_path / "other"), ("nacre", tmp_path / "a clone"), ("z", tmp_path / "other"))
    }
    (tmp_path / ".claude" / "plugins" / "known_marketplaces.json").write_text(json.dumps(known, indent=2), "utf8")
    assert launched(tmp_path, "hook", "Stop", plugin=str(plugin)).stdout == 'hook Stop\n{"a": 1}\n'
    assert launched(tmp_path, "mcp", plugin=str(plugin)).stdout == 'mcp\n{"a": 1}'


def test_an_mcp_server_that_is_missing_says_what_to_do(tmp_path: Path) -> None:
    done = launched(tmp_path, "mcp")
    assert (done.returncode, done.stdout) == (127, "")
    assert "NACRE_COMMAND" in done.stderr
