"""Databases as OpenClaw might leave them: rewritten, torn, locked, growing meanwhile, of another form."""

from __future__ import annotations

import json
import random
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from tests.sources.steps import said

from nacre.model import Kind
from nacre.sources import transcript
from nacre.sources.openclaw import DATABASE as SOURCE
from nacre.sources.transcript import Mark, Places, Transcript, open_readonly

from .store import Store, agent, head, says, user, zstd

TABLES = ("transcript_events", "session_windows", "session_nodes", "transcript_rewrite_watermarks")


def packed(event: dict[str, Any]) -> bytes:
    return bytes(zstd.compress(json.dumps(event).encode()))


def test_what_is_new_comes_out_once_and_the_stamp_tells_of_it(store: Store) -> None:
    store.session("s")
    store.add("s", head("s"), user("one", 1))
    stamp, first = store.found()["s"].stamp, store.read("s")
    assert store.found()["s"].stamp == stamp
    store.add("s", agent("two", 2))
    assert store.found()["s"].stamp != stamp
    second = store.read("s", first)
    assert (said(first), said(second)) == ([("owner", "one")], [("agent", "two")])
    assert not second.rewritten
    assert said(store.read("s", second)) == []


def test_another_generation_is_read_again_from_its_beginning(store: Store) -> None:
    store.session("s")
    store.add("s", head("s"), user("my key is on the table", 1), user("two", 2))
    stamp, before = store.found()["s"].stamp, store.read("s")
    rewritten = json.dumps(user("my key is ***", 1))
    store.run("UPDATE transcript_events SET event_json = ? WHERE session_id = 's' AND seq = 1", rewritten)
    store.generation("s", "another")
    assert store.found()["s"].stamp != stamp
    after = store.read("s", before)
    assert after.rewritten
    assert said(after) == [("owner", "my key is ***"), ("owner", "two")]
    assert not store.read("s", after).rewritten


def test_a_session_with_fewer_events_than_were_read_was_rewritten(store: Store) -> None:
    store.session("s")
    store.add("s", head("s"), user("one", 1), user("two", 2))
    before = store.read("s")
    store.run("DELETE FROM transcript_events WHERE session_id = 's' AND seq > 1")
    after = store.read("s", before)
    assert after.rewritten
    assert said(after) == [("owner", "one")]


def test_a_session_that_is_gone_is_none(store: Store) -> None:
    store.session("s")
    store.add("s", head("s"), user("one", 1))
    listed, before = store.found()["s"], store.read("s")
    store.run("DELETE FROM transcript_events")
    store.run("DELETE FROM session_windows")
    assert store.found() == {}
    after = SOURCE.read(listed, before.mark, None)
    assert after.session is None
    assert after.rewritten


@pytest.mark.parametrize(
    ("key", "window", "node", "kind"),
    [
        ("agent:main:main", {}, {"created_via": "run"}, Kind.MAIN),
        ("agent:main:web", {"chat_type": "direct"}, {"created_via": "operator"}, Kind.MAIN),
        ("agent:main:dashboard:1", {}, {"created_via": "operator", "parent_session_key": "agent:main:web"}, Kind.MAIN),
        ("agent:main:talk", {}, {"created_via": "talk"}, Kind.MAIN),
        ("agent:main:x", {"chat_type": "group"}, {"created_via": "channel"}, Kind.GROUP),
        ("agent:main:x", {"session_scope": "channel"}, {}, Kind.GROUP),
        ("agent:main:slack:channel:c1", {}, {}, Kind.GROUP),
        ("agent:main:x", {}, {"created_via": "cron"}, Kind.ISOLATED),
        ("agent:main:x", {}, {"created_via": "internal"}, Kind.ISOLATED),
        ("agent:main:x", {}, {"created_via": "plugin"}, Kind.ISOLATED),
        ("agent:main:x", {"plugin_owner_id": "memory-core"}, {}, Kind.ISOLATED),
        ("agent:main:x", {"hook_external_content_source": "gmail"}, {}, Kind.ISOLATED),
        ("agent:main:x", {"spawned_by": "agent:main:main"}, {}, Kind.ISOLATED),
        ("agent:main:x", {"chat_type": "group"}, {"created_via": "spawn"}, Kind.ISOLATED),
    ],
)
def test_keys_and_makers_tell_the_kind(
    store: Store, key: str, window: dict[str, Any], node: dict[str, Any], kind: Kind
) -> None:
    store.session("s", key, **window)
    store.node(key, **node)
    store.add("s", head("s"), user("hello", 1))
    session = store.read("s").session
    assert session
    assert session.kind is kind


