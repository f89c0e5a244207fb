"""A name, an address or a time zone goes into its own field of IDENTITY.md or USER.md."""

from __future__ import annotations

import pytest
from tests.tidy.nights import RULE, Nights, actions

from nacre.tidy.collect import Field, fields_in

IDENTITY = "# IDENTITY.md\n\n- **Name:**\n  _(pick something you like)_\n- **Creature:** a fox\n"
USER = "# USER.md\n\n- **Name:** Ann\n- **What to call them:**\n- **Timezone:** _(optional)_\n- **Notes:** likes tea\n"
USER_CHINESE = "# USER.md\r\n\r\n- **姓名：** 王芳\r\n- **称呼：**\r\n- **时区：** UTC\r\n"


@pytest.mark.parametrize(
    ("said", "file", "value"),
    [
        ("you are called 小明 now", "IDENTITY.md", "小明"),
        ("You are called Pearl now", "IDENTITY.md", "Pearl"),
        ("From now on your name is Pearl", "IDENTITY.md", "Pearl"),
        ("你以后叫小明", "IDENTITY.md", "小明"),
        ("助手改名为小明,以后按这个名字应答", "IDENTITY.md", "小明"),
        ("Please call me 老王", "USER.md", "老王"),
        ("别叫我老王，叫我小王", "USER.md", "小王"),
        ("My name is Anna Kim", "USER.md", "Anna Kim"),
        ("我叫王芳", "USER.md", "王芳"),
        ("My time zone is Europe/Berlin", "USER.md", "Europe/Berlin"),
        ("我的时区是 Asia/Shanghai", "USER.md", "Asia/Shanghai"),
        ("以后都用中文回复", "USER.md", "中文"),
        ("Always reply in German", "USER.md", "German"),
        ("call me des, only the district uses the long form", "USER.md", "des"),
        ("I go by Ruthie btw", "USER.md", "Ruthie"),
        ("别叫我老板，叫老周", "USER.md", "老周"),
        ("you're Juniper from now on", "IDENTITY.md", "Juniper"),
        ("给你起个名字，叫豆包", "IDENTITY.md", "豆包"),
        ("You're going to be called Otis, my sister picked it", "IDENTITY.md", "Otis"),
        ("you're called otis, ok", "IDENTITY.md", "otis"),
        ("你呢，以后就叫阿木", "IDENTITY.md", "阿木"),
        ("Thimble (that's you from now on), hello", "IDENTITY.md", "Thimble"),
    ],
)
def test_a_statement_names_its_field(said: str, file: str, value: str) -> None:
    assert [(field.file, field.value) for field in fields_in(said)] == [(file, value)]


@pytest.mark.parametrize(
    "said",
    [
        "what are you called?",
        "你叫什么名字？",
        "call me when it is done",
        "明天早上叫我起床",
        "The function is called Foo",
        "The agent is called when the job ends",
        "你叫外卖了吗",
        "Reply in German for this one",
        "call me maybe",
        "叫我妈明天过来",
        "you're right",
        "I'll call you Monday",
        "i'll call you sunday.",
        "你叫他过来",
        "你呢，叫上老李一起",
        "你叫小李来一下",
        "我叫了外卖",
        "the agent is called hourly",
        "The agent called Redis and timed out",
        "You'll be called once, when it starts",
        "your name is required.",
    ],
)
def test_what_only_sounds_like_a_name_sets_no_field(said: str) -> None:
    assert not fields_in(said)


def test_both_names_in_one_sentence_are_set() -> None:
    said = fields_in("叫我晓棠就行，你嘛就叫豆花吧")
    assert {(field.file, field.value) for field in said} == {("USER.md", "晓棠"), ("IDENTITY.md", "豆花")}


@pytest.mark.parametrize(
    ("said", "name"),
    [("you are called 小明 now", "小明"), ("你以后叫小明", "小明"), ("You are called Pearl now", "Pearl")],
)
def test_a_new_name_of_the_agent_is_put_into_its_field_and_noted_in_the_days_log(
    nights: Nights, said: str, name: str
) -> None:
    nights.lay("IDENTITY.md", IDENTITY)
    nights.log("2026-03-19", said)
    report = nights.tidy()
    assert actions(report) == [("set", f"Name: {name}")]
    assert nights.text("IDENTITY.md") == f"# IDENTITY.md\n\n- **Name:** {name}\n- **Creature:** a fox\n"
    assert f"IDENTITY.md Name: {name}" in nights.text("memory/2026-03-20.md")
    assert nights.kept() == []
    (told,) = nights.ledger(f"IDENTITY.md Name: {name}")
    assert (told["verdict"], told["field"], told["source"]["day"]) == ("admitted", "Name", "2026-03-19")
    before = nights.files()
    nights.tidy("2026-03-21")
    assert nights.text("IDENTITY.md") == before["IDENTITY.md"].decode()
    nights.tidy("2026-03-22")
    assert nights.text("IDENTITY.md") == before["IDENTITY.md"].decode()


