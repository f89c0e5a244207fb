"""Two refcount.json as one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.capture.imports.elsewhere import run
from tests.capture.talks import Desk

from nacre.capture.importing_files import merge_counts
from nacre.config.settings import Config, TierSettings
from nacre.errors import BadInput, PathEscape


def put(path: Path, counts: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(counts if isinstance(counts, str) else json.dumps(counts, ensure_ascii=False), "utf8")
    return path


def test_a_lone_refcount_is_merged_into_the_workspaces(desk: Desk) -> None:
    ours = put(
        desk.workspace.root / "refcount.json",
        {
            "warm/x.md": {"total": 5, "7d": 1, "timestamps": [20, 30], "user_marked": False, "colour": "red"},
            "hot/mine.md": {"total": 1},
        },
    )
    theirs = put(
        desk.home / "other" / "refcount.json",
        {
            "warm/x.md": {
                "total": 3, "7d": 2, "timestamps": [10, 20], "user_marked": True, "created": 5, "colour": "blue", "size": 1
            },
            "gist/会议.md": {"total": 9, "timestamps": [], "future": {"a": [1]}},
        },
    )  # fmt: skip
    assert run(desk, theirs).changed == 1
    assert json.loads(ours.read_bytes()) == {
        "warm/x.md": {
            "total": 5, "7d": 2, "timestamps": [10, 20, 30], "user_marked": True, "colour": "red", "created": 5, "size": 1
        },
        "hot/mine.md": {"total": 1},
        "gist/会议.md": {"total": 9, "timestamps": [], "future": {"a": [1]}},
    }  # fmt: skip
    before = ours.read_bytes()
    assert run(desk, theirs).changed == 0
    assert ours.read_bytes() == before


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "not valid JSON"),
        ('{"a": {"total": 1, "x": ' + "[" * 99_999 + "]" * 99_999 + "}}", "not valid JSON"),
        ("[1]", "no recall counts"),
        ('{"a": {"b": 1}}', "is not a refcount.json"),
    ],
)
def test_a_file_that_is_none_is_refused_with_a_sentence(desk: Desk, content: str, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        run(desk, put(desk.home / "refcount.json", content))


def test_a_damaged_refcount_of_ours_is_not_written_over(desk: Desk) -> None:
    ours = put(desk.workspace.root / "refcount.json", "{broken")
    with pytest.raises(BadInput, match="Fix it"):
        run(desk, put(desk.home / "refcount.json", {"hot/a.md": {"total": 1}}))
    assert ours.read_text("utf8") == "{broken"


moments = st.lists(st.integers(0, 2_000_000_000) | st.sampled_from(["2026-03-02T10:00:00Z", "?", None]), max_size=4)
entries = st.fixed_dictionaries(
    {},
    optional={
        "total": st.integers(0, 9) | st.none(),
        "7d": st.integers(0, 9),
        "timestamps": moments | st.none(),
        "user_marked": st.booleans(),
        "created": st.integers(0, 9),
        "other": st.text(max_size=3),
    },
)
files = st.dictionaries(st.sampled_from(["warm/a.md", "hot/b.md", "_version"]), entries | st.integers(), max_size=3)


@given(files, files)
def test_merging_again_changes_nothing_and_loses_no_recall(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    once = merge_counts(ours, theirs)
    assert merge_counts(once, theirs) == once
    assert merge_counts(ours, {}) == ours
    for key, entry in ours.items():
        if isinstance(entry, dict):
            assert entry.keys() <= once[key].keys()
            assert all(moment in once[key]["timestamps"] for moment in entry.get("timestamps") or ())
            assert (once[key].get("total") or 0) >= (entry.get("total") or 0)


def test_a_link_in_the_place_of_our_refcount_is_not_written_through(desk: Desk) -> None:
    outside = put(desk.home / "outside.json", {})
    (desk.workspace.root / "refcount.json").symlink_to(outside)
    with pytest.raises(PathEscape):
        run(desk, put(desk.home / "other" / "refcount.json", {"hot/a.md": {"total": 1}}))
    desk.config = Config(tiers=TierSettings(path=str(desk.home / "far" / "memory_fs")))
    (desk.home / "far").mkdir()
    (desk.home / "far" / "refcount.json").symlink_to(outside)
    with pytest.raises(PathEscape):
        run(desk, put(desk.home / "other" / "refcount.json", {"hot/a.md": {"total": 1}}))
    assert outside.read_text("utf8") == "{}"
