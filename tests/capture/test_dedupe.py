"""What was noted in the moment stands once in the log of its day, also after the talk was captured."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tests.capture.talks import SESSION, Desk

from nacre.brain.local.judge import Judge
from nacre.capture.dedupe import alike_in_meaning, drop_duplicates
from nacre.config.settings import Config
from nacre.embed.install import install
from nacre.embed.local import LocalEmbedder
from nacre.model import Bullet, Context
from nacre.vault import daily, spool
from nacre.vault.spool import Delivered

NOON = "2026-03-02 12:00"


def note(desk: Desk, text: str, type: str | None = None) -> None:  # noqa: A002 - the word users know
    daily.append_note(Context(desk.workspace, Config(), desk.setting("2026-03-02 09:02").context.clock), text, type)


@pytest.mark.parametrize(
    ("noted", "said"),
    [
        ("Alerts go to ops-alerts", "alerts go to ops-alerts."),
        ("Alerts go to ops-alerts", "Alerts go to ops-alerts"),
        ("告警发到 ops-alerts", "告警发到 ops-alerts。"),
        ("Alerts go to ops-alerts. Karim signs off releases.", "Karim signs off releases"),
    ],
)
def test_a_line_that_was_noted_is_not_captured_again(desk: Desk, noted: str, said: str) -> None:
    note(desk, noted, "PREF")
    desk.claude(("2026-03-02 09:00", "user", said), ("2026-03-02 09:05", "user", "something else"))
    desk.sync(NOON)
    assert [text for _, text in desk.bullets()] == [f"[PREF] {noted}", "something else"]


def test_a_line_of_which_only_a_part_was_noted_is_told_whole(desk: Desk) -> None:
    note(desk, "Karim signs off releases")
    both = "Karim signs off releases; the retro is on Thursdays"
    desk.claude(("2026-03-02 09:00", "user", both), ("2026-03-02 09:05", "user", "something else"))
    desk.sync(NOON)
    assert ("2026-03-02", both) in desk.bullets()


def test_a_talk_of_which_all_was_noted_gets_no_heading(desk: Desk) -> None:
    note(desk, "alpha")
    note(desk, "beta")
    before = desk.log("2026-03-02")
    desk.claude(("2026-03-02 09:00", "user", "alpha"), ("2026-03-02 09:05", "user", "beta"))
    for _ in range(2):
        assert desk.sync(NOON).sections == ()
        assert desk.log("2026-03-02") == before


def test_what_was_noted_in_other_words_is_not_captured_again(desk: Desk) -> None:
    note(desk, "The user wants alerts in ops-alerts")

    def alike(texts: Sequence[str], others: Sequence[str]) -> list[bool]:
        return [text.startswith("alerts") and bool(others) for text in (one.lower() for one in texts)]

    desk.claude(("2026-03-02 09:00", "user", "alerts go to ops-alerts"), ("2026-03-02 09:05", "user", "something else"))
    desk.sync(NOON, alike=alike)
    assert [text for _, text in desk.bullets()] == ["The user wants alerts in ops-alerts", "something else"]


def test_a_talk_that_says_a_thing_again_on_the_same_day_is_told_once_and_two_talks_are_told_both(desk: Desk) -> None:
    desk.claude(("2026-03-02 09:00", "user", "alpha"), ("2026-03-02 09:05", "user", "beta"))
    desk.sync("2026-03-02 10:00")
    desk.claude(("2026-03-02 11:00", "user", "alpha"), ("2026-03-02 11:05", "user", "gamma"))
    desk.claude(("2026-03-02 11:10", "user", "alpha"), ("2026-03-02 11:15", "user", "beta"), session="aaaaaaaa-1")
    desk.sync(NOON)
    assert [text for _, text in desk.bullets()] == ["alpha", "beta", "gamma", "alpha", "beta"]


def test_a_private_note_does_not_stand_for_what_was_said_in_a_group(desk: Desk) -> None:
    note(desk, "alpha")
    path = desk.workspace.memory / "2026-03-02.md"
    log, bullets, alike = path.read_bytes(), [Bullet("alpha"), Bullet("beta")], desk.setting().alike
    heading = "09:05 session:61871d67 | 2 messages"
    assert drop_duplicates(bullets, heading, path, log, alike) == bullets[1:]
    assert drop_duplicates(bullets, f"{heading} | group:team", path, log, alike) == bullets


def test_without_models_nothing_counts_as_said_in_other_words() -> None:
    others = ["alerts go to ops-alerts, please"]
    assert alike_in_meaning(lambda: Judge(None), ["alerts go to ops-alerts"], others) == [False]


@pytest.mark.parametrize(
    ("noted", "said", "same"),
    [
        (
            "Alerts go to the ops-alerts channel, never by email",
            "Alerts go to the channel ops-alerts, never to email",
            True,
        ),
        ("Deploys happen on Tuesdays", "We deploy on Tuesdays", True),
        ("Deploys happen on Tuesdays", "We never deploy on Tuesdays", False),
        ("Use pnpm, never npm", "We use npm, never pnpm", False),
        ("The retro is on Thursdays at 10", "The retro is on Fridays at 10", False),
        ("周会改到周四十点", "周会改到周五十点", False),
    ],
)
def test_other_words_are_the_same_only_where_they_deny_and_name_the_same(noted: str, said: str, same: bool) -> None:
    install()
    assert alike_in_meaning(lambda: Judge(LocalEmbedder(threads=1)), [said], [noted]) == [same]


def test_a_log_that_is_no_text_hinders_nothing(desk: Desk) -> None:
    (desk.workspace.memory / "2026-03-02.md").write_bytes(b"# 2026-03-02\n\n- alpha\n- \xff\xfe\n")
    desk.claude(("2026-03-02 09:00", "user", "alpha"), ("2026-03-02 09:05", "user", "beta"))
    desk.sync(NOON)
    assert b"- beta\n" in (desk.workspace.memory / "2026-03-02.md").read_bytes()


def given(desk: Desk, session: str, text: str) -> None:
    """What a hook notes when it gave a text to a session."""
    spool.save_delivered(desk.workspace, session, Delivered().with_lines(text, 1.0), 1.0)


def test_what_a_hook_gave_to_a_session_is_not_captured_again_as_new(desk: Desk) -> None:
    desk.workspace.longterm.write_text(
        "# Long-Term Memory\n\n- Use pnpm, never npm\n- Karim signs off releases\n", "utf8"
    )
    given(desk, SESSION, "- Use pnpm, never npm\n")
    said = ("use pnpm, never npm.", "Karim signs off releases", "something else")
    for session in (SESSION, "aaaaaaaa-1"):  # the other one was given nothing
        desk.claude(*((f"2026-03-02 09:0{place}", "user", text) for place, text in enumerate(said)), session=session)
    desk.sync(NOON)
    first, second = desk.log("2026-03-02").split("\n## ")[1:]
    assert [line[2:] for line in first.splitlines()[1:] if line] == list(said[1:])
    assert [line[2:] for line in second.splitlines()[1:] if line] == list(said)


@pytest.mark.parametrize("answer", ["Use pnpm, never npm.", "You use pnpm, never npm"])
def test_a_question_that_was_answered_from_what_was_given_tells_nothing_new(desk: Desk, answer: str) -> None:
    def alike(texts: Sequence[str], others: Sequence[str]) -> list[bool]:
        return ["pnpm, never npm" in text and any("pnpm" in one for one in others) for text in texts]

    path = desk.workspace.memory / "2026-03-02.md"
    bullet = Bullet(f"User asked: What do we use? → {answer}")
    heading = "09:05 session:61871d67 | 2 messages"
    assert drop_duplicates([bullet], heading, path, b"", alike, ["- [PREF] Use pnpm, never npm"]) == []
    assert drop_duplicates([bullet], heading, path, b"", alike) == [bullet]
