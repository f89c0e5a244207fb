"""nacre destroy as a user types it."""

from __future__ import annotations

import datetime as dt
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from tests import forked
from tests.jobs.standins import World, world

from nacre.clock import Clock

FACT = "The spare key lies under the blue flowerpot"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "ws"
    assert nacre(root, "init", str(root)).returncode == 0
    assert nacre(root, "remember", FACT).returncode == 0
    (root / "SOUL.md").write_text("be kind\n", "utf8")
    return root


def nacre(root: Path, *arguments: str, language: str = "en", **more: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "NACRE_WORKSPACE": str(root), "NACRE_LANGUAGE": language, **more}
    return forked.run(arguments, env=env)


def test_where_nobody_can_be_asked_nothing_goes_without_yes(root: Path) -> None:
    done = nacre(root, "destroy")
    assert done.returncode == 2
    assert "--yes" in done.stderr
    assert (root / "MEMORY.md").exists()


def test_it_lists_what_goes_and_removes_it(root: Path) -> None:
    shown = nacre(root, "destroy", "--dry-run")
    assert shown.returncode == 0
    assert "memory/" in shown.stdout.splitlines()
    assert "cannot be undone" in shown.stderr
    assert (root / "MEMORY.md").exists()
    done = nacre(root, "destroy", "--yes", language="zh")
    assert done.returncode == 0
    assert "记忆已删除。" in done.stderr
    assert sorted(path.name for path in root.iterdir()) == [".gitignore", "SOUL.md"]


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


@pytest.fixture
def here(tmp_path: Path) -> World:
    """A machine whose schedulers are stand-ins, and a workspace with a memory."""
    here = world(tmp_path / "machine", tmp_path / "mine", Clock(dt.UTC))
    assert nacre(here.workspace.root, "remember", FACT).returncode == 0
    return here


@pytest.mark.parametrize(
    ("program", "kind", "said"),
    [
        ("systemctl", "systemd", "The jobs were removed from systemd, heartbeat."),
        ("crontab", "cron", "The jobs were removed from cron, heartbeat."),
    ],
)
def test_what_was_installed_to_run_its_jobs_is_taken_back_and_it_is_said(
    here: World, program: str, kind: str, said: str
) -> None:
    here.has(program)
    root, env = here.workspace.root, here.machine.env
    (here.kept / "crontab").write_bytes(b"5 4 * * * backup\n")
    (root / "HEARTBEAT.md").write_bytes(b"- water the plants\n")
    before = {name: data for name, data in here.everything().items() if not name.startswith(str(root / "memory"))}
    assert nacre(root, "jobs", "install", "--with", kind, "--heartbeat", **env).returncode == 0
    installed = here.everything()
    shown = nacre(root, "destroy", "--dry-run", **env)
    assert f"nacre@{here.setup.mark}.timer" in shown.stdout or "\ncrontab: " in shown.stdout
    assert "\nHEARTBEAT.md: " in shown.stdout
    assert here.everything() == installed
    done = nacre(root, "destroy", "--yes", **env)
    assert done.returncode == 0
    assert done.stderr.splitlines()[-2:] == [said, "The memory was deleted."]
    left = here.everything()
    assert left == {name: data for name, data in before.items() if name in left}
    assert (root / "HEARTBEAT.md").read_bytes() == b"- water the plants\n"
    assert here.crontab() == b"5 4 * * * backup\n"
    assert not list(here.home.rglob("nacre-*"))
    assert not (root / ".nacre").exists()


def test_what_nobody_installed_is_not_told_of(here: World) -> None:
    root = here.has("crontab").setup.memory.workspace.root
    done = nacre(root, "destroy", "--yes", "--json", **here.machine.env)
    assert json.loads(done.stdout)["jobsRemoved"] == []
    assert "taken back" not in done.stderr


def test_a_scheduler_that_does_not_let_go_ends_it_before_anything_is_removed(here: World) -> None:
    here.has("crontab")
    root, env = here.workspace.root, here.machine.env
    assert nacre(root, "jobs", "install", "--with", "cron", **env).returncode == 0
    here.fails("-r")
    done = nacre(root, "destroy", "--yes", **env)
    assert done.returncode == 1
    assert "something broke" in done.stderr
    assert (root / "MEMORY.md").exists()
    (here.kept / "failing").unlink()
    assert nacre(root, "destroy", "--yes", **env).returncode == 0
    assert here.crontab() is None
    assert not (root / "MEMORY.md").exists()
