"""What the user took back is asked about, not done again; and the agent's word corrects nothing that the owner said."""

from __future__ import annotations

import json

from tests.tidy.nights import JEST, RULE, VITEST, Nights, actions

from nacre.tidy.answers import ACCEPT
from nacre.vault.entries import bullet_id


def test_what_was_undone_is_asked_about_the_next_night_and_not_added_again(nights: Nights) -> None:
    nights.log("2026-03-19", RULE)
    nights.tidy()
    assert nights.kept() == [RULE]
    nights.memory().undo()
    assert nights.kept() == []
    report = nights.tidy("2026-03-21")
    assert actions(report) == [("ask", RULE)]
    assert nights.kept() == []
    assert not nights.tidy("2026-03-22").changed
    nights.answer(ACCEPT, RULE, day="2026-03-22")
    assert nights.kept() == [RULE]


def test_an_undo_that_touches_no_entry_leaves_no_note(nights: Nights) -> None:
    with nights.memory() as memory:
        memory.remember("Bought milk")
        memory.undo()
    assert not (nights.root / "memory" / "trail.jsonl").exists()


def test_the_agents_word_does_not_supersede_what_the_owner_said(nights: Nights) -> None:
    nights.entries(JEST, source={"day": "2026-02-01", "session": "aaaaaaaa", "bullet": "12345678"})
    nights.log("2026-03-19", VITEST)
    line = {"day": "2026-03-19", "session": "61871d67", "agent": "openclaw", "agents": [bullet_id(VITEST)]}
    nights.lay("memory/trail.jsonl", json.dumps(line | {"captured": {bullet_id(VITEST): ["m1"]}}) + "\n")
    nights.tidy()
    assert JEST in nights.kept()


def test_the_owners_word_supersedes_and_the_first_value_may_come_back(nights: Nights) -> None:
    nights.entries(JEST, source={"day": "2026-02-01", "session": "aaaaaaaa", "bullet": "12345678"})
    nights.log("2026-03-19", VITEST)
    nights.tidy()
    assert nights.kept() == [VITEST]
    back = "We moved back from Vitest to Jest: unit tests are written with Jest in every project, no longer with Vitest"
    nights.log("2026-03-21", back, session="bbbbbbbb")
    nights.tidy("2026-03-22")
    assert nights.kept() == [back]
    nights.log("2026-03-23", VITEST, session="cccccccc")
    nights.tidy("2026-03-24")
    assert nights.kept() == [VITEST]


def test_what_was_taken_out_by_hand_does_not_come_back_in_other_words(nights: Nights) -> None:
    nights.log("2026-03-19", RULE)
    nights.tidy()
    nights.lay("MEMORY.md", nights.text().replace(f"- {RULE}\n", ""))
    nights.log("2026-03-20", "Use pnpm and never npm, in every repository please", session="bbbbbbbb")
    nights.tidy("2026-03-21")
    assert nights.kept() == []
    assert nights.ledger()[-1]["failed"] == "novel"
