"""nacre recall as a user types it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from tests import forked

NOTES = "# Payment retries\n\nThe retry policy for payments: exponential backoff, at most five attempts.\n"
CHINESE = "# 支付接口\n\n支付接口的重试策略：指数退避，最多五次。\n"


def nacre(root: Path, *arguments: str, language: str = "en") -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "NACRE_WORKSPACE": str(root), "NACRE_LANGUAGE": language}
    return forked.run([*arguments, "--now", "2026-05-20T12:00:00+00:00"], env=env)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    assert nacre(tmp_path, "init").returncode == 0
    return tmp_path


def checkpoint(root: Path, place: str, text: str) -> Path:
    path = root / "memory_fs" / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf8")
    return path


def test_what_is_found_is_shown_with_place_confidence_and_lines_and_moves(root: Path) -> None:
    old = checkpoint(root, "warm/pay.md", NOTES)
    done = nacre(root, "recall", "what", "is", "our", "retry", "policy", "for", "payments?")
    assert done.returncode == 0
    assert "memory_fs/hot/pay.md  warm  confidence high (0.9)  Payment retries" in done.stdout
    assert "exponential backoff" in done.stdout
    assert "was moved" in done.stderr
    assert not old.exists()
    assert nacre(root, "undo").returncode == 0
    assert old.read_text("utf8") == NOTES


def test_chinese_is_answered_in_chinese(root: Path) -> None:
    checkpoint(root, "forgotten/pay.md", CHINESE)
    done = nacre(root, "recall", "支付接口的重试策略是什么", language="zh")
    assert "置信度极低（0.2）" in done.stdout
    assert "指数退避" in done.stdout
    assert "快被遗忘的记忆" in done.stderr
    assert "找回" in done.stderr


def test_a_dry_run_shows_the_answer_and_moves_nothing(root: Path) -> None:
    old = checkpoint(root, "warm/pay.md", NOTES)
    done = nacre(root, "recall", "retry policy for payments", "--dry-run")
    assert done.stdout.startswith("memory_fs/warm/pay.md")
    assert "nothing was moved" in done.stderr
    assert old.exists()
    assert not (root / "memory" / "recalls.jsonl").exists()


def test_json_tells_everything(root: Path) -> None:
    checkpoint(root, "warm/pay.md", NOTES)
    told = json.loads(nacre(root, "recall", "retry policy for payments", "--json").stdout)
    (one,) = told["results"]
    assert (told["layer"], told["narrowed"]) == ("warm", 0)
    assert set(told["words"]) == {"retry", "policy", "payments"}
    assert (one["path"], one["was"], one["opened"]) == ("memory_fs/hot/pay.md", "memory_fs/warm/pay.md", None)
    assert (one["confidence"], one["certainty"]) == (0.9, "high")
    assert one["passages"][0]["startLine"] <= 3 <= one["passages"][0]["endLine"]


def test_nothing_found_is_said_honestly_and_fails(root: Path) -> None:
    done = nacre(root, "recall", "the chess tournament in Reykjavik")
    assert (done.returncode, done.stdout) == (1, "")
    for wanted in ("never recorded", "30 days", "chess"):
        assert wanted in done.stderr
    done = nacre(root, "recall", "the chess tournament in Reykjavik", "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["results"] == []


def test_a_group_is_refused_and_so_is_a_question_about_nothing(root: Path) -> None:
    checkpoint(root, "hot/pay.md", NOTES)
    done = nacre(root, "recall", "retry policy for payments", "--scope", "group:team")
    assert (done.returncode, done.stdout) == (2, "")
    done = nacre(root, "recall", "what did we say?")
    assert done.returncode == 2
    assert "nothing to search for" in done.stderr
