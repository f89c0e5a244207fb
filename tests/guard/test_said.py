"""Secrets as people say them, which no rule foresaw: weighed by what is said around them."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from nacre.guard import said
from nacre.guard.secrets import redact

TABLE = Path(said.__file__).with_name("said_weights.json")
MESSAGES = Path(__file__).parent.parent.parent / "training" / "secrets"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("the back door keypad takes C7714Y, the van can park behind", "C7714Y"),
        ("tried Larkspur12 twice, then larkspur1212 let me in", "larkspur1212"),
        ("sorry, typo: the wifi is plover-Lane-9, with the dash", "plover-Lane-9"),
        ("门锁的临时密码给的 830517，周日中午前有效", "830517"),
        ("试了 Huapi123 不行，后来 huapi1234 进去了", "huapi1234"),
    ],
)
def test_a_value_is_known_by_what_is_said_around_it(text: str, value: str) -> None:
    assert value not in redact(text).text


@pytest.mark.parametrize(
    "text",
    [
        "the order is 8812-3390, when does it ship",
        "we moved from Postgres14 to Postgres16 last night",
        "the SHA256:9kq2mTz7Vx1Lw9Rb3Nc5 fingerprint is on their site",
        "房间 4471，两晚，含早餐",
        "原来是 4.4.1，现在是 4.5.0",
    ],
)
def test_other_numbers_and_names_stay(text: str) -> None:
    assert redact(text).text == text


def test_the_table_is_small_and_names_its_threshold() -> None:
    assert TABLE.stat().st_size < 66_000
    assert said.weights()["threshold"] > 0


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_guard_finds_most_secrets_that_people_say(language: str) -> None:
    rows = [json.loads(line) for line in (MESSAGES / f"{language}.jsonl").read_text("utf8").splitlines()]
    secret = [row for row in rows if row["secrets"]]
    harmless = [row["text"] for row in rows if not row["secrets"]]
    gone = sum(not any(value.strip() in redact(row["text"]).text for value in row["secrets"]) for row in secret)
    touched = sum(redact(text).text != text for text in harmless)
    assert gone / len(secret) > 0.65
    assert touched / len(harmless) < 0.06


def test_a_message_is_weighed_in_about_a_millisecond() -> None:
    text = "the password is changed, the door code too, and the order 4471-2290 ships on friday. " * 3
    redact(text)
    begun = time.process_time()
    for _ in range(20):
        list(said.said(text))
    assert (time.process_time() - begun) / 20 < 0.05  # ten times what it takes on a machine with nothing else to do
