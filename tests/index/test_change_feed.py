"""The feed of changes: after any write by anybody it is not quiet, and where it cannot know it says so."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.index.conftest import memory_index

from nacre.config.settings import Config
from nacre.index import freshness as watching
from nacre.index.freshness import ChangeFeed, MemoryIndex
from nacre.index.store import Store, index_file
from nacre.model import Workspace

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="inotify is Linux's own")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "watched"
    (made / "sub").mkdir(parents=True)
    (made / "a.md").write_text("text", encoding="utf-8")
    (made / "sub" / "b.md").write_text("text", encoding="utf-8")
    return made


@pytest.fixture
def feed(tmp_path: Path, folder: Path) -> Iterator[ChangeFeed]:
    one = ChangeFeed()
    assert one.watch([str(folder), str(folder / "sub")])
    yield one
    one.close()


def elsewhere(code: str, folder: Path) -> None:
    """Do it in another process."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.chdir(folder)
            exec(code, {"os": os})
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_with_nothing_written_it_is_quiet(feed: ChangeFeed, folder: Path) -> None:
    assert feed.quiet()
    (folder / "a.md").read_text(encoding="utf-8")
    os.listdir(folder)
    assert feed.quiet()


@pytest.mark.parametrize(
    "change",
    [
        "open('new.md', 'w').close()",
        "open('a.md', 'a').write('more')",
        "f = open('sub/b.md', 'r+'); f.write('T'); f.close()",
        "os.remove('a.md')",
        "os.rename('a.md', 'z.md')",
        "os.rename('a.md', '../gone.md')",
        "os.chmod('a.md', 0o600)",
        "os.chmod('sub', 0o700)",
        "os.utime('a.md')",
        "os.truncate('a.md', 0)",
        "os.mkdir('deeper')",
        "os.symlink('nowhere', 'link')",
        "os.link('a.md', 'hard.md')",
        "os.rename('sub', 'other')",
        "os.remove('sub/b.md'); os.rmdir('sub')",
    ],
)
def test_any_change_made_by_another_process_is_noticed(feed: ChangeFeed, folder: Path, change: str) -> None:
    assert feed.quiet()
    elsewhere(change, folder)
    assert not feed.quiet()


def test_counts_of_what_was_read_are_no_change_of_memory(feed: ChangeFeed, folder: Path) -> None:
    with (folder / "recalls.jsonl").open("a", encoding="utf-8") as file:
        file.write("{}\n")
    for name, quiet in (("refcount.json", True), ("sub/b.md", False), ("refcount.md", False)):
        temporary = folder / ".nacre-here-1-abcd.tmp"
        temporary.write_text("{}", encoding="utf-8")
        temporary.replace(folder / name)
        assert feed.quiet() is quiet
    (folder / "refcount.json").unlink()
    (folder / "refcount.json").mkdir()  # a folder may hold memories, whatever it is called
    assert not feed.quiet()


def test_a_folder_that_was_replaced_is_watched_again_not_the_old_one(
    feed: ChangeFeed, folder: Path, tmp_path: Path
) -> None:
    for away in (lambda: (folder / "sub").rename(tmp_path / "away"), (folder / "sub").rmdir):
        away()
        (folder / "sub").mkdir()
        assert not feed.quiet()
        assert not feed.quiet(), "until it is told what to watch, it cannot know"
        assert feed.watch([str(folder), str(folder / "sub")])
        assert feed.quiet()
        (folder / "sub" / "c.md").write_text("new", encoding="utf-8")
        assert not feed.quiet()
        (folder / "sub" / "c.md").unlink()


def test_a_file_with_a_second_name_is_watched_as_itself(folder: Path, tmp_path: Path) -> None:
    os.link(folder / "a.md", tmp_path / "second")
    feed = ChangeFeed()
    assert feed.watch([str(folder), str(folder / "a.md")])
    (tmp_path / "second").write_text("through the other name", encoding="utf-8")
    assert not feed.quiet()
    feed.close()


def test_closing_gives_the_descriptor_back_and_nothing_is_quiet_any_more(
    feed: ChangeFeed, folder: Path, tmp_path: Path
) -> None:
    queue = feed._queue
    assert queue is not None
    feed.close()
    with pytest.raises(OSError):
        os.fstat(queue)
    assert not feed.quiet()
    gc.collect()  # connections that other tests left to the collector
    before = len(os.listdir("/proc/self/fd"))
    for number in range(50):
        feed.watch([str(folder), *([str(folder / "sub")] if number % 2 else [])])
    feed.close()
    assert len(os.listdir("/proc/self/fd")) == before


