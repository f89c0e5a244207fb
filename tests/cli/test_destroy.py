"""nacre destroy as a user types it."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

FACT = "The spare key lies under the blue flowerpot"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "ws"
    assert nacre(root, "init", str(root)).returncode == 0
    assert nacre(root, "remember", FACT).returncode == 0
    (root / "SOUL.md").write_text("be kind\n", "utf8")
    return root


def nacre(root: Path, *arguments: str, language: str = "en") -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "NACRE_WORKSPACE": str(root), "NACRE_LANGUAGE": language}
    command = [sys.executable, "-m", "nacre", *arguments]
    return subprocess.run(
        command, env=env, capture_output=True, text=True, encoding="utf8", check=False, stdin=subprocess.DEVNULL
    )


def test_where_nobody_can_be_asked_nothing_goes_without_yes(root: Path) -> None:
    done = nacre(root, "destroy")
    assert done.returncode == 2
    assert "--yes" in done.stderr
    assert (root / "MEMORY.md").exists()


def test_it_lists_what_goes_removes_it_and_proves_it(root: Path) -> None:
    shown = nacre(root, "destroy", "--dry-run")
    assert shown.returncode == 0
    assert "memory/\t" in shown.stdout
    assert "cannot be undone" in shown.stderr
    assert (root / "MEMORY.md").exists()
    done = nacre(root, "destroy", "--yes", "--purge", language="zh")
    assert done.returncode == 0
    assert "没有任何残留。" in done.stderr
    assert sorted(path.name for path in root.iterdir()) == [".gitignore", "SOUL.md"]


def test_words_that_remain_end_it_with_three(root: Path) -> None:
    (root / "SOUL.md").write_text(f"be kind\n{FACT}\n", "utf8")
    done = nacre(root, "destroy", "--yes", "--purge", "--json")
    assert done.returncode == 3
    told = json.loads(done.stdout)
    assert told["left"] == [{"path": "SOUL.md", "line": 2, "reason": "your own file: edit it yourself"}]


@pytest.mark.parametrize(("typed", "code"), [("ws", 0), ("other", 2)])
def test_on_a_terminal_its_name_must_be_typed(root: Path, typed: str, code: int) -> None:
    master, slave = pty.openpty()
    env = {**os.environ, "NACRE_WORKSPACE": str(root), "TERM": "dumb"}
    command = [sys.executable, "-m", "nacre", "destroy"]
    with subprocess.Popen(command, env=env, stdin=slave, stdout=subprocess.DEVNULL, stderr=slave) as child:
        os.close(slave)
        shown = b""
        while b'Type "ws"' not in shown:
            shown += os.read(master, 4096)
        os.write(master, typed.encode() + b"\n")
        assert child.wait() == code
    os.close(master)
    assert (root / "MEMORY.md").exists() is (code != 0)
