"""Checkpoints: what waits for its layer, what fades in the next days."""

from __future__ import annotations

import json

from tests.checks.conftest import Patient

from nacre.checks.health import UNREADABLE, UNSORTED

HOT = "memory_fs/hot/2026-03-10-1200-prices.md"


def lay(patient: Patient, place: str, text: str = "# A talk\n\nAbout prices.\n") -> None:
    patient.lay(f"memory_fs/{place}", text)


def test_a_checkpoint_that_should_have_moved_yesterday_is_found_until_the_layers_are_organised(
    patient: Patient,
) -> None:
    lay(patient, "hot/2026-03-10-1200-prices.md")
    (found,) = patient.found(UNSORTED)
    assert (found.path, found.remedy) == (HOT, "nacre organise")
    assert "tiers.warm" in found.message
    patient.run(found.remedy)
    assert patient.found(UNSORTED) == []


def test_one_that_is_due_only_today_fades_and_is_no_finding(patient: Patient) -> None:
    lay(patient, "hot/2026-03-20-0200-prices.md")
    health = patient.health()
    assert health.findings == ()
    (fade,) = health.fading
    assert (fade.day, fade.what) == ("2026-03-20", "moves to warm")
    assert fade.rule == "hot is for the first 3h (tiers.hot)"


def test_what_the_next_three_days_move_or_delete_is_told_with_its_day_and_rule(patient: Patient) -> None:
    lay(patient, "warm/2026-03-15-1200-soon.md", "# One\n\nAbout rain.\n")
    lay(patient, "warm/2026-03-18-1200-later.md", "# Two\n\nAbout snow and ice.\n")
    lay(patient, "forgotten/old.md", "---\ndate: 2026-01-01\n---\n# Three\n")
    forgotten = {"total": 0, "7d": 0, "timestamps": [], "created": 1767225600, "forgotten": 1771545600 - 7200}
    patient.lay("refcount.json", json.dumps({"forgotten/old.md": forgotten}))
    told = [(one.day, one.path, one.rule.rpartition("(")[2]) for one in patient.health().fading]
    assert told == [
        ("2026-03-21", "memory_fs/forgotten/old.md", "tiers.delete_after)"),
        ("2026-03-22", "memory_fs/warm/2026-03-15-1200-soon.md", "tiers.warm)"),
    ]
    patient.run("nacre organise", now="2026-03-21T10:00:00+00:00")
    assert (patient.root / "memory_fs/forgotten/old.md").exists()
    patient.run("nacre organise", now="2026-03-22T10:00:00+00:00")
    assert not (patient.root / "memory_fs/forgotten/old.md").exists()


def test_reading_a_checkpoint_keeps_it_from_fading(patient: Patient) -> None:
    lay(patient, "warm/2026-03-15-1200-soon it's.md")
    (fade,) = patient.health().fading
    patient.run(fade.keep)
    assert fade.what == "gets a summary in gist"
    assert "gets a summary in gist" not in [one.what for one in patient.health().fading]


def test_counts_that_cannot_be_read_are_a_finding(patient: Patient) -> None:
    lay(patient, "hot/2026-03-10-1200-prices.md")
    patient.lay("refcount.json", "{")
    (found,) = patient.found(UNREADABLE)
    assert found.path == "refcount.json"
    assert patient.found(UNSORTED) == []
