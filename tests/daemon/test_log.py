"""The log tells kinds, durations and errors, and never a word of a memory or of a question."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from nacre.daemon.service import open_log
from nacre.errors import NotFound

from .conftest import Start, connected


def test_nothing_that_was_asked_or_found_stands_in_the_log(root: Path, start: Start) -> None:
    process = start()
    with connected(root) as daemon:
        daemon.ask("search", asked={"query": "Braldor backup"})
        daemon.ask("context", asked={"query": "Braldor"})
        with pytest.raises(NotFound):
            daemon.ask("get", asked={"path": "memory/secret-place.md"})
        with pytest.raises(Exception):  # noqa: B017 - whatever it is, it is not logged in full
            daemon.ask("Braldor secret-place", asked={})
    process.terminate()
    assert process.wait(300) == 0
    told = (root / ".nacre" / "daemon.log").read_text("utf8")
    assert "search " in told
    assert "ms error" in told
    assert not any(word in told for word in ("Braldor", "backup", "secret-place", "archive", "roses"))


def test_it_begins_anew_when_it_has_grown_large(tmp_path: Path) -> None:
    path = tmp_path / "daemon.log"
    log = open_log(path)
    for _ in range(800):
        log.info("search %.1f ms %s", 1.0, "x" * 5000)
    assert list(tmp_path.iterdir()) == [path]
    assert path.stat().st_size <= 1_010_000
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_link_in_its_place_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine", "utf8")
    (tmp_path / "daemon.log").symlink_to(tmp_path / "mine.txt")
    log = open_log(tmp_path / "daemon.log")
    log.info("started")
    assert (tmp_path / "mine.txt").read_text("utf8") == "mine"
