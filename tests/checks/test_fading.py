"""Entries whose day comes, and working memory that was left behind."""

from __future__ import annotations

import datetime as dt
import os

import pytest
from tests.checks.conftest import Patient
from tests.tidy.nights import SAFETY

from nacre.checks.health import STATE


@pytest.mark.parametrize("words", ["The launch of the shop is on 2026-03-25", "网店上线日期是 2026年3月25日"])
def test_an_entry_about_a_day_of_the_coming_week_is_told_with_its_day(patient: Patient, words: str) -> None:
    patient.entries(words, "The inspection is on 2026-04-25", "The exam was due by 2026-03-16", SAFETY)
    health = patient.health()
    (fade,) = health.fading
    assert (fade.day, fade.path, fade.line) == ("2026-03-25", "MEMORY.md", 4)
    assert health.findings == ()
    patient.run(fade.keep)
    assert patient.health().fading == ()


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
