"""Lines of a long file are found by what they name; the database behind that is derived and never changes an answer."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nacre.model import Workspace
from nacre.vault import storage as lines
from nacre.vault.storage import BROKEN, FILE_NAME, LineIndex, parse_row

BATCH = 1000


def line(key: int, text: str = "") -> bytes:
    return json.dumps({"k": str(key), "text": text}).encode() + b"\n"


def keys_of(row: dict[str, Any]) -> list[str] | None:
    return [row["k"], f"text {row.get('text')}"] if "k" in row else None


def opened(path: Path) -> LineIndex:
    return LineIndex(Workspace(path.parent), path, keys_of)


def texts(path: Path, *keys: int) -> list[str]:
    return [row["text"] for row in opened(path).rows(map(str, keys))]


def ends(path: Path) -> list[int]:
    with closing(sqlite3.connect(path.parent / ".nacre" / "index" / FILE_NAME)) as db:
        return [end for (end,) in db.execute("select end from files")]


@pytest.fixture(autouse=True)
def short_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "_BATCH", BATCH)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "rows.jsonl"
    made.write_bytes(b"".join(line(number % 7, f"first {number}") for number in range(500)))
    return made


@pytest.fixture
def old(path: Path) -> Path:
    """The same, known to the database."""
    assert len(texts(path, 3)) == 71
    return path


def test_the_rows_of_several_keys_come_in_the_order_of_the_file(path: Path) -> None:
    for _ in range(2):
        assert texts(path, 4, 3)[:3] == ["first 3", "first 4", "first 10"]
        assert texts(path, 9) == []
        assert "3" in opened(path)
        assert "9" not in opened(path)
        assert opened(path).keys("text ")[::100] == [f"first {number}" for number in range(0, 500, 100)]


def test_of_an_old_file_only_what_was_asked_for_is_read(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed, real = 0, parse_row

    def counted(data: bytes | str) -> dict[str, Any] | None:
        nonlocal parsed
        parsed += 1
        return real(data)

    monkeypatch.setattr(lines, "parse_row", counted)
    assert len(texts(old, 3)) == 71
    assert parsed <= 71


def test_what_was_appended_is_found(old: Path) -> None:
    for number in range(100):
        with old.open("ab") as file:
            file.write(line(3, f"later {number}"))
        assert texts(old, 3)[-1] == f"later {number}"
    assert len(texts(old, 3)) == 171
    assert ends(old)[0] > old.stat().st_size - BATCH


class Killed(BaseException):
    pass


def test_a_call_that_is_cut_off_leaves_its_batches_behind(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, reached = LineIndex._keys_in, []
    for _ in range(100):
        left = 2

        def found(self: LineIndex, *place: Any) -> Iterable[Any]:
            nonlocal left
            left -= 1
            if left < 0:
                raise Killed
            return real(self, *place)

        monkeypatch.setattr(LineIndex, "_keys_in", found)
        try:
            assert len(texts(path, 3)) == 71
            break
        except Killed:
            reached += ends(path)
    assert reached == sorted(set(reached))
    assert len(reached) > 5
    assert ends(path)[0] > path.stat().st_size - BATCH


@pytest.mark.parametrize("grown", [b"", line(3, "appended")])
def test_an_edit_in_the_middle_is_seen_however_long_the_file_is_after_it(old: Path, grown: bytes) -> None:
    data = old.read_bytes().replace(line(3, "first 10"), line(5, "first 10"), 1)
    descriptor = os.open(old, os.O_WRONLY)  # in place: the same file, and nothing told by its size
    os.write(descriptor, data + grown)
    os.close(descriptor)
    assert "first 10" in texts(old, 5)
    assert "first 10" not in texts(old, 3)
    assert ("appended" in texts(old, 3)) is bool(grown)


@pytest.mark.parametrize("size", [0, 10, 900, 5000])
def test_a_file_that_was_cut_is_read_anew(old: Path, size: int) -> None:
    os.truncate(old, size)
    whole = [json.loads(row) for row in old.read_bytes().split(b"\n") if row.endswith(b"}")]
    assert texts(old, 3) == [row["text"] for row in whole if row["k"] == "3"]


def test_a_file_that_took_the_place_of_another_is_read_anew(old: Path) -> None:
    other = old.with_name("other")
    other.write_bytes(b"".join(line(3, f"other {number:2}") for number in range(500)))
    os.utime(other, ns=(old.stat().st_atime_ns, old.stat().st_mtime_ns))
    other.replace(old)
    assert texts(old, 3)[:1] == ["other  0"]


def test_an_edit_while_it_is_open_is_noticed(old: Path) -> None:
    index = opened(old)
    old.write_bytes(old.read_bytes().replace(b'"3"', b'"6"'))
    assert index.rows(["3"]) == []
    assert len(index.rows(["6"])) > 100


def test_two_that_bring_it_up_to_date_at_once_both_answer(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = LineIndex._keys_in

    def disturbed(self: LineIndex, *place: Any) -> Iterable[Any]:
        monkeypatch.setattr(LineIndex, "_keys_in", real)
        return real(self, *place)

    def begun(data: memoryview, start: int) -> int:
        monkeypatch.setattr(lines, "_batch_end", end_of)
        assert len(texts(path, 3)) == 71  # another one, before the first has written anything
        return end_of(data, start)

    end_of = lines._batch_end
    monkeypatch.setattr(lines, "_batch_end", begun)
    monkeypatch.setattr(LineIndex, "_keys_in", disturbed)
    assert len(texts(path, 3)) == 71
    assert len(texts(path, 3)) == 71


@pytest.mark.parametrize("damage", [b"", b"no database at all, but long enough to be taken for one" * 100])
def test_a_damaged_database_is_made_anew(old: Path, damage: bytes) -> None:
    database = old.parent / ".nacre" / "index" / FILE_NAME
    for suffix in ("-wal", "-shm"):
        Path(f"{database}{suffix}").unlink(missing_ok=True)
    database.write_bytes(damage)
    for _ in range(3):
        assert len(texts(old, 3)) == 71
    assert ends(old)[0] > old.stat().st_size - BATCH


def test_where_no_database_can_be_kept_the_file_is_read(path: Path) -> None:
    (path.parent / ".nacre").write_text("in the way", encoding="utf8")
    assert len(texts(path, 3)) == 71


def test_a_short_file_needs_no_database(tmp_path: Path) -> None:
    short = tmp_path / "rows.jsonl"
    short.write_bytes(line(3, "short"))
    assert texts(short, 3) == ["short"]
    assert os.listdir(tmp_path) == ["rows.jsonl"]


@pytest.mark.parametrize("broken", [b"{", b"[1]\n", b'{"k": "3"\n', b"\xff\n", b'{"k": "3", "te', b'{"other": 1}\n'])
@pytest.mark.parametrize("before", [1, 100])
def test_a_broken_or_torn_line_is_passed_over_and_told(path: Path, broken: bytes, before: int) -> None:
    path.write_bytes(line(3, "before") * before + broken + (line(4, "after") * before if broken[-1:] == b"\n" else b""))
    assert texts(path, 3) == ["before"] * before
    assert BROKEN in opened(path)


def test_half_a_character_in_a_key_is_no_obstacle(path: Path) -> None:
    odd = json.dumps({"k": "\ud800", "text": "odd"}).encode() + b"\n"
    path.write_bytes(odd + line(3, "plain") * 100)
    assert [row["text"] for row in opened(path).rows(["\ud800"])] == ["odd"]


def test_without_the_file_nothing_is_found_and_nothing_made(tmp_path: Path) -> None:
    assert texts(tmp_path / "rows.jsonl", 1) == []
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("count", [1, 200])
def test_a_link_that_leads_elsewhere_is_not_followed(tmp_path: Path, count: int) -> None:
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "rows.jsonl").write_bytes(line(1, "not ours") * count)
    (folder / "rows.jsonl").symlink_to(tmp_path / "memory" / "rows.jsonl")
    (folder / "memory").symlink_to(tmp_path / "memory")
    workspace = Workspace(folder)
    for path in (folder / "rows.jsonl", folder / "memory" / "rows.jsonl"):
        assert LineIndex(workspace, path, keys_of).rows(["1"]) == []


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(parts=st.lists(st.lists(st.tuples(st.integers(0, 5), st.text(max_size=20)), max_size=40), max_size=4))
def test_the_same_is_found_as_by_reading(tmp_path: Path, parts: list[list[tuple[int, str]]]) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"")
    rows: list[tuple[int, str]] = []
    for part in parts:
        with path.open("ab") as file:
            file.write(b"".join(line(key, text) for key, text in part))
        rows += part
        for key in range(6):
            assert texts(path, key) == [text for own, text in rows if own == key]


def test_an_index_stays_as_it_was_opened(path: Path) -> None:
    index = opened(path)
    other = path.with_name("other")
    other.write_bytes(line(5, "new") * 600)
    other.replace(path)
    assert len(texts(path, 5)) == 600
    assert len(index.rows(["3"])) == 71


def test_a_short_file_is_taken_apart_again_only_when_its_bytes_changed(path: Path) -> None:
    path.write_bytes(line(3, "before"))
    calls: list[str] = []

    def counted(row: dict[str, Any]) -> list[str]:
        calls.append(row["text"])
        return [row["k"]]

    def read() -> list[Any]:
        return [row["text"] for row in LineIndex(Workspace(path.parent), path, counted).rows(["3"])]

    before = os.stat(path)
    assert (read(), read(), calls) == (["before"], ["before"], ["before"])
    path.write_bytes(line(3, "behind"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))  # as long, and as old as before
    assert (read(), calls) == (["behind"], ["before", "behind"])
