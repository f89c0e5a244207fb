"""The index follows the files: only what changed is read, nothing is missed, nothing is lost to a kill or to damage."""

from __future__ import annotations

import errno
import os
import random
import shutil
import signal
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.index.conftest import memory_index

from nacre import disk
from nacre.config.settings import Config, IndexSettings
from nacre.errors import CannotRead, IndexUnusable
from nacre.index import freshness as updating
from nacre.index import store
from nacre.index.store import Store
from nacre.model import Workspace
from nacre.vault.storage import memory_files

InChild = Callable[[Callable[[], None]], int]
LONG_AGO = 1_700_000_000_000_000_000


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files count as settled at once, as they do two seconds after they were written."""
    monkeypatch.setattr(updating, "_RACY", 0)


def fresh_dump(indexed: Any, tmp_path: Path, config: Config | None = None) -> dict[str, object]:
    other = indexed(config, tmp_path / "fresh" / "index.sqlite")
    other.update()
    made: dict[str, object] = other.dump()
    return made


def test_only_files_that_changed_are_read(indexed: Any, settled: None) -> None:
    index = indexed()
    for name in "abc":
        index.write(f"memory/{name}.md", f"# {name}\n\ntext of {name}\n")
    assert index.update().read == 3
    assert index.update().read == 0
    index.write("memory/b.md", "# b\n\nanother text\n")
    report = index.update()
    assert (report.files, report.read, report.changed, report.removed) == (3, 1, 1, 0)
    assert index.texts() == ["text of a", "another text", "text of c"]


def test_asked_for_every_file_it_reads_every_file_and_changes_nothing(indexed: Any, settled: None) -> None:
    index = indexed()
    index.write("memory/a.md", "text\n")
    index.update()
    report = index.update(every_file=True)
    assert (report.read, report.changed) == (1, 0)


def test_a_chunk_that_only_moved_keeps_its_id_and_its_vectors(indexed: Any) -> None:
    index = indexed()
    index.write("memory/2026-02-10.md", "## 09:00 note\n- first thing\n- second thing\n")
    index.update()
    before = dict(index.rows("select text, id from chunks"))
    index.store.db.execute("update passages set batch = 7")
    index.write("memory/2026-02-10.md", "# 2026-02-10\n\n## 09:00 note\n- new\n- first thing\n- second thing\n")
    index.update()
    index.write("memory/2026-02-10.md", "## 09:00 note\n- new\n- second thing\n")
    index.update()
    after = {text: (number, first) for text, number, first in index.rows("select text, id, first from chunks")}
    assert set(after) == {"- new", "- second thing"}
    assert after["- second thing"][1] == 3
    index.write("memory/2026-02-10.md", "## 09:00 note\n- first thing\n- new\n- second thing\n")
    index.update()
    assert dict(index.rows("select text, id from chunks"))["- second thing"] == after["- second thing"][0]
    assert len(before) == 2


def test_deleting_and_renaming_leave_nothing_behind(indexed: Any, tmp_path: Path) -> None:
    index = indexed()
    old = index.write("memory/a.md", "# A\n\ntext\n")
    index.write("memory/b.md", "gone soon\n")
    index.update()
    old.rename(old.with_name("c.md"))
    (index.workspace.memory / "b.md").unlink()
    assert index.update().removed == 2
    assert index.dump() == fresh_dump(indexed, tmp_path)
    shutil.rmtree(index.workspace.memory)
    index.update()
    assert index.texts() == []
    assert index.rows("select count(*) from passages") == [(0,)]


def test_an_edit_of_the_same_size_in_the_same_tick_is_seen(indexed: Any) -> None:
    index = indexed()
    path = index.write("memory/a.md", "aaaa\n")
    index.update()
    about = path.stat()
    for text in ("bbbb\n", "cccc\n"):
        with path.open("r+", encoding="utf-8") as file:
            file.write(text)
        os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))
        # What a coarse clock would have left: a file whose times are all as they were.
        now = path.stat()
        index.store.db.execute("update files set mtime = ?, ctime = ?", (now.st_mtime_ns, now.st_ctime_ns))
        index.update()
        assert index.texts() == [text.strip()]


def test_an_edit_whose_time_was_set_back_is_seen(indexed: Any, settled: None) -> None:
    index = indexed()
    path = index.write("memory/a.md", "aaaa\n")
    os.utime(path, ns=(LONG_AGO, LONG_AGO))
    index.update()
    path.write_text("bbbb\n", encoding="utf-8")
    os.utime(path, ns=(LONG_AGO, LONG_AGO))
    index.update()
    assert index.texts() == ["bbbb"]


def test_a_file_from_the_future_is_not_read_again_and_again(indexed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    index = indexed()
    path = index.write("memory/a.md", "text\n")
    os.utime(path, ns=(LONG_AGO * 3, LONG_AGO * 3))
    index.update()
    index.store.db.execute("update files set read_at = ctime + ?", (updating._RACY + 1,))
    assert index.update().read == 0


def test_a_file_that_cannot_be_read_is_named_and_the_others_are_indexed(indexed: Any) -> None:
    index = indexed()
    index.write("memory/a.md", "text\n")
    found = list(memory_files(index.workspace, index.config))
    gone = found[0]._replace(path="memory/gone.md", full="/nonexistent/gone.md")
    report = updating.update(index.store, index.context, [*found, gone])
    assert report.unreadable == ["memory/gone.md"]
    assert index.texts() == ["text"]


@pytest.mark.parametrize(
    "data",
    [b"", b"\xff\xfe\x00broken \xe9 bytes\n", b"\x00" * 50, "\ufeff# t\r\n\r\ntext\r\n".encode(), b"---\n[[[[\n---\nx\n",
     b"---\na: &a [x, x]\nb: &b [*a, *a]\ntags: *b\n---\nx\n", b"---\ndate: [2026-02-30]\ntags: {a: b}\n---\nx", b"#\n##\n" * 50],
)  # fmt: skip
def test_any_bytes_can_be_indexed(indexed: Any, tmp_path: Path, data: bytes) -> None:
    index = indexed()
    (index.workspace.memory / "2026-02-30.md").write_bytes(data)
    (Path(os.fsdecode(os.fsencode(index.workspace.memory) + b"/caf\xe9.md"))).write_bytes(data)
    index.update()
    index.update()
    assert index.dump() == fresh_dump(indexed, tmp_path)
    assert index.rows("select count(*) from chunks where date is not null") == [(0,)]


def test_an_interrupted_run_is_carried_on(indexed: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(updating, "_BATCH_FILES", 5)
    monkeypatch.setattr(updating, "_RACY", 0)
    index = indexed()
    for number in range(30):
        index.write(f"memory/{number}.md", f"text {number}\n")

    def stop(done: int, total: int) -> None:
        if done >= 15:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        index.update(progress=stop)
    assert index.update().read == 15
    assert index.dump() == fresh_dump(indexed, tmp_path)


def test_a_batch_that_takes_long_is_committed_so_that_who_is_cut_off_leaves_progress(
    indexed: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(updating, "_BATCH_SECONDS", 0)
    monkeypatch.setattr(updating, "_RACY", 0)
    index, reached = indexed(), []
    for number in range(5):
        index.write(f"memory/{number}.md", f"text {number}\n")

    def cut_off(done: int, total: int) -> None:
        reached.append((done, total))
        raise KeyboardInterrupt

    for _ in range(4):
        with pytest.raises(KeyboardInterrupt):
            index.update(progress=cut_off)
    assert reached == [(1, 5), (1, 4), (1, 3), (1, 2)]
    index.update()
    assert index.dump() == fresh_dump(indexed, tmp_path)


def test_an_older_read_never_replaces_what_another_process_read_later(indexed: Any) -> None:
    index = indexed()
    path = index.write("memory/a.md", "old\n")
    stale = next(iter(memory_files(index.workspace, index.config))), time.time_ns(), b"old\n"
    path.write_text("new and longer\n", encoding="utf-8")
    index.update()
    with index.store.writing() as db:
        updating._store_file(db, index.context, *stale, updating.TextReport())
    assert index.texts() == ["new and longer"]


def test_a_file_that_came_back_while_we_looked_is_not_removed(indexed: Any) -> None:
    index = indexed()
    index.write("memory/a.md", "text\n")
    index.update()

    def nothing_found_while_another_reads() -> Any:
        index.update(every_file=True)
        yield from ()

    updating.update(index.store, index.context, nothing_found_while_another_reads())
    assert index.texts() == ["text"]


def test_what_is_read_together_is_of_one_moment(indexed: Any) -> None:
    index, other = indexed(), indexed()
    index.write("memory/a.md", "before\n")
    index.update()
    with index.store.reading() as db:
        first = db.execute("select id, text from chunks").fetchall()
        other.write("memory/a.md", "after, and longer\n")
        other.update()
        assert db.execute("select id, text from chunks").fetchall() == first
    assert index.texts() == ["after, and longer"]


def test_many_processes_build_the_first_index_at_once(indexed: Any, workspace: Workspace, tmp_path: Path) -> None:
    index = indexed()
    for number in range(40):
        index.write(f"memory/{number}.md", f"# Note {number}\n\n- item one of {number}\n- item two\n")
    for _ in range(5):
        shutil.rmtree(workspace.index, ignore_errors=True)
        waiting, start = os.pipe()
        children = []
        for _ in range(4):
            pid = os.fork()
            if pid == 0:
                status = 99
                try:
                    os.close(start)
                    os.read(waiting, 1)  # until the parent closes its end
                    one = type(index)(workspace)
                    one.store.safely(one.update)
                    status = 0
                finally:
                    os._exit(status)
            children.append(pid)
        os.close(waiting)
        os.close(start)
        assert [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children] == [0] * 4
        assert index.dump() == fresh_dump(indexed, tmp_path)


def test_killed_thirty_times_a_clean_run_still_equals_a_fresh_build(
    indexed: Any, workspace: Workspace, tmp_path: Path, in_child: InChild
) -> None:
    rng = random.Random(7)
    index = indexed()
    killed = 0

    def work() -> None:
        updating._BATCH_FILES = 10
        signal.setitimer(signal.ITIMER_VIRTUAL, rng.uniform(0.001, 0.06))  # nobody catches it: dead at any instruction
        one = type(index)(workspace)
        one.update()

    for turn in range(30):
        for number in rng.sample(range(120), 60):
            path = workspace.memory / f"{number}.md"
            if rng.random() < 0.2 and path.exists():
                path.unlink()
            else:
                index.write(
                    f"memory/{number}.md",
                    f"# Note {number}\n\ntext {turn}\n\n- item {rng.random()}\n" * rng.randint(1, 5),
                )
        rng.random()
        status = in_child(work)
        assert status in (0, -signal.SIGVTALRM)
        killed += status != 0
    assert killed > 5
    index.update()
    assert index.dump() == fresh_dump(indexed, tmp_path)


def _truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def _truncate_inside_a_page(path: Path) -> None:
    os.truncate(path, 4096 * 3 + 100)


def _scribble(path: Path) -> None:
    rng = random.Random(3)
    with path.open("r+b") as file:
        for _ in range(40):
            file.seek(rng.randrange(100, path.stat().st_size - 200))
            file.write(rng.randbytes(200))


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _not_a_database(path: Path) -> None:
    path.write_bytes(b"this is not a database, and never was one\n" * 500)


def _older(path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute("pragma user_version = 0")
    db.close()


def _without_words(path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute("drop table words")
    db.close()


def _words_unreadable(path: Path) -> None:
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("update words_data set block = zeroblob(20)")
    db.close()


@pytest.mark.parametrize(
    "damage",
    [_truncate, _truncate_inside_a_page, _scribble, _empty, _not_a_database, _older, _without_words, _words_unreadable],
)
def test_a_damaged_index_is_set_aside_and_built_again(
    indexed: Any, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    index = indexed()
    for number in range(60):
        index.write(f"memory/{number}.md", f"# Note {number}\n\ntext {number} with some words\n\n- an item here\n" * 5)
    index.update()
    index.store.db.execute("pragma wal_checkpoint(truncate)")
    index.store.close()
    damage(index.store.path)
    again = indexed()

    def work() -> dict[str, object]:
        again.update(every_file=True)
        again.rows("select rowid from words where words match '\"note\"'")
        made: dict[str, object] = again.dump()
        return made

    found = again.store.safely(work)
    assert found == fresh_dump(indexed, tmp_path)
    assert len(list(again.store.path.parent.glob("*.damaged-*"))) <= 1


def test_damage_met_by_two_processes_is_set_aside_once(indexed: Any) -> None:
    index = indexed()
    index.write("memory/a.md", "text\n")
    index.update()
    damaged = store.file_identity(index.store.path)
    index.store.close()
    store.set_aside(index.store.path, damaged)
    index.update()
    healthy = store.file_identity(index.store.path)
    store.set_aside(index.store.path, damaged)
    assert store.file_identity(index.store.path) == healthy


def test_an_index_of_a_newer_version_is_refused_with_a_remedy(indexed: Any) -> None:
    index = indexed()
    index.update()
    index.store.db.execute("pragma user_version = 99")
    index.store.close()
    with pytest.raises(IndexUnusable, match=r"newer version of Nacre.*[Uu]pgrade.*delete the folder"):
        indexed().update()


def test_an_index_of_an_earlier_version_is_made_anew_in_its_place(indexed: Any) -> None:
    index = indexed()
    index.write("memory/a.md", "text\n")
    index.update()
    index.store.db.execute("create virtual table old_words using fts5(body)")
    index.store.db.execute("pragma user_version = 1")
    index.store.close()
    again = indexed()
    again.update()
    assert again.texts() == ["text"]
    assert again.rows("select count(*) from sqlite_master where name like 'old_words%'") == [(0,)]
    assert list(again.store.path.parent.glob("*.damaged-*")) == []


def test_a_deleted_index_folder_is_built_again_under_an_open_keeper(indexed: Any, workspace: Workspace) -> None:
    index = indexed()
    index.write("memory/a.md", "text\n")
    keeper = memory_index(workspace, index.config, index.store)
    for _ in range(4):
        keeper.current()
    shutil.rmtree(workspace.index)
    index.store.safely(keeper.current)
    assert index.texts() == ["text"]
    assert index.rows("select count(*) from words") == [(1,)]
    keeper.close()


def test_an_index_deleted_in_the_middle_of_an_update_is_built_again(
    indexed: Any, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(updating, "_BATCH_FILES", 5)
    index = indexed()
    for number in range(20):
        index.write(f"memory/{number}.md", f"text {number}\n")
    keeper = memory_index(workspace, index.config, index.store)
    once: list[int] = []

    def delete(done: int, total: int) -> None:
        if not once:
            once.append(done)
            shutil.rmtree(workspace.index)

    keeper.each_batch = delete
    index.store.safely(keeper.current)
    assert len(index.texts()) == 20
    keeper.close()


def test_after_a_changed_setting_the_old_chunks_answer_until_a_file_is_read_again(
    indexed: Any, workspace: Workspace, tmp_path: Path, settled: None
) -> None:
    first = indexed()
    for name in ("a", "b"):
        text = "\n\n".join(f"Paragraph {number} of {name} says something of its own." for number in range(60))
        first.write(f"memory/{name}.md", text)
    first.update()
    before = first.texts()
    config = Config(index=IndexSettings(chunk_tokens=50, chunk_overlap=0))
    keeper = memory_index(workspace, config, first.store)
    keeper.current()
    assert first.texts() == before
    assert keeper.outdated()
    first.write("memory/b.md", "short now\n")
    keeper.current()
    assert first.texts() == [*(text for text in before if "of a" in text), "short now"]
    assert keeper.outdated()
    assert keeper.rebuild().read == 1
    assert not keeper.outdated()
    assert first.dump() == fresh_dump(indexed, tmp_path, config)
    keeper.close()


def test_reading_anew_that_was_interrupted_is_carried_on(
    indexed: Any, workspace: Workspace, monkeypatch: pytest.MonkeyPatch, settled: None
) -> None:
    monkeypatch.setattr(updating, "_BATCH_FILES", 5)
    index = indexed()
    for number in range(20):
        index.write(f"memory/{number}.md", f"text {number}\n")
    index.update()

    def stop(done: int, total: int) -> None:
        if done >= 10:
            raise KeyboardInterrupt

    keeper = memory_index(workspace, Config(index=IndexSettings(chunk_tokens=100)), index.store)
    with pytest.raises(KeyboardInterrupt):
        keeper.rebuild(stop)
    assert keeper.rebuild().read == 10
    keeper.close()


@pytest.mark.parametrize("code", [errno.EMFILE, errno.EIO, errno.ENOMEM])
@pytest.mark.parametrize("call", ["scandir", "lstat", "open"])
def test_an_error_of_the_file_system_is_not_an_empty_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, code: int
) -> None:
    (tmp_path / "memory").mkdir()
    note = tmp_path / "memory" / "note.md"
    note.write_text("# Note\n\nThe roses need cover.\n", "utf8")
    keeper = memory_index(Workspace(tmp_path), Config(), Store(tmp_path / "index.sqlite"))
    keeper.current()
    count = "select count(*) from files"
    assert keeper.store.db.execute(count).fetchone() == (1,)
    note.write_text("# Note\n\nThe roses need cover before winter.\n", "utf8")

    def fails(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patched:
        patched.setattr(disk if call == "open" else os, call, fails, raising=False)
        with pytest.raises(CannotRead):
            keeper.current()
    assert keeper.store.db.execute(count).fetchone() == (1,)
    keeper.current()
    assert "winter" in keeper.store.db.execute("select text from chunks").fetchone()[0]
