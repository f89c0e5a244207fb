from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.storage import add_to_file, file_bytes, files_below, is_there, put_file

from nacre import disk
from nacre.clock import Clock
from nacre.config.settings import Config, HistorySettings
from nacre.errors import BadInput, ChangedOutside, NotFound, PathEscape
from nacre.model import Context, Workspace
from nacre.vault import ledger, longterm, provenance, refcount
from nacre.vault.daily import append_note
from nacre.vault.entries import open_document
from nacre.vault.history import operation, read_history
from nacre.vault.provenance import Offered
from nacre.vault.storage import Disk, operations_file, read
from nacre.vault.undo import apply_undo, plan_undo, undo
from nacre.vault.writing import append, move_file, remove_file, rewrite


def put(workspace: Workspace, clock: Clock, path: Path, data: bytes) -> None:
    before = read(workspace, path)
    with operation(Context(workspace, Config(), clock), "edit") as op:
        rewrite(op, path, data, read=None if before is None else disk.digest(before))


def states(workspace: Workspace) -> list[str]:
    return [one.state for one in read_history(workspace).operations]


def test_undoing_a_note_removes_exactly_its_bytes(workspace: Workspace, clock: Clock) -> None:
    path = workspace.day(clock.today())
    put_file(path, b"theirs\r\n- torn")
    append_note(Context(workspace, Config(), clock), "ours")
    undo(Context(workspace, Config(), clock))
    assert file_bytes(path) == b"theirs\r\n- torn"


def test_undoing_the_first_note_of_a_day_removes_the_file(workspace: Workspace, clock: Clock) -> None:
    append_note(Context(workspace, Config(), clock), "ours")
    undo(Context(workspace, Config(), clock))
    assert not is_there(workspace.day(clock.today()))


def test_a_note_is_taken_out_from_between_what_others_wrote(workspace: Workspace, clock: Clock) -> None:
    path = workspace.day(clock.today())
    put_file(path, b"# day\n- before\n")
    append_note(Context(workspace, Config(), clock), "ours")
    add_to_file(path, b"- after\n")
    put_file(path, b"- on top\n" + file_bytes(path))
    undo(Context(workspace, Config(), clock))
    # What came after keeps the heading it was written under.
    assert file_bytes(path) == b"- on top\n# day\n- before\n\n## 14:05 note\n- after\n"


def test_a_note_that_was_edited_since_is_not_undone(workspace: Workspace, clock: Clock) -> None:
    path = workspace.day(clock.today())
    append_note(Context(workspace, Config(), clock), "older", "PREF")
    append_note(Context(workspace, Config(), clock), "ours")
    put_file(path, file_bytes(path).replace(b"ours", b"ours, edited"))
    before = file_bytes(path)
    with pytest.raises(ChangedOutside, match=r"2026-02-10\.md"):
        undo(Context(workspace, Config(), clock))
    assert file_bytes(path) == before
    undo(Context(workspace, Config(), clock), number=1)
    assert b"older" not in file_bytes(path)


def test_undo_walks_back_and_can_itself_be_undone(workspace: Workspace, clock: Clock) -> None:
    path = workspace.root / "USER.md"
    for data in (b"1\n", b"2\n", b"3\n"):
        put(workspace, clock, path, data)
    undo(Context(workspace, Config(), clock))
    assert file_bytes(path) == b"2\n"
    undo(Context(workspace, Config(), clock))
    assert file_bytes(path) == b"1\n"
    assert states(workspace) == ["done", "undone", "undone", "done", "done"]
    undo(Context(workspace, Config(), clock), number=5)
    assert file_bytes(path) == b"2\n"
    assert states(workspace) == ["done", "done", "undone", "done", "undone", "done"]
    with pytest.raises(BadInput, match="already been undone"):
        undo(Context(workspace, Config(), clock), number=3)
    undo(Context(workspace, Config(), clock), last=9)
    assert not is_there(path)
    with pytest.raises(NotFound, match="nothing to undo"):
        undo(Context(workspace, Config(), clock))


