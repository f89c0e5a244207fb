"""The days of a workspace, and what a log says."""

from __future__ import annotations

import datetime as dt
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tidy.conftest import Lay

from nacre.errors import NacreError
from nacre.tidy.collect import LONGEST_JUDGED, LONGEST_PROSE, TidyContext, judged_part, list_days, log_lines, read_log
from nacre.vault.entries import bullet_id

TODAY = dt.date(2026, 3, 20)


def words(log: str) -> list[str]:
    return [one.words for one in log_lines("2026-02-10", log.encode())]


def test_living_and_archived_logs_are_found_by_their_date(room: TidyContext, lay: Lay) -> None:
    lay("2026-02-10", "- a\n")
    lay("memory/archive/2025/2025-12-31.md", "- b\n")
    lay("memory/archive/2026-01/2026-01-05.md", "- cc\n")
    days, problems = list_days(room.workspace, TODAY)
    assert [(one.date.isoformat(), one.archived, one.size) for one in days] == [
        ("2025-12-31", True, 4),
        ("2026-01-05", True, 5),
        ("2026-02-10", False, 4),
    ]
    assert not problems


def test_what_is_no_daily_log_is_left_alone_without_a_word(room: TidyContext, lay: Lay) -> None:
    for name in (
        "memory/2026-02-10-offsite.md",
        "memory/notes.md",
        "memory/archive/old/2026-02-10.md",
        "memory/x/2026-02-10.md",
    ):
        lay(name, "- a\n")
    assert list_days(room.workspace, TODAY) == ([], [])


def test_logs_of_days_that_have_not_come_are_one_problem_but_tomorrow_s_is_none(room: TidyContext, lay: Lay) -> None:
    for name in ("2026-03-21", "2026-03-22", "2027-01-01"):
        lay(name, "- a\n")
    days, problems = list_days(room.workspace, TODAY)
    assert [one.date.isoformat() for one in days] == ["2026-03-21"]
    (problem,) = problems
    assert problem.message.endswith("2 (first: memory/2026-03-22.md).")
    assert list_days(room.workspace, dt.date.max)[1] == []


def test_links_folders_and_huge_files_are_left_alone(room: TidyContext, lay: Lay) -> None:
    target = lay("memory/notes.md", "- a\n")
    (room.workspace.memory / "2026-02-10.md").symlink_to(target)
    (room.workspace.memory / "2026-02-11.md").mkdir()
    with lay("2026-02-12", "").open("r+b") as file:
        os.truncate(file.fileno(), 10_000_001)
    days, problems = list_days(room.workspace, TODAY)
    assert days == []
    assert [one.kind for one in problems] == ["no ordinary file"] * 3


def test_a_statement_knows_its_section(room: TidyContext) -> None:
    log = (
        "# 2026-02-10\n\n## 14:05 session:61871d67 | 12 messages | project:shop-api\n- [PREF] Use pnpm,\n  never npm\n"
        "\n## 18:00 session:aa11bb22 | 4 messages | group:climbers\n- [决策] 周日去北墙\n### Details\n- bring rope\n## 19:00 note\n- [x] done\n"
    )
    first, second, third, fourth = log_lines("2026-02-10", log.encode())
    assert (first.words, first.label, first.project, first.group) == ("Use pnpm, never npm", "PREF", "shop-api", None)
    assert (first.session, first.line, first.mark) == ("61871d67", 4, bullet_id("[PREF] Use pnpm, never npm"))
    assert (second.words, second.label, second.project, second.group) == ("周日去北墙", "决策", None, "climbers")
    assert (third.group, third.heading) == ("climbers", "Details")
    assert (fourth.words, fourth.group, fourth.session, fourth.heading) == ("done", None, None, "19:00 note")


