"""Whatever lies in a workspace and whatever a model asks through MCP in a group, not a byte of what is private comes out."""

from __future__ import annotations

import asyncio
import copy
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp import Client
from mcp.shared.exceptions import MCPError
from tests.search.test_scope_fuzz import NOW, PRIVATE, Laid, lay_out, must_be_clean, places, queries

from nacre.mcp.server import Face, make_server
from nacre.mcp.tools import ACTIONS, tools
from nacre.memory import Memory
from nacre.model.hit import LAYERS


def face(memory: Memory) -> Face:
    return Face(lambda: copy.copy(memory), group=True)


def calls(laid: Laid, ids: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """What a model could think of, with and against the rules."""
    chance = laid.chance
    for query in queries(laid):
        yield "memory_search", {"query": query, "minScore": 0, "maxResults": 50}
        yield "memory_search", {"query": query, "minScore": 0, "layer": chance.choice(LAYERS)}
        yield "memory_search", {"query": query, "minScore": 0, "corpus": chance.choice(("sessions", "all"))}
        yield "memory_search", {"query": query, "since": "2026-03-01", "until": "2026-03-20", "minScore": 0}
        yield "memory_search", {"query": query, "scope": "main", "project": "shop"}
    for place in (*places(laid), *ids):
        yield "memory_get", {"path": place, "lines": chance.randint(1, 60)}
        if chance.random() < 0.2:
            yield "memory_get", {"path": place, "from": chance.randint(1, 30), "lines": 10_000}
            yield "memory_forget", {"id": place}
    for action in ACTIONS:
        yield "memory_state", {"action": action}
        yield "memory_state", {"action": action, "text": "1", "name": "x"}
    yield "memory_write", {"text": "deploy"}
    yield "memory_status", {}


async def ask_everything(laid: Laid, memory: Memory, ids: list[str]) -> None:
    async with Client(make_server(face(memory)), mode="legacy") as client:
        must_be_clean(f"{client.instructions} {await client.list_tools()}")
        for name, arguments in calls(laid, ids):
            asked = json.dumps(arguments, ensure_ascii=False)
            result = await client.call_tool(name, arguments)
            must_be_clean(result.model_dump_json(), asked)
            if name in ("memory_write", "memory_forget", "memory_state"):
                assert result.is_error
        for uri in (
            "nacre://memory",
            "nacre://today",
            "nacre://context",
            "nacre://context/",
            "file:///etc/passwd",
            "nacre://MEMORY.md",
        ):
            try:
                told = (await client.read_resource(uri)).model_dump_json()
            except MCPError as refusal:
                told = str(refusal)
            must_be_clean(told)
        for prompt in ("flush", "distil", "weekly_review"):
            try:
                told = (await client.get_prompt(prompt)).model_dump_json()
            except MCPError as refusal:
                told = str(refusal)
            must_be_clean(told)
        for mark in laid.shared[:5]:  # what is the group's own is found all the same
            found = await client.call_tool("memory_search", {"query": mark, "minScore": 0})
            assert mark in found.model_dump_json()


def one_life(seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        laid = lay_out(Path(os.path.realpath(folder)) / "ws", seed)
        with Memory.open(laid.root, now=NOW) as owner:
            owner.context()
            ids = [hit.id for hit in owner.search("deploy 预算 budget", mode="text", min_score=0)]
        before = {path: path.read_bytes() for path in laid.root.rglob("*.md") if path.is_file()}
        with Memory.open(laid.root, now=NOW, scope="group:ops") as memory:
            asyncio.run(ask_everything(laid, memory, ids))
        assert {path: path.read_bytes() for path in laid.root.rglob("*.md") if path.is_file()} == before


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 2**32))
def test_nothing_private_reaches_a_group_through_mcp(seed: int) -> None:
    one_life(seed)


VALUES = (
    st.none()
    | st.booleans()
    | st.integers(-5, 99)
    | st.text(max_size=20)
    | st.just("MEMORY.md")
    | st.lists(st.text(max_size=3), max_size=2)
)


@pytest.fixture(scope="module")
def group_memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    laid = lay_out(tmp_path_factory.mktemp("group") / "ws", 7)
    with Memory.open(laid.root, now=NOW, scope="group:ops") as memory:
        yield memory


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(tools()), st.data())
def test_whatever_arguments_a_model_makes_up_nothing_private_comes_out(
    group_memory: Memory, one: Any, data: st.DataObject
) -> None:
    names = [*one.takes["properties"], "scope", "group"]
    given_ = data.draw(st.dictionaries(st.sampled_from(names), VALUES))

    async def ask() -> str:
        async with Client(make_server(face(group_memory)), mode="legacy") as client:
            return (await client.call_tool(one.name, given_)).model_dump_json()

    must_be_clean(asyncio.run(ask()))


def test_the_owner_gets_through_mcp_what_a_group_must_not(tmp_path: Path) -> None:
    laid = lay_out(tmp_path / "ws", 7)

    async def ask(memory: Memory) -> str:
        async with Client(make_server(face(memory)), mode="legacy") as client:
            return (await client.call_tool("memory_get", {"path": "MEMORY.md"})).model_dump_json()

    with Memory.open(laid.root, now=NOW) as owner:
        assert PRIVATE.search(asyncio.run(ask(owner)))
