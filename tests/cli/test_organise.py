"""nacre organise as a user types it, and as a program calls it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests import forked

from nacre.cli.main import run

Done = subprocess.CompletedProcess[str]
Nacre = Callable[..., Done]
NOW = "2031-03-20T10:00:00+00:00"
TALK = "# Payment retries\n\nWe decided to retry three times. The timeout is 30 seconds.\n"
CHINESE_TALK = "# 支付重试\n\n我们决定支付接口最多重试三次。超时时间是三十秒。\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "ws"


@pytest.fixture
def nacre(root: Path) -> Nacre:
    def command(*arguments: str, **env: str) -> Done:
        given = {"NACRE_WORKSPACE": str(root), "NACRE_MODELS_PATH": str(root.parent / "none"), "NACRE_NOW": NOW}
        return forked.run(arguments, env={**os.environ, "TZ": "UTC", **given, **env})

    assert command("init").returncode == 0
    return command


def put(root: Path, place: str, text: str = TALK) -> None:
    path = root / "memory_fs" / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf8")


def places(root: Path) -> list[str]:
    top = root / "memory_fs"
    return sorted(path.relative_to(top).as_posix() for path in top.rglob("*.md"))


@pytest.mark.parametrize(("language", "sentence"), [("en", "Nothing to organise.\n"), ("zh", "没有需要整理的内容。\n")])
def test_nothing_to_do_is_one_sentence(nacre: Nacre, language: str, sentence: str) -> None:
    done = nacre("organise", NACRE_LANGUAGE=language)
    assert (done.returncode, done.stdout, done.stderr) == (0, sentence, "")


def test_the_layers_before_and_after_are_told_and_undo_brings_all_back(nacre: Nacre, root: Path) -> None:
    put(root, "hot/2031-03-20-0600-a.md")
    put(root, "hot/2031-03-12-0600-b.md", CHINESE_TALK)
    put(root, "warm/2031-02-12-0600-c.md")
    before = places(root)
    done = nacre("organise")
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        "       hot  2 → 0\n      warm  1 → 1\n      gist  0 → 1\n forgotten  0 → 1\n"
        "Organised: 1 forgotten, 1 summarised, 2 moved.\n"
    )
    gist = (root / "memory_fs/gist/2031-03-12-0600-b.md").read_text("utf8")
    assert gist.startswith("# 支付重试\n\n标签: ")
    assert "三次" in gist
    assert nacre("organise").stdout == "Nothing to organise.\n"
    assert nacre("undo").returncode == 0
    assert places(root) == before


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_dry_run_gives_a_reason_for_every_step_and_writes_nothing(nacre: Nacre, root: Path, language: str) -> None:
    put(root, "hot/2031-03-20-0600-a.md")
    put(root, "forgotten/2031-01-12-0600-c.md")
    counts = root / "refcount.json"
    counts.write_text('{"forgotten/2031-01-12-0600-c.md": {"forgotten": 1925000000}}', "utf8")
    before = counts.read_bytes(), places(root)
    done = nacre("organise", "--dry-run", NACRE_LANGUAGE=language)
    assert done.returncode == 0
    first, reason, *_ = done.stdout.splitlines()
    assert first.split() == ["delete" if language == "en" else "删除", "memory_fs/forgotten/2031-01-12-0600-c.md"]
    assert "tiers.delete_after" in reason
    last = "Dry run: 1 deleted, 1 moved." if language == "en" else "试运行：删除 1，移动 1。"
    assert done.stdout.splitlines()[-1] == last
    told = json.loads(nacre("organise", "--dry-run", "--json", NACRE_LANGUAGE=language).stdout)
    assert told["dryRun"] is True
    assert [step["action"] for step in told["steps"]] == ["delete", "move"]
    assert told["steps"][1]["to"] == "memory_fs/warm/2031-03-20-0600-a.md"
    assert all(step["reason"] for step in told["steps"])
    assert (told["before"], told["after"]["warm"]) == ({"hot": 1, "warm": 0, "gist": 0, "forgotten": 1}, 1)
    assert (counts.read_bytes(), places(root)) == before


def test_what_had_to_be_left_is_told_with_exit_code_three(nacre: Nacre, root: Path) -> None:
    put(root, "hot/2031-03-20-0600-a.md")
    (root / "memory_fs/hot/b.md").symlink_to("/etc/hosts")
    done = nacre("organise", "-v")
    assert done.returncode == 3
    assert "memory_fs/hot/b.md is a link" in done.stderr
    assert places(root) == ["hot/b.md", "warm/2031-03-20-0600-a.md"]
    (root / "refcount.json").write_text("{", "utf8")
    done = nacre("organise", NACRE_LANGUAGE="zh")
    assert done.returncode == 3
    assert "没有整理任何内容" in done.stderr
    assert (root / "refcount.json").read_text("utf8") == "{"


def test_it_is_not_for_groups(nacre: Nacre) -> None:
    assert nacre("organise", "--scope", "group:team").returncode == 2


def test_help_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["organise", "--help"]) == 0
    assert "Example:  nacre organise --dry-run" in capsys.readouterr().out
