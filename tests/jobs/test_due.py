"""What is due: each time once, after sleep once, after failures again and again but not for ever."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from tests.jobs.runners import NOW

from nacre.jobs.journal import JobRun, Journal, Result
from nacre.jobs.schedule import Job, PlannedRun, due, next_time, requested_run, retry_wait

BERLIN = ZoneInfo("Europe/Berlin")
JOB = Job("memory-sync", ("0 10,14,18,22 * * *",), dt.UTC)
MINUTE, HOUR = dt.timedelta(minutes=1), dt.timedelta(hours=1)
TWO = NOW.replace(hour=14, minute=0)


def one(now: dt.datetime, *runs: JobRun) -> PlannedRun | None:
    found = due(now, Journal(runs), [JOB], 3)
    assert len(found) <= 1
    return found[0] if found else None


def ran(
    window: dt.datetime | None, result: Result | None = "done", after: dt.timedelta = MINUTE, attempt: int = 1
) -> JobRun:
    at = (window or NOW) + after
    return JobRun(attempt, JOB.name, at, window, attempt, result=result, ended=at if result else None)


def test_a_job_that_never_ran_is_due_for_its_last_time() -> None:
    assert one(NOW) == PlannedRun("memory-sync", TWO, 1, "missed")
    assert one(TWO) == PlannedRun("memory-sync", TWO, 1, "time")


@pytest.mark.parametrize("result", ["done", "nothing", "partly"])
def test_a_time_that_was_run_for_is_not_due_again(result: Result) -> None:
    assert one(NOW, ran(TWO, result)) is None


def test_after_days_of_sleep_it_is_caught_up_once() -> None:
    before = ran(TWO)
    morning = NOW + dt.timedelta(days=5)
    found = one(morning, before)
    assert found == PlannedRun("memory-sync", TWO + dt.timedelta(days=5), 1, "missed")
    assert one(morning, before, ran(found.window, after=30 * MINUTE)) is None


def test_a_failed_run_is_tried_again_after_longer_and_longer_waits_and_not_for_ever() -> None:
    runs: list[JobRun] = []
    now, starts = TWO, []
    while now < TWO + 3 * HOUR:
        if found := one(now, *runs):
            assert (found.attempt, found.window) == (len(runs) + 1, TWO)
            starts.append((now - TWO) / MINUTE)
            runs.append(JobRun(len(runs), JOB.name, now, TWO, found.attempt, result="failed", ended=now))
        now += MINUTE
    assert starts == [0, 1, 5, 21]
    assert one(TWO + 4 * HOUR, *runs) == PlannedRun("memory-sync", TWO + 4 * HOUR, 1, "time")


def test_waits_grow_up_to_some_hours() -> None:
    assert [retry_wait(count) / MINUTE for count in (1, 2, 3, 4, 5, 99)] == [1, 4, 16, 64, 256, 256]


def test_a_run_that_broke_off_counts_as_an_attempt() -> None:
    broken = ran(TWO, None, after=MINUTE)
    assert one(TWO + MINUTE, broken) is None
    assert one(TWO + 2 * MINUTE, broken) == PlannedRun("memory-sync", TWO, 2, "retry")
    assert one(NOW, *[broken] * 4) is None


def test_runs_without_a_time_neither_cover_one_nor_count_as_attempts() -> None:
    assert one(NOW, ran(None), ran(None, "failed")) == PlannedRun("memory-sync", TWO, 1, "missed")


def test_a_clock_that_was_years_ahead_does_not_stop_the_jobs() -> None:
    ahead = ran(TWO.replace(year=2031))
    assert one(NOW, ahead) == PlannedRun("memory-sync", TWO, 1, "missed")
    assert one(NOW, replace(ran(TWO, "failed"), ended=NOW.replace(year=2031)), ahead) == PlannedRun(
        "memory-sync", TWO, 2, "retry"
    )


def test_a_clock_that_is_set_back_runs_for_no_time_twice() -> None:
    runs = [ran(TWO - 4 * HOUR), ran(TWO)]
    assert all(one(TWO + minutes * MINUTE, *runs) is None for minutes in range(-200, 200, 7))


def test_a_run_by_name_stands_for_the_last_time_unless_that_was_run_for() -> None:
    assert requested_run(JOB, NOW, Journal()) == PlannedRun("memory-sync", TWO, 1, "asked")
    assert requested_run(JOB, NOW, Journal((ran(TWO, "failed"),))) == PlannedRun("memory-sync", TWO, 2, "asked")
    assert requested_run(JOB, NOW, Journal((ran(TWO),))) == PlannedRun("memory-sync", None, 1, "asked")
    assert requested_run(Job("memory-sync", (), dt.UTC), NOW, Journal()) == PlannedRun("memory-sync", None, 1, "asked")


results = some.sampled_from(["done", "nothing", "partly", "failed", None])


@settings(max_examples=300, deadline=None)
@given(
    some.integers(0, 40 * 86400),
    some.lists(some.tuples(some.integers(-200, 200), results, some.booleans()), max_size=12),
    some.sampled_from(["0 10,14,18,22 * * *", "30 2 * * *", "*/30 * * * *", "0 3 * * 1"]),
    some.integers(0, 5),
)
def test_the_next_time_lies_ahead_and_no_further_than_the_longest_gap(
    seconds: int, runs: list[tuple[int, Result | None, bool]], expression: str, retries: int
) -> None:
    """Whatever the journal says, also nonsense."""
    job = Job(JOB.name, (expression,), BERLIN)
    now = dt.datetime(2026, 3, 10, tzinfo=dt.UTC) + dt.timedelta(seconds=seconds)
    told = [ran(now + hours * HOUR if timed else None, result) for hours, result, timed in runs]
    found = next_time(job, now, Journal(tuple(told)), retries)
    assert found
    assert now < found <= now + dt.timedelta(days=7, hours=2)
    if expression == "*/30 * * * *":
        assert found <= now + 30 * MINUTE
