"""Backups of MEMORY.md thin out by their names, each with its reason, and undo brings them back."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tidy.conftest import contents

from nacre.clock import Clock
from nacre.config.settings import ArchiveSettings, Config
from nacre.i18n import use_language
from nacre.tidy import archive
from nacre.tidy.archive import superfluous
from nacre.tidy.collect import TidyContext
from nacre.vault.history import operation
from nacre.vault.undo import undo

Keep = Callable[..., list[str]]


@pytest.fixture
def kept(room: TidyContext) -> Keep:
    """Makes backups by their names, thins them out, and names those that are left."""

    def run(*names: str, keep: tuple[int, int, int] = (7, 5, 12)) -> list[str]:
        room.workspace.archive.mkdir(exist_ok=True)
        for name in names:
            (room.workspace.archive / name).write_text(name)
        mine = replace(room, config=Config(archive=ArchiveSettings(backups=list(keep))))
        with operation(room, "tidy") as op:
            assert archive.apply_backups(op, archive.plan_backups(mine)) == []
        assert not archive.plan_backups(mine)
        return sorted(path.name for path in room.workspace.archive.iterdir())

    return run


def name(day: dt.date, time: str = "", slug: str = "") -> str:
    return f"{slug}MEMORY.md.bak-{day.isoformat()}{time}"


def test_a_year_of_daily_backups_thins_out_to_seven_days_five_weeks_and_twelve_months() -> None:
    last = dt.date(2026, 3, 20)
    every = [last - dt.timedelta(days=back) for back in range(500)]
    sundays = ("2026-03-15", "2026-03-08", "2026-03-01", "2026-02-22")
    ends = ("02-28", "01-31", "12-31", "11-30", "10-31", "09-30", "08-31", "07-31", "06-30", "05-31", "04-30")
    months = [f"{2026 if end < '03' else 2025}-{end}" for end in ends]
    going = superfluous([(str(day), "", Path(name(day))) for day in every], [7, 5, 12])
    assert {str(day) for day in every} - {day for day, _, _ in going} == {
        *map(str, every[:7]),
        *sundays,
        *months,
    }


def test_the_last_of_a_day_counts_for_the_day(kept: Keep) -> None:
    day = dt.date(2026, 3, 20)
    times = ("", "-030000", "-235959", "-120000")
    assert kept(*(name(day, time) for time in times)) == [name(day, "-235959")]


def test_each_memory_is_thinned_on_its_own(kept: Keep) -> None:
    days = (dt.date(2026, 3, 19), dt.date(2026, 3, 20))
    names = [name(day, slug=slug) for day in days for slug in ("", "shop.", "my.shop.")]
    assert kept(*names, keep=(1, 0, 0)) == sorted(name(days[1], slug=slug) for slug in ("", "shop.", "my.shop."))


def test_the_newest_is_always_kept(kept: Keep) -> None:
    names = [name(dt.date(2026, 3, day)) for day in (1, 2, 3)]
    assert kept(*names, keep=(0, 0, 0)) == [names[-1]]


def test_files_of_any_other_name_and_links_are_left_alone(room: TidyContext, kept: Keep) -> None:
    others = [
        "MEMORY.md.bak", "MEMORY.md.bak-2026-02-30", "MEMORY.md.bak-2026-02-10-1",
        "MEMORY.md.bak-2026-02-10.old", "USER.md.bak-2026-02-10", "notes.txt", "MEMORY.md.bak-2026-02-10-030000~",
    ]  # fmt: skip
    room.workspace.archive.mkdir()
    (room.workspace.archive / "MEMORY.md.bak-2020-01-01").symlink_to(room.workspace.memory / "nowhere")
    (room.workspace.archive / "MEMORY.md.bak-2020-01-02").mkdir()
    newest = name(dt.date(2026, 3, 20))
    left = kept(*others, newest, keep=(0, 0, 0))
    assert left == sorted([*others, newest, "MEMORY.md.bak-2020-01-01", "MEMORY.md.bak-2020-01-02"])


def test_the_clock_has_no_say(room: TidyContext) -> None:
    room.workspace.archive.mkdir()
    for day in range(1, 21):
        (room.workspace.archive / name(dt.date(2026, 3, day))).touch()
    earlier = replace(room, clock=Clock(dt.UTC, dt.datetime(2020, 1, 1, tzinfo=dt.UTC)))
    assert archive.plan_backups(earlier) == archive.plan_backups(room)


def test_every_removal_says_why_and_can_be_undone(room: TidyContext, kept: Keep) -> None:
    room.workspace.archive.mkdir()
    names = [name(dt.date(2026, 3, 20)), name(dt.date(2026, 3, 20), "-120000"), name(dt.date(2026, 3, 19))]
    for one in names:
        (room.workspace.archive / one).write_text(one)
    before = contents(room.workspace)
    mine = replace(room, config=Config(archive=ArchiveSettings(backups=[1, 0, 0])))
    first, second = (step for step, _ in archive.plan_backups(mine))
    reason = "not among the backups to keep (1 daily, 0 weekly, 0 monthly)"
    assert first.reason == second.reason == reason
    assert (first.action, second.path) == ("remove", "memory/archive/MEMORY.md.bak-2026-03-19")
    use_language("zh")
    assert "不在保留之列" in archive.plan_backups(mine)[0][0].reason
    assert kept(keep=(1, 0, 0)) == [names[1]]
    undo(room)
    assert contents(room.workspace) == before


@given(
    st.sets(st.tuples(st.dates(dt.date(2020, 1, 1), dt.date(2030, 1, 1)), st.sampled_from(["", "030000", "235959"]))),
    st.lists(st.integers(0, 6), min_size=3, max_size=3),
)
def test_what_is_kept_serves_every_period_and_thinning_again_removes_nothing(
    made: set[tuple[dt.date, str]], keep: list[int]
) -> None:
    every = [(str(day), time, Path(f"{day}-{time}")) for day, time in made]
    going = set(superfluous(every, keep))
    left = [one for one in every if one not in going]
    assert not superfluous(left, keep)
    assert len(left) <= max(1, sum(keep))
    if every:
        assert max(every) in left
    days = sorted({day for day, _, _ in every}, reverse=True)[: keep[0]]
    assert {max(one for one in every if one[0] == day) for day in days} <= set(left)
