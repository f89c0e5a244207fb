"""The trail says where a line came from and where it went, and no word of it."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.storage import file_bytes, is_there, put_file

from nacre.clock import Clock
from nacre.config.settings import Config
from nacre.model import Context, Workspace
from nacre.vault import provenance
from nacre.vault.entries import bullet_id
from nacre.vault.history import operation
from nacre.vault.provenance import Captured, Digested, Provenance
from nacre.vault.storage import memory_files
from nacre.vault.undo import undo

TALK = Captured("2026-02-09", "61871d67", "claude-code", {"0f0f0f0f": ("m1", "m2"), "1a1a1a1a": ()}, "61871d67-1111")
WEEK = Digested("2026-02-02", "memory/weekly/2026-02-02.md", ("0f0f0f0f",), 812)


def write(workspace: Workspace, clock: Clock, *lines: Captured | Digested) -> None:
    with operation(Context(workspace, Config(), clock), "sync") as op:
        provenance.write_provenance(op, lines)


def test_what_is_written_is_read_again(workspace: Workspace, clock: Clock) -> None:
    write(workspace, clock, TALK, WEEK)
    assert provenance.read_provenance(workspace) == Provenance((TALK,), (WEEK,))
    assert len(file_bytes(workspace.trail).splitlines()) == 2


def test_without_a_file_there_is_nothing_and_nothing_makes_no_file(workspace: Workspace, clock: Clock) -> None:
    write(workspace, clock)
    assert provenance.read_provenance(workspace) == Provenance()
    assert not is_there(workspace.trail)


@pytest.mark.parametrize(
    "line",
    [
        "Use pnpm, never npm",
        "- [PREF] Use pnpm, never npm",
        "* [Preference] use  pnpm, never npm (src: 2026-02-09)",
        "- [偏好] Use pnpm, never npm (src: 2026-02-09) ",
    ],
)
def test_a_line_keeps_its_mark_on_its_way_through_the_layers(line: str) -> None:
    assert bullet_id(line) == bullet_id("Use pnpm, never npm")


def test_other_words_have_another_mark() -> None:
    assert bullet_id("Use npm, never pnpm") != bullet_id("Use pnpm, never npm")
    assert bullet_id("用户改用 React") != bullet_id("用户改用 Vue")


def test_days_know_what_of_them_is_in_a_week_and_how_long_they_were(workspace: Workspace, clock: Clock) -> None:
    later = Digested(WEEK.day, WEEK.week, ("2b2b2b2b",), 900)
    write(workspace, clock, WEEK)
    write(workspace, clock, later)
    trail = provenance.Trail(workspace)
    assert trail.entered(WEEK.day) == {"0f0f0f0f", "2b2b2b2b"}
    assert trail.sizes() == {WEEK.day: 900}


def test_a_torn_line_is_passed_over_and_the_next_one_stands_on_its_own(workspace: Workspace, clock: Clock) -> None:
    put_file(workspace.trail, b'{"day":"2026-02-01","captured":{"0f')
    write(workspace, clock, TALK)
    assert provenance.read_provenance(workspace).captured == (TALK,)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.binary(max_size=80)
    | st.dictionaries(
        st.sampled_from(["day", "captured", "pressed", "size", "week", "session"]),
        st.none() | st.integers() | st.text(max_size=5) | st.lists(st.integers(), max_size=2) | st.just({"m": [1]}),
    ).map(lambda told: repr(told).replace("'", '"').replace("None", "null").encode())
)
def test_no_line_that_others_wrote_stops_the_reading(workspace: Workspace, data: bytes) -> None:
    put_file(workspace.trail, data + b'\n{"day":"2026-02-09","captured":{"0f0f0f0f":["m1"]}}\n')
    assert Captured("2026-02-09", "", "", {"0f0f0f0f": ("m1",)}) in provenance.read_provenance(workspace).captured


def test_undo_takes_its_own_lines_back_and_leaves_the_others(workspace: Workspace, clock: Clock) -> None:
    write(workspace, clock, TALK)
    write(workspace, clock, WEEK)
    undo(Context(workspace, Config(), clock), number=1)
    assert provenance.read_provenance(workspace) == Provenance((), (WEEK,))
    undo(Context(workspace, Config(), clock), number=2)
    assert not is_there(workspace.trail)


def test_undo_of_the_first_line_leaves_no_file(workspace: Workspace, clock: Clock) -> None:
    write(workspace, clock, TALK)
    undo(Context(workspace, Config(), clock))
    assert not is_there(workspace.trail)


def test_a_secret_in_an_id_is_not_written(workspace: Workspace, clock: Clock) -> None:
    secret = "AKIA" + "Z7QXNT3MPLR5VWKD"
    write(workspace, clock, Captured("2026-02-09", "x", "codex", {"0f0f0f0f": (secret,)}))
    assert secret.encode() not in file_bytes(workspace.trail)
    assert list(provenance.read_provenance(workspace).captured[0].bullets) == ["0f0f0f0f"]


def test_it_is_no_memory_file(workspace: Workspace, clock: Clock) -> None:
    write(workspace, clock, TALK)
    assert list(memory_files(workspace, Config())) == []
