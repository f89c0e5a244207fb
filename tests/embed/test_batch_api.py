"""Batch services: a large backlog is left there, taken in by a later run, and nothing is paid twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from nacre.embed import batch_api
from nacre.memory import IndexReport, Memory
from nacre.model import SearchReport

from .conftest import BatchService

VENDORS = {"openai": "/v1", "voyage": "/v1", "gemini": "/v1beta/openai"}


@pytest.fixture(params=VENDORS)
def vendor(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def root(vendor: str, tmp_path: Path, batch_service: BatchService, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace of twelve notes, more than enough for a job of at most eight."""
    monkeypatch.setenv("NACRE_EMBED_PROVIDER", vendor)
    monkeypatch.setenv("NACRE_EMBED_BASE_URL", batch_service.url + VENDORS[vendor])
    monkeypatch.setenv("NACRE_EMBED_BATCH_API", "true")
    monkeypatch.setenv(f"{vendor.upper()}_API_KEY", "x")
    monkeypatch.setattr(batch_api, "LEAST", 4)
    monkeypatch.setattr(batch_api, "MOST", 8)
    Memory.init(tmp_path / "ws").close()
    for number in range(12):
        write(tmp_path / "ws", f"{number}.md", f"# Note {number}\n\nThe lighthouse number {number} needs paint.\n")
    return tmp_path / "ws"


def write(root: Path, name: str, text: str) -> None:
    (root / "memory" / name).write_text(text, "utf8")


def embed(root: Path) -> IndexReport:
    with Memory.open(root) as memory:
        return memory.embed()


def ask(root: Path, query: str) -> SearchReport:
    with Memory.open(root) as memory:
        return memory.ask(query)


def paid_notes(service: BatchService) -> list[str]:
    return sorted(text for text in service.paid if "lighthouse number" in text)


def test_a_backlog_is_left_with_the_service_and_taken_in_by_a_later_run(
    root: Path, batch_service: BatchService
) -> None:
    report = embed(root)
    assert "12 passages were sent to the batch service" in (report.reason or "")
    assert len(batch_service.jobs) == 2
    assert ask(root, "which lighthouse").mode == "text"
    embed(root)
    assert (len(batch_service.jobs), batch_service.paid) == (2, [])

    batch_service.finish()
    assert embed(root).embedded == 12
    hits = ask(root, "which lighthouse needs paint")
    assert (hits.mode, hits.stale) == ("hybrid", False)
    assert len(paid_notes(batch_service)) == len(set(paid_notes(batch_service))) == 12
    assert not batch_service.files  # the service keeps nothing of it


def test_what_is_written_meanwhile_is_embedded_at_once(root: Path, batch_service: BatchService) -> None:
    embed(root)
    write(root, "new.md", "# Harbour\n\nThe ferry leaves at nine.\n")
    assert ask(root, "when does the ferry leave").mode == "hybrid"
    assert sum("ferry leaves" in text for text in batch_service.paid) == 1
    assert not paid_notes(batch_service)


def test_a_job_that_failed_and_texts_that_were_left_out_are_embedded_directly(
    root: Path, batch_service: BatchService
) -> None:
    embed(root)
    batch_service.fail()
    assert embed(root).embedded == 12
    assert len(paid_notes(batch_service)) == 12

    for number in range(4):
        write(root, f"late-{number}.md", f"The lighthouse number {number} was sold.\n")
    embed(root)
    batch_service.finish(but=2)
    assert embed(root).embedded == 4
    assert len(paid_notes(batch_service)) == 16


def test_jobs_are_taken_in_also_where_no_more_are_wanted(
    root: Path, batch_service: BatchService, monkeypatch: pytest.MonkeyPatch
) -> None:
    embed(root)
    monkeypatch.setenv("NACRE_EMBED_BATCH_API", "false")
    batch_service.finish()
    assert embed(root).embedded == 12
    assert len(paid_notes(batch_service)) == 12


def test_a_few_texts_are_not_worth_the_wait(
    root: Path, batch_service: BatchService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_api, "LEAST", 13)
    assert embed(root).embedded == 12
    assert {asked.path.rpartition("/")[2] for asked in batch_service.asked} == {"embeddings"}


def test_a_run_killed_while_it_submits_pays_nothing_twice(root: Path, batch_service: BatchService) -> None:
    started: list[subprocess.Popen[bytes]] = []
    batch_service.on_lost = lambda: os.kill(started[0].pid, signal.SIGKILL)
    batch_service.lost = True
    work = "import nacre.embed.batch_api as jobs; jobs.LEAST, jobs.MOST = 4, 8; from nacre.__main__ import main; main()"
    started.append(subprocess.Popen([sys.executable, "-c", work, "--workspace", str(root), "embed"]))
    assert started[0].wait(120) == -signal.SIGKILL
    assert len(batch_service.jobs) == 1

    embed(root)  # finds the job that was submitted, and submits the rest
    batch_service.finish()
    embed(root)
    assert len(paid_notes(batch_service)) == len(set(paid_notes(batch_service))) == 12
