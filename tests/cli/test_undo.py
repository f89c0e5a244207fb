"""undo as a user types it: by the number that history shows, several only after a yes, and every undo taken back."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from tests.capture.talks import Desk
from tests.cli.test_capture import SAID, Done, Nacre


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    desk = Desk(tmp_path)
    desk.claude(*SAID, cwd="/work/shop-api")
    return desk


@pytest.fixture
def nacre(desk: Desk) -> Nacre:
    def run(*arguments: str, **env: str) -> Done:
        return subprocess.run(
            _command(*arguments), env=_surroundings(desk) | env, capture_output=True, text=True, check=False
        )

    assert run("init").returncode == 0
    return run


def _command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "nacre", *arguments]


def _surroundings(desk: Desk) -> dict[str, str]:
    given = {"HOME": str(desk.home), "NACRE_WORKSPACE": str(desk.workspace.root), "NACRE_TIMEZONE": "UTC"}
    return {**os.environ, **given, "NACRE_MODELS_PATH": str(desk.home / "none"), "NACRE_NOW": "2026-03-02T12:00"}


def files(desk: Desk) -> dict[str, bytes]:
    root = desk.workspace.root
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and ".nacre" not in path.relative_to(root).parts
    }


def test_an_undo_of_capture_and_tidying_is_taken_back_to_the_byte(nacre: Nacre, desk: Desk) -> None:
    at_first = files(desk)
    assert nacre("sync").returncode == 0
    assert nacre("tidy").returncode == 0
    before = files(desk)
    assert nacre("undo", "--last", "2", "--yes").returncode == 0
    assert files(desk).keys() - {"memory/trail.jsonl"} == at_first.keys()
    done = nacre("undo", "--only", "4")
    assert (done.returncode, done.stderr) == (0, "")
    assert files(desk) == before


def test_each_operation_is_taken_back_by_its_number_and_brought_back_by_that_of_its_undo(
    nacre: Nacre, desk: Desk
) -> None:
    assert nacre("sync").returncode == 0
    assert nacre("tidy").returncode == 0
    before = files(desk)
    assert nacre("undo", "2").returncode == 0
    assert b"pnpm" not in files(desk).get("memory/2026-03-02.md", b"")
    assert nacre("undo", "3").returncode == 0
    refused = nacre("undo", "3")
    assert refused.returncode == 2
    assert 'already been undone by operation 5; "nacre undo 5"' in refused.stderr
    assert nacre("undo", "5").returncode == 0
    assert nacre("undo", "4").returncode == 0
    assert files(desk) == before


def test_a_number_that_history_does_not_show_takes_nothing_back(nacre: Nacre, desk: Desk) -> None:
    for text in ("The ferry leaves at nine", "Anna sits in Utrecht"):
        nacre("remember", text)
    before = files(desk)
    done = nacre("undo", "999")
    assert (done.returncode, done.stdout) == (1, "")
    assert "There is no operation 999" in done.stderr
    assert nacre("undo", "2", "--last", "2").returncode == 2
    assert files(desk) == before


def test_without_a_number_the_last_operation_that_still_stands_goes(nacre: Nacre, desk: Desk) -> None:
    for text in ("The ferry leaves at nine", "Anna sits in Utrecht"):
        nacre("remember", text)
    assert json.loads(nacre("undo", "--json").stdout)["undoes"] == [3]
    assert json.loads(nacre("undo", "--json").stdout)["undoes"] == [2]
    assert nacre("undo").returncode == 1


def test_what_was_purged_cannot_be_undone_and_nothing_else_is_in_its_place(nacre: Nacre, desk: Desk) -> None:
    for text in ("The ferry leaves at nine", "Anna sits in Utrecht"):
        nacre("remember", text)
    assert nacre("forget", "Anna sits in Utrecht", "--purge").returncode == 0
    before = files(desk)
    done = nacre("undo")
    assert (done.returncode, done.stdout) == (1, "")
    assert "Operation 4 (forget) cannot be undone: what it changed was purged from history." in done.stderr
    assert "无法撤销" in nacre("undo", NACRE_LANGUAGE="zh").stderr
    assert "can be neither shown nor undone" in nacre("diff", "4").stderr
    assert files(desk) == before
    assert nacre("undo", "2").returncode == 0
    assert "ferry" not in "".join(map(str, files(desk).values()))


def test_an_undo_shows_the_lines_of_memory_that_come_and_go_and_not_our_own_files(nacre: Nacre, desk: Desk) -> None:
    assert nacre("sync").returncode == 0
    shown = nacre("undo", "--dry-run").stdout
    assert "remove  memory/2026-03-02.md\n" in shown
    assert "  - [PREF]" in shown
    assert shown.endswith("undo of operation 2 (sync)\n")
    assert "trail.jsonl" not in shown


def test_several_at_once_are_listed_and_need_a_yes(nacre: Nacre, desk: Desk) -> None:
    for text in ("The ferry leaves at nine", "Anna sits in Utrecht"):
        nacre("remember", text)
    before = files(desk)
    refused = nacre("undo", "--last", "9")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "--yes" in refused.stderr
    assert "--yes" in nacre("undo", "--last", "9", NACRE_LANGUAGE="zh").stderr
    assert json.loads(nacre("undo", "--last", "9", "--dry-run", "--json").stdout)["undoes"] == [3, 2]
    assert _at_a_terminal(desk, "n\n", "undo", "--last", "9") == 1
    assert files(desk) == before
    assert _at_a_terminal(desk, "y\n", "undo", "--last", "9") == 0
    assert "memory/2026-03-02.md" not in files(desk)
    assert nacre("undo", "4").returncode == 0
    assert files(desk) == before


def _at_a_terminal(desk: Desk, typed: str, *arguments: str) -> int:
    """The exit code of a command at which somebody sits."""
    master, slave = pty.openpty()
    with subprocess.Popen(
        _command(*arguments), env=_surroundings(desk), stdin=slave, stdout=slave, stderr=slave
    ) as ran:
        os.close(slave)
        os.write(master, typed.encode())
        shown = b""
        try:
            while part := os.read(master, 4096):
                shown += part
        except OSError:
            pass  # the other end is closed
    os.close(master)
    assert b"Undo these 2 operations?" in shown
    return ran.returncode
