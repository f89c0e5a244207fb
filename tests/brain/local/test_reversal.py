"""Rules with the same words and the opposite sense are told apart; the same rule in another order is not."""

from __future__ import annotations

import pytest

from nacre.brain.local.likeness import is_reversed, statement


@pytest.mark.parametrize(
    ("old", "new", "language"),
    [
        ("We use pnpm, never npm, in every repository", "We use npm, never pnpm, in every repository", "en"),
        ("Indent with tabs, never spaces", "Indent with spaces, not tabs", "en"),
        ("Prefer Postgres over MySQL", "Prefer MySQL over Postgres for new services", "en"),
        ("Merge from main to staging", "Merge from staging to main, always", "en"),
        ("Never deploy by hand, use the pipeline", "Never use the pipeline, deploy by hand", "en"),
        ("Ada takes the milk first, then the tea", "For Ada it is the tea first, then the milk", "en"),
        ("先写测试再写代码", "先写代码，再写测试", "zh"),
        ("所有仓库都用 pnpm，不要用 npm", "所有仓库都用 npm，不要用 pnpm", "zh"),
        ("报告用 Typst 而不是 LaTeX", "报告用 LaTeX 而不是 Typst", "zh"),
    ],
)
def test_the_opposite_in_the_same_words_turns_it_round(old: str, new: str, language: str) -> None:
    assert is_reversed(statement(old, language), statement(new, language))
    assert is_reversed(statement(new, language), statement(old, language))


@pytest.mark.parametrize(
    ("old", "new", "language"),
    [
        ("We use pnpm, never npm, in every repository", "In every repository use pnpm, never npm", "en"),
        ("Use pnpm, never npm", "Never use npm; use pnpm", "en"),
        ("Use pnpm, never npm", "Use yarn, never bower", "en"),
        ("Use pnpm, never npm", "We moved from pnpm to Bun", "en"),
        ("Merge from main to staging", "Merge from main to staging, never from staging to main", "en"),
        ("所有仓库都用 pnpm，不要用 npm", "不要用 npm，所有仓库都用 pnpm", "zh"),
        ("周报发邮件", "日报发飞书", "zh"),
        ("Ada takes the milk first, then the tea", "First milk, the tea afterwards, that is how Ada likes it", "en"),
        ("外卖只上美团，别的平台没空弄", "外卖就美团一个平台，别的没上", "zh"),
    ],
)
def test_the_same_in_another_order_or_about_something_else_does_not(old: str, new: str, language: str) -> None:
    assert not is_reversed(statement(old, language), statement(new, language))
    assert not is_reversed(statement(new, language), statement(old, language))
