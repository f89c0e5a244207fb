"""Recall by layer, on real files."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.search.conftest import lay_out

from nacre.errors import BadInput
from nacre.i18n import use_language
from nacre.memory import Memory
from nacre.search.layered import LONGEST_PASSAGES, RecallReport
from nacre.vault.entries import entry_id

NOW = "2026-05-20T12:00:00+00:00"
RETRIES = (
    "# Payment retries\n\n**User** 2026-05-04 09:00\n\nthe payment endpoint times out now and then\n\n"
    "**Agent** 2026-05-04 09:01\n\nExponential backoff with jitter, at most five attempts.\n\n"
    "**User** 2026-05-04 09:02\n\ngood, that is the retry policy then\n"
)
CHINESE_RETRIES = (
    "# 支付接口的重试\n\n**用户** 2026-05-04 09:00\n\n支付接口偶尔超时，重试策略怎么定？\n\n"
    "**助手** 2026-05-04 09:01\n\n指数退避，最多五次，加随机抖动。\n"
)
OTHERS = {
    "memory_fs/{layer}/2026-05-01-0900-trip.md": "# Trip to Lisbon\n\nThe hotel is in Alfama, from June 3 to June 9.\n",
    "memory_fs/{layer}/2026-05-02-0900-piano.md": "# 钢琴课\n\n女儿的钢琴老师是李娜，每周二下午五点。\n",
    "memory_fs/{layer}/2026-05-03-0900-bill.md": "# Electricity\n\nThe payment of the electricity bill is due in July.\n",
}
QUESTION = "what was our retry policy for payments?"
CHINESE_QUESTION = "我们上次是不是讨论过支付接口的重试策略"


def memory_with(root: Path, files: dict[str, str]) -> Memory:
    lay_out(root, files)
    (root / "memory").mkdir(exist_ok=True)
    return Memory.open(root, now=NOW)


def beside(layer: str) -> dict[str, str]:
    return {name.format(layer=layer): text for name, text in OTHERS.items()}


def names(report: RecallReport) -> list[str]:
    return [Path(one.was).name for one in report.found]


@pytest.mark.parametrize("layer", ["hot", "warm", "gist", "forgotten"])
@pytest.mark.parametrize(("question", "text"), [(QUESTION, RETRIES), (CHINESE_QUESTION, CHINESE_RETRIES)])
def test_each_layer_answers_in_both_languages(tmp_path: Path, layer: str, question: str, text: str) -> None:
    memory = memory_with(tmp_path, {**beside(layer), f"memory_fs/{layer}/2026-05-04-0900-pay.md": text})
    report = memory.recall(question, dry_run=True)
    assert (report.layer, names(report)) == (layer, ["2026-05-04-0900-pay.md"])
    assert report.found[0].title in ("Payment retries", "支付接口的重试")


def test_confidence_falls_from_layer_to_layer_and_is_a_word_in_both_languages(tmp_path: Path) -> None:
    found = []
    for layer in ("hot", "warm", "gist", "forgotten"):
        memory = memory_with(tmp_path / layer, {f"memory_fs/{layer}/pay.md": RETRIES})
        found.append(memory.recall(QUESTION, dry_run=True).found[0])
    assert [one.certainty for one in found] == ["high", "high", "medium", "very low"]
    assert sorted((one.confidence for one in found), reverse=True) == [one.confidence for one in found]
    use_language("zh")
    assert [one.certainty for one in found] == ["高", "高", "中", "极低"]


def test_the_first_layer_that_answers_is_the_last_that_is_looked_at(tmp_path: Path) -> None:
    files = {f"memory_fs/{layer}/pay-{layer}.md": RETRIES for layer in ("warm", "forgotten")}
    report = memory_with(tmp_path, files).recall(QUESTION, dry_run=True)
    assert (report.layer, names(report)) == ("warm", ["pay-warm.md"])


def test_a_single_everyday_word_out_of_several_does_not_answer(tmp_path: Path) -> None:
    report = memory_with(tmp_path, beside("hot")).recall(QUESTION, dry_run=True)
    assert report.found == ()
    assert memory_with(tmp_path, {}).recall("数据库备份的钢琴放在哪里", dry_run=True).found == ()


def test_words_far_apart_in_a_long_text_do_not_answer(tmp_path: Path) -> None:
    text = "# Log\n\nretry\n" + "nothing of note\n" * 200 + "policy\n" + "nothing of note\n" * 200 + "payments\n"
    report = memory_with(tmp_path, {"memory_fs/hot/log.md": text}).recall(QUESTION, dry_run=True)
    assert report.found == ()


def test_a_name_that_stands_everywhere_tells_nothing(tmp_path: Path) -> None:
    files = {f"memory_fs/hot/day-{day}.md": f"# Talk {day}\n\nMelanie spoke about item {day}.\n" for day in range(10)}
    files["memory_fs/warm/hike.md"] = "# Hike\n\nMelanie went on a hike to the glacier.\n"
    report = memory_with(tmp_path, files).recall("when did Melanie hike to the glacier?", dry_run=True)
    assert (report.layer, names(report)) == ("warm", ["hike.md"])


HARBOUR = (
    "# Berth for the boat\n\n**User:** Which berth do we rent in the harbour?\n\n**Agent:** Berth 14 or 22 are free.\n\n"
    "**User:** Then 22, Mr. Oduya keeps the keys.\n"
)
PASSING = "# Saturday\n\n**User:** For the weekend: buy bread, look at the berth of the boat in the harbour, call mum\n"


@pytest.mark.parametrize("layer", ["warm", "gist", "forgotten"])
@pytest.mark.parametrize(
    ("question", "passing", "real"),
    [
        ("which berth of the boat in the harbour did we rent?", PASSING, HARBOUR),
        ("which berth in the harbour?", PASSING, HARBOUR),
        (
            "阳台漏水找谁修",
            "# 周末\n\n**用户：** 买菜，问下阳台漏水的事，给爸打电话\n",
            "# 阳台漏水\n\n**用户：** 阳台漏水找谁修？\n\n**助手：** 老郑，八百块。\n",
        ),
    ],
)
def test_a_passing_mention_in_hot_does_not_hide_the_talk_about_it(
    tmp_path: Path, layer: str, question: str, passing: str, real: str
) -> None:
    files = {"memory_fs/hot/2026-05-20-weekend.md": passing, f"memory_fs/{layer}/2026-04-01-talk.md": real}
    memory = memory_with(tmp_path, files)
    report = memory.recall(question, dry_run=True)
    assert (report.layer, names(report)) == (layer, ["2026-04-01-talk.md"])
    (tmp_path / f"memory_fs/{layer}/2026-04-01-talk.md").unlink()
    assert memory.recall(question, dry_run=True).layer == "hot"  # better than nothing


def test_a_young_sentence_that_states_something_is_no_passing_mention(tmp_path: Path) -> None:
    young = "# Saturday\n\n**User:** by the way, the berth of the boat in the harbour is number 31 from now on\n"
    files = {"memory_fs/hot/young.md": young, "memory_fs/warm/old.md": HARBOUR}
    report = memory_with(tmp_path, files).recall("which berth of the boat in the harbour?", dry_run=True)
    assert (report.layer, names(report)) == ("hot", ["young.md"])


def test_a_deeper_layer_that_covers_clearly_more_answers_instead(tmp_path: Path) -> None:
    partly = "# Payment of the rent\n\nThe retry of the payment to the landlord worked.\n"
    files = {"memory_fs/hot/rent.md": partly, "memory_fs/forgotten/pay.md": RETRIES}
    question = "retry policy for payments: exponential backoff with jitter?"
    assert memory_with(tmp_path, files).recall(question, dry_run=True).layer == "forgotten"


def test_confidence_tells_how_much_of_the_question_is_covered(tmp_path: Path) -> None:
    memory = memory_with(tmp_path, {"memory_fs/hot/pay.md": RETRIES})
    whole = memory.recall("retry policy for payments", dry_run=True).found[0]
    partly = memory.recall("retry policy for payments in the Lisbon warehouse of the bakery", dry_run=True).found
    assert whole.confidence == 0.95
    assert all(one.confidence < 0.7 and one.certainty == "high" for one in partly)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("妈妈生日在哪里吃饭", "# 安排\n\n妈妈的生日订在得月楼，六点。\n"),
        ("妈妈对什么过敏", "# 安排\n\n妈妈不吃辣，她对虾过敏。\n"),
        ("仓库盘点谁负责", "# 十二月\n\n盘点仓库的事交给老吴，二十号开始。\n"),
        ("how much is paid for a stand-by week?", "# New stand-by plan\n\n**User:** 250 EUR for each week\n"),
        ("what about the check-in of the guests?", "# Guests\n\nThe guests check in from 15:00.\n"),
        ("what must I send before May 20?", "# Grant\n\nBudget to send in before 20 May.\n"),
    ],
)
def test_words_are_found_as_they_are_said(tmp_path: Path, question: str, text: str) -> None:
    assert memory_with(tmp_path, {"memory_fs/warm/talk.md": text}).recall(question, dry_run=True).found


def test_more_than_three_are_narrowed_to_those_that_hold_more(tmp_path: Path) -> None:
    files = {
        f"memory_fs/warm/2026-05-0{day}-pay.md": f"# Day {day}\n\nThe retry of payment {day} worked.\n"
        for day in range(1, 8)
    }
    files["memory_fs/warm/2026-05-04-0900-policy.md"] = RETRIES
    report = memory_with(tmp_path, files).recall(QUESTION, dry_run=True)
    assert names(report) == ["2026-05-04-0900-policy.md"]
    assert report.narrowed == 8
    assert "most keywords" in report.reason


def test_where_nothing_tells_them_apart_the_three_newest_are_given(tmp_path: Path) -> None:
    files = {f"memory_fs/warm/2026-05-0{day}-pay.md": RETRIES for day in range(1, 8)}
    memory = memory_with(tmp_path, files)
    assert names(memory.recall(QUESTION, dry_run=True)) == [f"2026-05-0{day}-pay.md" for day in (7, 6, 5)]
    assert len(memory.recall(QUESTION, limit=1, dry_run=True).found) == 1


SUMMARY = "# Payment retries\n\nTags: payment, retry, policy\n\n- good, that is the retry policy then\n"


def test_a_gist_answers_by_its_tags_and_its_original_does_not_answer_for_warm(tmp_path: Path) -> None:
    files = {"memory_fs/warm/pay.md": RETRIES, "memory_fs/gist/pay.md": SUMMARY}
    report = memory_with(tmp_path, files).recall("retry policy for payments", dry_run=True)
    assert (report.layer, report.found[0].path) == ("gist", "memory_fs/gist/pay.md")
    assert report.found[0].opened is None
    assert "retry policy" in report.found[0].passages[0].text


def test_a_gist_that_does_not_hold_the_words_opens_its_original(tmp_path: Path) -> None:
    files = {"memory_fs/warm/pay.md": RETRIES, "memory_fs/gist/pay.md": SUMMARY}
    (one,) = memory_with(tmp_path, files).recall("exponential backoff with jitter", dry_run=True).found
    assert (one.layer, one.opened) == ("gist", "memory_fs/warm/pay.md")
    assert any("jitter" in passage.text for passage in one.passages)


@pytest.mark.parametrize(
    "question", ["how many attempts does the payment retry policy allow?", "支付接口最多重试多少次"]
)
def test_a_question_for_a_detail_opens_the_original(tmp_path: Path, question: str) -> None:
    files = {
        "memory_fs/warm/pay.md": RETRIES,
        "memory_fs/gist/pay.md": SUMMARY,
        "memory_fs/warm/支付.md": CHINESE_RETRIES,
        "memory_fs/gist/支付.md": "# 支付接口的重试\n\n标签: 支付接口, 重试策略\n\n- 支付接口偶尔超时，重试策略怎么定？\n",
    }
    (one,) = memory_with(tmp_path, files).recall(question, dry_run=True).found
    assert one.opened
    assert one.opened.startswith("memory_fs/warm/")


@pytest.mark.parametrize(
    "question",
    ["who keeps the keys of the boat?", "what is the berth of the boat called?", "the price of the berth for the boat"],
)
def test_who_what_it_is_called_and_prices_open_the_original(tmp_path: Path, question: str) -> None:
    gist = "# Berth for the boat\n\nTags: berth, boat, keys\n\n- Which berth do we rent in the harbour?\n- the keys of the boat\n"
    files = {"memory_fs/warm/boat.md": HARBOUR.replace("keys", "keys of the boat"), "memory_fs/gist/boat.md": gist}
    (one,) = memory_with(tmp_path, files).recall(question, dry_run=True).found
    assert one.opened == "memory_fs/warm/boat.md"
    assert "Oduya" in one.passages[0].text


def test_a_talk_that_fits_is_shown_whole(tmp_path: Path) -> None:
    (one,) = memory_with(tmp_path, {"memory_fs/hot/pay.md": RETRIES}).recall(QUESTION, dry_run=True).found
    (passage,) = one.passages
    assert passage.text == RETRIES.rstrip("\n")
    assert (passage.start_line, passage.end_line) == (1, len(RETRIES.split("\n")) - 1)


def test_of_a_long_talk_whole_turns_are_shown_and_a_list_with_what_announces_it(tmp_path: Path) -> None:
    filler = "".join(f"**User** 2026-05-04 10:{at:02d}\n\nnothing of note number {at}\n\n" for at in range(50))
    options = "Options for the roof:\n\n1. slate, 90 EUR\n2. tin, 40 EUR\n3. reed, 120 EUR"
    turns = (
        f"**User** 2026-05-04 11:00\n\nwhat about the roof of the barn?\n\n**Agent** 2026-05-04 11:01\n\n{options}\n\n"
    )
    text = f"# Farm\n\n{filler}{turns}**User** 2026-05-04 11:02\n\ntin then\n\n{filler}"
    (one,) = memory_with(tmp_path, {"memory_fs/hot/farm.md": text}).recall("roof of the barn?", dry_run=True).found
    shown = "\n".join(passage.text for passage in one.passages)
    assert options in shown
    assert "tin then" in shown or "3. reed" in shown
    assert len(shown) <= LONGEST_PASSAGES


def test_a_summary_beside_its_original_is_not_a_second_answer(tmp_path: Path) -> None:
    files = {"memory_fs/hot/pay.md": RETRIES, "memory_fs/hot/pay.gist.md": SUMMARY}
    assert names(memory_with(tmp_path, files).recall(QUESTION, dry_run=True)) == ["pay.md"]


def test_passages_carry_their_lines_and_are_bounded(tmp_path: Path) -> None:
    filler = "".join(f"filler {place}\n" for place in range(60))
    text = "# Notes\n" + filler + "the retry policy for payments is five attempts\n" + filler
    (one,) = memory_with(tmp_path, {"memory_fs/hot/long.md": text}).recall(QUESTION, dry_run=True).found
    (passage,) = one.passages
    assert passage.start_line <= 62 <= passage.end_line
    assert text.split("\n")[passage.start_line - 1 : passage.end_line] == passage.text.split("\n")
    huge = ("x" * 5000 + " retry policy payments " + "y" * 5000 + "\n") * 40
    (one,) = memory_with(tmp_path / "huge", {"memory_fs/hot/huge.md": huge}).recall(QUESTION, dry_run=True).found
    assert sum(len(passage.text) for passage in one.passages) <= LONGEST_PASSAGES + 100
    assert "retry policy payments" in one.passages[0].text


def test_a_secret_in_a_checkpoint_is_not_given_out(tmp_path: Path) -> None:
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    text = f"# Deploy {key}\n\nretry policy for payments with the token {key}\n"
    (one,) = memory_with(tmp_path, {"memory_fs/hot/key.md": text}).recall(QUESTION, dry_run=True).found
    assert key not in one.title + one.passages[0].text
    assert "redacted" in one.passages[0].text


def test_nothing_found_says_why_that_may_be(tmp_path: Path) -> None:
    memory = memory_with(tmp_path, {".nacre/config.toml": '[tiers]\ndelete_after = "45d"\n'})
    report = memory.recall("the chess tournament in Reykjavik")
    assert (report.layer, report.found) == (None, ())
    for wanted in ("never recorded", "45 days", "Reykjavik, chess, tournament", "nacre search"):
        assert wanted in report.reason
    use_language("zh")
    report = memory.recall("雷克雅未克的象棋比赛")
    for wanted in ("从未记录过", "45 天", "雷克雅未克、象棋比赛", "nacre search"):
        assert wanted in report.reason


def test_a_question_that_names_nothing_is_refused(tmp_path: Path) -> None:
    for question in ("what did we say?", "我们上次说了什么", ""):
        with pytest.raises(BadInput):
            memory_with(tmp_path, {}).recall(question)


def test_hostile_and_broken_files_are_left_alone(tmp_path: Path) -> None:
    memory = memory_with(tmp_path / "ws", {"memory_fs/hot/pay.md": RETRIES})
    hot = tmp_path / "ws" / "memory_fs" / "hot"
    outside = tmp_path / "outside.md"
    outside.write_text(RETRIES, "utf8")
    (hot / "link.md").symlink_to(outside)
    (hot / "loop.md").symlink_to(hot / "loop.md")
    (hot / "folder.md").mkdir()
    os.mkfifo(hot / "pipe.md")
    (hot / "bytes.md").write_bytes(b"\xff\xfe retry policy payments \x00\xff\n")
    (hot / "empty.md").write_bytes(b"")
    (hot / "evil\x1b[31m\nname.md").write_text(RETRIES, "utf8")
    report = memory.recall(QUESTION, dry_run=True)
    assert set(names(report)) == {"pay.md", "bytes.md"}
    assert any("link.md" in problem.message for problem in report.problems)


def test_what_was_looked_for_is_not_run_as_a_pattern(tmp_path: Path) -> None:
    memory = memory_with(tmp_path, {"memory_fs/hot/code.md": "# Code\n\nthe call f(x)[0] fails in a.b*c\n"})
    assert memory.recall('why does "f(x)[0]" fail?', dry_run=True).found
    assert memory.recall('"(((" "[a-" "*+?" zebra', dry_run=True).found == ()


class TestRotation:
    """What a recall does to the files, and what the next one finds."""

    def test_a_warm_file_is_hot_afterwards_and_answers_from_there(self, tmp_path: Path) -> None:
        memory = memory_with(tmp_path, {"memory_fs/warm/pay.md": RETRIES})
        (one,) = memory.recall(QUESTION).found
        assert (one.was, one.path, one.layer) == ("memory_fs/warm/pay.md", "memory_fs/hot/pay.md", "warm")
        assert (tmp_path / one.path).read_text("utf8") == RETRIES
        again = memory.recall(QUESTION)
        assert (again.layer, again.found[0].path) == ("hot", "memory_fs/hot/pay.md")

    def test_a_gist_and_its_original_return_together(self, tmp_path: Path) -> None:
        memory = memory_with(tmp_path, {"memory_fs/warm/pay.md": RETRIES, "memory_fs/gist/pay.md": SUMMARY})
        (one,) = memory.recall("exponential backoff with jitter").found
        assert (one.path, one.opened) == ("memory_fs/hot/pay.gist.md", "memory_fs/hot/pay.md")
        assert not (tmp_path / "memory_fs/gist/pay.md").exists()
        assert not (tmp_path / "memory_fs/warm/pay.md").exists()

    def test_a_forgotten_one_returns_to_warm_and_the_user_is_told(self, tmp_path: Path) -> None:
        memory = memory_with(tmp_path, {"memory_fs/forgotten/pay.md": RETRIES})
        report = memory.recall(QUESTION)
        assert report.found[0].path == "memory_fs/warm/pay.md"
        assert "brought back" in report.reason
        assert '"user_marked": true' in (tmp_path / "refcount.json").read_text("utf8")

    def test_it_is_undone_as_one(self, tmp_path: Path) -> None:
        files = {"memory_fs/warm/pay.md": RETRIES, "memory_fs/gist/pay.md": SUMMARY}
        memory = memory_with(tmp_path, files)
        memory.recall(QUESTION)
        memory.undo()
        for name, text in files.items():
            assert (tmp_path / name).read_text("utf8") == text
        assert not (tmp_path / "memory_fs/hot/pay.md").exists()

    def test_a_dry_run_touches_nothing(self, tmp_path: Path) -> None:
        memory = memory_with(tmp_path, {"memory_fs/warm/pay.md": RETRIES})
        memory.search(QUESTION)  # makes the index
        before = sorted(path for path in tmp_path.rglob("*") if path.is_file())
        memory.recall(QUESTION, dry_run=True)
        assert sorted(path for path in tmp_path.rglob("*") if path.is_file()) == before

    def test_what_cannot_be_moved_is_answered_all_the_same(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        memory = memory_with(tmp_path, {"memory_fs/warm/pay.md": RETRIES})

        def locked(*_: object) -> dict[str, str]:
            raise BadInput("locked", "已锁定")

        monkeypatch.setattr("nacre.layers.organise.rotate_recalled", locked)
        report = memory.recall(QUESTION)
        assert report.found[0].path == "memory_fs/warm/pay.md"
        assert report.problems


def test_a_group_recalls_nothing(tmp_path: Path) -> None:
    memory_with(tmp_path, {"memory_fs/hot/pay.md": RETRIES})
    with pytest.raises(BadInput):
        Memory.open(tmp_path, scope="group:team").recall(QUESTION)


@pytest.mark.parametrize(
    ("question", "word", "text"),
    [
        (
            "humidity threshold",
            "threshold",
            "# Sensor 3\n\n**User:** 42 was too nervous\n\n**Agent:** The threshold is 38 now.\n",
        ),
        ("潮湿传感器", "传感器", "# 三号\n\n**用户：** 四十二太敏感\n\n**助手：** 传感器的值改成三十八了。\n"),
    ],
)
def test_a_further_word_does_not_hide_what_a_rare_one_finds_alone(
    tmp_path: Path, question: str, word: str, text: str
) -> None:
    others = {f"memory_fs/warm/day-{day}.md": f"# Talk {day}\n\nThe trip number {day}, 钢琴课\n" for day in range(12)}
    memory = memory_with(tmp_path, {"memory_fs/hot/sensor.md": text} | others)
    alone, both = (memory.recall(asked, dry_run=True) for asked in (word, question))
    assert names(alone) == names(both) == ["sensor.md"]
    assert both.found[0].confidence < alone.found[0].confidence
    assert memory.recall("number of the walrus", dry_run=True).found == ()  # it stands in every talk


def test_what_no_longer_holds_is_marked(tmp_path: Path) -> None:
    old, new = "Retries of payments use a fixed delay of ten seconds", "Retries of payments use exponential backoff"
    said = f"# Payments\n\n**User** 2026-05-04 09:00\n\n{old}. The piano is tuned in May.\n"
    records = [
        {"id": entry_id(old), "at": NOW, "verdict": "admitted", "text": old},
        {"id": entry_id(old), "at": NOW, "verdict": "superseded", "valid_to": "2026-05-10", "by": entry_id(new)},
        {"id": entry_id(new), "at": NOW, "verdict": "admitted", "text": new, "supersedes": entry_id(old)},
    ]
    ledger = "".join(json.dumps(record) + "\n" for record in records)
    names = [f"memory_fs/warm/2026-05-{day}-0900-pay.md" for day in ("04", "12")]  # the later one says it again
    memory = memory_with(tmp_path, {**dict.fromkeys(names, said), "memory/ledger.jsonl": ledger})
    later, earlier = memory.recall("delay of the retries of payments", dry_run=True).found
    assert earlier.passages[0].text.endswith("in May. (superseded)")
    assert later.passages[0].text.endswith("in May.")
