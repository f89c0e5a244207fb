"""One command, one fault, and what must hold afterwards: nothing lost, nothing doubled, the next run completes it, undo works."""

from __future__ import annotations

import gc
import json
import os
import random
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

from tests.faults import calls
from tests.faults.commands import SCENARIOS, Scenario, environment, make_home, nacre, prepared

from nacre.model import Workspace
from nacre.vault.history import DONE, PARTLY, last_id, read_history
from nacre.vault.problems import file_problems as problems_of
from nacre.vault.storage import Disk

WORKSPACE = ".nacre/workspace"
# Derived, about this machine, or the report of the last run: no memory, and not what the next run has to complete.
_NOT_COMPARED = (*(f"{WORKSPACE}/.nacre/{name}/" for name in ("index", "history", "flush")), ".cache/", "run/")
_NOT_COMPARED_NAMES = ("lock", "looked.json", "context.json", "promote_report.md")
_LINES_ONLY_ADDED = (".jsonl", ".md")

Files = dict[str, bytes]


def _not_random(count: int) -> bytes:
    return b"\x07" * count


class Failure(NamedTuple):
    """What was wrong after a fault at a call of a command."""

    command: str
    fault: str
    at: int
    sentence: str


@dataclass(frozen=True)
class Peace:
    """A command run without a fault: the files before it, after it and after undo, and what doctor says then."""

    scenario: Scenario
    command: tuple[str, ...]
    template: Path
    home: Path
    before: Files
    after: tuple[Files, ...]  # run once, and run again
    undone: Files | None  # None: nothing of it can be undone
    problems: list[list[str]]
    calls: Counter[str]
    first: int  # the number of its first operation


