"""Whatever lies in a workspace and whatever a model asks through MCP in a group, not a byte of what is private comes out."""

from __future__ import annotations

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
from tests.search.test_scope_fuzz import NOW, PRIVATE, Laid, lay_out, must_be_clean, places, queries

from nacre.mcp.server import Server
from nacre.mcp.tools import ACTIONS, Tool, tools
from nacre.memory import Memory
from nacre.model import LAYERS


def server(memory: Memory) -> Server:
    return Server(lambda: copy.copy(memory), group=True)


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
    yield "memory_review", {}
    yield from (("memory_review", {"id": place[:10] or "0", "answer": "keep"}) for place in ids[:5])
    yield "memory_status", {}


def ask(memory: Memory, method: str, **params: Any) -> str:
    """What comes back over the protocol, result or error."""
    answer = server(memory).answer({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    return json.dumps(answer, ensure_ascii=False)


def ask_everything(laid: Laid, memory: Memory, ids: list[str]) -> None:
    for method in ("initialize", "tools/list", "resources/list", "prompts/list"):
        must_be_clean(ask(memory, method))
    for name, arguments in calls(laid, ids):
        result = ask(memory, "tools/call", name=name, arguments=arguments)
        must_be_clean(result, json.dumps(arguments, ensure_ascii=False))
        if name in ("memory_write", "memory_forget", "memory_review", "memory_state"):
            assert '"isError": true' in result
    for uri in (
        "nacre://memory",
        "nacre://today",
        "nacre://context",
        "nacre://context/",
        "file:///etc/passwd",
        "nacre://MEMORY.md",
    ):
        must_be_clean(ask(memory, "resources/read", uri=uri))
    for prompt in ("flush", "distil", "weekly_review"):
        must_be_clean(ask(memory, "prompts/get", name=prompt))
    for mark in laid.shared[:5]:  # what is the group's own is found all the same
        assert mark in ask(memory, "tools/call", name="memory_search", arguments={"query": mark, "minScore": 0})


def one_life(seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        laid = lay_out(Path(os.path.realpath(folder)) / "ws", seed)
        with Memory.open(laid.root, now=NOW) as owner:
            owner.context()
            ids = [hit.id for hit in owner.search("deploy 预算 budget", mode="text", min_score=0)]
        before = {path: path.read_bytes() for path in laid.root.rglob("*.md") if path.is_file()}
        with Memory.open(laid.root, now=NOW, scope="group:ops") as memory:
            ask_everything(laid, memory, ids)
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
    group_memory: Memory, one: Tool, data: st.DataObject
) -> None:
    names = [*one.takes["properties"], "scope", "group"]
    given_ = data.draw(st.dictionaries(st.sampled_from(names), VALUES))

    must_be_clean(ask(group_memory, "tools/call", name=one.name, arguments=given_))


def test_the_owner_gets_through_mcp_what_a_group_must_not(tmp_path: Path) -> None:
    laid = lay_out(tmp_path / "ws", 7)

    with Memory.open(laid.root, now=NOW) as owner:
        assert PRIVATE.search(ask(owner, "tools/call", name="memory_get", arguments={"path": "MEMORY.md"}))
