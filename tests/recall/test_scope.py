from __future__ import annotations

from pathlib import Path

import pytest

from nacre.errors import BadInput, NotFound
from nacre.memory import Memory

PRIVATE = ("pnpm", "Typst", "Lin", "deadline", "PostgreSQL", "Oslo", "oven", "Eleventy", "short")


def test_a_group_finds_its_own_sections_and_public_files_only(root: Path) -> None:
    memory = Memory.open(root, scope="group:climbers")
    assert {hit.path for hit in memory.search("climbers wall", mode="text", min_score=0)} == {
        "memory/2026-02-10.md",
        "memory/handbook.md",
    }
    for word in PRIVATE:
        assert memory.search(word, mode="text", min_score=0) == [], word


def test_another_group_does_not_see_the_first(root: Path) -> None:
    memory = Memory.open(root, scope="group:divers")
    assert [hit.path for hit in memory.search("climbers wall", mode="text", min_score=0)] == ["memory/handbook.md"]


@pytest.mark.parametrize(
    "place",
    [
        "MEMORY.md",
        "USER.md",
        "AGENTS.md",
        "SESSION-STATE.md",
        "memory/2026-02-10.md:1",
        "memory/2026-02-10.md:4",
        "memory/2026-03-01.md",
        "projects/blog/MEMORY.md",
    ],
)
def test_a_group_cannot_read_what_is_private(root: Path, place: str) -> None:
    (root / "SESSION-STATE.md").write_text("# Session State\nsecret plans\n", encoding="utf8")
    memory = Memory.open(root, scope="group:climbers")
    with pytest.raises(NotFound):
        memory.get(place, lines=1)


def test_a_group_reads_its_own_lines_and_no_line_around_them(root: Path) -> None:
    excerpt = Memory.open(root, scope="group:climbers").get("memory/2026-02-10.md", 1, 50)
    assert excerpt.text == "- The climbers meet at the north wall on Sunday"


def test_nothing_is_written_in_a_group(root: Path) -> None:
    with pytest.raises(BadInput):
        Memory.open(root, scope="group:climbers").remember("a private thought")


@pytest.mark.parametrize("scope", ["", "group:", "group", "everyone", "MAIN"])
def test_a_scope_that_is_none_is_refused(root: Path, scope: str) -> None:
    with pytest.raises(BadInput):
        Memory.open(root, scope=scope)


def test_neither_a_private_heading_nor_a_number_of_lines_shows_in_a_group(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    text = "# plan to fire Carol\n\n## 08:00 session:aa | 3 messages | group:team\n- We meet at noon\n"
    (tmp_path / "memory" / "2026-02-10.md").write_text(text, encoding="utf8")
    (tmp_path / "MEMORY.md").write_text("x\n" * 19, encoding="utf8")
    (tmp_path / "memory" / "talk.md").write_text("# Meeting group:team\n\nThe budget is secret\n", encoding="utf8")
    memory = Memory.open(tmp_path, scope="group:team")
    (hit,) = memory.search("meet noon", mode="text", min_score=0)
    assert hit.heading == "08:00 session:aa | 3 messages | group:team"
    assert memory.search("budget", mode="text", min_score=0) == []
    with pytest.raises(NotFound, match="no memory file"):
        memory.get("MEMORY.md:500")
