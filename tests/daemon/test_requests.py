"""The desk keeps one memory open for the owner and one for all groups, however many there are."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest

from nacre.daemon.requests import RequestHandler
from nacre.errors import BadInput
from nacre.memory import Memory
from nacre.vault import spool


def test_any_number_of_groups_is_answered_and_nothing_more_is_held_open(tmp_path: Path) -> None:
    memory = Memory.init(tmp_path / "ws")
    desk = RequestHandler(memory)
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


@pytest.mark.parametrize("event", ["Stop", "PreCompact", "SessionEnd"])
def test_a_group_has_no_talk_captured(root: Path, event: str) -> None:
    told = {"hook_event_name": event, "session_id": "61871d67", "transcript_path": __file__}
    with Memory.open(root) as memory:
        desk = RequestHandler(memory)
        assert desk.answer("group:team", "hook", {"of": "claude-code", "event": told}) == {"answer": None}
        assert spool.waiting(str(root)) == []
        desk.answer("main", "hook", {"of": "claude-code", "event": told})
        assert len(spool.waiting(str(root))) == 1


def test_what_the_plugin_asks_for_itself_is_asked_on_the_owners_connection_alone(root: Path) -> None:
    with Memory.open(root) as memory:
        desk = RequestHandler(memory)
        for name in ("scope", "prompt_section", "flush_plan", "agent_end", "before_reset", "refresh"):
            with pytest.raises(BadInput, match="not available in groups"):
                desk.answer("group:team", "hook", {"of": "openclaw", "event": {"hook_event_name": name}})
        asked = {"of": "openclaw", "event": {"hook_event_name": "before_prompt_build", "prompt": "x"}}
        assert desk.answer("group:team", "hook", asked) == {"answer": None}
