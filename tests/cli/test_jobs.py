"""nacre jobs as a user types it, and as schedulers call it."""

from __future__ import annotations

import datetime as dt
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.capture.talks import Desk as Machine

from nacre.disk import hold
from nacre.jobs import journal

Done = subprocess.CompletedProcess[str]
Nacre = Callable[..., Done]
NOW = "2026-03-02T14:30:00+00:00"
WORDS = (
    ("2026-03-02 13:00", "user", "From now on always use pnpm, never npm, in every repository."),
    ("2026-03-02 13:01", "agent", "Understood: pnpm everywhere."),
    ("2026-03-02 13:05", "user", "And we decided to move to PostgreSQL for storage."),
    ("2026-03-02 13:06", "agent", "Noted, PostgreSQL it is."),
)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.fixture
def nacre(machine: Machine, tmp_path: Path) -> Nacre:
    given = {
        "HOME": str(tmp_path),
        "NACRE_WORKSPACE": str(machine.workspace.root),
        "NACRE_MODELS_PATH": str(tmp_path / "none"),
        "NACRE_CONFIG_FILE": str(tmp_path / "config.toml"),
        "NACRE_CACHE_PATH": str(tmp_path / "cache"),
        "NACRE_TIMEZONE": "UTC",
        "NACRE_LANGUAGE": "en",
        "NACRE_NOW": NOW,
    }

    def command(*arguments: str, **env: str) -> Done:
        return subprocess.run(
            [sys.executable, "-m", "nacre", *arguments], env={**os.environ, **given, **env}, capture_output=True, text=True,
            encoding="utf8", check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip

    assert command("init").returncode == 0
    return command


def test_the_list_says_when_each_job_runs_and_that_none_ran_yet(nacre: Nacre) -> None:
    done = nacre("jobs", "list")
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert [row[:3] for row in rows] == [
        ["memory-sync", "daily at 10:00, 14:00, 18:00, 22:00", "never"],
        ["memory-tidy", "daily at 03:00", "never"],
        ["organise", "hourly at minute 7", "never"],
        ["heartbeat", "every 30 minutes", "never"],
    ]
    assert done.returncode == 0


def test_the_list_says_who_runs_them_or_what_lets_somebody(nacre: Nacre, tmp_path: Path) -> None:
    nothing = tmp_path / "no-programs"
    nothing.mkdir()
    told = nacre("jobs", "list", PATH=str(nothing)).stderr
    assert told == 'This is the schedule, but nothing runs automatically; run "nacre serve --background".\n'
    (nothing / "crontab").write_text("#!/bin/sh\n")
    (nothing / "crontab").chmod(0o755)
    assert 'run "nacre jobs install"' in nacre("jobs", "list", PATH=str(nothing)).stderr
    agents = nacre("jobs", "list", NACRE_JOBS_ON_DEMAND="true").stderr
    assert agents == "Run by the daemon started by agents.\n"


def test_the_list_speaks_chinese(nacre: Nacre) -> None:
    assert "每天 03:00\t从未" in nacre("jobs", "list", NACRE_LANGUAGE="zh").stdout


def test_what_is_due_runs_once_and_a_program_reads_what_came_of_it(nacre: Nacre) -> None:
    shown = json.loads(nacre("jobs", "run", "--due", "--dry-run", "--json").stdout)
    assert [(one["job"], one["dryRun"]) for one in shown] == [
        (name, True) for name in ("memory-sync", "memory-tidy", "organise", "heartbeat")
    ]
    ran = json.loads(nacre("jobs", "run", "--due", "--json").stdout)
    assert [one["result"] for one in ran] == ["nothing"] * 4
    assert ran[0]["window"] == "2026-03-02T14:00:00+00:00"
    assert json.loads(nacre("jobs", "run", "--due", "--json").stdout) == []
    listed = json.loads(nacre("jobs", "list", "--json").stdout)
    assert [one["result"] for one in listed] == ["nothing"] * 4
    assert all(one["next"] > NOW for one in listed)


def test_a_scheduler_that_calls_often_hears_nothing_without_news(nacre: Nacre) -> None:
    for _ in range(2):
        done = nacre("jobs", "run", "--due")
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_capture_without_news_says_what_openclaw_takes_for_silence(nacre: Nacre) -> None:
    done = nacre("jobs", "run", "memory-sync")
    assert (done.returncode, done.stdout, done.stderr) == (0, "ANNOUNCE_SKIP\n", "")


def test_a_capture_with_news_counts_what_it_wrote(nacre: Nacre, machine: Machine) -> None:
    machine.claude(*WORDS)
    assert nacre("jobs", "run", "memory-sync", "--dry-run").stdout == "memory-sync: Sections written: 1.\n"
    assert "pnpm" not in machine.log("2026-03-02")
    assert nacre("jobs", "run", "memory-sync").stdout == "memory-sync: Sections written: 1.\n"
    assert "pnpm" in machine.log("2026-03-02")
    assert nacre("jobs", "run", "memory-sync").stdout == "ANNOUNCE_SKIP\n"


@pytest.mark.parametrize(
    ("language", "sentence"), [("en", "memory-tidy done, nothing changed.\n"), ("zh", "memory-tidy 完成，无变更。\n")]
)
def test_a_night_without_news_is_told_in_its_one_sentence(nacre: Nacre, language: str, sentence: str) -> None:
    assert nacre("jobs", "run", "memory-tidy", NACRE_LANGUAGE=language).stdout == sentence


def test_a_night_with_news_is_told_and_where_logs_are_kept_for_decay_that_too(nacre: Nacre, machine: Machine) -> None:
    log = machine.workspace.memory / "2026-03-01.md"
    log.write_text("# 2026-03-01\n\n## 10:00 note\n- [PREF] Use pnpm, never npm, in every repository\n")
    done = nacre("jobs", "run", "memory-tidy", NACRE_TIDY_RETENTION="decay")
    first, night, second = done.stdout.splitlines()
    assert night == "long-term memory: +1"
    assert first.startswith("memory-tidy done: 1 admitted")
    assert second == "memory-decay done, nothing changed."


def test_the_other_jobs_say_what_they_did(nacre: Nacre) -> None:
    assert nacre("jobs", "run", "organise").stdout == "Nothing to organise.\n"
    assert nacre("jobs", "run", "heartbeat").stdout == "heartbeat: No problems found.\n"


def test_while_jobs_run_a_second_run_by_name_leaves_with_code_11_and_one_that_is_due_with_none(
    nacre: Nacre, machine: Machine
) -> None:
    with hold(machine.workspace.machine / "jobs.lock"):
        named = nacre("jobs", "run", "organise")
        due = nacre("jobs", "run", "--due")
    assert (named.returncode, due.returncode) == (11, 0)
    assert "already running" in named.stderr
    assert "already running" in due.stderr
    assert not (machine.workspace.machine / "jobs.jsonl").exists()


def test_a_job_that_fails_shows_in_the_list_since_when(nacre: Nacre, machine: Machine) -> None:
    now = dt.datetime.fromisoformat(NOW)
    for minutes in (20, 19):
        at = now - dt.timedelta(minutes=minutes)
        window = now.replace(minute=7)
        ran = journal.begin_run(machine.workspace, "organise", at, window=window, attempt=21 - minutes, why="time")
        journal.end_run(machine.workspace, ran, at, "failed", seconds=12.34, said="The disk is full.")
    (organise,) = (one for one in json.loads(nacre("jobs", "list", "--json").stdout) if one["name"] == "organise")
    assert organise["failingSince"] == "2026-03-02T14:10:00+00:00"
    assert (organise["result"], organise["failures"], organise["said"]) == ("failed", 2, "The disk is full.")
    row = next(line for line in nacre("jobs", "list").stdout.splitlines() if line.startswith("organise"))
    assert row.split("\t")[2:] == ["2026-03-02 14:11", "failed", "12.3 s", "now", "2026-03-02 14:10 (2)"]


def test_a_scheduler_beside_a_daemon_runs_a_job_only_when_nobody_did(nacre: Nacre) -> None:
    command = ("jobs", "run", "memory-tidy", "--due")
    assert nacre(*command, "--dry-run").stdout == "memory-tidy: due\n"
    assert nacre(*command).stdout == "memory-tidy done, nothing changed.\n"
    again = nacre(*command)
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")
    assert nacre(*command, NACRE_NOW="2026-03-03T03:00:00+00:00").stdout == "memory-tidy done, nothing changed.\n"


@pytest.mark.parametrize("wrong", [(), ("tidy",), ("tidy", "--due")])
def test_a_job_that_exists_or_what_is_due_must_be_named(nacre: Nacre, wrong: tuple[str, ...]) -> None:
    done = nacre("jobs", "run", *wrong)
    assert (done.returncode, done.stdout) == (2, "")


def test_a_time_that_cannot_be_understood_is_told_with_its_setting(nacre: Nacre) -> None:
    done = nacre("jobs", "list", NACRE_JOBS_TIDY="every night")
    assert done.returncode == 2
    assert 'jobs.tidy is "every night"' in done.stderr


def test_in_a_group_there_are_no_jobs(nacre: Nacre) -> None:
    assert nacre("jobs", "run", "--due", "--scope", "group:climbers").returncode == 2
