"""Running jobs: one runner at a time in a workspace, every run in the journal, a run that broke off noticed by the next."""

from __future__ import annotations

import contextlib
import datetime as dt
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from nacre.clock import Clock
from nacre.config import Config
from nacre.errors import BadInput, Locked, NacreError, NoWorkspace, PartlyDone
from nacre.jobs import journal, schedule
from nacre.jobs.due import Rules, Run, asked, due, rules
from nacre.jobs.works import Outcome, Work, works
from nacre.vault import lockfile
from nacre.vault.lock import hold
from nacre.vault.workspace import Workspace
from nacre.words import say

if TYPE_CHECKING:
    from nacre.memory import Memory

_MACHINE = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))


@dataclass(frozen=True)
class Desk:
    """What a runner works with."""

    workspace: Workspace
    config: Config
    clock: Clock
    works: Mapping[str, Work]

    @property
    def rules(self) -> Rules:
        return rules(self.config.jobs, machine())

    def jobs(self) -> tuple[schedule.Job, ...]:
        return schedule.jobs(self.config, self.clock)


@dataclass(frozen=True)
class Report:
    """A run that was made. A trouble is what it failed with."""

    run: Run
    outcome: Outcome
    started: dt.datetime
    seconds: float | None = None
    trouble: BaseException | None = None
    dry_run: bool = False


def desk_of(memory: Memory) -> Desk:
    if memory.scope.group is not None:
        raise BadInput(say("In a group no jobs run; leave the scope out.", "群组范围内不运行任务；请去掉范围。"))
    return Desk(memory.workspace, memory.config, memory.clock, works(memory))


@cache
def machine() -> str:
    """What tells this machine from others."""
    for path in _MACHINE:
        with contextlib.suppress(OSError, UnicodeDecodeError):
            if known := path.read_text(encoding="ascii").strip():
                return known
    return lockfile.host()


def run_named(desk: Desk, name: str, *, dry_run: bool = False) -> Report:
    """Run one job now, whether it is due or not; `Locked` when jobs of this workspace run already."""
    job = _named(desk, name)
    if dry_run:
        return _shown(desk, asked(job, desk.clock.now(), journal.read(desk.workspace)))
    return run_all(desk, lambda known: [asked(job, desk.clock.now(), known)])[0]


def run_if_due(desk: Desk, name: str) -> tuple[Report, ...]:
    """Run one job unless its last time was run for: what a scheduler asks for beside other runners. Its own delay is enough."""
    job = _named(desk, name)

    def wanted(known: journal.Journal) -> list[Run]:
        run = asked(job, desk.clock.now(), known)
        return [run] if run.window else []

    return run_all(desk, wanted) if wanted(journal.read(desk.workspace)) else ()


def _named(desk: Desk, name: str) -> schedule.Job:
    for job in desk.jobs():
        if job.name == name:
            return job
    raise BadInput(
        say(
            f'There is no job "{name}"; there are: {", ".join(schedule.NAMES)}.',
            f"没有名为“{name}”的任务；现有：{'、'.join(schedule.NAMES)}。",
        )
    )


def run_due(desk: Desk) -> tuple[Report, ...]:
    """Run what is due. Without anything due nothing is locked and nothing is written."""
    if not due_now(desk):
        return ()
    return run_all(desk, lambda known: due(desk.clock.now(), known, desk.jobs(), desk.rules))


def due_now(desk: Desk, name: str | None = None) -> list[Run]:
    """What `run_due`, or for one job `run_if_due`, would run."""
    known, now = journal.read(desk.workspace), desk.clock.now()
    if name is None:
        return due(now, known, desk.jobs(), desk.rules)
    run = asked(_named(desk, name), now, known)
    return [run] if run.window else []


def run_all(desk: Desk, wanted: Callable[[journal.Journal], Sequence[Run]]) -> tuple[Report, ...]:
    """Run what is wanted once nobody else runs anything: what another runner did meanwhile stands in the journal by then."""
    with _held(desk.workspace):
        known = journal.read(desk.workspace)
        for one in known.unfinished():  # we hold the lock, so that nobody is at work on it
            said = say("It broke off before its end.", "中途中断，未能完成。")
            journal.end(desk.workspace, one, one.started, "failed", said=said)
        if known.unfinished():
            known = journal.read(desk.workspace)
        return tuple(_made(desk, run) for run in wanted(known))


@contextlib.contextmanager
def _held(workspace: Workspace) -> Iterator[None]:
    path = lock_file(workspace)
    if not workspace.root.is_dir():  # the lock would make it again
        raise NoWorkspace(
            say(f"{workspace.root} is gone; its jobs do not run.", f"{workspace.root} 已不存在；其任务不会运行。")
        )
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(hold(path, timeout=0))
        except Locked as trouble:
            pid = _holder(path)
            who, whose = (f" (process {pid})", f"（进程 {pid}）") if pid else ("", "")
            raise Locked(
                say(
                    f"Jobs of {workspace.root} are running already{who}; this run leaves it to them.",
                    f"{workspace.root} 的任务正在运行{whose}；本次不再重复。",
                )
            ) from trouble
        yield


def lock_file(workspace: Workspace) -> Path:
    return workspace.machine / "jobs.lock"


def _holder(path: Path) -> str | None:
    try:
        return path.read_text(encoding="ascii").split()[0]
    except (OSError, ValueError, IndexError):
        return None


def _made(desk: Desk, run: Run) -> Report:
    now = desk.clock.now()
    begun = time.monotonic()
    ran = journal.begin(desk.workspace, run.job, now, window=run.window, attempt=run.attempt, why=run.why)
    trouble: BaseException | None = None
    try:
        outcome = desk.works[run.job](False)
    except PartlyDone as told:
        outcome = Outcome("partly", str(told))
    except (Exception, KeyboardInterrupt, SystemExit) as failed:  # noqa: BLE001 - the journal tells, the caller decides
        trouble, outcome = failed, Outcome("failed", _sentence(failed))
    # A clock that stands still makes a run repeatable, its length too.
    seconds = 0.0 if desk.clock.fixed else time.monotonic() - begun
    ended = journal.end(desk.workspace, ran, desk.clock.now(), outcome.result, seconds=seconds, said=outcome.said)
    if isinstance(trouble, KeyboardInterrupt | SystemExit):
        raise trouble
    return Report(run, outcome, now, ended.seconds, trouble)


def _shown(desk: Desk, run: Run) -> Report:
    return Report(run, desk.works[run.job](True), desk.clock.now(), dry_run=True)


def _sentence(trouble: BaseException) -> str:
    """What went wrong, in our own words alone: an error that we do not know could quote anything."""
    if isinstance(trouble, NacreError):
        return str(trouble)
    if isinstance(trouble, KeyboardInterrupt | SystemExit):
        return say("It was interrupted.", "已被中断。")
    return say(f"An unexpected error: {type(trouble).__name__}.", f"意外错误：{type(trouble).__name__}。")
