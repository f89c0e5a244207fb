from __future__ import annotations

import pytest

from nacre.brain.local.wording import asked, joined, remember, remember_before, shorten, starts_with_pronoun, tidy


@pytest.mark.parametrize(
    ("said", "language", "told"),
    [
        ("ok so, we use bun now lol", "en", "We use bun now"),
        ("btw the port is 8080.", "en", "The port is 8080"),
        ("pnpm-lock.yaml is gone", "en", "pnpm-lock.yaml is gone"),
        ("no. we never do that", "en", "No. we never do that"),
        ("before I forget, the bins go out on Mondays", "en", "The bins go out on Mondays"),
        ("cheers. next thing: invoices go to Ada", "en", "Invoices go to Ada"),
        ("last thing on the list is the roof", "en", "Last thing on the list is the roof"),
        ("不是不是，周三休息", "zh", "周三休息"),
        ("差点忘了，垃圾周一收", "zh", "垃圾周一收"),
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
    assert starts_with_pronoun("那是老规矩", "zh")
    assert not starts_with_pronoun("那就找龚医生", "zh")


@pytest.mark.parametrize(
    ("text", "language", "words"),
    [
        ("remember that the port is 8417", "en", "The port is 8417"),
        ("We never ship on Fridays, remember that", "en", "We never ship on Fridays"),
        ("No prints in colour, please keep that in mind when you order", "en", "No prints in colour; when you order"),
        ("改完 SQL 要清缓存，这个坑记住", "zh", "改完 SQL 要清缓存"),
        ("记住端口是 8417", "zh", "端口是 8417"),
    ],
)
def test_a_request_to_remember_is_taken_off_what_it_asks_for(text: str, language: str, words: str) -> None:
    assert remember(text, language) == (words, True)


@pytest.mark.parametrize(
    ("text", "language", "when"),
    [
        ("Remember that", "en", ""),
        ("please remember this for next time", "en", ""),
        ("Remember that when you come up with recipes", "en", "when you come up with recipes"),
        ("So keep it in mind", "en", ""),
        ("这个记一下", "zh", ""),
        ("记住哈", "zh", ""),
        ("Remember that shop?", "en", None),
        ("Do you remember that", "en", None),
        ("Remember that the port is 8417", "en", None),
        ("Remember that before a release we run the smoke tests", "en", None),
        ("Note that in Bern we bill in francs", "en", None),
        ("我记住了", "zh", None),
        ("记住端口是 8417", "zh", None),
    ],
)
def test_a_request_alone_means_what_was_said_before(text: str, language: str, when: str | None) -> None:
    assert remember_before(text, language) == when
