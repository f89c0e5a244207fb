"""What memory says of where it comes from is held against what is there."""

from __future__ import annotations

import json

import pytest
from tests.checks.conftest import Patient
from tests.tidy.nights import CHINESE_RULE, RULE, SAFETY

from nacre.checks.memory_checks import ORIGIN, SOURCE, UNKNOWN
from nacre.vault.entries import bullet_id

DAY = "2026-03-18"


def source(words: str = RULE, **other: str) -> dict[str, str]:
    return {"day": DAY, "session": "61871d67", "bullet": bullet_id(words)} | other


def test_an_entry_whose_day_session_and_line_are_there_is_in_order(patient: Patient) -> None:
    patient.log(DAY, f"[PREF] {RULE}")
    patient.entries(RULE, source=source())
    assert patient.found(ORIGIN) == []


def test_a_line_with_something_nested_in_it_is_found_as_well(patient: Patient) -> None:
    patient.lay(f"memory/{DAY}.md", f"## 14:05 session:61871d67 | 2 messages\n- {RULE}\n  - and in every folder\n")
    patient.entries(RULE, source=source(f"{RULE} - and in every folder"))
    assert patient.found(ORIGIN) == []


@pytest.mark.parametrize(
    ("about", "said"),
    [
        ({"day": "2026-03-01"}, "the log of 2026-03-01 that it came from is gone"),
        ({"bullet": "0badcafe"}, "the line of 2026-03-18 that it came from is gone"),
        ({"session": "ffffffff"}, "no longer names the session ffffffff"),
    ],
)
def test_an_entry_whose_origin_is_gone_is_found_until_the_user_pins_it(
    patient: Patient, about: dict[str, str], said: str
) -> None:
    patient.log(DAY, RULE)
    patient.entries(RULE, source=source(**about))
    (found,) = patient.found(ORIGIN)
    assert said in found.message
    patient.run(found.remedy)
    assert patient.found(ORIGIN) == []
    assert patient.kept() == [RULE]


def test_an_entry_that_overtook_one_nobody_knows_is_found(patient: Patient) -> None:
    patient.entries(CHINESE_RULE, supersedes="1111111111")
    (found,) = patient.found(ORIGIN)
    assert "1111111111" in found.message
    patient.run(found.remedy)
    assert patient.found(ORIGIN) == []


def test_a_line_of_a_digest_is_an_origin_too(patient: Patient) -> None:
    patient.lay("memory/weekly/2026-03-16.md", f"# 2026-03-16\n### {DAY}\n[Preference] {RULE} (src: {DAY})\n")
    patient.entries(RULE, source={"day": DAY, "bullet": bullet_id(RULE)})
    assert patient.found(ORIGIN) == []


def test_a_compressed_log_is_believed(patient: Patient) -> None:
    patient.lay(f"memory/archive/2026-03/{DAY}.md.gz", b"\x1f\x8b")
    patient.entries(RULE, source=source())
    health = patient.health()
    assert [one for one in health.findings if one.kind == ORIGIN] == []
    assert health.stock.archived == 1


def test_lines_that_were_written_edited_or_taken_out_by_hand_become_known_by_tidying(patient: Patient) -> None:
    patient.entries(RULE, SAFETY)
    patient.lay("MEMORY.md", f"# Mine\n\n- {RULE} and package\n- {CHINESE_RULE}\n")
    assert [(one.line, one.remedy) for one in patient.found(UNKNOWN)] == [
        (None, "nacre tidy"), (3, "nacre tidy"), (4, "nacre tidy"),
    ]  # fmt: skip
    patient.run("nacre tidy")
    assert patient.found(UNKNOWN) == []


def test_a_line_of_a_digest_that_names_a_day_without_a_log_can_be_forgotten(patient: Patient) -> None:
    patient.log("2026-02-10", "Rain was measured")
    text = "# 2026-02-09\n### 2026-02-10\n[Task] Rain was measured (src: 2026-02-10)\n[Task] 下雪的时候要带伞出门 (src: 2026-02-11)\n"
    patient.lay("memory/weekly/2026-02-09.md", text)
    (found,) = patient.found(SOURCE)
    assert found.place == "memory/weekly/2026-02-09.md:4"
    patient.run(found.remedy)
    assert patient.found(SOURCE) == []
    assert "Rain was measured" in patient.text("memory/weekly/2026-02-09.md")


def test_what_leads_nowhere_and_does_no_harm_is_only_counted(patient: Patient) -> None:
    patient.tell(RULE, "refused", source=source(day="2026-01-01"))
    patient.tell(SAFETY, "superseded", supersedes="2222222222")
    patient.lay(
        "memory/trail.jsonl", json.dumps({"day": "2026-01-01", "session": "a", "agent": "b", "captured": {}}) + "\n"
    )
    line = {"at": "2026-03-01T10:00:00+00:00", "path": "memory/gone.md", "id": "x", "lines": [1, 2], "via": "get"}
    patient.lay("memory/recalls.jsonl", json.dumps(line) + "\n")
    health = patient.health()
    assert (health.loose.recalls, health.loose.trail, health.loose.ledger) == (1, 1, 2)
    assert health.findings == ()
