"""What changes is in the index soon, with vectors, whether the system tells of changes or has to be looked at."""

from __future__ import annotations

import errno
import logging
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import watchfiles

from nacre import Memory
from nacre.daemon.log import close_log, open_log
from nacre.daemon.watcher import Watcher
from nacre.embed.protocol import Embedder

from .waiting import until


@pytest.fixture
def memory(root: Path, fake_embedder: Callable[[], Embedder]) -> Iterator[Memory]:
    with Memory.open(root, embedder=fake_embedder()) as memory:
        yield memory


@pytest.fixture
def log(root: Path) -> Iterator[logging.Logger]:
    log = open_log(root / ".nacre" / "daemon.log")
    yield log
    close_log(log)


@pytest.fixture
def watcher(memory: Memory, log: logging.Logger) -> Iterator[Watcher]:
    watcher = Watcher(memory, log)
    yield watcher
    watcher.end()
    watcher.join(20)
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
    watcher.end()
    watcher.join(20)
    told = (root / ".nacre" / "daemon.log").read_text("utf8")
    assert told.count("instead of watching") == 1


def test_it_looks_at_once_when_asked(
    root: Path, memory: Memory, log: logging.Logger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nacre.index.watch.all_local", lambda _: False)
    watcher = Watcher(memory, log, scan_every=3600)
    watcher.start()
    until(lambda: watcher.mode == "scanning")
    (root / "memory" / "new.md").write_text("The violin is in the attic.\n", "utf8")
    watcher.look()
    until(lambda: "memory/new.md" in indexed(memory))
    watcher.end()
    watcher.join(20)


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
        other.end()
        other.join(20)
