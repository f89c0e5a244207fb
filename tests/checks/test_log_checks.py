"""Daily logs that want something done."""

from __future__ import annotations

from tests.checks.conftest import Patient
from tests.tidy.nights import RULE

from nacre.checks.health import UNPRESSED, UNTYPED


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


def test_a_log_that_a_night_should_have_taken_is_found_until_it_is_tidied(patient: Patient) -> None:
    patient.log("2026-03-11", "User asked for the figures of May")
    patient.lay("memory/2026-03-10.md", "# 2026-03-10\n\n<!-- nothing -->\n")
    patient.log("2026-03-13", "User asked for the figures of June")
    assert [one.path for one in patient.found(UNPRESSED)] == ["memory/2026-03-10.md", "memory/2026-03-11.md"]
    patient.run(patient.found(UNPRESSED)[0].remedy)
    assert patient.found(UNPRESSED) == []


def test_what_the_next_night_takes_is_told_and_is_no_finding(patient: Patient) -> None:
    patient.log("2026-03-13", "User asked for the figures of June")
    health = patient.health()
    assert [(one.day, one.path) for one in health.fading] == [("2026-03-21", "memory/2026-03-13.md")]
    assert health.findings == ()
    patient.run("nacre tidy", now="2026-03-21T03:00:00+00:00")
    assert not (patient.root / "memory/2026-03-13.md").exists()


def test_before_the_hour_of_tidying_the_next_night_is_tonight(patient: Patient) -> None:
    patient.log("2026-03-12", "User asked for the figures of June")
    (one,) = patient.health("2026-03-20T01:00:00+00:00").fading
    assert one.day == "2026-03-20"


def test_where_logs_are_kept_for_decay_its_rules_count(patient: Patient) -> None:
    patient.lay(".nacre/config.toml", '[tidy]\nretention = "decay"\n')
    patient.log("2026-03-01", "User asked for the figures of May")
    patient.log("2025-12-01", "User asked for the figures of June")
    patient.log("2025-12-20", "User asked for the figures of July")
    (found,) = patient.found(UNPRESSED)
    assert (found.path, found.remedy) == ("memory/2025-12-01.md", "nacre decay")
    assert [(one.day, one.path) for one in patient.health().fading] == [("2026-03-21", "memory/2025-12-20.md")]
    patient.run(found.remedy)
    assert patient.found(UNPRESSED) == []
