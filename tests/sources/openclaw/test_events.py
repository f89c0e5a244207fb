"""OpenClaw's events: whose words they carry, which are the program's, what kind of session they make."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

import pytest
from tests.sources.steps import NOON, stamp

from nacre.model import Kind, Message, Session, Speaker
from nacre.sources.openclaw import kind_of_key, owner_ids, session_of, take
from nacre.sources.transcript import MALFORMED, Notes, parse_time

OWNER = {"senderIsOwner": True}


def event(role: str, content: object, at: float = 1, **more: Any) -> dict[str, Any]:
    return {
        "type": "message",
        "id": f"e{at}",
        "timestamp": stamp(at),
        "message": {"role": role, "content": content} | more,
    }


def taken(*events: dict[str, Any], known: Mapping[str, Any] | None = None) -> Session:
    notes = Notes()
    for number, entry in enumerate(events):
        take(known or {}, entry, parse_time(entry.get("timestamp")), str(number), notes)
    return session_of("s", known or {}, notes)


def heard(session: Session) -> list[tuple[str, str]]:
    return [(message.speaker.value, message.text) for message in session.messages]


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("agent:main:main", Kind.MAIN),
        ("agent:main:kitchen", Kind.MAIN),
        ("agent:main:telegram:direct:111", Kind.MAIN),
        ("agent:main:dashboard:5e6c9eb7", Kind.MAIN),
        ("agent:node:main", Kind.MAIN),
        ("agent:cron:telegram:direct:1", Kind.MAIN),
        ("agent:main:telegram:group:-100", Kind.GROUP),
        ("agent:main:telegram:group:-100:topic:77", Kind.GROUP),
        ("agent:main:discord:channel:99", Kind.GROUP),
        ("agent:main:cron:7323", Kind.ISOLATED),
        ("cron:7323", Kind.ISOLATED),
        ("hook:5e6c", Kind.ISOLATED),
        ("agent:main:hook:gmail:1", Kind.ISOLATED),
        ("agent:main:subagent:c86a", Kind.ISOLATED),
        ("agent:main:telegram:group:-100:subagent:c86a", Kind.ISOLATED),
        ("agent:main:internal-session-effects:run-1", Kind.ISOLATED),
        ("agent:main:main:heartbeat", Kind.ISOLATED),
        ("agent:main:heartbeat-recovered-2026", Kind.ISOLATED),
    ],
)
def test_the_key_tells_the_kind(key: str, kind: Kind) -> None:
    assert kind_of_key(key) is kind


def test_who_alone_talks_directly_is_the_owner() -> None:
    keys = ["agent:main:telegram:direct:111", "agent:main:signal:direct:5", "agent:main:signal:dm:6", "agent:main:main"]
    assert owner_ids(keys) == ("111",)


def test_other_roles_and_types_are_no_talk() -> None:
    session = taken(
        {"type": "session", "version": 4, "id": "x", "timestamp": stamp(0), "cwd": "/w"},
        {"type": "leaf", "id": "l", "targetId": "x", "timestamp": stamp(1)},
        {"type": "reset", "reason": "new", "timestamp": stamp(1)},
        {"type": "compaction", "summary": "all that was said", "timestamp": stamp(1)},
        event("toolResult", "output"),
        event("custom", "", customType="openclaw.nested-tool.v1", display=True),
        event("bashExecution", "", command="ls", output="x"),
        event("assistant", [], stopReason="error", errorMessage="Connection error."),
        event("assistant", [{"type": "toolCall", "name": "read"}, {"type": "thinking", "thinking": "hm"}]),
    )
    assert heard(session) == []
    assert session.cwd == "/w"


@pytest.mark.parametrize("kind", ["internal_system", "inter_session", "something new"])
def test_a_turn_that_no_person_began_is_nobodys_with_its_answer(kind: str) -> None:
    session = taken(
        event("user", "Remind them of the bins", 1, provenance={"kind": kind}, __openclaw={"senderIsOwner": False}),
        event("assistant", "Put the bins out.", 2),
        event("user", "Done", 3, __openclaw=OWNER),
        event("assistant", "Good.", 4),
    )
    assert heard(session) == [("owner", "Done"), ("agent", "Good.")]


def test_a_prompt_of_the_program_without_provenance_is_nobodys_too() -> None:
    session = taken(event("user", "[OpenClaw heartbeat poll]", 1), event("assistant", "Nothing due.", 2))
    assert heard(session) == []


def test_hidden_rows_and_those_brought_over_from_another_agent_are_left_out() -> None:
    over = {"mirrorOrigin": "claude-catalog-import"}
    session = taken(
        event("user", "hidden", 1, display=False),
        event("user", "in the other agent", 2, __openclaw=over),
        event("assistant", "there too", 3, __openclaw=over),
        event("user", "from outside", 4, provenance={"kind": "external_user"}),
    )
    assert heard(session) == [("owner", "from outside")]


def test_what_was_delivered_is_not_heard_twice() -> None:
    mirror = {"provider": "openclaw", "model": "delivery-mirror"}
    session = taken(
        event("user", "count", 1, __openclaw=OWNER),
        event("assistant", "Four.", 2),
        event("assistant", "Four.", 3, **mirror, openclawDelivery={}),
        event("assistant", "You are not authorized", 4, provider="openclaw", model="gateway-injected"),
        event("assistant", "Four.", 5, openclawDeliveryMirror={"kind": "channel-final"}),
        event("assistant", "By tool.", 6, **mirror, openclawDeliveryMirror={"kind": "message-tool-source-reply"}),
    )
    assert heard(session) == [("owner", "count"), ("agent", "Four."), ("agent", "By tool.")]


def test_silence_takes_back_only_what_may_be_the_programs() -> None:
    doubtful = taken(event("user", "Check the inbox", 1), event("assistant", "NO_REPLY", 2))
    assert heard(doubtful) == []
    surely: tuple[dict[str, Any], ...] = (OWNER, {"transport": {"clients": []}})
    for marks in surely:
        session = taken(event("user", "no answer needed", 1, __openclaw=marks), event("assistant", "NO_REPLY", 2))
        assert heard(session) == [("owner", "no answer needed")]


def test_a_web_chat_that_says_nothing_of_the_sender_is_the_owners() -> None:
    session = taken(event("user", "hello", 1, __openclaw={"transport": {"clients": [{"id": "cli"}]}}))
    assert heard(session) == [("owner", "hello")]


def test_in_a_group_only_who_is_known_as_the_owner_is_the_owner() -> None:
    known = {"kind": Kind.GROUP, "group": "Garden Club", "owners": ("111",)}
    session = taken(
        event("user", "mine", 1, __openclaw=OWNER | {"senderId": "9", "senderName": "Robin"}),
        event("user", "theirs", 2, __openclaw={"senderIsOwner": False, "senderId": "222", "senderName": "Kim"}),
        event("user", "old, mine", 3, __openclaw={"senderId": "111", "senderName": "+15550100"}),
        event("user", "old, whose?", 4),
        event("user", "odd", 5, __openclaw={"senderIsOwner": "yes", "senderName": ["Kim"]}),
        known=known,
    )
    assert [(one.speaker.value, one.name, one.text) for one in session.messages] == [
        ("owner", "Robin", "mine"),
        ("other", "Kim", "theirs"),
        ("owner", "", "old, mine"),
        ("other", "", "old, whose?"),
        ("other", "", "odd"),
    ]
    assert (session.kind, session.group) == (Kind.GROUP, "Garden Club")


def test_a_stranger_in_a_direct_chat_is_not_the_owner() -> None:
    marks = {"senderIsOwner": False, "senderId": "222", "senderName": "Kim"}
    (message,) = taken(event("user", "let me in", 1, __openclaw=marks)).messages
    assert (message.speaker, message.name) == (Speaker.OTHER, "Kim")


def test_no_id_of_a_sender_leaves_the_reader() -> None:
    marks = OWNER | {"senderId": "111222333", "senderUsername": "robin_test", "senderName": "111222333"}
    session = taken(event("user", "hello", 1, __openclaw=marks), known={"kind": Kind.GROUP, "owners": ("111222333",)})
    assert "111222333" not in repr(session)
    assert "robin_test" not in repr(session)


def millis(seconds: float) -> int:
    return int((NOON + dt.timedelta(seconds=seconds)).timestamp() * 1000)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (millis(-3600), -3600),
        (millis(9), 9),
        (millis(60), 10),
        (0, 10),
        (None, 10),
        ("soon", 10),
        (True, 10),
        (1e300, 10),
    ],
)
def test_a_message_is_as_old_as_its_writing_and_never_younger_than_its_row(written: object, expected: float) -> None:
    (message,) = taken(event("user", "hello", 10, timestamp=written)).messages
    assert message.at == NOON + dt.timedelta(seconds=expected)


def test_the_first_prompt_tells_the_kind_only_where_nothing_else_does() -> None:
    cron = event("user", "[cron:1 water] Water the plants", 1)
    assert taken(cron).kind is Kind.ISOLATED
    assert taken(cron, known={"kind": Kind.MAIN}).kind is Kind.MAIN
    other = event("user", "[Inter-session message] sourceSession=x\nfigs", 1, provenance={"kind": "inter_session"})
    assert taken(other, event("user", "now I", 2)).kind is Kind.MAIN


def test_blocks_are_joined_and_a_message_keeps_its_entrys_id() -> None:
    content = [{"type": "text", "text": "one"}, {"type": "image", "data": "…"}, {"type": "text", "text": "two"}]
    assert taken(event("user", content, 1)).messages == (
        Message("e1", NOON + dt.timedelta(seconds=1), Speaker.OWNER, "one\ntwo"),
    )


@pytest.mark.parametrize(
    "entry",
    [
        {"type": "message"},
        {"type": "message", "message": "x"},
        {"type": "message", "message": {"role": "user", "content": "no time"}},
    ],
)
def test_a_message_that_is_none_raises(entry: dict[str, Any]) -> None:
    with pytest.raises(MALFORMED):
        take({}, entry, parse_time(entry.get("timestamp")), "0", Notes())
