"""What changes is in the index soon, with vectors, whether the system tells of changes or has to be looked at."""

from __future__ import annotations

import errno
import logging
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import watchfiles

from nacre.daemon.service import open_log
from nacre.daemon.watcher import Watcher
from nacre.embed.models import Embedder
from nacre.memory import Memory

from .waiting import until


@pytest.fixture
def memory(root: Path, fake_embedder: Callable[[], Embedder]) -> Iterator[Memory]:
    with Memory.open(root, embedder=fake_embedder()) as memory:
        yield memory


@pytest.fixture
def log(root: Path) -> logging.Logger:
    return open_log(root / ".nacre" / "daemon.log")


@pytest.fixture
def watcher(memory: Memory, log: logging.Logger) -> Iterator[Watcher]:
    watcher = Watcher(memory, log)
    yield watcher
    watcher.stop()
    watcher.join(300)
    assert not watcher.is_alive()


def indexed(memory: Memory) -> set[str]:
    """What the index knows, without bringing it up to date as a search would."""
    store = memory.keeper.store
    return {path for (path,) in store.db.execute("select path from files")}


def test_a_change_is_read_and_embedded_without_a_search(root: Path, memory: Memory, watcher: Watcher) -> None:
    watcher.start()
    until(lambda: watcher.mode == "events")
    for number in range(3):
        (root / "memory" / f"new-{number}.md").write_text(f"The violin {number} is in the attic.\n", "utf8")
        until(lambda number=number: f"memory/new-{number}.md" in indexed(memory))  # type: ignore[misc]
    until(lambda: memory.waiting() == (0, 0))
    (root / "memory" / "new-0.md").unlink()
    until(lambda: "memory/new-0.md" not in indexed(memory))


def test_a_new_folder_is_watched_too(root: Path, memory: Memory, watcher: Watcher) -> None:
    watcher.start()
    until(lambda: watcher.mode == "events")
    deep = root / "memory" / "music" / "strings"
    deep.mkdir(parents=True)
    (deep / "violin.md").write_text("The violin is in the attic.\n", "utf8")
    until(lambda: "memory/music/strings/violin.md" in indexed(memory))
    (deep / "cello.md").write_text("The cello is in the cellar.\n", "utf8")
    until(lambda: "memory/music/strings/cello.md" in indexed(memory))
    shutil.rmtree(root / "memory" / "music")
    until(lambda: "memory/music/strings/violin.md" not in indexed(memory))
    (root / "memory" / "drum.md").write_text("The drum is in the hall.\n", "utf8")
    until(lambda: "memory/drum.md" in indexed(memory))


def test_reading_a_memory_is_no_change_of_it(root: Path, memory: Memory, watcher: Watcher) -> None:
    watcher.start()
    until(lambda: watcher.mode == "events")
    (root / "memory" / "one.md").write_text("one\n", "utf8")
    until(lambda: "memory/one.md" in indexed(memory))
    before = watcher.updates
    for _ in range(5):
        memory.get("memory/garden.md")  # writes recalls.jsonl
    (root / "memory" / "two.md").write_text("two\n", "utf8")
    until(lambda: "memory/two.md" in indexed(memory))
    assert watcher.updates <= before + 2


def test_where_the_system_has_no_watches_left_it_looks_itself_and_says_so_once(
    root: Path, memory: Memory, log: logging.Logger, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> Iterator[set[Any]]:
        raise OSError(errno.ENOSPC, "OS file watch limit reached")

    monkeypatch.setattr(watchfiles, "watch", full)
    watcher = Watcher(memory, log, scan_every=0.2)
    watcher.start()
    until(lambda: watcher.mode == "scanning")
    assert "watch limit" in (watcher.reason or "")
    (root / "memory" / "new.md").write_text("The violin is in the attic.\n", "utf8")
    until(lambda: "memory/new.md" in indexed(memory))
    watcher.stop()
    watcher.join(300)
    told = (root / ".nacre" / "daemon.log").read_text("utf8")
    assert told.count("instead of watching") == 1


def test_while_it_scans_it_tries_to_watch_again_and_says_when_it_can(
    root: Path, memory: Memory, log: logging.Logger, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> Iterator[set[Any]]:
        raise OSError(f'OS file watch limit reached. about ["{root}/memory"] (Error {{ kind: MaxFilesWatch }})')

    watcher = Watcher(memory, log, scan_every=0.02)
    with monkeypatch.context() as limited:
        limited.setattr(watchfiles, "watch", full)
        watcher.start()
        until(lambda: watcher.mode == "scanning" and watcher.updates > 2)
        assert watcher.reason == "OS file watch limit reached"
    until(lambda: watcher.mode == "events" and watcher.reason is None)
    (root / "memory" / "new.md").write_text("The violin is in the attic.\n", "utf8")
    until(lambda: "memory/new.md" in indexed(memory))
    watcher.stop()
    watcher.join(300)
    told = (root / ".nacre" / "daemon.log").read_text("utf8")
    assert [told.count(words) for words in ("instead of watching", "watching again")] == [1, 1]
    assert str(root) not in told


LIMITED = """
import sys
from pathlib import Path
from nacre import Memory
from nacre.daemon.service import open_log
from nacre.daemon.watcher import Watcher
from tests.daemon.waiting import until
root, limit = Path(sys.argv[1]), Path("/proc/sys/user/max_inotify_watches")
before = limit.read_text()
limit.write_text("0")
watcher = Watcher(Memory.open(root), open_log(root / ".nacre" / "daemon.log"), scan_every=0.02)
watcher.start()
until(lambda: watcher.mode == "scanning")
assert watcher.reason == "OS file watch limit reached", watcher.reason
limit.write_text(before)
until(lambda: watcher.mode == "events")
watcher.stop()
watcher.join(300)
"""
ALONE = ("unshare", "--user", "--map-root-user")


def may_be_alone() -> bool:
    """Whether we may have a namespace of our own, whose limit of watches is ours to set."""
    tried = "test -w /proc/sys/user/max_inotify_watches"
    return (
        shutil.which("unshare") is not None
        and not subprocess.run([*ALONE, "sh", "-c", tried], capture_output=True, check=False).returncode
    )


@pytest.mark.skipif(not may_be_alone(), reason="the system's limit of watches cannot be set here")
def test_the_systems_own_limit_is_met_and_left_behind_when_it_is_raised(root: Path) -> None:
    done = subprocess.run(
        [*ALONE, sys.executable, "-c", LIMITED, str(root)], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_file_system_that_others_write_to_is_scanned(
    root: Path, memory: Memory, log: logging.Logger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nacre.daemon.watcher.all_on_local_disks", lambda _: False)
    watcher = Watcher(memory, log, scan_every=0.1)
    watcher.start()
    until(lambda: watcher.mode == "scanning")
    (root / "memory" / "new.md").write_text("The violin is in the attic.\n", "utf8")
    until(lambda: "memory/new.md" in indexed(memory))
    watcher.stop()
    watcher.join(300)


def test_other_settings_get_a_new_index_in_the_background(
    root: Path, log: logging.Logger, fake_embedder: Callable[[], Embedder]
) -> None:
    with Memory.open(root, embedder=fake_embedder()) as memory:
        memory.index()
    (root / ".nacre" / "config.toml").write_text("[index]\nchunk_tokens = 60\n", "utf8")
    with Memory.open(root, embedder=fake_embedder()) as memory:
        assert memory.keeper.outdated()
        other = Watcher(memory, log)
        other.start()
        until(lambda: not memory.keeper.outdated())
        other.stop()
        other.join(300)
