from __future__ import annotations

import pytest

from nacre.brain.local.wording import asked, joined, shorten, starts_with_pronoun, tidy, two_rules


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


@pytest.mark.parametrize(
    ("said", "language", "rules"),
    [
        (
            "Release branches must be tagged, and must be signed by two people",
            "en",
            ("Release branches must be tagged", "Release branches must be signed by two people"),
        ),
        (
            "定一下：缓存的键统一用 tc: 前缀，而且必须设过期时间，不然内存会满",
            "zh",
            ("定一下：缓存的键统一用 tc: 前缀", "缓存的键必须设过期时间，不然内存会满"),
        ),
    ],
)
def test_two_rules_for_one_thing_each_name_it(said: str, language: str, rules: tuple[str, str]) -> None:
    assert two_rules(said, language) == rules


@pytest.mark.parametrize(
    ("said", "language"),
    [
        ("Alerts go to the channel ops-alerts, never to email", "en"),
        ("Feature flags live in config/flags.yaml, and Marek Nowak owns them", "en"),
        ("We must set the limit to ten, because the queue ran over twice", "en"),
        ("图片统一放在 static/img，用 WebP 格式，单张不超过 200KB", "zh"),
        ("周报统一周五发，我来汇总", "zh"),
    ],
)
def test_a_sentence_whose_half_would_lean_on_the_other_is_not_two_rules(said: str, language: str) -> None:
    assert two_rules(said, language) is None
