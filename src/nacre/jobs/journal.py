"""What ran when, and what came of it: `.nacre/jobs.jsonl`, two lines for each run and never a word of a memory.

Written only by who holds the lock of the jobs. A run with a beginning and no end is at work, or broke off.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast

from nacre.model.report import Problem
from nacre.model.workspace import Workspace
from nacre.vault import disk, jsonl
from nacre.vault.disk import append_bytes, lines_for

Result = Literal["done", "nothing", "partly", "failed"]
RESULTS: tuple[Result, ...] = ("done", "nothing", "partly", "failed")
LARGEST = 1_000_000  # bytes, from which on the oldest runs are dropped
_LONGEST = 300  # characters of the sentence
_END = 200  # bytes by which what was read is known again


@dataclass(frozen=True)
class JobRun:
    """One run. `window` is the scheduled time that it stands for; none when a person or a talk asked for it."""

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
    def known_until(self) -> dt.datetime:
        """The last moment that is known of it."""
        return self.ended or self.started


@dataclass(frozen=True)
class Journal:
    """Every run in the order in which they began, and trouble with the lines."""

    runs: tuple[JobRun, ...] = ()
    problems: tuple[Problem, ...] = ()

    def of(self, job: str) -> tuple[JobRun, ...]:
        return tuple(one for one in self.runs if one.job == job)

    def unfinished(self) -> tuple[JobRun, ...]:
        return tuple(one for one in self.runs if one.result is None)

    def failures(self, job: str) -> tuple[JobRun, ...]:
        """The runs since the last that went through, all of which failed."""
        failed: list[JobRun] = []
        for one in reversed(self.of(job)):
            if one.went_through:
                break
            if one.result == "failed":
                failed.append(one)
        return tuple(reversed(failed))

    def looked(self, job: str, now: dt.datetime) -> dt.datetime | None:
        """When the last run began that went through."""
        begun = (one.started for one in self.of(job) if one.went_through and one.started <= now)
        return max(begun, default=None)


def journal_path(workspace: Workspace) -> Path:
    return workspace.machine / "jobs.jsonl"


@dataclass(frozen=True)
class _Read:
    """What was read of a file: a process that stays reads only what was added since."""

    file: tuple[int, int]
    size: int  # of the whole lines
    last: bytes  # with which they end: still so when nothing happened but adding
    runs: Mapping[int, JobRun]
    journal: Journal


_cached: dict[str, _Read] = {}


def read_journal(workspace: Workspace) -> Journal:
    path = journal_path(workspace)
    if (known := _cached.get(str(path))) and (now := _with_added(path, known)):
        _cached[str(path)] = now
        return now.journal
    rows, problems = jsonl.read_rows(path, workspace.relative(path))
    runs = _runs((row.value for row in rows), {})
    found = Journal(tuple(runs.values()), problems)
    _cached.pop(str(path), None)
    if rows and not problems and (about := _file_state(path)):
        _cached[str(path)] = _Read(*about, runs, found)
    return found


def _file_state(path: Path) -> tuple[tuple[int, int], int, bytes] | None:
    try:
        with path.open("rb") as file:
            about = os.fstat(file.fileno())
            file.seek(max(0, about.st_size - _END))
            last = file.read(_END)
    except OSError:
        return None
    return ((about.st_dev, about.st_ino), about.st_size, last) if last.endswith(b"\n") else None


def _with_added(path: Path, known: _Read) -> _Read | None:
    """What is known with what was added; nothing when the file is another, was changed, or has a line that was torn."""
    try:
        with path.open("rb") as file:
            about = os.fstat(file.fileno())
            if (about.st_dev, about.st_ino) != known.file or about.st_size < known.size:
                return None
            file.seek(known.size - len(known.last))
            data = file.read(about.st_size - known.size + len(known.last))
    except OSError:
        return None
    if not data.startswith(known.last) or not data.endswith(b"\n"):
        return None
    rows, problems = jsonl.parse_rows(data[len(known.last) :], path.name)
    if problems:
        return None
    if not rows:
        return known
    runs = _runs((row.value for row in rows), known.runs)
    size = known.size - len(known.last) + len(data)
    return _Read(known.file, size, data[-_END:], runs, Journal(tuple(runs.values())))


def _runs(values: Iterator[dict[str, Any]], before: Mapping[int, JobRun]) -> dict[int, JobRun]:
    """The runs that the lines tell of; a line that makes no sense is passed over: a journal is no memory."""
    found = dict(before)
    for value in values:
        try:
            number = int(value["run"])
            if "job" in value:
                found[number] = _begun(number, value)
            elif number in found:
                found[number] = _ended(found[number], value)
        except (KeyError, TypeError, ValueError, OverflowError):
            continue
    return found


def _begun(number: int, value: Mapping[str, Any]) -> JobRun:
    pid, host, boot = value.get("process") or (0, "", "")
    window = value.get("window")
    return JobRun(
        number,
        str(value["job"]),
        _moment(value["started"]),
        _moment(window) if window else None,
        int(value.get("attempt", 1)),
        str(value.get("why", "")),
        (int(pid), str(host), str(boot)),
    )


def _ended(ran: JobRun, value: Mapping[str, Any]) -> JobRun:
    if value["result"] not in RESULTS:
        raise ValueError(value["result"])
    seconds = value.get("seconds")
    return replace(
        ran,
        ended=_moment(value["ended"]),
        result=cast("Result", value["result"]),
        seconds=None if seconds is None else float(seconds),
        said=str(value.get("said", "")),
    )


def _moment(told: Any) -> dt.datetime:
    moment = dt.datetime.fromisoformat(told)
    if moment.tzinfo is None:
        raise ValueError(told)
    return moment.astimezone(dt.UTC)


def begin_run(
    workspace: Workspace, job: str, now: dt.datetime, *, window: dt.datetime | None, attempt: int, why: str
) -> JobRun:
    """Note that a run begins."""
    number = max((one.number for one in read_journal(workspace).runs), default=0) + 1
    process = (os.getpid(), disk.host_name(), disk.boot_id())
    ran = JobRun(number, job, now.astimezone(dt.UTC), window, attempt, why, process)
    _append(workspace, _first_line(ran))
    return ran


def end_run(
    workspace: Workspace, ran: JobRun, now: dt.datetime, result: Result, *, seconds: float | None = None, said: str = ""
) -> JobRun:
    """Note what came of a run; the oldest are dropped when there are very many."""
    from nacre.guard.sanitise import one_line
    from nacre.guard.secrets import redact

    took = None if seconds is None else round(seconds, 3)
    line = redact(one_line(said)).text[:_LONGEST]
    done = replace(ran, ended=now.astimezone(dt.UTC), result=result, seconds=took, said=line)
    _append(workspace, _last_line(done))
    _shorten(workspace)
    return done


def _first_line(ran: JobRun) -> str:
    line: dict[str, Any] = {"run": ran.number, "job": ran.job, "started": ran.started.isoformat()}
    if ran.window:
        line["window"] = ran.window.isoformat()
    return jsonl.dump_row(line | {"attempt": ran.attempt, "why": ran.why, "process": list(ran.process)})


def _last_line(ran: JobRun) -> str:
    assert ran.ended
    line: dict[str, Any] = {"run": ran.number, "ended": ran.ended.isoformat(), "result": ran.result}
    if ran.seconds is not None:
        line["seconds"] = ran.seconds
    return jsonl.dump_row(line | {"said": ran.said})


def _append(workspace: Workspace, line: str) -> None:
    path = journal_path(workspace)
    if workspace.machine.is_dir():  # a workspace that was destroyed meanwhile is not made again
        append_bytes(path, lines_for(path, line), root=workspace.root)


def _shorten(workspace: Workspace) -> None:
    path = journal_path(workspace)
    if not path.exists() or path.stat().st_size <= LARGEST:
        return
    lines = [
        _first_line(one) + (_last_line(one) if one.result else "")
        for one in newest_runs(read_journal(workspace).runs, LARGEST // 2)
    ]
    disk.write(path, "".join(lines).encode(), root=workspace.root)


def newest_runs(runs: Sequence[JobRun], room: int) -> list[JobRun]:
    """The newest runs that fit into so many bytes, and of each job those that tell since when it works or fails."""
    journal = Journal(tuple(runs))
    needed: set[int] = set()
    for job in {one.job for one in runs}:
        good = [one for one in journal.of(job) if one.went_through]
        timed = [one for one in journal.of(job) if one.window]
        needed |= {one.number for one in (*good[-1:], *timed[-1:], *journal.failures(job)[:1])}
    for one in reversed(runs):
        room -= len(_first_line(one)) + (len(_last_line(one)) if one.result else 0)
        if room < 0:
            break
        needed.add(one.number)
    return [one for one in runs if one.number in needed]
