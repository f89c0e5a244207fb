"""Sessions that wait for the user's own agent: asked for once, captured with its answer or by this machine, nothing lost or doubled."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.capture.talks import SESSION, Desk, Said, each_word, named, zulu
from tests.capture.test_sync_forks import FORK

from nacre.brain import journal
from nacre.brain.extract import by_model
from nacre.brain.turn import next_order, take_answer, waiting_orders
from nacre.capture.cursors import load_cursors
from nacre.capture.sync import SyncReport
from nacre.config.settings import BrainSettings, Config, SyncSettings
from nacre.memory import Memory
from nacre.model import Context, Message

SECOND = "71871d67-1111-4222-8333-444455556666"
TALK: tuple[Said, ...] = (
    ("2026-03-02 09:00", "user", "We use pnpm in every repository, never npm."),
    ("2026-03-02 09:01", "agent", "Noted."),
    ("2026-03-02 09:05", "user", "Karim signs off releases on port 5433."),
)
LATER: tuple[Said, ...] = (
    ("2026-03-02 11:00", "user", "Invoices go out on the first Monday."),
    ("2026-03-02 11:05", "user", "The warehouse has forty doors."),
)
PNPM = {"text": "Use pnpm in every repository, never npm", "speaker": "owner", "cites": ["m1"], "type": "PREF"}
DOORS = {"text": "The warehouse has forty doors", "speaker": "owner", "cites": ["m2"], "type": "TECH"}


def context(desk: Desk, now: str, **brain: Any) -> Context:
    desk.config = Config(brain=BrainSettings(**({"extract": "turn"} | brain)), sync=SyncSettings(max_bullets=99))
    desk.workspace.machine.mkdir(exist_ok=True)
    return desk.setting(now).context


def sync(desk: Desk, now: str, *, off_record: Any = lambda _: set(), **brain: Any) -> SyncReport:
    def on_record(said: Sequence[Message]) -> list[Message]:
        return [message for message in said if message.id not in off_record(said)]

    made = by_model(context(desk, now, **brain), each_word, on_record)
    return desk.sync(now, by_model=made, off_record=off_record)


def answer(desk: Desk, now: str, *entries: dict[str, Any]) -> None:
    """As the agent does: the first order that waits."""
    here = context(desk, now)
    coming = next_order(here).order
    assert coming
    take_answer(here, coming.key, json.dumps({"entries": entries}))


def words(desk: Desk) -> list[str]:
    return [text for _, text in desk.bullets()]


def test_a_session_waits_and_is_captured_with_the_answer(desk: Desk) -> None:
    desk.claude(*TALK)
    report = sync(desk, "2026-03-02 10:00")
    assert (report.sections, report.passed_over) == ((), {"asked": 1})
    assert sync(desk, "2026-03-02 10:01").passed_over == {"asked": 1}
    assert len(journal.read_orders(desk.workspace)) == 1
    answer(desk, "2026-03-02 10:02", PNPM)
    (section,) = sync(desk, "2026-03-02 10:03").sections
    assert section.heading == "09:05 session:61871d67 | 3 messages"
    assert words(desk) == ["[PREF] Use pnpm in every repository, never npm"]
    assert sync(desk, "2026-03-02 14:00").passed_over == {}
    (record,) = journal.read_orders(desk.workspace)
    assert (record.kept, record.reused, record.waits) == (1, (), False)


def test_without_an_answer_this_machine_writes_it_in_time(desk: Desk) -> None:
    desk.claude(*TALK)
    sync(desk, "2026-03-02 10:00")
    assert sync(desk, "2026-03-02 21:59").sections == ()
    assert len(sync(desk, "2026-03-02 22:00").sections) == 1
    assert words(desk) == [TALK[0][2], TALK[2][2]]
    (record,) = journal.read_orders(desk.workspace)
    assert "No agent picked up the request" in record.why
    assert waiting_orders(context(desk, "2026-03-02 22:00")) == []


def test_a_late_answer_is_taken_while_nobody_has_done_the_work(desk: Desk) -> None:
    desk.claude(*TALK)
    sync(desk, "2026-03-02 10:00")
    answer(desk, "2026-03-03 02:00", PNPM)
    sync(desk, "2026-03-03 10:00")
    assert words(desk) == ["[PREF] Use pnpm in every repository, never npm"]


def test_what_goes_on_does_not_change_the_order_and_is_asked_for_after_it(desk: Desk) -> None:
    desk.claude(*TALK)
    sync(desk, "2026-03-02 10:00")
    desk.claude(*LATER)
    sync(desk, "2026-03-02 11:10")
    assert len(journal.read_orders(desk.workspace)) == 1
    answer(desk, "2026-03-02 11:11", PNPM)
    assert [section.heading for section in sync(desk, "2026-03-02 11:12").sections] == [
        "09:05 session:61871d67 | 3 messages"
    ]
    assert sync(desk, "2026-03-02 14:00").passed_over == {"asked": 1}
    answer(desk, "2026-03-02 14:01", DOORS)
    (section,) = sync(desk, "2026-03-02 14:02").sections
    assert section.heading == "11:05 session:61871d67 | 2 messages | continued"
    assert words(desk) == ["[PREF] Use pnpm in every repository, never npm", "[TECH] The warehouse has forty doors"]
    assert sync(desk, "2026-03-02 18:00").passed_over == {}


def test_where_the_answer_is_empty_only_what_was_said_since_is_asked_for(desk: Desk) -> None:
    desk.claude(*TALK)
    sync(desk, "2026-03-02 10:00")
    desk.claude(*LATER)
    answer(desk, "2026-03-02 11:11")
    assert sync(desk, "2026-03-02 11:12").passed_over == {"nothing to say": 1}
    sync(desk, "2026-03-02 14:00")
    coming = next_order(context(desk, "2026-03-02 14:00")).order
    assert coming
    assert "Invoices" in coming.text
    assert "pnpm" not in coming.text


def test_a_session_that_never_ends_is_captured_within_twice_the_wait(desk: Desk) -> None:
    """Twice the wait and two runs, each of which comes every four hours; and each message once."""
    said: list[str] = []
    for hour in range(72):
        day, clock = 2 + hour // 24, f"{hour % 24:02}"
        said.append(f"remark number {hour}")
        desk.claude((f"2026-03-{day:02} {clock}:00", "user", said[-1]))
        if hour % 4 == 3:
            sync(desk, f"2026-03-{day:02} {clock}:30")
            assert set(said[: max(0, hour - 31)]) <= set(words(desk))
    sync(desk, "2026-03-06 10:00")
    sync(desk, "2026-03-06 23:00")
    sync(desk, "2026-03-07 12:00")
    assert sorted(words(desk)) == sorted(said)


def test_two_sessions_wait_side_by_side(desk: Desk) -> None:
    desk.claude(*TALK)
    desk.claude(*LATER, session=SECOND)
    assert sync(desk, "2026-03-02 12:00").passed_over == {"asked": 2}
    assert next_order(context(desk, "2026-03-02 12:00")).waiting == 2
    answer(desk, "2026-03-02 12:01", PNPM)
    report = sync(desk, "2026-03-02 12:02")
    assert len(report.sections) == 1
    assert report.passed_over == {"asked": 1}
    answer(desk, "2026-03-02 12:03", DOORS)
    assert len(sync(desk, "2026-03-02 12:04").sections) == 1
    assert len(words(desk)) == 2


def test_all_days_and_parts_of_a_session_are_asked_for_at_once(desk: Desk) -> None:
    text = "We talked about the warehouse and its forty doors. " * 60
    desk.claude(*[(f"2026-03-02 09:{minute:02}", "user", f"{minute}: {text}") for minute in range(30)])
    desk.claude(*((f"2026-03-03 {hour}", "user", f"remark at {hour}") for hour in ("09:00", "09:10")))
    sync(desk, "2026-03-03 10:00")
    count = len(waiting_orders(context(desk, "2026-03-03 10:00")))
    assert count > 2
    for _ in range(count):
        assert sync(desk, "2026-03-03 10:01").sections == ()
        answer(desk, "2026-03-03 10:02", PNPM | {"text": "The warehouse has forty doors", "type": "TECH"})
    assert len(sync(desk, "2026-03-03 10:03").sections) == 2


def test_what_is_to_be_kept_nowhere_goes_from_an_order_that_waits(desk: Desk) -> None:
    desk.claude(*TALK)
    sync(desk, "2026-03-02 10:00")
    desk.claude(("2026-03-02 10:30", "user", "Please don't save what I just said about Karim."))
    sync(desk, "2026-03-02 14:00", off_record=lambda said: {one.id for one in said if "Karim" in one.text})
    (waiting,) = waiting_orders(context(desk, "2026-03-02 14:00"))
    assert "pnpm" in waiting.text
    assert b"Karim" not in desk.bytes_anywhere()


@pytest.mark.parametrize("brain", [{"private": ["/work/*"]}, {"extract": "local"}])
def test_an_order_that_may_not_be_given_any_more_is_withdrawn(desk: Desk, brain: dict[str, Any]) -> None:
    desk.claude(*TALK, cwd="/work/shop")
    sync(desk, "2026-03-02 10:00")
    key = waiting_orders(context(desk, "2026-03-02 10:00"))[0].key
    assert len(sync(desk, "2026-03-02 10:01", **brain).sections) == 1
    with pytest.raises(Exception, match="no longer needs"):
        take_answer(context(desk, "2026-03-02 10:02"), key, '{"entries": []}')
    assert b"signs off" not in journal.orders_file(desk.workspace).read_bytes()


def test_what_was_forgotten_does_not_come_back_in_an_order(desk: Desk) -> None:
    desk.claude(*TALK)
    sync(desk, "2026-03-02 10:00")
    with Memory(context(desk, "2026-03-02 10:01")) as memory:
        memory.remember(TALK[2][2])
        memory.forget(TALK[2][2], purge=True)
    assert waiting_orders(context(desk, "2026-03-02 10:01")) == []
    sync(desk, "2026-03-02 10:02")
    (waiting,) = waiting_orders(context(desk, "2026-03-02 10:02"))
    assert "pnpm" in waiting.text
    assert "Karim" not in waiting.text


def test_a_fork_leaves_what_waits_to_the_session_it_was_forked_from(desk: Desk) -> None:
    desk.claude(*TALK)
    sync(desk, "2026-03-02 10:00")
    desk.fork(*LATER, session=FORK)
    sync(desk, "2026-03-02 11:30")
    first, second = waiting_orders(context(desk, "2026-03-02 11:30"))
    assert "pnpm" in first.text
    assert "pnpm" not in second.text
    sync(desk, "2026-03-03 12:00")
    assert sorted(words(desk)) == sorted(text for _, who, text in (*TALK, *LATER) if who == "user")


def test_with_lost_cursors_the_same_order_is_found_again(desk: Desk) -> None:
    desk.claude(*TALK)
    sync(desk, "2026-03-02 10:00")
    answer(desk, "2026-03-02 10:01", PNPM)
    desk.workspace.cursors.unlink()
    assert len(sync(desk, "2026-03-02 10:02").sections) == 1
    assert len(journal.read_orders(desk.workspace)) == 1


def test_nothing_of_an_order_that_an_agent_fetched_in_a_session_is_captured(desk: Desk) -> None:
    desk.claude(*TALK)
    sync(desk, "2026-03-02 10:00")
    (waiting,) = waiting_orders(context(desk, "2026-03-02 10:00"))
    path = desk.claude(*LATER, session=SECOND)
    use = {"type": "tool_use", "id": "t1", "name": "mcp__nacre__memory_orders", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": waiting.text}]}
    handed = use | {"name": "mcp__nacre__memory_answer", "input": {"id": waiting.key, "answer": json.dumps(PNPM)}}
    with path.open("a", encoding="utf8") as file:
        for who, content in (("assistant", use), ("user", result), ("assistant", handed)):
            entry = {"type": who, "uuid": named(who, str(content)), "sessionId": SECOND}
            file.write(json.dumps(entry | {"timestamp": zulu("2026-03-02 11:20"), "message": {"role": who, "content": [content]}}) + "\n")  # fmt: skip
    desk.workspace.cursors.unlink()
    (desk.home / ".claude" / "projects" / "p" / f"{SESSION}.jsonl").unlink()
    sync(desk, "2026-03-02 12:00", extract="local")
    assert words(desk) == [LATER[0][2], LATER[1][2]]


def test_a_dry_run_asks_for_nothing(desk: Desk) -> None:
    desk.claude(*TALK)
    here = context(desk, "2026-03-02 10:00")
    assert desk.sync("2026-03-02 10:00", dry_run=True, by_model=by_model(here, each_word, list)).sections
    assert journal.read_orders(desk.workspace) == []
    assert not load_cursors(desk.workspace).transcripts


DAY = """\
import os, sys
from pathlib import Path
from tests.capture import test_sync_turn as turn
from tests.capture.talks import Desk
from nacre import disk

