"""Run jobs, one runner at a time in a workspace, each run written to the journal; the state of each job; and one look of the daemon,
which it starts as a process of its own."""

from __future__ import annotations

import datetime as dt
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from nacre import disk
from nacre.clock import duration
from nacre.disk import hold
from nacre.errors import BadInput, Locked, NacreError, NoWorkspace, PartlyDone
from nacre.i18n import say
from nacre.jobs import journal, schedule
from nacre.jobs.installer import Machine, installed_kinds, run_command, this_machine
from nacre.jobs.journal import JobRun, Journal, Result
from nacre.jobs.schedule import HEARTBEAT, ORGANISE, SYNC, TIDY, PlannedRun, due, in_words, next_time, requested_run
from nacre.memory import Memory
from nacre.model import Context, SessionFile, Workspace, fields
from nacre.tidy.run import TidyReport
from nacre.vault.storage import read_memory


@dataclass(frozen=True)
class Outcome:
    """What came of a run; the reports are those of the commands that it ran."""

    result: Result
    said: str
    reports: tuple[object, ...] = ()


Work = Callable[[bool], Outcome]  # takes whether it only shows what it would do


def run_sync(memory: Memory, dry_run: bool) -> Outcome:
    report = memory.sync(dry_run=dry_run)
    count, unread, asked = len(report.sections), len(report.unreadable), report.passed_over.get("asked", 0)
    if report.paused:
        return Outcome("nothing", say("Capture is paused.", "采集已暂停。"), (report,))
    message = say("No new sessions.", "没有新的会话。")
    if count:
        message = say(f"Sections written: {count}.", f"已写入 {count} 节。")
    if unread:
        message += say(f" Unreadable transcripts: {unread}.", f"有 {unread} 个会话记录无法读取。")
    if asked:
        message += say(f" Sessions waiting for your agent: {asked}.", f"有 {asked} 个会话等待你的智能体处理。")
    return Outcome("partly" if unread else "done" if count or asked else "nothing", message, (report,))


def run_tidy(memory: Memory, dry_run: bool) -> Outcome:
    """Tidy; where daily logs are kept for decay, that too."""
    tidied = memory.tidy(dry_run=dry_run)
    if memory.config.tidy.retention != "decay":
        return _changes_outcome(len(tidied.steps), len(tidied.left), tidied)
    decayed = memory.decay(dry_run=dry_run)
    changes = len(tidied.steps) + (len(decayed.steps) if decayed.changed else 0)
    return _changes_outcome(changes, len(tidied.left) + len(decayed.left), tidied, decayed)


def run_organise(memory: Memory, dry_run: bool) -> Outcome:
    report = memory.organise(dry_run=dry_run)
    return _changes_outcome(len(report.steps) + report.counted, len(report.left), report)


def _changes_outcome(changes: int, left: int, *reports: object) -> Outcome:
    message = say(f"Changes: {changes}.", f"变更 {changes} 项。") if changes else say("Nothing changed.", "没有变更。")
    if left:
        message = say(f"Changes: {changes}; left for the next run: {left}.", f"变更 {changes} 项，{left} 项留待下次。")
    return Outcome("partly" if left else "done" if changes else "nothing", message, reports)


def run_heartbeat(memory: Memory, dry_run: bool) -> Outcome:
    """Expire caches of ended sessions, report checkpoints newly nominated for promotion, say which jobs fail and what stops organising."""
    expired = memory.expire_caches(dry_run=dry_run)
    reported = read_memory(memory.workspace, memory.workspace.root / "promote_report.md").decode("utf-8", "replace")
    nominated = sum(f"\n## {path}\n" not in reported for path in memory.nominees())
    if nominated and not dry_run:
        memory.promote()
    failing = [name for name in schedule.JOB_NAMES if journal.read_journal(memory.workspace).failures(name)]
    stopped = [problem.message.rstrip(".。") for problem in memory.count_problems()]
    parts = [
        *([say(f"expired caches removed: {expired}", f"已清除过期的缓存：{expired} 个")] if expired else []),
        *([say(f"new candidates for promotion: {nominated}", f"新的晋升候选：{nominated} 个")] if nominated else []),
        *([say("failing jobs: ", "运行失败的任务：") + say(", ", "、").join(failing)] if failing else []),
        *stopped,
    ]
    if not parts:
        return Outcome("nothing", say("No problems found.", "没有发现问题。"))
    sentence = say(", ", "，").join(parts) + say(".", "。")
    result: Result = "partly" if stopped else "done" if expired or nominated else "nothing"
    return Outcome(result, sentence[0].upper() + sentence[1:])


