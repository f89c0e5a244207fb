"""What ran when, and what came of it: `.nacre/jobs.jsonl`, a line when a run begins and one when it ends,
never a word of a memory.

Written only by who holds the lock of the jobs. A run with a beginning and no end is at work, or broke off.
"""

from __future__ import annotations

import datetime as dt
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from nacre import disk
from nacre.model import Workspace

Result = Literal["done", "nothing", "partly", "failed"]
LARGEST = 1_000_000  # bytes, from which on the oldest runs are dropped
_LONGEST = 300  # characters of the sentence


@dataclass(frozen=True)
class JobRun:
    """One run. `window` is the scheduled time that it stands for; none when a person or a session asked for it."""

    number: int
    job: str
    started: dt.datetime
    window: dt.datetime | None = None
    attempt: int = 1
    why: str = ""
    process: tuple[int, str, str] = (0, "", "")  # its id, the machine, and which run of the machine
    ended: dt.datetime | None = None
    result: Result | None = None
    seconds: float | None = None
    said: str = ""

    @property
    def went_through(self) -> bool:
        return self.result is not None and self.result != "failed"

    @property
    def is_at_work(self) -> bool:
        """Whether it has no end and its process still lives; of another machine nobody knows."""
        pid, host, boot = self.process
        if self.result is not None:
            return False
        return host != disk.host_name() or (boot == disk.boot_id() and disk.is_alive(pid))


@dataclass(frozen=True)
class Journal:
    runs: tuple[JobRun, ...] = ()

    def of(self, job: str) -> list[JobRun]:
        return [run for run in self.runs if run.job == job]

    def unfinished(self) -> list[JobRun]:
        return [run for run in self.runs if run.result is None]

    def failures(self, job: str) -> list[JobRun]:
        runs = self.of(job)
        last = max((at for at, run in enumerate(runs) if run.went_through), default=-1)
        return [run for run in runs[last + 1 :] if run.result == "failed"]


def journal_path(workspace: Workspace) -> Path:
    return workspace.machine / "jobs.jsonl"


def read_journal(workspace: Workspace) -> Journal:
    try:
        return Journal(tuple(_runs(journal_path(workspace).read_bytes().split(b"\n"))))
    except OSError:
        return Journal()


def _runs(lines: Iterable[bytes]) -> Iterable[JobRun]:
    """The runs that the lines tell of; a line that makes no sense is passed over: a journal is no memory."""
    runs: dict[int, JobRun] = {}
    for line in lines:
        try:
            row = json.loads(line)
            pid, host, boot = row.get("process") or (0, "", "")
            window, ended = (_moment(row[name]) if row.get(name) else None for name in ("window", "ended"))
            runs[int(row["run"])] = JobRun(
                int(row["run"]),
                str(row["job"]),
                _moment(row["started"]),
                window,
                int(row.get("attempt", 1)),
                str(row.get("why", "")),
                (int(pid), str(host), str(boot)),
                ended,
                row["result"] if ended and row["result"] in get_args(Result) else None,
                float(row["seconds"]) if row.get("seconds") is not None else None,
                str(row.get("said", "")),
            )
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError, RecursionError):
            continue
    return runs.values()


def _moment(text: Any) -> dt.datetime:
    return dt.datetime.fromisoformat(text).astimezone(dt.UTC)


def begin_run(
    workspace: Workspace, job: str, now: dt.datetime, *, window: dt.datetime | None, attempt: int, why: str
) -> JobRun:
    number = max((run.number for run in read_journal(workspace).runs), default=0) + 1
    process = (os.getpid(), disk.host_name(), disk.boot_id())
    run = JobRun(number, job, now.astimezone(dt.UTC), window, attempt, why, process)
    _append(workspace, _line(run))
    return run


def end_run(
    workspace: Workspace, run: JobRun, now: dt.datetime, result: Result, *, seconds: float | None = None, said: str = ""
) -> JobRun:
    """Record what came of a run; the oldest are dropped when there are very many."""
    from nacre.guard.secrets import redact

    seconds = None if seconds is None else round(seconds, 3)
    said = redact(" ".join(said.split())).text[:_LONGEST]
    run = replace(run, ended=now.astimezone(dt.UTC), result=result, seconds=seconds, said=said)
    _append(workspace, _line(run))
    path = journal_path(workspace)
    if path.exists() and path.stat().st_size > LARGEST:
        newest = newest_runs(read_journal(workspace).runs, LARGEST // 2)
        disk.write(path, "".join(map(_line, newest)).encode(), root=workspace.root)
    return run


def _line(run: JobRun) -> str:
    """A run as it stands in the file, without what is not known yet."""
    fields = {"run": run.number, **asdict(run)}.items()
    values = {name: value for name, value in fields if name != "number" and value not in (None, "")}
    return json.dumps(values, ensure_ascii=False, separators=(",", ":"), default=dt.datetime.isoformat) + "\n"


def _append(workspace: Workspace, line: str) -> None:
    path = journal_path(workspace)
    if workspace.machine.is_dir():  # a workspace that was destroyed meanwhile is not made again
        disk.append_bytes(path, disk.lines_for(path, line), root=workspace.root)


def newest_runs(runs: Sequence[JobRun], budget: int) -> list[JobRun]:
    """The newest runs that fit into so many bytes, and of each job those that tell since when it works or fails."""
    journal, needed = Journal(tuple(runs)), set[int]()
    for job in {run.job for run in runs}:
        good = [run for run in journal.of(job) if run.went_through]
        timed = [run for run in journal.of(job) if run.window]
        needed |= {run.number for run in (*good[-1:], *timed[-1:], *journal.failures(job)[:1])}
    for run in reversed(runs):
        budget -= len(_line(run))
        if budget >= 0:
            needed.add(run.number)
    return [run for run in runs if run.number in needed]