def warm_up(home: Path) -> None:
    """Run every command in this process, so that whatever they load is there for the children that are forked from it."""
    make_home(home)
    with environment(home), open(os.devnull, "w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        for scenario in SCENARIOS:
            nacre(scenario.command, scenario.now, scenario.stdin)
    gc.collect()
    gc.freeze()  # out of the collector's way, the children share it


def in_peace(scenario: Scenario, folder: Path) -> Peace:
    """Prepare the command's home in the folder and see what the command does."""
    home, template = folder / "home", folder / "template"
    for path in (home, template):
        shutil.rmtree(path, ignore_errors=True)
    with environment(home):
        command = prepared(scenario, home, lambda given: _must_work(given, scenario).out)
        shutil.copytree(home, template, symlinks=True)
        before, first = snapshot(home), _last_operation(home) + 1
        outcome = _must_work(command, scenario)
        after = snapshot(home)
        problems, trouble = _doctor_and_undo(home, first, scenario)
        undone = None if trouble else snapshot(home)
        _restore(home, template)
        for _ in range(2):
            _child(command, scenario)
        both = (after, snapshot(home))
        return Peace(scenario, command, template, home, before, both, undone, problems, outcome.calls, first)


def trial(peace: Peace, fault: str, at: int) -> list[str]:
    """What is wrong after the fault at the `at`-th call; nothing when all is well."""
    _restore(peace.home, peace.template)
    with environment(peace.home):
        return list(_trial(peace, fault, at))


def _restore(home: Path, template: Path) -> None:
    shutil.rmtree(home)
    shutil.copytree(template, home, symlinks=True)


def _trial(peace: Peace, fault: str, at: int) -> Iterator[str]:
    outcome = _child(peace.command, peace.scenario, fault, at)
    now = snapshot(peace.home)
    if outcome.status == 0 and now != peace.after[0]:
        yield f"it said that all went well, but {_difference(now, peace.after[0])}"
    if outcome.status >= 0:
        yield from _not_a_sentence(outcome)
    yield from _lost(peace, now)

    again = _child(peace.command, peace.scenario)
    done = snapshot(peace.home)
    if "Traceback" in again.err or again.status < 0:
        yield f"the next run broke: {_last_line(again.err)}"
    if done not in peace.after:
        yield f"the next run (exit {again.status}) did not complete it: {_difference(done, peace.after[0])}"
        return
    machine = peace.home / WORKSPACE / ".nacre"  # where the next write takes it away, whichever that is
    if left := [path for path in peace.home.rglob(".nacre-*.tmp") if machine not in path.parents]:
        yield f"{len(left)} temporary files stay"

    problems, trouble = _doctor_and_undo(peace.home, peace.first, peace.scenario)
    may_be_torn = ".nacre/history/operations.jsonl"  # half a record of a change that was then not made
    if new := [row for row in problems if row not in peace.problems and row[1] != may_be_torn]:
        yield f"doctor finds {new[0]}"
    if peace.undone is None:
        return
    if trouble:
        yield f"undo failed: {trouble}"
    elif (undone := snapshot(peace.home)) != peace.undone:
        yield f"undo left something else than in peace: {_difference(undone, peace.undone)}"


def _child(command: tuple[str, ...], scenario: Scenario, fault: str = calls.KILLED, at: int = 0) -> calls.Outcome:
    def work() -> int:
        with patch("os.urandom", _not_random), patch("random._urandom", _not_random):  # keys are the same in every run
            return nacre(command, scenario.now, scenario.stdin)

    return calls.run(work, fault, at)


def _must_work(command: tuple[str, ...], scenario: Scenario) -> calls.Outcome:
    outcome = _child(command, scenario)
    if outcome.status:
        raise AssertionError(f"{' '.join(command)} failed in peace: {outcome.err}")
    return outcome


def _not_a_sentence(outcome: calls.Outcome) -> Iterator[str]:
    if "Traceback" in outcome.err:
        yield f"a traceback: {_last_line(outcome.err)}"
    elif outcome.status and not outcome.err.strip():
        yield f"exit code {outcome.status} without a word"


def _lost(peace: Peace, now: Files) -> Iterator[str]:
    """Lines that stood there before and stay in peace, and are nowhere now."""
    before, after = lines(peace.before), lines(peace.after[0])
    lost = (before & after) - lines(now)
    if lost:
        yield f"lost at once: {next(iter(lost)).decode('utf8', 'replace')[:80]!r}"


def lines(files: Mapping[str, bytes]) -> Counter[bytes]:
    """All lines of Markdown and JSON lines."""
    return Counter(
        line for name, data in files.items() if name.endswith(_LINES_ONLY_ADDED) for line in data.splitlines() if line
    )


def _doctor_and_undo(home: Path, first: int, scenario: Scenario) -> tuple[list[list[str]], str]:
    """What doctor says of the files; then every operation from the first on is taken back, newest first."""

    def work() -> int:
        workspace = Workspace(home / WORKSPACE)
        rows = [[row.kind, row.path] for row in problems_of(workspace, every_file=True)]
        trouble = ""
        undone = [] if "undo" in scenario.command else read_history(workspace).operations[::-1]
        for operation in undone:
            if operation.id >= first and operation.state in (DONE, PARTLY) and not trouble:
                status = nacre(("undo", "--only", str(operation.id)), scenario.now)
                trouble = f"operation {operation.id} ({operation.command}), exit {status}" if status else ""
        print(json.dumps([rows, trouble]))
        return 0

    outcome = calls.run(work)
    if outcome.status:
        return [], _last_line(outcome.err)
    problems, trouble = json.loads(outcome.out.splitlines()[-1])
    return problems, trouble and f"{trouble}: {_last_line(outcome.err)}"


def _last_operation(home: Path) -> int:
    return last_id(Disk(Workspace(home / WORKSPACE)))


def snapshot(home: Path) -> Files:
    """Every file of the home that is not derived; one that is empty says nothing."""
    files: Files = {}
    for folder, _, names in os.walk(home):
        for name in names:
            path = os.path.join(folder, name)
            shown = os.path.relpath(path, home)
            if shown.startswith(_NOT_COMPARED) or name in _NOT_COMPARED_NAMES or name.endswith((".tmp", ".lock")):
                continue
            with open(path, "rb") as file:
                files[shown] = _IN_ANY_ORDER.get(name, bytes)(file.read())
    return files


def _sorted(trail: bytes) -> bytes:
    """The trail in an order of its own: what a run notes first depends on what the one before it did."""
    marks: dict[str, list[str]] = {}
    rest: list[bytes] = []
    for line in trail.splitlines(keepends=True):
        row = json.loads(line) if line.endswith(b"}\n") and b'"offered"' in line else {}
        if row:
            marks.setdefault(row["day"], []).extend(row["offered"])
        else:
            rest.append(line)
    return b"".join(sorted(rest)) + json.dumps({day: sorted(every) for day, every in sorted(marks.items())}).encode()


def _sorted_words(record: bytes) -> bytes:
    """The record of connections, whichever file was written first."""
    return b" ".join(sorted(record.replace(b",", b" ").split()))


_IN_ANY_ORDER = {"trail.jsonl": _sorted, "connections.json": _sorted_words}


def _difference(now: Files, wanted: Files) -> str:
    for name in sorted(now.keys() | wanted.keys()):
        if now.get(name) != wanted.get(name):
            if name not in now or name not in wanted:
                return f"{name} is {'missing' if name not in now else 'too much'}"
            more, fewer = lines({name: now[name]}), lines({name: wanted[name]})
            for what, rest in (("too much", more - fewer), ("missing", fewer - more)):
                if rest:
                    return f"{name} differs, {what}: {next(iter(rest)).decode('utf8', 'replace')[:100]!r}"
            return f"{name} differs"
    return "nothing differs"


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["nothing was said"])[-1][:200]


def places(count: int, most: int, chance: random.Random) -> list[int]:
    """At which calls the fault comes: all of them, or as many as are wanted."""
    every = range(1, count + 1)
    return list(every) if count <= most else sorted(chance.sample(every, most))
