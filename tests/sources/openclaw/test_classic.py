"""OpenClaw to mid-2026: files of lines, an index of keys, and copies that are no sessions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sources.steps import cut, in_steps, lines, read, said, stamp, write

from nacre.model import Kind
from nacre.sources.openclaw import CLASSIC as SOURCE
from nacre.sources.transcript import Places, Transcript


def user(text: str, at: float, **more: Any) -> dict[str, Any]:
    return _event("user", text, at, **more)


def agent(text: str, at: float, **more: Any) -> dict[str, Any]:
    return _event("assistant", text, at, **more)


def _event(role: str, text: str, at: float, **more: Any) -> dict[str, Any]:
    message = {"role": role, "content": [{"type": "text", "text": text}]} | more
    return {"type": "message", "id": f"m{at}", "parentId": None, "timestamp": stamp(at), "message": message}


HEAD = {"type": "session", "version": 3, "id": "s1", "timestamp": stamp(0), "cwd": "/work/app"}
META = 'Conversation info (untrusted metadata):\n```json\n{{"sender_id": "{}", "sender": "{}", "group_subject": "Team"}}\n```\n\n{}'
TALK = lines(
    HEAD,
    user("[Sat 2026-02-14 18:49 GMT-3] use tabs", 1),
    agent("[[reply_to_current]] Done. 好的", 2),
    {"type": "message", "id": "t", "timestamp": stamp(3), "message": {"role": "toolResult", "content": "x" * 3000}},
    user("Read HEARTBEAT.md if it exists", 4),
    agent("HEARTBEAT_OK", 5),
    user("and spaces in YAML", 6),
    agent("NO_REPLY", 7),
    {"type": "reset", "id": "r", "timestamp": stamp(8)},
    user("[cron:1 water] Water", 9),
    agent("Watered.", 10),
    user("last", 11, __openclaw={"senderIsOwner": True}),
)


def found(home: Path) -> list[Transcript]:
    return list(SOURCE.find(Places(home)))


def sessions(home: Path, name: str = "main") -> Path:
    return home / ".openclaw/agents" / name / "sessions"


def test_a_talk_is_read_without_what_is_not_said(tmp_path: Path) -> None:
    reading = read(SOURCE.read, write(tmp_path / "s1.jsonl", TALK))
    assert said(reading) == [("owner", "use tabs"), ("agent", "Done. 好的"), ("owner", "last")]
    assert reading.session
    assert (reading.session.kind, reading.session.cwd) == (Kind.MAIN, "/work/app")
    assert reading.unknown == 0


WHOLE = in_steps(SOURCE.read, "s1.jsonl", [lines(*map(json.loads, TALK.splitlines()))])


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, len(TALK)), max_size=4))
def test_reading_in_steps_loses_nothing_of_what_is_surely_said(places: list[int]) -> None:
    """Only what silence takes back may have been given out before the silence was written."""
    stepwise = in_steps(SOURCE.read, "s1.jsonl", cut(TALK, places))
    assert [one for one in stepwise if one.text != "and spaces in YAML"] == WHOLE


def test_sessions_of_every_agent_are_found_and_copies_are_not(tmp_path: Path) -> None:
    for name in ("main", "work"):
        write(sessions(tmp_path, name) / "s1.jsonl", TALK)
        for copy in (
            "s1.trajectory.jsonl",
            "s1.checkpoint.2.jsonl",
            "s1.reset.1.jsonl",
            "s1.deleted.1.jsonl",
            "s1.jsonl.bak",
        ):
            write(sessions(tmp_path, name) / copy, TALK)
        write(sessions(tmp_path, name) / "session-sqlite-import-archive/s2.jsonl", TALK)
    assert [one.path.relative_to(tmp_path).parts[2] for one in found(tmp_path)] == ["main", "work"]


def test_the_index_tells_the_kind_and_a_broken_one_is_done_without(tmp_path: Path) -> None:
    folder = sessions(tmp_path)
    for name in ("a", "b", "c"):
        write(folder / f"{name}.jsonl", lines(HEAD, user("hello", 1)))
    keys = {"agent:main:main": "a", "agent:main:cron:1": "b", "agent:main:slack:channel:9": "c"}
    write(folder / "sessions.json", {key: {"sessionId": name} for key, name in keys.items()})
    kinds = [reading.session.kind for one in found(tmp_path) if (reading := SOURCE.read(one, None, None)).session]
    assert kinds == [Kind.MAIN, Kind.ISOLATED, Kind.GROUP]
    for broken in (b"{", b"[]", b'{"a": 1, "b": {"sessionId": null}}'):
        write(folder / "sessions.json", broken)
        assert len(found(tmp_path)) == 3


def test_a_group_knows_its_owner_by_the_direct_chat(tmp_path: Path) -> None:
    folder = sessions(tmp_path)
    words = [user(META.format("111", "Robin", "mine"), 1), user(META.format("222", "Kim", "theirs"), 2)]
    write(folder / "g-topic-7.jsonl", lines(HEAD, *words))
    keys = {"agent:main:telegram:group:-100": "g", "agent:main:telegram:direct:111": "d"}
    write(folder / "sessions.json", {key: {"sessionId": name} for key, name in keys.items()})
    (one,) = found(tmp_path)
    reading = SOURCE.read(one, None, None)
    assert said(reading) == [("owner", "mine"), ("other", "theirs")]
    assert reading.session
    assert (reading.session.kind, reading.session.group) == (Kind.GROUP, "Team")
    assert [message.name for message in reading.session.messages] == ["Robin", "Kim"]


def test_a_session_whose_first_prompt_is_a_scheduled_run_is_nobodys(tmp_path: Path) -> None:
    reading = read(
        SOURCE.read, write(tmp_path / "s.jsonl", lines(HEAD, user("[cron:1 water] Water", 1), agent("Did.", 2)))
    )
    assert reading.session
    assert reading.session.kind is Kind.ISOLATED


def test_the_state_folder_may_lie_elsewhere(tmp_path: Path) -> None:
    write(tmp_path / "state/agents/main/sessions/s.jsonl", TALK)
    assert len(list(SOURCE.find(Places(tmp_path, {"OPENCLAW_STATE_DIR": str(tmp_path / "state")})))) == 1


def test_public_samples_of_the_form_are_understood(tmp_path: Path) -> None:
    """Laid out as in published transcripts: system rows, unknown types, results as strings."""
    data = lines(
        {"type": "session", "id": "s", "version": 3, "timestamp": stamp(0), "cwd": "/tmp/drift"},
        {"type": "custom", "id": "c1", "customType": "ui_state", "data": {}, "timestamp": stamp(0)},
        user("Need a quick diagnostic", 1),
        {"type": "message", "id": "m4", "timestamp": stamp(4), "message": {"role": "system", "content": "summary"}},
        {"type": "compact", "id": "unknown-1", "timestamp": stamp(5), "note": "legacy"},
    )
    reading = read(SOURCE.read, write(tmp_path / "s.jsonl", data))
    assert said(reading) == [("owner", "Need a quick diagnostic")]
    assert reading.unknown == 0
