"""A month of a machine that sleeps, crashes, starts twice and changes its clock: every time is run for once, and nothing twice."""

from __future__ import annotations

import datetime as dt
import itertools
import tempfile
import threading
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as some
from tests.jobs.model import MONTHS, Times, daily, model, month_of, repeated
from tests.jobs.runners import Killed, latest, runner_at

from nacre.clock import Clock
from nacre.config.settings import Config, JobsSettings, SyncSettings, TidySettings
from nacre.errors import CannotWrite, Locked
from nacre.jobs import journal, schedule
from nacre.jobs.journal import JobRun
from nacre.jobs.run import Outcome, Runner, Work, lock_file, run_due
from nacre.jobs.schedule import next_time

SECOND, MINUTE, HOUR = dt.timedelta(seconds=1), dt.timedelta(minutes=1), dt.timedelta(hours=1)
PATIENCE = 90 * SECOND  # a runner that crashed is started again by then
DEAD = 2**22 + 1  # no process has this number


class Month(NamedTuple):
    """Where and when, which jobs, and what goes wrong."""

    zone: str
    first: dt.date
    sync: tuple[str, ...]
    tidy: str
    organise: str
    retries: int
    sleeps: tuple[tuple[float, float], ...]  # hours from the beginning, and for how long
    endings: tuple[str, ...]  # what comes of the runs, one after the other
    doubled: tuple[bool, ...]  # whether a second runner starts during a run


ORGANISE = {"off": None, "5 */6 * * *": repeated({0, 6, 12, 18}, {5})}

months = some.builds(
    Month,
    zone=some.just(""),
    first=some.just(dt.date.min),
    sync=some.sampled_from([("10:00", "14:00", "18:00", "22:00"), ("02:30",), ("01:45", "02:15", "02:45"), ("00:00", "23:59")]),
    tidy=some.sampled_from(["03:00", "02:30"]),
    organise=some.sampled_from(sorted(ORGANISE)),
    retries=some.integers(0, 4),
    sleeps=some.lists(some.tuples(some.floats(0, 700), some.floats(0.2, 120)), max_size=6).map(tuple),
    endings=some.lists(
        some.sampled_from(["done", "done", "nothing", "nothing", "partly", "failed", "killed"]), min_size=1, max_size=40
    ).map(tuple),
    doubled=some.lists(some.booleans(), min_size=1, max_size=7).map(tuple),
)  # fmt: skip


@dataclass
class Machine:
    """A machine with a runner that is started again whenever it was killed."""

    month: Month
    root: Path
    calls: list[tuple[str, dt.datetime]] = field(default_factory=list)
    awake: list[tuple[dt.datetime, dt.datetime]] = field(default_factory=list)
    intruders: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.begin, self.end = month_of(self.month.zone, self.month.first)
        self.now = self.begin
        self.endings = itertools.cycle(self.month.endings)
        self.doubled = itertools.cycle(self.month.doubled)
        given = self.month
        self.times: dict[str, Times] = {"memory-sync": daily(*given.sync), "memory-tidy": daily(given.tidy)}
        if times := ORGANISE[given.organise]:
            self.times["organise"] = times
        self.config = Config(
            jobs=JobsSettings(organise=given.organise, heartbeat="off", retries=given.retries),
            sync=SyncSettings(times=list(given.sync)),
            tidy=TidySettings(time=given.tidy),
        )

    def runner(self) -> Runner:
        works = {name: self.work(name) for name in self.times}
        return runner_at(self.root, self.now, works, zone=ZoneInfo(self.month.zone), config=self.config)

    def work(self, name: str) -> Work:
        def does(_dry_run: bool) -> Outcome:
            self.calls.append((name, self.now))
            if next(self.doubled):
                self.start_a_second_runner()
            match next(self.endings):
                case "failed":
                    raise CannotWrite("The disk is full.")
                case "killed":
                    raise Killed
                case "partly":
                    return Outcome("partly", "Changes: 1; left for the next run: 1.")
                case "done":
                    return Outcome("done", "Changes: 1.")
                case _:
                    return Outcome("nothing", "Nothing changed.")

        return does

    def start_a_second_runner(self) -> None:
        def intrude() -> None:
            try:
                self.intruders["ran"] += len(run_due(self.runner()))
            except Locked:
                self.intruders["left"] += 1

        other = threading.Thread(target=intrude)
        other.start()
        other.join()

    def live(self) -> None:
        """The month, from one moment at which something is to be done to the next."""
        self.woke = self.now
        while self.now < self.end:
            try:
                run_due(self.runner())
                assert run_due(self.runner()) == ()  # there is nothing left to do at this moment
                self.go_on(self.next_moment())
            except Killed:
                lock_file(self.runner().context.workspace).write_text(f"{DEAD}\n")  # as the dead leave it
                self.go_on(self.now + SECOND)
        self.awake.append((self.woke, self.now))

    def next_moment(self) -> dt.datetime:
        runner = self.runner()
        known = journal.read_journal(runner.context.workspace)
        coming = []
        for job in runner.jobs:
            at = next_time(job, self.now, known, runner.context.config.jobs.retries)
            if job.name in self.times:
                assert at
                assert self.now < at <= self.now + self.longest_gap(job.name)
                coming.append(at)
        return min(coming)

    def longest_gap(self, name: str) -> dt.timedelta:
        return max(later - earlier for earlier, later in itertools.pairwise(self.model(name)))

    def go_on(self, wanted: dt.datetime) -> None:
        """Time passes; a machine that falls asleep before the moment wakes when it wakes."""
        for after, length in sorted(self.month.sleeps):
            asleep = self.begin + after * HOUR
            if self.now < asleep <= wanted:
                self.awake.append((self.woke, asleep))
                self.woke = self.now = asleep + length * HOUR
                return
        self.now = wanted

    def model(self, name: str) -> tuple[dt.datetime, ...]:
        return model(self.times[name], self.month.zone, self.month.first)

    def expected_start(self, window: dt.datetime, following: dt.datetime) -> dt.datetime | None:
        """When the run for a time is to begin; none when the machine slept until the following time, or lies in doubt."""
        for woke, asleep in self.awake:
            at = max(window, woke)
            if at < min(asleep, following):
                in_doubt = min(asleep, following, self.end) - at <= PATIENCE
                return None if in_doubt else at
        return None


