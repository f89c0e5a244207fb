from __future__ import annotations

from pathlib import Path

import pytest

from nacre.errors import BadInput, NacreError, NotFound, PathEscape
from nacre.memory import Memory


def test_lines_are_read_by_number_by_place_and_by_citation(root: Path) -> None:
    memory = Memory.open(root)
    assert memory.get("MEMORY.md", 4, 1).text == "- Use pnpm, never npm, in every repository"
    assert memory.get("MEMORY.md:4", lines=1).text == "- Use pnpm, never npm, in every repository"
    assert memory.get("MEMORY.md#L3-L5").text.count("\n") == 2
    hit = memory.search("climbers north wall", mode="text")[0]
    assert str(memory.get(hit.path, hit.start_line, 1)) == hit.snippet


def test_a_read_past_the_end_stops_there_and_says_whether_more_follows(root: Path) -> None:
    memory = Memory.open(root)
    whole = memory.get("MEMORY.md", 1, 500)
    assert (whole.start_line, whole.end_line, whole.more) == (1, 5, False)
    assert memory.get("MEMORY.md", 1, 2).more
    with pytest.raises(NotFound, match="5 lines"):
        memory.get("MEMORY.md", 6)


@pytest.mark.parametrize("path", ["../../etc/passwd", "/etc/passwd", "memory/../../x.md", "memory/\0x.md"])
def test_a_path_that_leads_out_is_refused(root: Path, path: str) -> None:
    with pytest.raises(PathEscape):
        Memory.open(root).get(path)


def test_a_link_that_leads_out_is_refused(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text("hidden\n", encoding="utf8")
    (root / "memory" / "link.md").symlink_to(outside)
    with pytest.raises(PathEscape):
        Memory.open(root).get("memory/link.md")


@pytest.mark.parametrize(
    "path",
    [
        "memory/none.md",
        "memory",
        ".nacre/config.toml",
        ".nacre/index/index.sqlite",
        "memory/ledger.jsonl",
        "memory/trail.jsonl",
    ],
)
def test_what_is_no_memory_file_is_not_there(root: Path, path: str) -> None:
    with pytest.raises(NotFound):
        Memory.open(root).get(path)


def test_impossible_line_numbers_are_refused(root: Path) -> None:
    for start, lines in ((-1, 5), (1, 0)):
        with pytest.raises(BadInput):
            Memory.open(root).get("MEMORY.md", start, lines)


def test_bytes_that_are_no_text_are_read_with_marks_and_do_no_harm(root: Path) -> None:
    (root / "memory" / "broken.md").write_bytes(b"good\n\xff\xfe bad\r\nlast")
    excerpt = Memory.open(root).get("memory/broken.md")
    assert excerpt.text.split("\n")[0] == "good"
    assert excerpt.end_line == 3


def test_every_refusal_is_a_sentence_in_chinese_too(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NACRE_LANGUAGE", "zh")
    with pytest.raises(NacreError, match="记忆文件"):
        Memory.open(root).get("memory/none.md")


def test_lines_from_the_middle_of_a_private_key_are_not_shown(tmp_path: Path) -> None:
    body = [f"MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC{number:02d}x7Zq9Lk2Vb" for number in range(20)]
    key = ["-----BEGIN PRIVATE KEY-----", *body, "-----END PRIVATE KEY-----"]
    with Memory.init(tmp_path) as memory:
        (tmp_path / "memory" / "keys.md").write_text("\n".join(["# Keys", *key, "the end"]) + "\n", encoding="utf-8")
        text = memory.get("memory/keys.md", 8, 5).text
        assert not any(line in text for line in body)
        assert memory.get("memory/keys.md", 23, 5).text.endswith("the end")
