"""nacre cache as a user types it."""

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


@pytest.fixture
def nacre(tmp_path: Path) -> Nacre:
    """Without any workspace."""

    def run(*arguments: str, stdin: str = "", **env: str) -> Done:
        surroundings = {**os.environ, "NACRE_CACHE_PATH": str(tmp_path / "cache"), **env}
        for name in ("CLAUDE_CODE_SESSION_ID", "CLAUDE_SESSION_ID"):
            surroundings.pop(name, None)
        return forked.run(arguments, env=surroundings | env, cwd=tmp_path, input=stdin)

    return run


def test_a_value_is_kept_for_one_session(nacre: Nacre) -> None:
    assert nacre("cache", "set", "branch", "feature/login", "--session", "a").returncode == 0
    assert nacre("cache", "get", "branch", "--session", "a").stdout == "feature/login\n"
    missing = nacre("cache", "get", "branch", "--session", "b")
    assert (missing.returncode, missing.stdout) == (1, "")
    assert "cache list" in missing.stderr


def test_the_session_comes_from_the_agents_surroundings(nacre: Nacre) -> None:
    assert nacre("cache", "set", "k", "openclaw", OPENCLAW_SESSION_ID="one").returncode == 0
    assert nacre("cache", "set", "k", "claude", CLAUDE_CODE_SESSION_ID="two").returncode == 0
    assert nacre("cache", "set", "k", "nobody").returncode == 0
    assert nacre("cache", "get", "k", "--session", "one").stdout == "openclaw\n"
    assert nacre("cache", "get", "k", "--session", "two").stdout == "claude\n"
    assert nacre("cache", "get", "k", "--session", "default").stdout == "nobody\n"


def test_it_is_listed_and_cleared(nacre: Nacre) -> None:
    now = "--now=2026-03-28T14:05+00:00"
    nacre("cache", "set", "a", "-", now, stdin="first\nsecond\n")
    nacre("cache", "set", "b", "2", now)
    assert [one["key"] for one in json.loads(nacre("cache", "list", "--json", now).stdout)] == ["a", "b"]
    assert json.loads(nacre("cache", "get", "a", "--json", now).stdout)["value"] == "first\nsecond\n"
    assert nacre("cache", "list", now).stdout.splitlines()[1].split("\t")[:2] == ["b", "1 B"]
    assert nacre("cache", "list", "--now=2026-03-30").stdout == ""
    assert json.loads(nacre("cache", "clear", "--dry-run", "--json", now).stdout)["cleared"] == ["a", "b"]
    assert nacre("cache", "clear", "a", now).stdout == "a\n"
    assert nacre("cache", "clear", now).stdout == "b\n"
    assert "Nothing to clear" in nacre("cache", "clear", now).stderr


def test_a_secret_is_refused_with_its_own_exit_code(nacre: Nacre, tmp_path: Path) -> None:
    done = nacre("cache", "set", "password", "Xk29dja8Qw")
    assert (done.returncode, done.stdout) == (13, "")
    assert "Xk29dja8Qw" not in done.stderr
    assert not (tmp_path / "cache").exists()


def test_a_group_has_none(nacre: Nacre) -> None:
    assert nacre("--scope", "group:team", "cache", "list").returncode == 2


def test_sentences_are_chinese_where_the_user_speaks_it(nacre: Nacre) -> None:
    assert "已为此会话缓存“分支”。" in nacre("cache", "set", "分支", "登录", NACRE_LANGUAGE="zh").stderr
    assert "此会话没有缓存“无”" in nacre("cache", "get", "无", NACRE_LANGUAGE="zh").stderr
