"""The words that questions and texts are about."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.text.keywords import tags, weighed


def key_words(text: str, most: int = 5) -> list[str]:
    return [word.text for word in weighed(text, most)]


@pytest.mark.parametrize(
    ("question", "words"),
    [
        (
            "Did we talk about the retry policy of the payment service last week?",
            {"retry", "policy", "payment", "service"},
        ),
        ("what did Ingrid say about the warehouse integration?", {"Ingrid", "warehouse", "integration"}),
        ("Could you please tell me where the spare key is?", {"spare", "key"}),
        ("PostgreSQL or MySQL?", {"PostgreSQL", "MySQL"}),
        ("我们上次是不是讨论过支付接口的重试策略", {"支付接口", "重试策略"}),
        ("支付接口重试策略的结论是什么", {"支付接口", "重试策略"}),
        ("数据库迁移方案定了没", {"数据库", "迁移方案"}),
        ("请问会议纪要放在哪里", {"会议纪要"}),
        ("小明的生日是哪天", {"小明", "生日"}),
        ("帮我找一下打印机的 IP 地址", {"打印机", "IP", "地址"}),
        ("我们用 PostgreSQL 还是 MySQL", {"PostgreSQL", "MySQL"}),
        ("窗帘有什么规定", {"窗帘", "规定"}),
        ("孩子对哪种花粉过敏", {"孩子", "花粉过敏"}),
        ("谁去取快递", {"快递"}),
        ("谁来写季度总结", {"季度总结"}),
        ("老板对方案有什么意见", {"老板", "方案"}),
        ("健身房一节课多少钱", {"健身房", "一节课"}),
        ("哑铃从多少公斤开始", {"哑铃", "开始"}),
        ("新来的实习生叫什么名字", {"新来", "实习生"}),
        ("订单库切换定在几号", {"订单库", "切换"}),
        ("what must I hand in before May 20?", {"May 20", "hand"}),
        ("how much is paid for a stand-by week?", {"stand-by", "paid"}),
    ],
)
def test_a_question_comes_down_to_what_it_is_about(question: str, words: set[str]) -> None:
    assert set(key_words(question)) == words


def test_quoted_words_come_first_then_names_code_and_numbers() -> None:
    found = key_words('why did the importer drop "blue door" rows from parse_header in v2.3.1')
    assert found[0] == "blue door"
    assert set(found[1:3]) == {"parse_header", "v2.3.1"}
    assert key_words("订单超时的“蓝色大门”在 3月15日 是什么情况")[:2] == ["蓝色大门", "3月15日"]


def test_a_name_weighs_more_than_a_word_and_an_everyday_word_less() -> None:
    weights = {one.text: one.weight for one in weighed("did Oliver change the roof")}
    assert weights["Oliver"] > weights["roof"] > weights["change"]


@pytest.mark.parametrize("question", ["what did we do?", "我们上次说了什么", "", "？！…", "please, could you"])
def test_a_question_of_asking_alone_has_no_core(question: str) -> None:
    assert key_words(question) == []


def test_what_every_question_asks_for_counts_only_where_nothing_better_is_said() -> None:
    assert "decision" not in key_words("the decision about pricing and discounts")
    assert key_words("the decision on pricing") == ["pricing", "decision"]
    assert key_words("定价的结论") == ["定价", "结论"]


def test_a_word_of_one_character_counts_where_nothing_longer_is_said() -> None:
    assert "猫" in key_words("我家的猫叫什么")
    assert key_words("猫粮在哪里") == ["猫粮"]


def test_a_little_word_does_not_tear_the_word_that_holds_it() -> None:
    assert "目的地" in key_words("我们的目的地在哪里")
    assert key_words("域名证书到期了吗") == ["域名证书", "到期"]
    assert "成都" in key_words("在成都租的房子")


def test_no_more_words_than_wanted() -> None:
    question = "compare the Oslo, Bergen, Tromsø, Stavanger, Trondheim and Drammen offices"
    assert len(key_words(question)) == 5
    assert len(key_words(question, 2)) == 2


def test_the_same_word_in_another_form_is_one_word() -> None:
    assert len(key_words("batches, batch, BATCHES")) == 1


@given(st.text(max_size=300))
def test_any_text_has_at_most_five_words_that_stand_in_it(text: str) -> None:
    assert len(key_words(text)) <= 5


def test_tags_are_what_comes_again_headings_first_in_lower_case() -> None:
    text = (
        "# Kubernetes migration\n\n" + "We moved the ingress. The ingress needs certificates. Certificates renew.\n" * 3
    )
    assert set(tags(text, 4)) == {"kubernetes", "migration", "ingress", "certificates"}


def test_chinese_tags_are_words_and_not_halves_of_sentences() -> None:
    text = "# 支付接口\n\n" + "支付接口要重试。重试策略是指数退避，重试策略已经写进文档。\n" * 3
    found = tags(text, 5)
    assert set(found[:2]) == {"支付接口", "重试策略"}
    assert all(len(word) <= 8 for word in found)


def test_a_piece_of_a_longer_word_is_no_tag() -> None:
    text = "# 周末\n\n去来福士吃饭。来福士的停车费太贵，来福士旁边有地铁。我家天花板掉皮了，订了三家公司来看。\n"
    assert not {"福士", "家天花板", "三家"} & set(tags(text, 8))


def test_common_words_are_no_tags() -> None:
    assert tags("We use it and make it work, they said it would be good to go.", 6) == []


def test_an_address_is_no_tag() -> None:
    assert tags("The endpoint lives at https://pay.example.org/v2, the endpoint of 2026.", 6) == ["endpoint", "lives"]
