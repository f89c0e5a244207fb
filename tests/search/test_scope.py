from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from nacre.errors import BadInput, NotFound
from nacre.memory import Memory
from nacre.model import Scope
from nacre.search.read import read_lines

if TYPE_CHECKING:
    from tests.conftest import FakeEmbedder

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


def test_a_group_is_not_told_that_a_file_is_there_by_what_is_wrong_with_it(root: Path, tmp_path: Path) -> None:
    (root / "memory" / "archive").mkdir()
    (root / "memory" / "archive" / "a.md.gz").write_bytes(b"\x1f\x8b damaged")
    (root / "memory" / "large.md").write_bytes(b"a\n" * 6_000_000)
    (tmp_path / "outside.md").write_text("elsewhere", "utf8")
    (root / "memory" / "link.md").symlink_to(tmp_path / "outside.md")
    os.mkfifo(root / "memory" / "pipe.md")
    memory = Memory.open(root, scope="group:climbers")
    for path in ("memory/archive/a.md.gz", "memory/large.md", "memory/link.md", "memory/pipe.md", "memory/none.md"):
        for place in (path, f"{path}:9000"):
            with pytest.raises(NotFound) as refused:
                memory.get(place)
            assert str(refused.value) == f"There is no memory file {path}."
    with pytest.raises(BadInput, match="too large"):
        Memory.open(root).get("memory/large.md")


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


PUBLIC = "---\npublic: true\n---\n"
STAMP = "08:00 session:aa | 3 messages | group:team"


def seen_by_the_team(root: Path) -> str:
    """Everything that the group can search, read and be given."""
    memory = Memory.open(root, scope="group:team", now="2026-02-10T12:00")
    hits = memory.search("walrus 海象", mode="text", min_score=0)
    read = [memory.get(hit.path, hit.start_line, 50).text for hit in hits]
    return "\n".join([*map(repr, hits), *read, memory.context(query="walrus").text])


