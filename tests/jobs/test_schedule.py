"""The times of jobs are the user's own, also when the clock changes."""

from __future__ import annotations

import datetime as dt
import itertools
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from tests.jobs.model import MONTHS, Times, daily, model, month_of, repeated
from tests.jobs.runners import following, latest

from nacre.clock import Clock
from nacre.config.settings import Config, JobsSettings, SyncSettings, TidySettings
from nacre.errors import BadSetting
from nacre.i18n import use_language
from nacre.jobs.schedule import (
    JOB_NAMES,
    SYNC,
    TIDY,
    Job,
    expressions,
    in_words,
    jobs,
    windows,
    zone_of,
)

CHOICES = {
    ("0 10,14,18,22 * * *",): daily("10:00", "14:00", "18:00", "22:00"),
    ("0 3 * * *",): daily("03:00"),
    ("30 2 * * *",): daily("02:30"),
    ("15 2 * * *", "45 1,2 * * *"): daily("02:15", "01:45", "02:45"),
    ("0 2,3 * * *",): daily("02:00", "03:00"),
    ("7 * * * *",): repeated(range(24), {7}),
    ("*/30 * * * *",): repeated(range(24), {0, 30}),
    ("5 */6 * * *",): repeated({0, 6, 12, 18}, {5}),
    ("*/20 2,3 * * *",): repeated({2, 3}, {0, 20, 40}),
}


@pytest.mark.parametrize(("zone", "first"), MONTHS)
@pytest.mark.parametrize(("given", "times"), CHOICES.items())
def test_a_month_has_the_times_that_the_clock_on_the_wall_shows(
    given: tuple[str, ...], times: Times, zone: str, first: dt.date
) -> None:
    begin, end = month_of(zone, first)
    job = Job("it", given, ZoneInfo(zone))
    found = tuple(itertools.takewhile(lambda one: one <= end, windows(job, begin - dt.timedelta(minutes=1))))
    assert found == tuple(one for one in model(times, zone, first) if begin <= one <= end)


@settings(max_examples=150, deadline=None)
@given(some.sampled_from(MONTHS), some.sampled_from(sorted(CHOICES)), some.integers(0, 31 * 86400))
def test_the_last_and_the_next_time_are_neighbours_at_every_moment(
    month: tuple[str, dt.date], given: tuple[str, ...], seconds: int
) -> None:
    now = month_of(*month)[0] + dt.timedelta(seconds=seconds)
    all_times = model(CHOICES[given], *month)
    job = Job("it", given, ZoneInfo(month[0]))
    assert latest(job, now) == max(one for one in all_times if one <= now)
    assert following(job, now) == min(one for one in all_times if one > now)


@pytest.mark.parametrize(
    ("after", "times"),
    [
        # 02:30 does not exist on 29 March: it comes when the clock has jumped, at 03:00, which is 01:00 in UTC.
        ("2026-03-28T12:00+01:00", ["2026-03-29T01:00+00:00", "2026-03-30T00:30+00:00"]),
        # On 25 October it comes twice: the first counts.
        ("2026-10-24T12:00+02:00", ["2026-10-25T00:30+00:00", "2026-10-26T01:30+00:00"]),
        # Asked between the two, the next one is tomorrow's.
        ("2026-10-25T01:10+00:00", ["2026-10-26T01:30+00:00", "2026-10-27T01:30+00:00"]),
    ],
)
def test_a_skipped_time_comes_once_and_a_doubled_one_once(after: str, times: list[str]) -> None:
    job = Job("it", ("30 2 * * *",), ZoneInfo("Europe/Berlin"))
    found = itertools.islice(windows(job, dt.datetime.fromisoformat(after)), 2)
    assert list(found) == [dt.datetime.fromisoformat(one) for one in times]


def test_the_usual_times_are_those_of_the_two_jobs_that_everybody_knows() -> None:
    assert [expressions(Config(), name) for name in JOB_NAMES] == [
        ("0 10,14,18,22 * * *",),
        ("0 3 * * *",),
        ("7 * * * *",),
        ("*/30 * * * *",),
    ]


