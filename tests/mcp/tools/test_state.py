"""memory_state: the actions of working memory, each with its own arguments."""

from __future__ import annotations

from typing import Any

import pytest

from nacre.errors import BadInput
from nacre.mcp.tools import call
from nacre.memory import Memory


def state(memory: Memory, action: str, **given: Any) -> dict[str, Any]:
    return call(memory, "memory_state", {"action": action, **given})


def test_what_is_going_on_is_written_and_read_back(memory: Memory) -> None:
    assert state(memory, "task", text="Move the API to v2")["changed"] is True
    state(memory, "decide", text="PostgreSQL rather than MySQL")
    state(memory, "context", key="deadline", value="2026-03-31")
    state(memory, "pending", text="Ask Ann for the schema")
    state(memory, "blocker", text="No access to staging")
    told = state(memory, "get")["state"]
    assert told["task"] == "Move the API to v2"
    assert told["decisions"] == [{"at": "2026-03-20 18:00", "text": "PostgreSQL rather than MySQL"}]
    assert told["context"] == [{"key": "deadline", "value": "2026-03-31"}]
    assert (told["pending"], told["blockers"]) == (["Ask Ann for the schema"], ["No access to staging"])
    assert state(memory, "done", text="1")["section"] == "pending"
    assert state(memory, "blocker", text="1", clear=True)["changed"] is True
    assert state(memory, "task", clear=True)["changed"] is True
    left = state(memory, "get")["state"]
    assert (left["task"], left["pending"], left["blockers"]) == (None, [], [])


def test_a_snapshot_comes_back(memory: Memory) -> None:
    state(memory, "task", text="First")
    assert state(memory, "snapshot", name="before")["changed"] is True
    state(memory, "task", text="Second")
    assert state(memory, "restore", name="before")["state"]["task"] == "First"


@pytest.mark.parametrize(
    ("action", "given", "sentence"),
    [
        ("task", {}, 'memory_state task needs "text".'),
        ("context", {"key": "deadline"}, 'memory_state context needs "value".'),
        ("decide", {"text": "x", "key": "y"}, 'memory_state decide does not take "key"; it takes text.'),
        ("get", {"text": "x"}, 'memory_state get does not take "text"'),
        ("task", {"text": "x", "clear": True}, 'memory_state task does not take "text"'),
    ],
)
def test_an_action_names_the_argument_that_is_missing_or_too_many(
    memory: Memory, action: str, given: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(BadInput) as refused:
        state(memory, action, **given)
    assert sentence in str(refused.value)
