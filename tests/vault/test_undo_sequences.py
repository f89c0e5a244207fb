"""Any sequence of commands and undos: whatever was undone comes back to the byte when the undos are undone."""

from __future__ import annotations

import contextlib
import datetime as dt
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.capture.talks import Desk

from nacre.errors import ChangedOutside, NacreError
from nacre.memory import Memory
from nacre.tidy.answers import ACCEPT, REFUSE, Answer
from nacre.vault.history import NOT_CARRIED_OUT, read_history

Files = dict[str, bytes]

RULES = (
    "From now on always use pnpm, never npm, in this repository.",
    "Always back up the database before every migration, otherwise data is lost.",
    "We moved from Jest to Vitest: unit tests are written with Vitest in every project, no longer with Jest.",
    "Maria Lopez leads the billing team and signs every invoice.",
    "以后所有报告一律用 Typst 排版，不要用 LaTeX。",
    "Please move the shop api to v2 and keep the old endpoints for a month.",
)
COMMANDS = (
    "remember", "note", "sync", "tidy", "tidy", "task", "decide", "done", "checkpoint", "forget", "organise", "recall", "answer", "pin",
    "classify", "promote",
)  # fmt: skip
WHICH = st.integers(0, 30)


class User:
    """One user's workspace over some days, and what its files were before each operation."""

    def __init__(self, home: Path) -> None:
        self.desk = Desk(home)
        self.root = self.desk.workspace.root
        self.now = dt.datetime(2026, 3, 2, 9, 0, tzinfo=dt.UTC)
        self.before: dict[int, Files] = {}
        Memory.init(self.root, now=self.now.isoformat()).close()

    def do(self, command: str, which: int) -> None:
        self.now += dt.timedelta(hours=1 + which % 5)
        files, last = self.files(), self.last()
        with self.memory() as memory, contextlib.suppress(NacreError):
            getattr(self, f"_{command}")(memory, which)
        if self.last() > last:
            self.before[last + 1] = files

    def memory(self) -> Memory:
        return Memory.open(self.root, now=self.now.isoformat())

    def last(self) -> int:
        return max((one.id for one in read_history(self.desk.workspace).operations), default=0)

    def files(self) -> Files:
        """Every file of the user's; recalls are no operation."""
        paths = (path for path in self.root.rglob("*") if path.is_file() and path.name != "recalls.jsonl")
        return {
            name: path.read_bytes()
            for path in paths
            if not (name := path.relative_to(self.root).as_posix()).startswith(".nacre/")
        }

    def undo(self, number: int) -> None:
        with self.memory() as memory:
            memory.undo(number)

    def _remember(self, memory: Memory, which: int) -> None:
        memory.remember(RULES[which % len(RULES)])

    def _note(self, memory: Memory, which: int) -> None:
        memory.remember(f"The ferry to island {which % 4} leaves at nine", "TEMP")

    def _sync(self, memory: Memory, which: int) -> None:
        said = [RULES[which % len(RULES)], RULES[(which + 1) % len(RULES)], "Done: it is on v2 and 41 tests pass."]
        times = [(self.now - dt.timedelta(minutes=9 - at)).strftime("%Y-%m-%d %H:%M") for at in range(3)]
        spoken = list(zip(times, ("user", "user", "agent"), said, strict=True))
        self.desk.claude(*spoken, session=f"{which:08x}-1111-4222-8333-444455556666", cwd="/work/shop-api")
        memory.sync()

    def _tidy(self, _memory: Memory, which: int) -> None:
        self.now += dt.timedelta(days=which % 10)
        with self.memory() as memory:
            memory.tidy()

    def _task(self, memory: Memory, which: int) -> None:
        memory.state.task(f"move shop {which % 3}")

    def _decide(self, memory: Memory, which: int) -> None:
        memory.state.decide(f"chose plan {which}")

    def _done(self, memory: Memory, which: int) -> None:
        memory.state.pending(f"write to Anna {which}")
        memory.state.done(1)

    def _checkpoint(self, memory: Memory, which: int) -> None:
        memory.checkpoint(text=f"# Roof {which % 3}\n\nWe take slate for roof {which}.\n", title=f"roof {which % 3}")

    def _forget(self, memory: Memory, which: int) -> None:
        lines = [
            f"{path.relative_to(self.root).as_posix()}:{number}"
            for path in sorted(self.root.rglob("*.md"))
            for number, line in enumerate(path.read_text("utf8").splitlines(), start=1)
            if line.startswith("- ") and ".nacre" not in path.parts and path.name != "AGENTS.md"
        ]
        if lines:
            memory.forget(lines[which % len(lines)])

    def _organise(self, _memory: Memory, which: int) -> None:
        self.now += dt.timedelta(days=which % 9)
        with self.memory() as memory:
            memory.organise()

    def _recall(self, memory: Memory, _which: int) -> None:
        memory.recall("slate roof")

    def _answer(self, memory: Memory, which: int) -> None:
        for item in memory.questions()[:1]:
            memory.answer([Answer(item.id, (ACCEPT, REFUSE)[which % 2])])

    def _pin(self, memory: Memory, _which: int) -> None:
        memory.pin("pnpm")

    def _classify(self, memory: Memory, _which: int) -> None:
        memory.untyped(apply=True)

    def _promote(self, memory: Memory, _which: int) -> None:
        memory.promote(apply=True)

    def _undo(self, memory: Memory, which: int) -> None:
        past = read_history(self.desk.workspace).operations
        memory.undo(past[-1 - which % len(past)].id)


