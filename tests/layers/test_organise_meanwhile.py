"""Organising while others work, and undoing it in two goes: nobody waits, and nothing is lost in between."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest
from tests.forget.conftest import killed_at
from tests.layers.helpers import Layers, brief

from nacre import disk
from nacre.disk import lock
from nacre.errors import Locked, NacreError, NotFound, PartlyDone
from nacre.layers.organise import organise
from nacre.model import Workspace
from nacre.vault.checkpoints import layers_lock
from nacre.vault.history import operation
from nacre.vault.writing import rewrite


@pytest.fixture
def layers(memory_disk: Path) -> Layers:
    return Layers(memory_disk / "ws")


# Undoing in two goes.


@contextlib.contextmanager
def disk_full_for_large_files() -> Iterator[None]:
    """What history keeps is compressed and still fits."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


LARGE = "# a\n" + "word " * 40_000 + "\n"


def put_large(layers: Layers) -> Path:
    """A large checkpoint that the next run deletes: bringing it back needs room on the disk."""
    large = layers.put("forgotten/a.md", LARGE, age="90d")
    layers.count({"forgotten/a.md": {"forgotten": int(layers.ago("31d").timestamp()), "timestamps": []}})
    return large


def test_an_undo_that_stopped_halfway_says_so_and_goes_on_where_it_stopped(layers: Layers) -> None:
    large, small = put_large(layers), layers.put("hot/b.md", "# b\n", age="4h")
    small.chmod(0o640)
    before, time = layers.tree(), small.stat().st_mtime_ns
    layers.organise()
    with disk_full_for_large_files(), pytest.raises(PartlyDone, match=r'disk is full.*of 3 files.*"nacre undo" again'):
        layers.undo()
    assert small.exists()
    assert not large.exists()
    layers.put("hot/c.md")  # what came since stays
    with disk_full_for_large_files(), pytest.raises(NacreError, match="disk is full"):
        layers.undo()
    layers.undo()
    assert layers.tree() == before | {"hot/c.md": (layers.folder / "hot/c.md").read_bytes()}
    assert (small.stat().st_mtime_ns, small.stat().st_mode & 0o777) == (time, 0o640)
    with pytest.raises(NotFound, match="nothing to undo"):
        layers.undo()


def test_what_came_after_an_undo_that_stopped_is_undone_first(layers: Layers) -> None:
    put_large(layers)
    layers.put("hot/b.md", "# b\n", age="4h")
    before = layers.tree()
    layers.organise()
    with disk_full_for_large_files(), pytest.raises(PartlyDone):
        layers.undo()
    with operation(layers.context, "edit") as op:
        rewrite(op, layers.root / "USER.md", b"mine\n", read=None)
    layers.undo()
    assert not (layers.root / "USER.md").exists()
    assert layers.tree() != before
    layers.undo()
    assert layers.tree() == before


def test_an_undo_killed_at_any_call_goes_on(layers: Layers) -> None:
    layers.put("hot/a.md", "# a\n", age="4h")
    layers.put("warm/b.md", "# b\n", age="8d")
    layers.put("hot/c.md", "# c\n", age="20d")
    layers.put("forgotten/d.md", "# d\n", age="90d")
    layers.count({"forgotten/d.md": {"forgotten": int(layers.ago("31d").timestamp()), "timestamps": []}})
    before = layers.tree()
    layers.organise()
    root, start = layers.root, layers.root.with_name("start")
    shutil.copytree(root, start)
    call = 0
    while True:
        call += 1
        shutil.rmtree(root)
        shutil.copytree(start, root)
        died = killed_at(call, layers.undo)
        with contextlib.suppress(NotFound):
            layers.undo()
        assert {path: data for path, data in layers.tree().items() if not path.endswith(".tmp")} == before, call
        with pytest.raises(NotFound):
            layers.undo()
        if not died:
            break
    assert call > 10


def test_an_undo_of_moves_and_edits_killed_at_any_call_goes_on(layers: Layers) -> None:
    layers.put("hot/a.md", "# a\n", age="4h")
    layers.put("hot/b.md", "# b\n", age="4h")
    before = layers.tree()
    layers.organise()
    with operation(layers.context, "forget") as op:
        rewrite(op, layers.folder / "warm/a.md", b"# less\n", read=disk.digest(b"# a\n"))
    root, start = layers.root, layers.root.with_name("start")
    shutil.copytree(root, start)
    call, died = 0, True
    while died:
        call += 1
        shutil.rmtree(root)
        shutil.copytree(start, root)
        died = killed_at(call, lambda: layers.undo(2))
        with contextlib.suppress(NotFound):
            layers.undo(2)
        assert {path: data for path, data in layers.tree().items() if not path.endswith(".tmp")} == before, call
    assert call > 8


# Others at work meanwhile.


