"""Jobs run one at a time, each run stands in the journal, and a run that broke off is noticed."""

from __future__ import annotations

import datetime as dt
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.jobs.runners import NOW, Killed, later, nothing, runner_at
from tests.vault.conftest import run_in_child

from nacre.clock import Clock
from nacre.config.settings import CacheSettings, Config, JobsSettings
from nacre.errors import BadInput, CannotWrite, Locked, NoWorkspace, PartlyDone
from nacre.jobs import journal
from nacre.jobs.run import Outcome, due_now, job_states, lock_file, run_due, run_heartbeat, run_named, runner_for
from nacre.jobs.schedule import JOB_NAMES
from nacre.memory import Memory
from nacre.model import Workspace
from nacre.vault.cache import open_cache

QUIET = Config(jobs=JobsSettings(organise="off", heartbeat="off", tidy="off"))


def fails(_dry_run: bool) -> Outcome:
    raise CannotWrite("The disk is full.")


def test_what_is_due_runs_in_order_and_once(tmp_path: Path) -> None:
    runner = runner_at(tmp_path)
    assert [one.run.job for one in run_due(runner)] == list(JOB_NAMES)
    before = journal.journal_path(runner.context.workspace).read_bytes()
    assert run_due(runner) == ()
    assert journal.journal_path(runner.context.workspace).read_bytes() == before


def test_a_failure_is_told_and_the_other_jobs_run(tmp_path: Path) -> None:
    runner = runner_at(tmp_path, works={"memory-tidy": fails})
    found = {one.run.job: one for one in run_due(runner)}
    assert found["memory-tidy"].outcome == Outcome("failed", "The disk is full.")
    assert isinstance(found["memory-tidy"].error, CannotWrite)
    assert [one.result for one in journal.read_journal(runner.context.workspace).runs] == [
        "nothing",
        "failed",
        "nothing",
        "nothing",
    ]
    assert [(one.job, one.why) for one in due_now(later(runner, minutes=2))] == [("memory-tidy", "retry")]


def test_an_error_that_we_do_not_know_is_named_without_its_words(tmp_path: Path) -> None:
    def breaks(_dry_run: bool) -> Outcome:
        raise KeyError("what the user said")

    (report,) = run_due(runner_at(tmp_path, works={"memory-sync": breaks}, config=QUIET))
    assert report.outcome.said == "Unexpected error: KeyError."
    assert "what the user said" not in journal.journal_path(runner_at(tmp_path).context.workspace).read_text()


def test_what_was_partly_done_is_no_failure(tmp_path: Path) -> None:
    def some(_dry_run: bool) -> Outcome:
        raise PartlyDone("One of two was done.")

    runner = runner_at(tmp_path, works={"memory-sync": some}, config=QUIET)
    (report,) = run_due(runner)
    assert (report.outcome.result, report.error) == ("partly", None)
    assert due_now(later(runner, hours=1)) == []


def test_an_interrupted_run_is_written_down_and_the_interruption_goes_on(tmp_path: Path) -> None:
    def interrupted(_dry_run: bool) -> Outcome:
        raise KeyboardInterrupt

    runner = runner_at(tmp_path, works={"memory-sync": interrupted}, config=QUIET)
    with pytest.raises(KeyboardInterrupt):
        run_due(runner)
    (ran,) = journal.read_journal(runner.context.workspace).runs
    assert (ran.result, ran.said) == ("failed", "Interrupted.")


def test_a_run_by_name_stands_for_the_time_so_that_nothing_runs_for_it_again(tmp_path: Path) -> None:
    runner = runner_at(tmp_path, config=QUIET)
    assert run_named(runner, "memory-sync").run.window == NOW.replace(minute=0)
    assert due_now(runner) == []
    assert run_named(runner, "memory-sync").run.window is None


def test_a_job_that_is_switched_off_still_runs_by_name(tmp_path: Path) -> None:
    assert run_named(runner_at(tmp_path, config=QUIET), "organise").outcome.result == "nothing"


