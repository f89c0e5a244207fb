"""What lasts becomes long-term memory: tested, routed, weighed against what is there, each with its reason."""

from __future__ import annotations

import pytest
from tests.tidy.nights import (
    BACKUP,
    CHINESE_ERRAND,
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
    Nights,
    actions,
)

from nacre.cli.tidy import tidy_summary
from nacre.i18n import use_language

TESTS = {"prevents_error", "broad", "self_contained", "novel"}


@pytest.mark.parametrize(
    ("language", "sentence"), [("en", "memory-tidy done, nothing changed."), ("zh", "memory-tidy 完成，无变更。")]
)
def test_a_night_without_news_says_that_nothing_changed(nights: Nights, language: str, sentence: str) -> None:
    before = nights.files()
    report = nights.tidy()
    assert not report.changed
    use_language(language)
    assert tidy_summary(report) == sentence
    assert nights.files() == before


@pytest.mark.parametrize("rule", [RULE, SAFETY, BACKUP, CHINESE_RULE, CHINESE_SAFETY])
def test_a_rule_is_admitted_with_what_goes_wrong_without_it_and_where_it_was_said(nights: Nights, rule: str) -> None:
    nights.log("2026-03-19", rule)
    report = nights.tidy()
    assert actions(report) == [("add", rule)]
    assert nights.kept() == [rule]
    (told,) = nights.ledger(rule)
    assert (told["verdict"], told["brain"], told["valid_from"]) == ("admitted", "local", "2026-03-19")
    assert told["without_it"]
    assert set(told["tests"]) == TESTS
    assert (told["source"]["day"], told["source"]["session"]) == ("2026-03-19", "61871d67")
    assert 0 < told["confidence"] < 1
    assert told["valid_to"] is None


@pytest.mark.parametrize("errand", [ERRAND, CHINESE_ERRAND, "Looks good", "谢谢，辛苦了"])
def test_an_errand_is_refused_once_and_the_test_that_failed_is_named(nights: Nights, errand: str) -> None:
    nights.log("2026-03-19", errand)
    before = nights.text()
    assert actions(nights.tidy()) == [("refuse", errand)]
    assert nights.text() == before
    (told,) = nights.ledger(errand)
    assert told["verdict"] == "refused"
    assert told["failed"] in TESTS
    assert "without_it" not in told
    assert not nights.tidy().changed
    assert not nights.tidy("2026-03-21").changed
    assert len(nights.ledger()) == 1


def test_a_rule_that_nobody_could_understand_alone_is_asked_about_and_not_kept(nights: Nights) -> None:
    rule = "It must be built with pnpm, never with npm, in every repository"
    nights.log("2026-03-19", rule)
    assert actions(nights.tidy()) == [("ask", rule)]
    assert nights.kept() == []


def test_running_twice_equals_running_once(nights: Nights) -> None:
    nights.log("2026-03-19", RULE, ERRAND, CHINESE_RULE)
    nights.log("2026-02-10", BACKUP, CHINESE_ERRAND)
    assert nights.tidy().changed
    before = nights.files()
    assert not nights.tidy().changed
    assert nights.files() == before


def test_each_kind_goes_to_its_section(nights: Nights) -> None:
    nights.log("2026-03-19", RULE, CONTACT, BACKUP)
    nights.tidy()
    sections = {one["text"]: one["section"] for one in nights.ledger()}
    assert sections == {RULE: "User Preferences", CONTACT: "Important Contacts", BACKUP: "Key Decisions"}


@pytest.mark.parametrize(("old", "new"), [(JEST, VITEST), (VUE, REACT)])
def test_a_statement_that_overtakes_an_entry_takes_its_place_and_closes_it(nights: Nights, old: str, new: str) -> None:
    nights.log("2026-03-18", old)
    nights.tidy("2026-03-19")
    nights.log("2026-03-19", new, session="aaaa1111")
    assert actions(nights.tidy()) == [("supersede", new)]
    assert nights.kept() == [new]
    closed = nights.ledger(old)[-1]
    assert (closed["verdict"], closed["valid_to"]) == ("superseded", "2026-03-19")
    assert nights.ledger(new)[-1]["supersedes"] == closed["id"]


