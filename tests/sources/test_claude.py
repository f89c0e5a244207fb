"""Claude Code: the user's own words, nothing of the program's, nothing twice."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sources.steps import NOON, cut, in_steps, line, lines, read, said, stamp, write

from nacre.model import Kind
from nacre.sources.claude import SOURCE
from nacre.sources.transcript import Places

SESSION = "3f0c2c1e-0000-4000-8000-000000000001"
OTHER = "3f0c2c1e-0000-4000-8000-000000000002"


def entry(kind: str, content: object, at: float = 0, **more: Any) -> dict[str, Any]:
    message = {"role": kind, "content": content}
    return {
        "type": kind,
        "uuid": f"{kind}-{at}",
        "sessionId": SESSION,
        "timestamp": stamp(at),
        "message": message,
    } | more


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / f"{SESSION}.jsonl"


def test_a_talk_is_read_with_its_times_and_its_folder(path: Path) -> None:
    write(
        path, lines(entry("user", "use tabs", cwd="/work/app"), entry("assistant", [{"type": "text", "text": "ok"}], 5))
    )
    reading = read(SOURCE.read, path)
    assert reading.session
    assert (reading.session.id, reading.session.cwd, reading.session.messages[0].at) == (SESSION, "/work/app", NOON)
    assert said(reading) == [("owner", "use tabs"), ("agent", "ok")]
    assert reading.session.messages[1].at == NOON + dt.timedelta(seconds=5)
    assert reading.whole
    assert not reading.unknown


@pytest.mark.parametrize(
    "other",
    [
        entry("user", "note", isMeta=True),
        entry("user", "summary", isCompactSummary=True),
        entry("user", "summary", isVisibleInTranscriptOnly=True),
        entry("user", "task", isSidechain=True),
        entry("user", "task", agentId="a1"),
        entry("user", "<command-name>/clear</command-name>"),
        entry("user", "a task has finished", origin={"kind": "task-notification"}),
        entry("user", "from another session", origin={"kind": "peer", "from": "x"}),
        entry("user", "by the program", promptSource="system"),
        entry("user", [{"type": "tool_result", "content": "3 files"}], toolUseResult={"stdout": "3 files"}),
        entry("assistant", "API Error: 529", isApiErrorMessage=True),
        {**entry("assistant", "no"), "message": {"role": "assistant", "model": "<synthetic>", "content": "no"}},
        {"type": "worktree-state", "sessionId": SESSION},
        {"type": "bridge-session", "sessionId": SESSION},
        {"type": "result", "key": "k", "result": {"summary": "done"}},
        {"type": "api-request", "sessionId": SESSION, "timestamp": stamp(1), "model": "m"},
        {"type": "api-request-shape", "sessionId": SESSION, "timestamp": stamp(1), "tools": []},
        {"type": "api-request-blob", "sessionId": SESSION, "message": {"content": [{"type": "text", "text": "given"}]}},
        {"type": "cost-state", "sessionId": SESSION, "totalCostUSD": 0.1},
        {"type": "tools-used", "sessionId": SESSION, "tools": ["Bash"]},
    ],
)
def test_what_nobody_said_is_known_and_left_out(path: Path, other: dict[str, Any]) -> None:
    write(path, lines(entry("user", "mine"), other))
    reading = read(SOURCE.read, path)
    assert said(reading) == [("owner", "mine")]
    assert not reading.unknown


def test_a_sender_nobody_knows_is_not_the_user(path: Path) -> None:
    write(path, lines(entry("user", "mine", origin={"kind": "human"}), entry("user", "whose?", origin={"kind": "new"})))
    reading = read(SOURCE.read, path)
    assert said(reading) == [("owner", "mine")]


def test_what_was_typed_while_the_agent_worked_is_the_users(path: Path) -> None:
    queued = {"type": "queued_command", "commandMode": "prompt", "prompt": "and add tests", "origin": {"kind": "human"}}
    notice = {"type": "queued_command", "commandMode": "task-notification", "prompt": "done"}
    about = {"type": "attachment", "uuid": "q1", "timestamp": stamp(1)}
    write(path, lines(entry("user", "mine"), about | {"attachment": queued}, about | {"attachment": notice}))
    assert said(read(SOURCE.read, path)) == [("owner", "mine"), ("owner", "and add tests")]


def test_a_message_whose_time_is_broken_has_the_time_of_the_one_before(path: Path) -> None:
    write(path, lines(entry("user", "first"), entry("user", "second", timestamp="[gone]")))
    reading = read(SOURCE.read, path)
    assert reading.session
    assert [message.at for message in reading.session.messages] == [NOON, NOON]


def test_what_a_fork_repeats_is_left_out(path: Path) -> None:
    copied = entry("user", "said before", -900, forkedFrom={"sessionId": OTHER, "messageUuid": "u"})
    write(path, lines(copied, entry("user", "new here", 10)))
    reading = read(SOURCE.read, path)
    assert said(reading) == [("owner", "new here")]


def test_what_an_old_resumption_repeats_is_left_out_while_the_first_file_is_there(path: Path) -> None:
    write(path, lines(entry("user", "said before", -900, sessionId=OTHER), entry("user", "new here")))
    assert said(read(SOURCE.read, path)) == [("owner", "said before"), ("owner", "new here")]
    write(path.with_name(f"{OTHER}.jsonl"), b"")
    assert said(read(SOURCE.read, path)) == [("owner", "new here")]


def test_entries_after_the_moment_wait(path: Path) -> None:
    write(path, lines(entry("user", "early"), entry("user", "late", 60)))
    early = read(SOURCE.read, path, until=NOON + dt.timedelta(seconds=30))
    assert said(early) == [("owner", "early")]
    assert not early.whole
    assert said(read(SOURCE.read, path, early.mark)) == [("owner", "late")]


def test_a_torn_last_line_waits_and_a_blank_one_does_not(path: Path) -> None:
    write(path, lines(entry("user", "one")) + line(entry("user", "two", 1))[:-9])
    torn = read(SOURCE.read, path)
    assert said(torn) == [("owner", "one")]
    assert not torn.whole
    write(path, lines(entry("user", "one")) + b"\n")
    assert read(SOURCE.read, path).whole


def test_a_file_cut_shorter_or_written_anew_is_noticed(path: Path) -> None:
    write(path, lines(entry("user", "one"), entry("user", "two", 1)))
    mark = read(SOURCE.read, path).mark
    write(path, lines(entry("user", "other")))
    again = read(SOURCE.read, path, mark)
    assert again.rewritten
    assert said(again) == [("owner", "other")]


def test_half_a_character_can_be_written_again(path: Path) -> None:
    write(path, line(entry("user", "HALF")).replace(b"HALF", b"cut \\ud83d here"))
    reading = read(SOURCE.read, path)
    assert reading.session
    assert reading.session.messages[0].text.encode() == b"cut ? here"


def test_sub_agents_are_nobodys_talk(tmp_path: Path) -> None:
    root = tmp_path / "projects" / "-work-app"
    alone = write(root / "x.jsonl", lines(entry("user", "task", isSidechain=True)))
    write(root / "agent-1.jsonl", b"")
    write(root / SESSION / "subagents" / "agent-2.jsonl", b"")
    places = Places(tmp_path, {"CLAUDE_CONFIG_DIR": str(tmp_path)})
    assert [found.path for found in SOURCE.find(places)] == [alone]
    reading = read(SOURCE.read, alone)
    assert reading.session
    assert reading.session.kind is Kind.ISOLATED


TALK = lines(
    entry("user", "héllo 你好", cwd="/w"),
    entry("assistant", [{"type": "text", "text": "one"}], 1),
    {"type": "summary", "summary": "x"},
    entry("user", "copied", 2, forkedFrom={"sessionId": OTHER}),
    entry("user", "untimed", 3, timestamp=None),
    entry("assistant", "two", 4),
)
WHOLE = in_steps(SOURCE.read, f"{SESSION}.jsonl", [TALK])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 1 << 16), max_size=6))
def test_reading_in_steps_is_reading_at_once(places: list[int]) -> None:
    assert len(WHOLE) == 4
    assert in_steps(SOURCE.read, f"{SESSION}.jsonl", cut(TALK, places)) == WHOLE
