"""doctor reads the newest session of each agent, and knows jobs, the daemon, the clock and who may write; status shows them in a line."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from tests.talks import ClaudeTalk

from nacre.checks import doctor
from nacre.checks.doctor import examine, repair
from nacre.checks.status import status_facts
from nacre.clock import Clock
from nacre.config.settings import JobsSettings
from nacre.daemon import fast
from nacre.daemon.problems import clear_sockets, daemon_problems
from nacre.daemon.process import ask_status
from nacre.jobs import installer, journal
from nacre.memory import Memory

UTC = dt.UTC


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Memory:
    monkeypatch.setenv("NACRE_MODELS_PATH", str(tmp_path / "none"))
    return Memory.init(tmp_path / "ws")


@pytest.fixture
def home() -> Path:
    return Path.home()  # of the test, not of whoever runs it


def test_a_newest_talk_of_unknown_form_is_told(memory: Memory, home: Path) -> None:
    talk = ClaudeTalk(home, "s1").say("hello").answer("hello")
    assert list(doctor.transcript_problems(memory)) == []
    with talk.path.open("a", encoding="utf8") as file:
        file.writelines(json.dumps({"type": "user", "number": number}) + "\n" for number in range(50))
    (problem,) = doctor.transcript_problems(memory)
    assert problem.kind == "transcript of unknown form"


def fail(memory: Memory, job: str, when: dt.datetime, said: str = "the disk is full") -> None:
    ran = journal.begin_run(memory.workspace, job, when, window=when, attempt=1, why="time")
    journal.end_run(memory.workspace, ran, when, "failed", said=said)


def test_a_failing_job_is_told_with_its_reason_and_the_command_that_tries_it_again(memory: Memory) -> None:
    now = dt.datetime(2026, 3, 2, 12, tzinfo=UTC)
    memory.opened = dataclasses.replace(memory.opened, clock=Clock(UTC, now))
    fail(memory, "memory-tidy", now - dt.timedelta(hours=9))
    (problem,) = doctor.job_problems(memory)
    assert "memory-tidy has failed 1 time since 2026-03-02 03:00: the disk is full" in problem.message
    assert problem.remedy == "nacre jobs run memory-tidy"
    stock = status_facts(memory)
    failing = [one["name"] for one in stock["jobs"]["states"] if one["failingSince"]]
    assert failing == ["memory-tidy"]


def test_jobs_that_were_set_up_and_never_ran_are_told(memory: Memory) -> None:
    installer.record_installed(memory.workspace, "openclaw", {"complete": True})
    assert list(doctor.job_problems(memory)) == []
    two_days_ago = dt.datetime.now(UTC).timestamp() - 3 * 86400
    os.utime(installer.installed_path(memory.workspace), (two_days_ago, two_days_ago))
    (problem,) = doctor.job_problems(memory)
    assert "No job has run since" in problem.message
    assert problem.remedy == "nacre jobs install"


def test_a_scheduler_that_was_told_of_another_python_is_told_of(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The crontab is a stand-in that keeps its table in a file."""
    programs = tmp_path / "bin"
    programs.mkdir()
    kept = tmp_path / "crontab"
    crontab = programs / "crontab"
    crontab.write_text(
        f'#!/bin/sh\ncase "$1" in -V) exit 2;; -l) cat "{kept}" 2>/dev/null || {{ echo no crontab >&2; exit 1; }};; *) cat > "{kept}";; esac\n'
    )
    crontab.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    command = [sys.executable, "-m", "nacre", "jobs", "install", "--with", "cron", "--workspace"]
    subprocess.run([*command, str(memory.workspace.root)], check=True, capture_output=True)
    assert list(doctor.job_problems(memory)) == []
    kept.write_text(kept.read_text("utf8").replace(sys.executable, "/opt/gone/bin/python"), "utf8")
    (problem,) = doctor.job_problems(memory)
    assert problem.kind == "service outdated"
    assert problem.remedy == "nacre jobs install"


def test_times_that_cannot_be_understood_are_told_and_status_still_works(memory: Memory) -> None:
    config = dataclasses.replace(memory.config, jobs=JobsSettings(sync="every now and then"))
    memory.opened = dataclasses.replace(memory.opened, config=config)
    (problem,) = doctor.job_problems(memory)
    assert problem.severity == "error"
    assert "jobs.sync" in problem.message
    assert "jobs.sync" in status_facts(memory)["jobs"]["trouble"]


