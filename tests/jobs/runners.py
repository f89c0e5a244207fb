"""A runner's runner whose jobs do what a test wants."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from nacre.clock import Clock
from nacre.config.settings import Config, JobsSettings
from nacre.jobs.run import Outcome, Runner
from nacre.jobs.schedule import JOB_NAMES, Job, windows
from nacre.model import Context, Workspace

NOW = dt.datetime(2026, 2, 10, 14, 30, tzinfo=dt.UTC)  # a Tuesday


class Killed(BaseException):
    """What happens to a process that is killed: nothing that it would still do is done."""


def nothing(_dry_run: bool) -> Outcome:
    return Outcome("nothing", "Nothing changed.")


def runner_at(
    root: Path,
    now: dt.datetime = NOW,
    works: Mapping[str, Callable[[bool], Outcome]] | None = None,
    *,
    zone: dt.tzinfo = dt.UTC,
    config: Config | None = None,
) -> Runner:
    (root / ".nacre").mkdir(mode=0o700, parents=True, exist_ok=True)
    does = {name: (works or {}).get(name, nothing) for name in JOB_NAMES}
    chosen = config or Config(jobs=JobsSettings())
    return Runner(Context(Workspace(root), chosen, Clock(zone, now)), does)


def later(runner: Runner, **span: float) -> Runner:
    """The same runner after a while."""
    clock = runner.context.clock
    assert clock.fixed
    return replace(runner, context=replace(runner.context, clock=Clock(clock.zone, clock.fixed + dt.timedelta(**span))))


def latest(job: Job, now: dt.datetime) -> dt.datetime | None:
    return next(windows(job, now, backwards=True), None)


def following(job: Job, after: dt.datetime) -> dt.datetime | None:
    return next(windows(job, after), None)
