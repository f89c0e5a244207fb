"""Lines of an append-only file are found by key, whatever was done to the file meanwhile."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nacre.vault import jsonl
from nacre.vault.jsonl import LineIndex


def keys_of(row: Mapping[str, Any]) -> list[str] | None:
    return [f"k{row['k']}"] if isinstance(row.get("k"), int) else None


def line(key: int, text: str = "") -> bytes:
    return json.dumps({"k": key, "text": text}).encode() + b"\n"


def opened(path: Path) -> LineIndex:
    return LineIndex(path.parent / ".nacre" / "index", path, keys_of)


def texts(path: Path, *keys: int) -> list[str]:
    return [row["text"] for row in opened(path).rows(f"k{key}" for key in keys)]


@pytest.fixture(autouse=True)
def _index_small_files_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonl, "_SMALL", 0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "rows.jsonl"
    made.write_bytes(b"".join(line(number % 7, f"first {number}") for number in range(500)))
    assert len(texts(made, 3)) == 71
    return made


def test_only_what_was_added_is_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    rows = jsonl._lines

    def counted(data: bytes) -> Any:
        read.append(len(data))
        return rows(data)

    monkeypatch.setattr(jsonl, "_lines", counted)
    with path.open("ab") as file:
        file.write(line(3, "added"))
    assert texts(path, 3)[-1] == "added"
    assert sum(read) == len(line(3, "added"))
    read.clear()
    assert texts(path, 3)[-1] == "added"
    assert not read


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.replace(b'first 3"', b'other 3"'),
        lambda data: data.replace(b'{"k": 3,', b'{"k": 8,'),
        lambda data: data.replace(b"first", b"the first") + line(3, "more"),
        lambda data: data[:4000],
        lambda data: data[: data.index(b"\n") + 1],
        lambda data: b"",
        lambda data: b"".join(line(3, f"new {number}") for number in range(600)),
        lambda data: data + b'{"k": 3, "text": "torn',
        lambda data: data + line(3, "no line end").rstrip(),
        lambda data: data + b"\n\nnonsense\n[1]\n" + line(3, "last"),
        lambda data: data.replace(b"\n", b"\r\n"),
    ],
)
@pytest.mark.parametrize("in_place", [True, False])
def test_a_file_that_was_edited_cut_or_replaced_is_read_as_it_is(
    path: Path, change: Callable[[bytes], bytes], in_place: bool
) -> None:
    data = change(path.read_bytes())
    if not in_place:
        path.unlink()
    path.write_bytes(data)
    rows = []
    for text in data.split(b"\n"):
        try:
            rows.append(json.loads(text))
        except ValueError:
            continue
    for _ in range(2):
        for key in (3, 8):
            assert texts(path, key) == [row["text"] for row in rows if isinstance(row, dict) and row["k"] == key]


def test_what_was_torn_is_found_once_it_is_whole(path: Path) -> None:
    whole = line(9, "whole")
    for part in (whole[:10], whole[10:]):
        assert texts(path, 9) == []
        with path.open("ab") as file:
            file.write(part)
    assert texts(path, 9) == ["whole"]


def test_a_broken_line_is_noticed_until_it_is_mended(path: Path) -> None:
    assert opened(path).is_sound
    before = path.read_bytes()
    for broken in (b"nonsense\n", b'{"k": "x"}\n', b"torn"):
        path.write_bytes(before + broken)
        assert not opened(path).is_sound
        assert not opened(path).is_sound
        path.write_bytes(before)
        assert opened(path).is_sound


@pytest.mark.parametrize("damage", [b"", b"nonsense", b"SQLite format 3\0" + b"x" * 5000])
def test_a_damaged_index_is_made_anew(path: Path, damage: bytes) -> None:
    before = texts(path, 3)
    for file in (path.parent / ".nacre" / "index").iterdir():
        file.unlink()
    (path.parent / ".nacre" / "index" / jsonl.FILE_NAME).write_bytes(damage)
    assert texts(path, 3) == texts(path, 3) == before


def test_where_it_cannot_be_kept_the_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(line(1, "one") + line(2, "two"))
    (tmp_path / ".nacre").write_text("in the way", "utf8")
    assert texts(path, 2) == ["two"]
    assert opened(path).keys("k") == {"k1", "k2"}


def test_without_the_file_nothing_is_found_and_nothing_made(tmp_path: Path) -> None:
    assert texts(tmp_path / "rows.jsonl", 1) == []
    assert os.listdir(tmp_path) == []


def test_a_link_that_leads_elsewhere_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere.jsonl").write_bytes(line(1, "not ours"))
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    (folder / "rows.jsonl").symlink_to(tmp_path / "elsewhere.jsonl")
    assert texts(folder / "rows.jsonl", 1) == []


LINES = st.lists(st.tuples(st.integers(0, 3), st.text(max_size=3)), max_size=6)


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from(["add", "cut", "replace"]), LINES), max_size=6))
def test_after_any_changes_the_same_is_found_as_by_reading(tmp_path: Path, steps: list[tuple[str, list[Any]]]) -> None:
    path = tmp_path / os.urandom(4).hex() / "rows.jsonl"
    path.parent.mkdir()
    rows: list[tuple[int, str]] = []
    for how, lines in steps:
        rows = {"add": rows + lines, "cut": rows[: len(lines)], "replace": list(lines)}[how]
        path.write_bytes(b"".join(line(*row) for row in rows))
        for key in range(4):
            assert texts(path, key) == [text for own, text in rows if own == key]
