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

from nacre.model.problem import Problem
from nacre.vault import atomic, jsonl, lockfile
from nacre.vault.logfile import append_bytes, lines_for, tail_of
from nacre.vault.workspace import Workspace

Result = Literal["done", "nothing", "partly", "failed"]
RESULTS: tuple[Result, ...] = ("done", "nothing", "partly", "failed")
LARGEST = 1_000_000  # bytes, from which on the oldest runs are dropped
_LONGEST = 300  # characters of the sentence
_END = 200  # bytes by which what was read is known again


@dataclass(frozen=True)
class Ran:
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

    runs: tuple[Ran, ...] = ()
    problems: tuple[Problem, ...] = ()

    def of(self, job: str) -> tuple[Ran, ...]:
        return tuple(one for one in self.runs if one.job == job)

    def unfinished(self) -> tuple[Ran, ...]:
        return tuple(one for one in self.runs if one.result is None)

    def failures(self, job: str) -> tuple[Ran, ...]:
        """The runs since the last that went through, all of which failed."""
        failed: list[Ran] = []
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


def place(workspace: Workspace) -> Path:
    return workspace.machine / "jobs.jsonl"


@dataclass(frozen=True)
class _Read:
    """What was read of a file: a process that stays reads only what was added since."""

    file: tuple[int, int]
    size: int  # of the whole lines
    last: bytes  # with which they end: still so when nothing happened but adding
    runs: Mapping[int, Ran]
    journal: Journal


_known: dict[str, _Read] = {}


def read(workspace: Workspace) -> Journal:
    path = place(workspace)
    if (known := _known.get(str(path))) and (now := _added(path, known)):
        _known[str(path)] = now
        return now.journal
    rows, problems = jsonl.read(path, workspace.relative(path))
    runs = _runs((row.value for row in rows), {})
    found = Journal(tuple(runs.values()), problems)
    _known.pop(str(path), None)
    if rows and not problems and (about := _about(path)):
        _known[str(path)] = _Read(*about, runs, found)
    return found


def _about(path: Path) -> tuple[tuple[int, int], int, bytes] | None:
    try:
        with path.open("rb") as file:
            about = os.fstat(file.fileno())
            file.seek(max(0, about.st_size - _END))
            last = file.read(_END)
    except OSError:
        return None
    return ((about.st_dev, about.st_ino), about.st_size, last) if last.endswith(b"\n") else None


def _added(path: Path, known: _Read) -> _Read | None:
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
    rows, problems = jsonl.parse(data[len(known.last) :], path.name)
    if problems:
        return None
    if not rows:
        return known
    runs = _runs((row.value for row in rows), known.runs)
    size = known.size - len(known.last) + len(data)
    return _Read(known.file, size, data[-_END:], runs, Journal(tuple(runs.values())))


def _runs(values: Iterator[dict[str, Any]], before: Mapping[int, Ran]) -> dict[int, Ran]:
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


def _begun(number: int, value: Mapping[str, Any]) -> Ran:
    pid, host, boot = value.get("process") or (0, "", "")
    window = value.get("window")
    return Ran(
        number,
        str(value["job"]),
        _moment(value["started"]),
        _moment(window) if window else None,
        int(value.get("attempt", 1)),
        str(value.get("why", "")),
        (int(pid), str(host), str(boot)),
    )


def _ended(ran: Ran, value: Mapping[str, Any]) -> Ran:
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


def begin(
    workspace: Workspace, job: str, now: dt.datetime, *, window: dt.datetime | None, attempt: int, why: str
) -> Ran:
    """Note that a run begins."""
    number = max((one.number for one in read(workspace).runs), default=0) + 1
    process = (os.getpid(), lockfile.host(), lockfile.boot())
    ran = Ran(number, job, now.astimezone(dt.UTC), window, attempt, why, process)
    _append(workspace, _first_line(ran))
    return ran


def end(
    workspace: Workspace, ran: Ran, now: dt.datetime, result: Result, *, seconds: float | None = None, said: str = ""
) -> Ran:
    """Note what came of a run; the oldest are dropped when there are very many."""
    from nacre.guard.sanitise import one_line
    from nacre.guard.secrets import redact

    took = None if seconds is None else round(seconds, 3)
    line = redact(one_line(said)).text[:_LONGEST]
    done = replace(ran, ended=now.astimezone(dt.UTC), result=result, seconds=took, said=line)
    _append(workspace, _last_line(done))
    _shorten(workspace)
    return done


def _first_line(ran: Ran) -> str:
    line: dict[str, Any] = {"run": ran.number, "job": ran.job, "started": ran.started.isoformat()}
    if ran.window:
        line["window"] = ran.window.isoformat()
    return jsonl.dump(line | {"attempt": ran.attempt, "why": ran.why, "process": list(ran.process)})


def _last_line(ran: Ran) -> str:
    assert ran.ended
    line: dict[str, Any] = {"run": ran.number, "ended": ran.ended.isoformat(), "result": ran.result}
    if ran.seconds is not None:
        line["seconds"] = ran.seconds
    return jsonl.dump(line | {"said": ran.said})


def _append(workspace: Workspace, line: str) -> None:
    path = place(workspace)
    if workspace.machine.is_dir():  # a workspace that was destroyed meanwhile is not made again
        append_bytes(path, lines_for(tail_of(path), line), root=workspace.root)


def _shorten(workspace: Workspace) -> None:
    path = place(workspace)
    if not path.exists() or path.stat().st_size <= LARGEST:
        return
    lines = [
        _first_line(one) + (_last_line(one) if one.result else "") for one in kept(read(workspace).runs, LARGEST // 2)
    ]
    atomic.write(path, "".join(lines).encode(), root=workspace.root)


def kept(runs: Sequence[Ran], room: int) -> list[Ran]:
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