def test_a_job_that_does_not_exist_is_told_with_those_that_do(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="memory-sync, memory-tidy, organise, heartbeat"):
        run_named(runner_at(tmp_path), "tidy")


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    seen: list[bool] = []

    def shows(dry_run: bool) -> Outcome:
        seen.append(dry_run)
        return Outcome("done", "Changes: 1.")

    runner = runner_at(tmp_path, works={"organise": shows})
    assert run_named(runner, "organise", dry_run=True).dry_run
    assert seen == [True]
    assert list((tmp_path / ".nacre").iterdir()) == []


def test_a_second_runner_says_so_and_leaves(tmp_path: Path) -> None:
    met: list[str] = []

    def busy(_dry_run: bool) -> Outcome:
        def intrude() -> None:
            for name in ("memory-sync", "organise"):
                try:
                    run_named(runner, name)
                except Locked as trouble:
                    met.append(str(trouble))

        other = threading.Thread(target=intrude)
        other.start()
        other.join()
        return nothing(False)

    runner = runner_at(tmp_path, works={"memory-sync": busy}, config=QUIET)
    run_due(runner)
    assert len(met) == 2
    assert f"already running (process {os.getpid()})" in met[0]


HOLDER = """
import sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from tests.jobs.runners import runner_at
from nacre.jobs.run import run_named
def waits(dry_run):
    print("at work", flush=True)
    time.sleep(600)
run_named(runner_at(Path(sys.argv[1]), works={"memory-sync": waits}), "memory-sync")
"""


def test_a_runner_of_another_process_is_waited_for_by_nobody_and_its_death_is_noticed(tmp_path: Path) -> None:
    here = str(Path(__file__).resolve().parents[2])
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path), here], stdout=subprocess.PIPE, text=True)
    assert holder.stdout
    try:
        assert holder.stdout.readline() == "at work\n"
        runner = runner_at(tmp_path, config=QUIET)
        with pytest.raises(Locked, match=str(holder.pid)):
            run_named(runner, "memory-sync")
    finally:
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        holder.stdout.close()
    assert lock_file(runner.context.workspace).read_text() == f"{holder.pid}\n"  # as the dead left it
    (report,) = run_due(later(runner, minutes=1))
    assert (report.run.attempt, report.run.why) == (2, "retry")
    first, second = journal.read_journal(runner.context.workspace).runs
    assert (first.result, first.said) == ("failed", "It stopped before finishing.")
    assert second.result == "nothing"


@pytest.mark.parametrize("kill_at", range(1, 7))
def test_killed_at_any_write_the_next_runner_goes_on(tmp_path: Path, kill_at: int) -> None:
    """The process dies before one of its writes to the journal; afterwards every job has run once, or was tried again."""

    def dies() -> None:
        left = iter(range(1, kill_at))
        real = journal._append

        def append(workspace: Workspace, line: str) -> None:
            if next(left, None) is None:
                os.kill(os.getpid(), signal.SIGKILL)
            real(workspace, line)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(journal, "_append", append)
            run_due(runner_at(tmp_path))

    assert run_in_child(dies) == -signal.SIGKILL
    runner = later(runner_at(tmp_path), minutes=2)
    run_due(runner)
    runs = journal.read_journal(runner.context.workspace).runs
    assert journal.read_journal(runner.context.workspace).unfinished() == []
    assert {one.job for one in runs if one.went_through} == set(JOB_NAMES)
    good = [(one.job, one.window) for one in runs if one.went_through]
    assert len(good) == len(set(good))
    assert run_due(runner) == ()


def test_a_state_tells_what_ran_what_comes_and_since_when_a_job_fails(tmp_path: Path) -> None:
    Memory.init(tmp_path / "ws", now="2026-02-10T14:30+00:00")
    root = tmp_path / "ws"
    run_due(runner_at(root, works={"memory-tidy": fails}))
    with Memory.open(root, now="2026-02-10T14:30:30+00:00") as memory:
        found = {one.name: one for one in job_states(memory)}
    sync, tidy = found["memory-sync"], found["memory-tidy"]
    assert (sync.failing_since, sync.failures, sync.running, sync.due) == (None, 0, False, False)
    assert sync.last
    assert sync.last.result == "nothing"
    assert sync.next
    assert sync.next.astimezone(dt.UTC) > NOW
    assert tidy.failing_since == NOW
    assert tidy.failures == 1
    assert tidy.next == NOW + dt.timedelta(minutes=1)


