"""nacre wal as a user types it."""

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
NOW = "2026-03-28T14:05+00:00"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "ws"


@pytest.fixture
def nacre(root: Path) -> Nacre:
    def run(*arguments: str, stdin: str = "", **env: str) -> Done:
        surroundings = {**os.environ, "NACRE_WORKSPACE": str(root), "NACRE_NOW": NOW, "NACRE_TIMEZONE": "UTC", **env}
        return forked.run(arguments, env=surroundings, input=stdin)

    assert run("init").returncode == 0
    return run


def test_every_verb_writes_its_section(nacre: Nacre, root: Path) -> None:
    told = nacre("wal", "decide", "chose", "PostgreSQL", "over", "MySQL")
    assert (told.returncode, told.stdout) == (0, "[14:05] chose PostgreSQL over MySQL\n")
    assert told.stderr == "Written to SESSION-STATE.md.\n"
    for arguments in (
        ("task", "Move the API"),
        ("context", "deadline", "31 March"),
        ("pending", "Ask Ann"),
        ("blocker", "VPN"),
    ):
        assert nacre("wal", *arguments).returncode == 0
    assert json.loads(nacre("wal", "get", "--json").stdout) == {
        "task": "Move the API",
        "context": [{"key": "deadline", "value": "31 March"}],
        "decisions": [{"at": "2026-03-28 14:05", "text": "chose PostgreSQL over MySQL"}],
        "pending": ["Ask Ann"],
        "blockers": ["VPN"],
    }
    assert nacre("wal", "get").stdout == (root / "SESSION-STATE.md").read_text("utf8")
    assert nacre("wal", "get", "decisions").stdout == "- [14:05] chose PostgreSQL over MySQL\n"
    assert nacre("wal", "get", "待办").stdout == "- [ ] Ask Ann\n"
    assert json.loads(nacre("wal", "get", "blockers", "--json").stdout) == {"blockers": ["VPN"]}
    assert nacre("wal", "get", "nonsense").returncode == 2
    assert nacre("wal", "done", "1").stdout == "Ask Ann\n"
    assert nacre("wal", "blocker", "--clear", "1").stdout == "VPN\n"
    assert nacre("wal", "done").stdout == "Move the API\n"
    assert "No task is set." in nacre("wal", "done").stderr
    log = (root / "memory" / "2026-03-28.md").read_text("utf8")
    assert log.splitlines()[2:] == [
        "## 14:05 note | agent", "- [Task] Done: Ask Ann", "- [Task] No longer blocked: VPN", "- [Task] Done: Move the API",
    ]  # fmt: skip


def test_a_blocker_is_cleared_by_its_words_on_either_side(nacre: Nacre) -> None:
    nacre("wal", "blocker", "No access to staging")
    nacre("wal", "blocker", "VPN is down")
    assert nacre("wal", "blocker", "VPN is down", "--clear").stdout == "VPN is down\n"
    assert nacre("wal", "blocker", "--clear", "no", "access").stdout == "No access to staging\n"
    assert nacre("wal", "blocker").returncode == 2


def test_undo_takes_a_change_back(nacre: Nacre, root: Path) -> None:
    nacre("wal", "task", "first")
    before = (root / "SESSION-STATE.md").read_bytes()
    nacre("wal", "pending", "-", stdin="from\na pipe\n")
    assert b"- [ ] from a pipe\n" in (root / "SESSION-STATE.md").read_bytes()
    nacre("wal", "done", "1")
    assert nacre("undo", "--last", "2", "--yes").returncode == 0
    assert (root / "SESSION-STATE.md").read_bytes() == before
    assert not (root / "memory" / "2026-03-28.md").exists()
    assert json.loads(nacre("history", "--json").stdout)[-3]["command"] == "wal pending"


def test_a_secret_is_refused_and_nothing_is_written(nacre: Nacre, root: Path) -> None:
    for arguments in (("decide", "the password is Xk29dja8Qw"), ("context", "password", "Xk29dja8Qw")):
        done = nacre("wal", *arguments)
        assert (done.returncode, done.stdout) == (13, "")
        assert "Xk29dja8Qw" not in done.stderr
    assert not (root / "SESSION-STATE.md").exists()


def test_a_dry_run_shows_and_writes_nothing(nacre: Nacre, root: Path) -> None:
    told = json.loads(nacre("wal", "decide", "x", "--dry-run", "--json").stdout)
    assert (told["text"], told["changed"], told["dryRun"]) == ("[14:05] x", False, True)
    assert "would be changed" in nacre("wal", "task", "x", "--dry-run").stderr
    assert not (root / "SESSION-STATE.md").exists()
    assert "no working memory yet" in nacre("wal", "get").stderr


def test_snapshots_are_listed_restored_and_not_found_by_search(nacre: Nacre) -> None:
    nacre("wal", "task", "Move the heron archive")
    kept = nacre("wal", "snapshot", "before")
    assert kept.stdout == "memory/archive/SESSION-STATE.md.bak-2026-03-28-140500-before\n"
    nacre("wal", "task", "Something else")
    assert json.loads(nacre("wal", "snapshot", "--list", "--json").stdout)[0]["name"] == "before"
    assert "restored\tSESSION-STATE.md" in nacre("wal", "restore").stderr
    assert nacre("wal", "get", "task").stdout == "Move the heron archive\n"
    assert nacre("undo").returncode == 0
    assert nacre("wal", "get", "task").stdout == "Something else\n"
    found = json.loads(nacre("search", "heron archive", "--json", "--mode", "text", "--min-score", "0").stdout)
    assert found["results"] == []


def test_a_group_reads_and_writes_nothing_of_it(nacre: Nacre, root: Path) -> None:
    nacre("wal", "task", "private plan")
    before = (root / "SESSION-STATE.md").read_bytes()
    for arguments in (("get",), ("task", "x"), ("snapshot",), ("restore",), ("decide", "x")):
        done = nacre("--scope", "group:team", "wal", *arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert "private plan" not in done.stderr
    assert (root / "SESSION-STATE.md").read_bytes() == before


def test_sentences_are_chinese_where_the_user_speaks_it(nacre: Nacre) -> None:
    told = nacre("wal", "decide", "数据库选用 PostgreSQL", NACRE_LANGUAGE="zh")
    assert (told.stdout, told.stderr) == ("[14:05] 数据库选用 PostgreSQL\n", "已写入 SESSION-STATE.md。\n")
    assert nacre("wal", "get", "近期决策", NACRE_LANGUAGE="zh").stdout == "- [14:05] 数据库选用 PostgreSQL\n"
    assert "未保存" in nacre("wal", "task", "密码是 Xk29dja8Qw", NACRE_LANGUAGE="zh").stderr
    assert "没有“无关”" in nacre("wal", "done", "无关", NACRE_LANGUAGE="zh").stderr
