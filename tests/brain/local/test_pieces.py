"""A line of a log as the statements it is made of, each with whose words it is."""

from __future__ import annotations

import pytest

from nacre.brain.local.wording import Piece, pieces


def texts(line: str) -> list[str]:
    return [piece.text for piece in pieces(line)]


@pytest.mark.parametrize(
    ("line", "statements"),
    [
        ("Use pnpm everywhere. Never use npm!", ["Use pnpm everywhere", "Never use npm!"]),
        ("报告一律用 Typst。不要用 LaTeX。", ["报告一律用 Typst", "不要用 LaTeX"]),
        ("The API is at v2.1 on api.example.com", ["The API is at v2.1 on api.example.com"]),
    ],
)
def test_a_line_is_split_at_the_ends_of_its_sentences(line: str, statements: list[str]) -> None:
    assert [one.rstrip("!") for one in texts(line)] == [one.rstrip("!") for one in statements]


def test_each_statement_has_its_own_language() -> None:
    assert [piece.language for piece in pieces("Use pnpm everywhere. 报告一律用 Typst 排版。")] == ["en", "zh"]


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        ("User asked to move the API to v2", "move the API to v2"),
        ("User asked: Why is it red?", "Why is it red?"),
        ("用户要求：把接口迁到二版", "把接口迁到二版"),
    ],
)
def test_a_request_is_told_without_what_the_log_put_before_it(line: str, asked: str) -> None:
    (piece,) = pieces(line)
    assert piece.text.casefold() == asked.casefold()
    assert piece.asked
    assert not piece.agents


@pytest.mark.parametrize("arrow", ["→", "->", "=>"])
def test_what_stands_behind_an_arrow_is_the_agents_word(arrow: str) -> None:
    asked, done = pieces(f"User asked to move the API to v2 {arrow} migration finished")
    assert (asked.asked, asked.agents) == (True, False)
    assert (done.asked, done.agents) == (False, True)


@pytest.mark.parametrize("line", ["Agent: the port is 8080", "Assistant: the port is 8080", "助手：端口是 8080"])
def test_a_line_of_the_agent_is_the_agents(line: str) -> None:
    assert all(piece.agents for piece in pieces(line))


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("Rule: never push to main on a Friday", "Never push to main on a Friday"),
        ("One more lesson learned: back up first", "Back up first"),
        ("定个规矩：周五不上线", "周五不上线"),
        ("教训：上线前先备份", "上线前先备份"),
    ],
)
def test_a_rule_that_is_called_one_is_told_without_the_announcement(line: str, rule: str) -> None:
    (piece,) = pieces(line)
    assert piece.text == rule
    assert piece.announced


def test_a_plain_statement_is_announced_by_nothing() -> None:
    assert pieces("The rule of the house is silence") == [Piece("The rule of the house is silence", "en")]


@pytest.mark.parametrize("line", ["", "   ", "。", "→", " -> "])
def test_a_line_that_says_nothing_has_no_statements(line: str) -> None:
    assert [one for one in texts(line) if any(sign.isalnum() for sign in one)] == []
