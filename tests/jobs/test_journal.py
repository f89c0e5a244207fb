"""The journal of runs survives what happens to files, and stays small."""

from __future__ import annotations

import datetime as dt
import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some
from tests.jobs.runners import NOW

from nacre.errors import PathEscape
from nacre.jobs import journal
from nacre.jobs.journal import JobRun, Journal, begin_run, end_run, journal_path, newest_runs, read_journal
from nacre.memory import Memory
from nacre.model import Workspace

MINUTE = dt.timedelta(minutes=1)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / ".nacre").mkdir(mode=0o700)
    return Workspace(tmp_path)


def ran(workspace: Workspace, job: str, result: journal.Result, at: dt.datetime = NOW) -> JobRun:
    return end_run(workspace, begin_run(workspace, job, at, window=at, attempt=1, why="time"), at, result, seconds=1.5)


def test_a_run_is_read_as_it_was_written(workspace: Workspace) -> None:
    begun = begin_run(workspace, "organise", NOW, window=NOW - MINUTE, attempt=2, why="retry")
    assert read_journal(workspace).runs == (begun,)
    assert read_journal(workspace).unfinished() == [begun]
    done = end_run(workspace, begun, NOW + MINUTE, "partly", seconds=61.23456, said="Changes: 3.")
    assert read_journal(workspace) == Journal((done,))
    assert (done.seconds, done.went_through, done.process[0]) == (61.235, True, os.getpid())


def test_only_the_user_may_read_it(workspace: Workspace) -> None:
    ran(workspace, "organise", "done")
    assert journal_path(workspace).stat().st_mode & 0o777 == 0o600


def test_a_sentence_is_short_on_one_line_and_without_secrets(workspace: Workspace) -> None:
    begun = begin_run(workspace, "organise", NOW, window=None, attempt=1, why="asked")
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    said = end_run(workspace, begun, NOW, "failed", said=f"It\nbroke at {token} " + "x" * 1000).said
    assert token not in journal_path(workspace).read_text("utf8")
    assert said.startswith("It broke at ")
    assert len(said) <= 300


def test_a_line_that_was_torn_costs_that_line_alone(workspace: Workspace) -> None:
    ran(workspace, "organise", "done")
    with journal_path(workspace).open("ab") as file:
        file.write(b'{"run":2,"job":"orga')
    second = ran(workspace, "heartbeat", "nothing")
    assert [one.job for one in read_journal(workspace).runs] == ["organise", "heartbeat"]
    assert read_journal(workspace).runs[-1] == second


@given(some.binary(max_size=200))
def test_nothing_that_stands_in_the_file_is_an_error(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    workspace = Workspace(tmp_path_factory.mktemp("ws"))
    (workspace.root / ".nacre").mkdir()
    journal_path(workspace).write_bytes(data)
    read_journal(workspace)


json_values = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats() | some.text(max_size=8),
    lambda inner: some.lists(inner, max_size=3),
    max_leaves=4,
)


@given(
    some.lists(
        some.dictionaries(
            some.sampled_from("run job started window attempt why process ended result".split()), json_values
        )
    )
)
def test_no_object_in_the_file_is_an_error(rows: list[dict[str, object]]) -> None:
    list(journal._runs(json.dumps(row).encode() for row in rows))


def test_a_link_in_its_place_is_refused_with_the_workspace(tmp_path: Path) -> None:
    Memory.init(tmp_path / "ws")
    (tmp_path / "elsewhere").write_text("mine\n")
    (tmp_path / "ws" / ".nacre" / "jobs.jsonl").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PathEscape):
        Memory.open(tmp_path / "ws")
    assert (tmp_path / "elsewhere").read_text() == "mine\n"


def test_failures_are_counted_since_the_last_run_that_went_through(workspace: Workspace) -> None:
    results: list[journal.Result] = ["failed", "done", "failed", "failed"]
    for at, result in enumerate(results):
        ran(workspace, "organise", result, NOW + at * MINUTE)
        ran(workspace, "heartbeat", "nothing", NOW + at * MINUTE)
    failed = read_journal(workspace).failures("organise")
    assert [one.started for one in failed] == [NOW + 2 * MINUTE, NOW + 3 * MINUTE]
    assert read_journal(workspace).failures("heartbeat") == []


def test_a_journal_that_grew_long_is_shortened_and_still_tells_since_when_a_job_fails(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "LARGEST", 4000)
    good = ran(workspace, "memory-tidy", "done")
    first = ran(workspace, "memory-tidy", "failed", NOW + MINUTE)
    for at in range(60):
        ran(workspace, "heartbeat", "nothing", NOW + (at + 2) * MINUTE)
        assert journal_path(workspace).stat().st_size <= 4400
    found = read_journal(workspace)
    assert found.runs[:2] == (good, first)
    assert found.failures("memory-tidy") == [first]
    assert found.runs[-1].number == 62
    assert journal_path(workspace).stat().st_mode & 0o777 == 0o600


def test_shortening_keeps_what_decides_whether_a_time_was_run_for() -> None:
    runs = [JobRun(at, "organise", NOW, NOW + at * MINUTE, result="done", ended=NOW) for at in range(1, 50)]
    alone = JobRun(0, "memory-tidy", NOW, NOW, result="failed", ended=NOW)
    assert newest_runs([alone, *runs], budget=0) == [alone, runs[-1]]


def test_what_others_add_change_or_replace_is_seen(workspace: Workspace) -> None:
    path = journal_path(workspace)
    first = ran(workspace, "organise", "done")
    assert read_journal(workspace).runs == (first,)
    line = '{"run":7,"job":"heartbeat","started":"2026-02-10T14:00:00+00:00"}\n'
    with path.open("a") as file:
        file.write(line)
    assert [one.job for one in read_journal(workspace).runs] == ["organise", "heartbeat"]
    path.write_text(path.read_text().replace("heartbeat", "tidying!!"))  # as long as before
    os.utime(path, (1, 1))
    assert [one.job for one in read_journal(workspace).runs] == ["organise", "tidying!!"]
    path.write_text(line)
    assert [one.number for one in read_journal(workspace).runs] == [7]
    path.unlink()
    assert read_journal(workspace) == Journal()
