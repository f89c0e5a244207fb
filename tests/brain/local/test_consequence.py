"""The reverse check: one sentence that names the mistake, or nothing."""

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
        ("We moved from Jest to Vitest", "the agent would still assume Jest, not Vitest"),
        ("Never store passwords in plain text", "the agent might store passwords in plain text"),
        ("Never ever store passwords in plain text", "the agent might store passwords in plain text"),
        ("以后所有报告一律用 Typst，不要用 LaTeX", "智能体会用 LaTeX 而不是 Typst"),
        ("我们决定用 PostgreSQL 作为持久化方案，不用 MySQL", "智能体会用 MySQL 而不是 PostgreSQL"),
        ("周五不要部署支付服务", "智能体可能会在周五部署支付服务"),
        ("提交前必须跑完整测试", "智能体可能不会在提交前跑完整测试"),
        ("Migrations must be reviewed by Mara", "migrations might not be reviewed by Mara"),
        ("Back up before every migration, otherwise data is lost", "data is lost"),
        ("合并前先备份，否则数据会丢失", "数据会丢失"),
        ("前端从 Vue 换成 React 了", "智能体会以为还是 Vue"),
    ],
)
def test_a_rule_says_what_the_agent_would_do_instead(text: str, sentence: str) -> None:
    said = told(text)
    assert said == sentence


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("Maria Lopez leads the billing team", "the agent would not know who Maria Lopez is"),
        ("张伟是我们的财务负责人", "智能体不会知道张伟是谁"),
    ],
)
def test_a_person_would_not_be_known(text: str, sentence: str) -> None:
    assert told(text, "PEOPLE") == sentence


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("The production database runs PostgreSQL 16", "TECH"),
        ("I like window seats", "PREF"),
        ("I don't eat meat", "PREF"),
        ("我喜欢靠窗的座位", "PREF"),
        ("我特别喜欢靠窗的座位", "PREF"),
        ("The cache was full and the import failed", "LESSON"),
        ("Office hours are from 9 to 5", "TECH"),
        ("Someone from sales called", "PEOPLE"),
        ("Never heard this from you", "TECH"),
    ],
)
def test_where_the_words_show_no_mistake_nothing_is_said(text: str, kind: str) -> None:
    assert told(text, kind) is None


@pytest.mark.parametrize("text", ["ok", "thanks a lot", "谢谢", "嗯嗯", "sounds good to me"])
def test_small_talk_prevents_no_mistake(text: str) -> None:
    assert told(text) is None


@pytest.mark.parametrize("text", ["Never " + "do this and that thing " * 40, "不要" + "把所有东西都放在这里" * 40])
def test_the_sentence_stays_short_and_on_one_line(text: str) -> None:
    said = told(text)
    assert said is not None
    assert len(said) <= 120
    assert "\n" not in said