def test_who_shares_the_layers_waits_until_an_undo_is_through(
    memory_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = Layers(memory_disk / "ours"), Layers(memory_disk / "theirs")
    for one in (ours, theirs):
        one.set(path=str(memory_disk / "shared/fs"))
    ours.put("hot/a.md", age="4h")
    ours.organise()
    free: list[bool] = []

    def ask() -> None:
        with contextlib.suppress(Locked), layers_lock(theirs.workspace, theirs.config, timeout=0):
            free.append(True)

    rename = disk.rename

    def asked(path: Path, to: Path) -> None:
        free.append(False)
        thread = Thread(target=ask)
        thread.start()
        thread.join()
        rename(path, to)

    monkeypatch.setattr(disk, "rename", asked)
    ours.undo()
    assert ours.places() == ["hot/a.md"]
    assert free == [False]


def test_an_undo_asks_the_disk_for_each_folder_once(layers: Layers, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(50):
        layers.put(f"hot/{number}.md", f"# {number}\n", age="4h")
    before = layers.places()
    layers.organise()
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    layers.undo()
    assert layers.places() == before
    assert len(synced) < 20


def others_hold(workspace: Workspace) -> bool:
    """Whether somebody else gets hold of the workspace at once."""
    found: list[bool] = []

    def hold() -> None:
        with contextlib.suppress(Locked), lock(workspace, timeout=0):
            found.append(True)

    thread = Thread(target=hold)
    thread.start()
    thread.join()
    return bool(found)


def test_nobody_waits_while_summaries_are_made(layers: Layers) -> None:
    layers.put("warm/a.md", "# a\n", age="8d")
    layers.put("warm/b.md", "# b\n", age="8d")
    free: list[bool] = []

    def summarise(text: str) -> str:
        free.append(others_hold(layers.workspace))
        return brief(text)

    organise(layers.context, summarise)
    assert free == [True, True]
    assert layers.places() == ["gist/a.md", "gist/b.md", "warm/a.md", "warm/b.md"]


def test_a_recall_that_comes_while_summaries_are_made_still_counts(layers: Layers) -> None:
    layers.put("warm/a.md", "# a\n", age="8d")
    layers.put("forgotten/b.md", "# b\n", age="90d")
    layers.count({"forgotten/b.md": {"forgotten": int(layers.ago("31d").timestamp()), "timestamps": []}})

    def summarise(text: str) -> str:
        layers.get("forgotten/b.md")
        return brief(text)

    organise(layers.context, summarise)
    assert layers.places() == ["gist/a.md", "warm/a.md", "warm/b.md"]
    assert layers.counts()["warm/b.md"]["user_marked"] is True


def test_a_text_that_changes_while_it_is_summarised_gets_the_summary_of_what_it_says_now(layers: Layers) -> None:
    path = layers.put("warm/a.md", "# old\n", age="8d")
    texts: list[str] = []

    def summarise(text: str) -> str:
        if not texts:
            path.write_text("# newer\n", "utf8")
            layers.touch("warm/a.md", layers.ago("8d"))
        texts.append(text)
        return brief(text)

    report = organise(layers.context, summarise)
    assert texts == ["# old\n", "# newer\n"]
    assert not report.left
    assert (layers.folder / "gist/a.md").read_text("utf8") == brief("# newer\n")
    assert layers.places() == ["gist/a.md", "warm/a.md"]


def test_where_somebody_always_comes_between_the_rest_is_done_all_the_same(layers: Layers) -> None:
    path = layers.put("warm/a.md", "# a\n", age="8d")
    layers.put("hot/b.md", "# b\n", age="4h")

    def summarise(text: str) -> str:
        path.write_text(text + "more\n", "utf8")
        layers.touch("warm/a.md", layers.ago("8d"))
        return brief(text)

    report = organise(layers.context, summarise)
    assert layers.places() == ["warm/a.md", "warm/b.md"]
    assert [problem.path for problem in report.left] == ["memory_fs/warm/a.md"]


def test_a_linked_layer_takes_nothing_in(layers: Layers) -> None:
    layers.put("hot/x.md", age="4h")
    (layers.folder / "warm").symlink_to("hot")
    report = layers.organise()
    assert layers.places() == ["hot/x.md"]
    assert any("is a link" in problem.message and problem.path.endswith("x.md") for problem in report.left)


def test_what_looks_like_a_secret_in_the_counts_of_others_stops_nothing(layers: Layers) -> None:
    layers.put("hot/x.md", age="4h")
    theirs = {
        "warm/old.md": {"total": 1, "note": "password: hunter2Zx9!"},
        "hot/x.md": {"api_key": "sk-hunter2Zx9Kq81"},
    }
    layers.count(theirs)
    assert not layers.organise().left
    counts = layers.counts()
    assert counts["warm/old.md"] == theirs["warm/old.md"]
    assert counts["warm/x.md"]["api_key"] == "sk-hunter2Zx9Kq81"
