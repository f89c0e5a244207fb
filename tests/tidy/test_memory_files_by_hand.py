"""Lines that somebody wrote, edited or took out become known; none of them is lost or added again."""

from __future__ import annotations

from difflib import SequenceMatcher

import pytest
from tests.tidy.nights import BACKUP, CHINESE_RULE, RULE, SAFETY, VITEST, Nights, actions

from nacre.config.settings import Config
from nacre.tidy import memory_files
from nacre.tidy.collect import TidyContext
from nacre.tidy.memory_files import LongTermFile
from nacre.vault.entries import entry_id
from nacre.vault.ledger import EntryState


@pytest.mark.parametrize("line", [SAFETY, CHINESE_RULE])
def test_a_line_written_by_hand_is_adopted_and_the_file_stays(nights: Nights, line: str) -> None:
    nights.lay("MEMORY.md", f"# Mine\n\nSome prose.\n\n* {line}\n")
    before = nights.text()
    assert actions(nights.tidy()) == [("adopt", line)]
    assert nights.text() == before
    (told,) = nights.ledger(line)
    assert (told["verdict"], told["valid_from"]) == ("adopted", "2026-03-20")
    assert not nights.tidy().changed


def test_a_line_written_by_hand_that_fails_the_tests_is_asked_about_once(nights: Nights) -> None:
    line = "Fixed the typo on line 12 of this page today"
    nights.lay("MEMORY.md", f"# Mine\n\n- {line}\n")
    before = nights.text()
    assert actions(nights.tidy()) == [("adopt", line), ("ask", line)]
    assert nights.text() == before
    assert nights.questions()[line].kind == "adopted"
    assert not nights.tidy("2026-03-21").changed


def test_an_edited_line_is_known_by_its_likeness_and_keeps_where_it_came_from(nights: Nights) -> None:
    nights.log("2026-03-18", RULE)
    nights.tidy("2026-03-19")
    edited = f"{RULE} and package"
    nights.lay("MEMORY.md", nights.text().replace(RULE, edited))
    before = nights.text()
    assert actions(nights.tidy()) == [("adopt", edited)]
    assert nights.text() == before
    closed = nights.ledger(RULE)[-1]
    assert (closed["verdict"], closed["into"], closed["valid_to"]) == ("superseded", entry_id(edited), "2026-03-20")
    told = nights.ledger(edited)[0]
    assert (told["verdict"], told["supersedes"]) == ("adopted", entry_id(RULE))
    assert told["source"]["day"] == "2026-03-18"


def test_an_edited_line_that_was_pinned_stays_pinned(nights: Nights) -> None:
    nights.entries("Unit tests are written with Jest in every project", pinned=True)
    nights.lay("MEMORY.md", nights.text().replace("every project", "every small project"))
    nights.log("2026-03-19", VITEST)
    nights.tidy()
    assert "Jest in every small project" in nights.text()
    assert list(nights.questions()) == [VITEST]


def test_a_line_taken_out_by_hand_is_closed_and_not_added_again(nights: Nights) -> None:
    nights.log("2026-03-17", RULE)
    nights.tidy("2026-03-18")
    nights.lay("MEMORY.md", nights.text().replace(f"- {RULE}\n", ""))
    assert actions(nights.tidy("2026-03-19")) == [("close", RULE)]
    nights.log("2026-03-19", RULE, session="aaaa1111")
    nights.tidy()
    assert nights.kept() == []
    assert nights.ledger(RULE)[-1]["verdict"] == "forgotten"
    assert not nights.tidy("2026-03-21").changed
    nights.log("2026-03-21", f"[PREF] {RULE}.", session=None)  # the person says so again: that counts
    nights.tidy("2026-03-22")
    assert nights.kept() == [f"{RULE}."]


def test_a_line_that_the_user_puts_back_is_the_users_from_then_on(nights: Nights) -> None:
    nights.entries(RULE)
    with_it = nights.text()
    nights.lay("MEMORY.md", "# Mine\n")
    nights.tidy("2026-03-19")
    nights.lay("MEMORY.md", with_it)
    nights.tidy()
    assert nights.verdicts(RULE) == ["admitted", "forgotten", "adopted"]
    assert nights.kept() == [RULE]


def test_a_file_that_was_emptied_or_deleted_is_taken_at_its_word(nights: Nights) -> None:
    nights.entries(RULE, SAFETY)
    (nights.root / "MEMORY.md").unlink()
    nights.tidy()
    assert nights.verdicts(RULE)[-1] == nights.verdicts(SAFETY)[-1] == "forgotten"
    assert not nights.kept()


def test_lines_of_a_project_are_known_by_their_file(nights: Nights) -> None:
    nights.lay("projects/shop/MEMORY.md", f"# Shop\n\n- {SAFETY}\n")
    nights.tidy()
    assert nights.ledger(SAFETY)[0]["file"] == "projects/shop/MEMORY.md"
    nights.lay("projects/shop/MEMORY.md", "# Shop\n")
    nights.tidy("2026-03-21")
    assert nights.verdicts(SAFETY) == ["adopted", "forgotten"]


