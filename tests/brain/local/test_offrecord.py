"""What a talk may not tell, and what only sounds as if: with the classifiers that need no model."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from nacre.brain.local.classifier import HEADS
from nacre.brain.local.dialogue import off_record, sentences_of, without_off_record
from nacre.brain.local.extract import extract
from nacre.brain.local.judge import Judge, Judged
from nacre.model import Message, Speaker

START = dt.datetime(2026, 5, 4, 9, tzinfo=dt.UTC)
WISHES = Path(__file__).parents[2] / "guard" / "wishes"
NEWS = {
    "en": (" We moved to bun, npm is gone for good.", "Noted, bun it is from now on."),
    "zh": ("我们换成了 bun，npm 不用了。", "好的，以后用 bun。"),
}


@pytest.fixture(scope="module")
def judge() -> Judge:
    return Judge(None)


def talk(text: str, answer: str) -> list[Message]:
    return [Message("0", START, Speaker.OWNER, text), Message("1", START, Speaker.AGENT, answer)]


def hidden_of(texts: list[str], language: str, judge: Judge) -> list[tuple[int, int]]:
    """For each text, told together with news and its answer: how many sentences are hidden, of how many."""
    found = []
    more, answer = NEWS[language]
    for text in texts:
        sentences = sentences_of(talk(text + more, answer))
        found.append((len(off_record(sentences, judge.read([one.text for one in sentences]))), len(sentences)))
    return found


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_wish_for_silence_hides_its_message_and_the_answer(judge: Judge, language: str) -> None:
    texts = (WISHES / f"asked-{language}.txt").read_text("utf8").splitlines()
    found = hidden_of(texts, language, judge)
    assert sum(gone == every for gone, every in found) / len(found) >= 0.95


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_rule_about_keeping_things_hides_nothing(judge: Judge, language: str) -> None:
    texts = (WISHES / f"rules-{language}.txt").read_text("utf8").splitlines()
    found = hidden_of(texts, language, judge)
    assert sum(gone == 0 for gone, _ in found) / len(found) >= 0.97


@pytest.mark.parametrize(
    "text",
    [
        "Don't keep whole files in memory. We moved to bun, npm is gone for good.",
        "Never raise the memory limit of the export worker. We moved to bun, npm is gone for good.",
        "The service must not hold the index in memory. We moved to bun, npm is gone for good.",
        "不要记录请求体的日志。我们换成了 bun，npm 不用了。",
        "不要保存临时文件。我们换成了 bun，npm 不用了。",
        "登录页不要默认勾选记住我。我们换成了 bun，npm 不用了。",
    ],
)
def test_what_is_said_beside_such_a_rule_is_told(judge: Judge, text: str) -> None:
    told = "\n".join(bullet.text for bullet in extract(talk(text, "ok"), judge))
    assert "bun" in told


def test_of_what_else_a_message_says_nothing_is_hidden(judge: Judge) -> None:
    said = talk("Please keep this off the record: my knee hurts.", "Understood.")
    news = Message("2", START, Speaker.OWNER, "We moved to bun, npm is gone for good.")
    assert without_off_record([*said, news], judge) == [news]


@pytest.mark.parametrize(
    ("private", "rule", "wish"),
    [
        (
            "I saw a play at the theatre last month.",
            "Towels always go to the laundry on Mill Street.",
            "that thing about the theatre above, don't keep it",
        ),
        ("我上个月去上海看了场话剧。", "毛巾一律送山泉洗，不要自己洗。", "上面看话剧那条不用记了"),
    ],
)
def test_a_wish_hides_the_message_that_it_names_and_not_the_one_before_it(
    judge: Judge, private: str, rule: str, wish: str
) -> None:
    said = [*talk(private, "Nice."), *talk(rule, "Fine."), *talk(wish, "Sure.")]
    messages = [Message(str(number), START, one.speaker, one.text) for number, one in enumerate(said)]
    assert [message.text for message in without_off_record(messages, judge)] == [rule, "Fine."]


@pytest.mark.parametrize(
    ("felt", "answer", "is_hidden"),
    [
        (0.5, "I will not remember that.", True),
        (0.5, "Understood, the kiln is off.", False),
        (0.9, "Understood, the kiln is off.", True),
    ],
)
def test_what_only_sounds_private_is_hidden_where_the_agent_promises_silence(
    felt: float, answer: str, is_hidden: bool
) -> None:
    class Feeling(Judge):
        def read(self, texts: Sequence[str], before: Sequence[str] | None = None) -> list[Judged]:
            place = HEADS["act"].index("offrecord")
            made = super().read(texts, before)
            for one in made:
                one.odds["act"][place] = felt if "lump" in one.text else 0.0
            return [replace(one) for one in made]

    said = talk("I found a lump on my neck.", answer)
    news = Message("2", START, Speaker.OWNER, "We moved to bun, npm is gone for good.")
    told = without_off_record([*said, news], Feeling(None))
    assert told == ([news] if is_hidden else [*said, news])
