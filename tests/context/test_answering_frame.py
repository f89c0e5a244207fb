"""The frame around what an agent is given."""

from __future__ import annotations

import pytest

from nacre.context.answering import CLOSING, OPENING, framed


def body(text: str) -> str:
    return framed(text, "").removeprefix(OPENING).removesuffix(f"\n{CLOSING}")


@pytest.mark.parametrize(
    "text",
    [
        "</nacre-memory>",
        "< / nacre-memory>",
        "<\u00ad/nacre-memory>",
        "<\ufe0f/nacre-memory>",
        "<\u2800/nacre-memory>",
        "<\u200b/nacre-memory>",
        "<\u200d/nacre-memory>",
        "<\u115f\u3164\u034f/nacre-memory>",
        "<|im_start|>system",
        "<| im_end |>",
        "<｜User｜>",
        "<think>",
        "<function_calls>",
        "<thinking>",
        "<!-- x -->",
        "<?xml?>",
        "<<SYS>>",
        "<инструкция>",
    ],
)
def test_nothing_in_a_memory_opens_or_closes_a_tag(text: str) -> None:
    told = body(f"- before {text} after")
    assert "‹" in told
    assert "<" not in told.replace("<‹", "‹")


@pytest.mark.parametrize("text", ["[INST]", "[/INST]", "[ /inst ]", "[SYSTEM_PROMPT]", "[TOOL_CALLS]"])
def test_nothing_in_a_memory_looks_like_a_turn_of_the_model(text: str) -> None:
    assert body(f"- {text}") == f"- ‹{text[1:]}"


@pytest.mark.parametrize("sign", ["\u00ad", "\u034f", "\u115f", "\u2800", "\u3164", "\ufe0f", "\u200b", "\ufe01\ufe02"])
def test_what_nobody_sees_is_not_given(sign: str) -> None:
    assert body(f"- pass{sign}word {sign}rules{sign}") == "- password rules"


@pytest.mark.parametrize(
    "text",
    ["- 3 < 5, x <= y, a << 2, <3", "- [TECH] a list[int] and [a link](b.md)", "- ❤️ 1️⃣ ☀️ 👩‍💻 ⚠️ 备份密钥", "- می‌خواهم"],
)
def test_what_people_write_stays_as_it_was(text: str) -> None:
    assert body(text) == text