left, kept = int(sys.argv[2]), (disk.append_bytes, disk.write)

def counted(function):
    def call(*args, **more):
        global left
        left -= 1
        if left < 0:
            os._exit(9)
        return function(*args, **more)
    return call

disk.append_bytes, disk.write = map(counted, kept)
desk = Desk(Path(sys.argv[1]))
turn.sync(desk, "2026-03-02 10:00")
while turn.next_order(turn.context(desk, "2026-03-02 10:01")).order:
    turn.answer(desk, "2026-03-02 10:01", turn.PNPM)
turn.sync(desk, "2026-03-02 10:02")
"""


def test_killed_at_any_write_and_run_again_it_asks_and_writes_nothing_twice(
    tmp_path: Path, disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = Path(__file__).parents[2]
    monkeypatch.setenv("PYTHONPATH", str(root))
    undisturbed = ""
    for left in (999, *range(0, 12, 2)):
        home = disk / f"home{left}"
        home.mkdir()
        desk = Desk(home)
        for session in (SESSION, SECOND):
            desk.claude(*TALK, ("2026-03-02 09:10", "user", f"This is session {session[:2]}."), session=session)
        command = [sys.executable, "-c", DAY, str(home)]
        subprocess.run([*command, str(left)], cwd=root, check=left == 999)
        if left == 999:
            undisturbed = desk.log("2026-03-02")
            assert undisturbed.count("\n## ") == 2
            continue
        subprocess.run([*command, "999"], cwd=root, check=True)
        assert desk.log("2026-03-02") == undisturbed
        assert len(journal.read_orders(desk.workspace)) == 2
