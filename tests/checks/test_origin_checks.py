"""What memory says of where it comes from is held against what is there."""

from __future__ import annotations

import json

from tests.checks.conftest import Patient
from tests.tidy.nights import RULE, SAFETY

from nacre.checks.health import ORIGIN
from nacre.vault.entries import bullet_id

DAY = "2026-03-18"


def source(words: str = RULE, **other: str) -> dict[str, str]:
    return {"day": DAY, "session": "61871d67", "bullet": bullet_id(words)} | other


def test_an_entry_whose_day_is_there_is_in_order(patient: Patient) -> None:
    patient.log(DAY, f"[PREF] {RULE}")
    patient.entries(RULE, source=source())
    assert patient.found(ORIGIN) == []


def test_an_entry_whose_day_is_gone_is_found_until_the_user_pins_it(patient: Patient) -> None:
    patient.log(DAY, RULE)
    patient.entries(RULE, source=source(day="2026-03-01"))
    (found,) = patient.found(ORIGIN)
    assert "the log of 2026-03-01 that it came from is gone" in found.message
    patient.run(found.remedy)
    assert patient.found(ORIGIN) == []
    assert patient.kept() == [RULE]


def test_a_compressed_log_is_believed(patient: Patient) -> None:
    patient.lay(f"memory/archive/2026-03/{DAY}.md.gz", b"\x1f\x8b")
    patient.entries(RULE, source=source())
    health = patient.health()
    assert [one for one in health.findings if one.kind == ORIGIN] == []
    assert health.figures["counts"]["archived"] == 1


def test_what_leads_nowhere_and_does_no_harm_is_only_counted(patient: Patient) -> None:
    patient.tell(RULE, "refused", source=source(day="2026-01-01"))
    patient.tell(SAFETY, "superseded", supersedes="2222222222")
    patient.lay(
        "memory/trail.jsonl", json.dumps({"day": "2026-01-01", "session": "a", "agent": "b", "captured": {}}) + "\n"
    )
    line = {"at": "2026-03-01T10:00:00+00:00", "path": "memory/gone.md", "id": "x", "lines": [1, 2], "via": "get"}
    patient.lay("memory/recalls.jsonl", json.dumps(line) + "\n")
    health = patient.health()
    assert health.figures["loose"] == {"recalls": 1, "trail": 1, "ledger": 2}
    assert health.findings == ()
