from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests import forked
from tests.talks import ClaudeTalk

Nacre = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def nacre(tmp_path: Path) -> Nacre:
    """Runs the program in a process of its own, in a home with one talk, without embedding models."""
    home = tmp_path / "home"
    ClaudeTalk(home, "aaaa").say("The ferry to Helsinki leaves at nine").answer("Noted: nine.")

    def run(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        kept = {name: value for name, value in os.environ.items() if name not in ("CLAUDE_CONFIG_DIR", "CODEX_HOME")}
        own = {"HOME": str(home), "NACRE_MODELS_PATH": str(tmp_path / "none"), "NACRE_TIMEZONE": "UTC"}
        own["NACRE_WORKSPACE"] = str(tmp_path / "ws")
        surroundings = {**kept, **own, **env}
        return forked.run(arguments, env=surroundings, cwd=tmp_path)

    assert run("init").returncode == 0
    return run


def test_sessions_are_searched_once_the_setting_is_on(nacre: Nacre) -> None:
    refused = nacre("search", "ferry", "--corpus", "sessions")
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1
    assert "nacre config set --user index.sessions true" in refused.stderr
    assert json.loads(nacre("status", "--json").stdout)["sessions"] is None
    assert nacre("config", "set", "--user", "index.sessions", "true").returncode == 0
    found = json.loads(nacre("search", "when does the ferry leave", "--corpus", "sessions", "--json").stdout)
    (hit, *_) = found["results"]
    assert (hit["source"], hit["layer"], hit["snippet"]) == (
        "sessions",
        "session",
        "The ferry to Helsinki leaves at nine",
    )
    assert hit["provenance"]["speaker"] == "owner"
    shown = nacre("get", f"{hit['path']}:{hit['startLine']}", "-l", "2")
    assert shown.stdout == "## 2026-03-02 12:00 Owner\nThe ferry to Helsinki leaves at nine\n"
    assert nacre("search", "ferry Helsinki").stdout == ""
    assert json.loads(nacre("status", "--json").stdout)["sessions"] == {"sessions": 1, "messages": 2}
    assert "1 indexed, 2 messages" in nacre("status", "--all").stdout
    group = nacre("search", "ferry", "--corpus", "sessions", "--scope", "group:team")
    assert (group.returncode, group.stdout) == (0, "")
    assert nacre("get", hit["path"], "--scope", "group:team").returncode == 1
    assert nacre("search", "ferry", "--corpus", "sessions", "--now", "2026-03-01").stdout == ""


def test_index_and_update_bring_sessions_up_to_date(nacre: Nacre) -> None:
    on = {"NACRE_INDEX_SESSIONS": "true"}
    assert json.loads(nacre("index", "--json", "--dry-run", **on).stdout)["filesToRead"] >= 1
    assert "1 session, 1 changed, 0 removed." in nacre("update", **on).stdout
    made = json.loads(nacre("index", "--json", **on).stdout)
    assert made["sessions"] == {"sessions": 1, "changed": 0, "removed": 0, "unreadable": []}
    assert json.loads(nacre("index", "--json").stdout)["sessions"] is None
