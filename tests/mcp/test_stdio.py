"""`nacre mcp` with the SDK's own client, and as the process that it is."""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client, StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError
from tests.mcp.conftest import Serve, nacre
from tests.mcp.every import called, everything, refused

from nacre.daemon import client
from nacre.daemon.requests import call_tool_by_daemon
from nacre.mcp.server import parse
from nacre.memory import Memory

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}


def over_stdio(root: Path, *options: str, **env: str) -> Any:
    command = [*nacre(root), "mcp", *options]
    return stdio_client(StdioServerParameters(command=command[0], args=command[1:], env={**os.environ, **env}))


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_client_calls_every_tool(root: Path, mode: str) -> None:
    async def talk() -> None:
        async with Client(over_stdio(root), mode=mode) as client:
            await everything(client)

    asyncio.run(talk())


def test_a_group_is_fixed_at_the_start_and_sees_its_own(root: Path) -> None:
    async def talk() -> None:
        async with Client(over_stdio(root, "--scope", "group:ops"), mode="legacy") as client:
            assert [one.name for one in (await client.list_tools()).tools] == [
                "memory_search",
                "memory_get",
                "memory_status",
            ]
            found = await called(client, "memory_search", query="rota launch pnpm", minScore=0)
            assert [row["snippet"] for row in found["results"]] == ["- The rota starts on Monday"]
            assert "There is no memory file" in await refused(client, "memory_get", path="MEMORY.md")
            assert "In a group" in await refused(client, "memory_write", text="x")
            assert 'does not take "scope"' in await refused(client, "memory_search", query="x", scope="main")
            with pytest.raises(MCPError):
                await client.read_resource("nacre://memory")
            assert "memory_write" not in (client.instructions or "")

    asyncio.run(talk())


def test_with_a_daemon_the_answers_are_the_same(root: Path, serve: Serve) -> None:
    async def talk() -> list[dict[str, Any]]:
        async with Client(over_stdio(root), mode="legacy") as client:
            found = await called(client, "memory_search", query="when is the launch", minScore=0)
            return [{**found, "tookMs": 0}, await called(client, "memory_get", path="MEMORY.md")]

    alone = asyncio.run(talk())
    served = serve()
    assert asyncio.run(talk()) == alone
    log = (root / ".nacre" / "daemon.log").read_text("utf8")
    assert " tool " in log
    assert served.process.poll() is None


def test_instructions_and_sentences_follow_the_users_language(root: Path) -> None:
    async def talk() -> None:
        async with Client(over_stdio(root, NACRE_LANGUAGE="zh"), mode="legacy") as client:
            assert "先搜索" in (client.instructions or "")
            assert "没有“bogus”这个参数" in await refused(client, "memory_search", query="x", bogus=1)

    asyncio.run(talk())


@pytest.fixture
def process(root: Path) -> Iterator[subprocess.Popen[bytes]]:
    pipes: dict[str, Any] = {
        "bufsize": 0,
        "stdin": subprocess.PIPE,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
    }
    with subprocess.Popen([*nacre(root), "mcp"], **pipes) as started:
        yield started
        if started.poll() is None:
            started.kill()


def send(process: subprocess.Popen[bytes], *messages: dict[str, Any]) -> None:
    assert process.stdin is not None
    for message in messages:
        process.stdin.write(json.dumps(message).encode() + b"\n")
    process.stdin.flush()


