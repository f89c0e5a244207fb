"""However talks grow and whenever runs come: each word of the owner stands once, in its own day, in its order."""

from __future__ import annotations

import datetime as dt
import os
import re
import tempfile
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.capture.talks import Desk, Said, at

BEGINNINGS = {
    "Europe/Berlin": dt.datetime(2026, 10, 24, 20, tzinfo=dt.UTC),  # the night in which an hour comes twice
    "America/New_York": dt.datetime(2026, 3, 8, 1, tzinfo=dt.UTC),  # the night that lacks one
    "Asia/Shanghai": dt.datetime(2026, 3, 2, 12, tzinfo=dt.UTC),
}
HEADING = re.compile(r"(\S+) (\d\d:\d\d) session:(\S+) \| (\d+) messages?( \| continued)?")

# How long after the one before, in which session, by whom; or a run, after which the cursors may be lost.
WORD = st.tuples(
    st.one_of(st.integers(0, 90), st.integers(60, 40_000)),
    st.integers(0, 2),
    st.sampled_from(["user", "user", "agent"]),
)
RUN = st.tuples(st.integers(0, 30_000), st.just(-1), st.sampled_from(["stay", "stay", "lost"]))
STEPS = st.lists(st.one_of(WORD, WORD, WORD, RUN), min_size=2, max_size=40)


@pytest.mark.parametrize(
    "names", [("aaaaaaaa-1", "bbbbbbbb-1", "cccccccc-1"), ("aaaaaaaa-1", "aaaaaaaa-2", "aaaaaaaa-11")]
)
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS, zone=st.sampled_from(sorted(BEGINNINGS)))
def test_every_word_of_the_owner_stands_once_in_its_own_day(
    names: tuple[str, ...], steps: list[tuple[int, int, str]], zone: str
) -> None:
    place = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=place, prefix="nacre-test-") as folder:
        desk = Desk(Path(folder), zone)
        said = play(desk, names, steps, BEGINNINGS[zone])
        desk.sync("2026-12-24", since="2026-01-01")
        logs = desk.logs()
        assert desk.sync("2026-12-25").sections == ()
        assert desk.logs() == logs
        check(desk, said)


def play(
    desk: Desk, names: tuple[str, ...], steps: list[tuple[int, int, str]], now: dt.datetime
) -> dict[str, list[Said]]:
    said: dict[str, list[Said]] = {}
    for number, (wait, which, what) in enumerate(steps):
        now += dt.timedelta(seconds=wait)
        if which >= 0:
            one = (now.isoformat(), what, f"{names[which]} word {number}")
            said.setdefault(names[which], []).append(one)
            desk.claude(one, session=names[which])
            continue
        desk.sync(now.isoformat(), since="2026-01-01")
        if what == "lost" and names[1][:8] != names[0][:8]:
            desk.workspace.cursors.unlink(missing_ok=True)
    return said


def check(desk: Desk, said: dict[str, list[Said]]) -> None:
    zone = ZoneInfo(desk.zone)
    found = desk.bullets()
    expected: list[tuple[str, str]] = []
    for talk in said.values():
        mine = [(at(when).astimezone(zone).date().isoformat(), words) for when, who, words in talk if who == "user"]
        expected += mine if len(mine) >= 2 else []
        stands = [one for one in found if one in mine]
        assert stands == sorted(stands, key=mine.index)  # in the order in which it was said
    assert sorted(found) == sorted(expected)
    _check_headings(desk, said)


def _check_headings(desk: Desk, said: dict[str, list[Said]]) -> None:
    headings: dict[str, list[re.Match[str]]] = {}
    for line in desk.headings():
        found = HEADING.fullmatch(line)
        assert found, line
        headings.setdefault(found[3], []).append(found)
    counted = [talk for talk in said.values() if sum(who == "user" for _, who, _ in talk) >= 2]
    assert len(headings) == len(counted)
    for mine in headings.values():
        assert [bool(one[5]) for one in mine] == [False] + [True] * (len(mine) - 1)
    told = sum(int(one[4]) for mine in headings.values() for one in mine)
    at_least = sum(max(place for place, one in enumerate(talk, 1) if one[1] == "user") for talk in counted)
    assert at_least <= told <= sum(map(len, counted))  # an answer after the owner's last word may come too late


def test_the_checks_above_would_notice_a_loss(desk: Desk) -> None:
    said = play(desk, ("aaaaaaaa-1", "b", "c"), [(0, 0, "user"), (60, 0, "user")], BEGINNINGS["Asia/Shanghai"])
    with pytest.raises(AssertionError):
        check(desk, said)
    assert os.listdir(desk.workspace.memory) == []
