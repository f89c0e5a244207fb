"""A database that OpenClaw 2026.9.6 itself wrote: a gateway, a stubbed model and a stubbed Telegram, talk that was made up.

It holds the four tables that are read, as they were, without the snapshots of skills and prompts in `entry_json`.
"""

from __future__ import annotations

import datetime as dt
import json
import shutil
import sqlite3
from pathlib import Path

import pytest
from tests.sources.steps import as_kept, said

from nacre.model import Kind, Session, Speaker
from nacre.sources.openclaw import DATABASE as SOURCE
from nacre.sources.transcript import Places, Reading, Transcript

REAL = Path(__file__).parent / "data" / "openclaw-agent-2026.9.6.sqlite"
MAIN, KITCHEN, SCRATCH = "28354cc6", "729f2818", "f6d639e5"
WEB, REWOUND, FORK = "d8868def", "0f3067dd", "f4d6dbe9"
GARDEN, FORUM = "2afd3c8f", "5ddb36ea"
CRON, CRON_AGAIN, HELPER = "6a5065c2", "ec4b23e0", "38eb765a"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    place = tmp_path / ".openclaw/agents/main/agent/openclaw-agent.sqlite"
    place.parent.mkdir(parents=True)
    shutil.copy(REAL, place)
    return tmp_path


def found(home: Path) -> dict[str, Transcript]:
    return {one.session[:8]: one for one in SOURCE.find(Places(home))}


def session(home: Path, name: str) -> Session:
    reading = SOURCE.read(found(home)[name], None, None)
    assert reading.session
    assert reading.unknown == 0
    assert reading.whole
    return reading.session


def owner(home: Path, name: str) -> list[str]:
    return [one.text for one in session(home, name).messages if one.speaker is Speaker.OWNER]


def test_every_session_is_found_under_its_own_key_with_the_time_of_its_last_event(home: Path) -> None:
    listed = found(home)
    assert set(listed) == {MAIN, KITCHEN, SCRATCH, WEB, REWOUND, FORK, GARDEN, FORUM, CRON, CRON_AGAIN, HELPER}
    path = home / ".openclaw/agents/main/agent/openclaw-agent.sqlite"
    assert listed[MAIN].key == f"{path}#28354cc6-e12d-4d9a-a6b6-811884a0381a"
    assert listed[MAIN].changed == 1794786205.190
    assert len({one.stamp for one in listed.values()}) == len(listed)


def test_the_kinds_are_told_apart(home: Path) -> None:
    kinds = {name: session(home, name).kind for name in found(home)}
    assert {name for name, kind in kinds.items() if kind is Kind.ISOLATED} == {CRON, CRON_AGAIN, HELPER}
    assert {name for name, kind in kinds.items() if kind is Kind.GROUP} == {GARDEN, FORUM}


def test_the_owners_words_of_the_main_session_are_all_there_and_only_those(home: Path) -> None:
    words = owner(home, MAIN)
    assert [text[:40] for text in words] == [
        "Hi, I am Robin. We plan a trip to Lisbon",
        "我是罗宾，每周三晚上七点练小提琴。",
        "Please read notes/garden.md and tell me ",
        "Please ask a helper to do the counting.",
        "Mia is allergic to peanuts, please remem",
        "My notes about the trip, one long messag",
        "A long text with a Windows path C:\\users",
        "Please give me the long list",
        "What is in this photo?",
        "silence please, no answer needed",
        "里斯本五月热吗？",
        "Please tell the kitchen session about th",
        "The dentist moved to Friday at 10.",
        "After the last reset: 里斯本的电车票已经买好了。",
    ]


def test_rows_that_are_packed_are_read_like_the_others(home: Path) -> None:
    with sqlite3.connect(f"{REAL.as_uri()}?mode=ro", uri=True) as connection:
        packed = connection.execute(
            "SELECT seq FROM transcript_events WHERE event_zstd IS NOT NULL ORDER BY seq"
        ).fetchall()
    connection.close()
    assert packed == [(17,), (26,), (31,), (47,)]
    texts = {one.id[:8]: one.text for one in session(home, MAIN).messages}
    assert texts["d29010af"].startswith("My notes about the trip")
    assert texts["d29010af"].count("第") > 10
    assert "Day 12: walk from the Alfama quarter" in texts["07415d9e"]


def test_polls_wakes_mirrors_and_other_sessions_do_not_speak(home: Path) -> None:
    texts = [one.text for name in (MAIN, KITCHEN) for one in session(home, name).messages]
    assert texts.count("The word marmalade has 4 vowels.") == 1
    for silent in ("Figs are on the shopping list.", "Remember to put the bins out tonight.", "NO_REPLY"):
        assert silent not in texts
    assert not any(text.startswith(("[OpenClaw", "[Inter-session")) for text in texts)
    assert owner(home, KITCHEN) == ["第二个会话：妹妹米娅对花生过敏。"]