def test_items_with_all_that_is_nested_are_one_statement_and_paragraphs_too() -> None:
    log = "- one\n  - two\n    more <!-- importance: 8 -->\n- three\n\nProse over\ntwo lines.\n\n> quoted\n> words\n\n1. first\n"
    assert words(log) == ["one - two more", "three", "Prose over two lines.", "quoted words", "first"]


def test_code_tables_comments_headings_and_empty_items_say_nothing() -> None:
    log = (
        "---\ndate: 2026-02-10\n---\n# Title\n## Other\n```\n- code\n```\n    indented\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n<!-- hidden\n- too -->\n"
        "-\n- [ ] \n- ---\n- <!-- x -->\n- \u200b\n\na | b\n--|--\n1 | 2\n"
    )
    assert words(log) == []
    assert words("Before it\n| a |\n|---|\n| 1 |\n") == ["Before it"]


def test_lines_that_carry_a_label_each_are_statements_of_their_own() -> None:
    assert words("[PREF] one\n[TECH] two\nand more\n") == ["one", "two and more"]


def test_only_types_and_categories_are_taken_off_the_words() -> None:
    found = log_lines("2026-02-10", b"- [HTTP] timeouts are 30 s\n- [Task] call\n- [LESSON] [TODO] x\n")
    assert [(one.label, one.words) for one in found] == [
        (None, "[HTTP] timeouts are 30 s"),
        ("Task", "call"),
        ("LESSON", "[TODO] x"),
    ]


def test_a_long_paragraph_ends_with_a_sentence() -> None:
    sentence = "The quick brown fox jumps over the lazy dog near the river bank today. "
    (text,) = words(sentence * 12)
    assert text == (sentence * 5).strip()
    (text,) = words("这是一个很长的段落。" * 60)
    assert text == "这是一个很长的段落。" * 40
    (text,) = words("word " * 200)
    assert text.endswith("word…")
    assert len(text) <= LONGEST_PROSE
    (text,) = words("长" * 900)
    assert len(text) == LONGEST_PROSE


def test_ticking_a_box_or_giving_a_type_leaves_the_mark() -> None:
    marks = {
        log_lines("2026-02-10", line)[0].mark
        for line in (b"- [ ] call Bob\n", b"- [x] call Bob\n", b"- [TEMP] call Bob\n")
    }
    assert len(marks) == 1


def test_a_log_that_is_not_utf_8_is_read_as_far_as_it_goes(room: TidyContext, lay: Lay) -> None:
    path = lay("2026-02-10", b"- caf\xe9 at noon\r\n- \xff\r\n- fine\r\n")
    (day,), _ = list_days(room.workspace, TODAY)
    log = read_log(room.workspace, day)
    assert [one.words for one in log.lines] == ["caf\ufffd at noon", "fine"]
    assert log.size == path.stat().st_size
    path.write_bytes("- a\n".encode("utf-16"))
    with pytest.raises(NacreError, match="UTF-16"):
        read_log(room.workspace, day)
    path.unlink()
    with pytest.raises(NacreError, match="no longer exists"):
        read_log(room.workspace, day)


@given(st.binary(max_size=200) | st.text(st.sampled_from("-*#> [x]`|~\n\t:1a.决<!"), max_size=80).map(str.encode))
def test_any_bytes_are_a_log_whose_statements_are_single_lines_that_say_something(data: bytes) -> None:
    for one in log_lines("2026-02-10", data):
        assert "\n" not in one.words
        assert any(sign.isalnum() for sign in one.words)
        assert 1 <= one.line <= data.count(b"\n") + 1


@pytest.mark.parametrize("text", ["word " * 1000, "x" * 5000, "\u6211" * 5000])
def test_of_a_statement_without_end_the_beginning_is_judged(text: str) -> None:
    part = judged_part(text)
    assert len(part) <= LONGEST_JUDGED
    assert text.startswith(part.removesuffix("\u2026"))
    assert judged_part(text[:LONGEST_JUDGED]) == text[:LONGEST_JUDGED]
