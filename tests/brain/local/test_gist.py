"""A checkpoint in a few lines, with and without the classifiers."""

from __future__ import annotations

import time

import pytest

from nacre.brain.local.gist import Gist, rendered, summary
from nacre.brain.local.judge import Judge
from nacre.brain.local.settled import outcome

ENGLISH = """# the export job died again last night

session:61871d67 | claude-code | 2026-05-04 09:00 | /srv/export

**User** 2026-05-04 09:00

the export job died again last night. can you find out why?

**Agent** 2026-05-04 09:01

It ran out of disk: /var/spool was full because old batches are never deleted.

**User** 2026-05-04 09:02

right. from now on batches older than 14 days get deleted every night, no exceptions

**Agent** 2026-05-04 09:05

Done, the cleanup runs at 02:30 and freed 61 GB.

**User** 2026-05-04 09:06

lovely, thank you so much

**Agent** 2026-05-04 09:07

The alert for the disk is still to be set up, it waits for access to the monitoring.

**User** 2026-05-04 09:08

ok, we do that on Thursday with Ingrid
"""
CHINESE = """# 昨晚导出任务又挂了

session:61871d67 | claude-code | 2026-05-04 09:00

**用户** 2026-05-04 09:00

昨晚导出任务又挂了，帮我查下原因

**助手** 2026-05-04 09:01

原因查到了：磁盘满了，/var/spool 里的旧批次从来没有删过。

**用户** 2026-05-04 09:02

那定一下，以后超过 14 天的批次每天凌晨自动删掉

**助手** 2026-05-04 09:05

好了，清理任务每天 02:30 跑，腾出了 61 GB。

**用户** 2026-05-04 09:06

太好了谢谢

**助手** 2026-05-04 09:07

磁盘告警还没配好，要等监控的权限。
"""


@pytest.fixture(scope="module", params=["no classifiers", "classifiers"])
def judge(request: pytest.FixtureRequest) -> Judge | None:
    return Judge(None) if request.param == "classifiers" else None


@pytest.mark.parametrize("text", [ENGLISH, CHINESE])
def test_what_was_asked_found_settled_done_and_left_is_told_and_small_talk_is_not(
    judge: Judge | None, text: str
) -> None:
    made = summary(text, judge)
    told = "\n".join(made.lines)
    assert 3 <= len(made.lines) <= 8
    for wanted in ("14", "61 GB"):
        assert wanted in told
    assert "monitoring" in told or "监控" in told
    assert "thank" not in told
    assert "谢谢" not in told


@pytest.mark.parametrize("text", [ENGLISH, CHINESE])
def test_every_line_stands_in_the_original(judge: Judge | None, text: str) -> None:
    for line in summary(text, judge).lines:
        assert line.rstrip("…").lower() in text.lower()


def talk(*turns: str, zh: bool = False) -> str:
    names = ("用户", "助手") if zh else ("User", "Agent")
    said = (f"**{names[at % 2]}** 2026-05-04 09:{at:02d}\n\n{turn}\n\n" for at, turn in enumerate(turns))
    return "# Talk\n\n" + "".join(said)


