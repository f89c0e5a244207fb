from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from nacre.disk import lock
from nacre.errors import Locked, NoWorkspace
from nacre.model import Workspace


def test_another_process_is_kept_out_and_the_error_names_the_holder(
    workspace: Workspace, in_child: Callable[..., int]
) -> None:
    holder = os.getpid()

    def try_it() -> None:
        try:
            with lock(workspace, timeout=0):
                raise SystemExit(1)
        except Locked as error:
            raise SystemExit(7 if str(holder) in str(error) and error.exit_code == 11 else 2) from None

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
