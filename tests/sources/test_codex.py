"""Codex: every prompt once, told from what the program sends along; sub-agents and forks told apart."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sources.steps import NOON, cut, in_steps, lines, read, said, stamp, write

from nacre.model import Kind
from nacre.sources.codex import SOURCE
from nacre.sources.transcript import Places

NAME = "rollout-2026-03-02T12-00-00-019b2ea4-aaaa-7bbb-8ccc-58208e1f0000.jsonl"
ID = "019b2ea4-aaaa-7bbb-8ccc-58208e1f0000"


def wrap(kind: str, payload: dict[str, Any], at: float = 0) -> dict[str, Any]:
    return {"timestamp": stamp(at), "type": kind, "payload": payload}


def meta(at: float = 0, **more: Any) -> dict[str, Any]:
    return wrap("session_meta", {"id": "s1", "timestamp": stamp(at), "cwd": "/work/app", "source": "cli"} | more, at)


def event(kind: str, at: float = 0, **more: Any) -> dict[str, Any]:
    return wrap("event_msg", {"type": kind, **more}, at)


def prompt(text: str, at: float = 0) -> dict[str, Any]:
    return event("user_message", at, message=text)


def answer(text: str, at: float = 0) -> dict[str, Any]:
    return event("agent_message", at, message=text)


def item(role: str, text: str, at: float = 0) -> dict[str, Any]:
    content = [{"type": "input_text" if role == "user" else "output_text", "text": text}]
    return wrap("response_item", {"type": "message", "role": role, "content": content}, at)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / NAME


def test_every_prompt_and_answer_is_taken_once(path: Path) -> None:
    talk = [
        meta(),
        item("developer", "<permissions instructions>"),
        item("user", "# AGENTS.md instructions for /w"),
        item("user", "<environment_context>x</environment_context>"),
        item("user", "use tabs", 1),
        prompt("use tabs", 1),
        answer("done", 2),
        item("assistant", "done", 2),
        item("user", "and spaces", 3),
        prompt("and spaces", 3),
        item("assistant", "no", 4),
        answer("no", 4),
    ]
    write(path, lines(*talk))
    reading = read(SOURCE.read, path)
    assert said(reading) == [("owner", "use tabs"), ("agent", "done"), ("owner", "and spaces"), ("agent", "no")]
    assert reading.session
    assert (reading.session.id, reading.session.cwd, reading.session.kind) == ("s1", "/work/app", Kind.MAIN)
    assert not reading.unknown


def test_without_events_the_items_are_taken(path: Path) -> None:
    injected = item("user", "<user_instructions>x</user_instructions>")
    write(
        path, lines(meta(), injected, item("user", "use tabs"), item("assistant", "done", 1), item("user", "thanks", 2))
    )
    assert said(read(SOURCE.read, path)) == [("owner", "use tabs"), ("agent", "done"), ("owner", "thanks")]


def test_the_same_prompt_twice_is_two_prompts(path: Path) -> None:
    def completed(text: str, at: float) -> dict[str, Any]:
        told = {"type": "UserMessage", "content": [{"type": "text", "text": text}]}
        return event("item_completed", at, item=told)

    talk = [
        meta(),
        prompt("go on", 1),
        completed("go on", 1),
        prompt("go on", 9),
        completed("go on", 9),
        prompt("go on", 20),
    ]
    write(path, lines(*talk))
    assert said(read(SOURCE.read, path)) == [("owner", "go on")] * 3


def test_items_that_were_completed_tell_a_talk_too(path: Path) -> None:
    told = {"type": "UserMessage", "content": [{"type": "text", "text": "use tabs"}]}
    reply = {"type": "AgentMessage", "content": [{"type": "Text", "text": "done"}]}
    other = {"type": "CommandExecution", "command": ["ls"]}
    completed = [event("item_completed", at, item=one) for at, one in enumerate((told, other, reply))]
    write(path, lines(meta(), *completed))
    assert said(read(SOURCE.read, path)) == [("owner", "use tabs"), ("agent", "done")]


@pytest.mark.parametrize("name", ["Codex", ""])
def test_what_an_editor_puts_around_a_request_is_not_the_users(path: Path, name: str) -> None:
    asked = f"## My request for {name}:" if name else "## My request:"
    around = f"# Context from my IDE setup:\n\n## Active file: a.py\n\n{asked}\nrename it"
    write(path, lines(meta(), prompt(around), prompt("# Context from my IDE setup:\n\n## Open tabs:\n- a.py", 1)))
    assert said(read(SOURCE.read, path)) == [("owner", "rename it")]


def test_compaction_repeats_nothing_and_new_kinds_are_passed_over(path: Path) -> None:
    history = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "old"}]}]
    compacted = wrap("compacted", {"message": "summary", "replacement_history": history})
    strange = [event("never_heard_of"), wrap("never", {}), wrap("response_item", {"type": "never"})]
    output = wrap("response_item", {"type": "function_call_output", "output": "x" * 5000})
    write(path, lines(meta(), prompt("mine"), compacted, output, *strange))
    reading = read(SOURCE.read, path)
    assert said(reading) == [("owner", "mine")]
    assert not reading.unknown


@pytest.mark.parametrize(
    ("told", "kind"),
    [
        ({"source": {"subagent": {"thread_spawn": {"parent_thread_id": "p"}}}}, Kind.ISOLATED),
        ({"source": {"internal": "memory"}}, Kind.ISOLATED),
        ({"parent_thread_id": "p"}, Kind.ISOLATED),
        ({"thread_source": "subagent"}, Kind.ISOLATED),
        ({"source": "mcp"}, Kind.ISOLATED),
        ({"source": "exec", "originator": "codex_exec"}, Kind.MAIN),
        ({"source": "vscode"}, Kind.MAIN),
        ({"source": [1]}, Kind.MAIN),
    ],
)
def test_who_talks_is_told_by_the_first_entry(path: Path, told: dict[str, Any], kind: Kind) -> None:
    write(path, lines(meta(**told), meta(id="parent"), prompt("hello")))
    reading = read(SOURCE.read, path)
    assert reading.session
    assert (reading.session.kind, reading.session.id) == (kind, "s1")


def test_what_a_fork_repeats_is_left_out(path: Path) -> None:
    copied = [meta(0.01, id="parent"), prompt("old", 0.02), answer("older", 0.3)]
    write(path, lines(meta(forked_from_id="parent"), *copied, prompt("new", 8), answer("newer", 8.2)))
    assert said(read(SOURCE.read, path)) == [("owner", "new"), ("agent", "newer")]


def test_a_fork_that_only_names_where_it_branched_off_repeats_nothing(path: Path) -> None:
    branched = meta(forked_from_id="parent", forked_from_ordinal_exclusive=55)
    write(path, lines(branched, event("task_started", 0.1), prompt("new", 0.4), answer("newer", 0.9)))
    assert said(read(SOURCE.read, path)) == [("owner", "new"), ("agent", "newer")]


def test_going_back_takes_back_what_was_said(path: Path) -> None:
    talk = [meta(), prompt("keep", 1), answer("kept", 2), prompt("wrong", 3), answer("so it is", 4)]
    back = [event("thread_rolled_back", 5, num_turns=1), prompt("right", 6)]
    write(path, lines(*talk, *back))
    assert said(read(SOURCE.read, path)) == [("owner", "keep"), ("agent", "kept"), ("owner", "right")]
    write(path, lines(*talk))
    before = read(SOURCE.read, path)
    write(path, lines(*talk, *back))
    after = read(SOURCE.read, path, before.mark)
    assert after.rewritten
    assert said(after) == [("owner", "keep"), ("agent", "kept"), ("owner", "right")]


def test_a_session_without_its_first_entry_is_named_by_its_file(path: Path) -> None:
    write(path, lines(prompt("hello")))
    reading = read(SOURCE.read, path)
    assert reading.session
    assert reading.session.id == ID


def test_entries_after_the_moment_wait(path: Path) -> None:
    write(path, lines(meta(), prompt("early"), prompt("late", 60)))
    early = read(SOURCE.read, path, until=NOON + dt.timedelta(seconds=30))
    assert said(early) == [("owner", "early")]
    assert not early.whole
    assert said(read(SOURCE.read, path, early.mark)) == [("owner", "late")]


def test_an_archived_session_keeps_its_key(tmp_path: Path) -> None:
    places = Places(tmp_path, {"CODEX_HOME": str(tmp_path)})
    active = write(tmp_path / "sessions/2026/03/02" / NAME, lines(meta()))
    (before,) = SOURCE.find(places)
    archived = tmp_path / "archived_sessions" / NAME
    archived.parent.mkdir()
    active.rename(archived)
    (after,) = SOURCE.find(places)
    assert (before.key, after.path) == (after.key, archived)


TALK = lines(
    meta(),
    item("user", "<environment_context>x"),
    item("user", "héllo 你好", 1),
    prompt("héllo 你好", 1),
    item("assistant", "one", 2),
    answer("one", 2),
    event("token_count", 2),
    prompt("wrong", 3),
    answer("so it is", 4),
    event("thread_rolled_back", 5, num_turns=1),
    prompt("right", 6),
    item("user", "right", 6),
    answer("two", 7),
    event("task_complete", 8),
)
WHOLE = in_steps(SOURCE.read, NAME, [TALK])


@settings(max_examples=80, deadline=None)
@given(st.lists(st.integers(0, 1 << 16), max_size=8))
def test_reading_in_steps_is_reading_at_once(places: list[int]) -> None:
    assert [message.text for message in WHOLE] == ["héllo 你好", "one", "right", "two"]
    assert in_steps(SOURCE.read, NAME, cut(TALK, places)) == WHOLE
