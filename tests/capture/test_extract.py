"""Lines of notes get their type, and nothing else about them changes."""

from __future__ import annotations

import pytest
from tests.capture.talks import Desk

from nacre.brain.local.judge import Judge
from nacre.capture.extract import count_types, extract_text, give_types, untyped
from nacre.config.settings import Config
from nacre.errors import BadInput
from nacre.model import TYPES, Context
from nacre.vault.undo import undo

LOG = """# 2026-03-02

## 09:00 note
- Reports are always written in Typst, never in Word
- [PREF] Use pnpm
- [x] done
1. Maria leads the billing team
   - nested

## 10:00 session:61871d67 | 4 messages
- User asked to move the API

```
- not a bullet
```
"""


@pytest.fixture
def judge() -> Judge:
    return Judge(None)


def test_only_bullets_of_notes_without_a_type_want_one(desk: Desk, judge: Judge) -> None:
    (desk.workspace.memory / "2026-03-02.md").write_text(LOG, "utf8")
    found = untyped(desk.workspace, judge)
    assert [entry.line for entry in found if "Typst" in entry.text or "Maria" in entry.text] == [4, 7]
    assert {entry.text for entry in found} & {
        "Use pnpm",
        "nested",
        "User asked to move the API",
        "not a bullet",
    } == set()
    assert all(entry.type in TYPES for entry in found)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_types_are_put_before_the_words_once_and_undo_takes_them_back(desk: Desk, judge: Judge, end: str) -> None:
    path = desk.workspace.memory / "2026-03-02.md"
    path.write_bytes(LOG.replace("\n", end).encode())
    clock = desk.setting("2026-03-03").context.clock
    found = untyped(desk.workspace, judge)
    give_types(desk.setting("2026-03-03").context, found)
    lines = path.read_bytes().decode().split(end)
    assert lines[3] == f"- [{found[0].type}] Reports are always written in Typst, never in Word"
    assert lines[6].startswith("1. [")
    changed = {number for number, line in enumerate(LOG.split("\n")) if line != lines[number]}
    assert changed == {entry.line - 1 for entry in found}
    assert untyped(desk.workspace, judge) == []
    undo(Context(desk.workspace, Config(), clock))
    assert path.read_bytes() == LOG.replace("\n", end).encode()


def test_a_line_over_several_lines_and_one_with_a_box_get_theirs_too(desk: Desk, judge: Judge) -> None:
    path = desk.workspace.memory / "2026-03-02.md"
    path.write_text("- Reports are written\n  in Typst\n- [ ] call the dentist\n", "utf8")
    found = untyped(desk.workspace, judge)
    assert give_types(desk.setting("2026-03-03").context, found) == found
    first, second = (entry.type for entry in found)
    assert path.read_text("utf8") == f"- [{first}] Reports are written\n  in Typst\n- [ ] [{second}] call the dentist\n"


def test_a_line_with_a_secret_stays_as_it_is_and_the_others_get_theirs(desk: Desk, judge: Judge) -> None:
    path = desk.workspace.memory / "2026-03-02.md"
    path.write_text("- the wifi password is sunflower9\n- Maria leads the billing team\n", "utf8")
    (done,) = give_types(desk.setting("2026-03-03").context, untyped(desk.workspace, judge))
    assert (
        path.read_text("utf8") == f"- the wifi password is sunflower9\n- [{done.type}] Maria leads the billing team\n"
    )


def test_a_log_that_was_cut_shorter_meanwhile_is_left_as_it_is(desk: Desk, judge: Judge) -> None:
    path = desk.workspace.memory / "2026-03-02.md"
    path.write_text(LOG, "utf8")
    found = untyped(desk.workspace, judge)
    path.write_text("# 2026-03-02\n", "utf8")
    give_types(desk.setting("2026-03-03").context, found)
    assert path.read_text("utf8") == "# 2026-03-02\n"


def test_a_log_that_is_no_text_is_passed_over(desk: Desk, judge: Judge) -> None:
    (desk.workspace.memory / "2026-03-02.md").write_bytes(b"## note\n- caf\xe9\n")
    assert untyped(desk.workspace, judge) == []


def test_a_text_is_worth_what_it_says_and_nothing_else(desk: Desk, judge: Judge) -> None:
    clock = desk.setting("2026-03-03").context.clock
    lines = [one.line for one in extract_text("we moved to pnpm, never use npm here again. ok thanks!", clock, judge)]
    assert any("pnpm" in line for line in lines)
    assert not any("thanks" in line for line in lines)
    with pytest.raises(BadInput):
        extract_text(" \n", clock, judge)


def test_every_line_is_counted_by_the_type_it_carries_or_would_get(desk: Desk, judge: Judge) -> None:
    (desk.workspace.memory / "2026-03-02.md").write_text(
        "## 09:00 note\n- [PREF] Use pnpm\n- [PREF] Use Typst\n\n## 10:00 session:61871d67 | 4 messages\n- moved the API\n",
        "utf8",
    )
    assert count_types(desk.workspace, judge) == {"PREF": 2, "-": 1}
