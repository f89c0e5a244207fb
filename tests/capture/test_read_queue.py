"""What hooks queued is captured once, wherever it lies, and then taken off the queue."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.capture.talks import SESSION, Desk, Said, add, claude

from nacre.capture.read import Queue
from nacre.config.settings import load
from nacre.memory import Memory
from nacre.sources.transcript import Transcript
from nacre.vault import spool

SAID: tuple[Said, ...] = (
    ("2026-03-02 14:00", "user", "We ship on Tuesdays only"),
    ("2026-03-02 14:01", "agent", "Noted."),
    ("2026-03-02 14:05", "user", "And the API moves to v2"),
)


def elsewhere(desk: Desk, *said: Said, session: str = SESSION) -> Path:
    """A talk of Claude Code whose settings folder only the agent knows."""
    path = desk.home / "other" / "projects" / "p" / f"{session}.jsonl"
    return add(path, [claude(*one, session=session, cwd="") for one in said], said)


def queue(desk: Desk, path: Path, *, agent: str = "claude-code", now: bool = False) -> None:
    assert spool.queue(str(desk.workspace.root), agent, SESSION, str(path), at=1_772_460_000, now=now)


def waiting(desk: Desk) -> int:
    return len(spool.waiting(str(desk.workspace.root)))


def log(desk: Desk) -> str:
    path = desk.workspace.memory / "2026-03-02.md"
    return path.read_text("utf8") if path.exists() else ""


def test_a_talk_that_no_source_finds_is_captured_once(desk: Desk) -> None:
    queue(desk, elsewhere(desk, *SAID))
    desk.sync("2026-03-02 18:00")
    assert log(desk).count("We ship on Tuesdays only") == 1
    assert waiting(desk) == 0
    queue(
        desk,
        elsewhere(desk, ("2026-03-02 19:00", "user", "One more thing"), ("2026-03-02 19:01", "user", "And another")),
    )
    desk.sync("2026-03-02 23:30")
    assert log(desk).count("We ship on Tuesdays only") == 1
    assert log(desk).count("One more thing") == 1
    assert "continued" in log(desk)
    assert waiting(desk) == 0


def test_a_talk_where_agents_keep_theirs_is_captured_once_too(desk: Desk) -> None:
    queue(desk, desk.claude(*SAID))
    desk.sync("2026-03-02 18:00")
    desk.sync("2026-03-02 18:10")
    assert log(desk).count("We ship on Tuesdays only") == 1
    assert waiting(desk) == 0


def test_a_talk_that_was_queued_and_is_later_found_is_not_captured_twice(desk: Desk) -> None:
    path = elsewhere(desk, *SAID)
    queue(desk, path)
    desk.sync("2026-03-02 18:00")
    own = desk.home / ".claude" / "projects" / "p" / path.name
    own.parent.mkdir(parents=True)
    own.write_bytes(path.read_bytes())
    desk.sync("2026-03-02 18:30")
    assert log(desk).count("We ship on Tuesdays only") == 1


def test_a_lone_remark_stays_on_the_queue_until_it_has_company(desk: Desk) -> None:
    path = elsewhere(desk, SAID[0])
    queue(desk, path)
    desk.sync("2026-03-02 14:02")
    assert waiting(desk) == 1
    elsewhere(desk, *SAID[1:])
    desk.sync("2026-03-02 18:00")
    assert log(desk).count("We ship on Tuesdays only") == 1
    assert waiting(desk) == 0


@pytest.mark.parametrize("seen_before", [True, False])
def test_a_remark_after_the_last_capture_is_captured_when_the_end_of_the_talk_is_told(
    desk: Desk, *, seen_before: bool
) -> None:
    desk.claude(*SAID)
    desk.sync("2026-03-02 14:10")
    path = desk.claude(("2026-03-02 14:20", "user", "One more thing"))
    if seen_before:
        assert desk.sync("2026-03-02 14:21").sections == ()
    queue(desk, path)
    assert desk.sync("2026-03-02 14:22").sections == ()
    queue(desk, path, now=True)
    (section,) = desk.sync("2026-03-02 14:23").sections
    assert section.bullets == ("One more thing",)
    assert waiting(desk) == 0
    assert desk.sync("2026-03-02 23:00").sections == ()


def test_the_end_of_one_talk_in_a_database_is_not_that_of_another(desk: Desk) -> None:
    queued = spool.Queued("", (0, 0), "openclaw", "s-1", "/x/agent.sqlite", 1.0, now=True)
    over = Queue([queued])
    path = Path("/x/agent.sqlite")
    mine, other = (Transcript("openclaw", path, f"{path}#{name}", (), 0.0) for name in ("s-1", "s-2"))
    assert over.is_ended(mine)
    assert not over.is_ended(other)


def test_a_dry_run_leaves_the_queue_alone(desk: Desk) -> None:
    queue(desk, elsewhere(desk, *SAID))
    desk.sync("2026-03-02 18:00", dry_run=True)
    assert waiting(desk) == 1
    assert log(desk) == ""


@pytest.mark.parametrize("name", ["agent-1.jsonl", "notes.txt"])
def test_what_is_nobodys_talk_is_taken_off(name: str, desk: Desk) -> None:
    path = elsewhere(desk, *SAID)
    queue(desk, path.rename(path.with_name(name)))
    desk.sync("2026-03-02 18:00")
    assert log(desk) == ""
    assert waiting(desk) == 0


def test_a_transcript_that_is_gone_and_an_agent_that_nobody_knows_are_taken_off(desk: Desk) -> None:
    path = elsewhere(desk, *SAID)
    queue(desk, path)
    spool.queue(str(desk.workspace.root), "nobody", "x", str(path), at=1)
    path.unlink()
    desk.sync("2026-03-02 18:00")
    assert waiting(desk) == 0


def test_an_agent_that_is_left_out_is_not_captured_through_the_queue(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NACRE_SOURCES_CLAUDE_CODE_ENABLED", "false")
    desk.config = load()
    queue(desk, elsewhere(desk, *SAID))
    desk.sync("2026-03-02 18:00")
    assert log(desk) == ""
    assert waiting(desk) == 0


def test_jobs_know_of_a_queued_talk_and_that_it_is_over(desk: Desk) -> None:
    path = elsewhere(desk, *SAID)
    (desk.workspace.root / ".nacre").mkdir(exist_ok=True)
    queue(desk, path)
    with Memory.open(desk.workspace.root) as memory:
        (one,) = memory.session_files()
        assert (one.key, one.ended) == (str(path), False)
        queue(desk, path, now=True)
        (one,) = memory.session_files()
        assert one.ended


@pytest.mark.parametrize("path", ["/t\\u0000.jsonl", "/t\\ud800.jsonl"])
def test_one_bad_file_in_the_inbox_stops_nothing(path: str, desk: Desk) -> None:
    queue(desk, elsewhere(desk, *SAID))
    bad = Path(spool.inbox_folder(str(desk.workspace.root))) / "0.json"
    told = f'"session":"s","transcript":"{path}","size":1,"at":1,"now":true'
    bad.write_text(f'{{"version":1,"agent":"claude-code",{told}}}', "utf8")
    desk.sync("2026-03-02 18:00")
    assert log(desk).count("We ship on Tuesdays only") == 1
