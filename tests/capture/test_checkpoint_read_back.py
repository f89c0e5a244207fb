"""A checkpoint read back: who said what, whether Nacre wrote the talk down or somebody else did."""

from __future__ import annotations

import datetime as dt

import pytest

from nacre.capture.checkpoint import parse_checkpoint
from nacre.clock import Clock
from nacre.model import Speaker

CLOCK = Clock(dt.UTC, dt.datetime(2026, 3, 14, 12, tzinfo=dt.UTC))
OWNER, AGENT = Speaker.OWNER, Speaker.AGENT


def test_a_talk_as_nacre_writes_it_comes_back_with_its_session() -> None:
    text = "# T\n\nsession:abc | codex | 2026-03-14 09:00 – 2026-03-14 10:00 | /w/shop\n\n**User** 2026-03-14 09:00\n\nUse pnpm.\n\n**Agent** 2026-03-14 09:01\n\nDone.\n"
    found = parse_checkpoint(text, CLOCK)
    assert (found.title, found.session, found.agent, found.cwd) == ("T", "abc", "codex", "/w/shop")
    assert [(one.speaker, one.text) for one in found.messages] == [(OWNER, "Use pnpm."), (AGENT, "Done.")]


@pytest.mark.parametrize(
    "text",
    [
        "# T\n\n**User:** Use pnpm.\n\n**Agent:** Done.\n",
        "User: Use pnpm.\nAssistant: Done.\n",
        "- **User**: Use pnpm.\n- **Claude**: Done.\n",
        "> user：Use pnpm.\n> ai：Done.\n",
    ],
)
def test_speakers_that_others_write_are_known(text: str) -> None:
    assert [(one.speaker, one.text) for one in parse_checkpoint(text, CLOCK).messages] == [
        (OWNER, "Use pnpm."),
        (AGENT, "Done."),
    ]


def test_chinese_speakers_are_known_with_what_they_say_on_the_next_lines() -> None:
    found = parse_checkpoint("**用户：** 以后用 pnpm。\n不要用 npm。\n\n**助手：** 好的。\n", CLOCK)
    assert [(one.speaker, one.text) for one in found.messages] == [
        (OWNER, "以后用 pnpm。\n不要用 npm。"),
        (AGENT, "好的。"),
    ]


@pytest.mark.parametrize("text", ["User: the account that signs in\nRole: admin\n", "Use pnpm, never npm.\n"])
def test_a_text_in_which_nobody_answers_is_one_message(text: str) -> None:
    (one,) = parse_checkpoint(text, CLOCK).messages
    assert (one.speaker, one.text) == (OWNER, text.strip())