@pytest.mark.parametrize(
    ("node", "group"),
    [
        ({"entry_json": '{"subject": "Garden Club"}', "display_name": "telegram:g-garden"}, "Garden Club"),
        ({"entry_json": '{"groupChannel": "#general"}'}, "#general"),
        ({"entry_json": "{", "display_name": "telegram:g-garden-club"}, "garden-club"),
        ({"entry_json": '{"subject": "-1001234500001"}', "display_name": "telegram:g--1001234500001"}, "group"),
        ({"entry_json": None}, "group"),
    ],
)
def test_a_group_is_called_by_its_name_never_by_its_id(store: Store, node: dict[str, Any], group: str) -> None:
    key = "agent:main:telegram:group:-1001234500001"
    store.session("s", key, chat_type="group")
    store.node(key, **node)
    store.add("s", head("s"), user("hello", 1))
    session = store.read("s").session
    assert session
    assert session.group == group


def test_a_group_without_marks_knows_the_owner_by_the_direct_chat(store: Store) -> None:
    store.session("s", "agent:main:telegram:group:-100")
    store.node("agent:main:telegram:direct:111")
    mine, theirs = ({"senderId": one} for one in ("111", "222"))
    store.add("s", head("s"), says("user", "mine", 1, __openclaw=mine), says("user", "theirs", 2, __openclaw=theirs))
    assert said(store.read("s")) == [("owner", "mine"), ("other", "theirs")]


def test_a_fork_is_told_only_from_where_it_left_its_source(store: Store) -> None:
    talk = [user("shared", 1), agent("yes", 2)]
    store.session("a")
    store.add("a", head("a"), *talk, user("only here", 3))
    store.session("b", "agent:main:dashboard:1")
    store.node("agent:main:dashboard:1", created_via="operator", fork_source_session_id="a")
    store.add("b", head("b", 10), *talk)
    first = store.read("b")
    assert said(first) == []
    store.add("b", user("only there", 20))
    assert said(store.read("b", first)) == said(store.read("b")) == [("owner", "only there")]
    store.session("c", "agent:main:dashboard:1", previous_session_id="b")
    store.add("c", head("c", 30), *talk, user("only there", 20), user("newest", 40))
    assert said(store.read("c")) == [("owner", "newest")]
    assert said(store.read("a")) == [("owner", "shared"), ("agent", "yes"), ("owner", "only here")]


def test_a_successor_that_is_no_copy_is_told_whole(store: Store) -> None:
    store.session("a")
    store.add("a", head("a"), user("yesterday", 1))
    store.session("b", previous_session_id="a")
    store.add("b", head("b", 10), user("a moment older than its session", 9.99), user("today", 20))
    assert [text for _, text in said(store.read("b"))] == ["a moment older than its session", "today"]
    store.run("DELETE FROM transcript_events WHERE session_id = 'a'")
    assert [text for _, text in said(store.read("b"))] == ["a moment older than its session", "today"]


def test_sessions_brought_over_from_files_are_told_whole_though_older_than_their_rows(store: Store) -> None:
    store.session("s", created_at=32503680000000, transcript_updated_at=32503680000000)
    store.add("s", head("s"), user("long ago", 1))
    assert said(store.read("s")) == [("owner", "long ago")]
    assert store.found()["s"].changed < 2e9


def test_an_incognito_session_is_not_even_listed(store: Store) -> None:
    store.session("s", "agent:main:dashboard:incognito-1")
    store.add("s", head("s"), user("private", 1))
    store.session("t", "agent:main:dashboard:legacy-incognito-1")
    store.add("t", head("t"), user("not so", 1))
    assert list(store.found()) == ["t"]


def test_a_session_in_which_nothing_stands_is_not_listed(store: Store) -> None:
    store.session("s")
    assert store.found() == {}


