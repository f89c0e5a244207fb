"""Sessions that OpenClaw put aside, laid out as its own code does (its cold storage was not run)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.sources.steps import said

from nacre.sources.openclaw import DATABASE as SOURCE
from nacre.sources.transcript import Transcript

from .store import Store, agent, head, put_aside, user, zstd

TALK = [head("s"), user("one 一", 1), agent("two", 2)]


@pytest.fixture
def aside(store: Store) -> Path:
    store.session("s", transcript_updated_at=1_772_452_800_000)
    store.add("s", *TALK)
    return put_aside(store, "s", TALK, "g-s")


def test_a_session_that_was_put_aside_is_read_from_its_file(store: Store, aside: Path) -> None:
    one = store.found()["s"]
    assert (one.path, one.key) == (aside, f"{store.path}#s")
    assert one.changed == 1_772_452_800
    assert said(store.read("s")) == [("owner", "one 一"), ("agent", "two")]


def test_what_was_read_before_is_not_read_again_from_there_nor_when_it_comes_back(store: Store) -> None:
    store.session("s")
    store.add("s", *TALK)
    first = store.read("s")
    put_aside(store, "s", TALK, "g-s")
    second = store.read("s", first)
    assert (said(second), second.rewritten, second.mark.offset) == ([], False, 3)
    store.add("s", *TALK, user("three", 9), begin=0)
    assert store.found()["s"].path == store.path
    assert said(store.read("s", second)) == [("owner", "three")]


def test_a_file_whose_session_is_gone_or_unknown_is_passed_over(store: Store, aside: Path) -> None:
    store.run("DELETE FROM session_windows")
    assert store.found() == {}


def test_of_two_files_the_newer_is_taken(store: Store, aside: Path) -> None:
    os.utime(aside, (1, 1))
    newer = put_aside(store, "s", [*TALK, user("three", 9)], "g-s")
    assert store.found()["s"].path == newer


@pytest.mark.parametrize(
    "data", [b"", b"no frame", zstd.compress(b"{}\n"), zstd.compress(b'{"kind":"header","version":2}\n')]
)
def test_other_files_there_are_not_taken_for_one(store: Store, aside: Path, data: bytes) -> None:
    aside.with_name(f"{'0' * 64}.jsonl.zst").write_bytes(data)
    aside.with_name("x.jsonl.zst").write_bytes(aside.read_bytes())
    assert store.found()["s"].path == aside


def test_a_damaged_file_is_said_to_be_so(store: Store, aside: Path) -> None:
    one: Transcript = store.found()["s"]
    aside.write_bytes(aside.read_bytes()[:-5])
    with pytest.raises(OSError, match="damaged"):
        SOURCE.read(one, None, None)
    aside.unlink()
    with pytest.raises(OSError):
        SOURCE.read(one, None, None)
