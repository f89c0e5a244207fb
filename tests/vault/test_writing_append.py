from __future__ import annotations

import errno
import os
import resource
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.storage import file_bytes, is_there, put_file

from nacre.clock import Clock
from nacre.config.settings import Config, HistorySettings
from nacre.disk import append_bytes
from nacre.errors import BadInput, CannotWrite, MemoryFull, PathEscape, SecretRefused
from nacre.model import Context, Workspace
from nacre.vault import provenance
from nacre.vault.daily import append_note
from nacre.vault.history import operation, read_history
from nacre.vault.provenance import Offered
from nacre.vault.storage import operations_file
from nacre.vault.undo import undo
from nacre.vault.writing import append

KEY = "sk-" + "proj-" + "Ab3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF3gH6jK9mN2pQ5sT8"


def add(workspace: Workspace, clock: Clock, text: str, **more: object) -> tuple[int, int]:
    with operation(Context(workspace, Config(), clock), "test") as op:
        return append(op, workspace.memory / "log.md", text, **more)  # type: ignore[arg-type]


def test_whole_lines_go_to_the_end(workspace: Workspace, clock: Clock) -> None:
    assert add(workspace, clock, "- one") == (0, 6)
    assert add(workspace, clock, "- two\n- 三\n") == (6, 12)
    assert file_bytes(workspace.memory / "log.md").decode() == "- one\n- two\n- 三\n"


def test_a_torn_last_line_is_ended_first(workspace: Workspace, clock: Clock) -> None:
    put_file(workspace.memory / "log.md", b"- torn")
    assert add(workspace, clock, "- one") == (6, 7)
    assert file_bytes(workspace.memory / "log.md") == b"- torn\n- one\n"


def test_windows_line_ends_are_kept(workspace: Workspace, clock: Clock) -> None:
    put_file(workspace.memory / "log.md", b"# day\r\n- torn")
    add(workspace, clock, "- one\n- two")
    assert file_bytes(workspace.memory / "log.md") == b"# day\r\n- torn\r\n- one\r\n- two\r\n"


def test_a_utf16_file_is_not_mangled(workspace: Workspace, clock: Clock) -> None:
    data = "# day\n".encode("utf-16")
    put_file(workspace.memory / "log.md", data)
    with pytest.raises(BadInput, match="UTF-16"):
        add(workspace, clock, "- one")
    assert file_bytes(workspace.memory / "log.md") == data


def test_a_secret_is_refused_or_blacked_out(workspace: Workspace, clock: Clock) -> None:
    with pytest.raises(SecretRefused):
        add(workspace, clock, f"- key {KEY}")
    assert not is_there(workspace.memory / "log.md")
    add(workspace, clock, f"- key {KEY} works", on_secret="redact")
    text = file_bytes(workspace.memory / "log.md").decode()
    assert KEY not in text
    assert "redacted" in text


def test_control_characters_do_not_reach_the_file(workspace: Workspace, clock: Clock) -> None:
    add(workspace, clock, "- a\x1b[31mb\x00c")
    data = file_bytes(workspace.memory / "log.md")
    assert b"\x1b" not in data
    assert b"\x00" not in data


def test_long_term_memory_cannot_be_outgrown_by_appending(workspace: Workspace, clock: Clock) -> None:
    put_file(workspace.longterm, "x\n" * 80)
    with operation(Context(workspace, Config(), clock), "test") as op, pytest.raises(MemoryFull):
        append(op, workspace.longterm, "- more")
    assert file_bytes(workspace.longterm).decode() == "x\n" * 80


@pytest.mark.on_disk
def test_nothing_is_written_outside(workspace: Workspace, clock: Clock) -> None:
    outside = workspace.root.parent / "theirs.md"
    put_file(outside, "theirs\n")
    (workspace.memory / "log.md").symlink_to(outside)
    with pytest.raises(PathEscape):
        add(workspace, clock, "- one")
    assert file_bytes(outside).decode() == "theirs\n"


@pytest.mark.on_disk
def test_what_does_not_fit_is_taken_back(workspace: Workspace, in_child: Callable[..., int]) -> None:
    path = workspace.memory / "log.md"
    put_file(path, b"old\n")

    def fill() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        try:
            append_bytes(path, b"n" * 500 + b"\n")
        except CannotWrite as trouble:
            raise SystemExit(7 if "disk is full" in str(trouble) else 2) from None

    assert in_child(fill) == 7
    assert file_bytes(path) == b"old\n"