# A month takes seconds: what fails is told as it was found.
@settings(
    max_examples=2, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate]
)
@given(months)
@pytest.mark.parametrize(
    ("zone", "first"), [*MONTHS[:2], *(pytest.param(*month, marks=pytest.mark.long) for month in MONTHS[2:])]
)
def test_every_time_of_a_month_is_run_for_once_and_nothing_twice(zone: str, first: dt.date, month: Month) -> None:
    place = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=place, prefix="nacre-test-") as folder:
        machine = Machine(month._replace(zone=zone, first=first), Path(folder))
        machine.live()
        runs = journal.read_journal(machine.runner().context.workspace).runs
        assert not machine.intruders["ran"]
        assert [
            (one.job, one.started) for one in runs
        ] == machine.calls  # the journal tells all that was done, and no more
        for name in machine.times:
            check(machine, name, [one for one in runs if one.job == name])


def check(machine: Machine, name: str, runs: list[JobRun]) -> None:
    windows = machine.model(name)
    by_window: dict[dt.datetime, list[JobRun]] = defaultdict(list)
    for one in runs:
        assert one.window in windows
        assert one.window is not None
        assert one.started >= one.window
        by_window[one.window].append(one)
    assert [one.window for one in runs] == sorted(
        one.window for one in runs if one.window
    )  # never back to an older time
    for tried in by_window.values():
        assert len(tried) <= 1 + machine.month.retries
        assert [one.attempt for one in tried] == list(range(1, len(tried) + 1))
        assert not any(one.went_through for one in tried[:-1])
        for count, (earlier, later) in enumerate(itertools.pairwise(tried)):
            assert later.started - earlier.started >= min(4**count, 256) * MINUTE
    for window, following in itertools.pairwise(windows):
        if not machine.begin < window < machine.end:
            continue
        if at := machine.expected_start(window, following):
            assert at <= by_window[window][0].started <= at + PATIENCE, (window, at)
        elif window in by_window:  # in doubt, or caught up: then only the last of what was slept through
            assert by_window[window][0].started < following + PATIENCE


def test_jobs_that_always_fail_are_tried_so_often_for_each_time_and_no_more(tmp_path: Path) -> None:
    month = Month(
        "Europe/Berlin", dt.date(2026, 3, 10), ("02:30",), "03:00", "off", 2, (), ("failed", "killed"), (False,)
    )
    machine = Machine(month, tmp_path)
    machine.live()
    runs = journal.read_journal(machine.runner().context.workspace).runs
    for name in machine.times:
        mine = [one for one in runs if one.job == name]
        check(machine, name, mine)
        tried = Counter(one.window for one in mine)
        assert set(tried.values()) == {3}
        assert len(tried) == 32


def test_a_clock_set_by_hand_back_and_forth_runs_for_no_time_twice(tmp_path: Path) -> None:
    config = Config(jobs=JobsSettings(heartbeat="off"))
    runner = runner_at(tmp_path, dt.datetime(2026, 2, 1, 12, tzinfo=dt.UTC), config=config)
    start = runner.context.clock.now()
    seen: list[tuple[str, dt.datetime | None]] = []
    for hours in (0, 2, 4, 1, 3, 30, -40, -38, 5, 31, 200, 32, 201):
        now = replace(runner, context=replace(runner.context, clock=Clock(dt.UTC, start + hours * HOUR)))
        seen += [(one.run.job, one.run.window) for one in run_due(now)]
    assert len(seen) == len(set(seen))


@pytest.mark.parametrize("lag", [0, 3])
def test_timers_beside_a_daemon_run_for_every_time_once_between_them(tmp_path: Path, lag: int) -> None:
    """Whoever comes first: a timer so many minutes after the time, or the daemon at its next look."""
    runner = runner_at(tmp_path, dt.datetime(2026, 2, 1, 2, tzinfo=dt.UTC), config=Config(jobs=JobsSettings()))
    start, minutes = runner.context.clock.now(), 13 * 60
    for minute in range(minutes):
        now = replace(runner, context=replace(runner.context, clock=Clock(dt.UTC, start + minute * MINUTE)))
        for job in now.jobs:
            if latest(job, now.context.clock.now() - lag * MINUTE) == now.context.clock.now() - lag * MINUTE:
                run_due(now, job.name)
        if minute % 2:
            run_due(now)
    runs = journal.read_journal(runner.context.workspace).runs
    for job in runner.jobs:
        windows = [one.window for one in runs if one.job == job.name]
        wanted = itertools.takewhile(lambda at: at < start + (minutes - 5) * MINUTE, schedule.windows(job, start))
        assert set(wanted) <= set(windows)
        assert len(windows) == len(set(windows))
