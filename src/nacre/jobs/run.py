"""Run jobs, one runner at a time in a workspace, each run written to the journal; and the state of each job."""

from __future__ import annotations

import contextlib
import datetime as dt
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nacre.clock import Clock
from nacre.config.settings import Config
from nacre.errors import BadInput, Locked, NacreError, NoWorkspace, PartlyDone
from nacre.i18n import say
from nacre.jobs import journal, schedule
from nacre.jobs.due import PlannedRun, Rules, due, next_time, requested_run, rules
from nacre.jobs.journal import JobRun, Result
from nacre.jobs.schedule import HEARTBEAT, ORGANISE, SYNC, TIDY, in_words
from nacre.model.workspace import Workspace
from nacre.vault import disk
from nacre.vault.lock import hold

if TYPE_CHECKING:
    from nacre.jobs.journal import Result
    from nacre.memory import Memory


@dataclass(frozen=True)
class Outcome:
    """What came of a run; the reports are those of the commands that it ran."""

    result: Result
    said: str
    reports: tuple[object, ...] = ()


Work = Callable[[bool], Outcome]  # told whether it only shows what it would do


def job_works(memory: Memory) -> Mapping[str, Work]:
    """The work of each job by its name."""

    does = {SYNC: run_sync, TIDY: run_tidy, ORGANISE: run_organise, HEARTBEAT: run_heartbeat}
    return {name: partial(work, memory) for name, work in does.items()}


def run_sync(memory: Memory, dry_run: bool) -> Outcome:
    """Capture what was said."""
    report = memory.sync(dry_run=dry_run)
    count, unread = len(report.sections), len(report.unreadable)
    if report.paused:
        return Outcome("nothing", say("Capture is paused.", "采集已暂停。"), (report,))
    said = say(f"Sections written: {count}.", f"写入 {count} 段。") if count else ""
    if unread:
        said += " " * bool(said) + say(f"Transcripts that cannot be read: {unread}.", f"{unread} 个会话文件无法读取。")
    result: Result = "partly" if unread else "done" if count else "nothing"
    return Outcome(result, said or say("Nothing new was said.", "没有新的对话。"), (report,))


def run_tidy(memory: Memory, dry_run: bool) -> Outcome:
    """Tidy; where daily logs are kept for decay, that too."""
    reports: list[object] = [night := memory.tidy(dry_run=dry_run)]
    changes, left = len(night.steps), len(night.left)
    if memory.config.tidy.retention == "decay":
        reports.append(faded := memory.decay(dry_run=dry_run))
        changes += len(faded.steps) if faded.changed else 0
        left += len(faded.left)
    return _changes_outcome(changes, left, tuple(reports))


def run_organise(memory: Memory, dry_run: bool) -> Outcome:
    """Put the layers in order."""
    report = memory.organise(dry_run=dry_run)
    return _changes_outcome(len(report.steps) + report.counted, len(report.left), (report,))


def _changes_outcome(changes: int, left: int, reports: tuple[object, ...]) -> Outcome:
    if left:
        said = say(f"Changes: {changes}; left for the next run: {left}.", f"变更 {changes} 项，{left} 项留待下次。")
        return Outcome("partly", said, reports)
    if changes:
        return Outcome("done", say(f"Changes: {changes}.", f"变更 {changes} 项。"), reports)
    return Outcome("nothing", say("Nothing changed.", "没有变更。"), reports)


# The light look every half hour: what expired goes, what is nominated is told.


@dataclass(frozen=True)
class HeartbeatFindings:
    """What a look found: cached sessions that expired, checkpoints newly nominated, jobs that fail, what stops one."""

    expired: int = 0
    nominated: int = 0
    failing: tuple[str, ...] = ()
    stopped: tuple[str, ...] = ()


def run_heartbeat(memory: Memory, dry_run: bool) -> Outcome:
    """Look, and set right what costs nothing."""

    found = HeartbeatFindings(
        _expire_caches(memory, dry_run=dry_run),
        _nominate(memory, dry_run=dry_run),
        _failing_jobs(memory),
        _stopped_reasons(memory),
    )
    told = [
        (found.expired, say("sessions expired", "过期会话缓存")),
        (found.nominated, say("nominated for promotion", "晋升候选")),
    ]
    parts = [f"{words} {count}" for count, words in told if count]
    if found.failing:
        parts.append(say("failing: ", "失败任务：") + say(", ", "、").join(found.failing))
    parts += [one.rstrip(".。") for one in found.stopped]
    if not parts:
        return Outcome("nothing", say("All is well.", "一切正常。"), (found,))
    sentence = say(", ", "，").join(parts) + say(".", "。")
    changed = found.expired or found.nominated
    result: Result = "partly" if found.stopped else "done" if changed else "nothing"
    return Outcome(result, sentence[0].upper() + sentence[1:], (found,))


def _expire_caches(memory: Memory, *, dry_run: bool) -> int:
    """Take away the caches of sessions that are over, by the clock of the machine: a pretended moment deletes nothing."""
    from nacre.vault.cache import open_cache, read_values, sweep_cache

    try:
        cache = open_cache("default", memory.config.cache, memory.clock)
        read_values(cache)  # refuses a folder that is somebody else's
    except NacreError:
        return 0
    return sweep_cache(cache.folder, cache.max_age, dry_run=dry_run)


