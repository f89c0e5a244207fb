"""Cursor's agent transcripts: the query alone is the user's, and the file's time stands in where no other is told."""

from __future__ import annotations

import datetime as dt
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sources.steps import NOON, cut, in_steps, lines, read, said, write

from nacre.model import Kind
from nacre.sources.cursor import CLI as SOURCE
from nacre.sources.cursor import sent_at
from nacre.sources.transcript import Places


def entry(role: str, *blocks: object, **more: Any) -> dict[str, Any]:
    content = [block if isinstance(block, dict) else {"type": "text", "text": block} for block in blocks]
    return {"role": role, "message": {"content": content}} | more


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "c1.jsonl"


def test_the_query_alone_is_the_users(path: Path) -> None:
    around = "<attached_files>\nimport os\n</attached_files>\n<user_query>\nuse tabs\n</user_query>\n[Image]"
    talk = [
        entry("user", around),
        entry(
            "assistant", {"type": "thinking", "thinking": "hm"}, "done\n[REDACTED]", {"type": "tool_use", "name": "ls"}
        ),
        entry("user", {"type": "tool_result", "content": [{"type": "text", "text": "a.txt"}]}),
        entry("user", "<system_notification>\nThe following task has finished.\n</system_notification>"),
        entry("user", "without a tag"),
        {"type": "turn_ended", "status": "success"},
        {"type": "never_heard_of"},
        {"role": "user"},
    ]
    write(path, lines(*talk))
    reading = read(SOURCE.read, path)
    assert said(reading) == [("owner", "use tabs"), ("agent", "done"), ("owner", "without a tag")]
    assert reading.unknown == 1
    assert reading.session
    assert (reading.session.id, reading.session.kind) == ("c1", Kind.MAIN)


@pytest.mark.parametrize(
    ("told", "at"),
    [
        ("Monday, Mar 2, 2026, 8:00 PM (UTC+8)", NOON),
        ("Monday, Mar 2, 2026, 12:00 PM (UTC)", NOON),
        ("Monday, Mar 2, 2026, 8:30 AM (UTC-3:30)", NOON),
        ("Tuesday, Mar 3, 2026, 12:00 AM (UTC+12)", NOON),
        ("Monday, Mar 92, 2026, 8:00 PM (UTC+8)", None),
        ("x", None),
    ],
)
def test_the_time_that_a_prompt_tells_is_understood(told: str, at: dt.datetime | None) -> None:
    assert sent_at(f"<timestamp>{told}</timestamp>\n<user_query>x</user_query>") == at


def test_a_time_holds_for_what_follows_and_else_the_files_stands_in(path: Path) -> None:
    stamped = "<timestamp>Monday, Mar 2, 2026, 12:00 PM (UTC)</timestamp>\n<user_query>\ntwo\n</user_query>"
    write(path, lines(entry("user", "one"), entry("user", stamped), entry("assistant", "three")))
    changed = NOON.timestamp() + 60
    os.utime(path, (changed, changed))
    reading = read(SOURCE.read, path)
    assert reading.session
    assert [message.at.timestamp() - NOON.timestamp() for message in reading.session.messages] == [60, 0, 0]
    before = read(SOURCE.read, path, until=NOON)
    assert said(before) == []
    assert not before.whole


def test_sub_agents_are_nobodys_talk(tmp_path: Path) -> None:
    path = write(tmp_path / "c1/subagents/child.jsonl", lines(entry("user", "list files")))
    reading = read(SOURCE.read, path)
    assert reading.session
    assert reading.session.kind is Kind.ISOLATED


def test_talks_that_the_ide_tells_are_left_to_it(tmp_path: Path) -> None:
    folder = tmp_path / ".cursor/projects/work-app/agent-transcripts"
    own = write(folder / "c1/c1.jsonl", lines(entry("user", "one")))
    write(folder / "c2/c2.jsonl", lines(entry("user", "two")))
    places = Places(tmp_path)
    assert len(list(SOURCE.find(places))) == 2
    database = tmp_path / ".config/Cursor/User/globalStorage/state.vscdb"
    database.parent.mkdir(parents=True)
    connection = sqlite3.connect(database)
    connection.execute("CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")
    connection.execute("INSERT INTO cursorDiskKV VALUES ('bubbleId:c2:b1', '{}')")
    connection.commit()
    assert [found.path for found in SOURCE.find(places)] == [own]
    connection.execute("BEGIN EXCLUSIVE")
    assert list(SOURCE.find(places)) == []
    connection.close()
    database.write_bytes(b"no database at all" * 100)
    assert len(list(SOURCE.find(places))) == 2


TALK = lines(
    entry("user", "<timestamp>Monday, Mar 2, 2026, 12:00 PM (UTC)</timestamp>\n<user_query>héllo 你好</user_query>"),
    entry("assistant", "one", {"type": "tool_use", "name": "ls"}),
    entry("user", {"type": "tool_result", "content": "x"}),
    entry("assistant", "two"),
    {"type": "turn_ended"},
    entry("user", "<user_query>three</user_query>"),
)
WHOLE = in_steps(SOURCE.read, "c1.jsonl", [TALK])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 1 << 16), max_size=6))
def test_reading_in_steps_is_reading_at_once(places: list[int]) -> None:
    assert [one.text for one in WHOLE] == ["héllo 你好", "one", "two", "three"]
    assert in_steps(SOURCE.read, "c1.jsonl", cut(TALK, places)) == WHOLE