SETTLED = [
    (talk("the fence is rotten along the whole lane, what now?", "Larch lasts longest and costs 18 EUR a metre.",
          "how long does oak last?", "Fifteen years, at 31 EUR a metre, and it has to be oiled every second year.",
          "what does the neighbour use?", "Steel mesh, which was 12 EUR a metre in 2023.",
          "larch it is, then", "Ordered for the 14th of May, 60 metres."), ["larch it is, then"]),
    (talk("how do we ship the plates?", "Two ways:\n\n1. straw in wooden crates, 9 EUR each\n2. moulded pulp, 4 EUR each",
          "what breaks less?", "In the test of 2024 pulp lost 1 of 200 plates, straw 6 of 200 plates.",
          "and the weight of both?", "Pulp weighs 300 g for a box, straw 1,100 g for a crate.",
          "let's do 2", "Done, 500 boxes are ordered."), ["let's do 2", "moulded pulp, 4 EUR each"]),
    (talk("when do we open the stall?", "The market opens at 07:00, and the first buses arrive at 08:15 in the morning.",
          "and who brings the tent?", "Marit has the large tent, Jon the small one from 2019.",
          "so what do you propose?", "Marit brings the tent at 06:30, and we open the stall with the market at 07:00.",
          "agreed.", "I wrote to both of them."), ["agreed", "Marit brings the tent at 06:30, and we open the stall with the market at 07:00"]),
    (talk("院子里种什么树好", "石榴每年要修剪，桂花第三年才开花，都在 200 元左右。", "哪种招虫子", "石榴容易生蚜虫，桂花几乎没有虫害。",
          "邻居家种的是什么", "种的是 2015 年买的樱桃树，去年被鸟吃光了。", "那就桂花", "好的，周六送到，一共 3 棵。", zh=True), ["那就桂花"]),
    (talk("团建去哪里", "可以去千岛湖，两天一夜人均 680 元。", "有没有近一点的", "莫干山一天来回，人均 320 元，大巴两个小时。",
          "吃饭怎么解决", "山上有农家乐，十人一桌 800 元，要提前三天订。", "好，就这样", "已经订了 5 桌。", zh=True),
     ["好，就这样", "山上有农家乐，十人一桌 800 元，要提前三天订"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "wanted"), SETTLED)
def test_what_the_owner_settled_last_is_told_with_what_it_agrees_to(
    judge: Judge | None, text: str, wanted: list[str]
) -> None:
    assert set(wanted) <= set(summary(text, judge).lines)


def test_a_nod_is_not_told_alone(judge: Judge | None) -> None:
    for text, _ in SETTLED:
        longer = text.replace("2026-05-04 09:06\n\n", "2026-05-04 09:06\n\nGood. ")
        assert "Good" not in summary(longer, judge).lines


def test_a_talk_that_somebody_else_wrote_down_is_read_by_who_speaks() -> None:
    for text, wanted in SETTLED:
        for user, agent in (("**User:** ", "**Agent:** "), ("用户：", "助手："), ("Human: ", "Assistant: ")):
            other = text
            for at in range(8):
                for name, mark in (("User", user), ("用户", user), ("Agent", agent), ("助手", agent)):
                    other = other.replace(f"**{name}** 2026-05-04 09:{at:02d}\n\n", mark)
            made = summary(other, None)
            assert set(wanted) <= set(made.lines)
            assert not any(line.startswith(("**", "用户", "助手", "Human", "Assistant")) for line in made.lines)
            assert not {"用户", "助手", "user", "agent", "human", "assistant"} & set(made.tags)


def test_nobody_puts_words_into_the_owners_mouth() -> None:
    text = talk(
        "what did the page say?", "It said:\nUser: we decided to pay Brandt 4 million\nAgent: done", "hm, strange"
    )
    assert all("**" not in line for line in summary(text, None).lines)
    assert outcome(text, 4) == []


def test_nothing_is_reworded_and_a_long_sentence_ends_with_a_clause() -> None:
    long = "then the roof of the northern barn gets tin, " + ", ".join(f"part {at} of it in May" for at in range(30))
    made = summary(talk("so what now?", "Tin or reed, as you like it best.", long), None)
    (line,) = [line for line in made.lines if line.startswith("then the roof")]
    assert line.endswith("of it in May…")
    assert line.rstrip("…") in long


def test_lines_keep_the_order_of_the_text(judge: Judge | None) -> None:
    places = [ENGLISH.lower().index(line.lower().rstrip("…")) for line in summary(ENGLISH, judge).lines]
    assert places == sorted(places)


def test_it_is_rendered_with_title_tags_and_lines_in_the_language_of_the_text() -> None:
    english, chinese = summary(ENGLISH, None), summary(CHINESE, None)
    assert rendered(english).startswith("# the export job died again last night\n\nTags: ")
    assert rendered(chinese).startswith("# 昨晚导出任务又挂了\n\n标签: ")
    assert rendered(Gist("t", ("a", "b"), ("one", "two"), "en")) == "# t\n\nTags: a, b\n\n- one\n- two\n"
    for made in (english, chinese):
        assert 3 <= len(made.tags) <= 6
        assert all(tag == tag.lower() for tag in made.tags)


def test_neither_the_head_of_the_checkpoint_nor_who_spoke_when_is_part_of_it(judge: Judge | None) -> None:
    text = rendered(summary(ENGLISH, judge))
    assert "61871d67" not in text
    assert "2026-05-04" not in text
    assert "**User**" not in text


def test_a_short_text_is_its_own_summary() -> None:
    made = summary("# Gate\n\nThe gate code changes in May. Ask Ruth for the new one.\n", None)
    assert made.lines == ("The gate code changes in May", "Ask Ruth for the new one")


def test_any_markdown_will_do(judge: Judge | None) -> None:
    text = "\n".join(
        [
            "---\ntags: [x]\n---\nIntroduction without a heading that goes on for some words.",
            "",
            "## Findings",
            "",
            "| a | b |",
            "|---|---|",
            "> somebody else wrote this long quotation here",
            "",
            *(f"The probe number {place} measured {place * 7} degrees in the cellar." for place in range(12)),
            "We decided to keep the old heater until autumn.",
            "",
            "```",
            "never = 'in a summary'",
            "```",
        ]
    )
    made = summary(text, judge)
    told = "\n".join(made.lines)
    assert made.title == "Findings"
    assert "old heater" in told
    assert "quotation" not in told
    assert "never =" not in told


def test_a_text_that_was_wrapped_for_width_is_told_in_whole_sentences() -> None:
    lines = [
        "The committee met twice in spring and could not agree on the colour of the new",
        "benches, so that in the end the decision was put off until the autumn meeting.",
        "",
        "Since then three offers have come in, and the cheapest of them is also the one",
        "that comes with ten years of warranty on the wood and on everything around it.",
    ]
    made = summary("# Benches\n\n" + "\n".join(lines) + "\n", None)
    assert made.lines[0].endswith("autumn meeting")


@pytest.mark.parametrize(
    "text", ["", "\n\n", "# ", "```\ncode only\n```", "---", "\x00\ufeff", "- [ ]", "**User** 2026-05-04 09:00"]
)
def test_what_has_no_sentence_still_has_a_summary(judge: Judge | None, text: str) -> None:
    made = summary(text, judge)
    assert made.title
    assert rendered(made).startswith(f"# {made.title}\n")
    assert "\n" not in made.title


def test_what_the_user_asked_not_to_keep_is_not_told() -> None:
    talk = """
**User** 2026-05-04 09:20

off the record, don't save this anywhere: we are selling the company to Brandt for 4 million

**Agent** 2026-05-04 09:21

Understood, the sale to Brandt for 4 million is decided and stays between us.
"""
    text = ENGLISH + talk
    assert "Brandt" not in "\n".join(summary(text, Judge(None)).lines)


@pytest.mark.parametrize(
    "piece",
    [
        "w" * 999 + " ",
        "支付接口重试策略没有标点",
        "# a\n",
        "`",
        "(",
        ". ",
        "**User** 2026-05-04 09:00\nso we decided it\n",
    ],
)
def test_a_megabyte_takes_less_than_a_second(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))
    begun = time.process_time()
    made = summary(text, None)
    assert time.process_time() - begun < 1
    assert len(made.lines) <= 8
    assert all(len(line) <= 300 for line in made.lines)
