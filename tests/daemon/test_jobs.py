"""Jobs run in processes of their own; whatever becomes of them, the daemon stays."""

from __future__ import annotations

import datetime as dt
import logging
import os
import time
from pathlib import Path

import pytest
from tests.capture.talks import Desk as Machine

from nacre.daemon.jobs import JobThread
from nacre.disk import hold
from nacre.jobs import journal
from nacre.memory import Memory
from nacre.model import Workspace
from nacre.vault import spool

from .conftest import Start, connected
from .waiting import until


def runs(root: Path) -> dict[str, str | None]:
    return {one.job: one.result for one in journal.read_journal(Workspace(root)).runs}


def test_what_is_due_is_run_in_another_process(root: Path) -> None:
    with Memory.open(root) as memory:
        jobs = JobThread(memory, logging.getLogger("test"), first=0)
        jobs.start()
        until(lambda: runs(root).get("organise") in ("done", "nothing") and not jobs.at_work, 90)
        until(lambda: jobs.status()["nextLook"] is not None, 60)
        jobs.stop()
        assert not jobs.is_alive()
    assert all(one.process[0] != os.getpid() for one in journal.read_journal(Workspace(root)).runs)


NEVER = {f"NACRE_JOBS_{job}": "off" for job in ("SYNC", "TIDY", "ORGANISE", "HEARTBEAT")}


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A user's machine on which nothing runs at fixed times, and whose talks were captured before."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name, value in NEVER.items():
        monkeypatch.setenv(name, value)
    with Memory.init(tmp_path / "ws") as memory:
        memory.sync()
    return Machine(tmp_path)


def talk(machine: Machine) -> Path:
    """What was said just now; it would count as silent after ten minutes."""
    now = dt.datetime.now(dt.UTC)
    times = [(now + dt.timedelta(seconds=later)).isoformat() for later in range(3)]
    words = (
        (times[0], "user", "From now on always use pnpm, never npm, in every repository."),
        (times[1], "agent", "Understood: pnpm everywhere."),
        (times[2], "user", "And we decided to move to PostgreSQL for storage."),
    )
    return machine.claude(*words)


def captured(machine: Machine) -> bool:
    return any("61871d67" in text for text in machine.logs().values())


def whys(machine: Machine) -> list[tuple[str, str, str | None]]:
    return [(one.job, one.why, one.result) for one in journal.read_journal(machine.workspace).runs]


def test_a_session_whose_agent_says_that_it_ended_is_captured_within_a_minute(machine: Machine, start: Start) -> None:
    start(jobs=True, place=machine.workspace.root)
    path = talk(machine)
    with connected(machine.workspace.root) as daemon:
        assert daemon.ask("ended", transcript=str(path)) == {}
    until(lambda: captured(machine), 60)
    until(lambda: whys(machine) == [("memory-sync", "talk", "done")])


def test_a_job_that_is_at_work_does_not_keep_the_daemon_from_ending(machine: Machine, start: Start) -> None:
    process = start(jobs=True, place=machine.workspace.root)
    with connected(machine.workspace.root) as daemon:
        daemon.ask("ended", transcript=str(talk(machine)))
        until(lambda: daemon.ask("status")["jobs"]["running"] is not None)
        assert daemon.ask("search", asked={"query": "roses"})["parts"]
    process.terminate()
    assert process.wait(300) == 0


@pytest.fixture
def _hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nacre.daemon.jobs._BETWEEN_SESSIONS", 0.5)


@pytest.mark.usefixtures("_hurry")
def test_a_session_that_ends_just_after_it_was_captured_leaves_the_queue_within_seconds(machine: Machine) -> None:
    """Its agent said before that it would forget the beginning; then nothing was said any more."""
    root, path = str(machine.workspace.root), talk(machine)
    with Memory.open(machine.workspace.root) as memory:
        jobs = JobThread(memory, logging.getLogger("test"), first=3600)
        jobs.start()
        for _ in ("PreCompact", "SessionEnd"):
            assert spool.queue(root, "claude-code", "61871d67", str(path), at=time.time(), now=True)
            jobs.session_ended(str(path))
            until(lambda: spool.waiting(root) == [], 15)
        until(lambda: [why for _, why, _ in whys(machine)] == ["talk", "talk"])
        jobs.stop()


@pytest.mark.usefixtures("_hurry")
def test_sessions_that_end_one_after_the_other_are_captured_a_few_times_a_minute(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Memory.open(machine.workspace.root) as memory:
        jobs = JobThread(memory, logging.getLogger("test"), first=3600)
        looks: list[float] = []

        def looked(_over: set[str]) -> float:
            looks.append(time.monotonic())
            jobs.session_ended("another")
            return 3600

        monkeypatch.setattr(jobs, "_look", looked)
        jobs.start()
        jobs.session_ended("one")
        until(lambda: len(looks) == 2)
        jobs.stop()
    assert looks[1] - looks[0] > 0.45


def test_who_is_not_to_run_the_jobs_captures_what_hooks_queued_and_no_more(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in NEVER:
        monkeypatch.delenv(name)
    path = talk(machine)
    os.utime(path, (time.time() + 1, time.time() + 1))
    with Memory.open(machine.workspace.root) as memory:
        jobs = JobThread(memory, logging.getLogger("test"), first=0, timed=False)
        jobs.start()
        until(lambda: jobs.status()["nextLook"] is not None)
        assert jobs.runs == 0
        jobs.session_ended(str(path))
        until(lambda: captured(machine), 60)
        until(lambda: not jobs.at_work)
        jobs.stop()
    assert whys(machine) == [("memory-sync", "talk", "done")]


@pytest.mark.usefixtures("_hurry")
def test_a_session_that_ended_while_a_job_was_at_work_is_not_waited_for(machine: Machine) -> None:
    """The note may come between the look and the waiting that follows it, which may be long."""
    with Memory.open(machine.workspace.root) as memory:
        jobs = JobThread(memory, logging.getLogger("test"), first=3600)
        looks: list[set[str]] = []
        path = str(talk(machine))
        looked = jobs._look

        def interrupted(sessions: set[str]) -> float:
            looks.append(sessions)
            if len(looks) == 1:
                jobs.session_ended(path)
                return 3600
            return looked(sessions)

        jobs._look = interrupted  # type: ignore[method-assign]
        jobs.start()
        jobs.session_ended("another")
        until(lambda: captured(machine), 60)
        jobs.stop()
    assert looks[:2] == [{"another"}, {path}]


def test_a_session_that_ended_while_another_runner_is_at_it_is_captured_after_that(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nacre.daemon.jobs._AFTER_ANOTHER", 0.05)
    with Memory.open(machine.workspace.root) as memory:
        jobs = JobThread(memory, logging.getLogger("test"), first=3600)
        with hold(machine.workspace.machine / "jobs.lock"):
            jobs.start()
            jobs.session_ended(str(talk(machine)))
            until(lambda: jobs.runs > 0, 60)
            assert not captured(machine)
        until(lambda: captured(machine), 60)
        jobs.stop()
