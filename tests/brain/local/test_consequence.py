"""The reverse check: one sentence that says what would go wrong; where there is none, nothing is admitted."""

from __future__ import annotations

import pytest

from nacre.brain.local.judge import Judge
from nacre.brain.local.wording import without_it

JUDGE = Judge(None)


def told(text: str, kind: str = "TECH") -> str | None:
    return without_it(JUDGE.read([text])[0], kind)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("Use pnpm, never npm, in every repository", "the agent would use npm instead of pnpm"),
        ("We moved from Jest to Vitest", "the agent would still go by Jest, not Vitest"),
        ("Never store passwords in plain text", "the agent might store passwords in plain text"),
        ("以后所有报告一律用 Typst，不要用 LaTeX", "智能体会用 LaTeX而不是 Typst"),
        ("前端从 Vue 换成 React 了", "智能体会继续按Vue处理，而不是React"),
    ],
)
def test_a_rule_says_what_the_agent_would_do_instead(text: str, sentence: str) -> None:
    said = told(text)
    assert said is not None
    assert said.replace(" ", "") == sentence.replace(" ", "")


@pytest.mark.parametrize(
    ("text", "kind", "names"),
    [
        ("Maria Lopez leads the billing team", "PEOPLE", "Maria Lopez"),
        ("张伟是我们的财务负责人", "PEOPLE", "张伟"),
        ("The production database runs PostgreSQL 16", "TECH", "production database"),
        ("I like window seats", "PREF", "window seats"),
        ("我喜欢靠窗的座位", "PREF", "靠窗"),
        ("The cache was full and the import failed", "LESSON", "cache"),
    ],
)
def test_a_fact_a_person_a_wish_and_a_lesson_are_named(text: str, kind: str, names: str) -> None:
    assert names in (told(text, kind) or "")


@pytest.mark.parametrize("text", ["ok", "thanks a lot", "谢谢", "嗯嗯", "sounds good to me"])
def test_small_talk_prevents_no_mistake(text: str) -> None:
    assert told(text) is None


@pytest.mark.parametrize("text", ["Never " + "do this and that thing " * 40, "不要" + "把所有东西都放在这里" * 40])
def test_the_sentence_stays_short_and_on_one_line(text: str) -> None:
    said = told(text)
    assert said is not None
    assert len(said) <= 120
    assert "\n" not in said
