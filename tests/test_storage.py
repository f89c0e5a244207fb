"""Everything above the vault does the same over files and over a dictionary: one story, told twice."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.storage import Dictionary, file_bytes, files_below, is_there, memories, put_file
from tests.talks import ClaudeTalk

from nacre.checks.health import check_health
from nacre.clock import Clock
from nacre.config.settings import Config
from nacre.disk import compress
from nacre.errors import NotFound
from nacre.memory import Memory
from nacre.model import Context, Workspace

NOW = dt.datetime(2026, 3, 20, 3, 0, tzinfo=dt.UTC)
DAY = "# {day}\n\n## 14:05 session:61871d67 | 12 messages | project:shop\n- [PREF] {words}\n"
FILES = {
    "MEMORY.md": "# Long-Term Memory\n\n## User Preferences\n- Answers are to be short\n",
    "USER.md": "# USER.md\n\n- Name: Ana\n- Time zone:\n",
    "AGENTS.md": "# Rules\n",
    "SESSION-STATE.md": "# Session State\n\n## Current Task\nThe invoices of March\n",
    "projects/shop/MEMORY.md": "# Long-Term Memory: shop\n\n> Project: /work/shop\n\n## Key Decisions\n- Staging is in Berlin\n",
    "memory/2026-03-20.md": DAY.format(day="2026-03-20", words="Deploys wait until the tests have passed"),
    "memory/2026-02-10.md": DAY.format(day="2026-02-10", words="Always use pnpm in the shop, never npm"),
    "memory/2026-02-11.md": DAY.format(day="2026-02-11", words="我总是用中文写提交信息"),
    "memory/archive/2025-12/2025-12-01.md": DAY.format(day="2025-12-01", words="Kim checks the invoices on Fridays"),
    "memory/archive/MEMORY.md.bak-2024-01-01": "# Long-Term Memory\n",
    "memory/archive/MEMORY.md.bak-2026-01-01": "# Long-Term Memory\n",
    "memory/kitchen.md": "# Kitchen\n\nThe espresso machine is descaled in April.\n",
    "memory_fs/hot/2026-03-19-1500-lamps.md": "# Lamps\n\nsession:61871d67 | claude-code | x | /work/shop\n\nWe chose the brass lamps.\n",
    "memory_fs/warm/2026-02-01-1500-roof.md": "# Roof\n\nThe roof of the barn leaks at the chimney.\n",
}


@pytest.fixture(params=["disk", "dictionary"])
def memory(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    monkeypatch.setenv("NACRE_MODELS_PATH", str(tmp_path / "none"))
    root = tmp_path / "ws"
    (root / ".nacre").mkdir(parents=True, mode=0o700)
    storage = Dictionary() if request.param == "dictionary" else None
    if storage:
        memories[root] = storage
    for name, text in FILES.items():
        put_file(root / name, text)
    put_file(
        root / "memory/archive/2025/2025-11-01.md.gz", compress(b"# 2025-11-01\n\n- The gate code changed in autumn\n")
    )
    with Memory(Context(Workspace(root, storage), Config(), Clock(dt.UTC, NOW))) as memory:
        yield memory
    if storage:
        del memories[root]
        assert os.listdir(root) == [".nacre"], "something went past the storage"


def paths(memory: Memory, query: str) -> set[str]:
    return {hit.path for hit in memory.search(query)}


def test_search_and_get_read_every_layer_and_see_every_change(memory: Memory) -> None:
    assert "memory/2026-02-10.md" in paths(memory, "pnpm")
    assert "memory/archive/2025/2025-11-01.md.gz" in paths(memory, "gate code")
    assert "memory_fs/warm/2026-02-01-1500-roof.md" in paths(memory, "barn roof chimney")
    assert "projects/shop/MEMORY.md" in paths(memory, "staging Berlin")
    assert "Fridays" in memory.get("memory/archive/2025-12/2025-12-01.md").text
    assert "gate code" in memory.get("memory/archive/2025/2025-11-01.md.gz").text
    with pytest.raises(NotFound):
        memory.get("memory/none.md")
    put_file(memory.workspace.root / "memory/kitchen.md", "# Kitchen\n\nThe kettle is new.\n")
    assert "memory/kitchen.md" in paths(memory, "kettle")
    assert "memory/kitchen.md" not in paths(memory, "espresso")


def test_a_session_is_given_state_memory_days_and_checkpoints(memory: Memory) -> None:
    text = memory.context(query="who checks the invoices", here="/work/shop", all_files=True).text
    for words in (
        "invoices of March",
        "Answers are to be short",
        "Staging is in Berlin",
        "tests have passed",
        "Kim",
        "Ana",
    ):
        assert words in text
    assert "brass lamps" in text
    elsewhere = memory.context(here="/work/other")
    assert "brass lamps" not in elsewhere.text
    assert "memory_fs/hot/2026-03-19-1500-lamps.md" in {part.path for part in elsewhere.left}


def test_tidying_presses_distils_archives_and_is_undone(memory: Memory) -> None:
    root = memory.workspace.root
    before = {name: file_bytes(root / name) for name in files_below(root)}
    report = memory.tidy()
    assert not report.left
    after = files_below(root)
    assert "memory/archive/2026/2026-02-10.md" in after
    assert "memory/2026-02-10.md" not in after
    assert "memory/archive/MEMORY.md.bak-2026-01-01" in after
    assert any(name.startswith("memory/weekly/") for name in after)
    assert memory.tidy().steps == ()
    assert check_health(memory).figures["files"]["archive"] >= 3
    memory.undo(last=2)
    changed = {name for name in files_below(root) if before.get(name) != file_bytes(root / name)}
    assert changed <= {"memory/ledger.jsonl", "memory/trail.jsonl"}


def test_what_is_remembered_is_forgotten_everywhere_and_comes_back(memory: Memory) -> None:
    entry = memory.remember("The spare key hangs behind the boiler")
    (typed,) = memory.untyped(apply=True)
    assert f"- [{typed.type}] The spare key".encode() in file_bytes(memory.workspace.root / entry.path)
    put_file(memory.workspace.root / "memory/keys.md", "- The spare key hangs behind the boiler\n")
    memory.forget("The spare key hangs behind the boiler")
    assert not paths(memory, "spare key boiler") & {entry.path, "memory/keys.md"}
    assert b"boiler" not in file_bytes(memory.workspace.root / entry.path)
    memory.undo()
    assert entry.path in paths(memory, "spare key boiler")


def test_a_checkpoint_is_written_recalled_and_counted(memory: Memory) -> None:
    written = memory.checkpoint(text="We agreed that the harbour tour starts at nine.", title="Harbour")
    assert is_there(memory.workspace.root / written.path)
    report = memory.recall("barn roof chimney")
    assert [found.path for found in report.found] == ["memory_fs/hot/2026-02-01-1500-roof.md"]
    assert is_there(memory.workspace.root / "memory/recalls.jsonl")
    memory.organise()
    assert memory.all_problems() == []


def test_what_was_said_is_captured_once_and_put_away(memory: Memory) -> None:
    talk = ClaudeTalk(Path.home(), "5e551011-0000-4000-8000-000000000001")
    for time, words in (
        ("09:00:00", "the lamps of the shop are off at eight"),
        ("09:02:00", "Mara Olsen checks invoices"),
    ):
        talk.say(f"From now on {words}, in every week.", time, "2026-03-19").answer("Noted.", time, "2026-03-19")
    report = memory.sync(since="all")
    (name,) = report.checkpoints
    assert b"Mara Olsen" in file_bytes(memory.workspace.root / "memory_fs/hot" / name)
    (section,) = report.sections
    log = memory.workspace.root / f"memory/{section.day}.md"
    assert b"Mara Olsen" in file_bytes(log)
    before = file_bytes(log)
    memory.workspace.cursors.unlink()
    assert memory.sync(since="all").sections == ()
    assert file_bytes(log) == before
