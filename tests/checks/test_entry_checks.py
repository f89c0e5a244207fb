"""Entries that give one thing two values, lean on something that is not there, or whose date has passed lower the grade."""

from __future__ import annotations

import pytest
from tests.checks.conftest import NOW, Patient
from tests.tidy.nights import CHINESE_RULE, CONTACT, ERRAND, RULE, SAFETY

from nacre.checks.health import CONTRADICTION, DANGLING, FADED, QUESTION, frame_of
from nacre.vault.entries import entry_id

OTHERWISE = [
    ("Billing is owned by Alice", "Billing is owned by Bob Miller"),
    ("The launch is on 2027-05-01", "The launch is on 2027-06-01"),
    ("The database is PostgreSQL", "The database is MySQL"),
    ("Standup is on Monday", "Standup is on Tuesday"),
    ("部署固定在周五", "部署固定在周四"),
    ("备份每晚 2 点运行", "备份每晚 3 点运行"),
    ("数据库用的是 PostgreSQL", "数据库用的是 MySQL"),
    ("账单负责人是张伟", "账单负责人是李娜"),
]
BESIDE = [
    ("Staging listens on port 8181", "Production listens on port 9090"),
    ("Alice works in billing", "Bob works in billing"),
    ("Office hours on Monday are 9-17", "Office hours on Tuesday are 9-17"),
    ("The user likes Python", "The user likes Rust"),
    ("Standup is at 9:00 on Monday", "Standup is at 10:00 on Friday"),
    ("用户是素食者", "用户是程序员"),
]


@pytest.mark.parametrize(("old", "new"), OTHERWISE)
def test_two_values_of_one_thing_are_a_contradiction(patient: Patient, old: str, new: str) -> None:
    patient.entries(old, SAFETY, new)
    (found,) = patient.found(CONTRADICTION)
    assert old in found.message
    assert new in found.message
    patient.run(found.remedy)
    assert patient.found(CONTRADICTION) == []


@pytest.mark.parametrize(("one", "other"), BESIDE)
def test_values_of_two_things_are_none(one: str, other: str) -> None:
    assert not frame_of(one).differs(frame_of(other))


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
    assert found.remedy == f"nacre forget {entry_id(words)}"
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
    assert [one.remedy for one in patient.found(FADED, later)] == [f"nacre forget {entry_id(due)}"]


def test_an_entry_that_the_person_kept_is_not_over(patient: Patient) -> None:
    due = "The tax report is due 2026-02-28"
    patient.entries(due)
    patient.run("nacre tidy")
    patient.run("nacre review", "--refuse", entry_id(due))
    assert patient.found(FADED) == []


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