def test_both_in_one_night_the_later_word_counts(nights: Nights) -> None:
    nights.log("2026-03-19", VITEST, session="bbbb1111")
    nights.log("2026-03-18", JEST, session="aaaa1111")
    nights.tidy()
    assert nights.kept() == [VITEST]
    assert nights.verdicts(JEST) == ["admitted", "superseded"]


@pytest.mark.parametrize(
    "again", ["In every repository use pnpm, never npm.", "Use pnpm and never npm in every repository"]
)
def test_what_is_there_in_other_words_is_merged_and_said_once(nights: Nights, again: str) -> None:
    nights.log("2026-03-18", RULE)
    nights.tidy("2026-03-19")
    nights.log("2026-03-19", again, session="aaaa1111")
    nights.tidy()
    assert len(nights.kept()) == 1
    assert "merged" in [one["verdict"] for one in nights.ledger()]


@pytest.mark.parametrize(("pinned", "why"), [(True, "pinned"), (False, "written by you")])
def test_a_line_that_is_pinned_or_the_users_is_not_replaced_but_asked_about(
    nights: Nights, pinned: bool, why: str
) -> None:
    if pinned:
        nights.entries(JEST, pinned=True)
    else:
        nights.lay("MEMORY.md", f"# Mine\n\n- {JEST}\n")
        nights.tidy("2026-03-18")
    before = nights.text()
    nights.log("2026-03-19", VITEST)
    report = nights.tidy()
    assert actions(report) == [("ask", VITEST)]
    assert nights.text() == before
    asked = nights.questions()[VITEST]
    assert asked.kind == "clash"
    assert JEST in asked.why
    assert why in asked.why
    assert not nights.tidy("2026-03-21").changed


def test_openclaws_own_mark_pins_a_line_too(nights: Nights) -> None:
    nights.entries(JEST)
    nights.lay("MEMORY.md", nights.text().replace(JEST, f"{JEST} <!-- pinned: true -->"))
    nights.log("2026-03-19", VITEST)
    assert actions(nights.tidy()) == [("ask", VITEST)]


def test_what_was_forgotten_is_not_admitted_again(nights: Nights) -> None:
    nights.log("2026-03-18", RULE)
    nights.tidy("2026-03-19")
    with nights.memory("2026-03-19", "10:00:00") as memory:
        memory.forget(RULE)
    assert RULE not in nights.text()
    nights.log("2026-03-19", f"{RULE}.", session="aaaa1111")
    nights.tidy()
    assert nights.kept() == []
    assert "pnpm" not in nights.text("memory/ledger.jsonl")


SECRET = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"


def test_a_secret_in_a_log_reaches_no_file_that_is_made_of_it(nights: Nights) -> None:
    nights.entries(JEST)
    lines = [
        f"Always deploy with the token {SECRET} in every repository",
        f"以后所有仓库一律用 {SECRET} 登录，不要用别的",
        f"{VITEST} {SECRET}",
    ]
    nights.log("2026-03-19", *lines)
    nights.log("2026-02-10", *lines, session="aaaa1111")
    nights.tidy()
    held = [name for name, data in nights.files().items() if SECRET.encode() in data]
    assert sorted(held) == ["memory/2026-03-19.md", "memory/archive/2026/2026-02-10.md"]


def test_a_secret_that_the_user_wrote_into_the_file_stays_there_alone(nights: Nights) -> None:
    nights.lay("MEMORY.md", f"# Mine\n\n- thanks for {SECRET}, looks good today\n")
    nights.tidy()
    assert [name for name, data in nights.files().items() if SECRET.encode() in data] == ["MEMORY.md"]


def test_a_clock_that_jumps_back_neither_loses_nor_doubles(nights: Nights) -> None:
    nights.log("2026-03-19", RULE)
    nights.log("2026-03-25", SAFETY, session="aaaa1111")
    nights.tidy("2026-03-26")
    assert nights.kept() == [RULE, SAFETY]
    before = nights.files()
    report = nights.tidy("2026-03-01")
    assert [problem.kind for problem in report.problems] == ["after today"]
    assert nights.files() == before
    assert not nights.tidy("2026-03-26").changed