def test_a_group_is_undone_as_one(workspace: Workspace, clock: Clock) -> None:
    path = workspace.longterm
    first, _ = longterm.with_entry(workspace, path, None, "a", type="PREF")
    longterm.apply_edit(Context(workspace, Config(), clock), longterm.Edit(path, None, first))
    before = file_bytes(workspace.longterm)
    with operation(Context(workspace, Config(), clock), "tidy") as op:
        data, _ = longterm.with_entry(workspace, path, open_document(workspace, path), "b", type="PREF")
        longterm.apply_edit(Context(workspace, Config(), clock), longterm.Edit(path, disk.digest(before), data))
        ledger.write_records(op, ledger.Record("x", "t", "admitted", "b"))
        append_note(Context(workspace, Config(), clock), "tidied")
    undo(Context(workspace, Config(), clock))
    assert file_bytes(workspace.longterm) == before
    assert files_below(workspace.memory) == ["trail.jsonl"]
    assert provenance.read_provenance(workspace).offered == (Offered("2026-02-10", (provenance.undone_mark("x"),)),)


def test_a_rewrite_is_taken_back_around_the_users_own_edits(workspace: Workspace, clock: Clock) -> None:
    path = workspace.root / "USER.md"
    put_file(path, b"# top\n\n- a\n- b\n")
    put(workspace, clock, path, b"# top\n\n- a\n- ours\n- b\n")
    put_file(path, b"# new top\n\n- a\n- ours\n- b\n- user\n")
    undo(Context(workspace, Config(), clock))
    assert file_bytes(path) == b"# new top\n\n- a\n- b\n- user\n"


def test_a_conflict_touches_no_file_at_all(workspace: Workspace, clock: Clock) -> None:
    one, two = workspace.root / "one.md", workspace.root / "two.md"
    with operation(Context(workspace, Config(), clock), "edit") as op:
        rewrite(op, one, b"1\n", read=None)
        rewrite(op, two, b"2\n", read=None)
    put_file(one, b"user\n")
    with pytest.raises(ChangedOutside, match=r"one\.md"):
        undo(Context(workspace, Config(), clock))
    assert file_bytes(two) == b"2\n"
    assert states(workspace) == ["done"]


@pytest.mark.on_disk
def test_moved_and_removed_files_come_back(workspace: Workspace, clock: Clock) -> None:
    gone, moved = workspace.memory / "gone.md", workspace.memory / "moved.md"
    put_file(gone, b"gone\xff")
    gone.chmod(0o600)
    put_file(moved, b"moved")
    with operation(Context(workspace, Config(), clock), "archive") as op:
        remove_file(op, gone, read=disk.digest(b"gone\xff"))
        move_file(op, moved, workspace.archive / "moved.md", read=disk.digest(b"moved"))
    undo(Context(workspace, Config(), clock))
    assert file_bytes(gone) == b"gone\xff"
    assert stat.S_IMODE(gone.stat().st_mode) == 0o600
    assert file_bytes(moved) == b"moved"
    assert not is_there(workspace.archive / "moved.md")


def test_planning_touches_nothing_and_a_stale_plan_is_refused(workspace: Workspace, clock: Clock) -> None:
    path = workspace.root / "USER.md"
    put(workspace, clock, path, b"1\n")
    made = plan_undo(Context(workspace, Config(), clock))
    assert [(step.action, step.path) for step in made.plan.steps] == [("remove", "USER.md")]
    assert file_bytes(path) == b"1\n"
    put_file(path, b"user\n")
    with pytest.raises(ChangedOutside):
        apply_undo(Context(workspace, Config(), clock), made)
    assert file_bytes(path) == b"user\n"


@pytest.mark.on_disk
def test_an_operation_killed_before_it_wrote_is_passed_over(workspace: Workspace, clock: Clock) -> None:
    path = workspace.root / "USER.md"
    put(workspace, clock, path, b"1\n")
    lines = file_bytes(operations_file(workspace)).decode().splitlines()
    change = {"path": "USER.md", "kind": "rewrite", "before": disk.digest(b"1\n"), "after": disk.digest(b"2\n")}
    killed = {"id": 2, "at": "", "command": "edit", "changes": [change]}
    put_file(operations_file(workspace), "\n".join([*lines, json.dumps(killed)]) + "\n")
    assert states(workspace) == ["done", "not carried out"]
    assert plan_undo(Context(workspace, Config(), clock)).undoes == (1,)
    assert not plan_undo(Context(workspace, Config(), clock), number=2).changes


@pytest.mark.on_disk
def test_an_undo_that_was_killed_half_way_is_completed_by_the_next(workspace: Workspace, clock: Clock) -> None:
    one, two = workspace.root / "one.md", workspace.root / "two.md"
    with operation(Context(workspace, Config(), clock), "edit") as op:
        rewrite(op, one, b"1\n", read=None)
        rewrite(op, two, b"2\n", read=None)
    made = plan_undo(Context(workspace, Config(), clock))
    apply_undo(Context(workspace, Config(), clock), made)
    put_file(one, b"1\n")  # as if the undo had been killed before it came to this file, and could say that it was done
    rows = file_bytes(operations_file(workspace)).splitlines(keepends=True)
    put_file(operations_file(workspace), b"".join(rows[:-1]))
    assert states(workspace) == ["done", "partly done"]
    undo(Context(workspace, Config(), clock))
    assert not is_there(one)
    assert not is_there(two)
    assert states(workspace)[0] == "undone"


