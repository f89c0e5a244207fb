"""What two statements share and where they differ: values, goodbyes, changes, doubt, opposites."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given

from nacre.brain.local.likeness import (
    CHANGE,
    FOR_ONCE,
    FROM_TO,
    LEAVES,
    UNSURE,
    Statement,
    adds_a_value,
    compare,
    left_behind,
    said_to_change,
    says,
    shares_a_value,
    statement,
)
from nacre.text.tokens import language_of


def read(text: str) -> Statement:
    return statement(text, language_of(text))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Tests are written with Jest", "We moved from Jest to Vitest"),
        ("Tests are written with Jest", "Use Vitest instead of Jest"),
        ("Anna handles the invoices", "Anna left in March"),
        ("前端用 Vue 开发", "前端从 Vue 换成 React 了"),
        ("前端用 Vue 开发", "别再用 Vue，改用 React"),
    ],
)
def test_a_goodbye_names_what_is_left_behind(old: str, new: str) -> None:
    assert left_behind(read(old), read(new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Tests are written with Jest", "The garden needs water"),
        ("Tests are written with Jest", "Jest runs in parallel"),
        ("前端用 Vue 开发", "今天天气很好"),
    ],
)
def test_without_a_goodbye_nothing_is_left_behind(old: str, new: str) -> None:
    assert not left_behind(read(old), read(new))
    assert not said_to_change(read(old), read(new))


def test_a_new_value_is_seen_by_what_stands_before_it() -> None:
    assert "standup" in said_to_change(read("The standup is at nine"), read("The standup moved to ten"))
    assert said_to_change(read("例会在周一"), read("例会改到周三"))


@pytest.mark.parametrize(
    ("text", "change", "move", "once", "unsure"),
    [
        ("We switched from Jest to Vitest", True, True, False, False),
        ("The port is no longer 8080", True, False, False, False),
        ("Use npm just for today", False, False, True, False),
        ("I think it is on Friday", False, False, False, True),
        ("Answers are short", False, False, False, False),
        ("前端从 Vue 换成 React", True, True, False, False),
        ("这次先用 npm", False, False, True, False),
        ("好像是周五", False, False, False, True),
        ("回答要简短", False, False, False, False),
    ],
)
def test_change_move_once_and_doubt_are_told_apart(
    text: str, change: bool, move: bool, once: bool, unsure: bool
) -> None:
    language = language_of(text)
    moves = says(LEAVES, text, language) and says(FROM_TO, text, language)
    told = says(CHANGE, text, language), moves, says(FOR_ONCE, text, language)
    assert (*told, says(UNSURE, text, language)) == (change, move, once, unsure)


def test_numbers_are_read_in_words_and_in_han() -> None:
    assert read("The standup is at nine").numbers == {"9"}
    assert read("例会是三点").numbers == {"3"}
    assert read("最多十个人").numbers == {"10"}


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_two_texts_can_be_compared(old: str, new: str) -> None:
    one, other = (statement(text, language_of(new)) for text in (old, new))
    found = compare(one, other, {}, 1.0)
    assert len(found) == 42  # as many as the weights expect
    assert all(value == value and abs(value) < 10 for value in found)  # noqa: PLR0124 - not a number is unlike itself


def test_a_value_of_its_own_is_told_from_a_shared_one() -> None:
    assert shares_a_value(read("The server listens on port 8080"), read("Port 8080 is taken"))
    assert not adds_a_value(read("The server listens on port 8080"), read("The server listens on 8080"))
    assert adds_a_value(read("The server listens on port 8080"), read("The server listens on port 8080 and 9090"))
