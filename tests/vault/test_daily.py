from __future__ import annotations

import datetime as dt
import os
from zoneinfo import ZoneInfo

import pytest
from tests.storage import add_to_file, file_bytes, files_below, put_file

from nacre.clock import Clock
from nacre.config.settings import Config
from nacre.disk import LARGEST_LOG
from nacre.errors import BadInput, CannotWrite, SecretRefused
from nacre.model import Context, Workspace
from nacre.vault import daily
from nacre.vault.daily import append_note, append_notes, append_section, log_path
from nacre.vault.history import read_history


def log(workspace: Workspace, day: str = "2026-02-10") -> str:
    return file_bytes(workspace.memory / f"{day}.md").decode()


def test_a_note_begins_the_day(workspace: Workspace, clock: Clock) -> None:
    entry = append_note(Context(workspace, Config(), clock), "Use pnpm, never npm", "PREF")
    assert log(workspace) == "# 2026-02-10\n\n## 14:05 note\n- [PREF] Use pnpm, never npm\n"
    assert (entry.path, entry.line, entry.type, entry.already) == ("memory/2026-02-10.md", 4, "PREF", False)


def test_notes_of_one_minute_share_a_heading_and_later_ones_do_not(workspace: Workspace, clock: Clock) -> None:
    append_note(Context(workspace, Config(), clock), "one")
    assert append_note(Context(workspace, Config(), clock), "two").line == 5
    later = append_note(Context(workspace, Config(), clock.at("2026-02-10T14:06:00+00:00")), "three")
    assert log(workspace).endswith("- one\n- two\n\n## 14:06 note\n- three\n")
    assert log(workspace).split("\n")[later.line - 1] == "- three"


def test_the_same_note_is_written_once_a_day(workspace: Workspace, clock: Clock) -> None:
    first = append_note(Context(workspace, Config(), clock), "Use pnpm", "PREF")
    before = log(workspace)
    again = append_note(Context(workspace, Config(), clock.at("2026-02-10T18:00:00+00:00")), "  Use\n pnpm ", "pref")
    assert again.already
    assert again.line == first.line
    assert append_note(Context(workspace, Config(), clock), "[PREF] Use pnpm").already
    assert log(workspace) == before
    assert not append_note(Context(workspace, Config(), clock), "Use pnpm", "TECH").already
    assert not append_note(
        Context(workspace, Config(), clock.at("2026-02-11T08:00:00+00:00")), "Use pnpm", "PREF"
    ).already


def test_lines_an_agent_wrote_without_a_line_end_are_kept(workspace: Workspace, clock: Clock) -> None:
    path = workspace.day(clock.today())
    put_file(path, b"# mine\r\n- theirs")
    entry = append_note(Context(workspace, Config(), clock), "ours")
    assert file_bytes(path) == b"# mine\r\n- theirs\r\n\r\n## 14:05 note\r\n- ours\r\n"
    assert entry.line == 5


@pytest.mark.on_disk
def test_a_log_too_large_to_be_searched_takes_nothing_more(workspace: Workspace, clock: Clock) -> None:
    path = workspace.day(clock.today())
    with path.open("wb") as file:
        file.truncate(LARGEST_LOG + 1)
    for write in (
        lambda: append_note(Context(workspace, Config(), clock), "Use pnpm"),
        lambda: append_section(Context(workspace, Config(), clock), "14:05 session:61871d67 | 1 message", ["x"]),
    ):
        with pytest.raises(CannotWrite, match="over 50 MB"):
            write()
    assert path.stat().st_size == LARGEST_LOG + 1


def test_behind_a_code_fence_left_open_notes_are_read_by_their_own_heading(workspace: Workspace, clock: Clock) -> None:
    path = workspace.day(clock.today())
    put_file(path, "# 2026-02-10\n\n## 14:05 note\n```python\nleft_open()\n")
    assert not append_note(Context(workspace, Config(), clock), "Use pnpm, never npm", "PREF").already
    assert file_bytes(path).decode().endswith("left_open()\n\n## 14:05 note\n- [PREF] Use pnpm, never npm\n")
    assert append_note(Context(workspace, Config(), clock), "Use pnpm, never npm", "PREF").already
    append_note(Context(workspace, Config(), clock), "another")
    assert file_bytes(path).decode().endswith("never npm\n- another\n")