def line(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    assert process.stdout is not None
    assert select.select([process.stdout], [], [], 60)[0]
    answer: dict[str, Any] = json.loads(process.stdout.readline())
    return answer


def test_it_ends_with_its_input_and_stdout_holds_nothing_but_the_protocol(process: subprocess.Popen[bytes]) -> None:
    send(process, INITIALIZE)
    assert line(process)["result"]["serverInfo"]["name"] == "nacre"
    send(process, {"jsonrpc": "2.0", "method": "notifications/initialized"})
    send(process, {"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
    assert line(process)["id"] == 2
    out, err = process.communicate(timeout=300)
    assert (process.returncode, out, err) == (0, b"", b"")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_while_it_waits_for_input(process: subprocess.Popen[bytes], number: int) -> None:
    send(process, INITIALIZE)
    line(process)
    process.send_signal(number)
    assert process.wait(300) == 0


def test_garbage_is_answered_with_an_error_and_ends_nothing(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    process.stdin.write(b"not json\n\xff\xfe\n{}\n" + b'{"id": [1], "method": "ping"}\n')
    send(process, INITIALIZE)
    answers = [line(process)]
    while answers[-1].get("id") != 1:
        answers.append(line(process))
    assert "result" in answers[-1]


def test_half_a_character_is_answered_too(process: subprocess.Popen[bytes]) -> None:
    send(process, INITIALIZE)
    line(process)
    for number, text in enumerate(("\ud800", "\udc00 x", "x \udbff\U0001f600"), start=2):
        asked = {"name": "memory_search", "arguments": {"query": f"launch {text}"}}
        send(process, {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": asked})
        answer = line(process)
        assert answer["id"] == number
        assert "3 May" in json.dumps(answer["result"])


@given(st.text() | st.text(st.characters(categories=["Cs"])) | st.just("\\\\ud800"))
def test_a_message_means_the_same_but_for_halves_of_characters(text: str) -> None:
    meant = json.loads(json.dumps(text)).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    parsed = parse(json.dumps(text).encode())
    parsed.encode()
    if "\ufffd" not in meant:
        assert parsed == meant


@contextmanager
def held(root: Path) -> Iterator[Callable[[], None]]:
    """The lock of the workspace in another process, until it is let go."""
    holding = "import sys; from pathlib import Path; from nacre.disk import lock; from nacre.model import Workspace\n"
    holding += f"with lock(Workspace(Path({str(root)!r}))):\n    print('held', flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", holding], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdin is not None
        assert holder.stdout.readline() == b"held\n"
        yield holder.stdin.close


WRITE = {"name": "memory_write", "arguments": {"text": "Ann owns billing"}}


def test_a_slow_call_does_not_keep_others_waiting(root: Path, process: subprocess.Popen[bytes]) -> None:
    """One call waits for the lock of the workspace; the protocol goes on beside it, and the call is answered in the end."""
    send(process, INITIALIZE)
    line(process)
    with held(root) as let_go:
        send(process, {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": WRITE})
        send(process, {"jsonrpc": "2.0", "id": 3, "method": "ping"})
        assert line(process)["id"] == 3
        let_go()
        answer = line(process)
    assert (answer["id"], answer["result"]["isError"]) == (2, False)


def test_what_is_being_written_when_the_client_goes_is_finished(root: Path, process: subprocess.Popen[bytes]) -> None:
    send(process, INITIALIZE)
    line(process)
    with held(root) as let_go:
        send(process, {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": WRITE})
        send(process, {"jsonrpc": "2.0", "id": 3, "method": "ping"})
        assert line(process)["id"] == 3
        assert process.stdin is not None
        process.stdin.close()
        let_go()
        assert process.wait(300) == 0
    assert any("Ann owns billing" in log.read_text("utf8") for log in (root / "memory").glob("*.md"))


def test_a_daemon_is_asked_for_what_reads_alone(root: Path, serve: Serve) -> None:
    """A write whose answer was lost on the way must not be done a second time."""
    serve()
    with Memory.open(root) as memory:
        assert call_tool_by_daemon(memory, "memory_status", {}, None) is not None
        assert call_tool_by_daemon(memory, "memory_get", {"path": "MEMORY.md"}, None) is not None
        for name in ("memory_write", "memory_forget", "memory_review", "memory_state"):
            assert call_tool_by_daemon(memory, name, {}, None) is None


def test_a_daemon_that_hangs_is_waited_for_once(root: Path, serve: Serve) -> None:
    served = serve()
    with Memory.open(root) as memory:
        assert call_tool_by_daemon(memory, "memory_status", {}, None) is not None
        served.process.send_signal(signal.SIGSTOP)
        try:
            assert call_tool_by_daemon(memory, "memory_status", {}, None) is None
            assert client.hung  # it is not asked a second time
            assert call_tool_by_daemon(memory, "memory_status", {}, None) is None
        finally:
            served.process.send_signal(signal.SIGCONT)
            client.hung.clear()