def lay_out(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf8")


@pytest.mark.parametrize(
    "path",
    [
        *("MEMORY.md", "USER.md", "projects/shop/MEMORY.md", "memory/2026-02-10.md", "memory/weekly/2026-02-09.md"),
        *("memory/archive/2026/2026-01-05.md", "memory_fs/hot/x.md", "memory_fs/gist/x.md", "memory/MEMORY.md"),
    ],
)
def test_memory_logs_and_checkpoints_are_not_made_public_by_what_they_say(tmp_path: Path, path: str) -> None:
    lay_out(tmp_path, {"memory/x.md": "x\n", path: f"{PUBLIC}# M\n\n- The walrus is private 海象\n"})
    assert "private" not in seen_by_the_team(tmp_path)
    assert "private" in Memory.open(tmp_path).get(path).text


def test_only_the_log_of_a_day_has_sections_of_a_group(tmp_path: Path) -> None:
    talk = f"# Talk\n\n## {STAMP}\n- The walrus is private\n"
    lay_out(tmp_path, dict.fromkeys(("memory/2026-02-10-talk.md", "memory/archive/notes.md", "memory/x.md"), talk))
    assert "private" not in seen_by_the_team(tmp_path)
    lay_out(tmp_path, {"memory/2026-02-10.md": f"# Log\n\n## {STAMP}\n- The walrus is ours\n"})
    assert "ours" in seen_by_the_team(tmp_path)


def test_a_private_section_stays_private_below_one_of_the_group(tmp_path: Path) -> None:
    inner = "### 09:00 session:bb | 2 messages\n- The walrus is private\n"
    lay_out(tmp_path, {"memory/2026-02-10.md": f"## {STAMP}\n- The walrus is ours\n\n{inner}"})
    assert "private" not in seen_by_the_team(tmp_path)
    assert "ours" in seen_by_the_team(tmp_path)


def test_a_link_makes_no_private_file_look_like_a_log_or_a_note(tmp_path: Path) -> None:
    lay_out(tmp_path, {"MEMORY.md": f"{PUBLIC}# M\n\n## {STAMP}\n- The walrus is private\n", "memory/x.md": "x\n"})
    lay_out(tmp_path, {"SESSION-STATE.md": f"# S\n\n## {STAMP}\n- The walrus is private\n"})
    (tmp_path / "memory" / "2026-02-10.md").symlink_to("../MEMORY.md")
    (tmp_path / "memory" / "2026-02-09.md").symlink_to("../SESSION-STATE.md")
    (tmp_path / "memory" / "note.md").symlink_to("../MEMORY.md")
    (tmp_path / "memory" / "folder").symlink_to("../projects")
    lay_out(tmp_path, {"projects/shop/2026-02-10.md": f"## {STAMP}\n- The walrus is private\n"})
    assert "private" not in seen_by_the_team(tmp_path)


def test_a_note_that_gives_way_to_a_link_of_the_same_words_is_no_longer_shown(tmp_path: Path) -> None:
    note = tmp_path / "memory" / "note.md"
    lay_out(tmp_path, {"memory/note.md": f"{PUBLIC}The walrus was public\n"})
    assert "was public" in seen_by_the_team(tmp_path)
    note.rename(tmp_path / "IDENTITY.md")
    note.symlink_to("../IDENTITY.md")
    assert "was public" not in seen_by_the_team(tmp_path)


def test_a_private_heading_that_looks_like_a_stamp_does_not_show(tmp_path: Path) -> None:
    above = f"# plans > {STAMP} > private plans"
    lay_out(tmp_path, {"memory/2026-02-10.md": f"{above}\n\n## {STAMP}\n- The walrus is ours\n"})
    assert "private" not in seen_by_the_team(tmp_path)
    assert Memory.open(tmp_path, scope="group:team").search("plans", mode="text", min_score=0) == []


def test_the_lines_of_a_file_that_changed_since_it_was_indexed_are_not_taken_for_others(tmp_path: Path) -> None:
    log = tmp_path / "memory" / "2026-02-10.md"
    lay_out(tmp_path, {"memory/2026-02-10.md": f"## {STAMP}\n- The walrus is ours\n"})
    memory = Memory.open(tmp_path, scope="group:team")
    memory.keeper.current()
    log.write_text(f"## 07:00 note\n- The walrus is private\n\n{log.read_text('utf8')}", encoding="utf8")
    with pytest.raises(NotFound):
        read_lines(replace(memory.opened, scope=Scope("team")), "memory/2026-02-10.md", 1, 50, memory.keeper.store)
    assert memory.get("memory/2026-02-10.md", 1, 50).text == "- The walrus is ours"


def test_what_an_older_version_indexed_is_not_believed(tmp_path: Path) -> None:
    lay_out(tmp_path, {"MEMORY.md": "# M\n\n- The walrus is private\n", "memory/x.md": f"{PUBLIC}The walrus is ours\n"})
    owner = Memory.open(tmp_path)
    owner.update()
    db = owner.keeper.store.db
    db.execute("update chunks set audience = '*'")
    db.execute("update files set made_with = replace(made_with, '\"chunker\": ', '\"chunker\": -')")
    owner.close()
    assert "private" not in seen_by_the_team(tmp_path)
    assert "ours" in seen_by_the_team(tmp_path)


def test_what_follows_a_fence_that_a_group_left_open_is_not_the_group_s(tmp_path: Path) -> None:
    memory = Memory.init(tmp_path / "ws", now="2026-02-14T12:00:00+00:00")
    log = memory.workspace.day(memory.clock.today())
    log.write_text("## 09:00 session:aaaa | group:ops\n- deploy is at noon\n```\nopen\n", encoding="utf8")
    memory.remember("the surgery of Ann is on Tuesday")
    group = Memory.open(memory.workspace.root, now="2026-02-14T13:00:00+00:00", scope="group:ops")
    assert "noon" in group.context().text
    assert "surgery" not in group.context(query="surgery of Ann").text
    assert not [hit for hit in group.search("surgery of Ann", min_score=0, mode="text") if "surgery" in hit.snippet]


@pytest.mark.parametrize("mode", ["text", "hybrid"])
def test_scores_in_a_group_do_not_depend_on_private_words(
    tmp_path: Path, fake_embedder: type[FakeEmbedder], mode: str
) -> None:
    public = {
        "memory/handbook.md": "---\npublic: true\n---\n# Handbook\n\nThe merger of ropes: tie a double knot.\n\n## Wall\n\nClimb the north wall.\n",
        "memory/2026-02-10.md": "# 2026-02-10\n\n## 18:00 session:aa11bb22 | 4 messages | group:climbers\n- The climbers discuss the merger of two walls\n",
    }
    private = {
        f"memory/private-{number}.md": f"# Plan {number}\n\nThe merger with Acme closes in March, merger talks {number}.\n\n- merger\n"
        for number in range(40)
    }
    answers = []
    for name, files in {"alone": public, "beside": public | private}.items():
        lay_out(tmp_path / name, files)
        memory = Memory.open(tmp_path / name, scope="group:climbers", embedder=fake_embedder())
        memory.index()
        hits = memory.search("merger of the north wall", mode=mode, min_score=0)
        answers.append(
            [(hit.path, hit.start_line, hit.score, hit.text_score, hit.vector_score, hit.parts) for hit in hits]
        )
    assert answers[0]
    assert answers[0] == answers[1]