@pytest.mark.on_disk
def test_half_a_write_stays_when_someone_else_wrote_behind_it(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = workspace.memory / "log.md"
    put_file(path, b"old\n")
    write = os.write

    def half(descriptor: int, data: bytes) -> int:
        written = write(descriptor, data[:3])
        with path.open("ab") as other:
            other.write(b"\ntheirs\n")
        return written

    monkeypatch.setattr(os, "write", half)
    with pytest.raises(CannotWrite):
        append_bytes(path, b"- ours\n")
    assert file_bytes(path) == b"old\n- o\ntheirs\n"


@pytest.mark.on_disk
def test_a_new_file_that_could_not_be_filled_is_not_left_behind(
    workspace: Workspace, in_child: Callable[..., int]
) -> None:
    path = workspace.memory / "log.md"

    def fill() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        with pytest.raises(CannotWrite):
            append_bytes(path, b"n" * 500 + b"\n")

    assert in_child(fill) == 0
    assert not is_there(path)


@pytest.mark.on_disk
def test_many_processes_append_without_mixing(workspace: Workspace) -> None:
    path = workspace.memory / "log.md"
    pids = []
    for number in range(4):
        pid = os.fork()
        if pid == 0:
            for step in range(50):
                append_bytes(path, f"{number}:{step}:{'x' * 300}\n".encode(), durable=False)
            os._exit(0)
        pids.append(pid)
    assert all(os.waitpid(pid, 0)[1] == 0 for pid in pids)
    lines = file_bytes(path).decode().splitlines()
    assert len(lines) == 200
    assert all(len(line.split(":")[2]) == 300 for line in lines)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=40).filter(lambda data: not data.startswith((b"\xff\xfe", b"\xfe\xff"))))
def test_what_stood_there_stays_byte_for_byte(workspace: Workspace, clock: Clock, data: bytes) -> None:
    path = workspace.memory / "any.md"
    put_file(path, data)
    with operation(Context(workspace, Config(history=HistorySettings(enabled=False)), clock), "test") as op:
        offset, length = append(op, path, "- one")
    now = file_bytes(path)
    assert now[:offset] == data
    assert offset + length == len(now)
    assert now.split(b"\n")[-2].strip() == b"- one"


@pytest.mark.on_disk
def test_lines_that_are_not_safe_on_the_disk_are_taken_back_so_that_the_next_run_does_not_double_them(
    workspace: Workspace, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_file(workspace.trail, '{"day":"2026-02-09"}\n')
    line = Offered("2026-02-10", ("b1946ac9",))

    def failing(descriptor: int) -> None:
        if os.path.samestat(os.fstat(descriptor), os.stat(workspace.trail)):
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    def run() -> None:
        with operation(Context(workspace, Config(), clock), "tidy") as op:
            provenance.write_provenance(op, [line])

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", failing)
        with pytest.raises(CannotWrite):
            run()
    run()
    assert provenance.read_provenance(workspace).offered == (line,)


def test_a_log_that_a_killed_run_left_empty_is_gone_after_undo(workspace: Workspace, clock: Clock) -> None:
    put_file(workspace.day(clock.today()), b"")
    append_note(Context(workspace, Config(), clock), "noted")
    undo(Context(workspace, Config(), clock))
    assert not is_there(workspace.day(clock.today()))


@pytest.mark.on_disk
def test_an_append_that_a_crash_tore_is_completed_by_the_next_operation(workspace: Workspace, clock: Clock) -> None:
    append_note(Context(workspace, Config(), clock), "the first")
    before = read_history(workspace).operations
    log = workspace.day(clock.today())
    append_note(Context(workspace, Config(), clock), "one that is torn")
    whole = file_bytes(log)
    put_file(log, whole[:-7])
    forget_done(workspace)
    with operation(Context(workspace, Config(), clock), "next"):
        assert file_bytes(log) == whole
    undo(Context(workspace, Config(), clock))
    assert read_history(workspace).operations[: len(before)] == before
    assert b"torn" not in file_bytes(log)


@pytest.mark.on_disk
def test_lines_that_somebody_took_out_after_a_stopped_run_stay_out(workspace: Workspace, clock: Clock) -> None:
    append_note(Context(workspace, Config(), clock), "use uv")
    with operation(Context(workspace, Config(), clock), "sync") as op:
        append(op, workspace.day(clock.today()), "- use ruff\n- my salary is ninety\n")
    forget_done(workspace)
    log = workspace.day(clock.today())
    put_file(log, file_bytes(log).removesuffix(b"- my salary is ninety\n"))
    with operation(Context(workspace, Config(), clock), "next"):
        assert b"salary" not in file_bytes(log)


@pytest.mark.on_disk
def test_a_record_that_came_with_a_clone_completes_no_file_but_those_that_are_appended_to(
    workspace: Workspace, clock: Clock
) -> None:
    append_note(Context(workspace, Config(), clock), "one that is torn")
    forget_done(workspace)
    operations = operations_file(workspace)
    settings = workspace.root / ".git" / "config"
    settings.parent.mkdir()
    log = workspace.day(clock.today())
    put_file(settings, file_bytes(log)[:-7])
    shown = workspace.relative(log).encode()
    put_file(operations, file_bytes(operations).replace(shown, b".git/config"))
    with operation(Context(workspace, Config(), clock), "next"):
        assert file_bytes(settings) == file_bytes(log)[:-7]


def forget_done(workspace: Workspace) -> None:
    """As if the last operation had been killed before it could say that it was done."""
    operations = operations_file(workspace)
    put_file(operations, b"".join(file_bytes(operations).splitlines(keepends=True)[:-1]))
