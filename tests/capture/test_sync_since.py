"""How far back a run is asked to look."""

from __future__ import annotations

import datetime as dt
from zoneinfo import ZoneInfo

import pytest

from nacre.capture.sync import parse_since
from nacre.clock import Clock
from nacre.errors import BadInput
from nacre.i18n import use_language

NOW = Clock(ZoneInfo("Asia/Shanghai"), dt.datetime(2026, 3, 2, 12, tzinfo=dt.UTC))


@pytest.mark.parametrize(
    ("since", "moment"),
    [
        ("4h", "2026-03-02T08:00:00+00:00"),
        (" 1w ", "2026-02-23T12:00:00+00:00"),
        ("2026-03-01", "2026-02-28T16:00:00+00:00"),  # from its beginning, where the user lives
        ("2026-03-01T09:30", "2026-03-01T01:30:00+00:00"),
        ("all", "1970-01-02T00:00:00+00:00"),
        ("ALL", "1970-01-02T00:00:00+00:00"),
        ("99999999d", "1971-05-30T12:00:00+00:00"),
    ],
)
def test_a_length_a_day_a_moment_or_all_there_is(since: str, moment: str) -> None:
    assert parse_since(since, NOW).astimezone(dt.UTC).isoformat() == moment


@pytest.mark.parametrize("since", ["foo", "", "2026-13-01", "tomorrow", "4", "4x", "T"])
def test_a_time_that_says_nothing_is_refused_with_a_remedy(since: str) -> None:
    with pytest.raises(BadInput, match="4h, 7d, 2026-02-14"):
        parse_since(since, NOW)
    use_language("zh")
    with pytest.raises(BadInput, match="不是有效的时间"):
        parse_since(since, NOW)
