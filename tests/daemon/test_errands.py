"""Jobs run in processes of their own; whatever becomes of them, the daemon stays."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest

from nacre import Memory
from nacre.daemon.errands import Errands
from nacre.errors import BadInput
from nacre.jobs import journal
from nacre.vault.workspace import Workspace

from .conftest import Start, connected
from .waiting import until


def runs(root: Path) -> dict[str, str | None]:
    return {one.job: one.result for one in journal.read(Workspace(root)).runs}


def test_what_is_due_is_run_in_another_process(root: Path) -> None:
    with Memory.open(root) as memory:
        errands = Errands(memory, logging.getLogger("test"), first=0)
        errands.start()
        until(lambda: runs(root).get("organise") in ("done", "nothing") and not errands.at_work, 90)
        until(lambda: errands.status()["nextLook"] is not None, 60)
        errands.end()
        assert not errands.is_alive()
    assert all(one.process[0] != os.getpid() for one in journal.read(Workspace(root)).runs)


def test_a_job_runs_when_it_is_asked_for(root: Path) -> None:
    with Memory.open(root) as memory:
        errands = Errands(memory, logging.getLogger("test"), first=3600)
        errands.start()
        with pytest.raises(BadInput):
            errands.ask("rm -rf")
        assert errands.ask("organise") == "organise"
        until(lambda: "organise" in runs(root) and runs(root)["organise"] is not None, 90)
        errands.end()


def test_a_job_that_is_at_work_does_not_keep_the_daemon_from_ending(root: Path, start: Start) -> None:
    process = start(jobs=True)
    with connected(root) as daemon:
        assert daemon.ask("run", job="memory-tidy") == {"begun": "memory-tidy"}
        with pytest.raises(BadInput):
            daemon.ask("run", job="none")
        assert daemon.ask("search", asked={"query": "roses"})["parts"]
    process.terminate()
    assert process.wait(60) == 0
