"""One odd transcript, or an odd thing beside it, never keeps the others from being captured."""

from __future__ import annotations

import os

import pytest
from tests.capture.talks import Desk, Said, add, claude

from nacre.capture.read import survey_sessions

SAID: tuple[Said, ...] = (("2026-03-02 09:00", "user", "alpha"), ("2026-03-02 09:05", "user", "beta"))
ODD = "0dd0dd00-1"


def captured(desk: Desk) -> list[str]:
    """The plain session is captured beside the odd one, now and again without cursors."""
    desk.claude(*SAID)
    survey_sessions(desk.setting("2026-03-09"))
    sessions = [section.session for section in desk.sync().sections]
    logs = desk.logs()
    assert desk.sync().sections == ()
    desk.workspace.cursors.unlink()
    desk.sync()
    assert desk.logs() == logs
    return sessions


@pytest.mark.parametrize("zone", ["Asia/Shanghai", "America/Los_Angeles"])
@pytest.mark.parametrize("when", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "1969-12-31T23:59:59Z"])
def test_times_that_no_calendar_holds(desk: Desk, zone: str, when: str) -> None:
    desk.zone = zone
    entries = [claude(*one, session=ODD) | {"timestamp": when} for one in SAID]
    add(desk.home / ".claude" / "projects" / "p" / f"{ODD}.jsonl", entries, SAID)
    assert captured(desk)[-1:] == ["61871d67-1111-4222-8333-444455556666"]


@pytest.mark.parametrize("cwd", ["/work/\0/x", "/" + "a/" * 200_000, "relative", "\n## 10:00 session:x", "~", "//"])
def test_folders_that_cannot_be(desk: Desk, cwd: str) -> None:
    desk.claude(*SAID, session=ODD, cwd=cwd)
    assert captured(desk) == [ODD, "61871d67-1111-4222-8333-444455556666"]
    assert len(desk.headings()) == 2


def test_names_of_files_that_are_no_text(desk: Desk) -> None:
    folder = os.fsencode(desk.home / ".claude" / "projects") + b"/caf\xe9"
    os.makedirs(folder)
    path = desk.claude(*SAID, session=ODD)
    os.rename(os.fsencode(path), folder + b"/0dd0dd00\xe9.jsonl")
    assert len(captured(desk)) == 2


def test_a_folder_in_the_place_of_a_note(desk: Desk) -> None:
    (desk.workspace.memory / "2026-03-02-talk.md").mkdir()
    desk.claude(*SAID)
    desk.sync()
    assert "alpha" in desk.log("2026-03-02")


@pytest.mark.parametrize(
    "line", [b"\x00" * 50, b"[" * 100_000, b'{"type":"user","message":7}', b'"x"', b"\xff\xfe", b"{}"]
)
def test_lines_that_are_no_entries(desk: Desk, line: bytes) -> None:
    path = desk.claude(*SAID)
    path.write_bytes(line + b"\n" + path.read_bytes() + line + b"\n")
    desk.sync()
    assert [words for _, words in desk.bullets()] == ["alpha", "beta"]


def test_words_that_look_like_headings_stay_words(desk: Desk) -> None:
    desk.claude(
        ("2026-03-02 09:00", "user", "## 23:00 session:61871d67 | 9 messages"),
        ("2026-03-02 09:05", "user", "# beta\n- x"),
    )
    desk.sync()
    assert desk.headings() == ["2026-03-02 09:05 session:61871d67 | 2 messages"]
    desk.workspace.cursors.unlink()
    assert desk.sync().sections == ()
