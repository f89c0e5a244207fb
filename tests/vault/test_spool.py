"""The inbox holds one small file for each talk, nothing that was said, and nothing that leads elsewhere."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.vault import spool


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "ws" / ".nacre").mkdir(parents=True)
    return tmp_path / "ws"


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    path = tmp_path / "talk.jsonl"
    path.write_text("{}\n", "utf8")
    return path


def test_a_talk_is_queued_read_and_taken_off(root: Path, talk: Path) -> None:
    assert spool.queue(str(root), "codex", "s/../1", str(talk), at=100.5, now=True)
    (one,) = spool.waiting(str(root))
    assert (one.agent, one.session, one.transcript, one.at, one.now) == (
        "codex",
        "s/../1",
        str(talk),
        100,
        True,
    )
    assert spool.remove_queued(one)
    assert spool.waiting(str(root)) == []


def test_a_talk_that_went_on_meanwhile_stays(root: Path, talk: Path) -> None:
    spool.queue(str(root), "codex", "s", str(talk), at=1)
    (one,) = spool.waiting(str(root))
    spool.queue(str(root), "codex", "s", str(talk), at=2)
    assert not spool.remove_queued(one)
    assert len(spool.waiting(str(root))) == 1


@pytest.mark.parametrize("transcript", ["", "/nowhere/at/all.jsonl", "/", "/dev/null", "x" * 5000, "a\0b"])
def test_without_a_transcript_there_is_nothing_to_queue(transcript: str, root: Path) -> None:
    assert not spool.queue(str(root), "codex", "s", transcript, at=1)
    assert not (root / ".nacre" / "inbox").exists()


@pytest.mark.parametrize("where", [".nacre", ".nacre/inbox"])
def test_a_link_in_its_place_is_not_written_through(where: str, root: Path, talk: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    place = root / where
    if place.exists():
        place.rmdir()
    place.symlink_to(elsewhere)
    with pytest.raises(OSError, match="link"):
        spool.queue(str(root), "codex", "s", str(talk), at=1)
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"version":9}', '{"version":1,"agent":1,"session":"s","transcript":"/t","size":1,"at":1}',
     '{"version":1,"agent":"codex","session":"s","transcript":"relative","size":1,"at":1}',
     '{"version":1,"agent":"codex","session":"s","transcript":"/t\\u0000","size":1,"at":1}',
     '{"version":1,"agent":"codex","session":"s","transcript":"/t\\ud800","size":1,"at":1}'],
)  # fmt: skip
def test_what_cannot_be_understood_is_passed_over(text: str, root: Path, talk: Path) -> None:
    spool.queue(str(root), "codex", "s", str(talk), at=1)
    (root / ".nacre" / "inbox" / "odd.json").write_text(text, "utf8")
    assert len(spool.waiting(str(root))) == 1


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may give files away")
def test_what_another_user_wrote_is_not_believed(root: Path, talk: Path) -> None:
    spool.queue(str(root), "codex", "s", str(talk), at=1)
    (one,) = spool.waiting(str(root))
    os.chown(one.path, 54321, -1)
    assert spool.waiting(str(root)) == []
    assert spool.clean_inbox(str(root), os.stat(one.path).st_mtime) == 0  # it is the other user's to take away
    os.chown(one.path, 0, -1)
    os.chown(talk, 54321, -1)
    assert spool.waiting(str(root)) == []


def test_an_inbox_that_nobody_empties_does_not_grow_for_ever(
    root: Path, talk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool, "MOST_QUEUED", 3)
    for number in range(6):
        spool.queue(str(root), "codex", f"s{number}", str(talk), at=number)
        newest = max((root / ".nacre" / "inbox").iterdir(), key=lambda path: path.stat().st_mtime_ns)
        os.utime(newest, (1000 + number, 1000 + number))
    assert {one.session for one in spool.waiting(str(root))} == {"s3", "s4", "s5"}


def test_what_nobody_waits_for_goes(root: Path, talk: Path) -> None:
    spool.queue(str(root), "codex", "s", str(talk), at=1)
    (one,) = spool.waiting(str(root))
    half_written = Path(one.path).with_name(".x.json-1-1.tmp")
    half_written.touch()
    changed = os.stat(one.path).st_mtime
    assert spool.clean_inbox(str(root), changed + 3 * 86_400) == 1
    assert not half_written.exists()
    assert spool.clean_inbox(str(root), changed + spool.OLDEST_QUEUED + 1) == 1
    assert spool.waiting(str(root)) == []


@given(st.text(max_size=50), st.text(max_size=50))
def test_any_name_can_be_written_and_read(tmp_path_factory: pytest.TempPathFactory, agent: str, session: str) -> None:
    root = tmp_path_factory.mktemp("ws")
    (root / "talk.jsonl").touch()
    if not spool.queue(str(root), agent, session, str(root / "talk.jsonl"), at=1):
        assert not agent
        return
    (one,) = spool.waiting(str(root))
    assert (one.agent, one.session) == (agent, session or "talk.jsonl")
    json.loads(Path(one.path).read_text("utf8"))


def test_of_too_many_files_the_oldest_go(tmp_path: Path) -> None:
    for number in range(5):
        spool.put(str(tmp_path / "many"), f"{number}.json", b"{}")
        os.utime(tmp_path / "many" / f"{number}.json", (1000 + number, 1000 + number))
    assert spool.sweep(str(tmp_path / "many"), older_than=5000, most=2, now=2000) == 3
    assert sorted(path.name for path in (tmp_path / "many").iterdir()) == ["3.json", "4.json"]
