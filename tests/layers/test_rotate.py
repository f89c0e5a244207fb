"""A recall brings a checkpoint back at once."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread

import pytest
from tests.layers.helpers import Layers

from nacre import disk
from nacre.disk import lock
from nacre.errors import ChangedOutside, Locked, NacreError
from nacre.layers import organise
from nacre.memory import Memory
from nacre.model import Workspace
from nacre.vault.checkpoints import checkpoint_bytes, layers_lock, list_checkpoints
from nacre.vault.history import read_history


@pytest.fixture
def layers(memory_disk: Path) -> Layers:
    return Layers(memory_disk / "ws")


def test_what_is_hot_stays_and_nothing_is_recorded(layers: Layers) -> None:
    layers.put("hot/x.md")
    before = layers.tree()
    assert layers.recall("hot/x.md") == {"memory_fs/hot/x.md": "memory_fs/hot/x.md"}
    assert layers.tree() == before
    assert not read_history(layers.workspace).operations


def test_a_warm_one_returns_to_hot_and_its_counts_follow(layers: Layers) -> None:
    layers.put("warm/x.md", age="2d")
    layers.count({"warm/x.md": {"total": 4, "mood": "good"}, "other": 1})
    before = layers.tree()
    assert layers.recall("warm/x.md") == {"memory_fs/warm/x.md": "memory_fs/hot/x.md"}
    assert layers.places() == ["hot/x.md"]
    counts = layers.counts()
    assert counts.keys() == {"hot/x.md", "other"}
    assert (counts["hot/x.md"]["total"], counts["hot/x.md"]["mood"]) == (4, "good")
    layers.undo()
    assert layers.tree() == before


def test_a_gist_and_its_original_both_return(layers: Layers) -> None:
    layers.put("warm/支付.md", "# 支付\n", age="8d")
    layers.put("gist/支付.md", "# 摘要\n", age="1d")
    assert layers.recall("gist/支付.md") == {"memory_fs/gist/支付.md": "memory_fs/hot/支付.gist.md"}
    assert layers.places() == ["hot/支付.gist.md", "hot/支付.md"]
    layers.now += dt.timedelta(days=1)
    layers.organise()
    assert layers.places() == ["warm/支付.gist.md", "warm/支付.md"]
    layers.now += dt.timedelta(days=7)
    layers.organise()
    assert layers.places() == ["gist/支付.md", "warm/支付.md"]
    assert (layers.folder / "gist/支付.md").read_text("utf8") == "# 摘要\n"


def test_a_forgotten_one_returns_to_warm_is_marked_and_stays_there(layers: Layers) -> None:
    layers.put("forgotten/x.md", age="90d")
    layers.organise()
    before = layers.tree()
    layers.now += dt.timedelta(days=20)
    layers.recall("forgotten/x.md")
    assert layers.places() == ["warm/x.md"]
    entry = layers.counts()["warm/x.md"]
    assert entry["user_marked"] is True
    assert "forgotten" not in entry
    layers.now += dt.timedelta(hours=1)
    layers.organise()  # the recall was answered: it is counted, and does not lift it again
    assert layers.places() == ["warm/x.md"]
    assert layers.counts()["warm/x.md"]["total"] == 1
    layers.undo(2)
    assert layers.tree() == before


def test_a_forgotten_one_that_was_never_counted_is_marked_too(layers: Layers) -> None:
    layers.put("forgotten/x.md", age="90d")
    layers.recall("forgotten/x.md")
    entry = layers.counts()["warm/x.md"]
    assert entry["user_marked"] is True


def test_a_taken_name_is_not_written_over(layers: Layers) -> None:
    layers.put("hot/x.md", "# new\n")
    layers.put("warm/x.md", "# old\n", age="2d")
    assert layers.recall("warm/x.md") == {"memory_fs/warm/x.md": "memory_fs/hot/x-2.md"}
    assert (layers.folder / "hot/x.md").read_text("utf8") == "# new\n"
    assert (layers.folder / "hot/x-2.md").read_text("utf8") == "# old\n"


def test_with_broken_counts_or_a_link_in_the_way_the_answer_stands_and_nothing_moves(
    layers: Layers, memory_disk: Path
) -> None:
    layers.put("warm/x.md", age="2d")
    layers.refcount.write_text("{", "utf8")
    before = layers.tree()
    assert layers.recall("warm/x.md") == {"memory_fs/warm/x.md": "memory_fs/warm/x.md"}
    assert layers.tree() == before
    layers.refcount.unlink()
    (memory_disk / "elsewhere").mkdir()
    (layers.folder / "hot").symlink_to(memory_disk / "elsewhere")
    assert layers.recall("warm/x.md") == {"memory_fs/warm/x.md": "memory_fs/warm/x.md"}
    assert layers.places() == ["warm/x.md"]


def test_several_are_rotated_as_one_operation(layers: Layers) -> None:
    layers.put("warm/a.md", "# a\n", age="2d")
    layers.put("warm/b.md", "# b\n", age="2d")
    before = layers.tree()
    layers.recall("warm/a.md", "warm/b.md")
    assert layers.places() == ["hot/a.md", "hot/b.md"]
    assert [one.command for one in read_history(layers.workspace).operations] == ["recall"]
    layers.undo()
    assert layers.tree() == before


@contextlib.contextmanager
def held_by_another(workspace: Workspace) -> Iterator[None]:
    taken, done = Event(), Event()

    def hold() -> None:
        with lock(workspace):
            taken.set()
            done.wait()

    thread = Thread(target=hold)
    thread.start()
    taken.wait()
    try:
        yield
    finally:
        done.set()
        thread.join()


def test_what_could_not_be_moved_because_another_held_the_workspace_is_moved_by_the_next_organise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(organise, "WAIT", 0.0)
    with Memory.init(tmp_path / "ws", now="2031-03-20T10:00:00+00:00") as memory:
        fs = memory.workspace.root / "memory_fs"
        (fs / "forgotten").mkdir(parents=True)
        (fs / "forgotten/2031-01-02-quokka.md").write_text("# The quokka\n\nThe quokka lives on Rottnest.\n", "utf8")
        with held_by_another(memory.workspace):
            report = memory.recall("quokka Rottnest")
        assert [one.path for one in report.found] == ["memory_fs/forgotten/2031-01-02-quokka.md"]
        assert [problem.kind for problem in report.problems] == ["not moved"]
        memory.organise()
        assert (fs / "warm/2031-01-02-quokka.md").exists()
        entry = json.loads((memory.workspace.root / "refcount.json").read_text("utf8"))["warm/2031-01-02-quokka.md"]
        assert (entry["user_marked"], entry["total"]) == (True, 1)


def test_layers_that_two_workspaces_share_are_held_for_both(memory_disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = Layers(memory_disk / "one"), Layers(memory_disk / "other")
    for each in (one, other):
        each.set(path=str(memory_disk / "shared/fs"))
    one.put("warm/x.md", age="2d")
    monkeypatch.setattr(organise, "WAIT", 0.0)
    refused: list[bool] = []

    def recall() -> None:
        try:
            other.recall("warm/x.md")
        except Locked:
            refused.append(True)

    with layers_lock(one.workspace, one.config):
        thread = Thread(target=recall)
        thread.start()
        thread.join()
    assert refused == [True]
    assert one.places() == ["warm/x.md"]
    recall()
    assert one.places() == ["hot/x.md"]


def test_a_file_that_goes_while_it_is_read_is_told_as_changed(layers: Layers, monkeypatch: pytest.MonkeyPatch) -> None:
    path = layers.put("warm/x.md", age="2d")
    (one,) = list_checkpoints(layers.workspace, layers.config)
    data = path.read_bytes()

    def read_and_gone(*_: object) -> bytes:
        path.unlink()
        return data

    monkeypatch.setattr(disk, "read_bytes", read_and_gone)
    with pytest.raises(ChangedOutside):
        checkpoint_bytes(layers.workspace, one)


def test_what_a_recall_names_in_layers_above_the_workspace_can_be_read_and_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NACRE_TIERS_PATH", "../out/fs")
    fs = tmp_path / "out/fs"
    (fs / "warm").mkdir(parents=True)
    (fs / "warm/2031-03-18-quokka.md").write_text("# The quokka\n\nThe quokka lives on Rottnest.\n", "utf8")
    (tmp_path / "out/other.md").write_text("not ours\n", "utf8")
    with Memory.init(tmp_path / "ws", now="2031-03-20T10:00:00+00:00") as memory:
        (found,) = memory.recall("quokka Rottnest").found
        assert found.path == (fs / "hot/2031-03-18-quokka.md").as_posix()
        assert "Rottnest" in memory.get(found.path).text
        memory.organise()
        counts = json.loads((tmp_path / "out/refcount.json").read_text("utf8"))
        assert counts["hot/2031-03-18-quokka.md"]["total"] == 1
        for other in ("../out/other.md", str(tmp_path / "out/other.md"), "../out/fs/../other.md"):
            with pytest.raises(NacreError):
                memory.get(other)