@pytest.mark.parametrize(
    "row",
    [
        (None, b"no frame"),
        (None, b""),
        (None, zstd.compress(b"no json")),
        (None, zstd.compress(b'{"type":"message"}')[:-3]),
        (None, None),
        ("{", None),
        ("[1]", None),
        ("[" * 100_000, None),
        (7, None),
    ],
)
def test_a_row_that_cannot_be_decoded_is_counted_and_passed(store: Store, row: tuple[object, object]) -> None:
    store.session("s")
    store.add("s", head("s"), user("before", 1))
    store.row("s", 2, row[0], packed=row[1])
    store.add("s", user("after", 3))
    reading = store.read("s")
    assert said(reading) == [("owner", "before"), ("owner", "after")]
    assert (reading.unknown, reading.whole, reading.mark.offset) == (1, True, 4)


def test_what_a_tool_returned_is_not_unpacked(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.session("s")
    store.add("s", head("s"))
    store.row("s", 1, None, packed=b"never looked at")
    navigation = '{"version":1,"navigation":{"message":{"role":"toolResult"}}}'
    store.run("UPDATE transcript_events SET navigation_json = ? WHERE seq = 1", navigation)
    assert store.read("s").unknown == 0


def _mutant(rng: random.Random, event: dict[str, Any]) -> tuple[object, object]:
    raw = bytearray(json.dumps(event).encode())
    for _ in range(rng.randint(1, 6)):
        raw[rng.randrange(len(raw))] = rng.randrange(256)
    match rng.randrange(6):
        case 0:
            return bytes(raw).decode("utf-8", errors="replace"), None
        case 1:
            return None, bytes(zstd.compress(bytes(raw)))
        case 2:
            frame = bytearray(packed(event))
            frame[rng.randrange(len(frame))] ^= 1 << rng.randrange(8)
            return None, bytes(frame)
        case 3:
            return bytes(raw), None
        case 4:
            strange: list[object] = [None, [], {}, True, 10**30, -1e300, "\ud800", "", [[{}]], {"kind": []}]
            broken = json.loads(json.dumps(event))
            for holder in (broken, broken["message"], broken["message"]["__openclaw"]):
                holder[rng.choice(list(holder))] = rng.choice(strange)
            return json.dumps(broken), None
        case _:
            return rng.choice((None, "null", "7", '{"a":' * 3000, "", "\0")), None


def test_two_thousand_broken_rows_do_no_harm(store: Store) -> None:
    rng = random.Random("rows of openclaw")
    store.session("s")
    store.add("s", head("s"))
    good = sorted(rng.sample(range(1, 2041), 40))
    store.run("BEGIN")
    for seq in range(1, 2041):
        if seq in good:
            store.add("s", user(f"good words {good.index(seq)}", 1), begin=seq)
        else:
            store.row("s", seq, *_mutant_row(rng))
    store.run("COMMIT")
    begin = time.process_time()
    reading = store.read("s")
    assert time.process_time() - begin < 5
    heard = [text for _, text in said(reading) if text.startswith("good words")]
    assert heard == [f"good words {number}" for number in range(40)]
    assert reading.unknown > 500
    assert reading.mark.offset == 2041
    for message in reading.session.messages if reading.session else ():
        assert message.text.encode()
        assert message.at.tzinfo


def _mutant_row(rng: random.Random) -> tuple[object, None, object]:
    plain, frame = _mutant(rng, user("bad words", 1))
    return plain, None, frame


def test_a_writer_that_goes_on_is_followed_without_loss_or_repetition(store: Store) -> None:
    store.session("s")
    store.add("s", head("s"))
    count = 400

    def write() -> None:
        for number in range(count):
            store.add("s", user(f"words {number}", 1 + number))

    writer = threading.Thread(target=write)
    heard: list[str] = []
    reading = None
    writer.start()
    while True:
        done = not writer.is_alive()
        reading = store.read("s", reading)
        if reading.session:
            heard += [message.text for message in reading.session.messages]
        if done:
            break
    writer.join()
    assert heard == [f"words {number}" for number in range(count)]
    assert store.path.with_name(f"{store.path.name}-wal").stat().st_size > 0


def test_a_reader_does_not_hold_up_the_writer(store: Store) -> None:
    store.session("s")
    store.add("s", head("s"), user("one", 1))
    with open_readonly(store.path) as connection:
        connection.execute("BEGIN")
        connection.execute("SELECT * FROM transcript_events").fetchone()
        store.add("s", user("two", 2))
    assert len(said(store.read("s"))) == 2


def test_a_locked_database_is_asked_again_the_next_time(tmp_path: Path) -> None:
    store = Store(tmp_path, journal="delete")
    store.session("s")
    store.add("s", head("s"), user("one", 1), user("two", 2))
    listed = store.found()["s"]
    first = SOURCE.read(listed, None, None)
    store.run("BEGIN EXCLUSIVE")
    assert store.found() == {}
    with pytest.raises(OSError, match="locked"):
        SOURCE.read(listed, first.mark, None)
    store.run("ROLLBACK")
    assert said(SOURCE.read(listed, first.mark, None)) == []
    store.close()


@pytest.mark.parametrize("table", TABLES)
def test_a_missing_table_is_done_without_or_nothing_is_told(store: Store, table: str) -> None:
    store.session("s")
    store.add("s", head("s"), user("one", 1))
    listed = store.found()["s"]
    store.run(f"DROP TABLE {table}")
    if table == "transcript_events":
        assert store.found() == {}
        with pytest.raises(OSError, match="no such table"):
            SOURCE.read(listed, None, None)
        return
    reading = SOURCE.read(listed, None, None)
    if table in ("session_nodes", "transcript_rewrite_watermarks"):
        assert said(reading) == [("owner", "one")]
        assert list(store.found()) == ["s"]
        store.add("s", agent("two", 2))
        assert said(SOURCE.read(listed, reading.mark, None)) == [("agent", "two")]
    else:
        assert reading.session is None
        assert store.found() == {}


def test_a_table_of_another_form_is_nothing(store: Store) -> None:
    store.run("DROP TABLE session_windows")
    store.run("CREATE TABLE session_windows (id)")
    assert store.found() == {}
    with pytest.raises(OSError, match="no such column"):
        SOURCE.read(Transcript("openclaw", store.path, f"{store.path}#s", (), 0.0), None, None)


@pytest.mark.parametrize("data", [b"", b"no database at all" * 300, b"SQLite format 3\0" + bytes(5000)])
def test_a_file_that_is_no_database_is_nothing_and_stays_as_it_is(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / ".openclaw/agents/main/agent/openclaw-agent.sqlite"
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    assert list(SOURCE.find(Places(tmp_path))) == []
    with suppress(OSError):
        assert SOURCE.read(Transcript("openclaw", path, f"{path}#s", (), 0.0), Mark(3, "g"), None).session is None
    assert path.read_bytes() == data


def test_a_database_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    path = tmp_path / "agents/main/agent/openclaw-agent.sqlite"
    path.parent.mkdir(parents=True)
    assert list(SOURCE.find(Places(tmp_path, {"OPENCLAW_STATE_DIR": str(tmp_path)}))) == []
    with pytest.raises(OSError):
        SOURCE.read(Transcript("openclaw", path, f"{path}#s", (), 0.0), None, None)
    assert not path.exists()


def test_damaged_pages_raise_nothing_but_that_they_cannot_be_read(tmp_path: Path) -> None:
    store = Store(tmp_path, journal="delete")
    for name in ("a", "b", "c"):
        store.session(name)
        store.add(name, head(name), *(user(f"{'words ' * 50}{at}", at) for at in range(1, 60)))
    listed = store.found()
    store.close()
    whole = store.path.read_bytes()
    rng = random.Random("pages")
    for _ in range(60):
        data = bytearray(whole)
        for _ in range(20):
            at = rng.randrange(100, len(data))
            data[at : at + 8] = rng.randbytes(8)
        store.path.write_bytes(data)
        list(SOURCE.find(Places(tmp_path)))
        for one in listed.values():
            with suppress(OSError):
                SOURCE.read(one, None, None)


def test_only_the_four_tables_are_ever_read(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    key = "agent:main:telegram:group:-100"
    store.session("s", key, chat_type="group", previous_session_id="t")
    store.node(key, fork_source_session_id="t")
    store.session("t")
    store.add("t", head("t"), user("one", 1))
    store.add("s", head("s", 5), user("one", 1), user("two", 9))
    touched: set[str] = set()

    @contextmanager
    def watched(path: Path) -> Iterator[sqlite3.Connection]:
        with open_readonly(path) as connection:
            connection.set_authorizer(authorize)
            yield connection

    def authorize(action: int, first: str | None, *_: object) -> int:
        if action == sqlite3.SQLITE_READ and first:
            touched.add(first)
        return sqlite3.SQLITE_OK

    monkeypatch.setattr(transcript, "open_readonly", watched)
    assert said(store.read("s")) == [("owner", "two")]
    assert touched == set(TABLES)
