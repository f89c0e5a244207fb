"""Reading counts: what was given out stands in recalls.jsonl, and nothing that was asked."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.search.conftest import lay_out

from nacre.errors import NotFound
from nacre.memory import Memory

NOW = "2026-05-20T12:00:00+00:00"


def counted(root: Path) -> list[dict[str, Any]]:
    path = root / "memory" / "recalls.jsonl"
    return [json.loads(line) for line in path.read_text("utf8").splitlines()] if path.exists() else []


def test_a_reading_is_counted_with_its_lines_and_its_way(root: Path) -> None:
    memory = Memory.open(root, now=NOW)
    memory.get("memory/kitchen.md", 1, 3)
    memory.get("MEMORY.md:4", lines=1, via="mcp")
    first, second = counted(root)
    assert (first["path"], first["lines"], first["via"]) == ("memory/kitchen.md", [1, 3], "get")
    assert (second["path"], second["lines"], second["via"]) == ("MEMORY.md", [4, 4], "mcp")
    assert first["at"].startswith("2026-05-20T")


def test_however_a_path_is_written_it_is_counted_under_one_name(root: Path) -> None:
    memory = Memory.open(root, now=NOW)
    memory.get("./memory/../memory/kitchen.md", 1, 3)
    assert [one["path"] for one in counted(root)] == ["memory/kitchen.md"]
    memory.get(str(root / "memory" / "kitchen.md"), 2, 3)
    assert len(counted(root)) == 1


def test_pages_of_one_file_within_an_hour_are_one_recall(root: Path) -> None:
    for moment, recalls in (("12:00:00", 1), ("12:00:40", 1), ("12:59:59", 1), ("13:00:01", 2), ("13:59:00", 2)):
        for first in (1, 2, 3):
            Memory.open(root, now=f"2026-05-20T{moment}+00:00").get("memory/kitchen.md", first, 1)
        assert len(counted(root)) == recalls
    Memory.open(root, now="2026-05-20T13:59:00+00:00").get("MEMORY.md", 1, 1)
    assert len(counted(root)) == 3


def test_opening_what_a_question_has_just_found_is_no_second_recall(tmp_path: Path) -> None:
    lay_out(tmp_path, {"memory/x.md": "", "memory_fs/warm/a.md": "# Glacier\n\nThe glacier hike is on Sunday.\n"})
    memory = Memory.open(tmp_path, now=NOW)
    memory.recall("when is the glacier hike?")
    memory.get("memory_fs/hot/a.md")
    assert [one["via"] for one in counted(tmp_path)] == ["recall"]


def test_lines_that_nobody_can_read_do_not_keep_a_reading_from_being_counted(root: Path) -> None:
    log = root / "memory" / "recalls.jsonl"
    bad = [
        '{"path":"memory/kitchen.md"',
        '{"path":"memory/kitchen.md","at":7}',
        '{"path":"memory/kitchen.md","at":"2026-05-20T12:00"}',
    ]
    log.write_text("\n".join([*bad, "[" * 5000 + '"memory/kitchen.md"']) + "\n", "utf8")
    Memory.open(root, now=NOW).get("memory/kitchen.md")
    assert json.loads(log.read_text("utf8").splitlines()[-1])["via"] == "get"


def test_only_memory_counts(root: Path) -> None:
    memory = Memory.open(root, now=NOW)
    memory.get("AGENTS.md")
    memory.get("memory/review.md")
    with pytest.raises(NotFound):
        memory.get("memory/none.md")
    assert counted(root) == []


def test_searching_alone_counts_nothing(root: Path) -> None:
    memory = Memory.open(root, now=NOW)
    hit = memory.search("big oven", mode="text")[0]
    assert counted(root) == []
    memory.get(hit.path, hit.start_line)
    assert [one["path"] for one in counted(root)] == ["memory/kitchen.md"]


def test_what_a_group_reads_is_not_counted(root: Path) -> None:
    Memory.open(root, scope="group:climbers").get("memory/handbook.md", 7, 1)
    assert counted(root) == []


def test_a_reading_that_cannot_be_counted_is_a_reading_all_the_same(root: Path) -> None:
    (root / "memory" / "recalls.jsonl").mkdir()
    memory = Memory.open(root, now=NOW)
    assert "oven" in memory.get("memory/kitchen.md").text
    memory.get("memory/kitchen.md", 2)
    assert [one.kind for one in memory.problems] == ["not counted"]


def test_a_pipe_or_device_in_the_place_of_the_log_keeps_no_reader_waiting(root: Path) -> None:
    log = root / "memory" / "recalls.jsonl"
    (root / "memory_fs" / "warm").mkdir(parents=True)
    (root / "memory_fs" / "warm" / "a.md").write_text("# Glacier\n\nThe glacier hike is on Sunday.\n", "utf8")
    os.mkfifo(root / "pipe")
    for place in (root / "pipe", Path("/dev/zero"), root / "memory"):
        log.symlink_to(place)
        memory = Memory.open(root, now=NOW)
        assert "oven" in memory.get("memory/kitchen.md").text
        assert memory.recall("when is the glacier hike?").found
        log.unlink()
    (root / "pipe").rename(log)
    memory = Memory.open(root, now=NOW)
    assert "oven" in memory.get("memory/kitchen.md").text


def test_counts_are_not_led_out_of_the_workspace_by_a_link(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.jsonl"
    outside.write_text("", "utf8")
    (root / "memory" / "recalls.jsonl").symlink_to(outside)
    assert Memory.open(root, now=NOW).get("memory/kitchen.md").text
    assert outside.read_text("utf8") == ""


def test_a_recall_counts_each_file_once_where_it_lies_now_and_keeps_no_word_of_the_question(tmp_path: Path) -> None:
    lay_out(
        tmp_path,
        {
            "memory/x.md": "",
            "memory_fs/warm/a.md": "# Glacier\n\nThe glacier hike is on Sunday.\n",
            "memory_fs/warm/b.md": "# Glacier\n\n" + "The glacier hike needs crampons.\nnothing\n\n\n\n" * 4,
        },
    )
    memory = Memory.open(tmp_path, now=NOW)
    memory.recall("when is the glacier hike?")
    rows = counted(tmp_path)
    assert sorted((one["path"], one["via"]) for one in rows) == [
        ("memory_fs/hot/a.md", "recall"),
        ("memory_fs/hot/b.md", "recall"),
    ]
    memory.recall("  When is the GLACIER hike？")
    assert len(counted(tmp_path)) == 4
    assert len({row["query_hash"] for row in counted(tmp_path)}) == 1
    assert "glacier" not in (tmp_path / "memory" / "recalls.jsonl").read_text("utf8")


def test_a_gist_that_opened_its_original_is_counted_for_the_original(tmp_path: Path) -> None:
    lay_out(
        tmp_path,
        {
            "memory/x.md": "",
            "memory_fs/warm/a.md": "# Hike\n\nThe glacier hike needs crampons.\n",
            "memory_fs/gist/a.md": "# Hike\n\nTags: hike\n\n- On Sunday\n",
        },
    )
    Memory.open(tmp_path, now=NOW).recall("crampons for the glacier")
    assert [one["path"] for one in counted(tmp_path)] == ["memory_fs/hot/a.md"]
