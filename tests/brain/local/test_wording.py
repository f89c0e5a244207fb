from __future__ import annotations

import pytest

from nacre.brain.local.wording import asked, joined, shorten, starts_with_pronoun, tidy


@pytest.mark.parametrize(
    ("said", "language", "told"),
    [
        ("ok so, we use bun now lol", "en", "We use bun now"),
        ("btw the port is 8080.", "en", "The port is 8080"),
        ("pnpm-lock.yaml is gone", "en", "pnpm-lock.yaml is gone"),
        ("no. we never do that", "en", "No. we never do that"),
        ("can we move it?", "en", "Can we move it?"),
        ("嗯，对了，以后用飞书发", "zh", "以后用飞书发"),
        ("好的！", "zh", "好的"),
    ],
)
def test_fillers_go_and_the_rest_stays(said: str, language: str, told: str) -> None:
    assert tidy(said, language) == told


def test_a_request_is_told_as_one() -> None:
    assert asked("Can you rename the bucket?", "en") == "User asked to rename the bucket"
    assert asked("Why is it red?", "en") == "User asked: Why is it red?"
    assert asked("帮我查一下昨天的日志", "zh") == "用户要求：查一下昨天的日志"


def test_a_long_line_keeps_whole_clauses() -> None:
    text = "first clause here, second clause here, third clause here"
    assert shorten(text, "en", 40) == "first clause here, second clause here…"
    assert shorten(text, "en", 400) == text


def test_a_word_that_is_longer_than_the_limit_is_cut() -> None:
    assert len(shorten("x" * 500, "en", 100)) <= 100


def test_sentences_become_one_line() -> None:
    assert joined(["One.", "Two!"], "en") == "One; Two"
    assert joined(["一。", "二"], "zh") == "一；二"


def test_a_pronoun_at_the_beginning_is_seen() -> None:
    assert starts_with_pronoun("she signs everything", "en")
    assert starts_with_pronoun("她是会计", "zh")
    assert not starts_with_pronoun("Sheila signs everything", "en")
    assert not starts_with_pronoun("他山之石", "zh")
