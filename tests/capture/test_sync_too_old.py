"""How old something is, its own time tells, not that of the file in which it came back from a copy."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from tests.capture.talks import Desk, at
from tests.capture.test_sync_interrupted import killed

from nacre.capture import cursors
from nacre.capture.read import survey_sessions

LONG_AGO = tuple((f"2025-03-0{day} 09:0{minute}", "user", f"old {day}{minute}") for day in (1, 2) for minute in (0, 1))
NOW = "2026-03-02 12:00"


def restored(path: Path, when: str = "2026-03-02 11:00") -> Path:
    """The file as a copy of today leaves it."""
    os.utime(path, (at(when).timestamp(),) * 2)
    return path


def words(desk: Desk) -> list[str]:
    return [text for _, text in desk.bullets()]


def test_what_was_said_a_year_ago_is_not_captured_from_a_file_that_was_copied_today(desk: Desk) -> None:
    restored(desk.claude(*LONG_AGO))
    report = desk.sync(NOW)
    assert report.passed_over == {"too old": 1}
    assert desk.logs() == {}
    assert survey_sessions(desk.setting(NOW)) == []


def test_it_is_not_taken_later_by_itself_but_when_it_is_asked_for(desk: Desk) -> None:
    path = restored(desk.claude(*LONG_AGO))
    desk.sync(NOW)
    restored(path, "2026-03-02 13:00")
    desk.sync("2026-03-02 14:00")
    assert desk.logs() == {}
    desk.sync("2026-03-02 14:00", since="1970-01-02")
    assert words(desk) == [text for *_, text in LONG_AGO]
    desk.sync("2026-03-02 14:00", since="1970-01-02")
    assert words(desk) == [text for *_, text in LONG_AGO]


def test_of_a_talk_that_began_long_ago_the_young_part_is_captured_and_the_old_when_asked_for(desk: Desk) -> None:
    desk.claude(*LONG_AGO, ("2026-03-02 07:00", "user", "new 1"))
    desk.sync(NOW)
    assert desk.headings() == ["2026-03-02 07:00 session:61871d67 | 1 message | continued"]
    desk.sync(NOW, since="1970-01-02")
    assert sorted(words(desk)) == sorted([text for *_, text in LONG_AGO] + ["new 1"])
    (cursor,) = cursors.load_cursors(desk.workspace).transcripts.values()
    assert cursor.begins is None
    assert cursor.reached
    assert cursor.reached.at == at("2026-03-02 07:00")


def test_a_span_means_what_was_said_in_it(desk: Desk) -> None:
    desk.claude(
        ("2026-02-20 09:00", "user", "before"),
        ("2026-02-20 09:01", "user", "before too"),
        ("2026-03-01 09:00", "user", "within"),
        ("2026-03-01 09:01", "user", "within too"),
    )
    assert [(row.sessions, row.messages) for row in survey_sessions(desk.setting(NOW), at("2026-02-27 12:00"))] == [
        (1, 2)
    ]
    desk.sync(NOW, since="2026-02-27 12:00")
    assert words(desk) == ["within", "within too"]
    desk.sync(NOW, since="2026-02-25")
    assert words(desk) == ["within", "within too"]
    desk.sync(NOW, since="2026-02-20")
    assert words(desk) == ["before", "before too", "within", "within too"]


def test_a_talk_goes_on_after_its_old_part_was_left_out_and_each_word_is_told_once(desk: Desk) -> None:
    desk.claude(*LONG_AGO)
    restored(desk.claude(("2026-03-02 09:00", "user", "new 1"), ("2026-03-02 09:01", "user", "new 2")))
    desk.sync(NOW)
    desk.claude(("2026-03-02 13:00", "user", "new 3"), ("2026-03-02 13:01", "user", "new 4"))
    desk.sync("2026-03-02 14:00")
    assert words(desk) == ["new 1", "new 2", "new 3", "new 4"]
    desk.sync("2026-03-02 14:00", since="2025-01-01")
    assert sorted(words(desk)) == sorted([text for *_, text in LONG_AGO] + ["new 1", "new 2", "new 3", "new 4"])


@pytest.mark.long
def test_killed_at_every_single_call_while_the_old_part_is_taken_the_next_run_completes_it(disk: Path) -> None:
    ready = disk / "aside"
    desk = Desk(disk / "desk")
    desk.claude(*LONG_AGO, ("2026-03-02 09:00", "user", "new 1"), ("2026-03-02 09:01", "user", "new 2"))
    desk.claude(*LONG_AGO, session="bbbbbbbb-1")
    restored(desk.home / ".claude" / "projects" / "p" / "bbbbbbbb-1.jsonl")
    desk.sync(NOW)
    shutil.copytree(desk.home, ready)
    desk.sync(NOW, since="2025-01-01")
    expected = sorted(desk.bullets())
    assert len(expected) == 10
    points, status = 0, 77
    while status == 77:
        points += 1
        shutil.rmtree(desk.home)
        shutil.copytree(ready, desk.home)
        status = killed(lambda: desk.sync(NOW, since="2025-01-01"), points)
        desk.sync("2026-03-02 12:30")  # one that asks for nothing understands what broke off
        desk.sync("2026-03-02 13:00", since="2025-01-01")
        assert sorted(desk.bullets()) == expected, f"killed at call {points}"
    assert points > 20
