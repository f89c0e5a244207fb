"""In a group only the owner's words count; who the others are, and by which number, is nobody's business."""

from __future__ import annotations

import json

import pytest
from tests.capture.talks import Desk

from nacre.brain.local.extract import extract
from nacre.brain.local.judge import Judge
from nacre.guard.secrets import redact_messages
from nacre.sources.registry import chat_hash

OWNER, STRANGER = "+4915112345678", "+4917087654321"
GROUP_ID = "120363041234567890@g.us"
SIGN = chat_hash(f"agent:main:whatsapp:group:{GROUP_ID}")


def handed_over(words: str, sender: str, name: str, group: str | None = "Team Dinner") -> str:
    """A message as OpenClaw hands it to its model."""
    about: dict[str, object] = {
        "message_id": "3EB0C431C26A1916E07E",
        "sender_id": sender,
        "sender": f"{name} ({sender})",
    }
    if group is not None:
        about |= {"conversation_label": GROUP_ID, "group_subject": group, "is_group_chat": True}
    told = json.dumps(about, indent=2)
    return f"Conversation info (untrusted metadata):\n```json\n{told}\n```\n\n[Mon 2026-03-02 14:34 GMT+1] {words}"


@pytest.fixture
def group(desk: Desk) -> Desk:
    """The owner talks to the agent alone on a channel, and with others in a group on it."""
    desk.openclaw(
        ("2026-03-02 08:00", "user", handed_over("good morning", OWNER, "Ada", None)),
        session="direct-1", key=f"agent:main:whatsapp:direct:{OWNER}",
    )  # fmt: skip
    desk.openclaw(
        ("2026-03-02 12:00", "user", handed_over("I prefer dinner at eight, always", STRANGER, "Bob")),
        ("2026-03-02 12:01", "agent", "Noted, Bob: dinner at eight."),
        ("2026-03-02 12:02", "user", handed_over("we decided to book the Blue Door for our team", OWNER, "Ada")),
        ("2026-03-02 12:03", "user", handed_over("I am allergic to nuts and I never drink wine", STRANGER, "Bob")),
        ("2026-03-02 12:04", "agent", "Understood, no nuts and no wine for Bob."),
        ("2026-03-02 12:05", "user", handed_over("please reserve a table for six people", OWNER, "Ada")),
        ("2026-03-02 12:06", "agent", "The table for six people is reserved at the Blue Door."),
        session="group-talk-1", key=f"agent:main:whatsapp:group:{GROUP_ID}",
    )  # fmt: skip
    return desk


def test_the_owners_words_in_a_group_stand_under_its_stamp(group: Desk) -> None:
    group.sync("2026-03-02 13:00")
    assert group.headings() == [f"2026-03-02 12:06 session:group-ta | 7 messages | group:team-dinner-{SIGN}"]
    assert [words for _, words in group.bullets()] == [
        "we decided to book the Blue Door for our team",
        "please reserve a table for six people",
    ]


def test_what_strangers_say_and_what_they_are_answered_is_nowhere(group: Desk) -> None:
    judge = Judge(None)
    group.sync("2026-03-02 13:00", extract=lambda messages: extract(redact_messages(messages), judge))
    anywhere = group.bytes_anywhere().lower()
    assert b"blue door" in anywhere
    for word in (b"dinner at eight", b"nuts", b"wine", b"bob"):
        assert word not in anywhere


def test_numbers_and_ids_of_people_and_chats_are_in_no_file(group: Desk) -> None:
    judge = Judge(None)
    group.sync("2026-03-02 13:00", extract=lambda messages: extract(redact_messages(messages), judge))
    anywhere = group.bytes_anywhere()
    for number in (OWNER, STRANGER, GROUP_ID, OWNER[1:], STRANGER[1:], GROUP_ID[:12], "3EB0C431C26A1916E07E"):
        assert number.encode() not in anywhere


def test_an_answer_to_a_stranger_at_the_beginning_of_a_continuation_is_not_the_owners(group: Desk) -> None:
    judge = Judge(None)
    group.openclaw(
        ("2026-03-02 12:30", "user", handed_over("where do you keep the spare key", STRANGER, "Bob")),
        session="group-talk-1",
    )
    group.sync("2026-03-02 13:00", extract=lambda messages: extract(redact_messages(messages), judge))
    group.openclaw(
        ("2026-03-02 13:01", "agent", "The spare key lies under the green flower pot by the gate."),
        ("2026-03-02 13:02", "user", handed_over("we decided to invite the whole sales team as well", OWNER, "Ada")),
        ("2026-03-02 13:03", "user", handed_over("we will pay for the taxi of everybody who comes", OWNER, "Ada")),
        session="group-talk-1",
    )
    group.sync("2026-03-02 14:00", extract=lambda messages: extract(redact_messages(messages), judge))
    anywhere = group.bytes_anywhere()
    assert b"sales team" in anywhere
    assert b"spare key" not in anywhere


def test_where_nobody_knows_who_the_owner_is_nothing_in_a_group_is_his(desk: Desk) -> None:
    said = [
        (f"2026-03-02 12:0{minute}", "user", handed_over(f"words {minute}", STRANGER, "Bob")) for minute in range(5)
    ]
    desk.openclaw(*said, session="group-talk-1", key=f"agent:main:whatsapp:group:{GROUP_ID}")
    assert desk.sync("2026-03-03").sections == ()
    assert desk.logs() == {}
    assert STRANGER.encode() not in desk.bytes_anywhere()


def test_a_number_in_the_name_of_a_group_is_not_written(desk: Desk) -> None:
    desk.openclaw(
        ("2026-03-02 08:00", "user", handed_over("good morning", OWNER, "Ada", None)),
        session="direct-1", key=f"agent:main:whatsapp:direct:{OWNER}",
    )  # fmt: skip
    name = f"Flat 3 {STRANGER}"
    said = [
        (f"2026-03-02 12:0{minute}", "user", handed_over(f"words {minute}", OWNER, "Ada", name)) for minute in (1, 2)
    ]
    desk.openclaw(*said, session="group-talk-1", key=f"agent:main:whatsapp:group:{GROUP_ID}")
    desk.sync("2026-03-03")
    assert desk.headings() == [f"2026-03-02 12:02 session:group-ta | 2 messages | group:flat-3-{SIGN}"]
    assert STRANGER[1:].encode() not in desk.bytes_anywhere()
