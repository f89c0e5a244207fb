"""What headings and bullets say about themselves."""

from __future__ import annotations

import pytest

from nacre.text.blocks import Stamp, date_in, is_structural, project_named, stamp_of, tags_in


def test_a_log_heading_tells_time_session_project_and_group() -> None:
    heading = "14:05 session:61871d67 | 12 messages | project:shop-api | group:team"
    assert stamp_of(heading) == Stamp("14:05", "61871d67", "shop-api", "team")


@pytest.mark.parametrize(
    ("heading", "stamp"),
    [
        ("9:30 note", Stamp(time="9:30")),
        ("14:05会议", Stamp(time="14:05")),
        ("14:05 note | project:网站", Stamp(time="14:05", project="网站")),
        ("14:05 note | group:team lunch", Stamp(time="14:05", group="team lunch")),
        ("14:05 note | group:*", Stamp(time="14:05")),
        ("Meeting of group:team", Stamp()),
        ("14:05 about group:team", Stamp(time="14:05")),
        ("Key Decisions", Stamp()),
        ("12:345", Stamp()),
        ("", Stamp()),
    ],
)
def test_a_stamp_is_read_from(heading: str, stamp: Stamp) -> None:
    assert stamp_of(heading) == stamp


@pytest.mark.parametrize(
    ("heading", "project"),
    [
        ("project:shop-api", "shop-api"),
        (" project: 网站 ", "网站"),
        ("project:my shop", "my shop"),
        ("project:", None),
        ("project:*", None),
        ("About project:shop-api", None),
        ("project:shop-api | group:team", None),
        ("14:05 note | project:shop-api", None),
        ("", None),
    ],
)
def test_a_heading_that_is_nothing_but_a_project_names_it(heading: str, project: str | None) -> None:
    assert project_named(heading) == project


@pytest.mark.parametrize(
    "heading",
    [
        "14:05 session:61871d67 | 12 messages | project:shop-api",
        "18:02 session:61871d67 | 8 messages | continued",
        "14:05 note",
        "2026-02-10",
        "2026-02-10T14:05:00Z",
        "2026-02-10 14:05:07 UTC",
        "2026-02-10 (Tuesday)",
        " 09:00 ",
    ],
)
def test_a_heading_that_only_says_when_tells_nothing_of_the_content(heading: str) -> None:
    assert is_structural(heading)


@pytest.mark.parametrize(
    "heading",
    [
        "14:05 Budget meeting with Ana",
        "2026-02-10 Launch day",
        "14:05会议",
        "Notes",
        "2026-02-10-plan",
        "12 messages to send",
        "",
    ],
)
def test_a_heading_with_words_of_its_own_tells_something(heading: str) -> None:
    assert not is_structural(heading)


def test_only_days_that_exist_are_dates() -> None:
    assert date_in("as of 2026-02-10, fine") == "2026-02-10"
    assert date_in("会议2026-02-10纪要") == "2026-02-10"
    assert date_in("2026-02-30") is None
    assert date_in("12026-02-10") is None
    assert date_in("none") is None


def test_tags_come_from_hashtags_and_tag_lines_in_both_languages() -> None:
    assert tags_in("fix #deploy and #ops/prod, not a#b nor #1 or # x") == ("deploy", "ops/prod")
    assert tags_in("Tags: a, b\nmore") == ("a", "b")
    assert tags_in("标签: 数据库, 迁移") == ("数据库", "迁移")
    assert tags_in("标签\uff1a数据库\uff0c迁移、上线") == ("数据库", "迁移", "上线")
    assert tags_in("#x #x") == ("x",)
    assert tags_in("Tags:\nnext line") == ()
