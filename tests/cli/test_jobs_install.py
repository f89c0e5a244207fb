"""nacre jobs install and remove as a user types them. The schedulers are stand-ins on a PATH of their own: no test may change the
machine it runs on, and no machine has all of them."""

from __future__ import annotations

import datetime as dt
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.jobs.standins import World, world

from nacre.clock import Clock

Done = subprocess.CompletedProcess[str]
Nacre = Callable[..., Done]
NOW = dt.datetime(2026, 3, 20, 12, 0, tzinfo=dt.UTC)


@pytest.fixture
def here(tmp_path: Path) -> World:
    return world(tmp_path / "machine", tmp_path / "my workspace", Clock(dt.UTC, NOW))


@pytest.fixture
def nacre(here: World) -> Nacre:
    def command(*arguments: str, **env: str) -> Done:
        given = {"NACRE_WORKSPACE": str(here.workspace.root), "NACRE_NOW": NOW.isoformat(), "TZ": "UTC"}
        return subprocess.run(
            [sys.executable, "-m", "nacre", "jobs", *arguments],
            env={**os.environ, **given, **here.machine.env, **env},
            capture_output=True, text=True, encoding="utf8", check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip

    return command


def test_files_and_commands_are_shown_then_written_then_taken_back(here: World, nacre: Nacre) -> None:
    here.has("systemctl")
    before = here.everything()
    shown = nacre("install", "--dry-run")
    assert shown.returncode == 0
    assert here.everything() == before
    folder = here.home / ".config/systemd/user"
    mark = here.setup.mark
    assert f"+++ {folder}/nacre@{mark}.timer\n" in shown.stdout
    assert "+OnCalendar=*:0/5\n" in shown.stdout
    assert "\n$ systemctl --user daemon-reload\n" in shown.stdout
    assert shown.stderr.splitlines()[-1].startswith("systemd would run the jobs for ")

    done = nacre("install")
    assert done.returncode == 0
    assert done.stdout == shown.stdout
    assert done.stderr.splitlines()[-1].startswith("systemd now runs the jobs for ")
    assert len(list(folder.glob("nacre*"))) == 2
    assert f"systemctl --user enable --now nacre@{mark}.timer" in " ".join(here.calls())
    again = nacre("install")
    assert (again.stdout, again.returncode) == ("", 0)
    assert "already" in again.stderr

    gone = nacre("remove")
    assert gone.returncode == 0
    assert here.everything() == before
    assert "No jobs are installed" in nacre("remove").stderr


def test_as_json(here: World, nacre: Nacre) -> None:
    here.has("crontab")
    told = json.loads(nacre("install", "--json", "--dry-run").stdout)
    assert (told["with"], told["changed"], told["dryRun"]) == ("cron", False, True)
    assert told["steps"][0]["path"] == "crontab"
    assert f"+# nacre {here.setup.mark} begin" in told["steps"][0]["diff"]
    assert json.loads(nacre("install", "--json").stdout)["changed"]
    assert not json.loads(nacre("install", "--json").stdout)["changed"]
    assert json.loads(nacre("remove", "--json").stdout)["changed"]
    assert here.crontab() is None


def test_where_nothing_can_run_jobs_the_daemon_is_named(here: World, nacre: Nacre) -> None:
    done = nacre("install")
    assert done.returncode == 0
    assert '"nacre serve --background"' in done.stderr
    assert "“nacre serve --background”" in nacre("install", NACRE_LANGUAGE="zh").stderr


def test_what_is_asked_for_and_not_there_is_a_sentence(nacre: Nacre) -> None:
    done = nacre("install", "--with", "systemd")
    assert done.returncode == 2
    assert done.stderr.startswith('nacre: "systemctl --user" does not respond: you have no systemd session here')
    assert "没有响应" in nacre("install", "--with", "systemd", NACRE_LANGUAGE="zh").stderr


def test_a_scheduler_that_fails_is_told_in_a_sentence_and_nothing_remains(here: World, nacre: Nacre) -> None:
    here.has("systemctl").fails("enable")
    before = here.everything()
    done = nacre("install")
    assert done.returncode == 1
    assert "something broke with two lines. Nothing was left half done" in done.stderr
    assert "Traceback" not in done.stderr
    assert here.everything() == before


def test_the_command_in_the_crontab_really_runs_the_job(here: World, nacre: Nacre) -> None:
    """What cron would hand to the shell, from a folder that holds another nacre."""
    here.has("crontab")
    assert nacre("install").returncode == 0
    (here.home / "nacre.py").write_text("raise SystemExit('not this one')\n", "utf-8")
    lines = (here.crontab() or b"").decode().splitlines()
    command = next(line for line in lines if "jobs run" in line).split(" ", 5)[5].replace("\\%", "%")
    env = {**os.environ, "HOME": str(here.home), "NACRE_NOW": NOW.isoformat()}
    done = subprocess.run(["/bin/sh", "-c", command], cwd=here.home, env=env, check=False)
    assert done.returncode == 0
    assert json.loads(nacre("list", "--json").stdout)[0]["last"]


def test_a_group_may_not_install_anything(nacre: Nacre) -> None:
    assert nacre("install", "--scope", "group:team").returncode == 2
