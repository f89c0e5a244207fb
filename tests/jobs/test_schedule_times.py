"""A cron expression means the same moments in the words of every scheduler."""

from __future__ import annotations

import datetime as dt
import shutil
import subprocess
import time
from itertools import islice

import pytest
from cronsim import CronSim
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from nacre.clock import Clock, zone
from nacre.errors import BadSetting
from nacre.jobs.schedule import (
    Times,
    calendar_events,
    calendar_intervals,
    changes_within_a_year,
    parse_cron,
    shifted,
    zone_difference,
)

BEGIN = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("expression", "event"),
    [
        ("0 10,14,18,22 * * *", "*-*-* 10,14,18,22:00:00 Asia/Shanghai"),
        ("0 3 * * *", "*-*-* 03:00:00 Asia/Shanghai"),
        ("7 * * * *", "*-*-* *:07:00 Asia/Shanghai"),
        ("*/30 * * * *", "*-*-* *:00,30:00 Asia/Shanghai"),
        ("15 4 * * mon-fri", "Mon,Tue,Wed,Thu,Fri *-*-* 04:15:00 Asia/Shanghai"),
        ("0 0 1 1,7 *", "*-01,07-01 00:00:00 Asia/Shanghai"),
        ("0 12 * * 7", "Sun *-*-* 12:00:00 Asia/Shanghai"),
    ],
)
def test_systemd_is_told_in_its_own_words(expression: str, event: str) -> None:
    assert calendar_events(parse_cron(expression), "Asia/Shanghai") == (event,)


def test_a_day_of_the_month_or_a_weekday_are_two_events_for_systemd() -> None:
    assert calendar_events(parse_cron("0 3 1,15 * sun"), None) == ("*-*-01,15 03:00:00", "Sun *-*-* 03:00:00")


@pytest.mark.parametrize("expression", ["0 3 L * *", "0 3 * * 5L", "0 3 * * 1#2", "0 3 LW * *"])
def test_what_only_our_own_scheduler_understands_is_refused_with_a_way_out(expression: str) -> None:
    with pytest.raises(BadSetting, match="nacre serve"):
        parse_cron(expression)


def test_launchd_is_told_each_moment() -> None:
    assert calendar_intervals(parse_cron("0 10,14 * * *")) == ({"Hour": 10, "Minute": 0}, {"Hour": 14, "Minute": 0})
    assert calendar_intervals(parse_cron("7 * * * *")) == ({"Minute": 7},)
    assert calendar_intervals(parse_cron("0 3 1 * 0")) == (
        {"Day": 1, "Hour": 3, "Minute": 0},
        {"Weekday": 0, "Hour": 3, "Minute": 0},
    )


def numbers(least: int, most: int) -> st.SearchStrategy[str]:
    some = st.sets(st.integers(least, most), min_size=1, max_size=4)
    return st.one_of(st.just("*"), some.map(lambda found: ",".join(map(str, sorted(found)))))


daily = st.builds("{} {} * * {}".format, numbers(0, 59), numbers(0, 23), numbers(0, 6))


@given(daily, st.integers(-56, 56))
def test_moved_times_are_the_same_moments_by_another_clock(expression: str, quarters: int) -> None:
    ahead = dt.timedelta(minutes=15 * quarters)
    mine, its = dt.timezone(ahead), dt.UTC
    wanted = [one.astimezone(its) for one in islice(CronSim(expression, BEGIN.astimezone(mine)), 40)]
    found: set[dt.datetime] = set()
    for one in shifted(parse_cron(expression), ahead):
        found |= {*islice(CronSim(one.expression, BEGIN), 40)}
    assert sorted(found)[:40] == wanted


@given(
    st.one_of(
        st.builds("{} {} {} {} *".format, numbers(0, 59), numbers(0, 23), numbers(1, 28), numbers(1, 12)),
        st.builds("{} {} * {} {}".format, numbers(0, 59), numbers(0, 23), numbers(1, 12), numbers(0, 6)),
    )
)
@settings(suppress_health_check=[HealthCheck.filter_too_much])  # every minute of many hours is asked of nobody
def test_launchd_fires_when_cron_would(expression: str) -> None:
    times = parse_cron(expression)
    assume(len(times.months) * len(times.days) * len(times.hours) * len(times.minutes) < 500)
    intervals = calendar_intervals(times)
    for moment in islice(CronSim(expression, BEGIN), 20):
        assert any(fits(one, moment) for one in intervals)
        assert not any(fits(one, moment + dt.timedelta(minutes=1)) for one in intervals) or _fires(times, moment)


def fits(interval: dict[str, int], moment: dt.datetime) -> bool:
    now = {"Month": moment.month, "Day": moment.day, "Weekday": moment.isoweekday() % 7}
    now |= {"Hour": moment.hour, "Minute": moment.minute}
    return all(now[name] == value for name, value in interval.items())


def _fires(times: Times, moment: dt.datetime) -> bool:
    """Whether the minute after a moment is one of the times too."""
    after = moment + dt.timedelta(minutes=1)
    return next(CronSim(times.expression, moment)) == after


def test_days_of_the_month_do_not_move_to_another_day() -> None:
    assert [one.expression for one in shifted(parse_cron("0 12 1 * *"), dt.timedelta(hours=8))] == ["0 4 1 * *"]
    with pytest.raises(BadSetting, match="another day"):
        shifted(parse_cron("0 3 1 * *"), dt.timedelta(hours=8))


def test_how_far_the_users_clock_is_ahead_of_the_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        clock = Clock(zone("Asia/Shanghai"), dt.datetime(2026, 1, 10, tzinfo=dt.UTC))
        assert zone_difference(clock) == dt.timedelta(hours=13)
        assert changes_within_a_year(clock)
        same = Clock(zone("America/New_York"), dt.datetime(2026, 1, 10, tzinfo=dt.UTC))
        assert not zone_difference(same)
        assert not changes_within_a_year(same)
        assert not changes_within_a_year(Clock(None, same.fixed))
    finally:
        monkeypatch.delenv("TZ")
        time.tzset()


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not installed")
@pytest.mark.parametrize(
    "expression", ["0 10,14,18,22 * * *", "7 * * * *", "*/30 * * * *", "0 3 1,15 2-4 sun", "5 4 * * 1-5"]
)
def test_systemd_itself_understands_what_it_is_told(expression: str) -> None:
    for event in calendar_events(parse_cron(expression), "Asia/Shanghai"):
        done = subprocess.run(["systemd-analyze", "calendar", event], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
