"""Entries that lean on something that is not there, or whose date has passed lower the grade."""

from __future__ import annotations

from typing import Any

import pytest
from tests.checks.conftest import NOW, Patient
from tests.tidy.nights import CHINESE_RULE, CONTACT, ERRAND, JEST, RULE, SAFETY, VITEST

from nacre.checks.health import DANGLING, FADED, QUESTION
from nacre.vault.entries import entry_id


@pytest.mark.parametrize(
    "words",
    [
        "It listens on port 80",
        "They prefer tabs",
        "This repository uses pnpm",
        "Yes, use pnpm",
        "No, the other one.",
        "Which port does staging use?",
        "她负责账单系统",
        "这个仓库用 pnpm",
        "是的，用 pnpm",
        "部署在周五吗",
    ],
)
def test_an_entry_that_leans_on_what_is_not_there_is_dangling(patient: Patient, words: str) -> None:
    patient.entries(words, SAFETY)
    (found,) = patient.found(DANGLING)
    assert found.remedy == f"edit or delete line {found.line} of MEMORY.md"
    assert patient.health().grade.points == 97


def test_entries_that_stand_alone_are_not(patient: Patient) -> None:
    rules = (
        "No npm in any repository",
        "Check whether secrets are in the diff",
        "提交前检查是否有密钥",
        "他人的代码先读再改",
    )
    patient.entries(RULE, SAFETY, CONTACT, CHINESE_RULE, *rules)
    patient.entries("This project uses pnpm", "这个项目用 pnpm", file="projects/shop/MEMORY.md")
    assert patient.found(DANGLING) == []


def test_an_entry_whose_date_has_passed_counts_until_it_is_answered(patient: Patient) -> None:
    due = "The tax report is due 2026-02-28"
    patient.entries(due)
    assert [one.remedy for one in patient.found(FADED)] == ["nacre tidy"]
    patient.run("nacre tidy")
    assert [one.remedy for one in patient.found(FADED)] == ["nacre review"]
    later = "2026-04-25T10:00:00+00:00"
    patient.run("nacre tidy", now=later)
    assert [one.remedy for one in patient.found(FADED, later)] == ["edit or delete line 4 of MEMORY.md"]


def test_an_entry_that_the_person_kept_is_not_over(patient: Patient) -> None:
    due = "The tax report is due 2026-02-28"
    patient.entries(due)
    patient.run("nacre tidy")
    patient.run("nacre review", "--accept", entry_id(due))
    assert patient.found(FADED) == []


@pytest.mark.parametrize("about", [{"pinned": True}, {"explicit": True}, {"answer": "faded"}, {"by": "hand"}])
def test_what_the_person_wants_is_no_finding(patient: Patient, about: dict[str, Any]) -> None:
    patient.entries("It listens on port 80", JEST, "The tax report is due 2026-02-28", **about)
    patient.lay("MEMORY.md", patient.text() + f"- {VITEST}\n")
    assert patient.health().findings == ()


def test_a_question_lowers_the_grade_when_it_has_waited_for_more_than_a_week(patient: Patient) -> None:
    patient.lay("MEMORY.md", f"# Mine\n\n- {ERRAND}\n")
    patient.run("nacre tidy")
    assert patient.found(QUESTION) == []
    assert patient.found(QUESTION, NOW.replace("03-20", "03-27")) == []
    later = NOW.replace("03-20", "03-28")
    (found,) = patient.found(QUESTION, later)
    assert found.remedy == "nacre review"
    assert ERRAND in found.message
    patient.run(found.remedy, "--refuse", found.id, now=later)
    assert patient.found(QUESTION, later) == []
