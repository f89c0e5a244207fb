from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from nacre.errors import Locked, NoWorkspace
from nacre.model.workspace import Workspace
from nacre.vault.disk import host_name
from nacre.vault.lock import lock


def test_another_process_is_kept_out_and_the_error_names_the_holder(
    workspace: Workspace, in_child: Callable[..., int]
) -> None:
    holder = os.getpid()

    def try_it() -> None:
        try:
            with lock(workspace, timeout=0):
                raise SystemExit(1)
        except Locked as trouble:
            raise SystemExit(7 if str(holder) in str(trouble) and trouble.exit_code == 11 else 2) from None

    with lock(workspace):
        assert in_child(try_it) == 7
    assert in_child(try_it) == 1


def test_the_lock_of_a_killed_process_is_free(workspace: Workspace, in_child: Callable[..., int]) -> None:
    def die_holding() -> None:
        with lock(workspace):
            os.kill(os.getpid(), 9)

    assert in_child(die_holding) == -9
    with lock(workspace, timeout=0):
        pass


def test_a_thread_may_take_the_lock_again_but_another_may_not(workspace: Workspace) -> None:
    seen: list[str] = []

    def other() -> None:
        try:
            with lock(workspace, timeout=0):
                seen.append("in")
        except Locked:
            seen.append("out")

    with lock(workspace), lock(workspace, timeout=0):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert seen == ["out"]
    other()
    assert seen == ["out", "in"]


def test_removing_the_machine_folder_does_not_let_two_in(workspace: Workspace) -> None:
    with lock(workspace):
        workspace.lock.unlink()
    with lock(workspace, timeout=0):
        assert workspace.lock.exists()


def test_a_place_that_is_no_folder_is_no_workspace(tmp_path: Path) -> None:
    with pytest.raises(NoWorkspace, match="nacre init"), lock(Workspace(tmp_path / "none")):
        pass


@pytest.fixture
def no_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system without locks."""

    def refused(_descriptor: int) -> bool:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("nacre.vault.lock.system_flock", refused)


@pytest.mark.usefixtures("no_locks")
def test_without_file_locks_a_lock_file_keeps_others_out(workspace: Workspace, in_child: Callable[..., int]) -> None:
    def try_it() -> None:
        try:
            with lock(workspace, timeout=0):
                pass
        except Locked as error:
            raise SystemExit(7 if str(os.getppid()) in str(error) else 2) from None

    with lock(workspace):
        assert in_child(try_it) == 7
    assert in_child(try_it) == 0
    assert not workspace.lock.with_name("lock.held").exists()


@pytest.mark.usefixtures("no_locks")
def test_a_dead_holders_lock_file_is_cleared(workspace: Workspace, in_child: Callable[..., int]) -> None:
    def die_holding() -> None:
        with lock(workspace):
            os.kill(os.getpid(), 9)

    assert in_child(die_holding) == -9
    held = workspace.lock.with_name("lock.held")
    assert held.read_text().endswith(f" {host_name()}")
    with lock(workspace, timeout=0):
        assert held.read_text() == f"{os.getpid()} {host_name()}"
    assert [path.name for path in workspace.machine.iterdir()] == ["lock"]


@pytest.mark.usefixtures("no_locks")
def test_a_lock_file_from_another_machine_is_respected(workspace: Workspace) -> None:
    held = workspace.lock.with_name("lock.held")
    held.write_text("1 elsewhere")
    with pytest.raises(Locked), lock(workspace, timeout=0):
        pass
    assert held.exists()
