"""opencode: its database, without tools, summaries and what the program put in."""

from __future__ import annotations

import datetime as dt
import json
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.sources.steps import NOON, as_kept, said, write

from nacre.model import Kind
from nacre.sources.opencode import SOURCE
from nacre.sources.transcript import Places, Reading, Transcript

START = int(NOON.timestamp() * 1000)
OPEN: list[sqlite3.Connection] = []
TABLES = """
    CREATE TABLE session (id text PRIMARY KEY, project_id text, parent_id text, directory text, title text,
                          revert text, time_created integer, time_updated integer);
    CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer, time_updated integer, data text);
    CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, time_created integer,
                       time_updated integer, data text);
"""


@pytest.fixture(autouse=True)
def _leave_nothing_open() -> Iterator[None]:
    yield
    while OPEN:
        OPEN.pop().close()


class Store:
    """A database of opencode, written the way it writes."""

    def __init__(self, home: Path) -> None:
        self.root = home / ".local/share/opencode"
        self.root.mkdir(parents=True)
        self.places = Places(home)
        self.count = 0
        self.connection = sqlite3.connect(self.root / "opencode.db")
        OPEN.append(self.connection)
        self.connection.executescript(TABLES)

    def session(self, name: str, parent: str | None = None, revert: dict[str, Any] | None = None) -> None:
        row = (name, "p", parent, "/work/app", "t", revert and json.dumps(revert), START, START)
        self.connection.execute("INSERT OR REPLACE INTO session VALUES (?,?,?,?,?,?,?,?)", row)
        self.connection.commit()

    def say(self, session: str, name: str, role: str, at: int, *parts: object, **more: Any) -> None:
        data = {"role": role, "time": {"created": START + at * 1000, "completed": START + at * 1000 + 500}} | more
        row = (name, session, START + at * 1000, START + at * 1000, json.dumps(data))
        self.connection.execute("INSERT OR REPLACE INTO message VALUES (?,?,?,?,?)", row)
        for part in parts:
            self.count += 1
            value = json.dumps(part if isinstance(part, dict) else {"type": "text", "text": part})
            values = (f"prt_{self.count:04}", name, session, START, START, value)
            self.connection.execute("INSERT INTO part VALUES (?,?,?,?,?,?)", values)
        self.connection.commit()

    def forget(self, name: str) -> None:
        self.connection.execute("DELETE FROM message WHERE id = ?", (name,))
        self.connection.commit()

    def found(self) -> list[Transcript]:
        return list(SOURCE.find(self.places))

    def read(self, before: Reading | None = None, until: dt.datetime | None = None) -> Reading:
        return SOURCE.read(self.found()[0], as_kept(before.mark) if before else None, until)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


def test_a_talk_is_read_in_order_with_its_folder(store: Store) -> None:
    store.session("s1")
    store.say("s1", "m2", "assistant", 5, {"type": "tool", "state": {"output": "x"}}, "done", {"type": "patch"})
    store.say("s1", "m1", "user", 1, "use tabs", {"type": "file", "url": "file:///a"})
    reading = store.read()
    assert said(reading) == [("owner", "use tabs"), ("agent", "done")]
    assert reading.session
    assert (reading.session.id, reading.session.cwd, reading.session.kind) == ("s1", "/work/app", Kind.MAIN)
    assert reading.session.messages[0].at == NOON + dt.timedelta(seconds=1)
    assert reading.whole


def test_child_sessions_are_nobodys_talk(store: Store) -> None:
    store.session("s1", parent="s0")
    store.say("s1", "m1", "user", 1, "search the code")
    reading = store.read()
    assert reading.session
    assert reading.session.kind is Kind.ISOLATED


def test_what_the_program_put_in_and_its_summaries_are_left_out(store: Store) -> None:
    store.session("s1")
    store.say("s1", "m1", "user", 1, "mine", {"type": "text", "text": "file content", "synthetic": True})
    store.say("s1", "m2", "user", 2, {"type": "text", "text": "hidden", "ignored": True})
    store.say("s1", "m3", "assistant", 3, "all that was said", summary=True, mode="compaction")
    store.say("s1", "m4", "user", 4, "mine")
    store.say("s1", "m5", "user", 5, "mine")
    assert said(store.read()) == [("owner", "mine"), ("owner", "mine")]