def test_without_history_undo_says_so(workspace: Workspace, clock: Clock) -> None:
    with pytest.raises(BadInput, match="turned off"):
        undo(Context(workspace, Config(history=HistorySettings(enabled=False)), clock))
    with pytest.raises(BadInput):
        undo(Context(workspace, Config(), clock), last=0)


@pytest.mark.on_disk
def test_a_record_that_came_with_a_clone_leads_nowhere(workspace: Workspace, clock: Clock) -> None:
    outside = workspace.root.parent / "theirs.md"
    put_file(outside, b"theirs\n")
    append_note(Context(workspace, Config(), clock), "x")
    change = {"path": "../theirs.md", "kind": "create", "before": None, "after": disk.digest(b"theirs\n")}
    with operations_file(workspace).open("a") as file:
        file.write(json.dumps({"id": 2, "at": "", "command": "edit", "changes": [change]}) + "\n")
    with pytest.raises(PathEscape):
        undo(Context(workspace, Config(), clock))
    assert file_bytes(outside) == b"theirs\n"


ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("note"), st.sampled_from(["a", "b", "c"])),
        st.tuples(st.just("put"), st.sampled_from(["x\n", "x\ny\n", "z"])),
        st.tuples(st.just("log"), st.sampled_from(["- l", "- m\n- n"])),
        st.tuples(st.just("remove"), st.just("")),
    ),
    min_size=1,
    max_size=7,
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ACTIONS, st.data())
def test_undoing_gives_back_every_earlier_state_and_undoing_that_the_later(
    memory_disk: Path, clock: Clock, actions: list[tuple[str, str]], draw: st.DataObject
) -> None:
    root = memory_disk / str(len(list(memory_disk.iterdir())))
    workspace = Workspace(root)
    workspace.memory.mkdir(parents=True)
    user = root / "USER.md"

    def files() -> dict[str, bytes]:
        return {
            path.name: file_bytes(path) for path in root.rglob("*") if path.is_file() and ".nacre" not in path.parts
        }

    seen = [files()]
    for action, text in actions:
        if action == "note":
            append_note(Context(workspace, Config(), clock), text)
        elif action == "put":
            put(workspace, clock, user, text.encode())
        elif action == "log":
            with operation(Context(workspace, Config(), clock), "log") as op:
                append(op, workspace.memory / "log.md", text)
        elif is_there(user):
            with operation(Context(workspace, Config(), clock), "remove") as op:
                remove_file(op, user, read=disk.digest(file_bytes(user)))
        if files() != seen[-1]:
            seen.append(files())
    if len(seen) == 1:
        return
    back = draw.draw(st.integers(1, len(seen) - 1))
    undo(Context(workspace, Config(), clock), last=back)
    assert files() == seen[-1 - back]
    undo(Context(workspace, Config(), clock), number=read_history(workspace).operations[-1].id)
    assert files() == seen[-1]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_undoing_never_loses_a_line_that_the_user_wrote(memory_disk: Path, clock: Clock, draw: st.DataObject) -> None:
    root = memory_disk / str(len(list(memory_disk.iterdir())))
    workspace = Workspace(root)
    workspace.memory.mkdir(parents=True)
    files = [root / "USER.md", workspace.day(clock.today())]
    users: list[bytes] = []
    for number in range(draw.draw(st.integers(1, 6))):
        path = draw.draw(st.sampled_from(files))
        lines = file_bytes(path).splitlines(keepends=True) if is_there(path) else []
        place = draw.draw(st.integers(0, len(lines)))
        if draw.draw(st.booleans()):
            users.append(b"- user %d\n" % number)
            put_file(path, b"".join([*lines[:place], users[-1], *lines[place:]]))
        elif path == files[0]:
            put(workspace, clock, path, b"".join([*lines[:place], b"- ours %d\n" % number, *lines[place:]]))
        else:
            append_note(Context(workspace, Config(), clock), f"ours {number}")
    before = {path: read(workspace, path) for path in files}
    try:
        undo(Context(workspace, Config(), clock), last=draw.draw(st.integers(1, 6)))
    except NotFound:
        return
    except ChangedOutside:
        assert {path: read(workspace, path) for path in files} == before
    now = b"".join(read(workspace, path) or b"" for path in files).splitlines(keepends=True)
    assert all(now.count(line) == 1 for line in users)


