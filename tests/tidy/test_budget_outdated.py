"""Entries whose time is over are put to the user with the reason, and nothing is done without a word."""

from __future__ import annotations

import datetime as dt

import pytest
from tests.tidy.nights import Nights, actions

from nacre.tidy.budget import ended_by, expired_on
from nacre.tidy.collect import LogLine

TODAY = dt.date(2026, 3, 20)


@pytest.mark.parametrize(
    ("text", "since", "day"),
    [
        ("The tax report is due 2026-02-28", None, dt.date(2026, 2, 28)),
        ("The app launches on 3 March", "2026-01-10", dt.date(2026, 3, 3)),
        ("Freeze until March 1st, 2026", None, dt.date(2026, 3, 1)),
        ("报税截止日期是2月28日", "2026-02-01", dt.date(2026, 2, 28)),
        ("2026年3月1日之前交付", None, dt.date(2026, 3, 1)),
        ("Due by 5 January", "2025-11-20", dt.date(2026, 1, 5)),
        ("Two dates: due 2026-01-05, then 2026-03-02", None, dt.date(2026, 3, 2)),
    ],
)
def test_a_date_that_has_passed_is_seen_in_both_languages(text: str, since: str | None, day: dt.date) -> None:
    assert expired_on(text, since, TODAY) == day


@pytest.mark.parametrize(
    "text",
    [
        "The tax report is due 2026-03-18",
        "The tax report is due 2026-04-30",
        "The report is due every year on 28 February",
        "Ann's birthday is on 1 March",
        "妈妈的生日是3月1日",
        "Prices hold since 2026-01-01",
        "Due 2026-02-31",
        "The answer format is 2026-01-31",
        "",
    ],
)
def test_a_date_to_come_a_recurring_one_and_one_that_ends_nothing_are_not(text: str) -> None:
    assert expired_on(text, "2026-01-02", TODAY) is None


def said(words: str) -> LogLine:
    return LogLine("2026-03-18", words, None, None, None, "61871d67", "", 4, "0123abcd")


@pytest.mark.parametrize(
    ("entry", "log"),
    [
        ("Kestrel deploys to the Frankfurt region", "The Kestrel project was cancelled"),
        ("Jenkins builds run every night", "We stopped using Jenkins"),
        ("Kestrel uses port 8080", "Kestrel is finished, all of it"),
        ("海燕项目部署在法兰克福", "海燕项目已经结束"),
        ("Kestrel 的接口走 8080 端口", "Kestrel 已经下线了"),
    ],
)
def test_what_the_log_says_is_over_is_seen(entry: str, log: str) -> None:
    assert ended_by(entry, [said("Lunch was good"), said(log)]) == said(log)


@pytest.mark.parametrize(
    ("entry", "log"),
    [
        ("The database is PostgreSQL", "Chose PostgreSQL over MySQL"),
        ("Kestrel uses port 8080", "Finished the login page of Kestrel"),
        ("Kestrel uses port 8080", "The Osprey project was cancelled"),
        ("We stopped using Jenkins, builds run on Buildkite", "We stopped using Jenkins, builds run on Buildkite"),
        ("keep answers short", "the walk is over"),
    ],
)
def test_what_only_looks_like_an_end_is_none(entry: str, log: str) -> None:
    assert ended_by(entry, [said(log)]) is None


def test_a_faded_entry_is_asked_about_once_and_stays_until_the_user_says_so(nights: Nights) -> None:
    line = "The tax report is due 2026-02-28"
    nights.entries(line, "Kestrel deploys to the Frankfurt region")
    nights.log("2026-03-19", "The Kestrel project was cancelled")
    before = nights.text()
    report = nights.tidy()
    assert [one for one in actions(report) if one[0] == "ask"] == [
        ("ask", line),
        ("ask", "Kestrel deploys to the Frankfurt region"),
    ]
    assert nights.text() == before
    asked = nights.questions()
    assert asked[line].kind == "faded"
    assert "2026-02-28" in asked[line].why
    assert "The Kestrel project was cancelled" in asked["Kestrel deploys to the Frankfurt region"].why
    assert not nights.tidy("2026-03-21").changed


def test_a_pinned_entry_is_never_asked_about(nights: Nights) -> None:
    nights.entries("The tax report is due 2026-02-28", pinned=True)
    assert not nights.tidy().changed


def test_a_question_about_a_line_that_is_gone_answers_itself(nights: Nights) -> None:
    nights.entries("The tax report is due 2026-02-28")
    nights.tidy()
    assert nights.questions()
    nights.lay("MEMORY.md", "# Mine\n")
    nights.tidy("2026-03-21")
    assert not nights.questions()
