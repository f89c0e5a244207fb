"""Cursor's database: bubbles in the order of their headers, read beside the running IDE."""

from __future__ import annotations

import datetime as dt
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sources.steps import NOON, as_kept, said, stamp, write

from nacre.model import Kind
from nacre.sources.cursor import IDE as SOURCE
from nacre.sources.transcript import Places, Reading, Transcript

START = int(NOON.timestamp() * 1000)
OPEN: list[sqlite3.Connection] = []


@pytest.fixture(autouse=True)
def _leave_nothing_open() -> Iterator[None]:
    yield
    while OPEN:
        OPEN.pop().close()


class Ide:
    """The database, written the way the IDE writes."""

    def __init__(self, home: Path) -> None:
        self.path = home / ".config/Cursor/User/globalStorage/state.vscdb"
        self.path.parent.mkdir(parents=True)
        self.places = Places(home)
        self.connection = sqlite3.connect(self.path)
        OPEN.append(self.connection)
        self.connection.execute("CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")
        self.headers: list[dict[str, Any]] = []

    def put(self, key: str, value: object) -> None:
        raw = value if isinstance(value, bytes) else json.dumps(value)
        self.connection.execute("INSERT INTO cursorDiskKV VALUES (?, ?)", (key, raw))
        self.connection.commit()

    def say(self, name: str, kind: object, text: object, at: float | None = 0, **more: Any) -> None:
        created = {} if at is None else {"createdAt": stamp(at)}
        self.put(f"bubbleId:c1:{name}", {"type": kind, "bubbleId": name, "text": text, **created, **more})
        self.headers.append({"bubbleId": name, "type": kind})

    def composer(self, **more: Any) -> None:
        told = {"composerId": "c1", "createdAt": START, "fullConversationHeadersOnly": self.headers}
        self.put("composerData:c1", told | more)

    def found(self) -> list[Transcript]:
        return list(SOURCE.find(self.places))

    def read(self, before: Reading | None = None, until: dt.datetime | None = None) -> Reading:
        return SOURCE.read(self.found()[0], as_kept(before.mark) if before else None, until)


@pytest.fixture
def ide(tmp_path: Path) -> Ide:
    return Ide(tmp_path)


def test_a_talk_is_read_in_the_order_of_its_headers(ide: Ide) -> None:
    ide.say("z", 1, "use tabs", 1, workspaceUris=["file:///work/my%20app"])
    ide.say("b", 2, "", 2, toolFormerData={"name": "ls", "result": "x"})
    ide.say("a", 2, "done", 3)
    ide.composer()
    reading = ide.read()
    assert said(reading) == [("owner", "use tabs"), ("agent", "done")]
    assert reading.session
    assert (reading.session.id, reading.session.cwd) == ("c1", "/work/my app")
    assert [message.id for message in reading.session.messages] == ["z", "a"]
    assert ide.found()[0].key == f"{ide.path}#c1"
    assert reading.whole


def test_only_what_is_new_comes_out_and_the_stamp_tells_of_it(ide: Ide) -> None:
    ide.say("a", 1, "one")
    ide.composer()
    stamps, before = [ide.found()[0].stamp], ide.read()
    ide.say("b", 2, "two", 1)
    stamps.append(ide.found()[0].stamp)
    ide.composer()
    stamps.append(ide.found()[0].stamp)
    assert len(set(stamps)) == 3
    after = ide.read(before)
    assert said(after) == [("agent", "two")]
    assert not after.rewritten


def test_a_talk_that_was_wound_back_is_noticed(ide: Ide) -> None:
    ide.say("a", 1, "wrong")
    ide.composer()
    before = ide.read()
    ide.headers.clear()
    ide.say("b", 1, "right")
    ide.composer()
    after = ide.read(before)
    assert after.rewritten
    assert said(after) == [("owner", "right")]


def test_bubbles_without_a_time_take_the_one_before(ide: Ide) -> None:
    ide.say("a", 1, "one", None)
    ide.say("b", 2, "two", 30)
    ide.say("c", 1, "three", None)
    ide.say("d", 1, "four", None, timingInfo={"clientStartTime": START + 60_000})
    ide.composer()
    reading = ide.read()
    assert reading.session
    assert [(message.at - NOON).total_seconds() for message in reading.session.messages] == [0, 30, 30, 60]


def test_entries_after_the_moment_wait(ide: Ide) -> None:
    ide.say("a", 1, "early")
    ide.say("b", 1, "late", 60)
    ide.composer()
    early = ide.read(until=NOON + dt.timedelta(seconds=30))
    assert said(early) == [("owner", "early")]
    assert not early.whole
    assert said(ide.read(early)) == [("owner", "late")]


def test_an_answer_that_is_being_written_waits(ide: Ide) -> None:
    ide.say("a", 1, "one")
    ide.say("b", 2, "tw", 1)
    for sign in ({"generatingBubbleIds": ["b"]}, {"status": "generating"}):
        ide.composer(**sign)
        reading = ide.read()
        assert said(reading) == [("owner", "one")]
        assert not reading.whole
    ide.composer(status="completed")
    assert said(ide.read(reading)) == [("agent", "tw")]


