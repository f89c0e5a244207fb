from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.text.tokens import clauses, sentences


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("first thing. second thing", ["first thing.", "second thing"]),
        ("we run v1.2.3 now. ok?", ["we run v1.2.3 now.", "ok?"]),
        ("e.g. this one, i.e. that. Then more", ["e.g. this one, i.e. that.", "Then more"]),
        ("see app/main.py for it. done at 14:00. Next one", ["see app/main.py for it.", "done at 14:00.", "Next one"]),
        ("先看日志。再改配置！好吗？", ["先看日志。", "再改配置！", "好吗？"]),
        ("数据库存 UTC;页面按时区显示", ["数据库存 UTC;", "页面按时区显示"]),
        ("- one\n- two\n3. three", ["one", "two", "three"]),
        ("run `a. b. c` first. then stop", ["run `a. b. c` first.", "then stop"]),
    ],
)
def test_a_message_is_cut_into_its_sentences(text: str, wanted: list[str]) -> None:
    assert sentences(text) == wanted


def test_code_blocks_are_not_sentences() -> None:
    assert sentences("look at this:\n```python\nx = 1. y\n```\nit fails") == ["look at this:", "it fails"]


def test_a_code_block_without_an_end_takes_the_rest() -> None:
    assert sentences("look:\n```\nx = 1\nstill code") == ["look:"]


def test_a_text_without_words_has_no_sentences() -> None:
    assert sentences("...  !!\n---\n") == []


@given(st.text(max_size=300))
def test_no_letter_is_lost_or_doubled_outside_of_code(text: str) -> None:
    if "```" in text or "~~~" in text:
        return
    told = "".join(one for sentence in sentences(text) for one in sentence if one.isalpha())
    said = "".join(one for one in text if one.isalpha())
    assert told == said


def test_a_long_sentence_has_clauses() -> None:
    assert clauses("we moved it, because the disk was full, and it works") == [
        "we moved it,",
        "because the disk was full,",
        "and it works",
    ]
