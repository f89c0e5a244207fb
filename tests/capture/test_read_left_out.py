"""What the user leaves out is captured neither now nor later."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path

import pytest
from tests.capture.talks import Desk, Said, add, at, named, zulu

from nacre.capture.checkpoint import checkpoint_of_session
from nacre.capture.read import Capturable, remember_exclusions, survey_sessions
from nacre.config.settings import Config, SourceSettings, SourcesSettings, load
from nacre.errors import NotFound
from nacre.sources.registry import begin_pause, end_pause, paused_at, pauses

SAID: tuple[Said, ...] = (("2026-03-02 09:00", "user", "alpha"), ("2026-03-02 09:05", "user", "beta"))


def excluding(*patterns: str) -> Config:
    return Config(sources=SourcesSettings(claude_code=SourceSettings(exclude=list(patterns))))


@pytest.mark.parametrize(
    "pattern",
    ["diary", "DIARY", "di*y", "~/private/diary", "~/private/", "~/private/*", "claude-code", "61871d67*"],
)
def test_a_project_is_left_out_by_its_name_its_folder_one_above_or_a_pattern(desk: Desk, pattern: str) -> None:
    desk.claude(*SAID, cwd=str(desk.home / "private" / "diary"))
    desk.config = excluding(pattern)
    assert desk.sync().passed_over == {"left out": 1}
    assert desk.logs() == {}


def test_a_project_is_left_out_by_its_name_also_when_the_talk_was_in_a_folder_of_it(desk: Desk) -> None:
    (desk.home / "diary" / ".git").mkdir(parents=True)
    desk.claude(*SAID, cwd=str(desk.home / "diary" / "src" / "deep"))
    assert [row.name for row in survey_sessions(desk.setting("2026-03-09"))] == ["diary"]
    desk.config = excluding("diary")
    assert survey_sessions(desk.setting("2026-03-09"))[0].left_out
    assert desk.sync().sections == ()


def test_talk_without_a_project_is_left_out_by_what_it_is_listed_as(desk: Desk) -> None:
    desk.claude(*SAID)
    assert [row.name for row in survey_sessions(desk.setting("2026-03-09"))] == ["direct"]
    assert desk.sync(exclude=["direct"]).sections == ()


def test_a_name_with_brackets_is_a_name_before_it_is_a_pattern(desk: Desk) -> None:
    desk.claude(*SAID, cwd=str(desk.home / "[old] diary"))
    desk.config = excluding("[old] diary")
    assert desk.sync().sections == ()


def test_what_was_said_while_it_was_left_out_stays_out_when_it_is_let_in_again(desk: Desk) -> None:
    desk.claude(*SAID, cwd="/private/diary")
    desk.sync(exclude=["diary"])
    desk.claude(("2026-03-03 09:00", "user", "gamma"), ("2026-03-03 09:05", "user", "delta"), cwd="/private/diary")
    desk.sync()
    assert [words for _, words in desk.bullets()] == ["gamma", "delta"]


def test_an_agent_that_is_switched_off_is_not_read(desk: Desk) -> None:
    path = desk.claude(*SAID)
    path.unlink()
    path.mkdir()  # reading it would be noticed
    desk.openclaw(*SAID, session="openclaw-1")
    desk.config = Config(sources=SourcesSettings(claude_code=SourceSettings(enabled=False)))
    report = desk.sync()
    assert report.unreadable == ()
    assert [section.session for section in report.sections] == ["openclaw-1"]


@pytest.mark.parametrize("place", ["diary", "diary/src", ""])
def test_a_project_opts_out_by_a_file_of_its_own(desk: Desk, place: str) -> None:
    folder = desk.home / "diary" / "src"
    folder.mkdir(parents=True)
    (desk.home / place / ".nacre-ignore").touch()
    desk.claude(*SAID, cwd=str(folder))
    assert desk.sync().passed_over == {"left out": 1}


def test_during_a_pause_nothing_is_captured_and_what_was_said_then_never_is(desk: Desk) -> None:
    desk.claude(*SAID)
    begin_pause(desk.workspace, at("2026-03-02 09:10"), None)
    assert desk.sync("2026-03-02 09:20").paused
    assert desk.logs() == {}
    desk.claude(("2026-03-02 09:30", "user", "secretly"), ("2026-03-02 09:40", "agent", "as you say"))
    assert end_pause(desk.workspace, at("2026-03-02 10:00"))
    desk.claude(("2026-03-02 10:05", "user", "gamma"))
    desk.sync("2026-03-02 11:00")
    assert [words for _, words in desk.bullets()] == ["alpha", "beta", "gamma"]
    desk.workspace.cursors.unlink()
    desk.sync("2026-03-02 12:00")
    assert len(desk.bullets()) == 3
    assert b"secretly" not in desk.bytes_anywhere()


def test_a_pause_for_a_while_ends_by_itself(desk: Desk) -> None:
    begin_pause(desk.workspace, at("2026-03-02 09:01"), dt.timedelta(hours=1))
    desk.claude(*SAID, ("2026-03-02 10:02", "user", "gamma"), ("2026-03-02 10:03", "user", "delta"))
    assert desk.sync("2026-03-02 10:00").paused
    desk.sync("2026-03-02 11:00")
    assert [words for _, words in desk.bullets()] == ["alpha", "gamma", "delta"]


def test_a_new_pause_takes_the_place_of_the_one_that_is_on(desk: Desk) -> None:
    begin_pause(desk.workspace, at("2026-03-02 09:00"), None)
    begin_pause(desk.workspace, at("2026-03-02 10:00"), dt.timedelta(hours=1))
    known = pauses(desk.workspace)
    assert paused_at(known, at("2026-03-02 09:30"))
    assert paused_at(known, at("2026-03-02 10:59"))
    assert not paused_at(known, at("2026-03-02 11:00"))
    assert not end_pause(desk.workspace, at("2026-03-02 12:00"))


def test_a_pause_without_end_in_the_calendar_lasts(desk: Desk) -> None:
    begin_pause(desk.workspace, at("2026-03-02 09:00"), dt.timedelta.max)
    assert paused_at(pauses(desk.workspace), at("9999-12-30 00:00"))


@pytest.mark.parametrize("told", ["", "{", "[1]", '[{"begin": "soon"}]', '[{"begin": "2026-03-02T09:00:00"}]', "{}x"])
def test_pauses_that_cannot_be_understood_count_as_one(desk: Desk, told: str) -> None:
    desk.claude(*SAID)
    desk.workspace.machine.mkdir()
    desk.workspace.pauses.write_text(told, "utf8")
    assert desk.sync().paused
    assert end_pause(desk.workspace, at("2026-03-09 00:00"))
    assert not desk.sync("2026-03-09 01:00").paused


def test_the_survey_counts_what_would_be_captured_and_what_is_left_out(desk: Desk) -> None:
    desk.claude(*SAID, cwd="/work/shop")
    desk.claude(*SAID, ("2026-03-02 09:07", "user", "more"), session="b2871d67-1", cwd="/work/shop")
    desk.claude(SAID[0], session="c2871d67-1", cwd="/work/shop")  # spoken once: no talk
    desk.claude(*SAID, session="d2871d67-1", cwd="/work/diary")
    desk.openclaw(*SAID, session="openclaw-1")
    desk.config = excluding("diary")
    assert survey_sessions(desk.setting("2026-03-09")) == [
        Capturable("claude-code", "shop", 2, 5, left_out=False),
        Capturable("claude-code", "diary", 1, 2, left_out=True),
        Capturable("openclaw", "direct", 1, 2, left_out=False),
    ]
    assert survey_sessions(desk.setting("2026-03-09"), at("2026-03-08")) == []
    assert not desk.workspace.cursors.exists()


def test_what_the_user_leaves_out_at_the_beginning_stands_in_the_settings(desk: Desk) -> None:
    desk.claude(*SAID, cwd="/work/shop")
    desk.openclaw(*SAID, session="openclaw-1")
    found = survey_sessions(desk.setting("2026-03-09"))
    remember_exclusions(desk.config, found, ["Shop", "openclaw", "unheard"])
    config = load()
    assert config.sources.claude_code.exclude == ["shop"]
    assert not config.sources.openclaw.enabled
    desk.config = replace(config)
    assert desk.sync().sections == ()


def test_a_folder_that_is_gone_is_no_trouble(desk: Desk) -> None:
    desk.claude(*SAID, cwd=str(Path("/nowhere/at/all")))
    desk.sync()
    assert desk.headings() == ["2026-03-02 09:05 session:61871d67 | 2 messages | project:all"]


def gemini(desk: Desk, *said: Said, session: str = "9e871d67-1", slug: str = "shop", root: Path | None = None) -> Path:
    """A talk of Gemini CLI, whose folder is noted beside the chats or nowhere."""
    project = desk.home / ".gemini" / "tmp" / slug
    head = {"sessionId": session, "startTime": zulu(said[0][0]), "kind": "main"}
    entries = [
        {
            "id": named(when, words),
            "timestamp": zulu(when),
            "type": "user" if who == "user" else "gemini",
            "content": words,
        }
        for when, who, words in said
    ]
    path = add(project / "chats" / f"session-{session}.jsonl", [head, *entries], said)
    if root:
        root.mkdir(parents=True, exist_ok=True)
        (project / ".project_root").write_text(str(root), "utf8")
    return path


def test_a_talk_of_gemini_belongs_to_its_folder_and_is_left_out_with_it(desk: Desk) -> None:
    gemini(desk, *SAID, root=desk.home / "work" / "shop")
    gemini(desk, *SAID, session="9f871d67-1", slug="diary", root=desk.home / "work" / "diary")
    (desk.home / "work" / "diary" / ".nacre-ignore").touch()
    report = desk.sync()
    assert [section.heading for section in report.sections] == ["09:05 session:9e871d67 | 2 messages | project:shop"]
    assert report.passed_over == {"left out": 1}


@pytest.mark.parametrize("younger", [True, False])
def test_a_talk_whose_folder_nobody_knows_is_left_out_where_a_folder_is(desk: Desk, younger: bool) -> None:
    diary = desk.home / "diary"
    diary.mkdir()
    (diary / ".nacre-ignore").touch()
    when = "2026-03-03" if younger else "2026-03-01"
    desk.claude((f"{when} 09:00", "user", "private"), (f"{when} 09:05", "user", "really"), cwd=str(diary))
    gemini(desk, *SAID)
    assert [row.left_out for row in survey_sessions(desk.setting("2026-03-09"))] == [True, True]
    assert desk.sync().passed_over == {"left out": 1, "no folder": 1}
    with pytest.raises(NotFound):
        checkpoint_of_session(desk.setting("2026-03-09"), "9e871d67-1")
    gemini(desk, ("2026-03-09 09:00", "user", "gamma"), ("2026-03-09 09:05", "user", "delta"), session="9d871d67-1")
    assert desk.sync("2026-03-09 23:00").passed_over == {"no folder": 1}
    assert desk.logs() == {}


def test_a_talk_whose_folder_nobody_knows_is_left_out_where_the_settings_leave_something_out(desk: Desk) -> None:
    gemini(desk, *SAID)
    desk.config = Config(sources=SourcesSettings(gemini=SourceSettings(exclude=["diary"])))
    assert desk.sync().passed_over == {"no folder": 1}
    desk.openclaw(*SAID, session="openclaw-1")  # whose agents live in their workspace
    assert len(desk.sync(exclude=["diary"]).sections) == 1


def test_a_talk_whose_folder_nobody_knows_is_captured_where_nothing_is_left_out(desk: Desk) -> None:
    gemini(desk, *SAID)
    assert len(desk.sync().sections) == 1