@pytest.mark.parametrize("sign", [{"subagentInfo": {"parentComposerId": "c0"}}, {"isBestOfNSubcomposer": True}])
def test_sub_agents_and_tries_are_nobodys_talk(ide: Ide, sign: dict[str, Any]) -> None:
    ide.say("a", 1, "one")
    ide.composer(**sign)
    session = ide.read().session
    assert session
    assert session.kind is Kind.ISOLATED


def test_what_cannot_be_understood_is_counted(ide: Ide) -> None:
    ide.say("a", 1, "<user_query>mine</user_query>")
    ide.say("b", [], "x")
    ide.say("c", 1, {"no": "text"}, None, createdAt=[])
    ide.headers.append({"bubbleId": "gone"})
    ide.put("bubbleId:c1:d", b"\xff\xfe")
    ide.headers += [{"bubbleId": "d"}, {"bubbleId": {}}, {}]
    ide.composer()
    reading = ide.read()
    assert said(reading) == [("owner", "mine")]
    assert reading.unknown == 4


def test_the_list_of_talks_tells_when_one_last_went_on(ide: Ide) -> None:
    ide.say("a", 1, "one")
    ide.composer()
    ide.connection.execute("CREATE TABLE composerHeaders (composerId TEXT, createdAt INTEGER, lastUpdatedAt INTEGER)")
    ide.connection.execute("INSERT INTO composerHeaders VALUES ('c1', ?, ?)", (START, START + 5000))
    ide.connection.commit()
    assert ide.found()[0].changed == NOON.timestamp() + 5


def test_the_ide_writes_while_it_is_read(ide: Ide) -> None:
    ide.connection.execute("PRAGMA journal_mode = wal")
    ide.say("a", 1, "one")
    ide.composer()
    ide.connection.execute("BEGIN IMMEDIATE")
    ide.connection.execute("INSERT INTO cursorDiskKV VALUES ('x', 'y')")
    assert said(ide.read()) == [("owner", "one")]
    ide.connection.commit()


def test_a_database_that_is_held_is_asked_again(ide: Ide) -> None:
    ide.say("a", 1, "one")
    ide.composer()
    before, (found,) = ide.read(), ide.found()
    ide.connection.execute("BEGIN EXCLUSIVE")
    assert ide.found() == []
    busy = SOURCE.read(found, before.mark, None)
    assert (busy.session, busy.mark, busy.whole) == (None, before.mark, False)


def test_a_composer_that_was_deleted_tells_nothing(ide: Ide) -> None:
    ide.say("a", 1, "one")
    ide.composer()
    before, (found,) = ide.read(), ide.found()
    ide.connection.execute("DELETE FROM cursorDiskKV")
    ide.connection.commit()
    gone = SOURCE.read(found, before.mark, None)
    assert (gone.session, gone.rewritten) == (None, True)


@pytest.mark.parametrize("content", [b"", b"no database at all", b"SQLite format 3\x00" + b"\xff" * 4096])
def test_a_file_that_is_no_database_does_no_harm(tmp_path: Path, content: bytes) -> None:
    path = write(tmp_path / "state.vscdb", content)
    assert list(SOURCE.find(Places(tmp_path, {}, {"cursor": str(path)}))) == []
    assert SOURCE.read(Transcript("cursor", path, f"{path}#c1", (), 0.0), None, None).session is None


def test_the_database_is_found_on_every_system(tmp_path: Path) -> None:
    assert list(SOURCE.find(Places(tmp_path))) == []
    mac = Ide(tmp_path / "mac")
    mac.composer()
    home = tmp_path / "home"
    library = home / "Library/Application Support"
    library.parent.mkdir(parents=True)
    (tmp_path / "mac/.config").rename(library)
    assert len(list(SOURCE.find(Places(home)))) == 1
    assert len(list(SOURCE.find(Places(tmp_path, {"APPDATA": str(library)})))) == 1
    assert len(list(SOURCE.find(Places(tmp_path, {}, {"cursor": str(library / "Cursor")})))) == 1


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from([1, 2, 7]), max_size=10), st.sets(st.integers(0, 10)))
def test_a_growing_talk_gives_each_message_once(
    tmp_path_factory: pytest.TempPathFactory, kinds: list[int], stops: set[int]
) -> None:
    ide = Ide(tmp_path_factory.mktemp("cursor"))
    reading, found = None, []
    for place, kind in enumerate([*kinds, 1]):
        ide.say(f"b{place}", kind, f"text {place}", place)
        ide.composer()
        if place in stops or place == len(kinds):
            reading = ide.read(reading)
            found += said(reading)
    ide.connection.close()
    assert [text for _, text in found] == [f"text {place}" for place, kind in enumerate([*kinds, 1]) if kind != 7]
