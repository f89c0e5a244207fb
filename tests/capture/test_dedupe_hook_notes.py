"""Notes of OpenClaw's own session hook, as it wrote them (2026.9.6) and as it did before."""

from __future__ import annotations

import datetime as dt
import os
from pathlib import Path

import pytest

from nacre.capture.dedupe import read_hook_notes
from nacre.model import Message, Speaker, Workspace

SESSION = "28354cc6-e12d-4d9a-a6b6-811884a0381a"
NOTE = """# Session: {}

- **Session Key**: agent:main:main
- **Session ID**: {}
- **Source**: telegram

## Conversation Summary

user: "The dentist moved to Friday at 10."
assistant: "I will keep in mind that the dentist moved to Friday at 10."
"""


def note(root: Path, name: str, title: str, session: str = SESSION) -> Path:
    path = root / "memory" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(NOTE.format(title, session), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("title", "moment"),
    [
        ("2026-11-15 23:41:40 Europe/Lisbon", "2026-11-15T23:41:40+00:00"),
        ("2026-07-15 23:41:40 Europe/Lisbon", "2026-07-15T22:41:40+00:00"),
        ("2026-11-15 23:41:40 Asia/Shanghai", "2026-11-15T15:41:40+00:00"),
        ("2026-11-15 23:41:40 America/Argentina/Buenos_Aires", "2026-11-16T02:41:40+00:00"),
        ("2026-03-02 14:34:45 UTC", "2026-03-02T14:34:45+00:00"),
        ("2026-03-02 14:34:45 GMT", "2026-03-02T14:34:45+00:00"),
        ("2026-03-02T14:34:45+01:00", "2026-03-02T13:34:45+00:00"),
        ("2026-03-02 14:34", "2026-03-02T14:34:00+00:00"),
    ],
)
def test_the_time_in_the_title_is_taken_in_its_zone(tmp_path: Path, title: str, moment: str) -> None:
    note(tmp_path, "2026-11-15-2341.md", title)
    assert read_hook_notes(Workspace(tmp_path))[SESSION].until == dt.datetime.fromisoformat(moment)


@pytest.mark.parametrize(
    "title",
    [
        "2026-11-15 23:41:40 Mars/Base",
        "2026-11-15 23:41:40 ../../etc/passwd",
        "soon",
        "2026-11-15 23:41:40 Europe",
        "2026-11-15 23:41:40 GMT-3",
    ],
)
def test_where_the_title_tells_no_time_the_files_own_is_taken(tmp_path: Path, title: str) -> None:
    path = note(tmp_path, "2026-11-15-dentist.md", title)
    os.utime(path, (1_794_786_100, 1_794_786_100))
    assert read_hook_notes(Workspace(tmp_path))[SESSION].until == dt.datetime.fromtimestamp(1_794_786_100, dt.UTC)


def test_of_several_notes_of_one_session_the_latest_counts(tmp_path: Path) -> None:
    note(tmp_path, "2026-11-15-2341-2.md", "2026-11-15 23:41:46 Europe/Lisbon")
    note(tmp_path, "2026-11-15-2340.md", "2026-11-15 23:40:17 Europe/Lisbon")
    note(tmp_path, "2026-11-15-2341.md", "2026-11-15 23:41:40 Europe/Lisbon")
    note(tmp_path, "2026-11-16-other.md", "2026-11-16 08:00:00 Europe/Lisbon", "another")
    found = read_hook_notes(Workspace(tmp_path))
    assert found[SESSION].until == dt.datetime(2026, 11, 15, 23, 41, 46, tzinfo=dt.UTC)
    assert set(found) == {SESSION, "another"}


def test_other_notes_cover_nothing(tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    memory.mkdir()
    (memory / "2026-11-15.md").write_text("# Session: 2026-11-15 23:41:40 UTC\n", encoding="utf-8")
    (memory / "2026-11-15-ideas.md").write_text("# Ideas\n- **Session ID**: x\n", encoding="utf-8")
    (memory / "2026-11-15-empty.md").write_bytes(b"")
    assert read_hook_notes(Workspace(tmp_path)) == {}


def said(text: str, at: str) -> Message:
    return Message("1", dt.datetime.fromisoformat(at), Speaker.OWNER, text)


def test_only_what_a_note_tells_is_covered_by_it(tmp_path: Path) -> None:
    note(tmp_path, "2026-11-15-2341.md", "2026-11-15 23:41:40 UTC")
    told = read_hook_notes(Workspace(tmp_path))[SESSION]
    assert told.holds(said("The dentist moved to Friday at 10.", "2026-11-15T22:00:00+00:00"))
    assert not told.holds(said("Mia is allergic to peanuts", "2026-11-15T21:00:00+00:00"))
    assert not told.holds(said("The dentist moved to Friday at 10.", "2026-11-16T08:00:00+00:00"))


def test_a_note_that_lists_no_messages_covers_everything_up_to_its_time(tmp_path: Path) -> None:
    path = note(tmp_path, "2026-11-15-2341.md", "2026-11-15 23:41:40 UTC")
    path.write_text(path.read_text(encoding="utf-8").split("user:")[0] + "We spoke of the dentist.\n", encoding="utf-8")
    told = read_hook_notes(Workspace(tmp_path))[SESSION]
    assert told.holds(said("anything", "2026-11-15T22:00:00+00:00"))
    assert not told.holds(said("anything", "2026-11-16T08:00:00+00:00"))
