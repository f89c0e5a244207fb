"""nacre pin as a user types it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from tests import forked


def nacre(root: Path, *arguments: str, language: str = "en") -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "NACRE_WORKSPACE": str(root), "NACRE_LANGUAGE": language}
    return forked.run(arguments, env=env)


def test_an_entry_is_pinned_and_unpinned(tmp_path: Path) -> None:
    assert nacre(tmp_path, "init").returncode == 0
    (tmp_path / "MEMORY.md").write_text("# M\n\n## A\n- The gate code changes in May\n", "utf8")
    done = nacre(tmp_path, "pin", "MEMORY.md:4")
    assert (done.returncode, done.stdout) == (0, "MEMORY.md:4\tThe gate code changes in May\n")
    assert "Pinned." in done.stderr
    assert "Already pinned." in nacre(tmp_path, "pin", "MEMORY.md:4").stderr
    told = json.loads(nacre(tmp_path, "pin", "MEMORY.md:4", "--off", "--json").stdout)
    assert (told["pinned"], told["changed"]) == (False, True)
    assert "已固定。" in nacre(tmp_path, "pin", "MEMORY.md:4", language="zh").stderr


def test_a_line_of_a_log_cannot_be_pinned(tmp_path: Path) -> None:
    assert nacre(tmp_path, "init").returncode == 0
    (tmp_path / "memory" / "2026-03-18.md").write_text("- Rain all day\n", "utf8")
    done = nacre(tmp_path, "pin", "memory/2026-03-18.md:1")
    assert done.returncode == 2
    assert "Only entries in a MEMORY.md" in done.stderr
