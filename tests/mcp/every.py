"""Every tool, resource and prompt, asked by whatever client a test brings."""

from __future__ import annotations

from typing import Any

from mcp import Client

TOOLS = [
    "memory_search",
    "memory_get",
    "memory_write",
    "memory_forget",
    "memory_review",
    "memory_state",
    "memory_status",
]


async def called(client: Client, name: str, **arguments: Any) -> dict[str, Any]:
    """What a tool gives; the SDK's client has checked it against the schema that the server told."""
    result = await client.call_tool(name, arguments)
    assert not result.is_error, result.content
    assert isinstance(result.structured_content, dict)
    return result.structured_content


async def refused(client: Client, name: str, **arguments: Any) -> str:
    result = await client.call_tool(name, arguments)
    assert result.is_error
    (content,) = result.content
    assert content.type == "text"
    return content.text


async def everything(client: Client) -> None:
    """What the owner may ask, over any transport."""
    assert "Search before you answer anything about prior work" in (client.instructions or "")
    listed = (await client.list_tools()).tools
    assert [one.name for one in listed] == TOOLS
    assert all(one.output_schema and one.annotations and one.title for one in listed)

    found = await called(client, "memory_search", query="when is the launch")
    (best, *_) = found["results"]
    assert best["citation"] == "memory/2026-03-19.md#L4-L4"
    assert (await called(client, "memory_get", path=best["citation"]))["text"] == "- [PROJ] The launch is on 3 May"
    written = await called(client, "memory_write", text="Ann owns billing", type="PEOPLE")
    assert (await called(client, "memory_search", query="who owns billing"))["results"][0]["path"] == written["path"]
    assert (await called(client, "memory_forget", id=best["id"]))["forgotten"] == 1
    await called(client, "memory_state", action="task", text="Ship it")
    assert (await called(client, "memory_state", action="get"))["state"]["task"] == "Ship it"
    assert (await called(client, "memory_status"))["scope"] == "main"

    secret = "ghp_R7k2mQx9vLp4TzW1nB8sYc5dFgHj3KeUa6oX"
    told = await refused(client, "memory_write", text=f"the token is {secret}")
    assert "contains a secret" in told
    assert secret not in told
    assert '"bogus"' in await refused(client, "memory_search", query="x", bogus=1)
    assert "There is no tool" in await refused(client, "memory_destroy")

    uris = [one.uri for one in (await client.list_resources()).resources]
    assert uris == ["nacre://memory", "nacre://today", "nacre://context"]
    for uri, words in zip(uris, ("Use pnpm", "Ann owns billing", "Ship it"), strict=True):
        (content,) = (await client.read_resource(uri)).contents
        assert words in content.text  # type: ignore[union-attr]
    names = [one.name for one in (await client.list_prompts()).prompts]
    assert names == ["flush", "distil", "weekly_review"]
    for name in names:
        assert (await client.get_prompt(name)).messages[0].role == "user"
