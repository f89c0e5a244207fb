"""Weekly digests: which file is a week's, what it says, and lines added without touching any other byte."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.storage import put_file

from nacre.errors import BadInput
from nacre.index.document import Document
from nacre.model import Workspace
from nacre.vault.entries import document
from nacre.vault.weekly import DigestLine, add_lines, digest_files, digest_lines, digest_path

WEEK = Path("2026-02-09.md")
NEW = "[Task] new (src: 2026-02-10)"


def added(text: str, day: str = "2026-02-10", project: str | None = None, *new: str) -> str:
    return add_lines(document(WEEK, text.encode()), day, project, new or (f"[Task] new (src: {day})",)).decode()


def test_a_file_named_for_any_weekday_is_that_week_s_and_the_one_named_for_monday_wins(workspace: Workspace) -> None:
    assert digest_files(workspace) == {}
    for name in ("2026-02-15.md", "2026-02-11.md", "2026-02-18.md", "2026-02-16.md", "2026-02-30.md", "notes.md"):
        put_file(workspace.weekly / name, b"")
    assert digest_files(workspace) == {
        dt.date(2026, 2, 9): workspace.weekly / "2026-02-11.md",
        dt.date(2026, 2, 16): workspace.weekly / "2026-02-16.md",
    }
    assert digest_path(workspace, dt.date(2026, 2, 15)) == workspace.weekly / "2026-02-09.md"


def test_everything_that_a_digest_says_is_read_with_its_day_and_project() -> None:
    text = (
        "# 2026-02-09\n### 2026-02-10\n[决策] 切换到 PostgreSQL (src: 2026-02-10)\n[Task] call\nBob (src: 2026-02-11)\n"
        "#### project:shop-api\n- [ ] by hand <!-- mine -->\n### 2026-02-12\n\n<!-- a comment -->\n\nSome prose\nin two lines\n"
        "\n```\n[Task] code\n```\n## Notes\nmore\n"
    )
    assert digest_lines(document(WEEK, text.encode())) == (
        DigestLine("[决策] 切换到 PostgreSQL (src: 2026-02-10)", "2026-02-10", None),
        DigestLine("[Task] call Bob (src: 2026-02-11)", "2026-02-11", None),
        DigestLine("- [ ] by hand", "2026-02-10", "shop-api"),
        DigestLine("Some prose in two lines", "2026-02-12", None),
        DigestLine("more", None, None),
    )


def test_a_new_digest_has_the_form_of_the_contract() -> None:
    text = added("# 2026-02-09\n")
    text = added(text, "2026-02-12")
    text = added(text, "2026-02-09", "shop-api")
    assert added(text) == (
        "# 2026-02-09\n### 2026-02-09\n#### project:shop-api\n[Task] new (src: 2026-02-09)\n"
        f"### 2026-02-10\n{NEW}\n{NEW}\n### 2026-02-12\n[Task] new (src: 2026-02-12)\n"
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # into the day's section, before the user's next one
        ("### 2026-02-10\n[Task] a\n\n## Mine\nx\n", f"### 2026-02-10\n[Task] a\n{NEW}\n\n## Mine\nx\n"),
        ("### 2026-02-10\n#### Mine\nx\n", f"### 2026-02-10\n{NEW}\n#### Mine\nx\n"),
        ("## 2026-02-10 (Tuesday)\n- item\n", f"## 2026-02-10 (Tuesday)\n- item\n\n{NEW}\n"),
        (
            "### 2026-02-10\nprose\n\n---\n\n### 2026-02-11\n",
            f"### 2026-02-10\nprose\n\n{NEW}\n\n---\n\n### 2026-02-11\n",
        ),
        ("### 2026-02-10\n```\nx\n```\n---\n", f"### 2026-02-10\n```\nx\n```\n\n{NEW}\n\n---\n"),
        ("### 2026-02-10\n| a |\n|---|\n| b |\n", f"### 2026-02-10\n| a |\n|---|\n| b |\n\n{NEW}\n"),
        ("### 2026-02-10\n```\nnever closed\n", f"### 2026-02-10\n{NEW}\n\n```\nnever closed\n"),
        # a section of its own, in the order of days
        ("### 2026-02-09\na\n### 2026-02-12\nb\n", f"### 2026-02-09\na\n### 2026-02-10\n{NEW}\n### 2026-02-12\nb\n"),
        ("# Week\n\n## 2026-02-12\n\nb\n", f"# Week\n\n## 2026-02-10\n{NEW}\n\n## 2026-02-12\n\nb\n"),
        ("## 2026-02-09\n\na\n\n## Mine\n", f"## 2026-02-09\n\na\n\n## 2026-02-10\n{NEW}\n\n## Mine\n"),
        ("Only prose", f"Only prose\n### 2026-02-10\n{NEW}"),
        ("## Week of 2026-02-10\nx\n", f"## Week of 2026-02-10\nx\n### 2026-02-10\n{NEW}\n"),
        ("### 2026-02-09\n```\nnever closed\n", f"### 2026-02-10\n{NEW}\n### 2026-02-09\n```\nnever closed\n"),
        # never below the heading of a project that is not its own
        ("## project:other\n### 2026-02-10\nx\n", f"## project:other\n### 2026-02-10\nx\n## 2026-02-10\n{NEW}\n"),
    ],
)
def test_lines_go_where_they_belong_and_every_line_of_the_user_s_stays(before: str, after: str) -> None:
    assert added(before) == after
    assert added(before.replace("\n", "\r\n")) == after.replace("\n", "\r\n") or "\n" not in before


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("### 2026-02-10\nx\n### 2026-02-11\n", "### 2026-02-10\nx\n#### project:a\n{}\n### 2026-02-11\n"),
        ("## 2026-02-10\nx\n### project:a\ny\n### z\n", "## 2026-02-10\nx\n### project:a\ny\n\n{}\n### z\n"),
        ("### 2026-02-10\n#### project:b\ny\n", "### 2026-02-10\n#### project:b\ny\n#### project:a\n{}\n"),
    ],
)
def test_what_belongs_to_a_project_stands_under_its_name(before: str, after: str) -> None:
    assert added(before, "2026-02-10", "a") == after.format(NEW)


def test_a_byte_order_mark_and_a_missing_last_line_end_stay() -> None:
    data = b"\xef\xbb\xbf# 2026-02-09\r\n### 2026-02-10\r\n[Task] a  "
    expected = data + f"\r\n{NEW}".encode()
    assert add_lines(document(WEEK, data), "2026-02-10", None, [NEW]) == expected


def test_a_file_that_is_one_open_code_fence_takes_nothing() -> None:
    with pytest.raises(BadInput, match="unclosed"):
        added("```\nfor ever\n")


ANY_LINE = st.sampled_from(
    [
        "", "", "prose", "- item", "  nested", "    code", "---", "===", "```", "~~~", "> quote", "| a | b |", "|---|---|",
        "<!-- x -->", "<!--", "# 2026-02-09", "# Title", "## 2026-02-11", "### 2026-02-10", "### 2026-02-12", "#### project:a",
        "## project:b", "#### Mine", "###### 2026-02-10", "## 14:05 note | project:a", "[Task] old (src: 2026-02-10)", "1. one",
    ]
)  # fmt: skip


@given(st.lists(ANY_LINE, max_size=14), st.sampled_from([None, "a", "b"]), st.booleans(), st.booleans())
def test_in_any_file_new_lines_are_found_again_and_no_other_line_changes(
    old: list[str], project: str | None, windows: bool, ended: bool
) -> None:
    data = (("\r\n" if windows else "\n").join(old) + ("\n" if ended else "")).encode()
    doc = document(WEEK, data)
    try:
        new = document(WEEK, add_lines(doc, "2026-02-10", project, [NEW, "[Task] second (src: 2026-02-10)"]))
    except BadInput:
        assert "```" in old or "~~~" in old
        return
    rest = iter(new.bare)
    assert all(line in rest for line in doc.bare)  # in order, none missing
    found = [line for line in digest_lines(new) if "new" in line.text or "second" in line.text]
    assert found == [
        DigestLine(NEW, "2026-02-10", project),
        DigestLine("[Task] second (src: 2026-02-10)", "2026-02-10", project),
    ]
    assert [line for line in digest_lines(new) if line not in found] == list(digest_lines(doc))
    indexed = Document("memory/weekly/2026-02-09.md", "weekly", new.data)
    parts = indexed.parts(indexed.pieces, 400, 80, set())
    assert [part.project for part in parts if part.text.startswith(("[Task] new", "[Task] second"))] == [project] * 2
