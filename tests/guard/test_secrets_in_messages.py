"""What one message gives away is a secret in the whole talk."""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path

import pytest

from nacre.guard.secrets import redact_messages
from nacre.model import Message, Speaker

START = dt.datetime(2026, 5, 4, 9, tzinfo=dt.UTC)
CONVERSATIONS = Path(__file__).parent / "conversations"  # one a line: U is the owner, A the agent, ⟦ ⟧ hold the secret


def texts(*said: str) -> list[str]:
    messages = [
        Message(str(place), START, Speaker.AGENT if place % 2 else Speaker.OWNER, text)
        for place, text in enumerate(said)
    ]
    return [message.text for message in redact_messages(messages)]


def test_a_value_named_once_is_blacked_out_where_it_is_repeated() -> None:
    told = texts(
        "The password for the staging box is blue-Heron-4471",
        "I will log into the staging box with blue-Heron-4471 now.",
        "yes, blue-Heron-4471 it is",
    )
    assert not any("Heron" in text for text in told)
    assert told[1].startswith("I will log into the staging box with [redacted: ")


def test_an_answer_to_a_question_for_a_secret_is_one() -> None:
    told = texts("connect to the staging database", "What's the password of the staging database?", "Gr4nite-Falcon-77")
    assert "Falcon" not in told[2]


def test_a_key_over_several_lines_is_one_secret() -> None:
    key = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEpAIBAAKCAQEAxvz0Kq7Lm3\n" * 4 + "-----END RSA PRIVATE KEY-----"
    assert "MIIE" not in texts(f"put this on the server:\n{key}\nthanks")[0]


def test_what_is_no_secret_stays() -> None:
    said = ("the port is 8080", "ok, 8080 it is", "and the branch is feature/login")
    assert texts(*said) == list(said)


def conversations(name: str) -> list[str]:
    return (CONVERSATIONS / f"{name}.txt").read_text("utf8").splitlines()


def said_in(conversation: str) -> tuple[list[str], list[str]]:
    """The messages as they were said, and as they may be kept."""
    turns = [turn.strip() for turn in re.sub("[⟦⟧]", "", conversation).split(" | ")]
    messages = [
        Message(str(place), START, Speaker.AGENT if turn[0] == "A" else Speaker.OWNER, turn[2:])
        for place, turn in enumerate(turns)
    ]
    return [message.text for message in messages], [message.text for message in redact_messages(messages)]


@pytest.mark.parametrize("conversation", conversations("secret"))
def test_a_value_that_an_earlier_message_asks_for_or_announces_is_redacted(conversation: str) -> None:
    _, kept = said_in(conversation)
    assert not [value for value in re.findall("⟦(.*?)⟧", conversation) if value in "\n".join(kept)]


@pytest.mark.parametrize("conversation", conversations("harmless"))
def test_an_answer_that_is_no_secret_stays_as_it_was(conversation: str) -> None:
    said, kept = said_in(conversation)
    assert kept == said
