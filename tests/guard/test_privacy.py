from __future__ import annotations

import datetime as dt
import time
from pathlib import Path

import pytest

from nacre.guard.privacy import asks_for_privacy, drop_private, reach
from nacre.model import Message, Speaker

WHO = {"U": Speaker.OWNER, "A": Speaker.AGENT, "O": Speaker.OTHER}
WISHES = Path(__file__).parent / "wishes"  # a line each, as people write them
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
    assert asks_for_privacy(text)


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
    assert not asks_for_privacy(text)


def test_a_message_that_asks_goes_with_its_answer() -> None:
    messages = talk("U: one", "A: ok", "U: off the record, we sell to Brandt", "A: to Brandt, I see", "U: two")
    assert [one.text for one in drop_private(messages)] == ["one", "ok", "two"]


def test_one_that_only_asks_takes_what_was_said_before_it_along() -> None:
    messages = talk("U: one", "U: we sell to Brandt", "A: to Brandt!", "U: don't write that down", "A: fine", "U: two")
    assert [one.text for one in drop_private(messages)] == ["one", "two"]


def test_others_cannot_silence_the_owner() -> None:
    messages = talk("U: the launch is on the 18th", "O: don't remember that", "A: hm")
    assert len(drop_private(messages)) == 3


def test_what_a_message_says_besides_its_wish_does_not_widen_it() -> None:
    messages = talk(
        "U: one",
        "A: ok",
        "U: two",
        "A: fine",
        "U: all of this goes to staging first. And my knee is worse again, don't note that.",
        "A: I see",
    )
    assert [one.text for one in drop_private(messages)] == ["one", "ok", "two", "fine"]


def test_a_wish_about_what_was_just_said_takes_it_along_whatever_it_says_besides() -> None:
    messages = talk(
        "U: one", "A: ok", "U: we sell to Brandt", "A: oh", "U: forget what I just said about the buyer, ok?"
    )
    assert [one.text for one in drop_private(messages)] == ["one", "ok"]
    messages = talk("U: 一", "A: 好", "U: 公司要卖给白家", "A: 哦", "U: 刚才那句关于买家的话你千万不要写进记忆里")
    assert [one.text for one in drop_private(messages)] == ["一", "好"]


def test_a_rule_about_keeping_things_is_kept_with_its_answer() -> None:
    messages = talk(
        "U: Don't keep whole files in memory. We moved to bun.",
        "A: Streaming it is.",
        "U: 不要记录请求体的日志。",
        "A: 好，日志里不再有请求体。",
    )
    assert drop_private(messages) == messages


def examples(name: str) -> list[str]:
    return (WISHES / f"{name}.txt").read_text("utf8").splitlines()


def share_that_asks(texts: list[str]) -> float:
    assert len(texts) >= 60
    return sum(map(asks_for_privacy, texts)) / len(texts)


@pytest.mark.parametrize("text", examples("asked-other"))
def test_a_wish_is_known_by_its_mark_its_politeness_and_in_other_languages(text: str) -> None:
    assert asks_for_privacy(text)


@pytest.mark.parametrize("text", examples("rules-other"))
def test_in_other_languages_too_a_rule_about_things_is_no_wish(text: str) -> None:
    assert not asks_for_privacy(text)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_wish_about_the_talk_or_a_person_s_affairs_is_found(language: str) -> None:
    assert share_that_asks(examples(f"asked-{language}")) >= 0.98


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_rule_about_files_logs_data_and_memory_is_no_wish_for_silence(language: str) -> None:
    assert share_that_asks(examples(f"rules-{language}")) <= 0.01


@pytest.mark.parametrize("text", [*examples("orders-en"), *examples("orders-zh")])
def test_an_order_about_a_person_is_no_wish_for_silence(text: str) -> None:
    assert not asks_for_privacy(text)


@pytest.mark.parametrize(
    "text",
    [
        "I don't remember that.",
        "why didn't you save this?",
        "we never wrote it down",
        "he doesn't record it",
        "if you don't save this, it is gone",
        "Don't forget to log that.",
        "forget it, the other version was better",
        "我不记得这个了",
        "他从来不记。",
        "别忘了保存这个。",
        "你怎么不保存呢？",
        "这张票别按身份证上的记",
    ],
)
def test_telling_and_asking_about_remembering_is_no_wish(text: str) -> None:
    assert not asks_for_privacy(text)


@pytest.mark.parametrize(
    "text", ["don't " * 20_000, "不要" * 50_000, "the " * 50_000 + "never keep it", "别把" + "我" * 100_000]
)
def test_a_huge_text_is_read_in_no_time(text: str) -> None:
    begin = time.process_time()
    asks_for_privacy(text)
    assert time.process_time() - begin < 5