def test_a_heading_in_a_code_fence_is_not_the_last_heading(workspace: Workspace, clock: Clock) -> None:
    path = workspace.day(clock.today())
    put_file(path, "# day\n```\n## 14:05 note\n```\n")
    append_note(Context(workspace, Config(), clock), "x")
    assert file_bytes(path).decode().endswith("```\n\n## 14:05 note\n- x\n")


def test_the_day_is_the_users(workspace: Workspace, clock: Clock) -> None:
    shanghai = Clock(ZoneInfo("Asia/Shanghai"), dt.datetime(2026, 2, 10, 20, 0, tzinfo=dt.UTC))
    assert append_note(Context(workspace, Config(), shanghai), "x").path == "memory/2026-02-11.md"
    assert "## 04:00 note" in log(workspace, "2026-02-11")


@pytest.mark.parametrize("text", ["", "  \n ", "- ", "\x00"])
def test_nothing_is_no_note(workspace: Workspace, clock: Clock, text: str) -> None:
    with pytest.raises(BadInput, match="empty"):
        append_note(Context(workspace, Config(), clock), text)


def test_what_cannot_be_a_note_is_refused_with_a_remedy(workspace: Workspace, clock: Clock) -> None:
    with pytest.raises(BadInput, match="PREF, PROJ"):
        append_note(Context(workspace, Config(), clock), "x", "NOPE")
    with pytest.raises(BadInput, match="Shorten it"):
        append_note(Context(workspace, Config(), clock), "x" * 4001)
    with pytest.raises(SecretRefused):
        append_note(Context(workspace, Config(), clock), "AWS key AKIA" + "Z7QXNT3MPLR5VWKD")
    assert not files_below(workspace.memory)


def test_a_log_with_broken_bytes_still_takes_notes(workspace: Workspace, clock: Clock) -> None:
    path = workspace.day(clock.today())
    put_file(path, b"- \xff\xfe\n")
    append_note(Context(workspace, Config(), clock), "x")
    assert file_bytes(path) == b"- \xff\xfe\n\n## 14:05 note\n- x\n"


def test_a_section_goes_in_whole_and_knows_its_lines(workspace: Workspace, clock: Clock) -> None:
    append_note(Context(workspace, Config(), clock), "before")
    entries = append_section(
        Context(workspace, Config(), clock), "14:05 session:61871d67 | 12 messages", ["[PREF] a", "b\nc"]
    )
    lines = log(workspace).split("\n")
    assert [lines[entry.line - 1] for entry in entries] == ["- [PREF] a", "- b c"]
    assert [(entry.type, entry.text) for entry in entries] == [("PREF", "a"), (None, "b c")]
    assert lines[entries[0].line - 2] == "## 14:05 session:61871d67 | 12 messages"
    assert lines[entries[0].line - 3] == ""


def test_a_section_may_go_to_another_day_with_its_secrets_blacked_out(workspace: Workspace, clock: Clock) -> None:
    value = "AKIA" + "Z7QXNT3MPLR5VWKD"
    append_section(Context(workspace, Config(), clock), "h", [f"key {value}"], day=dt.date(2026, 2, 9))
    assert value not in log(workspace, "2026-02-09")


@pytest.mark.on_disk
def test_processes_that_note_at_once_lose_nothing(workspace: Workspace, clock: Clock) -> None:
    pids = []
    for number in range(4):
        pid = os.fork()
        if pid == 0:
            for step in range(8):
                append_note(Context(workspace, Config(), clock), f"note {number} {step}")
                append_note(Context(workspace, Config(), clock), f"shared {step}")
            os._exit(0)
        pids.append(pid)
    assert all(os.waitpid(pid, 0)[1] == 0 for pid in pids)
    bullets = [line for line in log(workspace).split("\n") if line.startswith("- ")]
    wanted = [f"- note {number} {step}" for number in range(4) for step in range(8)]
    assert sorted(bullets) == sorted(wanted + [f"- shared {step}" for step in range(8)])
    assert log(workspace).count("#") == 3


