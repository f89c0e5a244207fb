"""Which words of a text are its speaker's own."""

from __future__ import annotations

import time

import pytest

from nacre.text.quoting import demands, own_part, own_words, parts, reports

RULE = "Always use the mirror"


@pytest.mark.parametrize(
    "text",
    [
        f"look:\n```\n{RULE}\n```\nwhat now?",
        f"look:\n~~~\n{RULE}\nwhat now?",
        f"> {RULE}\n> and never another\nwhat now?",
        f"what now?\n<note>\n{RULE}\n</note>",
        f"what now?\n\n    {RULE}\n    and never another",
        f"what now?\n| a | {RULE} |\n|---|---|",
        f"what now?\n\nFrom: a@b.example\nSubject: mirror\n\n{RULE}. Never another.",
        f"what now?\n\nHi all,\n\n{RULE}. Never another.",
        f"can you translate this? what now?\n\n{RULE}, please, everywhere.",
        f"here is the mail I got, what now?\n\n{RULE}. Never another.\n\nAlways.",
        f"what now?\n[10:02] Gil: {RULE}\n[10:03] Ada: agreed",
        f"它说什么？what now?\n\n转发：\n{RULE}。以后一律如此。",
    ],
)
def test_what_is_set_apart_or_announced_is_quoted_and_the_rest_is_not(text: str) -> None:
    assert RULE not in own_words(text)
    assert "what now?" in own_words(text) or text.endswith("~~~\n" + RULE + "\nwhat now?")  # a fence that never ends


def test_the_parts_of_a_message_are_all_of_its_lines_in_order() -> None:
    text = "first\n> second\nthird"
    assert [tuple(part) for part in parts(text)] == [("first", False), ("> second", True), ("third", False)]


@pytest.mark.parametrize(
    "text",
    [
        "some rules:\n- always squash\n- never rebase",
        "Backend: we always use Go\nFrontend: we never use jQuery\nDatabase: Postgres only",
        "Commit messages:\n- always in English\n- never longer than 72 characters",
        "Decision: we use Postgres everywhere.\nDecision: MySQL is never used again.",
        "does this work now?\n\nfrom now on run the tests before you push.",
        "is she back on Monday?\n\nFrom now on all invoices go to Marta. Never to me.",
        "Hi,\n\nwe always use pnpm here, never npm.\n\nThanks",
        "we found a bug in the log output\nfrom now on every change needs a test",
        "请看日志：一律写到 ClickHouse，不要写到文件。",
        "邮件一律用中文写，日志统一写到 ClickHouse。",
    ],
)
def test_what_the_owner_lists_labels_or_adds_stays_the_owner_s(text: str) -> None:
    assert own_words(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "Please always write prices as integer cents, never floats.",
        "Always write tests for new endpoints",
        "Please write the changelog in English.",
        "From now on state the units",
    ],
)
def test_what_somebody_is_asked_to_write_is_no_report(text: str) -> None:
    assert own_part(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "The README says to always use npm",
        "according to the wiki we must never restart it",
        "Bert says that we should always use the tool",
        "the guide recommends tabs",
        "ticket #12 from a customer: I never want mail",
        '"We always deploy at night." is what he likes to say',
        "文档里说一律用官方源",
        "据运维说，不能重启",
        "“我们一律夜间发布，从来不写测试。”",
    ],
)
def test_what_others_or_texts_say_is_a_report_and_nobody_s_own_word(text: str) -> None:
    assert reports(text)
    assert own_part(text) == ""


@pytest.mark.parametrize(
    "text",
    [
        'use "pnpm", never "npm"',
        "as I said, dates are always ISO dates",
        "we said that everybody works on trunk",
        "commit messages are written in English",
        "support mails are answered within a day",
        "every review requires two approvals",
        'when you are unsure, always answer "I do not know enough about this"',
        "Emails: always formal",
        "我说一下，以后一律用表格",
        "部署说明必须写在 docs 里",
        "回复里永远不要加表情",
        "always leave the VAT off, the theatre claims it back",
        "Nadia writes the call sheet, nobody else touches it",
        "Folk call me Ferg, only the taxman says Fergus",
        "Backups go to the other box, the insurance wants that since the burst pipe claim",
    ],
)
def test_the_speaker_s_own_rule_is_no_report(text: str) -> None:
    assert own_part(text) == text


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("the README says pip, but we use uv, never pip", "we use uv, never pip"),
        ("文档里说用官方源，但是我们一律用国内镜像", "我们一律用国内镜像"),
        ("the README says npm, but never yarn", ""),
        ("leave the VAT off my quotes, Gerard says he does that part", "leave the VAT off my quotes"),
        ("never npm, the README says", ""),
    ],
)
def test_of_a_report_that_turns_to_the_speaker_the_rest_is_own(text: str, own: str) -> None:
    assert own_part(text) == own


def test_a_finding_demands_nothing_and_a_rule_does() -> None:
    assert not demands("The export ran out of disk at 02:30 and was restarted")
    assert demands("Never restart it by hand")
    assert demands("以后一律走代理")


@pytest.mark.parametrize(
    "unit",
    [
        "<a>",
        "<!--",
        "```",
        "> ",
        "a: ",
        "说：",
        '"',
        "“",
        "it says: ",
        "From: x\n",
        "(",
        "这封邮件",
        "a;\n",
        "key:\n  - a\n",
        "the page ",
    ],
)
def test_time_grows_with_the_length_of_hostile_text_and_no_faster(unit: str) -> None:
    def spent(size: int) -> float:
        text = unit * (size // len(unit))
        start = time.process_time()
        own_words(text)
        for line in text.splitlines()[:50]:
            own_part(line)
        return time.process_time() - start

    spent(1_000)
    small, large = max(spent(5_000), 0.002), spent(40_000)
    assert large < 40 * small


def test_a_short_message_that_greets_and_signs_is_the_owner_s_own() -> None:
    assert "tabs" in own_words("Hi,\nplease always use tabs in this repo.\nThanks\nJun")