def test_where_it_cannot_watch_it_says_so_and_keeps_nothing_open(folder: Path, tmp_path: Path) -> None:
    feed = ChangeFeed()
    assert not feed.watch([str(folder), str(tmp_path / "nowhere")])
    assert feed._queue is None
    assert not feed.quiet()


def test_too_many_folders_or_a_file_system_that_others_write_to_are_not_watched(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    feed = ChangeFeed()
    monkeypatch.setattr(watching, "_MAX_FOLDERS", 1)
    assert not feed.watch([str(folder), str(folder / "sub")])
    monkeypatch.setattr(watching, "_MAX_FOLDERS", 100)
    monkeypatch.setattr(watching, "_LOCAL", frozenset())
    assert not feed.watch([str(folder)])
    assert not watching.all_on_local_disks({"/proc/self"})


def test_the_deepest_mount_decides() -> None:
    kinds = {"/": "ext4", "/mnt/my share": "nfs4", "/mnt": "xfs"}
    assert watching._mount_kind("/home/a", kinds) == "ext4"
    assert watching._mount_kind("/mnt/my share/notes", kinds) == "nfs4"
    assert watching._mount_kind("/mnt/other", kinds) == "xfs"
    assert watching._mount_kind("/mnt/my shared", kinds) == "xfs"


def test_a_forked_child_does_not_take_its_parent_s_events(feed: ChangeFeed, folder: Path, in_child: Any) -> None:
    (folder / "a.md").write_text("new", encoding="utf-8")

    def work() -> None:
        assert not feed.quiet()

    assert in_child(work) == 0
    assert not feed.quiet()


@pytest.fixture
def keeper(workspace: Workspace) -> Iterator[MemoryIndex]:
    (workspace.memory / "sub").mkdir()
    (workspace.memory / "sub" / "a.md").write_text("first\n", encoding="utf-8")
    one = memory_index(workspace, Config(), Store(index_file(workspace.index)))
    for _ in range(4):
        one.current()
    assert one._feed.quiet(), "a keeper that is asked again and again watches"
    yield one
    one.close()


def found(keeper: MemoryIndex) -> set[str]:
    keeper.current()
    return {row[0] for row in keeper.store.db.execute("select text from chunks")}


def test_a_keeper_that_watches_does_not_scan_again(keeper: MemoryIndex) -> None:
    scans = keeper._scans
    for _ in range(5):
        keeper.current()
    assert keeper._scans == scans


def test_a_keeper_that_watches_misses_no_write(keeper: MemoryIndex) -> None:
    memory = keeper.context.workspace.memory
    for turn in range(3):
        elsewhere(f"open('sub/a.md', 'w').write('turn {turn}')", memory)
        assert found(keeper) == {f"turn {turn}"}
    elsewhere("os.makedirs('new/deep'); open('new/deep/b.md', 'w').write('deep')", memory)
    assert found(keeper) == {"turn 2", "deep"}
    elsewhere("open('new/deep/b.md', 'w').write('deeper')", memory)
    assert found(keeper) == {"turn 2", "deeper"}
    elsewhere("import shutil; shutil.rmtree('sub'); os.mkdir('sub'); open('sub/a.md', 'w').write('again')", memory)
    assert found(keeper) == {"again", "deeper"}
    for turn in range(3):
        elsewhere(f"open('sub/a.md', 'w').write('last {turn}')", memory)
        assert found(keeper) == {f"last {turn}", "deeper"}


def test_a_keeper_follows_links_to_where_the_writing_is_done(keeper: MemoryIndex) -> None:
    root = keeper.context.workspace.root
    (root / "docs").mkdir()
    (root / "docs" / "real.md").write_text("one", encoding="utf-8")
    (root / "memory" / "link.md").symlink_to("../docs/real.md")
    assert found(keeper) == {"first", "one"}
    for _ in range(3):
        keeper.current()
    elsewhere("open('real.md', 'w').write('two')", root / "docs")
    assert found(keeper) == {"first", "two"}