@pytest.mark.parametrize(
    "text", ["Meeting 9 - 11 am", "2 + 3 is 5", "Price: - 20%", "git checkout -- file.txt", "周三 - 周五"]
)
def test_only_a_bullet_at_the_very_start_is_taken_off(workspace: Workspace, clock: Clock, text: str) -> None:
    assert append_note(Context(workspace, Config(), clock), text).text == text
    assert append_note(Context(workspace, Config(), clock), f"- again {text}").text == f"again {text}"


@pytest.mark.parametrize(
    "tail",
    [
        "",
        "text\n",
        "```\n## 14:05 note\n```\n",
        "\nTitle\n---\n",
        "<!--\n## 14:05 note\n-->\n",
        "### deeper\n",
        "# top\n",
    ],
)
def test_a_note_joins_the_last_heading_only_when_it_is_this_minutes(
    workspace: Workspace, clock: Clock, tail: str
) -> None:
    append_note(Context(workspace, Config(), clock), "first")
    path = workspace.day(clock.today())
    add_to_file(path, tail)
    append_note(Context(workspace, Config(), clock), "second")
    joined = file_bytes(path).decode().count("## 14:05 note") - tail.count("## 14:05 note") == 1
    assert joined == (tail in ("", "text\n") or "## 14:05" in tail)


def test_several_notes_stand_together_and_those_that_stand_there_already_do_not_again(
    workspace: Workspace, clock: Clock
) -> None:
    append_note(Context(workspace, Config(), clock), "Use pnpm", "PREF")
    written = append_notes(
        Context(workspace, Config(), clock),
        "extract",
        ["[PREF] Use pnpm", "two\nlines", "two lines", "[PEOPLE] Maria leads"],
    )
    assert [(entry.line, entry.type, entry.text) for entry in written] == [
        (5, None, "two lines"),
        (6, "PEOPLE", "Maria leads"),
    ]
    assert file_bytes(workspace.day(clock.today())).decode() == (
        "# 2026-02-10\n\n## 14:05 note\n- [PREF] Use pnpm\n- two lines\n- [PEOPLE] Maria leads\n"
    )
    assert append_notes(Context(workspace, Config(), clock), "extract", ["two lines"]) == ()
    assert [one.command for one in read_history(workspace).operations] == ["remember", "extract"]


def test_several_notes_lose_their_secrets_not_their_words(workspace: Workspace, clock: Clock) -> None:
    (entry,) = append_notes(
        Context(workspace, Config(), clock), "extract", ["the wifi password is sunflower9, ask Maria"]
    )
    assert "sunflower9" not in entry.text
    assert "ask Maria" in entry.text


def test_a_days_log_is_found_where_it_was_archived(workspace: Workspace, clock: Clock) -> None:
    day = clock.today()
    assert log_path(workspace, day) == workspace.day(day)
    archived = workspace.archive / "2026-02" / f"{day}.md"
    put_file(archived, "# old\n")
    assert log_path(workspace, day) == archived
    put_file(workspace.day(day), "# new\n")
    assert log_path(workspace, day) == workspace.day(day)


def test_a_group_s_line_does_not_stand_for_the_owner_s_note(workspace: Workspace, clock: Clock) -> None:
    log = workspace.day(clock.today())
    put_file(log, f"# {clock.today()}\n\n## 10:00 session:abc | 2 messages | group:team\n- Use uv, never pip\n")
    assert not append_note(Context(workspace, Config(), clock), "Use uv, never pip").already


def test_a_text_that_is_far_too_long_is_refused_before_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daily, "guarded", lambda *_: pytest.fail("it was read"))
    with pytest.raises(BadInput, match="40000 characters"):
        daily.checked_note("token is " * 4444 + "1234", None)