def test_only_what_is_new_comes_out_and_the_stamp_tells_of_it(store: Store) -> None:
    store.session("s1")
    store.say("s1", "m1", "user", 1, "one")
    stamp, before = store.found()[0].stamp, store.read()
    store.say("s1", "m2", "assistant", 2, "two")
    assert store.found()[0].stamp != stamp
    after = store.read(before)
    assert said(after) == [("agent", "two")]
    assert not after.rewritten
    assert said(store.read(after)) == []


def test_messages_that_were_deleted_are_noticed(store: Store) -> None:
    store.session("s1")
    store.say("s1", "m1", "user", 1, "wrong")
    before = store.read()
    store.forget("m1")
    store.say("s1", "m2", "user", 2, "right")
    after = store.read(before)
    assert after.rewritten
    assert said(after) == [("owner", "right")]


def test_messages_the_user_went_back_before_are_left_out(store: Store) -> None:
    store.session("s1", revert={"messageID": "m2"})
    store.say("s1", "m1", "user", 1, "keep")
    store.say("s1", "m2", "user", 2, "wrong")
    assert said(store.read()) == [("owner", "keep")]


def test_entries_after_the_moment_wait(store: Store) -> None:
    store.session("s1")
    store.say("s1", "m1", "user", 1, "early")
    store.say("s1", "m2", "user", 60, "late")
    early = store.read(until=NOON + dt.timedelta(seconds=30))
    assert said(early) == [("owner", "early")]
    assert not early.whole
    assert said(store.read(early)) == [("owner", "late")]


def test_an_answer_that_is_being_written_waits(store: Store) -> None:
    store.session("s1")
    store.say("s1", "m1", "user", 1, "one")
    store.say("s1", "m2", "assistant", 2, "tw", time={"created": START + 2000})
    places = [path for path in store.root.rglob("*") if path.is_file()]
    for moment, words in ((NOON.timestamp() + 3, ["one"]), (NOON.timestamp() + 4000, ["one", "tw"])):
        for path in places:
            os.utime(path, (moment, moment))
        reading = store.read()
        assert [text for _, text in said(reading)] == words
        assert reading.whole == (len(words) == 2)


def test_messages_of_no_known_form_are_counted(store: Store) -> None:
    store.session("s1")
    store.say("s1", "m0", "oracle", 0, "x")
    store.say("s1", "m1", "user", 1, "mine", {"type": ["text"], "text": {}})
    reading = store.read()
    assert said(reading) == [("owner", "mine")]
    assert reading.unknown == 1


def test_a_database_that_is_held_is_asked_again(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.session("s1")
    store.say("s1", "m1", "user", 1, "one")
    (found,) = store.found()
    store.connection.execute("BEGIN EXCLUSIVE")
    assert store.found() == []
    busy = SOURCE.read(found, None, None)
    assert (busy.session, busy.whole) == (None, False)
    store.connection.rollback()
    assert said(store.read()) == [("owner", "one")]


@pytest.mark.parametrize("content", [b"", b"no database at all", b"SQLite format 3\x00" + b"\xff" * 4096])
def test_a_file_that_is_no_database_does_no_harm(tmp_path: Path, content: bytes) -> None:
    path = write(tmp_path / ".local/share/opencode/opencode.db", content)
    assert list(SOURCE.find(Places(tmp_path))) == []
    reading = SOURCE.read(Transcript("opencode", path, f"{path}#s1", (), 0.0), None, None)
    assert reading.session is None


def test_the_folder_of_the_settings_and_of_the_environment_is_looked_at(tmp_path: Path) -> None:
    store = Store(tmp_path / "here")
    store.session("s1")
    share = str(store.root.parent)
    assert len(list(SOURCE.find(Places(tmp_path, {"XDG_DATA_HOME": share})))) == 1
    assert len(list(SOURCE.find(Places(tmp_path, {}, {"opencode": str(store.root)})))) == 1


@pytest.mark.parametrize(
    ("stored", "typed"),
    [
        ('"We use pnpm here"', "We use pnpm here"),
        ('"call it \\"shop api\\" from now on"', 'call it "shop api" from now on'),
        ('"我们用 pnpm"', "我们用 pnpm"),
        ('"first line\nand a second"', "first line\nand a second"),
        ('"shop" is the name, not "store"', '"shop" is the name, not "store"'),
        ('"shop"', '"shop"'),
    ],
)
def test_a_prompt_given_as_an_argument_is_read_without_the_quotation_marks_around_it(
    store: Store, stored: str, typed: str
) -> None:
    store.session("s1")
    store.say("s1", "m1", "user", 1, stored)
    store.say("s1", "m2", "assistant", 5, '"it is done"')
    assert said(store.read()) == [("owner", typed), ("agent", '"it is done"')]
