"""The tools as they are shown: the contract that clients were written for."""

from __future__ import annotations

import pytest
from jsonschema import Draft202012Validator

from nacre.i18n import use_language
from nacre.mcp.tools import Tool, tools

TAKES = {
    "memory_search": ("query", "maxResults", "minScore", "corpus", "since", "until", "layer"),
    "memory_get": ("path", "from", "lines"),
    "memory_write": ("text", "type", "importance", "project"),
    "memory_forget": ("id",),
    "memory_review": ("id", "answer"),
    "memory_state": ("action", "text", "key", "value", "name", "clear"),
    "memory_status": (),
}


def test_there_are_seven_tools_with_these_parameters() -> None:
    assert {one.name: tuple(one.takes["properties"]) for one in tools()} == TAKES


def test_where_work_is_left_to_the_agent_there_are_two_more_but_not_in_a_group() -> None:
    assert [one.name for one in tools(turn=True)][len(TAKES) :] == ["memory_orders", "memory_answer"]
    assert tools(group=True, turn=True) == tools(group=True)


def test_a_group_has_those_that_read() -> None:
    assert [one.name for one in tools(group=True)] == ["memory_search", "memory_get", "memory_status"]


@pytest.mark.parametrize("one", tools(turn=True), ids=lambda one: one.name)
def test_a_schema_is_one(one: Tool) -> None:
    for schema in (one.takes, one.gives):
        Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"


def test_annotations_tell_who_reads_who_writes_and_who_destroys() -> None:
    told = {one.name: one.as_plain()["annotations"] for one in tools(turn=True)}
    reads = {name for name, hints in told.items() if hints["readOnlyHint"]}
    destroys = {name for name, hints in told.items() if hints["destructiveHint"]}
    assert reads == {"memory_search", "memory_get", "memory_status", "memory_orders"}
    assert destroys == {"memory_forget", "memory_state"}
    assert not any(hints["openWorldHint"] for hints in told.values())


def test_tools_are_described_in_the_language_of_the_user() -> None:
    use_language("zh")
    for one in tools(turn=True):
        assert any("\u4e00" <= char <= "\u9fff" for char in one.title)
        assert not any(char in one.description for char in ";?!")
