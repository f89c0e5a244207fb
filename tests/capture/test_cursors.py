"""The cursors come back as they were kept, and a damaged file is as good as none."""

from __future__ import annotations

import datetime as dt
import json
import stat
from dataclasses import replace

import pytest
from tests.capture.talks import Desk, at

from nacre.capture.cursors import Cursor, Cursors, Reached, Section, load_cursors, save_cursors
from nacre.sources.transcript import Mark

FULL = Cursor(
    (7, 12),
    Mark(40, "ab", {"cwd": "/work", "deep": ["x", {"y": None}]}),
    "session",
    "name",
    Reached(at("2026-03-02 09:00"), ("a", "b")),
    users=3,
    open=True,
    partly=True,
)
SAID = (("2026-03-02 09:00", "user", "alpha"), ("2026-03-02 09:05", "user", "beta"))


def test_they_come_back_as_they_were(desk: Desk) -> None:
    reached = Reached(at("2026-03-02"), ())
    pending = Section("k", dt.date(2026, 3, 2), "codex", "s", "n", "09:00 session:x", reached, 2, (("a", "#b"), ()))
    pending = replace(pending, then=FULL, before=1)
    known = Cursors({"k": FULL, "bare": Cursor((), Mark())}, at("2026-03-03"), at("2026-02-01"), (pending,))
    save_cursors(desk.workspace, known)
    assert load_cursors(desk.workspace) == known
    assert stat.S_IMODE(desk.workspace.cursors.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "damage",
    [
        "",
        "[]",
        "null",
        '{"version": 9}',
        '{"version": 1}',
        '{"version": 1, "transcripts": []}',
        '{"version": 1, "transcripts": {"k": {"stamp": "x", "offset": 1}}}',
        '{"version": 1, "transcripts": {}, "synced": "2026-03-02T09:00:00"}',
        '{"version": 1, "transcripts": {}, "pending": [{}]}',
        "{" * 100_000,
        '{"version":1,"transcripts":' + '{"a":' * 100_000,
    ],
)
def test_a_damaged_file_is_as_good_as_none(desk: Desk, damage: str) -> None:
    desk.claude(*SAID)
    desk.sync()
    logs = desk.logs()
    desk.workspace.cursors.write_text(damage, "utf8")
    assert load_cursors(desk.workspace) == Cursors()
    assert desk.sync().sections == ()
    assert desk.logs() == logs


@pytest.mark.parametrize("offset", [-5, 10**9, 1])
def test_a_position_that_cannot_be_is_read_from_the_beginning(desk: Desk, offset: int) -> None:
    path = desk.claude(*SAID)
    desk.sync()
    told = json.loads(desk.workspace.cursors.read_bytes())
    told["transcripts"][str(path)]["offset"] = offset
    desk.workspace.cursors.write_text(json.dumps(told), "utf8")
    desk.claude(("2026-03-02 10:00", "user", "gamma"), ("2026-03-02 10:05", "user", "delta"))
    (section,) = desk.sync().sections
    assert section.bullets == ("gamma", "delta")


def test_they_hold_no_word_that_was_said(desk: Desk) -> None:
    desk.claude(("2026-03-02 09:00", "user", "pomegranate"), ("2026-03-02 09:05", "agent", "quince"))
    desk.claude(("2026-03-02 09:10", "user", "medlar"), session="other")
    desk.sync()
    for word in (b"pomegranate", b"quince", b"medlar"):
        assert word not in desk.workspace.cursors.read_bytes()