def _nominate(memory: Memory, *, dry_run: bool) -> int:
    """Write the report of promotion when somebody is nominated whom it does not name yet."""
    from nacre.layers.promote import nominees
    from nacre.vault import disk

    found, _ = nominees(memory.opened)
    if not found:
        return 0
    told = (disk.read_bytes(memory.workspace.root / "promote_report.md") or b"").decode("utf-8", "replace")
    paths = [memory.workspace.relative(one.family.lead.path) for one in found]
    new = sum(f"\n## {path}\n" not in told for path in paths)
    if new and not dry_run:
        memory.promote()
    return new


def _stopped_reasons(memory: Memory) -> tuple[str, ...]:
    """Counts that cannot be read let every run go through, and organise nothing."""
    from nacre.vault.problems import count_problems

    return tuple(one.message for one in count_problems(memory.workspace, memory.config))


def _failing_jobs(memory: Memory) -> tuple[str, ...]:
    from nacre.jobs.journal import read_journal
    from nacre.jobs.schedule import JOB_NAMES

    known = read_journal(memory.workspace)
    return tuple(name for name in JOB_NAMES if known.failures(name))


# Running jobs: one runner at a time in a workspace, every run in the journal, a run that broke off noticed by the
# next.

_MACHINE_ID_FILES = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))


@dataclass(frozen=True)
class Runner:
    """What a runner works with."""

    workspace: Workspace
    config: Config
    clock: Clock
    works: Mapping[str, Work]

    @property
    def rules(self) -> Rules:
        return rules(self.config.jobs, machine_id())

    def jobs(self) -> tuple[schedule.Job, ...]:
        return schedule.jobs(self.config, self.clock)


@dataclass(frozen=True)
class JobReport:
    """A run that was made. A trouble is what it failed with."""

    run: PlannedRun
    outcome: Outcome
    started: dt.datetime
    seconds: float | None = None
    trouble: BaseException | None = None
    dry_run: bool = False


def runner_for(memory: Memory) -> Runner:
    if memory.scope.group is not None:
        raise BadInput(say("In a group no jobs run; leave the scope out.", "群组范围内不运行任务；请去掉范围。"))
    return Runner(memory.workspace, memory.config, memory.clock, job_works(memory))


@cache
def machine_id() -> str:
    """What tells this machine from others."""
    for path in _MACHINE_ID_FILES:
        with contextlib.suppress(OSError, UnicodeDecodeError):
            if known := path.read_text(encoding="ascii").strip():
                return known
    return disk.host_name()


def run_named(desk: Runner, name: str, *, dry_run: bool = False) -> JobReport:
    """Run one job now, whether it is due or not; `Locked` when jobs of this workspace run already."""
    job = _job_named(desk, name)
    if dry_run:
        return _dry_run(desk, requested_run(job, desk.clock.now(), journal.read_journal(desk.workspace)))
    return run_all(desk, lambda known: [requested_run(job, desk.clock.now(), known)])[0]


def run_if_due(desk: Runner, name: str) -> tuple[JobReport, ...]:
    """Run one job unless its last time was run for: what a scheduler asks for beside other runners. Its own delay is enough."""
    job = _job_named(desk, name)

    def wanted(known: journal.Journal) -> list[PlannedRun]:
        run = requested_run(job, desk.clock.now(), known)
        return [run] if run.window else []

    return run_all(desk, wanted) if wanted(journal.read_journal(desk.workspace)) else ()


def _job_named(desk: Runner, name: str) -> schedule.Job:
    for job in desk.jobs():
        if job.name == name:
            return job
    raise BadInput(
        say(
            f'There is no job "{name}"; there are: {", ".join(schedule.JOB_NAMES)}.',
            f"没有名为“{name}”的任务；现有：{'、'.join(schedule.JOB_NAMES)}。",
        )
    )


def run_due(desk: Runner) -> tuple[JobReport, ...]:
    """Run what is due. Without anything due nothing is locked and nothing is written."""
    if not due_now(desk):
        return ()
    return run_all(desk, lambda known: due(desk.clock.now(), known, desk.jobs(), desk.rules))


def due_now(desk: Runner, name: str | None = None) -> list[PlannedRun]:
    """What `run_due`, or for one job `run_if_due`, would run."""
    known, now = journal.read_journal(desk.workspace), desk.clock.now()
    if name is None:
        return due(now, known, desk.jobs(), desk.rules)
    run = requested_run(_job_named(desk, name), now, known)
    return [run] if run.window else []


def run_all(desk: Runner, wanted: Callable[[journal.Journal], Sequence[PlannedRun]]) -> tuple[JobReport, ...]:
    """Run what is wanted once nobody else runs anything: what another runner did meanwhile stands in the journal by then."""
    with _hold_jobs_lock(desk.workspace):
        known = journal.read_journal(desk.workspace)
        for one in known.unfinished():  # we hold the lock, so that nobody is at work on it
            said = say("It broke off before its end.", "中途中断，未能完成。")
            journal.end_run(desk.workspace, one, one.started, "failed", said=said)
        if known.unfinished():
            known = journal.read_journal(desk.workspace)
        return tuple(_run_job(desk, run) for run in wanted(known))


