"""sync, pause, resume, checkpoint, extract and classify as a user types them."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests import forked
from tests.capture.talks import Desk

Done = subprocess.CompletedProcess[str]
Nacre = Callable[..., Done]
NOW = "2026-03-02T12:00"
SAID = (
    ("2026-03-02 09:00", "user", "Please move the shop api to v2 and keep the old endpoints for a month."),
    ("2026-03-02 09:10", "agent", "Done: the api is on v2, the old endpoints stay until April, 41 tests pass."),
    ("2026-03-02 09:12", "user", "From now on always use pnpm, never npm, in this repository."),
    ("2026-03-02 09:20", "user", "Maria from billing needs the report by Friday."),
)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    desk = Desk(tmp_path)
    desk.claude(*SAID, cwd="/work/shop-api")
    return desk


@pytest.fixture
def nacre(desk: Desk) -> Nacre:
    def run(*arguments: str, stdin: str | bytes = "", now: str = NOW, **env: str) -> Done:
        given = {"HOME": str(desk.home), "NACRE_WORKSPACE": str(desk.workspace.root), "NACRE_TIMEZONE": "UTC"}
        given |= {"NACRE_MODELS_PATH": str(desk.home / "none"), "NACRE_NOW": now}
        return forked.run(arguments, input=stdin, env={**os.environ, **given, **env})

    assert run("init").returncode == 0
    return run


def test_sync_is_silent_where_nobody_watches_and_search_finds_what_it_wrote(nacre: Nacre, desk: Desk) -> None:
    done = nacre("sync")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert "## 09:20 session:61871d67 | 4 messages | project:shop-api\n- " in desk.log("2026-03-02")
    assert "pnpm" in nacre("search", "pnpm", "--mode", "text", "--all-projects").stdout
    again = nacre("sync")
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")


def test_a_dry_run_shows_what_would_be_written(nacre: Nacre, desk: Desk) -> None:
    done = nacre("sync", "--dry-run")
    assert "2026-03-02  ## 09:20 session:61871d67" in done.stdout
    assert "1 section." in done.stderr
    assert desk.log("2026-03-02") == ""
    report = json.loads(nacre("sync", "--dry-run", "--json").stdout)
    assert report["dryRun"]
    assert report["sessions"][0]["day"] == "2026-03-02"
    assert 3 <= len(report["sessions"][0]["bullets"]) <= 10


def test_openclaws_scheduler_is_told_when_there_is_nothing_to_say(nacre: Nacre) -> None:
    assert nacre("sync", OPENCLAW_SESSION_ID="x").stdout == ""
    assert nacre("sync", OPENCLAW_SESSION_ID="x").stdout == "ANNOUNCE_SKIP\n"
    assert nacre("sync").stdout == ""


def test_the_list_shows_what_there_is_and_writes_nothing(nacre: Nacre, desk: Desk) -> None:
    assert nacre("sync", "--list").stdout.split() == ["claude-code", "shop-api", "1", "session,", "3", "messages"]
    (row,) = json.loads(nacre("sync", "--list", "--json", "--exclude", "shop-api").stdout)
    assert row == {"agent": "claude-code", "name": "shop-api", "sessions": 1, "messages": 3, "left_out": True}
    assert nacre("sync", "--list", "--since", "1h").stderr == "No agent sessions found in this period.\n"
    assert not desk.workspace.cursors.exists()


def test_a_time_that_says_nothing_is_refused_with_a_remedy(nacre: Nacre) -> None:
    done = nacre("sync", "--since", "foo")
    assert done.returncode == 2
    assert '4h, 7d, 2026-02-14 or "all"' in done.stderr


def test_an_exclusion_holds_for_the_run(nacre: Nacre, desk: Desk) -> None:
    assert nacre("sync", "--exclude", "shop-*", "--since", "all").returncode == 0
    assert desk.log("2026-03-02") == ""


def test_a_pause_is_told_kept_and_ended(nacre: Nacre, desk: Desk) -> None:
    assert nacre("pause", "2h", "--dry-run").stderr == "Would be paused until 2026-03-02 14:00.\n"
    assert nacre("resume").stderr == "Capture was not paused.\n"
    assert nacre("pause", "2h").stderr == "Paused until 2026-03-02 14:00.\n"
    assert nacre("sync").stderr == 'Capture is paused; "nacre resume" resumes it.\n'
    assert nacre("resume", now="2026-03-02T12:30").stderr == "Capture resumed.\n"
    assert nacre("sync", now="2026-03-02T12:31").stderr == ""
    assert "pnpm" in desk.log("2026-03-02")
    assert json.loads(nacre("pause", "--json").stdout) == {"paused": True, "until": None, "dryRun": False}


@pytest.mark.parametrize("length", ["0h", "soon"])
def test_a_pause_of_no_length_is_refused(nacre: Nacre, desk: Desk, length: str) -> None:
    done = nacre("pause", length)
    assert done.returncode == 2
    assert "2h" in done.stderr or "4h" in done.stderr
    assert not desk.workspace.pauses.exists()


def test_a_pause_longer_than_the_calendar_lasts_for_a_century(nacre: Nacre) -> None:
    assert nacre("pause", "99999999999d").stderr == "Paused until 2126-02-06 12:00.\n"
    assert nacre("resume").stderr == "Capture resumed.\n"


@pytest.mark.parametrize("now", ["9999-06-01", "0001-01-03"])
@pytest.mark.parametrize(
    "command", [("pause", "9999w"), ("sync", "--since", "9999w"), ("search", "x", "--since", "9999w")]
)
def test_a_moment_from_which_durations_leave_the_calendar_is_refused(
    nacre: Nacre, now: str, command: tuple[str, ...]
) -> None:
    done = nacre(*command, now=now)
    assert (done.returncode, done.stderr) == (2, "nacre: --now must be between the years 1900 and 9000.\n")


def test_a_pause_holds_for_the_workspaces_of_all_agents(nacre: Nacre, desk: Desk) -> None:
    state = desk.home / ".openclaw"
    places = [state / name / "memory" for name in ("workspace", "workspace-work")]
    for place in places:
        place.mkdir(parents=True)
    (state / "openclaw.json").write_text('{agents: {list: [{id: "main", default: true}, {id: "work"}]}}', "utf8")
    assert nacre("pause", "1h", NACRE_WORKSPACE="").returncode == 0
    assert nacre("sync", NACRE_WORKSPACE="").stderr.count("is paused") == 2
    assert nacre("resume", NACRE_WORKSPACE="").stderr == "Capture resumed.\n"
    assert nacre("sync", NACRE_WORKSPACE="").stderr == ""


def test_a_checkpoint_of_a_session_is_written_once(nacre: Nacre, desk: Desk) -> None:
    path = "memory_fs/hot/2026-03-02-0900-61871d67-6666.md"
    assert nacre("checkpoint", "--dry-run").stdout == path + "\n"
    assert not (desk.workspace.root / path).exists()
    assert nacre("checkpoint").stdout == path + "\n"
    assert json.loads(nacre("checkpoint", "6187", "--json").stdout) == {"path": path, "changed": False, "dryRun": False}
    hook = json.dumps({"session_id": "61871d67", "hook_event_name": "PreCompact"})
    assert "unchanged" in nacre("checkpoint", "-", stdin=hook).stderr
    assert nacre("checkpoint", OPENCLAW_SESSION_ID="61871d67").stdout == path + "\n"
    assert "41 tests pass" in (desk.workspace.root / path).read_text("utf8")


@pytest.mark.parametrize(
    ("arguments", "stdin", "code"),
    [
        (("nope",), "", 1),
        (("-",), "", 2),
        (("-",), b"\xff\xfe\x00", 2),
        (("-",), '{"session_id": 5}', 2),
        (("-",), '{"session_id": "nope"}', 1),
        (("-",), '{"transcript_path": "/etc/passwd"}', 1),
    ],
)
def test_a_checkpoint_of_nothing_is_one_sentence(
    nacre: Nacre, arguments: tuple[str, ...], stdin: str | bytes, code: int
) -> None:
    done = nacre("checkpoint", *arguments, stdin=stdin)
    assert done.returncode == code
    assert done.stderr.startswith("nacre: ")
    assert done.stderr.count("\n") == 1


def test_what_a_text_is_worth_is_written_once_and_taken_back_by_undo(nacre: Nacre, desk: Desk) -> None:
    text = "From now on always use pnpm, never npm, in this repository."
    assert "pnpm" in nacre("extract", text).stdout
    assert desk.log("2026-03-02") == ""
    for _ in range(2):
        assert "pnpm" in nacre("extract", "--auto", "-", stdin=text).stdout
    assert desk.log("2026-03-02").startswith("# 2026-03-02\n\n## 12:00 note | project:")
    assert desk.log("2026-03-02").count("pnpm") == 1
    assert "extract" in nacre("history").stdout
    assert nacre("undo").returncode == 0
    assert desk.log("2026-03-02") == ""
    assert nacre("extract", "hello").stderr == "Nothing worth remembering found.\n"
    assert nacre("extract", " ").returncode == 2
    assert nacre("extract", "-", stdin=b"\xff").stderr == "nacre: The input is not valid UTF-8 text.\n"


def test_lines_get_their_types_when_that_is_asked_for(nacre: Nacre, desk: Desk) -> None:
    nacre("remember", "Maria leads the billing team")
    log = desk.log("2026-03-02")
    (line,) = json.loads(nacre("classify", "--json").stdout)["lines"]
    assert line["path"] == "memory/2026-03-02.md"
    nacre("classify", "--apply", "--dry-run")
    assert desk.log("2026-03-02") == log
    assert nacre("classify", "--apply").stderr == "Type added to 1 line.\n"
    assert f"- [{line['type']}] Maria leads the billing team\n" in desk.log("2026-03-02")
    assert nacre("classify").stderr == "Every note has a type.\n"
    assert json.loads(nacre("classify", "--summary", "--json").stdout) == {"counts": {line["type"]: 1}}
    nacre("undo")
    assert desk.log("2026-03-02") == log


@pytest.mark.parametrize("arguments", [("some text", "--apply"), ("some text", "--summary"), ("",)])
def test_a_text_is_classified_alone(nacre: Nacre, arguments: tuple[str, ...]) -> None:
    assert nacre("classify", *arguments).returncode == 2
    assert len(nacre("classify", "Reports are written in Typst").stdout.split()) == 2
