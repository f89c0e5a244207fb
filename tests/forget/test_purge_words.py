"""Words are found in the bytes of files however they are packed."""

from __future__ import annotations

import gzip
import json
import sqlite3
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.forget import purge
from nacre.forget.purge import Words

ENGLISH = "The spare key lies under the blue flowerpot"
CHINESE = "备用钥匙放在蓝色花盆下面的盒子里"
QUOTED = 'She said "never again" about the blue flowerpot'


@pytest.mark.parametrize("words", [ENGLISH, CHINESE, QUOTED])
@pytest.mark.parametrize("how", ["plain", "upper", "wrapped", "json", "ascii json", "zlib", "gzip", "sqlite"])
def test_words_are_found_however_they_are_written(tmp_path: Path, words: str, how: str) -> None:
    path = tmp_path / "file"
    plain = f"before\n- [PREF] {words}.\nafter\n".encode()
    packed = {
        "plain": plain,
        "upper": plain.upper(),
        "wrapped": plain.replace(b" ", b"\n   "),
        "json": json.dumps({"text": words}, ensure_ascii=False).encode(),
        "ascii json": json.dumps({"text": words}).encode(),
        "zlib": zlib.compress(plain),
        "gzip": gzip.compress(plain),
    }
    if how == "sqlite":
        with sqlite3.connect(path) as db:
            db.execute("create table notes(text)")
            db.execute("insert into notes values(?)", (words,))
        db.close()
    else:
        path.write_bytes(packed[how])
    assert [trace.words for trace in purge.scan([tmp_path], Words([words, "Something that nobody wrote"]))] == [words]


def test_the_line_is_named_where_there_is_one(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(f"one\ntwo\n- {ENGLISH}\n", "utf8")
    (trace,) = purge.scan([tmp_path], Words([ENGLISH]))
    assert (trace.path.name, trace.line, trace.inside) == ("a.md", 3, "")


def test_the_history_of_git_is_left_out_and_names_of_files_count(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "packed").write_text(ENGLISH, "utf8")
    (tmp_path / f"{ENGLISH}.md").write_text("", "utf8")
    (trace,) = purge.scan([tmp_path], Words([ENGLISH]))
    assert (trace.path.name, trace.inside) == (f"{ENGLISH}.md", purge.NAME)


def test_short_words_count_only_as_a_line_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("- Buy milk today\n", "utf8")
    (tmp_path / "b.md").write_text("- [TEMP] Milk.\n", "utf8")
    assert [trace.path.name for trace in purge.scan([tmp_path], Words(["milk"]))] == ["b.md"]


def test_links_are_not_followed_and_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.md").write_text(ENGLISH, "utf8")
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "link.md").symlink_to(outside / "a.md")
    (inside / "folder").symlink_to(outside)
    assert list(purge.scan([inside], Words([ENGLISH]))) == []


@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=60), max_size=120), st.binary(max_size=400))
def test_many_words_are_found_as_each_by_itself(words: list[str], data: bytes) -> None:
    content = data + "\n".join(words[::2]).encode() + data
    many = Words([*words, *(f"padding {number} that nobody ever wrote down" for number in range(100))])
    alone = [word for word in dict.fromkeys(words) if Words([word]).matches(content)]
    assert sorted(many.matches(content)) == sorted(alone)


@pytest.mark.parametrize(
    "text",
    [
        "The **spare** key lies under the _blue_ `flowerpot`",
        "~~The spare key~~ lies under [the blue](https://example.org/a_b) flowerpot",
        "[see](The spare key lies under the blue flowerpot)",
    ],
)
def test_marks_of_markdown_hide_nothing(text: str) -> None:
    assert Words([ENGLISH]).matches(f"- x\n- {text}.\n".encode()) == [ENGLISH]
    assert Words([text]).matches(f"- {ENGLISH}\n".encode()) == ([] if text.startswith("[see]") else [text])


def test_short_words_that_say_something_are_found_within_a_line_and_not_within_a_word() -> None:
    for words, text in (
        ("PIN is 4711", "the **PIN** is 4711, yes"),
        ("密码是海豚", "他说密码是海豚。"),
        ("77-81", "code 77-81"),
    ):
        assert Words([words]).matches(f"- {text}\n".encode()) == [words]
    assert Words(["PIN is 4711"]).matches(b"the spin is 47110") == []
    assert Words(["PIN is 4711"]).matches(b"pin is 47110") == []
