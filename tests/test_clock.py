"""Time as the user lives it."""

from __future__ import annotations

import datetime as dt
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.clock import Clock, duration, duration_in_words, monday, zone
from nacre.errors import BadInput, BadSetting
from nacre.i18n import use_language

SHANGHAI = ZoneInfo("Asia/Shanghai")
BERLIN = ZoneInfo("Europe/Berlin")
NIGHT = dt.datetime(2026, 2, 10, 23, 30, tzinfo=dt.UTC)


def test_today_is_the_user_s_day_not_the_world_s() -> None:
    assert Clock(dt.UTC, NIGHT).today() == dt.date(2026, 2, 10)
    assert Clock(SHANGHAI, NIGHT).today() == dt.date(2026, 2, 11)
    assert Clock(ZoneInfo("America/New_York"), NIGHT).now().isoformat() == "2026-02-10T18:30:00-05:00"


def test_a_clock_that_is_not_stopped_goes() -> None:
    clock = Clock(dt.UTC)
    before = dt.datetime.now(dt.UTC)
    assert before <= clock.now() <= dt.datetime.now(dt.UTC)
    assert clock.at(None) is clock


@pytest.mark.parametrize("text", ["2026-02-10", "20260210", "2026-W07-2"])
def test_a_date_means_its_end(text: str) -> None:
    assert Clock(SHANGHAI).parse(text).isoformat() == "2026-02-10T23:59:59+08:00"


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-02-10T18:49", "2026-02-10T18:49:00+08:00"),
        ("2026-02-10 18:49:07", "2026-02-10T18:49:07+08:00"),
        ("2026-02-10T10:49Z", "2026-02-10T10:49:00+00:00"),
        ("2026-02-10T10:49:00-05:00", "2026-02-10T10:49:00-05:00"),
    ],
)
def test_a_time_without_a_zone_is_the_user_s(text: str, moment: str) -> None:
    assert Clock(SHANGHAI).parse(text).isoformat() == moment


@pytest.mark.parametrize(
    "text",
    [
        "",
        "today",
        "2026-02-30",
        "2026-13-01",
        "10.02.2026",
        "2026-02-10T25:00",
        "9999-12-31T23:59:59-12:00",
        "0001-01-01T00:00+14:00",
    ],
)
def test_what_is_no_time_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(BadInput, match="2026-02-14"):
        Clock(SHANGHAI).parse(text)


def test_days_on_which_the_clock_changes_have_their_own_end() -> None:
    clock = Clock(BERLIN)
    assert clock.parse("2026-03-28").isoformat() == "2026-03-28T23:59:59+01:00"
    assert clock.parse("2026-03-29").isoformat() == "2026-03-29T23:59:59+02:00"
    assert clock.parse("2026-10-25").isoformat() == "2026-10-25T23:59:59+01:00"
    missing, twice = clock.at("2026-03-29T02:30"), clock.at("2026-10-25T02:30")
    assert missing.today() == dt.date(2026, 3, 29)
    assert twice.now().utcoffset() == dt.timedelta(hours=2)


def test_a_clock_can_be_stopped_at_a_day_a_moment_or_a_text() -> None:
    clock = Clock(SHANGHAI)
    assert clock.at(dt.date(2026, 2, 10)).now().isoformat() == "2026-02-10T23:59:59+08:00"
    assert clock.at(dt.datetime(2026, 2, 10, 9, 0)).now().isoformat() == "2026-02-10T09:00:00+08:00"  # noqa: DTZ001
    assert clock.at(NIGHT).now().isoformat() == "2026-02-11T07:30:00+08:00"
    assert clock.at("2026-02-10").at("2026-02-11").today() == dt.date(2026, 2, 11)
    assert clock.local(NIGHT).isoformat() == "2026-02-11T07:30:00+08:00"


@given(st.datetimes(min_value=dt.datetime(1970, 1, 2), max_value=dt.datetime(2100, 1, 1)), st.sampled_from(["Asia/Shanghai", "Europe/Berlin", "Asia/Kathmandu", "Pacific/Apia", "America/St_Johns"]))  # noqa: DTZ001  # fmt: skip
def test_any_moment_written_down_is_read_back_as_the_same(moment: dt.datetime, name: str) -> None:
    clock = Clock(ZoneInfo(name), moment.replace(tzinfo=dt.UTC))
    assert (
        clock.parse(clock.now().isoformat()).timestamp() == clock.now().timestamp()
    )  # an hour that comes twice equals no other zone's


@given(st.dates(min_value=dt.date(1, 1, 8)))
def test_the_natural_week_begins_on_monday(day: dt.date) -> None:
    first = monday(day)
    assert first.weekday() == 0
    assert 0 <= (day - first).days < 7
    assert monday(first) == first


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("4h", 4),
        ("7d", 168),
        ("90min", 1.5),
        ("90m", 1.5),
        ("1d 12h", 36),
        ("2w", 336),
        ("1.5h", 1.5),
        ("30 s", 30 / 3600),
        ("0h", 0),
    ],
)
def test_lengths_of_time(text: str, hours: float) -> None:
    assert duration(text) == dt.timedelta(hours=hours)


@pytest.mark.parametrize("text", ["", "4", "h", "-4h", "4x", "4h and more", "5mo", "1e9d"])
def test_what_is_no_length_of_time_is_refused(text: str) -> None:
    with pytest.raises(BadSetting, match="4h, 7d or 30min"):
        duration(text)


def test_a_length_beyond_all_calendars_is_a_century() -> None:
    assert duration("9" * 30 + "d") == dt.timedelta(days=36_500)


def test_time_zones_are_known_by_name() -> None:
    assert zone(None) is None
    assert zone("") is None
    assert zone("Asia/Shanghai") == SHANGHAI
    for name in ("Mars/Olympus", "../../etc/passwd", "/etc/passwd", "Asia", "a\0b"):
        with pytest.raises(BadSetting, match="Asia/Shanghai"):
            zone(name)


@pytest.mark.parametrize(
    ("span", "english", "chinese"),
    [("30d", "30 days", "30 天"), ("1w", "1 week", "1 周"), ("90min", "90 minutes", "90 分钟"), ("1d 12h",) * 3],
)
def test_a_length_of_time_is_said_in_words(span: str, english: str, chinese: str) -> None:
    assert duration_in_words(span) == english
    use_language("zh")
    assert duration_in_words(span) == chinese