def test_a_torn_last_line_of_the_ledger_is_told_and_loses_nothing_else(nights: Nights) -> None:
    nights.log("2026-03-18", RULE)
    nights.tidy("2026-03-19")
    path = nights.root / "memory" / "ledger.jsonl"
    path.write_bytes(path.read_bytes() + b'{"id":"7f3a')
    nights.log("2026-03-19", SAFETY, session="aaaa1111")
    report = nights.tidy()
    assert [problem.kind for problem in report.problems] == ["torn line"]
    assert nights.kept() == [RULE, SAFETY]
    good = [line for line in path.read_text("utf8").splitlines() if line.endswith("}")]
    assert len(good) == 2
    assert not nights.tidy().changed


def test_the_test_alone_writes_nothing(nights: Nights) -> None:
    before = nights.files()
    with nights.memory() as memory:
        verdict = memory.judge(RULE, existing=[])
        assert verdict.admitted
        assert verdict.without_it == "the agent would use npm instead of pnpm"
        assert memory.judge(RULE, existing=[RULE]).failed == ("novel",)
        assert memory.judge(ERRAND).failed[0] == "broad"
        assert "broad" in memory.judge(CHINESE_ERRAND).failed
    assert nights.files() == before


def test_what_was_said_in_a_project_goes_to_its_file_and_what_is_about_the_user_to_all(nights: Nights) -> None:
    mine = "I prefer tabs over spaces in every project"
    nights.log("2026-03-19", BACKUP, CONTACT, mine, stamp=" | project:shop-api")
    nights.tidy()
    assert nights.kept("projects/shop-api/MEMORY.md") == [BACKUP]
    assert sorted(nights.kept()) == [mine, CONTACT]
    assert "> Project: shop-api" in nights.text("projects/shop-api/MEMORY.md")
    assert nights.ledger(BACKUP)[0]["file"] == "projects/shop-api/MEMORY.md"
    assert "file" not in nights.ledger(CONTACT)[0]


def test_a_fact_seen_in_a_second_project_moves_to_all_of_them(nights: Nights) -> None:
    nights.log("2026-03-18", "Never store passwords in plain text", stamp=" | project:shop-api")
    nights.tidy("2026-03-19")
    assert nights.kept("projects/shop-api/MEMORY.md") == [SAFETY]
    nights.log("2026-03-19", "Never ever store passwords in plain text", session="aaaa1111", stamp=" | project:blog")
    nights.tidy()
    assert nights.kept() == [SAFETY]
    assert nights.kept("projects/shop-api/MEMORY.md") == []
    assert nights.kept("projects/blog/MEMORY.md") == []
    assert nights.tidy("2026-03-21").steps == ()


@pytest.mark.parametrize("project", ["../../escape", "Shop API", "商城"])
def test_a_project_of_any_name_gets_a_folder_inside(nights: Nights, project: str) -> None:
    nights.log("2026-03-19", BACKUP, stamp=f" | project:{project}")
    nights.tidy()
    (path,) = (nights.root / "projects").glob("*/MEMORY.md")
    assert BACKUP in path.read_text("utf8")
    assert not nights.tidy().changed


def test_what_may_be_overtaken_stands_beside_the_new_line_until_the_person_says(nights: Nights) -> None:
    old, new = (
        "Unit tests are written with Jest",
        "We moved from Jest to Vitest: unit tests are written with Vitest now",
    )
    nights.entries(old)
    nights.log("2026-03-19", new, stamp=" | project:shop")
    nights.tidy()
    assert nights.kept() == [old]
    assert nights.kept("projects/shop/MEMORY.md") == [new]
    asked = nights.questions()[old]
    assert asked.kind == "faded"
    assert new in asked.why


def test_a_request_to_remember_means_the_sentence_above_it(nights: Nights) -> None:
    nights.log("2026-03-19", "No hazelnuts in the workshop any more", "Remember that when you come up with recipes")
    nights.tidy()
    assert nights.kept() == ["No hazelnuts in the workshop any more; when you come up with recipes"]
    assert nights.ledger()[-1]["explicit"] is True
