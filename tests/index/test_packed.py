"""Compressed logs of the archive are searched as the logs that they were."""

from __future__ import annotations

from pathlib import Path

import pytest

from nacre.disk import compress
from nacre.memory import Memory

LOG = "# 2026-02-10\n\n## 14:05 session:61871d67 | 12 messages\n- [PREF] Use pnpm, never npm\n\n## 15:00 session:71871d67 | 4 messages | group:family\n- Dinner is at Rosa's on Friday\n"
PATH = "memory/archive/2026-02/2026-02-10.md.gz"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "ws"
    Memory.init(root).close()
    (root / PATH).parent.mkdir(parents=True)
    (root / PATH).write_bytes(compress(LOG.encode()))
    return root


def test_a_compressed_log_is_found_with_its_day_and_its_lines_can_be_read(root: Path) -> None:
    with Memory.open(root) as memory:
        (hit,) = memory.search("use pnpm", mode="text", layers=["archive"])
        assert (hit.path, hit.start_line, hit.date) == (PATH, 4, "2026-02-10")
        assert "Use pnpm, never npm" in memory.get(f"{PATH}:4", lines=1).text
        assert memory.search("use pnpm", mode="text", since="2026-02-11") == []


def test_a_compressed_log_is_the_same_as_the_log_for_a_group(root: Path) -> None:
    with Memory.open(root, scope="group:family") as memory:
        (hit,) = memory.search("dinner at Rosa", mode="text")
        assert "Rosa" in memory.get(f"{PATH}:{hit.start_line}", lines=9).text
        assert memory.search("use pnpm", mode="text") == []


def test_a_log_that_is_compressed_or_unpacked_is_found_once(root: Path) -> None:
    with Memory.open(root) as memory:
        assert len(memory.search("use pnpm", mode="text")) == 1
        (root / PATH).unlink()
        (root / PATH.removesuffix(".gz")).write_text(LOG, "utf8")
        assert [hit.path for hit in memory.search("use pnpm", mode="text")] == [PATH.removesuffix(".gz")]


def test_what_is_damaged_a_link_or_not_in_the_archive_is_not_read(root: Path) -> None:
    data = compress(LOG.encode())
    (root / PATH).write_bytes(data[:40])
    (root / "memory" / "note.md.gz").write_bytes(data)
    (root / "elsewhere.gz").write_bytes(data)
    (root / PATH).with_name("2026-02-11.md.gz").symlink_to(root / "elsewhere.gz")
    with Memory.open(root) as memory:
        assert memory.search("use pnpm", mode="text") == []
        assert memory.update().unreadable == [PATH]
