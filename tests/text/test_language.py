"""Which language a text is in, and about how many tokens it has."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.text.tokens import cjk_count, language_of, tokens_estimate


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Use pnpm, never npm", "en"),
        ("以后都用 pnpm", "zh"),
        ("我们把 API 迁移到 v2 了", "zh"),
        ("The word 你 means you in the language of the user", "en"),
        ("2026-02-10", "en"),
        ("", "en"),
        ("好", "zh"),
        ("café à la crème", "en"),
    ],
)
def test_the_language_of(text: str, language: str) -> None:
    assert language_of(text) == language


def test_a_han_character_counts_as_one_token_and_four_letters_as_one() -> None:
    assert tokens_estimate("") == 0
    assert tokens_estimate("abcd") == 1
    assert tokens_estimate("abcde") == 2
    assert tokens_estimate("数据库") == 3
    assert tokens_estimate("数据库abcd") == 4


def test_punctuation_is_no_character_of_a_script() -> None:
    assert cjk_count("。，！・「」") == 0
    assert cjk_count("々〇ガー한𠮷") == 6


@given(st.text(max_size=50), st.text(max_size=50))
def test_two_texts_together_are_never_more_tokens_than_apart(one: str, other: str) -> None:
    assert tokens_estimate(one + other) <= tokens_estimate(one) + tokens_estimate(other)
