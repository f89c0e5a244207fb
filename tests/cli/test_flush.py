"""nacre flush as a hook calls it, and as a user types it."""

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
NEARLY_FULL = ("--tokens", "176000", "--window", "200000")


@pytest.fixture
def nacre(tmp_path: Path) -> Nacre:
    def command(*arguments: str, pipe: str = "", **env: str) -> Done:
        given = {"NACRE_WORKSPACE": str(tmp_path), "NACRE_LANGUAGE": "en", "NACRE_NOW": "2026-02-14T15:30:00+00:00"}
        return forked.run(arguments, env={**os.environ, **given, "NACRE_TIMEZONE": "UTC", **env}, input=pipe)

    assert command("init").returncode == 0
    return command


def test_below_the_threshold_only_a_note_is_given(nacre: Nacre) -> None:
    done = nacre("flush", "--tokens", "1000", "--window", "200000")
    assert (done.returncode, done.stdout) == (0, "")
    assert "starts at 176000" in done.stderr
    told = json.loads(nacre("flush", "--tokens", "1000", "--window", "200000", "--json").stdout)
    assert (told["due"], told["code"]) == (False, "below")
    assert told["reason"]


def test_when_it_is_due_the_prompts_are_printed_once(nacre: Nacre) -> None:
    told = json.loads(nacre("flush", *NEARLY_FULL, "--json").stdout)
    assert (told["due"], told["path"], told["session"]) == (True, "memory/2026-02-14.md", "default")
    assert told["path"] in told["systemPrompt"]
    assert told["path"] in told["prompt"]
    assert json.loads(nacre("flush", *NEARLY_FULL, "--json").stdout)["due"] is False
    other = nacre("flush", *NEARLY_FULL, OPENCLAW_SESSION_ID="other")
    assert "System prompt" in other.stdout
    assert "NO_REPLY" in other.stdout
    assert "只读" in nacre("flush", *NEARLY_FULL, "--session", "third", NACRE_LANGUAGE="zh").stdout


def test_without_counts_the_prompts_are_shown_and_nothing_is_remembered(nacre: Nacre, tmp_path: Path) -> None:
    told = json.loads(nacre("flush", "--json").stdout)
    assert (told["due"], told["reserveTokens"], told["softThresholdTokens"]) == (False, 20000, 4000)
    assert "NO_REPLY" in told["prompt"]
    assert not (tmp_path / ".nacre" / "flush").exists()


def test_a_count_alone_is_a_mistake(nacre: Nacre) -> None:
    done = nacre("flush", "--tokens", "1")
    assert done.returncode == 2
    assert "--window is missing" in done.stderr
    assert nacre("flush", "--tokens", "-1", "--window", "1").returncode == 2


def test_switched_off_or_in_a_group_nothing_is_due(nacre: Nacre) -> None:
    for flags, env, code in (
        ((), {"NACRE_FLUSH_ENABLED": "false"}, "disabled"),
        (("--scope", "group:team"), {}, "group"),
    ):
        done = nacre("flush", *NEARLY_FULL, "--json", *flags, **env)
        assert done.returncode == 0
        assert json.loads(done.stdout)["code"] == code
    assert nacre("flush", "--answer", "- x", "--scope", "group:team").returncode == 2


def test_the_answer_comes_as_text_or_through_a_pipe(nacre: Nacre, tmp_path: Path) -> None:
    log = tmp_path / "memory" / "2026-02-14.md"
    assert nacre("flush", "--answer", "NO_REPLY").returncode == 0
    assert nacre("flush", "--answer", "- [PREF] x", "--dry-run").stdout == "- [PREF] x\n"
    assert not log.exists()
    done = nacre("flush", "--answer", "-", pipe="- [PREF] Use pnpm\n- 报告用 Typst\n")
    assert (done.returncode, done.stdout) == (0, "- [PREF] Use pnpm\n- 报告用 Typst\n")
    assert log.read_text("utf8") == "# 2026-02-14\n\n## 15:30 note | agent\n- [PREF] Use pnpm\n- 报告用 Typst\n"
    told = json.loads(nacre("flush", "--answer", "- [PREF] Use pnpm", "--json").stdout)
    assert (told["written"], told["already"]) == ([], 1)
    assert nacre("undo").returncode == 0
    assert not log.exists()


def test_more_lines_than_a_turn_may_write_are_told(nacre: Nacre) -> None:
    done = nacre("flush", "--answer", "-", "--json", pipe="\n".join(f"- fact {one}" for one in range(32)))
    assert done.returncode == 3
    assert json.loads(done.stdout)["left"] == ["fact 30", "fact 31"]
    assert "Not written: 2 lines, because" in done.stderr
