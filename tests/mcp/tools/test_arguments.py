"""Arguments from a model: the wrong one is named, and nothing but a sentence comes of it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.errors import BadInput
from nacre.mcp.tools import Tool, check_arguments, tools


def tool(name: str) -> Tool | None:
    return next((tool for tool in tools() if tool.name == name), None)


def refused(name: str, **arguments: Any) -> str:
    found = tool(name)
    assert found is not None
    with pytest.raises(BadInput) as refusal:
        check_arguments(found, arguments)
    return str(refusal.value)


@pytest.mark.parametrize(
    ("name", "arguments", "sentence"),
    [
        ("memory_search", {}, 'memory_search needs "query".'),
        ("memory_search", {"query": None}, 'memory_search needs "query".'),
        ("memory_search", {"query": 3}, '"query" of memory_search must be text of 1 to 2000 characters.'),
        ("memory_search", {"query": " "}, '"query" of memory_search must be text of 1 to 2000 characters.'),
        ("memory_search", {"query": "x" * 2001}, '"query" of memory_search must be text of 1 to 2000 characters.'),
        ("memory_search", {"query": "x", "maxResults": 51}, '"maxResults" of memory_search must be a whole number from 1 to 50.'),
        ("memory_search", {"query": "x", "maxResults": True}, '"maxResults" of memory_search must be a whole number from 1 to 50.'),
        ("memory_search", {"query": "x", "maxResults": 2.5}, '"maxResults" of memory_search must be a whole number from 1 to 50.'),
        ("memory_search", {"query": "x", "minScore": "1"}, '"minScore" of memory_search must be a number from 0 to 1.'),
        ("memory_search", {"query": "x", "minScore": float("nan")}, '"minScore" of memory_search must be a number from 0 to 1.'),
        ("memory_search", {"query": "x", "corpus": "wiki"}, '"corpus" of memory_search must be one of memory, sessions, all.'),
        ("memory_search", {"query": "x", "limit": 3}, 'memory_search does not take "limit"'),
        ("memory_search", {"query": "\ud800"}, '"query" of memory_search must be text of 1 to 2000 characters.'),
        ("memory_get", {"path": "x.md", "lines": 10_001}, '"lines" of memory_get must be a whole number from 1 to 10000'),
        ("memory_get", {"path": "x.md", "from": 0}, '"from" of memory_get must be a whole number from 1 '),
        ("memory_write", {"text": "x", "type": "FACT"}, '"type" of memory_write must be one of PREF'),
        ("memory_write", {"text": "x", "importance": 11}, '"importance" of memory_write must be a whole number from 1 to 10'),
        ("memory_state", {"action": "dance"}, '"action" of memory_state must be one of task'),
        ("memory_state", {"action": "task", "clear": "yes"}, '"clear" of memory_state must be true or false.'),
    ],
)  # fmt: skip
def test_a_wrong_argument_is_named(name: str, arguments: dict[str, Any], sentence: str) -> None:
    assert sentence in refused(name, **arguments)


def test_what_is_null_was_not_given_and_a_whole_float_is_a_number() -> None:
    found = tool("memory_search")
    assert found is not None
    assert check_arguments(found, {"query": "x", "maxResults": 3.0, "since": None}) == {"query": "x", "maxResults": 3}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
NAMES = [*sorted({name for one in tools() for name in one.takes["properties"]}), "other"]


@given(st.sampled_from(tools()), st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=6))
def test_whatever_a_model_sends_is_taken_or_refused_with_a_sentence(one: Any, arguments: dict[str, Any]) -> None:
    try:
        found = check_arguments(one, arguments)
    except BadInput:
        return
    assert set(found) <= set(one.takes["properties"])
    assert None not in found.values()
