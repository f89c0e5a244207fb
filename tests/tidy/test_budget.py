"""A full MEMORY.md makes room by letting the least needed entries go, and is never over its limits."""

from __future__ import annotations

import random

import pytest
from tests.tidy.nights import BACKUP, CHINESE_RULE, CHINESE_SAFETY, CONTACT, RULE, SAFETY, Nights, actions, filler

LINES, BYTES = 80, 5120


def within(nights: Nights, name: str = "MEMORY.md") -> bool:
    data = (nights.root / name).read_bytes()
    return len(data) <= BYTES and data.count(b"\n") + (not data.endswith(b"\n")) <= LINES


def test_a_file_full_of_lines_lets_the_least_needed_go_to_the_digest_of_its_week(nights: Nights) -> None:
    lines = filler(77)
    nights.entries(*lines, section="User Preferences", confidence=0.5)
    nights.tell(lines[5], "admitted", confidence=0.1, source={"day": "2026-02-03"})
    assert nights.text().count("\n") == LINES
    nights.log("2026-03-19", SAFETY)
    report = nights.tidy()
    assert [one for one in actions(report) if one[0] in ("demote", "add")] == [("demote", lines[5]), ("add", SAFETY)]
    assert within(nights)
    assert set(nights.kept()) == {*lines, SAFETY} - {lines[5]}
    assert f"{lines[5]} (src: 2026-02-03)" in nights.text("memory/weekly/2026-02-02.md")
    told = nights.ledger(lines[5])[-1]
    assert (told["verdict"], told["text"], told["valid_to"]) == ("demoted", lines[5], "2026-03-20")
    assert not nights.tidy("2026-03-21").changed
    assert lines[5] not in nights.text()


def test_one_undo_brings_the_line_back_and_takes_it_out_of_the_digest(nights: Nights) -> None:
    nights.entries(*filler(77), confidence=0.3)
    nights.log("2026-03-19", SAFETY)
    before = nights.files()
    nights.tidy()
    nights.undo()
    assert nights.files() == before


def test_the_oldest_of_what_is_not_sure_goes_when_bytes_run_out(nights: Nights) -> None:
    lines = filler(59, 84)
    nights.entries(*lines, confidence=0.4)
    assert BYTES - 100 < len(nights.text().encode()) <= BYTES
    nights.log("2026-03-19", CHINESE_RULE, CHINESE_SAFETY)
    nights.tidy()
    assert {CHINESE_RULE, CHINESE_SAFETY} <= set(nights.kept())
    assert within(nights)


def test_what_is_worth_more_than_the_newcomer_stays_and_the_user_is_asked(nights: Nights) -> None:
    nights.entries(*filler(77), confidence=0.99, valid_from="2026-03-19")
    before = nights.text()
    nights.log("2026-03-19", SAFETY)
    assert actions(nights.tidy()) == [("ask", SAFETY)]
    assert nights.text() == before
    assert nights.questions()[SAFETY].kind == "full"
    assert not nights.tidy("2026-03-21").changed


def test_what_the_person_asked_to_remember_does_not_leave_to_make_room(nights: Nights) -> None:
    lines = filler(77)
    nights.entries(*lines, confidence=0.5)
    nights.tell(lines[5], "admitted", confidence=0.1, explicit=True)
    nights.log("2026-03-19", SAFETY)
    nights.tidy()
    assert {lines[5], SAFETY} <= set(nights.kept())


def test_what_another_entry_says_too_goes_before_anything_else(nights: Nights) -> None:
    again = f"{RULE.rstrip('.')}, please"
    lines = filler(75)
    nights.entries(RULE, again, *lines, section="User Preferences", confidence=0.3)
    nights.log("2026-03-19", SAFETY)
    report = nights.tidy()
    assert ("demote", lines[0]) not in actions(report)
    assert len({RULE, again} & set(nights.kept())) == 1
    assert {*lines, SAFETY} <= set(nights.kept())


@pytest.mark.parametrize("whose", ["pinned", "the user's"])
def test_lines_that_are_pinned_or_the_users_never_go(nights: Nights, whose: str) -> None:
    lines = filler(77)
    if whose == "pinned":
        nights.entries(*lines, confidence=0.01, pinned=True)
    else:
        nights.lay("MEMORY.md", "# Mine\n\n\n" + "".join(f"- {one}\n" for one in lines))
    before = nights.text()
    nights.log("2026-03-19", SAFETY)
    nights.tidy()
    assert nights.text() == before
    assert nights.questions()[SAFETY].kind == "full"


def test_a_projects_file_keeps_the_same_limits_and_its_lines_go_below_its_name(nights: Nights) -> None:
    lines = filler(77)
    nights.entries(*lines, file="projects/shop/MEMORY.md", confidence=0.1, source={"day": "2026-02-03"})
    nights.log("2026-03-19", BACKUP, stamp=" | project:shop")
    nights.tidy()
    assert BACKUP in nights.kept("projects/shop/MEMORY.md")
    assert within(nights, "projects/shop/MEMORY.md")
    (gone,) = set(lines) - set(nights.kept("projects/shop/MEMORY.md"))
    digest = nights.text("memory/weekly/2026-02-02.md")
    assert digest.index("project:shop") < digest.index(gone)


def test_the_limits_hold_over_many_nights_and_every_line_is_somewhere(nights: Nights) -> None:
    chance = random.Random(4)
    own = filler(55, 84)
    nights.entries(*own, confidence=0.2, source={"day": "2026-02-03"})
    said = [RULE, SAFETY, BACKUP, CONTACT, CHINESE_RULE, CHINESE_SAFETY]
    chance.shuffle(said)
    for number, one in enumerate(said, 12):
        nights.log(f"2026-03-{number}", one, session=f"aaaa{number}")
        nights.tidy(f"2026-03-{number + 1}")
        assert within(nights)
    assert set(said) <= set(nights.kept())
    digest = nights.text("memory/weekly/2026-02-02.md")
    assert all(one in nights.kept() or one in digest for one in own)


def test_a_broken_date_in_the_ledger_does_not_stop_the_night(nights: Nights) -> None:
    nights.entries(*filler(77), confidence=0.1, source={"day": "someday"})
    nights.log("2026-03-19", SAFETY)
    nights.tidy()
    assert SAFETY in nights.kept()