def test_a_stale_socket_is_told_and_cleared_away_and_nothing_else(memory: Memory) -> None:
    place = memory.workspace.machine / f"daemon-{os.getuid()}.sock"
    assert str(place) in fast.socket_paths(str(memory.workspace.root))
    place.write_text("not a socket", "utf8")
    assert list(daemon_problems(memory)) == []
    place.unlink()
    here = os.open(place.parent, os.O_RDONLY)
    listener = socket.socket(socket.AF_UNIX)
    try:
        listener.bind(f"/proc/self/fd/{here}/{place.name}")  # the path itself may be too long for a socket
    finally:
        listener.close()
        os.close(here)
    (problem,) = daemon_problems(memory)
    assert problem.kind == "stale socket"
    assert problem.remedy == "nacre doctor --fix"
    assert any(str(place) in line for line in clear_sockets(memory))
    assert not place.exists()
    assert list(daemon_problems(memory)) == []


def test_a_daemon_that_was_started_with_other_settings_is_told_of(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = [sys.executable, "-m", "nacre", "--workspace", str(memory.workspace.root), "serve"]
    subprocess.run([*command, "--background"], check=True, capture_output=True)
    try:
        assert list(daemon_problems(memory)) == []
        shown = ask_status(memory)
        assert shown
        assert shown["answers"]
        assert shown["memoryMb"] > 10
        monkeypatch.setenv("NACRE_SEARCH_MAX_RESULTS", "3")
        (problem,) = daemon_problems(memory)
        assert problem.kind == "daemon skew"
        assert "nacre serve --stop" in problem.remedy
    finally:
        subprocess.run([*command, "--stop"], check=True, capture_output=True)
    assert ask_status(memory) is None


def test_a_folder_that_others_may_write_to_is_told_and_ours_is_closed(memory: Memory) -> None:
    assert list(doctor.open_folders(memory.workspace)) == []
    memory.workspace.machine.chmod(0o777)
    memory.workspace.root.chmod(0o775)
    assert [problem.remedy for problem in doctor.open_folders(memory.workspace)] == [
        f"chmod go-w {memory.workspace.root}",
        "nacre doctor --fix",
    ]
    assert any("Other users can no longer write" in line for line in repair(memory))
    assert memory.workspace.machine.stat().st_mode & 0o022 == 0
    assert memory.workspace.root.stat().st_mode & 0o777 == 0o775  # the user's own folder is the user's


def test_every_problem_names_what_mends_it(memory: Memory) -> None:
    memory.workspace.machine.chmod(0o777)
    fail(memory, "memory-sync", dt.datetime.now(UTC) - dt.timedelta(hours=1))
    found = examine(memory)
    assert {"open to others", "job fails"} <= {problem.kind for problem in found}
    assert all(problem.remedy for problem in found)


def run(memory: Memory, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "nacre", *arguments, "--workspace", str(memory.workspace.root)]
    return subprocess.run(command, capture_output=True, encoding="utf8", check=False)


def test_status_shows_the_jobs_and_the_daemon_in_a_line_each(memory: Memory) -> None:
    lines = run(memory, "status", "--all").stdout.splitlines()
    # Which command it is depends on what schedulers this machine has.
    assert any(line.startswith('jobs\tnothing runs automatically; run "nacre ') for line in lines)
    assert "daemon\tnot running (optional)" in lines
    fail(memory, "memory-tidy", dt.datetime(2026, 3, 2, 3, tzinfo=UTC))
    (jobs,) = (line for line in run(memory, "status").stdout.splitlines() if line.startswith("jobs\t"))
    assert "memory-tidy failing since 2026-03-02" in jobs


def test_status_loads_nothing_heavy(memory: Memory) -> None:
    code = (
        "import sys; from nacre.cli.main import run; run(['status', '--workspace', sys.argv[1]]);"
        "heavy = {'numpy', 'onnxruntime', 'rich', 'tokenizers', 'email', 'concurrent.futures', 'socket', 'nacre.index.document'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    root = str(memory.workspace.root)
    done = subprocess.run([sys.executable, "-c", code, root], capture_output=True, encoding="utf8", check=True)
    assert done.stdout.splitlines()[-1] == "[]"
