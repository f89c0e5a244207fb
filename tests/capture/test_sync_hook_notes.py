"""What OpenClaw's own hook wrote down is not written a second time."""

from __future__ import annotations

import pytest
from tests.capture.talks import SESSION, Desk

NOTE = f"""# Session: 2026-03-02 09:30:00 UTC

- **Session Key**: agent:main:main
- **Session ID**: {SESSION}
- **Source**: webchat

## Conversation Summary

user: alpha
assistant: done
user: beta
"""


def note(desk: Desk, text: str = NOTE, name: str = "2026-03-02-alpha.md") -> None:
    (desk.workspace.memory / name).write_text(text, "utf8")


def test_a_session_that_has_a_note_is_not_captured_again(desk: Desk) -> None:
    note(desk)
    desk.openclaw(("2026-03-02 09:00", "user", "alpha"), ("2026-03-02 09:05", "user", "beta"))
    assert desk.sync().sections == ()
    assert not (desk.workspace.memory / "2026-03-02.md").exists()


def test_what_was_said_after_the_note_is_a_continuation(desk: Desk) -> None:
    note(desk)
    desk.openclaw(
        ("2026-03-02 09:00", "user", "alpha"),
        ("2026-03-02 09:05", "user", "beta"),
        ("2026-03-02 10:00", "user", "gamma"),
        ("2026-03-02 10:05", "user", "delta"),
    )
    desk.sync()
    assert desk.log("2026-03-02") == (
        "# 2026-03-02\n\n## 10:05 session:61871d67 | 2 messages | continued\n- gamma\n- delta\n"
    )


@pytest.mark.parametrize("now", ["2026-03-02 20:00", None])
def test_a_lone_remark_after_the_note_is_not_lost(desk: Desk, now: str | None) -> None:
    note(desk)
    desk.openclaw(
        ("2026-03-02 09:00", "user", "alpha"),
        ("2026-03-02 09:05", "user", "beta"),
        ("2026-03-02 10:00", "user", "gamma"),
    )
    assert desk.sync("2026-03-02 10:30").sections == ()
    assert [section.bullets for section in desk.sync(now).sections] == [("gamma",)]


def test_the_users_own_notes_cover_nothing(desk: Desk) -> None:
    note(desk, f"# Ideas\n\nSession ID: {SESSION}\n")
    desk.openclaw(("2026-03-02 09:00", "user", "alpha"), ("2026-03-02 09:05", "user", "beta"))
    assert len(desk.sync().sections) == 1