_WORKS = {SYNC: run_sync, TIDY: run_tidy, ORGANISE: run_organise, HEARTBEAT: run_heartbeat}


@dataclass(frozen=True)
class Runner:
    context: Context
    works: Mapping[str, Work]

    @property
    def jobs(self) -> tuple[schedule.Job, ...]:
        return schedule.jobs(self.context.config, self.context.clock)

    def job(self, name: str) -> schedule.Job:
        if job := next((job for job in self.jobs if job.name == name), None):
            return job
        names = say(", ", "、").join(schedule.JOB_NAMES)
        raise BadInput(f'There is no job "{name}"; available: {names}.', f"没有任务“{name}”；可用：{names}。")


@dataclass(frozen=True)
class JobReport:
    run: PlannedRun
    outcome: Outcome
    started: dt.datetime
    seconds: float | None = None
    error: BaseException | None = None
    dry_run: bool = False


def runner_for(memory: Memory) -> Runner:
    if memory.scope.group is not None:
        raise BadInput("Jobs do not run in groups; omit --scope.", "群组中不运行任务；请去掉 --scope。")
    return Runner(memory.opened, {name: partial(work, memory) for name, work in _WORKS.items()})


def run_named(runner: Runner, name: str, *, dry_run: bool = False) -> JobReport:
    """Run one job now, whether it is due or not; `Locked` when jobs of this workspace run already."""
    job, now = runner.job(name), runner.context.clock.now()
    if dry_run:
        planned = requested_run(job, now, journal.read_journal(runner.context.workspace))
        return JobReport(planned, runner.works[name](True), now, dry_run=True)
    return run_planned(runner, lambda past: [requested_run(job, now, past)])[0]


def run_due(runner: Runner, name: str | None = None) -> tuple[JobReport, ...]:
    """Run what is due, or one job unless its last time was run for. Without anything due nothing is locked and nothing is written."""
    if not due_now(runner, name):
        return ()
    reports = run_planned(runner, lambda past: due_now(runner, name, past))
    _tell(runner.context, reports)
    return reports


def _tell(context: Context, reports: Sequence[JobReport]) -> None:
    """Show a desktop notification of what tidying did in the background; where OpenClaw runs the jobs, it reports this itself."""
    parts = [part for report in reports for part in report.outcome.reports if isinstance(part, TidyReport)]
    is_wanted = context.config.jobs.notify and "openclaw" not in installed_kinds(context.workspace)
    for counts in (part.changes for part in parts if is_wanted):
        if any(counts):
            now = context.clock.now()
            notify(this_machine(), counts.sentence(now.isoformat(), now))


# The words are handed over as arguments, never as a part of the script.
_LINES = ("on run words", "display notification (item 1 of words) with title (item 2 of words)", "end run")


