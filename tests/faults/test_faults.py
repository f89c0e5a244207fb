"""The short form of `python -m tests.faults`: a few faults in the commands that matter most, and a short random life."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.faults import calls, trial
from tests.faults.commands import SCENARIOS, Scenario
from tests.faults.model import Model

CHOSEN = ("remember", "wal decide", "sync", "tidy", "organise", "forget", "review --refuse", "config set")
TRIALS = 6

pytestmark = pytest.mark.skipif(calls.only_kills() is not None, reason=str(calls.only_kills()))


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder where fsync costs nothing, in a process that has everything loaded."""
    place = Path("/dev/shm") if Path("/dev/shm").is_dir() else tmp_path_factory.mktemp("faults")
    with tempfile.TemporaryDirectory(dir=place, prefix="nacre-test-") as folder:
        trial.warm_up(Path(folder) / "warm")
        yield Path(folder)


@pytest.mark.parametrize("scenario", [one for one in SCENARIOS if one.title in CHOSEN], ids=lambda one: one.title)
def test_whatever_fault_comes_nothing_is_lost_or_doubled_and_the_next_run_completes_it(
    disk: Path, scenario: Scenario
) -> None:
    peace = trial.in_peace(scenario, disk)
    chance = random.Random(scenario.title)
    for fault in chance.sample(calls.FAULTS, TRIALS):
        at = chance.randint(1, peace.calls[fault])
        assert trial.trial(peace, fault, at) == [], f"{scenario.title}: {fault}, call {at}"


def test_a_random_life_with_faults_loses_and_doubles_nothing(disk: Path) -> None:
    life = Model(disk / "life", seed=1)
    for _ in range(40):
        life.step()
    assert life.faults.total() > 5


def test_the_faults_do_find_a_writer_that_leaves_halves(disk: Path) -> None:
    path = disk / "careless.md"
    seen: set[tuple[str, str]] = set()

    def careless() -> int:
        try:
            path.write_bytes(b"new words")
        except OSError:
            return 1
        return 0

    for fault in (calls.KILLED, calls.TORN, calls.FULL):
        at, reached = 0, True
        while reached:
            at += 1
            path.write_bytes(b"old")
            reached = calls.run(careless, fault, at).reached
            seen.add((fault, path.read_text()))
    assert seen == {
        *((calls.KILLED, text) for text in ("old", "", "new words")),
        *((calls.TORN, text) for text in ("new ", "new words")),
        *((calls.FULL, text) for text in ("old", "", "new words")),
    }
