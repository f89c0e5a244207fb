"""The counts of a workspace: understood with patience, written whole, never written over when they are broken."""

from __future__ import annotations

import datetime as dt
import json
from collections import Counter
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.storage import file_bytes, put_file

from nacre.clock import Clock
from nacre.config.settings import Config
from nacre.errors import BadInput, ChangedOutside
from nacre.model import Context, Workspace
from nacre.vault import refcount
from nacre.vault.history import operation
from nacre.vault.undo import undo

CONFIG = Config()
CLOCK = Clock(ZoneInfo("Asia/Shanghai"), dt.datetime(2031, 3, 20, 10, 0, tzinfo=dt.UTC))


def test_what_is_read_can_be_written_and_undone(workspace: Workspace, clock: Clock) -> None:
    path = workspace.refcount(None)
    put_file(path, '\ufeff{"warm/支付.md": {"total": 1}}')
    before = file_bytes(path)
    counts = refcount.read_counts(workspace, CONFIG)
    with operation(Context(workspace, Config(), clock), "test") as op:
        refcount.write_counts(op, counts, {**counts.entries, "hot/y.md": refcount.new_count(5)})
    assert json.loads(file_bytes(path))["hot/y.md"]["created"] == 5
    assert "支付" in file_bytes(path).decode()
    undo(Context(workspace, Config(), clock))
    assert file_bytes(path) == before


def test_the_same_entries_are_not_written_again(workspace: Workspace, clock: Clock) -> None:
    path = workspace.refcount(None)
    put_file(path, '{ "a" : 1}')
    counts = refcount.read_counts(workspace, CONFIG)
    with operation(Context(workspace, Config(), clock), "test") as op:
        refcount.write_counts(op, counts, {"a": 1})
    assert file_bytes(path).decode() == '{ "a" : 1}'


def test_counts_that_somebody_changed_meanwhile_are_not_written_over(workspace: Workspace, clock: Clock) -> None:
    counts = refcount.read_counts(workspace, CONFIG)
    put_file(workspace.refcount(None), "{}")
    with operation(Context(workspace, Config(), clock), "test") as op, pytest.raises(ChangedOutside):
        refcount.write_counts(op, counts, {"a": 1})


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "\x00", '{"a": ' * 100_000])
def test_what_is_no_counts_is_an_error_with_a_remedy(workspace: Workspace, text: str) -> None:
    put_file(workspace.refcount(None), text)
    with pytest.raises(BadInput, match=r"refcount\.json"):
        refcount.read_counts(workspace, CONFIG)


@pytest.mark.on_disk
def test_a_link_that_leads_elsewhere_is_not_read(workspace: Workspace, tmp_path: Path) -> None:
    put_file(tmp_path / "far.json", "{}")
    workspace.refcount(None).symlink_to(tmp_path / "far.json")
    with pytest.raises(BadInput, match="points elsewhere"):
        refcount.read_counts(workspace, CONFIG)


def test_a_secret_in_a_name_is_not_written(workspace: Workspace, clock: Clock) -> None:
    counts = refcount.read_counts(workspace, CONFIG)
    with operation(Context(workspace, Config(), clock), "test") as op:
        refcount.write_counts(op, counts, {"hot/ghp_a8Kd03jfLq92hfYw71bXcZpR4tVn6mQs5uEo.md": refcount.new_count(5)})
    assert refcount.read_counts(workspace, CONFIG).entries == {}


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (1931767200, 1931767200.0),
        (1931767200.5, 1931767200.5),
        (1931767200000, 1931767200.0),
        ("2031-03-20T10:00:00Z", 1931767200.0),
        ("2031-03-20T18:00:00", 1931767200.0),  # the user's own zone
        (None, None),
        (True, None),
        ("once", None),
        ([], None),
        (10**400, None),
        (float("inf"), None),
        (float("nan"), None),
        ("0001-01-01", None),
    ],
)
def test_times_as_tools_write_them(value: object, wanted: float | None) -> None:
    assert refcount.moment(value, CLOCK) == wanted


def test_a_list_that_is_none_is_left_as_it_is() -> None:
    assert refcount.with_recalls({"timestamps": "never"}, Counter([5]), CLOCK) == ({"timestamps": "never"}, [])


def test_an_entry_is_completed_and_keeps_what_it_has() -> None:
    entry = refcount.complete_count({"timestamps": [1, 2], "colour": "red", "created": 3}, 9)
    assert (entry["total"], entry["created"], entry["colour"], entry["promoted"]) == (2, 3, "red", False)


entries = st.fixed_dictionaries(
    {},
    optional={
        "total": st.integers(0, 9),
        "timestamps": st.lists(st.integers(0, 99)) | st.text(),
        "user_marked": st.booleans() | st.none(),
        "created": st.integers(0, 9) | st.text(),
        "colour": st.text(),
    },
)


@given(first=entries, second=entries)
def test_of_two_entries_nothing_is_lost(first: dict[str, Any], second: dict[str, Any]) -> None:
    both = refcount.merged_count([first, second])
    assert both.keys() == first.keys() | second.keys()
    if isinstance(first.get("total"), int) and isinstance(second.get("total"), int):
        assert both["total"] == first["total"] + second["total"]
    if first.get("user_marked") or second.get("user_marked"):
        assert both["user_marked"] is True


def test_an_entry_moves_and_joins_what_is_counted_there() -> None:
    before = {"a": {"total": 1}, "b": {"total": 2}, "c": {"total": 4}}
    moved = {"a": {"total": 1}, "c": {"total": 4}, "x": {"total": 2}}
    assert refcount.with_counts(before, ["b"], {"x": {"total": 2}}) == moved
    assert refcount.with_counts(before, ["b"], {"c": {"total": 2}}) == {"a": {"total": 1}, "c": {"total": 6}}
    assert refcount.with_counts({"c": 5}, [], {"c": {"total": 2}}) == {"c": 5}
