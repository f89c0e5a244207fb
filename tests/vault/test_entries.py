"""Entries: what a line of memory says, and the id that its words have."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.text.blocks import label_of, labelled_spans
from nacre.vault.entries import (
    bare_words,
    bullet_id,
    comments_in,
    entry_id,
    line_digest,
    marks_in,
    normal_words,
    source_day,
    without_comments,
    words_of,
)


def test_ids_are_those_that_ledgers_and_trails_hold_already() -> None:
    assert entry_id("Use pnpm, never npm") == "92b43cc12c"
    assert entry_id("  use  PNPM, never\nnpm ") == "92b43cc12c"
    assert bullet_id("- [PREF] Use pnpm, never npm (src: 2026-02-10)") == "92b43cc1"
    assert entry_id("助手改名为小明") == "2db6aae209"
    assert line_digest("- [PREF] Use pnpm, never npm") == "f1839f4a3075"
    assert line_digest("## Use pnpm") == line_digest("abc") == ""


@pytest.mark.parametrize(
    ("bullet", "label", "words"),
    [
        ("- [PREF] Use pnpm, never npm", "PREF", "Use pnpm, never npm"),
        ("* [决策] 助手改名为小明 (src: 2026-02-10)", "决策", "助手改名为小明"),
        ("[Preference] Typst - not LaTeX (src: 2026-02-10)", "Preference", "Typst - not LaTeX"),
        ("1. [ ] [TEMP] call Bob", "TEMP", "call Bob"),
        ("- [x] done", None, "done"),
        ("- see [TODO] in the code", None, "see [TODO] in the code"),
        ("Use pnpm - never npm", None, "Use pnpm - never npm"),
        ("costs 3. 50 each", None, "costs 3. 50 each"),
        ("- [pref] small letters", None, "[pref] small letters"),
        ("", None, ""),
    ],
)
def test_a_bullet_is_its_label_and_its_words(bullet: str, label: str | None, words: str) -> None:
    assert label_of(bullet) == label
    assert bare_words(bullet) == words


@given(st.text(max_size=60))
def test_bare_words_add_nothing_that_was_not_there(bullet: str) -> None:
    assert bare_words(bullet) in bullet


def test_the_day_of_a_source_note_exists_and_ends_the_line() -> None:
    assert source_day("x (src: 2026-02-10)") == "2026-02-10"
    assert source_day("x (src: 2026-13-10)") is None
    assert source_day("(src: 2026-02-10) then more") is None


def test_normal_words_are_the_same_whatever_their_case_width_label_and_end() -> None:
    assert normal_words("- [PREF] Use PNPM！ <!-- importance: 8 -->") == normal_words("use ｐｎｐｍ.") == "use pnpm"


def test_comments_are_marks_and_no_words() -> None:
    line = "Use pnpm <!-- importance: 8 --> always <!-- pinned: true -->"
    assert words_of(line) == "Use pnpm always"
    assert marks_in(line) == {"importance": "8", "pinned": "true"}
    assert comments_in(line) == " <!-- importance: 8 --> <!-- pinned: true -->"
    assert without_comments("a <!-- never closed") == "a <!-- never closed"


def test_labelled_lines_of_a_paragraph_are_entries_with_what_follows_them() -> None:
    assert labelled_spans(["[Task] one", "more", "[决策] 二"]) == [(0, 2), (2, 3)]
    assert labelled_spans(["first", "[Task] one"]) == labelled_spans([]) == []