def notify(machine: Machine, text: str) -> bool:
    """Whether it was shown. A machine without a desktop, or a session without a display, is told nothing."""
    if machine.platform == "darwin":
        command = ("osascript", *(word for line in _LINES for word in ("-e", line)), text, "Nacre")
    elif any(machine.env.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")):
        command = ("notify-send", "--app-name=Nacre", "--", "Nacre", text)
    else:
        return False
    return machine.where(command[0]) is not None and not run_command(machine, command, timeout=10).code


def due_now(runner: Runner, name: str | None = None, past: Journal | None = None) -> list[PlannedRun]:
    """What is due. A job by its name is what a scheduler asks for, whose own delay is enough: it is due when its time has come."""
    past, now = past or journal.read_journal(runner.context.workspace), runner.context.clock.now()
    if name is None:
        return due(now, past, runner.jobs, runner.context.config.jobs.retries)
    planned = requested_run(runner.job(name), now, past)
    return [planned] if planned.window else []


def lock_file(workspace: Workspace) -> Path:
    return workspace.machine / "jobs.lock"


def run_planned(runner: Runner, plan: Callable[[Journal], Sequence[PlannedRun]]) -> tuple[JobReport, ...]:
    """Run what is planned once nobody else runs anything: what another runner did meanwhile stands in the journal by then."""
    workspace = runner.context.workspace
    root, path = workspace.root, lock_file(workspace)
    if not root.is_dir():  # the lock would make it again
        raise NoWorkspace(f"{root} no longer exists, so its jobs did not run.", f"{root} 已不存在，不再运行其任务。")
    try:
        with hold(path, timeout=0):
            # We hold the lock, so that nobody is at work on what has no end.
            message = say("It stopped before finishing.", "中途停止，未能完成。")
            for run in journal.read_journal(workspace).unfinished():
                journal.end_run(workspace, run, run.started, "failed", said=message)
            return tuple(_run_job(runner, planned) for planned in plan(journal.read_journal(workspace)))
    except Locked as error:
        pid = (disk.read_bytes(path) or b"?").decode("ascii", "replace").strip()
        raise Locked(
            f"Jobs of {root} are already running (process {pid}); nothing was started.",
            f"{root} 的任务正在运行（进程 {pid}）；没有重复启动。",
        ) from error


def _run_job(runner: Runner, planned: PlannedRun) -> JobReport:
    workspace, clock = runner.context.workspace, runner.context.clock
    now, begun = clock.now(), time.monotonic()
    run = journal.begin_run(
        workspace, planned.job, now, window=planned.window, attempt=planned.attempt, why=planned.why
    )
    error: BaseException | None = None
    try:
        outcome = runner.works[planned.job](False)
    except PartlyDone as partly:
        outcome = Outcome("partly", str(partly))
    except (Exception, KeyboardInterrupt, SystemExit) as failed:  # noqa: BLE001 - the journal tells, the caller decides
        # In our own words alone: an error that we do not know could quote anything.
        message = say(f"Unexpected error: {type(failed).__name__}.", f"意外错误：{type(failed).__name__}。")
        if isinstance(failed, KeyboardInterrupt | SystemExit):
            message = say("Interrupted.", "已中断。")
        error, outcome = failed, Outcome("failed", str(failed) if isinstance(failed, NacreError) else message)
    # A clock that stands still makes a run repeatable, its length too.
    seconds = 0.0 if clock.fixed else time.monotonic() - begun
    ended = journal.end_run(workspace, run, clock.now(), outcome.result, seconds=seconds, said=outcome.said)
    if isinstance(error, KeyboardInterrupt | SystemExit):
        raise error
    return JobReport(planned, outcome, now, ended.seconds, error)


@dataclass(frozen=True)
class JobState:
    """When a job runs, what came of the last run, when it runs next (none when it never runs by itself), since when it fails."""

    name: str
    expressions: tuple[str, ...]
    when: str
    last: JobRun | None
    running: bool
    due: bool
    next: dt.datetime | None
    failing_since: dt.datetime | None
    failures: int

    def as_plain(self) -> dict[str, Any]:
        def iso(moment: dt.datetime | None) -> str | None:
            return moment.isoformat(timespec="seconds") if moment else None

        last = self.last
        about = {"result": None, "seconds": None, "said": "", "window": None, "attempt": None}
        if last:
            about = fields(last, "result seconds said window attempt", window=iso(last.window))
            about["result"] = last.result or (None if self.running else "failed")
        head = fields(self, "name expressions when running due last", last=iso(last.started if last else None))
        coming, since = iso(self.next), iso(self.failing_since)
        return head | about | {"next": coming, "failingSince": since, "failures": self.failures}


def job_states(memory: Memory) -> list[JobState]:
    """Every job as it stands; `BadSetting` when the settings of one cannot be understood."""
    past, clock, retries = journal.read_journal(memory.workspace), memory.clock, memory.config.jobs.retries
    now, jobs = clock.now(), schedule.jobs(memory.config, clock)
    waiting = {planned.job for planned in due(now, past, jobs, retries)}
    states: list[JobState] = []
    for job in jobs:
        last = next(reversed(past.of(job.name)), None)
        running = last is not None and last.is_at_work
        failed = past.failures(job.name) + ([last] if last and last.result is None and not running else [])
        coming = next_time(job, now, past, retries)
        states.append(
            JobState(
                job.name,
                job.expressions,
                in_words(job.expressions),
                last,
                running=running,
                due=job.name in waiting and not running,
                next=clock.local(coming) if coming else None,
                failing_since=clock.local(failed[0].started) if failed else None,
                failures=len(failed),
            )
        )
    return states


# One look of a process that stays: run what is due, capture sessions that ended, and say when to look again.

ONLY_QUEUED = "--only-queued"  # the jobs are not run at their times, but what hooks queued is captured
_SOONEST = dt.timedelta(seconds=5)  # to the next look


def _capture_run(memory: Memory, sessions: list[SessionFile], past: Journal, *, timed: bool) -> list[PlannedRun]:
    # Where no fixed time follows to which failures could be left, it is tried again for ever, after longer and longer waits.
    retries = memory.config.jobs.retries if timed else sys.maxsize
    silence, looked = duration(memory.config.jobs.silence), last_capture(memory, past)
    run = schedule.capture_due(sessions, memory.clock.now(), past, retries, silence=silence, looked=looked)
    return [run] if run else []


def last_capture(memory: Memory, past: Journal) -> dt.datetime | None:
    """When the last capture began that went through, by a job or by a command; none before the first."""
    now, synced = memory.clock.now(), memory.synced()
    times = [synced, *(run.started for run in past.of(SYNC) if run.went_through)]
    return max((at for at in times if at and at <= now), default=None) if synced else None


def _sessions(memory: Memory, ended: Collection[str], *, timed: bool) -> list[SessionFile]:
    return memory.session_files(ended, only_queued=not timed) if memory.config.jobs.adaptive else []


def tick(memory: Memory, *, ended: Collection[str] = (), timed: bool = True) -> tuple[JobReport, ...]:
    """Run what is to be run now. `ended` names transcripts whose agent says that they are over. Who is not to run the jobs at their times
    captures what hooks queued, and no more. `Locked` when another runner is at it."""
    runner = runner_for(memory)
    reports = run_due(runner) if timed else ()
    plan = partial(_capture_run, memory, _sessions(memory, ended, timed=timed), timed=timed)
    if plan(journal.read_journal(memory.workspace)):
        reports += run_planned(runner, plan)
    return reports


def look(memory: Memory, *, ended: Collection[str] = (), timed: bool = True) -> tuple[bool, dt.datetime]:
    """Whether `tick` would run anything now, and when to look again. Runs and writes nothing."""
    sessions = _sessions(memory, ended, timed=timed)
    runner, past, now = runner_for(memory), journal.read_journal(memory.workspace), memory.clock.now()
    waiting = (due_now(runner, past=past) if timed else []) or _capture_run(memory, sessions, past, timed=timed)
    retries = memory.config.jobs.retries
    times = [at for job in runner.jobs if timed and (at := next_time(job, now, past, retries))]
    if memory.config.jobs.adaptive:
        silence, looked = duration(memory.config.jobs.silence), last_capture(memory, past)
        times.append(schedule.next_look(now, sessions, silence=silence, looked=looked))
    moment = now.astimezone(dt.UTC)
    return bool(waiting), max(min(times, default=moment + dt.timedelta(days=1)), moment + _SOONEST)


def main(arguments: list[str]) -> int:
    timed = arguments[:1] != [ONLY_QUEUED]
    root, *over = arguments if timed else arguments[1:]
    try:
        with Memory.open(root) as memory:
            reports = tick(memory, ended=over, timed=timed)
    except NacreError as error:
        return error.exit_code
    return int(any(report.error for report in reports))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