def without_notes(files: Files) -> Files:
    """The files without the trail's lines on what was undone: an undo of an entry adds one."""
    trail = b"".join(line for line in files.get("memory/trail.jsonl", b"").splitlines(True) if b'"undone:' not in line)
    rest = {name: data for name, data in files.items() if name != "memory/trail.jsonl"}
    return rest | ({"memory/trail.jsonl": trail} if trail else {})


@pytest.fixture
def _no_models(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NACRE_MODELS_PATH", str(tmp_path / "none"))
    monkeypatch.setenv("NACRE_TIMEZONE", "UTC")


def user_in(memory_disk: Path) -> User:
    home = memory_disk / str(len(os.listdir(memory_disk)))
    home.mkdir()
    os.environ["HOME"] = str(home)  # the fixture of every test puts the old one back
    return User(home)


@pytest.mark.usefixtures("_no_models")
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(st.sampled_from((*COMMANDS, "undo", "undo", "undo")), WHICH), min_size=3, max_size=9))
def test_every_operation_and_every_undo_is_taken_back_to_the_byte(
    memory_disk: Path, steps: list[tuple[str, int]]
) -> None:
    user = user_in(memory_disk)
    for command, which in steps:
        user.do(command, which)
    for one in reversed(read_history(user.desk.workspace).operations[1:]):
        now = {done.id: done.state for done in read_history(user.desk.workspace).operations}
        if now[one.id] == NOT_CARRIED_OUT:
            continue
        user.undo(one.id)
        if (before := user.before.get(one.id)) is not None:
            assert without_notes(user.files()) == without_notes(before), one


@pytest.mark.usefixtures("_no_models")
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(st.sampled_from(COMMANDS), WHICH), min_size=2, max_size=7), st.data())
def test_undoing_in_any_order_and_then_every_undo_gives_the_bytes_back(
    memory_disk: Path, steps: list[tuple[str, int]], draw: st.DataObject
) -> None:
    user = user_in(memory_disk)
    for command, which in steps:
        user.do(command, which)
    before = user.files()
    undos: list[int] = []
    for number in draw.draw(st.permutations(range(2, user.last() + 1))):
        with contextlib.suppress(ChangedOutside):  # a later operation touched the same lines
            user.undo(number)
            undos.append(user.last())
    for number in reversed(undos):
        user.undo(number)
    assert user.files() == before