def test_times_of_different_minutes_become_several_expressions() -> None:
    config = Config(sync=SyncSettings(times=["14:30", "9:00", "10:00"]), tidy=TidySettings(time="23:59"))
    assert expressions(config, SYNC) == ("0 9,10 * * *", "30 14 * * *")
    assert expressions(config, TIDY) == ("59 23 * * *",)


def test_an_expression_of_ones_own_takes_the_place_of_the_times() -> None:
    config = Config(jobs=JobsSettings(sync="0  */2 * * 1-5", tidy="off", heartbeat=""))
    found = {job.name: job.expressions for job in jobs(config, Clock(dt.UTC))}
    assert found == {"memory-sync": ("0 */2 * * 1-5",), "memory-tidy": (), "organise": ("7 * * * *",), "heartbeat": ()}


@pytest.mark.parametrize(
    "wrong", ["daily", "0 25 * * *", "0 0 30 2 *", "* * * * * *", "@hourly", "0 3 * *", "٣ * * * *"]
)
def test_an_expression_that_never_comes_is_refused_by_the_name_of_its_setting(wrong: str) -> None:
    with pytest.raises(BadSetting, match=r"jobs\.tidy"):
        expressions(Config(jobs=JobsSettings(tidy=wrong)), TIDY)


@pytest.mark.parametrize("wrong", ["25:00", "noon", "10:60", "10", ""])
def test_a_time_that_is_none_is_refused(wrong: str) -> None:
    with pytest.raises(BadSetting, match=r"sync\.times"):
        expressions(Config(sync=SyncSettings(times=["10:00", wrong])), SYNC)


def test_a_job_without_times_has_neither_a_last_nor_a_next_one() -> None:
    job = Job("it", (), dt.UTC)
    now = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    assert (latest(job, now), following(job, now)) == (None, None)


def test_a_rare_day_is_found_years_back() -> None:
    leap = Job("it", ("0 3 29 2 *",), dt.UTC)
    assert latest(leap, dt.datetime(2027, 6, 1, tzinfo=dt.UTC)) == dt.datetime(2024, 2, 29, 3, tzinfo=dt.UTC)


def test_a_clock_without_a_zone_changes_with_the_one_of_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    assert zone_of(Clock(ZoneInfo("Asia/Tokyo"))) == ZoneInfo("Asia/Tokyo")
    monkeypatch.setenv("TZ", ":America/New_York")
    assert zone_of(Clock()) == ZoneInfo("America/New_York")
    monkeypatch.setenv("TZ", "/usr/share/zoneinfo/Europe/Paris")
    assert zone_of(Clock()) == ZoneInfo("Europe/Paris")
    monkeypatch.delenv("TZ")
    monkeypatch.setattr("nacre.jobs.schedule._LOCALTIME", Path("/nonexistent/zoneinfo/Asia/Seoul"))
    assert zone_of(Clock()) == ZoneInfo("Asia/Seoul")
    monkeypatch.setattr("nacre.jobs.schedule._LOCALTIME", Path("/nonexistent"))
    fixed = zone_of(Clock(None, dt.datetime(2026, 1, 1, tzinfo=dt.UTC)))
    assert fixed.utcoffset(None) is not None


def test_times_are_told_in_words_of_both_languages() -> None:
    use_language("en")
    assert in_words(("0 9,22 * * *", "30 14 * * *")) == "daily at 09:00, 14:30, 22:00"
    assert in_words(("*/30 * * * *",)) == "every 30 minutes"
    assert in_words(()) == "only on demand"
    use_language("zh")
    assert in_words(("0 9,22 * * *",)) == "每天 09:00、22:00"
    assert in_words(("7 * * * *",)) == "每小时第 7 分"
    assert in_words(("0 3 * * 1",)) == "0 3 * * 1"  # what is no daily time, hour or minute is shown as it is set
    use_language("auto")
