"""What is due: each time once, after sleep once, after failures again and again but not for ever."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from tests.jobs.runners import NOW

from nacre.config.settings import JobsSettings
from nacre.jobs.due import PlannedRun, Rules, due, next_time, requested_run, retry_wait, rules
from nacre.jobs.journal import JobRun, Journal, Result
from nacre.jobs.schedule import Job

BERLIN = ZoneInfo("Europe/Berlin")
JOB = Job("memory-sync", ("0 10,14,18,22 * * *",), dt.UTC)
RULES = Rules(dt.timedelta(), 3, "here")
MINUTE, HOUR = dt.timedelta(minutes=1), dt.timedelta(hours=1)
TWO = NOW.replace(hour=14, minute=0)


def one(now: dt.datetime, *runs: JobRun, given: Rules = RULES) -> PlannedRun | None:
    found = due(now, Journal(runs), [JOB], given)
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


def test_a_run_for_a_later_time_ends_the_trying_for_an_earlier() -> None:
    shifted = Rules(5 * MINUTE, 3, "here")
    shift = shifted.shift(JOB.name)
    assert shift > 2 * MINUTE, "another name for the machine would do"
    failed = ran(TWO - 4 * HOUR, "failed")
    at = TWO + MINUTE  # by the shifted times it is still before two, but somebody ran for two by name
    assert one(at, failed, given=shifted)
    assert one(at, failed, ran(TWO), given=shifted) is None


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


def test_jitter_is_the_same_every_day_and_differs_between_machines_and_jobs() -> None:
    given = rules(JobsSettings(jitter="2min"), "here")
    shifts = {(machine, job): replace(given, machine=machine).shift(job) for machine in "abcdefgh" for job in "xyz"}
    assert all(dt.timedelta() <= one <= 2 * MINUTE for one in shifts.values())
    assert len(set(shifts.values())) > 12
    assert given.shift("x") == given.shift("x")
    assert rules(JobsSettings(jitter="0s"), "here").shift("x") == dt.timedelta()


def test_a_run_begins_later_by_its_jitter_and_no_time_is_lost() -> None:
    given = Rules(2 * MINUTE, 3, "here")
    shift = given.shift(JOB.name)
    before = ran(TWO - 4 * HOUR)
    assert one(TWO + shift - dt.timedelta(seconds=1), before, given=given) is None
    assert one(TWO + shift, before, given=given) == PlannedRun("memory-sync", TWO, 1, "time")


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
    given = Rules(2 * MINUTE, retries, "here")
    now = dt.datetime(2026, 3, 10, tzinfo=dt.UTC) + dt.timedelta(seconds=seconds)
    told = [ran(now + hours * HOUR if timed else None, result) for hours, result, timed in runs]
    found = next_time(job, now, Journal(tuple(told)), given)
    assert found
    assert now < found <= now + dt.timedelta(days=7, hours=2)
    if expression == "*/30 * * * *":
        assert found <= now + 30 * MINUTE
