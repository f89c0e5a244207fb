"""What the server answers is what the official SDK's server answers with the same tools, resources and prompts."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client
from mcp.server.lowlevel.server import Server as SdkServer
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from tests.mcp.test_stdio import over_stdio

from nacre import __version__
from nacre.mcp import resources
from nacre.mcp.server import HANDSHAKE_VERSIONS, STATELESS_VERSION, Server
from nacre.mcp.tools import tools
from nacre.memory import Memory


def sdk_server() -> SdkServer[Any]:
    async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult.model_validate({"tools": [tool.as_plain() for tool in tools()]})

    async def list_resources(_context: Any, _params: Any) -> types.ListResourcesResult:
        rows = resources.resources()
        return types.ListResourcesResult.model_validate({"resources": rows})

    async def list_templates(_context: Any, _params: Any) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=[])

    async def list_prompts(_context: Any, _params: Any) -> types.ListPromptsResult:
        rows = resources.prompts()
        return types.ListPromptsResult.model_validate({"prompts": rows})

    return SdkServer(
        "nacre",
        version=__version__,
        title="Nacre",
        description="Local memory for AI agents.",
        instructions=resources.instructions(),
        on_list_tools=list_tools,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_list_prompts=list_prompts,
    )


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_client_is_told_what_the_sdk_would_tell_it(root: Path, mode: str) -> None:
    async def told(server: Any) -> list[Any]:
        async with Client(server, mode=mode) as client:
            return [
                client.protocol_version,
                client.server_info,
                client.server_capabilities,
                client.instructions,
                await client.list_tools(),
                await client.list_resources(),
                await client.list_resource_templates(),
                await client.list_prompts(),
            ]

    ours, theirs = asyncio.run(told(over_stdio(root))), asyncio.run(told(sdk_server()))
    for answer, expected in zip(ours, theirs, strict=True):
        assert answer == expected


def test_the_versions_are_those_of_the_sdk() -> None:
    assert (HANDSHAKE_VERSIONS, (STATELESS_VERSION,)) == (HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS)


@pytest.mark.parametrize("wanted", [*HANDSHAKE_VERSIONS, "1999-01-01", None, 7])
def test_the_version_is_the_clients_where_it_is_known_and_else_the_newest(wanted: Any) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": wanted}}
    answer = Server(Memory.open).answer(message)
    assert answer is not None
    expected = wanted if wanted in HANDSHAKE_VERSIONS else "2025-11-25"
    assert answer["result"]["protocolVersion"] == expected


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (None, -32600),
        ([], -32600),
        ({"jsonrpc": "2.0", "id": 1}, -32600),
        ({"jsonrpc": "2.0", "id": [1], "method": "ping"}, -32600),
        ({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []}, -32600),
        ({"jsonrpc": "2.0", "id": 1, "method": "bogus"}, -32601),
        ({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": 7}}, -32602),
        ({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "memory_get", "arguments": [1]}}, -32602),
        ({"jsonrpc": "2.0", "id": 1, "method": "prompts/get"}, -32602),
        (
            {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": {"io.modelcontextprotocol/protocolVersion": "2099-01-01"}}},
            -32022,
        ),
        ({"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": "nacre://memory"}}, -32603),
    ],
)  # fmt: skip
def test_what_cannot_be_answered_is_an_error_with_its_code(message: Any, code: int) -> None:
    def broken() -> Memory:
        raise RuntimeError("with words of a memory")

    answer = Server(broken).answer(message)
    assert answer is not None
    assert answer["error"]["code"] == code
    assert "words of a memory" not in str(answer)


def test_a_notification_gets_no_answer() -> None:
    assert Server(Memory.open).answer({"jsonrpc": "2.0", "method": "notifications/initialized"}) is None
