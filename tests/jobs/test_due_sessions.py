"""Talks are captured soon after they ended; a machine on which nobody speaks is left alone."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from tests.capture.talks import Desk as Machine
from tests.jobs.runners import NOW

from nacre.jobs.journal import JobRun, Journal
from nacre.jobs.run import look, tick
from nacre.jobs.schedule import PlannedRun, capture_due, next_look
from nacre.memory import Memory
from nacre.model import SessionFile

MINUTE, HOUR, DAY = dt.timedelta(minutes=1), dt.timedelta(hours=1), dt.timedelta(days=1)
SILENCE = 10 * MINUTE
LOOKED = NOW - HOUR


def wanted(
    *talks: SessionFile, now: dt.datetime = NOW, runs: tuple[JobRun, ...] = (), looked: dt.datetime | None = LOOKED
) -> PlannedRun | None:
    return capture_due(talks, now, Journal(runs), 3, silence=SILENCE, looked=looked)


def failed(at: dt.datetime, number: int = 1) -> JobRun:
    return JobRun(number, "memory-sync", at, result="failed", ended=at)


def test_a_talk_that_fell_silent_since_the_last_capture_is_captured() -> None:
    assert wanted(SessionFile("a", NOW - 11 * MINUTE)) == PlannedRun("memory-sync", None, 1, "talk")


def test_a_talk_that_goes_on_is_left_until_it_is_silent_or_said_to_be_over() -> None:
    assert wanted(SessionFile("a", NOW - MINUTE)) is None
    assert wanted(SessionFile("a", NOW - MINUTE, ended=True))


def test_what_was_there_at_the_last_capture_calls_for_none() -> None:
    assert wanted(SessionFile("a", LOOKED), SessionFile("b", LOOKED - DAY, ended=True)) is None


def test_before_the_first_capture_nothing_is_captured_unasked() -> None:
    assert wanted(SessionFile("a", NOW - HOUR), looked=None) is None


def test_a_file_from_the_future_waits() -> None:
    assert wanted(SessionFile("a", NOW + DAY)) is None


def test_after_failures_it_waits_longer_and_longer_and_then_leaves_it_to_the_fixed_times() -> None:
    talk = SessionFile("a", NOW - 11 * MINUTE)
    assert wanted(talk, runs=(failed(NOW),), now=NOW + MINUTE / 2) is None
    assert wanted(talk, runs=(failed(NOW),), now=NOW + MINUTE) == PlannedRun("memory-sync", None, 2, "talk")
    assert wanted(talk, runs=tuple(failed(NOW, number) for number in range(4)), now=NOW + DAY) is None


def test_a_machine_is_looked_at_twice_within_the_silence_of_a_talk() -> None:
    assert next_look(NOW, [SessionFile("a", NOW - HOUR)], silence=SILENCE, looked=NOW) == NOW + SILENCE / 2
    assert next_look(NOW, [], silence=SILENCE, looked=None) == NOW + SILENCE / 2


def test_the_next_look_is_when_a_talk_would_have_fallen_silent() -> None:
    talk = SessionFile("a", NOW - 9.5 * MINUTE)
    assert next_look(NOW, [talk], silence=SILENCE, looked=LOOKED) == NOW + MINUTE / 2


def test_over_a_clock_change_the_next_look_is_no_hour_late() -> None:
    now = dt.datetime(2026, 3, 29, 0, 59, tzinfo=dt.UTC).astimezone(ZoneInfo("Europe/Berlin"))
    found = next_look(now, [SessionFile("a", now - HOUR)], silence=SILENCE, looked=now)
    assert found - now.astimezone(dt.UTC) == SILENCE / 2


@settings(max_examples=100, deadline=None)
@given(some.lists(some.tuples(some.integers(0, 400), some.integers(0, 30)), max_size=8))
def test_in_a_day_of_talks_each_is_captured_at_the_end_of_its_silence(spans: list[tuple[int, int]]) -> None:
    """Talks are given by the minutes when they begin and for which they last."""
    start = NOW
    heard = dict(enumerate((start + begin * MINUTE, start + (begin + length) * MINUTE) for begin, length in spans))
    captured: dict[int, dt.datetime] = {}
    looked, now = start - MINUTE, start
    looks = 0
    while now < start + 9 * HOUR:
        looks += 1
        talks = [SessionFile(str(at), min(end, now)) for at, (begin, end) in heard.items() if begin <= now]
        if capture_due(talks, now, Journal(), 3, silence=SILENCE, looked=looked):
            captured |= {at: now for at, (_, end) in heard.items() if end <= now and at not in captured}
            looked = now
        now = next_look(now, talks, silence=SILENCE, looked=looked)
    assert set(captured) == set(heard)
    for at, (_, end) in heard.items():
        assert captured[at] <= end + SILENCE
    assert looks <= 9 * 12 + 20 * len(heard) + 2


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NACRE_MODELS_PATH", str(tmp_path / "none"))
    monkeypatch.setenv("NACRE_TIMEZONE", "UTC")
    return Machine(tmp_path)


def memory_at(machine: Machine, now: str) -> Memory:
    return Memory.init(machine.workspace.root, now=now)


WORDS = (
    ("2026-03-02 09:00", "user", "From now on always use pnpm, never npm, in every repository."),
    ("2026-03-02 09:01", "agent", "Understood: pnpm everywhere."),
    ("2026-03-02 09:05", "user", "And we decided to move to PostgreSQL for storage."),
    ("2026-03-02 09:06", "agent", "Noted, PostgreSQL it is."),
)


def test_a_talk_on_the_disk_is_captured_when_it_fell_silent_and_once(machine: Machine) -> None:
    with memory_at(machine, "2026-03-02T08:50+00:00") as memory:
        assert [one.run.job for one in tick(memory)] == ["memory-sync", "memory-tidy", "organise", "heartbeat"]
    machine.claude(*WORDS)
    with memory_at(machine, "2026-03-02T09:08+00:00") as memory:
        found = tick(memory)
        assert [one.run.job for one in found] == ["organise", "heartbeat"]
        assert look(memory)[1] <= memory.clock.now() + 5 * MINUTE
        assert "61871d67" not in machine.log("2026-03-02")
    with memory_at(machine, "2026-03-02T09:16+00:00") as memory:
        (report,) = tick(memory)
        assert (report.run.job, report.run.why, report.outcome.result) == ("memory-sync", "talk", "done")
        assert "61871d67" in machine.log("2026-03-02")
        assert tick(memory) == ()


def test_a_talk_whose_agent_says_that_it_is_over_is_captured_at_once(machine: Machine) -> None:
    with memory_at(machine, "2026-03-02T08:50+00:00") as memory:
        tick(memory)
    path = machine.claude(*WORDS)
    with memory_at(machine, "2026-03-02T09:06:30+00:00") as memory:
        assert [one.run.why for one in tick(memory, ended={str(path)})] == ["time", "talk"]
        assert "61871d67" in machine.log("2026-03-02")


def test_where_the_user_wants_fixed_times_only_talks_are_not_looked_at(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NACRE_JOBS_ADAPTIVE", "false")
    with memory_at(machine, "2026-03-02T08:50+00:00") as memory:
        tick(memory)
    machine.claude(*WORDS)
    with memory_at(machine, "2026-03-02T09:20+00:00") as memory:
        found = tick(memory)
        assert "memory-sync" not in [one.run.job for one in found]
        assert look(memory)[1] == dt.datetime(2026, 3, 2, 9, 30, tzinfo=dt.UTC)
