"""Entries that say the same or cannot both hold are found, whatever their words and language, and nothing else is."""

from __future__ import annotations

import pytest
from tests.checks.conftest import Patient
from tests.tidy.nights import (
    BACKUP,
    CHINESE_RULE,
    CHINESE_SAFETY,
    CONTACT,
    ERRAND,
    JEST,
    REACT,
    RULE,
    SAFETY,
    VITEST,
    VUE,
)

from nacre.checks.health import CONTRADICTION, DUPLICATE
from nacre.vault.entries import entry_id

SAME = [
    (RULE, "In all repositories use pnpm and never npm"),
    (SAFETY, "Passwords must never be stored as plain text"),
    (CHINESE_RULE, "报告统一用 Typst 排版，不用 LaTeX"),
    (CHINESE_SAFETY, "上线前一定要备份数据库"),
    ("The user's time zone is Asia/Shanghai", "用户的时区是 Asia/Shanghai"),
]
CLASHING = [
    (JEST, VITEST),
    ("The staging server listens on port 8181", "The staging server listens on port 9090"),
    (VUE, REACT),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_two_entries_that_say_the_same_are_one_finding_and_deleting_it_leaves_the_other(
    patient: Patient, one: str, other: str
) -> None:
    patient.entries(one, BACKUP, other, CONTACT)
    (found,) = patient.found(DUPLICATE)
    assert found.id in (entry_id(one), entry_id(other))
    assert one in found.message
    assert other in found.message
    patient.follow(found)
    assert patient.found(DUPLICATE) == []
    assert len(set(patient.kept()) & {one, other}) == 1
    assert {BACKUP, CONTACT} <= set(patient.kept())


@pytest.mark.parametrize(("old", "new"), CLASHING)
@pytest.mark.parametrize("turned", [False, True])
def test_two_entries_that_cannot_both_hold_are_one_finding_and_deleting_the_named_one_settles_it(
    patient: Patient, old: str, new: str, *, turned: bool
) -> None:
    patient.entries(*((new, BACKUP, old) if turned else (old, BACKUP, new)))
    (found,) = patient.found(CONTRADICTION)
    assert patient.found(DUPLICATE) == []
    patient.follow(found)
    assert patient.found(CONTRADICTION) == []
    assert len(patient.kept()) == 2


def test_what_the_ledger_knows_to_be_older_is_the_one_that_is_overtaken(patient: Patient) -> None:
    first, second = CLASHING[1]
    patient.entries(second, first)
    patient.tell(first, "admitted", valid_from="2026-01-01")
    (found,) = patient.found(CONTRADICTION)
    assert found.id == entry_id(first)


def test_of_the_very_same_words_one_line_is_to_be_deleted(patient: Patient) -> None:
    patient.entries(RULE, BACKUP)
    patient.lay("MEMORY.md", patient.text() + f"- {RULE}.\n")
    (found,) = patient.found(DUPLICATE)
    assert found.remedy == "edit or delete line 4 of MEMORY.md"
    patient.lay("MEMORY.md", patient.text().replace(f"- {RULE}\n", ""))
    assert patient.found(DUPLICATE) == []


def test_a_memory_of_unlike_entries_has_neither(patient: Patient) -> None:
    patient.entries(RULE, SAFETY, BACKUP, CONTACT, CHINESE_RULE, CHINESE_SAFETY, VUE, VITEST, ERRAND)
    assert patient.found(DUPLICATE) == []
    assert patient.found(CONTRADICTION) == []


def test_an_entry_of_a_project_is_held_against_the_general_ones_but_not_against_another_project(
    patient: Patient,
) -> None:
    said_again = "In all repositories use pnpm and never npm"
    patient.entries(SAFETY)
    patient.entries(RULE, file="projects/shop/MEMORY.md")
    patient.entries(said_again, file="projects/site/MEMORY.md")
    assert patient.found(DUPLICATE) == []
    patient.entries(said_again)
    places = {one.message.count("projects/") for one in patient.found(DUPLICATE)}
    assert places == {1}


def test_a_project_may_do_otherwise_than_the_rest(patient: Patient) -> None:
    patient.entries("The staging server listens on port 8181")
    patient.entries("The staging server listens on port 9090", file="projects/shop/MEMORY.md")
    assert patient.found(CONTRADICTION) == []
