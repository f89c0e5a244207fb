"""Daily logs that want something done."""

from __future__ import annotations

from tests.checks.conftest import Patient
from tests.tidy.nights import RULE

from nacre.checks.health import UNTYPED


def test_notes_without_a_type_are_found_until_they_are_given_one(patient: Patient) -> None:
    patient.log("2026-03-18", "会议改到周三下午三点", f"[PREF] {RULE}", session=None)
    patient.log("2026-03-18", "User asked for the figures of May")
    (found,) = patient.found(UNTYPED)
    assert (found.path, found.line) == ("memory/2026-03-18.md", 4)
    patient.run(found.remedy)
    assert patient.found(UNTYPED) == []


def test_notes_of_long_ago_and_lines_with_a_secret_are_not_asked_about(patient: Patient) -> None:
    patient.log("2026-02-01", "Rain all day", session=None)
    patient.log("2026-03-18", "password: hunter2-Gx83kqLw92", session=None)
    assert patient.found(UNTYPED) == []
