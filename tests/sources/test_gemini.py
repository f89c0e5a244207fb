"""Gemini CLI: a log of lines, or one document that is written anew; what was typed, not what was put in."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sources.steps import NOON, cut, in_steps, line, lines, read, said, stamp, write

from nacre.model import Kind
from nacre.sources.gemini import SOURCE
from nacre.sources.transcript import Mark, Places

HEAD = {"sessionId": "g1", "projectHash": "h", "startTime": stamp(0), "kind": "main"}


def message(name: str, kind: str, content: object, at: float = 0, **more: Any) -> dict[str, Any]:
    return {"id": name, "timestamp": stamp(at), "type": kind, "content": content} | more


def document(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {**HEAD, "messages": list(messages), **more}


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "session-2026-03-02T12-00-abcdef01.jsonl"


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    return tmp_path / "session-2026-03-02T12-00-abcdef01.json"


def test_a_message_that_is_written_again_is_taken_once(log: Path) -> None:
    called = message("a", "gemini", "looking", 2, toolCalls=[{"id": "t", "status": "executing"}])
    returned = message("a", "gemini", "looking", 2, toolCalls=[{"id": "t", "status": "success", "result": "x"}])
    write(
        log,
        lines(HEAD, message("u", "user", [{"text": "list files"}], 1), called, returned, {"$set": {"summary": "s"}}),
    )
    reading = read(SOURCE.read, log)
    assert said(reading) == [("owner", "list files"), ("agent", "looking")]
    assert reading.session
    assert (reading.session.id, reading.session.kind) == ("g1", Kind.MAIN)
    assert not reading.unknown


@pytest.mark.parametrize(
    "other",
    [
        message("x", "user", "<session_context>\nToday is"),
        message("x", "user", [{"text": "<hook_context>x</hook_context>"}]),
        message("x", "user", [{"functionResponse": {"id": "1", "response": {"output": "x"}}}]),
        message("x", "user", "/compress"),
        message("x", "user", "?"),
        message("x", "info", "Request cancelled."),
        message("x", "gemini", [{"text": "**Plan**", "thought": True}]),
        message("x", "gemini", "", toolCalls=[{"id": "t"}]),
        {"$set": {"lastUpdated": stamp(1)}},
        {"$set": {"messages": [message("s", "user", [{"text": "<session_context>\nToday"}], 1)]}},
    ],
)
def test_what_nobody_said_is_known_and_left_out(log: Path, other: dict[str, Any]) -> None:
    write(log, lines(HEAD, message("u", "user", "mine"), other))
    reading = read(SOURCE.read, log)
    assert said(reading) == [("owner", "mine")]
    assert not reading.unknown


def test_a_path_is_no_command(log: Path) -> None:
    write(log, lines(HEAD, message("u", "user", "/etc/hosts is wrong")))
    assert said(read(SOURCE.read, log)) == [("owner", "/etc/hosts is wrong")]


def test_the_files_that_a_prompt_names_are_not_the_users_words(log: Path) -> None:
    parts = [
        {"text": "explain @a.py"},
        {"text": "\n--- Content from referenced files ---"},
        {"text": "\nContent from @a.py:\n"},
        {"text": "import os"},
        {"text": "\n--- End of content ---"},
    ]
    write(
        log,
        lines(HEAD, message("1", "user", parts), message("2", "user", parts, 1, displayContent=[{"text": "typed"}])),
    )
    assert said(read(SOURCE.read, log)) == [("owner", "explain @a.py"), ("owner", "typed")]


def test_compression_neither_erases_nor_repeats_what_was_said(log: Path) -> None:
    summary = message("n1", "user", [{"text": "<state_snapshot>all of it</state_snapshot>"}], 9)
    kept = message("n2", "user", [{"text": "first"}], 9)
    answered = message("n3", "gemini", "later", 12)
    sent = {"$set": {"messages": [summary, kept]}}
    again = {"$set": {"messages": [message("n2", "user", [{"text": "first"}], 9), answered]}}
    write(log, lines(HEAD, message("u1", "user", "first", 1), sent, message("u2", "user", "second", 10), again))
    assert said(read(SOURCE.read, log)) == [("owner", "first"), ("owner", "second"), ("agent", "later")]


def test_messages_that_stand_only_in_what_is_sent_are_taken(log: Path) -> None:
    one, two = message("u1", "user", [{"text": "first"}], 1), message("g1", "gemini", [{"text": "reply"}], 2)
    write(log, lines(HEAD, {"$set": {"messages": [one]}}, {"$set": {"messages": [one, two]}}))
    assert said(read(SOURCE.read, log)) == [("owner", "first"), ("agent", "reply")]


def test_what_a_resumed_session_is_sent_again_under_new_ids_and_times_is_not_taken_twice(log: Path) -> None:
    talk = [HEAD, message("u1", "user", "ship it", 1), message("g1", "gemini", "shipped", 2)]
    copies = [message("n0", "user", "<session_context>\nToday", 20), message("n1", "user", [{"text": "ship it"}], 20)]
    copies += [message("n2", "gemini", [{"text": "shipped"}], 20)]
    again = [message("u2", "user", "ship it", 21), message("g2", "gemini", "shipped twice", 22)]
    resumed = [{"$set": {"messages": copies}}, *again]
    write(log, lines(*talk, *resumed))
    spoken = [("owner", "ship it"), ("agent", "shipped"), ("owner", "ship it"), ("agent", "shipped twice")]
    assert said(read(SOURCE.read, log)) == spoken
    write(log, lines(*talk))
    before = read(SOURCE.read, log)
    write(log, lines(*talk, *resumed))
    assert said(read(SOURCE.read, log, before.mark)) == spoken[2:]


def test_what_follows_the_copies_is_new(log: Path) -> None:
    first = [message("u1", "user", "ship it", 1), message("g1", "gemini", "shipped", 2)]
    copies = [message("n1", "user", [{"text": "ship it"}], 20), message("n2", "gemini", "shipped", 20)]
    new = [message("n3", "user", "on Tuesdays only", 21), message("n4", "user", "ship it", 22)]
    write(log, lines(HEAD, *first, {"$set": {"messages": [*copies, *new]}}))
    assert [text for _, text in said(read(SOURCE.read, log))] == ["ship it", "shipped", "on Tuesdays only", "ship it"]


def test_a_short_answer_that_comes_again_does_not_end_the_copies(log: Path) -> None:
    talk = ["start the job", "shall I go on?", "yes"]
    new = ["deploy on Friday then?", "we always deploy on Fridays", "go?", "yes", "done"]
    first = [message(f"u{at}", "user", text, at) for at, text in enumerate(talk, 1)]
    sent = [message(f"n{at}", "user", text, 20 + at) for at, text in enumerate([*talk, *new])]
    write(log, lines(HEAD, *first, {"$set": {"messages": sent}}))
    assert [text for _, text in said(read(SOURCE.read, log))] == [*talk, *new]


@pytest.mark.parametrize("name", ["session-1.jsonl", "session-1.json", "g1/task.jsonl"])
def test_the_folder_of_a_session_stands_beside_its_chats(tmp_path: Path, name: str) -> None:
    project = tmp_path / ".gemini/tmp/shop"
    spoken = message("1", "user", "one")
    write(project / "chats" / name, document(spoken) if name.endswith("json") else lines(HEAD, spoken))
    write(project / ".project_root", b"/work/shop")
    (found,) = SOURCE.find(Places(tmp_path))
    reading = SOURCE.read(found, None, None)
    assert reading.session
    assert reading.session.cwd == reading.mark.facts["cwd"] == "/work/shop"
    (project / ".project_root").unlink()
    again = SOURCE.read(found, None, None).session
    assert again
    assert again.cwd == ""


def test_rewinding_takes_back_a_message_and_all_after_it(log: Path) -> None:
    talk = [HEAD, message("u1", "user", "keep", 1), message("u2", "user", "wrong", 2), message("g2", "gemini", "so", 3)]
    back = [{"$rewindTo": "u2"}, message("u3", "user", "right", 4)]
    write(log, lines(*talk, *back))
    assert said(read(SOURCE.read, log)) == [("owner", "keep"), ("owner", "right")]
    write(log, lines(*talk))
    before = read(SOURCE.read, log)
    write(log, lines(*talk, *back))
    after = read(SOURCE.read, log, before.mark)
    assert after.rewritten
    assert said(after) == [("owner", "keep"), ("owner", "right")]


def test_rewinding_to_nothing_that_was_said_erases_nothing(log: Path) -> None:
    write(log, lines(HEAD, message("u1", "user", "keep", 1), {"$rewindTo": "never"}))
    assert said(read(SOURCE.read, log)) == [("owner", "keep")]


def test_only_new_messages_of_a_document_come_out(whole: Path) -> None:
    first, second = message("1", "user", "one"), message("2", "model", None, 1)
    second["parts"] = [{"text": "two"}]
    del second["content"]
    write(whole, document(first, second))
    before = read(SOURCE.read, whole)
    assert said(before) == [("owner", "one"), ("agent", "two")]
    assert before.mark.offset == 2
    write(whole, document(first, second, message("3", "user", "three", 2)))
    after = read(SOURCE.read, whole, before.mark)
    assert said(after) == [("owner", "three")]
    assert not after.rewritten


def test_a_document_that_tells_another_talk_is_noticed(whole: Path) -> None:
    write(whole, document(message("1", "user", "one"), message("2", "gemini", "two", 1)))
    mark = read(SOURCE.read, whole).mark
    for now in (document(message("9", "user", "other"), message("2", "gemini", "two", 1)), document()):
        write(whole, now)
        again = read(SOURCE.read, whole, mark)
        assert again.rewritten
        assert len(said(again)) == len(now["messages"])


def test_a_document_that_is_half_written_is_left_for_the_next_time(whole: Path) -> None:
    write(whole, document(message("1", "user", "one")))
    mark = read(SOURCE.read, whole).mark
    write(whole, json.dumps(document(message("1", "user", "one"), message("2", "user", "two"))).encode()[:-20])
    torn = read(SOURCE.read, whole, mark)
    assert (torn.session, torn.mark, torn.whole, torn.rewritten) == (None, mark, False, False)


def test_messages_of_a_document_after_the_moment_wait(whole: Path) -> None:
    write(whole, document(message("1", "user", "early"), message("2", "user", "late", 60), {"id": "3", "type": "user"}))
    early = read(SOURCE.read, whole, until=NOON + dt.timedelta(seconds=30))
    assert said(early) == [("owner", "early")]
    assert not early.whole
    late = read(SOURCE.read, whole, early.mark)
    assert said(late) == [("owner", "late")]
    assert late.unknown == 1


def test_the_form_of_checkpoints_is_read(whole: Path) -> None:
    history = [{"role": "user", "parts": [{"text": "look"}, {"inlineData": {"data": "AA"}}], "ts": NOON.timestamp()}]
    write(whole, {"history": history, "start_time": stamp(0)})
    reading = read(SOURCE.read, whole)
    assert said(reading) == [("owner", "look")]
    assert reading.session
    assert reading.session.id == whole.stem


def test_sub_agents_are_told_apart_and_a_document_that_became_lines_is_left_behind(tmp_path: Path) -> None:
    chats = tmp_path / ".gemini/tmp/abc/chats"
    old = write(chats / "session-1.json", document(message("1", "user", "one")))
    write(chats / "session-2.json", document())
    new = write(chats / "session-2.jsonl", line(HEAD))
    child = write(chats / "g1/task.jsonl", lines({**HEAD, "kind": "subagent"}, message("1", "user", "do")))
    write(chats / "session-3.json.bak", b"")
    found = list(SOURCE.find(Places(tmp_path)))
    assert [one.path for one in found] == sorted([old, new, child])
    kinds = [session.kind for one in found if (session := SOURCE.read(one, None, None).session)]
    assert sorted(kinds) == [Kind.ISOLATED, Kind.MAIN, Kind.MAIN]


TALK = lines(
    HEAD,
    {"$set": {"messages": [message("s0", "user", [{"text": "<session_context>x"}], 0)]}},
    message("u1", "user", [{"text": "héllo 你好"}], 1),
    message("g1", "gemini", "one", 2, toolCalls=[{"id": "t"}]),
    message("g1", "gemini", "one", 2, toolCalls=[{"id": "t", "result": "x"}]),
    message("u2", "user", "/about", 3),
    message("u3", "user", "wrong", 4),
    {"$rewindTo": "u2"},
    message("u4", "user", "right", 5),
    {"$set": {"messages": [message("n", "user", "<state_snapshot>s", 6), message("n4", "user", "right", 6)]}},
    message("g4", "gemini", "two", 7),
)
WHOLE = in_steps(SOURCE.read, "session-1.jsonl", [TALK])


@settings(max_examples=80, deadline=None)
@given(st.lists(st.integers(0, 1 << 16), max_size=8))
def test_reading_in_steps_is_reading_at_once(places: list[int]) -> None:
    assert [one.text for one in WHOLE] == ["héllo 你好", "one", "right", "two"]
    assert in_steps(SOURCE.read, "session-1.jsonl", cut(TALK, places)) == WHOLE


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(["user", "gemini", "info"]), max_size=12), st.sets(st.integers(0, 12)))
def test_a_growing_document_gives_each_message_once(
    tmp_path_factory: pytest.TempPathFactory, kinds: list[str], stops: set[int]
) -> None:
    path = tmp_path_factory.mktemp("gemini") / "session-1.json"
    messages = [message(f"m{place}", kind, f"text {place}", place) for place, kind in enumerate(kinds)]
    mark: Mark | None = None
    found: list[tuple[str, str]] = []
    for stop in sorted({stop for stop in stops if stop < len(kinds)} | {len(kinds)}):
        write(path, document(*messages[:stop]))
        reading = read(SOURCE.read, path, mark)
        mark, found = reading.mark, [*found, *said(reading)]
    assert [text for _, text in found] == [f"text {place}" for place, kind in enumerate(kinds) if kind != "info"]
