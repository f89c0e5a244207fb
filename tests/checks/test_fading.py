"""Entries whose day comes, entries whose time is over, and working memory that was left behind."""

from __future__ import annotations

import datetime as dt
import os

import pytest
from tests.checks.conftest import Patient
from tests.tidy.nights import SAFETY

from nacre.checks.memory_checks import FADED, QUESTION, STATE


@pytest.mark.parametrize("words", ["The launch of the shop is on 2026-03-25", "网店上线日期是 2026年3月25日"])
def test_an_entry_about_a_day_of_the_coming_week_is_told_with_its_day(patient: Patient, words: str) -> None:
    patient.entries(words, "The inspection is on 2026-04-25", "The exam was due by 2026-03-16", SAFETY)
    health = patient.health()
    (fade,) = health.fading
    assert (fade.day, fade.path, fade.line) == ("2026-03-25", "MEMORY.md", 4)
    assert health.findings == ()
    patient.run(fade.keep)
    assert patient.health().fading == ()


def test_an_entry_whose_time_is_over_becomes_a_question_by_tidying_and_goes_by_the_users_word(patient: Patient) -> None:
    patient.entries("The exam is due by 2026-03-01", SAFETY)
    (found,) = patient.found(FADED)
    assert "2026-03-01" in found.message
    patient.run(found.remedy)
    assert patient.found(FADED) == []
    (question,) = patient.found(QUESTION)
    patient.run(question.remedy, "--accept", question.id)
    assert patient.found(QUESTION) == []
    assert patient.kept() == [SAFETY]


def test_what_a_log_says_is_over_is_found(patient: Patient) -> None:
    patient.entries("Kite is the name of the mobile shop project", SAFETY)
    patient.log("2026-03-18", "Kite was cancelled by the board")
    (found,) = patient.found(FADED)
    assert "Kite was cancelled" in found.message


@pytest.mark.parametrize("heading", ["Current Task", "当前任务"])
def test_a_task_that_nobody_touched_for_days_is_found_until_it_is_done(patient: Patient, heading: str) -> None:
    path = patient.lay("SESSION-STATE.md", f"# Session State\n## {heading}\nMove the API to v2\n")
    for days, found in ((7, 0), (9, 1)):
        then = (dt.datetime(2026, 3, 20, 10, tzinfo=dt.UTC) - dt.timedelta(days=days)).timestamp()
        os.utime(path, (then, then))
        assert len(patient.found(STATE)) == found
    patient.run(patient.found(STATE)[0].remedy)
    assert patient.found(STATE) == []


def test_an_old_file_without_a_task_is_in_order(patient: Patient) -> None:
    path = patient.lay("SESSION-STATE.md", "# Session State\n## Current Task\n## Pending\n- [ ] Ask Ann\n")
    os.utime(path, (1.7e9, 1.7e9))
    assert patient.found(STATE) == []
