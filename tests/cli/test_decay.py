"""nacre decay as a user types it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests import forked

Done = subprocess.CompletedProcess[str]
Nacre = Callable[..., Done]
RULE = "Use pnpm, never npm, in every repository"


@pytest.fixture
def nacre(tmp_path: Path) -> Nacre:
    def command(*arguments: str, **env: str) -> Done:
        given = {"NACRE_WORKSPACE": str(tmp_path), "NACRE_MODELS_PATH": str(tmp_path / "none"), "NACRE_LANGUAGE": "en"}
        return forked.run(arguments, env={**os.environ, **given, "NACRE_NOW": "2026-03-20T03:00", **env})

    assert command("init").returncode == 0
    log = tmp_path / "memory" / "2025-12-01.md"
    log.write_text(f"# 2025-12-01\n\n## 14:05 session:61871d67 | 12 messages\n- {RULE}\n- [TEMP] rain\n", "utf8")
    return command


def test_the_weekly_profile_is_named_and_what_decay_would_do(nacre: Nacre, tmp_path: Path) -> None:
    done = nacre("decay")
    assert (done.returncode, done.stdout) == (2, "")
    assert "archive 1 of them" in done.stderr
    shown = nacre("decay", "--dry-run")
    assert shown.returncode == 0
    assert 'tidy.retention is "weekly"' in shown.stderr
    assert "memory/archive/2025-12/2025-12-01.md" in shown.stdout
    assert shown.stdout.endswith("memory-decay dry run: 1 promoted, 1 skipped as temporary, 1 archived.\n")
    assert (tmp_path / "memory" / "2025-12-01.md").exists()
    assert "归档其中 1 个" in nacre("decay", NACRE_LANGUAGE="zh").stderr


def test_decay_promotes_archives_and_is_undone(nacre: Nacre, tmp_path: Path) -> None:
    assert nacre("config", "set", "tidy.retention", "decay").returncode == 0
    told = json.loads(nacre("decay", "--promote-only", "--json").stdout)
    assert (told["changed"], told["inForce"], told["counts"]["promote add"]) == (True, True, 1)
    assert RULE in (tmp_path / "MEMORY.md").read_text("utf8")
    done = nacre("decay")
    assert (done.returncode, done.stdout) == (0, "memory-decay done: 1 archived.\n")
    assert "Daily logs older than 90 days: 1" in done.stderr
    assert nacre("decay").stdout == "memory-decay done, nothing changed.\n"
    assert RULE in nacre("search", "pnpm npm").stdout
    assert nacre("undo", "--last", "2", "--yes").returncode == 0
    assert (tmp_path / "memory" / "2025-12-01.md").exists()
    assert RULE not in (tmp_path / "MEMORY.md").read_text("utf8")


def test_compressed_logs_can_be_read_and_shown_in_history(nacre: Nacre, tmp_path: Path) -> None:
    chosen = {"NACRE_TIDY_RETENTION": "decay", "NACRE_ARCHIVE_COMPRESS": "true"}
    assert nacre("decay", **chosen).returncode == 0
    assert RULE in nacre("get", "memory/archive/2025-12/2025-12-01.md.gz").stdout
    assert nacre("diff").returncode == 0
    (tmp_path / "memory" / "archive" / "2025-12" / "2025-12-01.md.gz").write_bytes(b"junk")
    done = nacre("get", "memory/archive/2025-12/2025-12-01.md.gz")
    assert done.returncode == 1
    assert "damaged" in done.stderr


def test_a_group_may_not_decay(nacre: Nacre) -> None:
    assert nacre("decay", "--scope", "group:team").returncode == 2
