"""What was said becomes the log of its own day, once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from tests.capture.talks import SESSION, Desk, Said, at

from nacre.config.settings import Config
from nacre.model import Context
from nacre.sources.registry import sources
from nacre.sources.transcript import Reading, Source, Transcript
from nacre.vault.undo import undo

OTHER = "61871d67-9999-4222-8333-444455556666"  # begins as the first one does
MORNING: tuple[Said, ...] = (
    ("2026-03-02 09:00", "user", "alpha"),
    ("2026-03-02 09:01", "agent", "done with alpha"),
    ("2026-03-02 09:05", "user", "beta"),
    ("2026-03-02 09:06", "agent", "done with beta"),
)
LOG = """# 2026-03-02

## 09:06 session:61871d67 | 4 messages
- alpha
- beta
"""


def test_a_session_becomes_a_heading_with_its_lines_in_the_log_of_its_day(desk: Desk) -> None:
    desk.claude(*MORNING)
    report = desk.sync("2026-03-02 10:00")
    assert [section.heading for section in report.sections] == ["09:06 session:61871d67 | 4 messages"]
    assert desk.log("2026-03-02") == LOG


def test_a_second_run_changes_nothing(desk: Desk) -> None:
    desk.claude(*MORNING)
    desk.sync("2026-03-02 10:00")
    cursors = desk.workspace.cursors.read_bytes()
    report = desk.sync("2026-03-02 10:00")
    assert report.sections == ()
    assert report.looked_at == 0
    assert desk.log("2026-03-02") == LOG
    assert desk.workspace.cursors.read_bytes() == cursors


def test_a_dry_run_tells_and_writes_nothing(desk: Desk) -> None:
    desk.claude(*MORNING)
    assert len(desk.sync("2026-03-02 10:00", dry_run=True).sections) == 1
    assert desk.logs() == {}
    assert not desk.workspace.cursors.exists()


def test_a_session_over_three_windows_is_one_heading_and_two_continued_each_with_its_own_points(desk: Desk) -> None:
    desk.claude(*MORNING)
    desk.sync("2026-03-02 10:00")
    desk.claude(("2026-03-02 12:00", "user", "gamma"), ("2026-03-02 12:01", "user", "delta"))
    desk.sync("2026-03-02 14:00")
    desk.claude(("2026-03-02 17:00", "user", "epsilon"), ("2026-03-02 17:30", "user", "zeta"))
    desk.sync("2026-03-02 18:00")
    assert desk.log("2026-03-02") == LOG + (
        "\n## 12:01 session:61871d67 | 2 messages | continued\n- gamma\n- delta\n"
        "\n## 17:30 session:61871d67 | 2 messages | continued\n- epsilon\n- zeta\n"
    )


def test_a_talk_in_which_the_owner_spoke_once_is_never_written(desk: Desk) -> None:
    desk.claude(*MORNING[:2])
    for now in ("2026-03-02 09:10", "2026-03-02 23:00", "2026-03-09 12:00"):
        assert desk.sync(now).sections == ()
    assert desk.sync(None).sections == ()
    assert desk.logs() == {}


def test_a_talk_counts_as_soon_as_the_owner_spoke_twice_and_then_as_a_whole(desk: Desk) -> None:
    desk.claude(*MORNING[:2])
    desk.sync("2026-03-02 09:02")
    desk.claude(*MORNING[2:])
    desk.sync("2026-03-02 10:00")
    assert desk.log("2026-03-02") == LOG


def test_what_only_the_agent_said_waits_for_the_owner(desk: Desk) -> None:
    desk.claude(*MORNING)
    desk.sync("2026-03-02 10:00")
    desk.claude(("2026-03-02 10:30", "agent", "still at work"))
    assert desk.sync("2026-03-02 23:00").sections == ()
    desk.claude(("2026-03-02 23:10", "user", "gamma"), ("2026-03-02 23:11", "user", "delta"))
    desk.sync("2026-03-02 23:30")
    assert desk.headings()[1:] == ["2026-03-02 23:11 session:61871d67 | 3 messages | continued"]


@pytest.mark.parametrize("now", ["2026-03-02 16:00", "2026-03-03 00:05"])
def test_a_lone_later_remark_waits_until_the_talk_is_silent_or_its_day_over(desk: Desk, now: str) -> None:
    desk.claude(*MORNING)
    desk.sync("2026-03-02 10:00")
    lone = "2026-03-02 12:00" if now < "2026-03-03" else "2026-03-02 23:50"
    desk.claude((lone, "user", "gamma"))
    assert desk.sync(f"{lone[:13]}:55").sections == ()
    (section,) = desk.sync(now).sections
    assert section.bullets == ("gamma",)
    assert section.heading == f"{lone[11:]} session:61871d67 | 1 message | continued"
    assert section.day.isoformat() == "2026-03-02"


def test_a_lone_later_remark_that_finds_company_is_written_with_it(desk: Desk) -> None:
    desk.claude(*MORNING)
    desk.sync("2026-03-02 10:00")
    desk.claude(("2026-03-02 12:00", "user", "gamma"))
    desk.sync("2026-03-02 12:30")
    desk.claude(("2026-03-02 13:00", "user", "delta"))
    (section,) = desk.sync("2026-03-02 13:30").sections
    assert section.bullets == ("gamma", "delta")


def test_a_lone_remark_is_written_by_a_run_in_real_time_once_its_file_is_silent(desk: Desk) -> None:
    desk.claude(*MORNING)
    desk.sync("2026-03-02 10:00")
    desk.claude(("2026-03-02 12:00", "user", "gamma"))
    desk.sync("2026-03-02 12:30")
    assert [section.bullets for section in desk.sync(None).sections] == [("gamma",)]


def test_a_session_across_midnight_is_split_and_an_answer_goes_with_its_question(desk: Desk) -> None:
    desk.zone = "Asia/Shanghai"
    desk.claude(
        ("2026-03-02 23:50+08:00", "user", "alpha"),
        ("2026-03-02 23:58+08:00", "user", "beta"),
        ("2026-03-03 00:03+08:00", "agent", "done with beta"),
        ("2026-03-03 00:10+08:00", "user", "gamma"),
        ("2026-03-03 00:12+08:00", "user", "delta"),
    )
    desk.sync("2026-03-03 08:00+08:00")
    assert desk.logs() == {
        "2026-03-02.md": "# 2026-03-02\n\n## 23:58 session:61871d67 | 3 messages\n- alpha\n- beta\n",
        "2026-03-03.md": "# 2026-03-03\n\n## 00:12 session:61871d67 | 2 messages | continued\n- gamma\n- delta\n",
    }


def test_after_midnight_a_lone_remark_waits_while_the_day_before_is_told(desk: Desk) -> None:
    desk.claude(("2026-03-02 23:55", "user", "alpha"), ("2026-03-03 00:10", "user", "beta"))
    desk.sync("2026-03-03 00:15")
    assert desk.bullets() == [("2026-03-02", "alpha")]
    desk.claude(("2026-03-03 00:40", "user", "gamma"))
    desk.sync("2026-03-03 01:00")
    desk.sync("2026-03-03 09:00")
    assert desk.headings() == [
        "2026-03-02 23:55 session:61871d67 | 1 message",
        "2026-03-03 00:40 session:61871d67 | 2 messages | continued",
    ]
    assert desk.bullets()[1:] == [("2026-03-03", "beta"), ("2026-03-03", "gamma")]


def test_an_answer_that_came_after_the_run_goes_with_the_owners_next_words(desk: Desk) -> None:
    desk.claude(*MORNING[:3])
    desk.sync("2026-03-02 09:05:30")
    desk.claude(MORNING[3], ("2026-03-03 08:00", "user", "gamma"), ("2026-03-03 08:01", "user", "delta"))
    desk.sync("2026-03-03 09:00")
    assert desk.headings() == [
        "2026-03-02 09:05 session:61871d67 | 3 messages",
        "2026-03-03 08:01 session:61871d67 | 3 messages | continued",
    ]


@pytest.mark.parametrize(
    ("zone", "moment", "day", "time"),
    [
        ("Asia/Shanghai", "2026-03-02 17:30", "2026-03-03", "01:31"),
        ("America/Los_Angeles", "2026-03-03 05:30", "2026-03-02", "21:31"),
        ("Asia/Kathmandu", "2026-03-02 18:20", "2026-03-03", "00:06"),
        ("Pacific/Kiritimati", "2026-03-02 10:30", "2026-03-03", "00:31"),
        ("Europe/Berlin", "2026-03-29 00:59", "2026-03-29", "03:00"),  # the hour from two to three is left out
        ("Europe/Berlin", "2026-10-25 00:30", "2026-10-25", "02:31"),  # the first of two
        ("Europe/Berlin", "2026-10-25 01:30", "2026-10-25", "02:31"),  # the second
    ],
)
def test_day_and_time_are_those_of_the_users_zone(desk: Desk, zone: str, moment: str, day: str, time: str) -> None:
    desk.zone = zone
    later = at(moment).timestamp() + 60
    desk.claude(
        (moment, "user", "alpha"), (at(moment).fromtimestamp(later, at(moment).tzinfo).isoformat(), "user", "b")
    )
    desk.sync("2026-12-01", since="2026-01-01")
    assert desk.headings() == [f"{day} {time} session:61871d67 | 2 messages"]


def test_an_hour_that_comes_twice_is_told_in_its_order_and_not_again_without_cursors(desk: Desk) -> None:
    desk.zone = "Europe/Berlin"
    desk.claude(
        ("2026-10-25 00:10", "user", "alpha"),  # 02:10
        ("2026-10-25 00:50", "user", "beta"),  # 02:50
        ("2026-10-25 01:20", "user", "gamma"),  # 02:20 again
    )
    desk.sync("2026-10-25 06:00")
    log = desk.log("2026-10-25")
    assert "## 02:20 session:61871d67 | 3 messages\n- alpha\n- beta\n- gamma\n" in log
    desk.workspace.cursors.unlink()
    desk.sync("2026-10-25 06:00")
    assert desk.log("2026-10-25") == log


def test_sessions_captured_late_go_to_their_own_days_also_to_archived_ones(desk: Desk) -> None:
    archived = desk.workspace.archive / "2026" / "2026-03-02.md"
    archived.parent.mkdir(parents=True)
    archived.write_text("# 2026-03-02\n\n## 08:00 note\n- kept\n", "utf8")
    desk.claude(*MORNING, ("2026-03-03 09:00", "user", "gamma"))
    desk.sync("2026-03-09 10:00")
    assert archived.read_text("utf8") == "# 2026-03-02\n\n## 08:00 note\n- kept\n\n" + LOG.removeprefix(
        "# 2026-03-02\n\n"
    )
    assert not (desk.workspace.memory / "2026-03-02.md").exists()
    assert desk.log("2026-03-03").endswith("- gamma\n")
    desk.workspace.cursors.unlink()
    desk.sync("2026-03-09 10:00")
    assert archived.read_text("utf8").count("- alpha") == 1


def test_two_sessions_with_the_same_first_characters_are_told_apart_and_keep_their_names(desk: Desk) -> None:
    desk.claude(*MORNING)
    desk.sync("2026-03-02 10:00")
    desk.claude(("2026-03-02 08:00", "user", "gamma"), ("2026-03-02 08:30", "user", "delta"), session=OTHER)
    desk.sync("2026-03-02 10:30")
    desk.claude(("2026-03-02 11:00", "user", "epsilon"), ("2026-03-02 11:30", "user", "zeta"))
    desk.claude(("2026-03-02 11:10", "user", "eta"), ("2026-03-02 11:40", "user", "theta"), session=OTHER)
    desk.sync("2026-03-02 12:00")
    assert desk.headings() == [
        "2026-03-02 09:06 session:61871d67 | 4 messages",
        "2026-03-02 08:30 session:61871d67-9 | 2 messages",
        "2026-03-02 11:30 session:61871d67 | 2 messages | continued",
        "2026-03-02 11:40 session:61871d67-9 | 2 messages | continued",
    ]
    log = desk.log("2026-03-02")
    desk.workspace.cursors.unlink()
    assert desk.sync("2026-03-02 12:00").sections == ()
    desk.claude(("2026-03-02 12:10", "user", "iota"), ("2026-03-02 12:11", "user", "kappa"), session=OTHER)
    desk.sync("2026-03-02 13:00")
    assert desk.log("2026-03-02") == log + ("\n## 12:11 session:61871d67-9 | 2 messages | continued\n- iota\n- kappa\n")


def test_lost_cursors_cost_nothing_and_a_talk_that_goes_on_is_continued(desk: Desk) -> None:
    desk.claude(*MORNING)
    desk.sync("2026-03-02 10:00")
    desk.workspace.cursors.unlink()
    assert desk.sync("2026-03-02 10:00").sections == ()
    assert desk.log("2026-03-02") == LOG
    desk.workspace.cursors.write_bytes(b'{"version": 1, "transcripts": {"x": [')
    desk.claude(("2026-03-02 11:00", "user", "gamma"))  # alone: it waits, and nothing is told a second time meanwhile
    assert desk.sync("2026-03-02 11:10").sections == ()
    desk.claude(("2026-03-02 11:20", "user", "delta"))
    desk.sync("2026-03-02 11:30")
    assert desk.log("2026-03-02") == LOG + ("\n## 11:20 session:61871d67 | 2 messages | continued\n- gamma\n- delta\n")


def test_with_lost_cursors_what_was_said_in_the_very_minute_of_the_last_heading_is_not_lost(desk: Desk) -> None:
    desk.claude(*MORNING)
    desk.sync("2026-03-02 09:06:10")
    desk.claude(("2026-03-02 09:06:20", "user", "gamma"), ("2026-03-02 09:06:50", "user", "delta"))
    desk.workspace.cursors.unlink()
    (section,) = desk.sync("2026-03-02 09:07").sections
    assert section.bullets == ("gamma", "delta")


def test_lost_cursors_after_a_night_across_midnight_cost_nothing(desk: Desk) -> None:
    desk.claude(
        ("2026-03-02 23:50", "user", "alpha"),
        ("2026-03-02 23:58", "user", "beta"),
        ("2026-03-03 00:03", "agent", "done"),
    )
    desk.sync("2026-03-03 00:05")
    logs = desk.logs()
    desk.workspace.cursors.unlink()
    assert desk.sync("2026-03-03 09:00").sections == ()
    assert desk.logs() == logs


def test_as_of_a_moment_later_messages_do_not_exist_and_come_when_their_time_comes(desk: Desk) -> None:
    desk.claude(*MORNING, ("2026-03-02 12:00", "user", "gamma"), ("2026-03-02 12:05", "user", "delta"))
    assert desk.sync("2026-03-02 09:02").sections == ()
    desk.sync("2026-03-02 09:06")
    assert desk.log("2026-03-02") == LOG
    desk.sync("2026-03-02 12:10")
    assert desk.bullets()[2:] == [("2026-03-02", "gamma"), ("2026-03-02", "delta")]


def test_what_was_read_as_of_an_earlier_moment_is_completed_by_a_run_in_real_time(desk: Desk) -> None:
    desk.claude(*MORNING)
    assert desk.sync("2026-03-02 09:02", since="2026-03-01").sections == ()
    desk.sync(None)
    assert desk.log("2026-03-02") == LOG


def test_a_replay_gives_what_runs_at_those_moments_gave(desk: Desk, disk: Path) -> None:
    live, replayed = Desk(disk / "live"), Desk(disk / "replayed")
    evening: tuple[Said, ...] = (("2026-03-02 12:00", "user", "gamma"), ("2026-03-02 18:05", "user", "delta"))
    replayed.claude(*MORNING, *evening)
    for now, said in (("09:30", MORNING), ("12:30", evening[:1]), ("16:30", ()), ("19:00", evening[1:]), ("23:59", ())):
        if said:
            live.claude(*said)
        live.sync(f"2026-03-02 {now}")
        replayed.sync(f"2026-03-02 {now}")
        assert live.logs() == replayed.logs()
    assert len(live.headings()) == 3


def test_a_transcript_that_was_written_anew_is_not_told_again(desk: Desk) -> None:
    path = desk.claude(*MORNING)
    desk.sync("2026-03-02 10:00")
    path.unlink()
    desk.claude(("2026-03-02 08:00", "agent", "a summary that was not there before"), *MORNING)
    desk.claude(("2026-03-02 11:00", "user", "gamma"), ("2026-03-02 11:01", "user", "delta"))
    (section,) = desk.sync("2026-03-02 12:00").sections
    assert section.bullets == ("gamma", "delta")
    assert "continued" in section.heading


def test_a_transcript_cut_shorter_loses_nothing_and_goes_on(desk: Desk) -> None:
    path = desk.claude(*MORNING)
    desk.sync("2026-03-02 10:00")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:1]))
    assert desk.sync("2026-03-02 10:30").sections == ()
    desk.claude(("2026-03-02 11:00", "user", "gamma"), ("2026-03-02 11:01", "user", "delta"))
    desk.sync("2026-03-02 12:00")
    assert desk.log("2026-03-02") == LOG + "\n## 11:01 session:61871d67 | 2 messages | continued\n- gamma\n- delta\n"


def test_a_torn_last_line_is_told_when_it_is_whole(desk: Desk) -> None:
    path = desk.claude(*MORNING, ("2026-03-02 09:07", "user", "gamma"), ("2026-03-02 09:08", "user", "delta"))
    data = path.read_bytes()
    path.write_bytes(data[:-30])
    desk.sync("2026-03-02 10:00")
    assert [text for _, text in desk.bullets()] == ["alpha", "beta", "gamma"]
    path.write_bytes(data)
    os.utime(path, (at("2026-03-02 09:30").timestamp(),) * 2)
    desk.sync("2026-03-02 20:00")
    assert [text for _, text in desk.bullets()] == ["alpha", "beta", "gamma", "delta"]


def test_a_transcript_that_cannot_be_read_is_named_and_hinders_no_other(desk: Desk) -> None:
    broken = desk.claude(*MORNING).with_name("broken.jsonl")
    broken.write_text("{}\n", "utf8")

    def without_broken(source: Source) -> Source:
        def read(transcript: Transcript, *more: Any) -> Reading:
            if transcript.path == broken:
                raise PermissionError(13, "Permission denied")
            return source.read(transcript, *more)

        return Source(source.agent, source.find, read)

    report = desk.sync("2026-03-02 10:00", sources=[without_broken(source) for source in sources()])
    assert [Path(one).name for one in report.unreadable] == ["broken.jsonl"]
    assert desk.log("2026-03-02") == LOG


def test_a_first_run_goes_as_far_back_as_it_is_told_and_a_later_one_may_go_further(desk: Desk) -> None:
    for number, day in enumerate(("2026-01-10", "2026-02-10", "2026-03-02")):
        said = [(f"{day} 09:0{minute}", "user", f"{day} {minute}") for minute in range(2)]
        desk.claude(*said, session=f"{number}1871d67-1111-4222-8333-444455556666")
    desk.sync("2026-03-03", since="2026-03-01")
    assert list(desk.logs()) == ["2026-03-02.md"]
    desk.sync("2026-03-03")
    assert list(desk.logs()) == ["2026-03-02.md"]
    desk.sync("2026-03-03", since="2026-02-01")
    assert list(desk.logs()) == ["2026-02-10.md", "2026-03-02.md"]
    desk.sync("2026-03-03", since="2026-03-02")
    desk.sync("2026-03-03", since="1970-01-02")
    assert list(desk.logs()) == ["2026-01-10.md", "2026-02-10.md", "2026-03-02.md"]
    assert len(desk.bullets()) == 6


def test_a_first_run_that_is_not_told_looks_back_a_month(desk: Desk) -> None:
    desk.claude(*MORNING)
    assert desk.sync("2026-05-01").sections == ()
    assert len(desk.sync("2026-03-30", since="2026-02-28").sections) == 1


def test_a_run_looks_back_some_hours_at_least_whatever_it_is_told(desk: Desk) -> None:
    desk.sync("2026-03-02 10:00", since="2030-01-01")
    desk.claude(*MORNING)
    desk.sync("2026-03-02 10:00")
    assert desk.log("2026-03-02") == LOG


def test_what_undo_takes_back_stays_away_until_the_talk_goes_on(desk: Desk) -> None:
    desk.claude(*MORNING)
    desk.sync("2026-03-02 10:00")
    undo(Context(desk.workspace, Config(), desk.setting("2026-03-02 10:01").context.clock))
    assert desk.logs() == {}
    assert desk.sync("2026-03-02 10:02").sections == ()
    desk.claude(("2026-03-02 11:00", "user", "gamma"), ("2026-03-02 11:01", "user", "delta"))
    desk.sync("2026-03-02 12:00")
    assert [text for _, text in desk.bullets()] == ["gamma", "delta"]


def test_the_same_session_in_another_place_is_told_only_from_where_it_was_left(desk: Desk) -> None:
    old = desk.claude(*MORNING, project="old")
    desk.sync("2026-03-02 10:00")
    old.unlink()
    desk.claude(*MORNING, ("2026-03-02 11:00", "user", "gamma"), ("2026-03-02 11:01", "user", "delta"), project="new")
    desk.sync("2026-03-02 12:00")
    assert desk.log("2026-03-02") == LOG + "\n## 11:01 session:61871d67 | 2 messages | continued\n- gamma\n- delta\n"


def test_a_lone_remark_in_another_place_is_told_once_it_is_silent(desk: Desk) -> None:
    desk.claude(*MORNING, project="old")
    desk.sync("2026-03-02 10:00")
    desk.claude(*MORNING, ("2026-03-02 11:00", "user", "gamma"), project="new")
    assert desk.sync("2026-03-02 11:30").sections == ()
    assert [section.bullets for section in desk.sync(None).sections] == [("gamma",)]


def test_the_users_own_lines_in_a_log_stay_as_they_are(desk: Desk) -> None:
    path = desk.workspace.memory / "2026-03-02.md"
    path.write_bytes(b"# Monday\r\n\r\nDentist at ten\r\n")
    desk.claude(*MORNING)
    desk.sync("2026-03-02 10:00")
    assert path.read_bytes().startswith(b"# Monday\r\n\r\nDentist at ten\r\n")
    assert desk.log("2026-03-02").count("session:") == 1


def test_a_session_named_with_odd_characters_has_a_heading_all_the_same(desk: Desk) -> None:
    desk.claude(*MORNING, session="a b|c")
    desk.sync("2026-03-02 10:00")
    assert desk.headings() == ["2026-03-02 09:06 session:abc | 4 messages"]
    assert SESSION not in desk.log("2026-03-02")