def test_a_reset_and_a_compaction_neither_end_a_session_nor_speak(home: Path) -> None:
    texts = [one.text for one in session(home, MAIN).messages]
    assert texts.index("The word marmalade has 4 vowels.") < texts.index("Please give me the long list")
    assert texts[-2] == "After the last reset: 里斯本的电车票已经买好了。"
    assert not any("Open TODOs" in text for text in texts)


def test_a_message_has_the_time_at_which_it_was_written(home: Path) -> None:
    first, second = session(home, MAIN).messages[:2]
    assert first.at == dt.datetime(2026, 11, 15, 23, 39, 50, 464000, tzinfo=dt.UTC)
    assert second.at > first.at


def test_a_group_has_its_name_and_people_have_theirs_and_no_id_comes_out(home: Path) -> None:
    garden, forum = session(home, GARDEN), session(home, FORUM)
    assert (garden.group, forum.group) == ("Garden Club", "House Forum")
    assert [(one.speaker.value, one.name) for one in garden.messages if one.speaker is not Speaker.AGENT] == [
        ("owner", "Robin"),
        ("other", "Kim"),
    ]
    assert [one.speaker for one in forum.messages] == [Speaker.OTHER, Speaker.AGENT]
    for name in found(home):
        told = repr(SOURCE.read(found(home)[name], None, None)) + repr(found(home)[name].key)
        for secret in ("111222333", "222333444", "robin_test", "kim_test", "-10012345"):
            assert secret not in told


def test_what_a_fork_and_a_rewound_session_began_with_is_told_once(home: Path) -> None:
    assert said(SOURCE.read(found(home)[FORK], None, None)) == []
    assert owner(home, REWOUND) == ["Instead, another branch: the dentist moved."]
    assert owner(home, WEB) == ["Web chat: please run a command for the violin strings.", "里斯本五月热吗？(web)"]
    everything = [one.id for name in found(home) for one in session(home, name).messages]
    assert len(everything) == len(set(everything))


@pytest.mark.parametrize("gone", ["d8868def-e853-4400-baf6-ddbaa8ce18d5", "0f3067dd-d543-4ac3-8083-f1a4762bf058"])
def test_a_copy_is_known_by_its_age_where_its_source_is_gone(home: Path, gone: str) -> None:
    with sqlite3.connect(home / ".openclaw/agents/main/agent/openclaw-agent.sqlite") as connection:
        connection.execute("DELETE FROM transcript_events WHERE session_id = ?", (gone,))
    connection.close()
    assert gone[:8] not in found(home)
    assert said(SOURCE.read(found(home)[FORK], None, None)) == []
    if gone.startswith(WEB):
        assert owner(home, REWOUND) == ["Instead, another branch: the dentist moved."]


def test_a_session_that_was_cut_is_still_one(home: Path) -> None:
    assert owner(home, SCRATCH) == ["Scratch three, lisbon.", "Scratch four after the cut, dentist."]


def test_cron_runs_have_one_key_and_a_session_each(home: Path) -> None:
    runs = [session(home, name) for name in (CRON, CRON_AGAIN)]
    assert runs[0].id != runs[1].id
    assert all(one.kind is Kind.ISOLATED and not one.messages for one in runs)


@pytest.mark.parametrize("stop", range(0, 67, 6))
def test_reading_up_to_a_moment_and_then_the_rest_is_reading_at_once(home: Path, stop: int) -> None:
    one = found(home)[MAIN]
    whole = session(home, MAIN)
    moments = [message.at for message in whole.messages]
    until = moments[min(stop // 3, len(moments) - 1)] + dt.timedelta(seconds=1)
    first = SOURCE.read(one, None, until)
    second = SOURCE.read(one, as_kept(first.mark), None)
    assert not first.whole
    assert first.session
    assert second.session
    assert not second.rewritten
    assert [*first.session.messages, *second.session.messages] == list(whole.messages)
    assert all(message.at <= until for message in first.session.messages)
    again = SOURCE.read(one, as_kept(second.mark), None)
    assert (said(again), again.whole, again.mark) == ([], True, second.mark)


def test_a_mark_can_be_kept_as_json_and_holds_no_words(home: Path) -> None:
    reading: Reading = SOURCE.read(found(home)[MAIN], None, None)
    kept = json.dumps(dict(reading.mark.facts))
    assert "Robin" not in kept
    assert reading.mark.offset == 67
    assert reading.mark.fingerprint == "53850a99ca25406aaab54241616c7084"


def test_the_file_is_left_as_it_was(home: Path) -> None:
    path = home / ".openclaw/agents/main/agent/openclaw-agent.sqlite"
    for one in found(home).values():
        SOURCE.read(one, None, None)
    assert path.read_bytes() == REAL.read_bytes()
    assert [file.name for file in path.parent.iterdir()] == [path.name]
