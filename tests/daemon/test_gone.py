"""A workspace that is moved or deleted while its daemon runs is not made again, and settings with a slip in them do not end it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from nacre.daemon.process import stop_daemon
from nacre.daemon.service import open_log
from nacre.daemon.watcher import Watcher
from nacre.errors import NoWorkspace
from nacre.index.store import Store
from nacre.memory import Memory

from .conftest import Start, answers, connected
from .waiting import until


def has_looked(root: Path) -> bool:
    with connected(root) as daemon:
        return int(daemon.ask("status")["updates"]) > 1


def test_a_workspace_that_was_moved_is_not_made_again_where_it_was(root: Path, start: Start, tmp_path: Path) -> None:
    process = start()
    until(lambda: has_looked(root))
    root.rename(tmp_path / "elsewhere")
    assert process.wait(300) == 0
    assert not root.exists()
    assert (tmp_path / "elsewhere" / "memory" / "harbour.md").exists()


def test_a_workspace_that_was_deleted_stays_deleted(root: Path, start: Start) -> None:
    process = start()
    until(lambda: has_looked(root))
    shutil.rmtree(root)
    assert process.wait(300) == 0
    assert not root.exists()


def test_a_watcher_reads_nothing_of_a_workspace_that_took_the_place_of_its_own(root: Path, tmp_path: Path) -> None:
    with Memory.open(root) as memory:
        log = open_log(tmp_path / "log")
        watcher = Watcher(memory, log)
        watcher.start()
        until(lambda: watcher.mode == "events")
        root.rename(tmp_path / "elsewhere")
        (root / "memory").mkdir(parents=True)
        (root / "memory" / "other.md").write_text("Another memory.\n", "utf8")
        with pytest.raises(NoWorkspace):
            memory.search("memory")
        watcher.stop()
        watcher.join(300)
    assert not (root / ".nacre").exists()


def test_an_index_without_its_folder_is_still_made_again(root: Path) -> None:
    store = Store(root / ".nacre" / "index" / "index.sqlite", of=root)
    store.get_meta("any")
    shutil.rmtree(root / ".nacre" / "index")
    assert store.get_meta("any") is None
    store.close()


def test_settings_that_cannot_be_understood_leave_it_at_those_from_before(root: Path, start: Start) -> None:
    process = start()
    asked = {"query": "the", "min_score": 0, "as_json": True}
    settings = root / ".nacre" / "config.toml"
    with connected(root) as daemon:
        for broken, told in (("[search]\nmax_results = \n", "line 2"), ('timezone = "Atlantis/Harbour"\n', "Atlantis")):
            settings.write_text(broken, "utf8")
            daemon.ask("search", asked=asked)
            assert told in daemon.ask("status")["settings"]
    assert process.poll() is None
    settings.write_text("[search]\nmax_results = 1\n", "utf8")
    until(lambda: answers(root))
    with connected(root) as daemon:
        assert daemon.ask("status")["process"] == process.pid
        assert daemon.ask("status")["settings"] is None
        assert daemon.ask("search", asked=asked)["parts"][0][1].count('"citation"') == 1
    assert process.poll() is None


def test_settings_that_are_as_before_again_are_no_trouble(root: Path, start: Start) -> None:
    start()
    settings = root / ".nacre" / "config.toml"
    before = settings.read_bytes() if settings.exists() else None
    with connected(root) as daemon:
        settings.write_text("language = \n", "utf8")
        daemon.ask("search", asked={"query": "key"})
        assert daemon.ask("status")["settings"]
        settings.unlink() if before is None else settings.write_bytes(before)
        daemon.ask("search", asked={"query": "key"})
        assert daemon.ask("status")["settings"] is None


def test_of_many_that_start_one_at_once_none_fails(root: Path) -> None:
    command = [sys.executable, "-m", "nacre", "--workspace", str(root), "serve", "--background", "--no-jobs"]
    started = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(6)]
    try:
        assert [one.wait(300) for one in started] == [0] * 6
    finally:
        with Memory.open(root) as memory:
            stop_daemon(memory)
