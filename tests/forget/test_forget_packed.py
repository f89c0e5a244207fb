"""Forgetting reaches compressed logs and the lessons of skills, and purging proves it."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from tests.forget.conftest import take

from nacre.forget.purge import Words, scan
from nacre.memory import Memory

FACT = "The spare key of the greenhouse lies under the blue flower pot"
LOG = f"# 2026-01-10\n\n## 09:00 note\n- {FACT}\n- Use pnpm, never npm\n"


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return Memory.init(tmp_path / "ws", now="2026-11-16T12:00:00+00:00")


def test_a_fact_goes_from_a_compressed_log_and_comes_back_with_undo(memory: Memory) -> None:
    log = memory.workspace.archive / "2026-01" / "2026-01-10.md.gz"
    log.parent.mkdir(parents=True)
    log.write_bytes(gzip.compress(LOG.encode(), mtime=0))
    before = log.read_bytes()
    memory.forget("memory/archive/2026-01/2026-01-10.md.gz:4", choose=take)
    assert gzip.decompress(log.read_bytes()).decode() == LOG.replace(f"- {FACT}\n", "")
    memory.undo()
    assert log.read_bytes() == before


def test_purging_leaves_no_trace_in_compressed_logs_or_what_history_kept_of_them(memory: Memory) -> None:
    log = memory.workspace.archive / "2026-01" / "2026-01-10.md.gz"
    log.parent.mkdir(parents=True)
    log.write_bytes(gzip.compress(LOG.encode(), mtime=0))
    memory.remember(FACT)
    report = memory.forget(f"memory/{memory.clock.today()}.md:4", purge=True, choose=take)
    assert report.purged is not None
    assert report.purged.left == ()
    assert b"pnpm" in gzip.decompress(log.read_bytes())
    assert list(scan([memory.workspace.root], Words([FACT]))) == []


def test_a_damaged_compressed_log_is_left_alone(memory: Memory) -> None:
    log = memory.workspace.archive / "2026-01" / "2026-01-10.md.gz"
    log.parent.mkdir(parents=True)
    log.write_bytes(gzip.compress(LOG.encode())[:40])
    before = log.read_bytes()
    memory.remember(FACT)
    memory.forget(f"memory/{memory.clock.today()}.md:4", choose=take)
    assert log.read_bytes() == before


def test_a_lesson_of_a_skill_goes_with_its_fact(memory: Memory) -> None:
    docs = memory.workspace.root / "skills" / "garden" / "docs"
    docs.mkdir(parents=True)
    (docs.parent / "SKILL.md").write_text("# garden\n", encoding="utf8")
    (docs / "retrospect.md").write_text(f"# Mine\n\n- {FACT}\n- other\n", encoding="utf8")
    memory.remember(FACT)
    memory.forget(f"memory/{memory.clock.today()}.md:4", choose=take)
    assert (docs / "retrospect.md").read_text("utf8") == "# Mine\n\n- other\n"