@contextlib.contextmanager
def _hold_jobs_lock(workspace: Workspace) -> Iterator[None]:
    path = lock_file(workspace)
    if not workspace.root.is_dir():  # the lock would make it again
        raise NoWorkspace(
            say(f"{workspace.root} is gone; its jobs do not run.", f"{workspace.root} 已不存在；其任务不会运行。")
        )
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(hold(path, timeout=0))
        except Locked as trouble:
            pid = _lock_holder(path)
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


def _lock_holder(path: Path) -> str | None:
    try:
        return path.read_text(encoding="ascii").split()[0]
    except (OSError, ValueError, IndexError):
        return None


def _run_job(desk: Runner, run: PlannedRun) -> JobReport:
    now = desk.clock.now()
    begun = time.monotonic()
    ran = journal.begin_run(desk.workspace, run.job, now, window=run.window, attempt=run.attempt, why=run.why)
    trouble: BaseException | None = None
    try:
        outcome = desk.works[run.job](False)
    except PartlyDone as told:
        outcome = Outcome("partly", str(told))
    except (Exception, KeyboardInterrupt, SystemExit) as failed:  # noqa: BLE001 - the journal tells, the caller decides
        trouble, outcome = failed, Outcome("failed", _error_sentence(failed))
    # A clock that stands still makes a run repeatable, its length too.
    seconds = 0.0 if desk.clock.fixed else time.monotonic() - begun
    ended = journal.end_run(desk.workspace, ran, desk.clock.now(), outcome.result, seconds=seconds, said=outcome.said)
    if isinstance(trouble, KeyboardInterrupt | SystemExit):
        raise trouble
    return JobReport(run, outcome, now, ended.seconds, trouble)


def _dry_run(desk: Runner, run: PlannedRun) -> JobReport:
    return JobReport(run, desk.works[run.job](True), desk.clock.now(), dry_run=True)


def _error_sentence(trouble: BaseException) -> str:
    """What went wrong, in our own words alone: an error that we do not know could quote anything."""
    if isinstance(trouble, NacreError):
        return str(trouble)
    if isinstance(trouble, KeyboardInterrupt | SystemExit):
        return say("It was interrupted.", "已被中断。")
    return say(f"An unexpected error: {type(trouble).__name__}.", f"意外错误：{type(trouble).__name__}。")


# How each job stands: when it runs, what came of the last run, when it runs next, since when it fails.


@dataclass(frozen=True)
class JobState:
    """One job. `next` is none when it never runs by itself."""

    name: str
    expressions: tuple[str, ...]
    words: str
    last: JobRun | None = None
    running: bool = False
    due: bool = False
    next: dt.datetime | None = None
    failing_since: dt.datetime | None = None
    failures: int = 0


def job_states(memory: Memory) -> list[JobState]:
    """Every job as it stands; `BadSetting` when the settings of one cannot be understood."""
    known = journal.read_journal(memory.workspace)
    now = memory.clock.now()
    given = rules(memory.config.jobs, machine_id())
    jobs = schedule.jobs(memory.config, memory.clock)
    waiting = {run.job for run in due(now, known, jobs, given)}
    found: list[JobState] = []
    for job in jobs:
        runs = known.of(job.name)
        last = runs[-1] if runs else None
        running = last is not None and last.result is None and is_at_work(last)
        broke_off = [one for one in runs[-1:] if one.result is None and not running]
        failed = [*known.failures(job.name), *broke_off]
        coming = next_time(job, now, known, given)
        found.append(
            JobState(
                job.name,
                job.expressions,
                in_words(job.expressions),
                last,
                running=running,
                due=job.name in waiting and not running,
                next=memory.clock.local(coming) if coming else None,
                failing_since=memory.clock.local(failed[0].started) if failed else None,
                failures=len(failed),
            )
        )
    return found


def is_at_work(ran: JobRun) -> bool:
    """Whether the process of a run without an end still lives; of another machine nobody knows."""
    pid, host, boot = ran.process
    if host != disk.host_name():
        return True
    return boot == disk.boot_id() and disk.is_alive(pid)


def job_state_as_plain(one: JobState) -> dict[str, Any]:
    """A job's state as plain values."""
    last = one.last
    broke_off = last is not None and last.result is None and not one.running
    return {
        "name": one.name,
        "expressions": list(one.expressions),
        "when": one.words,
        "running": one.running,
        "due": one.due,
        "last": last.started.isoformat(timespec="seconds") if last else None,
        "result": ("failed" if broke_off else last.result) if last else None,
        "seconds": last.seconds if last else None,
        "said": last.said if last else "",
        "window": last.window.isoformat(timespec="seconds") if last and last.window else None,
        "attempt": last.attempt if last else None,
        "next": one.next.isoformat(timespec="seconds") if one.next else None,
        "failingSince": one.failing_since.isoformat(timespec="seconds") if one.failing_since else None,
        "failures": one.failures,
    }