def test_a_run_that_broke_off_is_seen_in_the_state_before_anybody_runs_again(tmp_path: Path) -> None:
    def dies(_dry_run: bool) -> Outcome:
        raise Killed

    root = tmp_path / "ws"
    Memory.init(root, now="2026-02-10T14:30+00:00")
    with pytest.raises(Killed):
        run_named(runner_at(root, works={"organise": dies}), "organise")
    with Memory.open(root, now="2026-02-10T14:31+00:00") as memory:
        assert {one.name: one.running for one in job_states(memory)}["organise"]  # this very process made it, and lives
        path = journal.journal_path(memory.workspace)
        path.write_text(path.read_text().replace(f"[{os.getpid()},", f"[{2**22 + 1},"))
        organise = {one.name: one for one in job_states(memory)}["organise"]
    assert (organise.running, organise.failing_since, organise.failures) == (False, NOW, 1)


def test_jobs_are_no_business_of_a_group(tmp_path: Path) -> None:
    Memory.init(tmp_path / "ws")
    with pytest.raises(BadInput):
        runner_for(Memory.open(tmp_path / "ws", scope="group:climbers"))


def test_the_jobs_of_a_real_memory_run_and_change_nothing_when_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NACRE_MODELS_PATH", str(tmp_path / "none"))
    with Memory.init(tmp_path / "ws", now="2026-02-10T14:30+00:00") as memory:
        memory.remember("Use pnpm, never npm, in every repository", "PREF")
        assert all(one.outcome.result != "failed" for one in run_due(runner_for(memory)))
        for name in JOB_NAMES:
            run_named(runner_for(memory), name)
            assert run_named(runner_for(memory), name).outcome.result == "nothing"
    text = journal.journal_path(memory.workspace).read_text()
    assert "pnpm" not in text
    assert all(json.loads(line) for line in text.splitlines())


def test_the_heartbeat_expires_caches_and_tells_who_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NACRE_CACHE_PATH", str(tmp_path / "cache"))
    folder = open_cache("any", CacheSettings(path=str(tmp_path / "cache")), Clock()).folder
    folder.mkdir(mode=0o700, parents=True)
    old, young = (folder / f"session-{name}.json" for name in ("old", "young"))
    for path in (old, young):
        path.write_text("{}")
    os.utime(old, (1, 1))
    with Memory.init(tmp_path / "ws") as memory:
        run_due(runner_at(tmp_path / "ws", works={"organise": fails}))
        shown = run_heartbeat(memory, True)
        assert old.exists()
        assert run_heartbeat(memory, False) == shown
        assert shown.said == "Expired caches removed: 1, failing jobs: organise."
    assert (old.exists(), young.exists()) == (False, True)


def test_a_workspace_that_goes_away_meanwhile_is_not_made_again(tmp_path: Path) -> None:
    def destroys(_dry_run: bool) -> Outcome:
        shutil.rmtree(tmp_path / "ws")
        return nothing(False)

    runner = runner_at(tmp_path / "ws", works={"memory-sync": destroys}, config=QUIET)
    run_due(runner)
    with pytest.raises(NoWorkspace):
        run_due(runner)
    assert list(tmp_path.iterdir()) == []


def test_a_heartbeat_tells_of_counts_that_stop_the_organising(tmp_path: Path) -> None:
    with Memory.init(tmp_path / "ws") as memory:
        assert run_heartbeat(memory, False).said == "No problems found."
        (tmp_path / "ws" / "refcount.json").write_bytes(b"")
        found = run_heartbeat(memory, False)
        assert found.result == "partly"
        assert "The layers cannot be organised" in found.said