def test_a_new_name_can_be_taken_back(nights: Nights) -> None:
    nights.lay("IDENTITY.md", IDENTITY)
    nights.log("2026-03-19", "you are called 小明 now")
    before = nights.files()
    nights.tidy()
    nights.undo()
    assert nights.files() == before


def test_twice_renamed_is_told_as_one_story(nights: Nights) -> None:
    nights.lay("IDENTITY.md", IDENTITY.replace("- **Name:**\n  _(pick something you like)_", "- **Name:** 阿木"))
    nights.log("2026-03-18", "你以后叫小明")
    nights.log("2026-03-19", "你现在改名叫小红", session="aaaa1111")
    nights.tidy()
    assert "- **Name:** 小红\n" in nights.text("IDENTITY.md")
    noted = [line for line in nights.text("memory/2026-03-20.md").splitlines() if "IDENTITY.md" in line]
    assert len(noted) == 1
    assert noted[0].endswith("IDENTITY.md Name: 阿木 → 小明 → 小红")
    closed = nights.ledger("IDENTITY.md Name: 小明")[-1]
    assert (closed["verdict"], closed["valid_to"]) == ("superseded", "2026-03-19")


def test_renamed_on_two_nights_the_second_tells_the_whole_story(nights: Nights) -> None:
    nights.lay("IDENTITY.md", IDENTITY)
    nights.log("2026-03-18", "You are called Pearl now")
    nights.tidy("2026-03-19")
    nights.log("2026-03-19", "You are called Ruby now", session="aaaa1111")
    nights.tidy()
    assert "- **Name:** Ruby\n" in nights.text("IDENTITY.md")
    assert "IDENTITY.md Name: Pearl → Ruby" in nights.text("memory/2026-03-20.md")


def test_a_name_that_is_said_again_and_then_changed_stays_changed(nights: Nights) -> None:
    nights.lay("IDENTITY.md", IDENTITY)
    nights.log("2026-03-15", "You are called Pearl now")
    nights.tidy("2026-03-16")
    nights.log("2026-03-16", "As I said, your name is Pearl", session="aaaa1111")
    nights.tidy("2026-03-17")
    nights.log("2026-03-17", "You are called Ruby now", session="bbbb1111")
    for day in ("2026-03-18", "2026-03-19", "2026-03-20"):
        nights.tidy(day)
        assert "- **Name:** Ruby\n" in nights.text("IDENTITY.md")


def test_the_owners_fields_are_set_and_every_other_byte_stays(nights: Nights) -> None:
    nights.lay("USER.md", USER)
    nights.log("2026-03-19", "Please call me Annie", "My time zone is Europe/Berlin")
    nights.tidy()
    assert nights.text("USER.md") == USER.replace("call them:**", "call them:** Annie").replace(
        "_(optional)_", "Europe/Berlin"
    )


def test_a_file_in_chinese_with_windows_line_ends_keeps_them(nights: Nights) -> None:
    nights.lay("USER.md", USER_CHINESE)
    nights.log("2026-03-19", "以后叫我老王", "我的时区是 Asia/Shanghai")
    nights.tidy()
    assert nights.text("USER.md") == USER_CHINESE.replace("称呼：**", "称呼：** 老王").replace("UTC", "Asia/Shanghai")


def test_without_the_file_or_the_field_the_statement_is_offered_like_any_other(nights: Nights) -> None:
    nights.log("2026-03-19", "以后叫我老王")
    nights.lay("USER.md", "# USER.md\n\nLikes tea.\n")
    nights.tidy()
    assert nights.text("USER.md") == "# USER.md\n\nLikes tea.\n"
    assert not (nights.root / "IDENTITY.md").exists()
    assert nights.verdicts("以后叫我老王") in (["admitted"], ["refused"])


def test_a_file_that_cannot_be_read_stays_as_it_is_and_does_not_stop_the_night(nights: Nights) -> None:
    nights.lay("IDENTITY.md", b"- **Name:** caf\xe9\n")
    nights.log("2026-03-19", "You are called Pearl now", RULE)
    nights.tidy()
    assert (nights.root / "IDENTITY.md").read_bytes() == b"- **Name:** caf\xe9\n"
    assert RULE in nights.kept()


def test_a_name_given_in_a_group_is_not_the_owners_word(nights: Nights) -> None:
    nights.lay("IDENTITY.md", IDENTITY)
    nights.log("2026-03-19", "You are called Pearl now", stamp=" | group:team")
    nights.tidy()
    assert nights.text("IDENTITY.md") == IDENTITY


def test_a_field_names_all_that_it_may_be_called() -> None:
    assert fields_in("叫我小王")[0] == Field(
        "USER.md", ("What to call them", "Preferred name", "Called", "称呼", "怎么称呼"), "小王"
    )


def test_a_name_is_kept_as_a_memory_where_no_file_has_a_field_for_it(nights: Nights) -> None:
    nights.log("2026-03-19", "call me des, only the district uses the long form")
    nights.tidy()
    assert any("des" in entry for entry in nights.kept())
