"""nacre serve as a user types it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from nacre.daemon.process import daemon_process
from nacre.model import Workspace

Done = subprocess.CompletedProcess[str]
Nacre = Callable[..., Done]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "ws"


@pytest.fixture
def nacre(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nacre]:
    runtime = tmp_path_factory.mktemp("run")

    def command(*arguments: str, **env: str) -> Done:
        given = {"NACRE_WORKSPACE": str(root), "NACRE_MODELS_PATH": str(runtime / "none")}
        places = {"XDG_RUNTIME_DIR": str(runtime), "TMPDIR": str(runtime)}
        return subprocess.run(
            [sys.executable, "-m", "nacre", *arguments], env={**os.environ, **given, **places, **env},
            capture_output=True, text=True, encoding="utf8", check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip

    assert command("init").returncode == 0
    (root / "memory" / "garden.md").write_text("Cover the roses before the first frost.\n", "utf8")
    yield command
    if (pid := daemon_process(Workspace(root))) is not None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
        ended(root)


def ended(root: Path) -> None:
    """Wait until no daemon holds the workspace."""
    end = time.monotonic() + 300
    while daemon_process(Workspace(root)) is not None:
        assert time.monotonic() < end
        threading.Event().wait(0.02)


def test_it_is_started_shown_and_stopped(nacre: Nacre, root: Path) -> None:
    assert nacre("serve", "--status").stdout == "No daemon is running for this workspace.\n"
    assert json.loads(nacre("serve", "--status", "--json").stdout) == {"running": False}
    begun = nacre("serve", "--background", "--no-jobs")
    pid = daemon_process(Workspace(root))
    assert (begun.returncode, begun.stdout) == (
        0,
        f'The daemon is running (process {pid}); "nacre serve --stop" stops it.\n',
    )
    assert (
        nacre("serve", "--background").stdout
        == f'The daemon is already running (process {pid}); "nacre serve --stop" stops it.\n'
    )
    assert nacre("search", "roses").stdout.startswith("memory/garden.md:1")
    told = json.loads(nacre("serve", "--status", "--json").stdout)
    assert (told["running"], told["process"], told["jobs"], told["skew"]) == (True, pid, None, None)
    shown = nacre("serve", "--status").stdout
    assert shown.startswith(f"Process {pid}, version ")
    assert "Jobs are run by another scheduler" in shown
    chinese = nacre("serve", "--status", NACRE_LANGUAGE="zh").stdout
    assert chinese.startswith(f"进程 {pid}，版本 ")
    assert "本命令没有使用它" in chinese  # it speaks English
    assert nacre("serve", "--stop").stdout == f"The daemon (process {pid}) was stopped.\n"
    assert nacre("serve", "--stop").stdout == "No daemon is running for this workspace.\n"


def test_one_that_is_suspended_is_told_soon_and_can_be_stopped(nacre: Nacre, root: Path) -> None:
    nacre("serve", "--background", "--no-jobs")
    pid = daemon_process(Workspace(root))
    assert pid
    os.kill(pid, signal.SIGSTOP)
    sentence = f'The daemon (process {pid}) is not responding; "nacre serve --stop" stops it.\n'
    begun = time.monotonic()
    assert nacre("serve", "--status").stdout == sentence
    assert (
        time.monotonic() - begun < 9
    )  # as long as it used to be waited for, and less than half of it on a busy machine
    assert json.loads(nacre("serve", "--status", "--json").stdout) == {
        "running": True,
        "process": pid,
        "answers": False,
    }
    assert nacre("serve", "--stop").stdout == f"The daemon (process {pid}) was stopped.\n"


def test_a_plugin_is_told_where_one_answers_whether_or_not_it_ran(nacre: Nacre, root: Path) -> None:
    told = [json.loads(nacre("serve", "--ensure", "--no-jobs", "--json").stdout) for _ in range(2)]
    assert told[0] == told[1]
    assert told[0]["process"] == daemon_process(Workspace(root))
    assert set(told[0]) == {"socket", "process", "version", "workspace"}
    assert Path(told[0]["socket"]).is_socket()
    assert nacre("serve", "--ensure").stdout == told[0]["socket"] + "\n"


def test_of_many_plugins_that_want_one_at_once_all_get_the_same(nacre: Nacre, root: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        done = [pool.submit(nacre, "serve", "--ensure", "--no-jobs", "--json") for _ in range(4)]
    told = [json.loads(one.result().stdout)["process"] for one in done]
    assert told == [daemon_process(Workspace(root))] * 4


def test_one_that_is_ensured_has_loaded_what_the_first_search_needs(nacre: Nacre) -> None:
    nacre("serve", "--ensure", "--no-jobs")
    assert json.loads(nacre("serve", "--status", "--json").stdout)["warm"] is True


def test_one_is_ensured_where_an_agent_made_the_workspace(nacre: Nacre, root: Path) -> None:
    shutil.rmtree(root / ".nacre")
    (root / "AGENTS.md").write_text("# Agents\n", "utf8")
    assert json.loads(nacre("serve", "--ensure", "--no-jobs", "--json").stdout)["process"] == daemon_process(
        Workspace(root)
    )


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("serve", "--stop", "--status"), 2),
        (("serve", "--ensure", "--background"), 2),
        (("serve", "--now", "2026-03-01"), 2),
        (("serve", "--scope", "group:x"), 2),
        (("serve", "--workspace", "/nowhere"), 10),
    ],
)
def test_what_makes_no_sense_is_refused(nacre: Nacre, arguments: tuple[str, ...], code: int) -> None:
    done = nacre(*arguments)
    assert done.returncode == code
    assert done.stdout == ""


def test_a_search_starts_one_where_the_user_wants_that_and_it_ends_when_nobody_asks(nacre: Nacre, root: Path) -> None:
    wanted = {"NACRE_SERVE_AUTO": "true", "NACRE_SERVE_IDLE": "2s"}
    assert nacre("search", "roses", **wanted, NACRE_NO_DAEMON="1").returncode == 0
    assert nacre("search", "roses", "--now", "2027-01-01", **wanted).returncode == 0
    assert not (root / ".nacre" / "daemon.log").exists()
    assert nacre("search", "roses", **wanted).stdout.startswith("memory/garden.md:1")
    end = time.monotonic() + 300
    log = root / ".nacre" / "daemon.log"
    while not log.exists() or "idle" not in log.read_text("utf8"):
        assert time.monotonic() < end
        threading.Event().wait(0.05)
    ended(root)


def test_where_none_can_be_started_everything_works_without(nacre: Nacre, root: Path) -> None:
    (root / ".nacre" / "daemon.log").mkdir()
    done = nacre("search", "roses", NACRE_SERVE_AUTO="true")
    assert (done.returncode, done.stderr.count("Traceback")) == (0, 0)
    assert done.stdout.startswith("memory/garden.md:1")
    failed = nacre("serve", "--background")
    assert failed.returncode == 1
    assert failed.stderr.startswith("nacre: The daemon could not be started")


def test_destroying_a_workspace_ends_its_daemon_first(nacre: Nacre, root: Path) -> None:
    assert nacre("serve", "--background", "--no-jobs").returncode == 0
    assert nacre("destroy", "--yes").returncode == 0
    assert daemon_process(Workspace(root)) is None
    assert not (root / ".nacre").exists()