def test_undoing_the_first_of_several_notes_leaves_their_heading(workspace: Workspace, clock: Clock) -> None:
    day = workspace.day(clock.today())
    put_file(day, "# 2026-02-10\n\n## 08:00 session:aa | 3 messages | group:team\n- We meet at noon\n")
    append_note(Context(workspace, Config(), clock), "typo line")
    append_note(Context(workspace, Config(), clock), "My salary is a private matter")
    undo(Context(workspace, Config(), clock), number=1)
    text = file_bytes(day).decode()
    assert "typo" not in text
    assert text.index("note\n") < text.index("salary")
    assert text.count("## ") == 2


def test_undoing_the_only_note_takes_its_heading_along(workspace: Workspace, clock: Clock) -> None:
    append_note(Context(workspace, Config(), clock), "first")
    undo(Context(workspace, Config(), clock))
    assert not is_there(workspace.day(clock.today()))


@pytest.mark.on_disk
@pytest.mark.parametrize("path", [".git/hooks/post-commit", ".nacre/config.toml", "run.sh"])
def test_a_history_that_came_along_cannot_make_undo_write_what_is_no_memory(
    workspace: Workspace, clock: Clock, path: str
) -> None:
    append_note(Context(workspace, Config(), clock), "ours")
    Disk(workspace).keep(b"#!/bin/sh\n")
    kept = disk.digest(b"#!/bin/sh\n")
    change = {"path": path, "kind": "delete", "before": kept, "after": None, "mode": 0o755}
    row = {"id": 9, "at": "2026-02-10T10:00:00", "command": "tidy", "changes": [change]}
    with operations_file(workspace).open("a", encoding="utf8") as file:
        file.write(json.dumps(row) + "\n" + json.dumps({"id": 9, "done": True}) + "\n")
    with pytest.raises(PathEscape):
        undo(Context(workspace, Config(), clock))
    assert not is_there(workspace.root / path)


def test_undos_are_taken_back_in_the_order_they_were_made_too(workspace: Workspace, clock: Clock) -> None:
    for text in ("first", "second", "third"):
        append_note(Context(workspace, Config(), clock), text)
    before = file_bytes(workspace.day(clock.today()))
    for number in (2, 1, 3):
        undo(Context(workspace, Config(), clock), number=number)
    for number in (4, 5, 6):
        undo(Context(workspace, Config(), clock), number=number)
    assert file_bytes(workspace.day(clock.today())) == before


def test_an_operation_is_taken_back_where_a_later_one_moved_its_file(workspace: Workspace, clock: Clock) -> None:
    append_note(Context(workspace, Config(), clock), "ours")
    day = workspace.day(clock.today())
    ours = file_bytes(day)
    with operation(Context(workspace, Config(), clock), "tidy") as op:
        move_file(op, day, workspace.archive / day.name, read=disk.digest(ours))
    undo(Context(workspace, Config(), clock), number=1)
    assert not is_there(workspace.archive / day.name)
    undo(Context(workspace, Config(), clock), number=3)
    assert file_bytes(workspace.archive / day.name) == ours
    undo(Context(workspace, Config(), clock), last=2)
    assert not is_there(day)
    undo(Context(workspace, Config(), clock), number=5)
    assert file_bytes(workspace.archive / day.name) == ours


def test_counts_that_went_on_meanwhile_do_not_keep_an_undo_from_being_undone(
    workspace: Workspace, clock: Clock
) -> None:
    def count(entries: dict[str, dict[str, int]]) -> None:
        with operation(Context(workspace, Config(), clock), "organise") as op:
            refcount.write_counts(op, refcount.read_counts(workspace, Config()), entries)

    count({"hot/a.md": {"total": 1, "7d": 1}})
    count({"warm/a.md": {"total": 1, "7d": 1}, "hot/b.md": {"total": 0, "7d": 0}})
    undo(Context(workspace, Config(), clock))
    count({"hot/a.md": {"total": 1, "7d": 1}, "hot/c.md": {"total": 2, "7d": 2}})
    undo(Context(workspace, Config(), clock), number=3)
    assert refcount.read_counts(workspace, Config()).entries == {
        "hot/c.md": {"total": 2, "7d": 2},
        "warm/a.md": {"total": 1, "7d": 1},
        "hot/b.md": {"total": 0, "7d": 0},
    }