ODD = {
    "windows newlines": f"# Mine\r\n\r\n## Notes\r\n* {SAFETY}  \r\n\r\nprose \r\n",
    "a byte-order mark": f"\ufeff# Mine\n\n- {SAFETY}\n",
    "a table": f"# Mine\n\n| a | b |\n|---|---|\n| - x | y |\n\n- {SAFETY}\n\n| c | d |\n|---|---|\n| 1 | 2 |\n",
    "nested lists": f"# Mine\n\n1. {SAFETY}\n2. outer\n   - inner one\n     - inmost\n\n     prose of it\n3. last\n",
    "comments": f"<!-- top\n- not an entry\n-->\n# Mine\n\n- {SAFETY} <!-- importance: 8 -->\n<!-- - {RULE} -->\n",
    "a code fence": f"# Mine\n\n```\n- not an entry\n```\n\n- {SAFETY}",
    "tabs and no last newline": f"# Mine\n\n-\t{SAFETY}\n\t- deep\n-   wide",
}


@pytest.mark.parametrize("name", ODD)
def test_what_stands_in_an_odd_file_stays_byte_for_byte_when_a_line_is_added(nights: Nights, name: str) -> None:
    before = ODD[name].encode()
    nights.lay("MEMORY.md", before)
    nights.tidy("2026-03-19")
    assert (nights.root / "MEMORY.md").read_bytes() == before
    rule = "Back up the database before every migration, otherwise data is lost"
    nights.log("2026-03-19", rule)
    nights.tidy()
    after = (nights.root / "MEMORY.md").read_bytes()
    assert rule.encode() in after
    rest = iter(after.splitlines())
    assert all(line in rest for line in before.splitlines()), "every old line is there, in its order"
    assert after.count(b"\r\n") in (0, after.count(b"\n"))
    assert not nights.tidy().changed


def test_a_line_by_hand_that_names_a_field_stands_although_the_field_says_the_same(nights: Nights) -> None:
    name = "You are called Pearl now"
    nights.lay("IDENTITY.md", "# Identity\n\n- **Name:** Pearl\n")
    nights.lay("MEMORY.md", f"# Mine\n\n- {name}\n")
    nights.log("2026-03-18", name)
    nights.tidy("2026-03-19")
    assert nights.verdicts(name) == ["adopted", "asked"]
    assert not nights.tidy("2026-03-19").changed


def test_below_a_code_fence_that_is_never_closed_nothing_is_added_or_taken_for_removed(nights: Nights) -> None:
    nights.lay("MEMORY.md", f"# Mine\n\n- {SAFETY}\n\n## Notes\n- {RULE}\n")
    nights.tidy("2026-03-18")
    nights.lay("MEMORY.md", f"# Mine\n\n- {SAFETY}\n```\n\n## Notes\n- {RULE}\n")
    nights.log("2026-03-18", BACKUP)
    nights.tidy("2026-03-19")
    assert nights.verdicts(RULE) == ["adopted"]
    assert not nights.tidy("2026-03-20").changed
    assert nights.text().endswith(f"- {BACKUP}\n\n```\n\n## Notes\n- {RULE}\n")


def test_a_rewritten_line_keeps_its_marker_its_marks_and_its_line_end(nights: Nights) -> None:
    jest = "Unit tests are written with Jest in every project"
    nights.tell(jest, "admitted", confidence=0.8, valid_from="2026-02-01")
    nights.lay("MEMORY.md", f"# Mine\r\n\r\n1) {jest} <!-- importance: 8 -->\r\n2) mine\r\n")
    nights.log("2026-03-19", VITEST)
    nights.tidy()
    assert nights.text() == f"# Mine\r\n\r\n1) {VITEST} <!-- importance: 8 -->\r\n2) mine\r\n"


def test_a_file_written_anew_is_compared_without_holding_each_line_against_each_entry(
    room: TidyContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = [f"note {number} alpha beta gamma delta {number % 7}" for number in range(200)]
    known = {entry_id(text): EntryState(entry_id(text), "adopted", text, ()) for text in old}
    room.workspace.longterm.write_text("# M\n\n" + "".join(f"- {text} too\n" for text in old), "utf8")
    compared = 0

    class Counted(SequenceMatcher[str]):
        def ratio(self) -> float:
            nonlocal compared
            compared += 1
            return super().ratio()

    monkeypatch.setattr(memory_files, "SequenceMatcher", Counted)
    file = LongTermFile(room.workspace, room.workspace.longterm, Config().memory)
    adopted, edited, gone = memory_files.hand_edits([file], known)
    assert [(line.words, was.text) for _, line, was in edited] == [(f"{text} too", text) for text in old]
    assert not adopted
    assert not gone
    assert compared <= 4 * len(old)
