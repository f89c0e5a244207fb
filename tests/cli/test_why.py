"""nacre why as a user types it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from tests import forked
from tests.capture.talks import SESSION, Desk


def nacre(desk: Desk, *arguments: str, language: str = "en") -> subprocess.CompletedProcess[str]:
    given = {"HOME": str(desk.home), "NACRE_WORKSPACE": str(desk.workspace.root), "NACRE_TIMEZONE": "UTC"}
    given |= {"NACRE_MODELS_PATH": str(desk.home / "none"), "NACRE_NOW": "2026-03-02T12:00", "NACRE_LANGUAGE": language}
    return forked.run(arguments, env={**os.environ, **given})


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    made = Desk(tmp_path)
    made.claude(
        ("2026-03-02 09:00", "user", "Please move the shop api to v2 and keep the old endpoints for a month."),
        ("2026-03-02 09:10", "agent", "Done: the api is on v2, the old endpoints stay until April, 41 tests pass."),
        ("2026-03-02 09:12", "user", "From now on always use pnpm, never npm, in this repository."),
    )
    assert nacre(made, "init").returncode == 0
    assert nacre(made, "sync").returncode == 0
    return made


def place(desk: Desk) -> str:
    lines = desk.log("2026-03-02").splitlines()
    return f"memory/2026-03-02.md:{next(number for number, text in enumerate(lines, 1) if 'pnpm' in text)}"


def test_a_line_is_followed_to_what_was_said(desk: Desk) -> None:
    done = nacre(desk, "why", place(desk))
    assert done.returncode == 0
    assert f"  daily log  {place(desk)}  2026-03-02  09:12 session:61871d67" in done.stdout
    assert f"{SESSION}.jsonl  2026-03-02  claude-code {SESSION}" in done.stdout
    assert "      From now on always use pnpm, never npm, in this repository.\n" in done.stdout
    assert "  会话  " in nacre(desk, "why", place(desk), language="zh").stdout


def test_programs_get_the_same(desk: Desk) -> None:
    told = json.loads(nacre(desk, "why", place(desk), "--json").stdout)
    assert [link["kind"] for link in told["chain"]] == ["daily", "session", "message"]
    assert told["pinned"] is False
    assert told["ends"] is None


def test_what_is_not_there_is_said(desk: Desk) -> None:
    done = nacre(desk, "why", "0123456789")
    assert done.returncode == 1
    assert "Nothing in memory has the id 0123456789" in done.stderr


def test_what_is_not_there_or_is_no_entry_is_said(desk: Desk) -> None:
    said = {
        "nothing.md:99": "There is no file nothing.md.",
        "MEMORY.md:99": "There is no line 99: MEMORY.md has ",
        "MEMORY.md:3": "MEMORY.md:3 is not an entry",
    }
    for place, sentence in said.items():
        done = nacre(desk, "why", place)
        assert (done.returncode, done.stdout) == (1, "")
        assert sentence in done.stderr
