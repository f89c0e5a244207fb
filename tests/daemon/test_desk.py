"""The desk keeps one memory open for the owner and one for all groups, however many there are."""

from __future__ import annotations

import gc
import os
from pathlib import Path

from nacre.daemon.desk import Desk
from nacre.memory import Memory


def test_any_number_of_groups_is_answered_and_nothing_more_is_held_open(tmp_path: Path) -> None:
    memory = Memory.init(tmp_path / "ws")
    desk = Desk(memory)
    asked = {"query": "hedge", "mode": "text", "as_json": True}

    def ask(first: int, last: int) -> int:
        for number in range(first, last):
            assert "results" in desk.answer(f"group:g{number}", "search", {"asked": asked})["parts"][0][1]
        gc.collect()
        return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0

    before = ask(0, 3)  # a folder that is asked for again is watched
    assert ask(3, 40) == before
    assert desk.memory_of("group:g3").scope.group == "g3"
    assert desk.memory_of("main").scope.group is None
    desk.close()
