"""What every storage of memory does, on disk and in a dictionary: the strings themselves, and operations on them."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from tests.storage import Dictionary

from nacre.clock import Clock
from nacre.config.settings import Config
from nacre.disk import digest
from nacre.errors import BadInput, ChangedOutside, NotFound
from nacre.model import Context, Storage, Workspace
from nacre.vault.history import DONE, NOT_CARRIED_OUT, REWRITE, UNDONE, Change, latest, operation
from nacre.vault.storage import Disk
from nacre.vault.undo import UndoPlan, plan_undo, undo
from nacre.vault.writing import append, move_file, remove_file, rewrite

LOG = "memory/2026-02-10.md"


@pytest.fixture(params=["disk", "dictionary"])
def storage(request: pytest.FixtureRequest, workspace: Workspace) -> Storage:
    return Disk(workspace) if request.param == "disk" else Dictionary()


def names(storage: Storage, folder: str) -> list[str]:
    return sorted(stored.name for stored in storage.walk(folder))


class Person:
    """Who works with a memory through operations."""

    def __init__(self, workspace: Workspace, clock: Clock, storage: Storage) -> None:
        self.context = Context(Workspace(workspace.root, storage), Config(), clock)
        self.storage = storage

    def path(self, name: str) -> Path:
        return self.context.workspace.root / name

    def write(self, name: str, data: bytes) -> None:
        before = self.storage.read(name)
        with operation(self.context, "write") as op:
            rewrite(op, self.path(name), data, read=None if before is None else digest(before))

    def note(self, text: str, name: str = LOG) -> None:
        with operation(self.context, "note") as op:
            append(op, self.path(name), text)

    def move(self, name: str, to: str) -> None:
        with operation(self.context, "move") as op:
            move_file(op, self.path(name), self.path(to), read=digest(self.storage.read(name) or b""))

    def remove(self, name: str) -> None:
        with operation(self.context, "remove") as op:
            remove_file(op, self.path(name), read=digest(self.storage.read(name) or b""))

    def undo(self, number: int | None = None, last: int = 1) -> UndoPlan:
        return undo(self.context, number, last=last)

    def states(self) -> list[tuple[int, str, str]]:
        return [(done.id, done.command, done.state) for done in latest(self.storage)][::-1]


@pytest.fixture
def person(workspace: Workspace, clock: Clock, storage: Storage) -> Person:
    return Person(workspace, clock, storage)


def test_what_is_written_is_read_and_listed(storage: Storage) -> None:
    assert storage.read("memory/a.md") is None
    assert storage.replace("memory/b/c.md", b"c\n", None)
    assert storage.replace("memory/a.md", b"a\n", None)
    assert storage.replace("USER.md", b"u\n", None)
    assert storage.replace(".hidden/x.md", b"x\n", None)
    assert storage.read("memory/a.md") == b"a\n"
    assert names(storage, "memory") == ["memory/a.md", "memory/b/c.md"]
    assert names(storage, "nowhere") == []
    assert storage.about("USER.md")
    assert not storage.about("memory/none.md")


def test_appending_says_where_the_lines_begin(storage: Storage) -> None:
    assert storage.append(LOG, b"- one\n") == 0
    assert storage.append(LOG, b"- two\n") == 6
    assert storage.read(LOG) == b"- one\n- two\n"


def test_replacing_wants_what_was_read(storage: Storage) -> None:
    assert storage.replace("USER.md", b"1\n", None)
    assert not storage.replace("USER.md", b"2\n", None)
    assert not storage.replace("USER.md", b"2\n", b"0\n")
    assert storage.replace("USER.md", b"2\n", b"1\n")
    assert not storage.remove("USER.md", b"1\n")
    assert storage.remove("USER.md", b"2\n")
    assert storage.read("USER.md") is None


def test_what_others_appended_to_a_daily_log_stays_at_its_end(storage: Storage) -> None:
    storage.append(LOG, b"- one\n")
    storage.append(LOG, b"- theirs\n")
    assert storage.replace(LOG, b"- ours\n", b"- one\n")
    assert storage.read(LOG) == b"- ours\n- theirs\n"
    assert storage.remove(LOG, b"- ours\n")
    assert storage.read(LOG) == b"- theirs\n"
    assert storage.remove(LOG, b"- theirs\n")
    assert not storage.about(LOG)


def test_moving_gives_another_name(storage: Storage) -> None:
    storage.replace("memory/a.md", b"a\n", None)
    storage.move("memory/a.md", "memory/archive/2026/a.md")
    assert names(storage, "memory") == ["memory/archive/2026/a.md"]
    assert storage.read("memory/archive/2026/a.md") == b"a\n"


def test_contents_are_kept_by_their_hash(storage: Storage) -> None:
    storage.keep(b"earlier\n")
    storage.keep(b"earlier\n")
    assert storage.content(digest(b"earlier\n")) == b"earlier\n"
    with pytest.raises(NotFound):
        storage.content(digest(b"never\n"))


def test_records_are_read_from_the_last_one_on(storage: Storage) -> None:
    rows = [{"id": number, "command": "x" * (number % 700)} for number in range(1, 400)]
    for row in rows:
        storage.record(row, durable=False)
    records = storage.records()
    assert next(records) == rows[-1]
    assert list(records) == rows[-2::-1]


def test_operations_are_numbered_and_an_undo_takes_back_the_latest(person: Person) -> None:
    person.write("USER.md", b"one\n")
    person.write("USER.md", b"two\n")
    person.note("- a note")
    assert person.states() == [(1, "write", DONE), (2, "write", DONE), (3, "note", DONE)]
    assert person.undo().undoes == (3,)
    assert person.storage.read(LOG) is None
    assert person.undo().undoes == (2,)
    assert person.storage.read("USER.md") == b"one\n"
    assert [state for *_, state in person.states()] == [DONE, UNDONE, UNDONE, DONE, DONE]
    person.undo(5)
    assert person.storage.read("USER.md") == b"two\n"
    with pytest.raises(NotFound, match="nacre history"):
        person.undo(7)


def test_several_are_taken_back_at_once_around_what_others_wrote(person: Person) -> None:
    person.storage.replace("USER.md", b"a\nb\nc\n", None)
    person.write("USER.md", b"a\nB\nc\n")
    person.note("- ours")
    person.storage.append(LOG, b"- theirs\n")
    person.storage.replace("USER.md", b"a\nB\nc\nmine\n", b"a\nB\nc\n")
    assert person.undo(last=2).undoes == (2, 1)
    assert person.storage.read("USER.md") == b"a\nb\nc\nmine\n"
    assert person.storage.read(LOG) == b"- theirs\n"


def test_a_change_in_the_same_place_keeps_an_undo_from_touching_anything(person: Person) -> None:
    person.write("USER.md", b"one\n")
    person.write("USER.md", b"two\n")
    person.storage.replace("USER.md", b"mine\n", b"two\n")
    with pytest.raises(ChangedOutside):
        person.undo()
    assert person.storage.read("USER.md") == b"mine\n"
    assert [state for *_, state in person.states()] == [DONE, DONE]


def test_moved_and_removed_strings_come_back(person: Person) -> None:
    person.write("memory/a.md", b"a\n")
    person.move("memory/a.md", "memory/archive/a.md")
    person.remove("memory/archive/a.md")
    assert names(person.storage, "memory") == []
    person.undo()
    assert names(person.storage, "memory") == ["memory/archive/a.md"]
    person.undo()
    assert names(person.storage, "memory") == ["memory/a.md"]
    assert person.storage.read("memory/a.md") == b"a\n"


def test_an_operation_of_many_moves_is_undone_as_one_and_one_that_changed_does_not_stop_the_others(
    person: Person,
) -> None:
    first = [f"memory/{number}.md" for number in range(3)]
    for name in first:
        person.storage.replace(name, name.encode(), None)
    person.storage.append("memory/1.md", b"theirs\n")
    with operation(person.context, "organise") as op:
        for name in first:
            to = person.path(name.replace("memory/", "memory/archive/"))
            with contextlib.suppress(ChangedOutside):
                move_file(op, person.path(name), to, read=digest(name.encode()))
        rewrite(op, person.path("new.md"), b"new\n", read=None)
    assert names(person.storage, "memory") == ["memory/1.md", "memory/archive/0.md", "memory/archive/2.md"]
    person.undo()
    assert names(person.storage, "memory") == first
    assert not person.storage.about("new.md")


def test_what_was_recorded_but_never_made_is_nothing_to_undo(person: Person) -> None:
    person.write("USER.md", b"one\n")
    change = Change("USER.md", REWRITE, digest(b"one\n"), digest(b"two\n"))

    def interrupted() -> None:
        with operation(person.context, "edit") as op:
            op.record([change], [b"one\n", b"two\n"])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert person.states()[-1] == (2, "edit", NOT_CARRIED_OUT)
    assert person.undo().undoes == (1,)


def test_nothing_is_planned_where_history_is_off_or_nothing_was_done(person: Person) -> None:
    with pytest.raises(NotFound, match="nothing to undo"):
        plan_undo(person.context)
    with pytest.raises(BadInput):
        plan_undo(person.context, last=0)
