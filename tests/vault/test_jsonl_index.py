"""Lines of a long file are found by the ids in them, whatever else stands there."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nacre.model.workspace import Workspace
from nacre.vault.jsonl import LineIndex
from nacre.vault.storage import Disk


def line(key: int, text: str = "") -> bytes:
    return json.dumps({"k": str(key), "text": text}).encode() + b"\n"


def texts(path: Path, *keys: int) -> list[str]:
    storage = Disk(Workspace(path.parent))
    return [row["text"] for row in LineIndex(storage, path.name, rb'"k": ?"(\d+)"').rows(map(str, keys))]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "rows.jsonl"
    made.write_bytes(b"".join(line(number % 7, f"first {number}") for number in range(500)))
    return made


def test_the_rows_of_several_ids_come_in_the_order_of_the_file(path: Path) -> None:
    assert len(texts(path, 3)) == 71
    assert texts(path, 4, 3)[:3] == ["first 3", "first 4", "first 10"]
    assert texts(path, 9) == []


@pytest.mark.parametrize("broken", [b"{", b"[1]\n", b'{"k": "3"\n', b"\xff\n", b'{"k": "3", "te'])
def test_a_broken_or_torn_line_is_passed_over(path: Path, broken: bytes) -> None:
    path.write_bytes(line(3, "before") + broken)
    assert texts(path, 3) == ["before"]


def test_without_the_file_nothing_is_found_and_nothing_made(tmp_path: Path) -> None:
    assert texts(tmp_path / "rows.jsonl", 1) == []
    assert os.listdir(tmp_path) == []


def test_a_link_that_leads_elsewhere_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere.jsonl").write_bytes(line(1, "not ours"))
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    (folder / "rows.jsonl").symlink_to(tmp_path / "elsewhere.jsonl")
    assert texts(folder / "rows.jsonl", 1) == []


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(rows=st.lists(st.tuples(st.integers(0, 5), st.text(max_size=20))))
def test_the_same_is_found_as_by_reading(tmp_path: Path, rows: list[tuple[int, str]]) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"".join(line(key, text) for key, text in rows))
    for key in range(6):
        assert texts(path, key) == [text for own, text in rows if own == key]