@pytest.mark.parametrize(
    "answer",
    [
        "I won't write that down.",
        "Understood. I will not keep any of this.",
        "Congratulations to her! I'll not note it anywhere.",
        "That stays between us.",
        "好的，这个我不记。",
        "明白，不会写下来。",
        "放心，这事我不会记。",
    ],
)
def test_what_the_agent_promised_not_to_keep_is_not_kept_however_it_was_asked(answer: str) -> None:
    messages = talk("U: one", "A: ok", "U: psst, Kez is expecting", f"A: {answer}", "U: two")
    assert [one.text for one in drop_private(messages)] == ["one", "ok", "two"]


@pytest.mark.parametrize(
    "answer",
    [
        "I won't write that test.",
        "I'll not save it to the repo.",
        "I won't remember your settings file between builds.",
        "我不记得这个配置了。",
        "密码字段在日志里不记录。",
        "好的，健康检查的请求不写进访问日志，端口改成 5433。",
        "好的，缓存命中不记录，只记未命中。",
        "改好了，健康检查的请求不再记录。",
        "Done. Cleaned up. I won't keep it.",
    ],
)
def test_other_refusals_of_the_agent_hide_nothing(answer: str) -> None:
    assert len(drop_private(talk("U: drop the cache option", f"A: {answer}"))) == 2


@pytest.mark.parametrize(
    "text", ["this isn't for your notes ok? Kez is expecting", "that one is not for the log", "strictly not for saving"]
)
def test_what_is_not_for_the_notes_is_asked_for_plainly(text: str) -> None:
    assert asks_for_privacy(text)


def test_nowhere_means_this_message_and_all_of_this_the_earlier_ones() -> None:
    assert reach("她怀上了，没满三个月，先哪儿都别写哈") == (0, 0)
    assert reach("以上都别记")[0] > 1


THEATRE = ("U: I saw a play at the theatre last month", "A: nice", "U: my Visa card ends in four four", "A: ok")
CHINESE_THEATRE = ("U: 我上个月去上海看了场话剧", "A: 真好", "U: 我工行的银行卡在抽屉里", "A: 好")
TOWELS, CHINESE_TOWELS = "towels always go to the laundry on Mill Street", "毛巾一律送山泉洗，不要自己洗"


@pytest.mark.parametrize(
    ("request_", "named"),
    [
        ("that thing about the theatre above, don't keep it", "theatre"),
        ("the bit about the theatre earlier: don't note it", "theatre"),
        ("don't keep that thing about the theatre above", "theatre"),
        ("forget the theatre thing I mentioned earlier", "theatre"),
        ("please don't remember what I told you about the theatre", "theatre"),
        ("no need to keep the card one above", "card"),
        ("the message about my card, don't save that", "card"),
        ("leave the theatre part out of your notes", "theatre"),
        ("上面看话剧那条不用记了", "话剧"),
        ("话剧的事别记了", "话剧"),
        ("看话剧那条忘了吧", "话剧"),
        ("刚才说的银行卡那条不用记了", "银行卡"),
        ("前面关于银行卡的那段别写进记忆", "银行卡"),
    ],
)
def test_a_wish_takes_away_the_message_that_it_names_and_no_other(request_: str, named: str) -> None:
    turns, towels = (THEATRE, TOWELS) if request_.isascii() else (CHINESE_THEATRE, CHINESE_TOWELS)
    messages = talk(*turns, f"U: {towels}", "A: fine", f"U: {request_}", "A: sure")
    first = named in messages[0].text
    assert drop_private(messages) == (messages[2:6] if first else [*messages[:2], *messages[4:6]])


@pytest.mark.parametrize("request_", ["the thing about the boat above, don't keep it", "上面买船那条不用记了"])
def test_a_wish_that_names_nothing_said_before_takes_the_message_before_it(request_: str) -> None:
    messages = talk("U: one", "A: ok", "U: we sell to Brandt", "A: oh", f"U: {request_}")
    assert [message.text for message in drop_private(messages)] == ["one", "ok"]


@pytest.mark.parametrize(
    "request_",
    [
        "don't note that my sister is pregnant",
        "this bit is private: the theatre fired Ben",
        "这个别记啊，我准备带她去看话剧，给她一个惊喜",
        "don't store my home address",
    ],
)
def test_a_wish_about_its_own_matter_reaches_for_no_message_far_above(request_: str) -> None:
    turns = ("U: the home page loads slowly", "A: fixed", *CHINESE_THEATRE[:2], "U: 2 Elm Street it is", "A: ok")
    kept = drop_private(talk(*turns, f"U: {request_}"))
    assert [message.text for message in kept][:4] == [turn[2:].strip() for turn in turns[:4]]


def test_what_is_named_in_most_messages_names_none_of_them() -> None:
    turns = ("U: the theatre opens at six", "A: ok", "U: our theatre club meets on Friday", "A: ok")
    messages = talk(
        *turns,
        "U: the theatre fight with Ben was awful",
        "A: oh",
        "U: the bit about the fight at the theatre, don't keep it",
    )
    assert [message.text for message in drop_private(messages)] == [turn[2:].strip() for turn in turns]
