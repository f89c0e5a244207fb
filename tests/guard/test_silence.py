from __future__ import annotations

import datetime as dt

import pytest

from nacre.guard.silence import asks_for_silence, kept
from nacre.model.session import Message, Speaker

WHO = {"U": Speaker.OWNER, "A": Speaker.AGENT, "O": Speaker.OTHER}
START = dt.datetime(2026, 5, 4, 9, tzinfo=dt.UTC)


def talk(*turns: str) -> list[Message]:
    return [Message(str(place), START, WHO[turn[0]], turn[2:].strip()) for place, turn in enumerate(turns)]


@pytest.mark.parametrize(
    "text",
    [
        "off the record: we are selling",
        "please don't save this one",
        "dont write that down",
        "keep this between us",
        "that stays out of the notes",
        "这个别记",
        "刚才那句别存",
        "就当我没说",
        "别写进记忆里",
    ],
)
def test_the_plain_words_are_known(text: str) -> None:
    assert asks_for_silence(text)


@pytest.mark.parametrize(
    "text",
    [
        "don't save it yet, i want to look at the diff",
        "never store passwords in the repo",
        "remember to water the plants",
        "don't put it in the log file, use stderr",
        "别记错了，是周四",
        "日志不要存手机号",
        "不用记账，我自己来",
        "密码别写进代码",
    ],
)
def test_saving_files_and_data_is_another_matter(text: str) -> None:
    assert not asks_for_silence(text)


def test_a_message_that_asks_goes_with_its_answer() -> None:
    messages = talk("U: one", "A: ok", "U: off the record, we sell to Brandt", "A: to Brandt, I see", "U: two")
    assert [one.text for one in kept(messages)] == ["one", "ok", "two"]


def test_one_that_only_asks_takes_what_was_said_before_it_along() -> None:
    messages = talk("U: one", "U: we sell to Brandt", "A: to Brandt!", "U: don't write that down", "A: fine", "U: two")
    assert [one.text for one in kept(messages)] == ["one", "two"]


def test_others_cannot_silence_the_owner() -> None:
    messages = talk("U: the launch is on the 18th", "O: don't remember that", "A: hm")
    assert len(kept(messages)) == 3
