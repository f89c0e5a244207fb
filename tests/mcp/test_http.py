"""MCP over HTTP in the daemon: the SDK's own client, and an attacker with a bare socket."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
import socket
import stat
import subprocess
import threading
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from tests.mcp.conftest import Serve, Served, nacre
from tests.mcp.every import called, everything, refused

from nacre import http
from nacre.daemon import client as daemon
from nacre.http import forget_tokens, token, token_file

PING = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"})
CALL = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "memory_search", "arguments": {"query": "launch pnpm", "minScore": 0}},
    }
)


@contextlib.asynccontextmanager
async def connected(served: Served, mode: str = "legacy") -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {served.token}"}) as web,
        Client(streamable_http_client(served.url, http_client=web), mode=mode) as client,
    ):
        yield client


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_client_calls_every_tool(serve: Serve, mode: str) -> None:
    async def talk() -> None:
        async with connected(serve(), mode) as client:
            await everything(client)

    asyncio.run(talk())


def test_many_clients_at_once_are_all_answered(serve: Serve) -> None:
    served = serve()

    async def one() -> str:
        async with connected(served) as client:
            found = await called(client, "memory_search", query="when is the launch")
            return str(found["results"][0]["citation"])

    async def all_of_them() -> list[str]:
        return await asyncio.gather(*(one() for _ in range(12)))

    assert asyncio.run(all_of_them()) == ["memory/2026-03-19.md#L4-L4"] * 12


def test_a_group_is_chosen_when_the_server_is_started_and_has_a_token_of_its_own(root: Path, serve: Serve) -> None:
    served = serve(scope="group:ops")
    assert served.token != token(root)

    async def talk() -> None:
        async with connected(served) as client:
            assert len((await client.list_tools()).tools) == 3
            found = await called(client, "memory_search", query="rota launch pnpm", minScore=0)
            assert [row["snippet"] for row in found["results"]] == ["- The rota starts on Monday"]
            assert "In a group" in await refused(client, "memory_state", action="get")
            with pytest.raises(MCPError):
                await client.read_resource("nacre://memory")

    asyncio.run(talk())
    assert b" 401 " in sent(served, request(served, auth=f"Bearer {token(root)}"))


def sent(served: Served, data: bytes) -> bytes:
    """Everything that comes back for these bytes, until the server closes."""
    with socket.create_connection(("127.0.0.1", served.port), timeout=300) as connection:
        back = b""
        with contextlib.suppress(OSError):  # it has heard enough before everything was sent
            connection.sendall(data)
        with contextlib.suppress(ConnectionResetError):
            while part := connection.recv(65536):
                back += part
        return back


def request(
    served: Served,
    *more: str,
    host: str | None = "",
    auth: str | None = "",
    line: str = "POST /mcp HTTP/1.1",
    body: str = CALL,
    kind: str = "application/json",
) -> bytes:
    lines = [line]
    if host is not None:
        lines.append(f"Host: {host or f'127.0.0.1:{served.port}'}")
    if auth is not None:
        lines.append(f"Authorization: {auth or f'Bearer {served.token}'}")
    lines += [f"Content-Type: {kind}", "Accept: application/json, text/event-stream", "Connection: close", *more]
    if not any(one.lower().startswith(("content-length", "transfer-encoding")) for one in more):
        lines.append(f"Content-Length: {len(body.encode())}")
    return ("\r\n".join(lines) + "\r\n\r\n" + body).encode("latin-1")


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def test_every_attack_is_refused_and_tells_nothing(serve: Serve) -> None:
    served = serve()
    port = served.port
    good = sent(served, request(served))
    assert status(good) == 200
    assert b"3 May" in good
    assert b"access-control" not in good.lower()

    chunk = f"{65536:x}\r\n{'x' * 65536}\r\n"
    attacks: dict[str, tuple[bytes, set[int]]] = {
        "another Host": (request(served, host="evil.example"), {403}),
        "rebound DNS": (request(served, f"Origin: http://rebind.example:{port}", host=f"rebind.example:{port}"), {403}),
        "Host that only begins like ours": (request(served, host=f"127.0.0.1.evil.example:{port}"), {403}),
        "Host with another port": (request(served, host=f"127.0.0.1:{port + 1}"), {403}),
        "no Host": (request(served, host=None), {400, 403}),
        "HTTP/1.0 without Host": (request(served, host=None, line="POST /mcp HTTP/1.0"), {400, 403}),
        "two Hosts": (request(served, "Host: evil.example"), {400, 403}),
        "absolute form of another": (request(served, line="POST http://evil.example/mcp HTTP/1.1"), {400, 404}),
        "absolute form of ours": (request(served, line=f"POST http://127.0.0.1:{port}/mcp HTTP/1.1"), {400, 404}),
        "foreign Origin": (request(served, "Origin: https://evil.example"), {403}),
        "Origin null": (request(served, "Origin: null"), {403}),
        "Origin of another port": (request(served, f"Origin: http://localhost:{port + 1}"), {403}),
        "no token": (request(served, auth=None), {401}),
        "wrong token": (request(served, auth=f"Bearer {'a' * 43}"), {401}),
        "token as password": (request(served, auth=f"Basic {served.token}"), {401}),
        "token in the query": (request(served, auth=None, line=f"POST /mcp?token={served.token} HTTP/1.1"), {401}),
        "token in a cookie": (request(served, f"Cookie: token={served.token}", auth=None), {401}),
        "two tokens": (request(served, "Authorization: Bearer x"), {401}),
        "CORS preflight": (
            request(served, "Origin: https://evil.example", "Access-Control-Request-Method: POST", auth=None, line="OPTIONS /mcp HTTP/1.1"),
            {403},
        ),
        "CORS preflight from here": (
            request(served, f"Origin: http://localhost:{port}", "Access-Control-Request-Method: POST", auth=None, line="OPTIONS /mcp HTTP/1.1"),
            {401},
        ),
        "form of a page": (request(served, kind="text/plain"), {400, 415}),
        "other path": (request(served, line="POST / HTTP/1.1"), {404, 405}),
        "climbing path": (request(served, line="POST /mcp/../../etc/passwd HTTP/1.1"), {404}),
        "written path": (request(served, line="POST /%6dcp HTTP/1.1"), {404}),
        "doubled path": (request(served, line="POST //mcp HTTP/1.1"), {404}),
        "stream": (request(served, line="GET /mcp HTTP/1.1"), {405}),
        "delete": (request(served, line="DELETE /mcp HTTP/1.1"), {405}),
        "trace": (request(served, line="TRACE /mcp HTTP/1.1"), {405}),
        "tunnel": (request(served, line="CONNECT evil.example:443 HTTP/1.1"), {400, 404, 405}),
        "web socket": (request(served, "Upgrade: websocket", "Connection: Upgrade", line="GET /mcp HTTP/1.1"), {405}),
        "huge body, declared": (request(served, "Content-Length: 1000000000"), {413}),
        "huge body, sent": (request(served, body=" " * 1_200_000 + CALL), {413}),
        "huge body, in chunks": (request(served, "Transfer-Encoding: chunked", body=chunk * 20 + "0\r\n\r\n"), {413}),
        "two lengths": (request(served, "Content-Length: 5", "Content-Length: 9"), {400, 413}),
        "length and chunks": (request(served, f"Content-Length: {len(CALL)}", "Transfer-Encoding: chunked"), {400}),
        "huge head": (request(served, f"X: {'x' * 100_000}"), {400, 431}),
        "many heads": (request(served, *(f"X-{number}: {'y' * 50}" for number in range(2000))), {400, 431}),
        "not HTTP": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + os.urandom(64) + b"\r\n\r\n", {400}),
        "not JSON": (request(served, body="{"), {400}),
        "a head cut into two": (request(served, "X: a\r\nHost: evil.example"), {400, 403}),
    }  # fmt: skip
    for name, (data, allowed) in attacks.items():
        answer = sent(served, data)
        assert status(answer) in allowed, (name, answer[:300])
        for leak in (b"3 May", b"pnpm", served.token.encode(), b"access-control", b"/ws", b"Traceback"):
            assert leak.lower() not in answer.lower(), (name, leak)
    assert status(sent(served, request(served, body=PING))) == 200
    log = Path(daemon_log(served)).read_text("utf8")
    assert not any(word in log for word in ("3 May", "pnpm", served.token, "evil.example", "Traceback"))


def daemon_log(served: Served) -> str:
    arguments = [os.fsdecode(one) for one in served.process.args]  # type: ignore[union-attr, arg-type]
    return f"{arguments[arguments.index('--workspace') + 1]}/.nacre/daemon.log"


def test_the_scope_is_not_for_a_request_to_choose(serve: Serve) -> None:
    served = serve(scope="group:ops")
    for more in ("X-Nacre-Scope: main", "Mcp-Session-Id: main", "Nacre-Scope: main"):
        answer = sent(served, request(served, more))
        assert b"pnpm" not in answer
        assert b"3 May" not in answer
    asked = json.loads(CALL)
    for spot in (asked["params"], asked["params"].setdefault("_meta", {})):
        spot["scope"] = "main"
    answer = sent(served, request(served, body=json.dumps(asked)))
    assert b"3 May" not in answer


def test_a_slow_head_holds_no_connection_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "_HEAD_WITHIN", 0.2)
    listener = http.Listener("127.0.0.1", 0, logging.getLogger("test"))
    listener.start()
    try:
        with socket.create_connection(("127.0.0.1", listener.gate.port), timeout=300) as connection:
            connection.sendall(b"POST /mcp HTTP/1.1\r\nHost: 127")
            assert connection.recv(100) == b""  # closed by the other side, after its limit
    finally:
        listener.stop()


def test_the_token_is_made_once_and_for_its_user_alone(root: Path) -> None:
    word = token(root)
    place = token_file(root)
    assert token(root) == word
    assert len(word) == 43
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert stat.S_IMODE(place.parent.stat().st_mode) == 0o700
    place.chmod(0o644)  # others may have read it
    assert token(root) != word
    place.write_text("")  # cut short by a full disk
    assert len(token(root)) == 43
    assert token(root, "group:ops") != token(root)
    assert root not in place.parents


def test_many_who_make_the_token_at_once_get_the_same(root: Path) -> None:
    for _ in range(20):
        forget_tokens(root)
        together = threading.Barrier(8)

        def made(barrier: threading.Barrier = together) -> str:
            barrier.wait()
            return token(root)

        with ThreadPoolExecutor(8) as pool:
            words = {one.result() for one in [pool.submit(made) for _ in range(8)]}
        assert words == {token(root)}
        assert [one.name for one in token_file(root).parent.iterdir()] == [token_file(root).name]


def test_who_takes_the_token_away_shuts_out_whoever_knew_it(root: Path, serve: Serve) -> None:
    served = serve()
    assert status(sent(served, request(served))) == 200
    token_file(root).unlink()
    assert status(sent(served, request(served))) == 401
    assert status(sent(served, request(served, auth="Bearer "))) == 401
    other = subprocess.run(
        [*nacre(root), "serve", "--token"], capture_output=True, text=True, check=True
    ).stdout.strip()
    assert other != served.token
    assert status(sent(served, request(served))) == 401
    assert status(sent(served, request(served, auth=f"Bearer {other}"))) == 200


def test_the_tokens_of_a_workspace_go_with_it_and_no_others(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    mine, groups, theirs = token(root), token(root, "group:ops"), token(other)
    forget_tokens(root)
    forget_tokens(root)
    assert token(other) == theirs
    assert mine != token(root)
    assert groups != token(root, "group:ops")


def test_a_token_behind_a_link_is_not_used(root: Path, tmp_path: Path) -> None:
    place = token_file(root)
    place.parent.mkdir(parents=True)
    (tmp_path / "theirs").write_text("a" * 43)
    place.symlink_to(tmp_path / "theirs")
    done = subprocess.run([*nacre(root), "serve", "--token"], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "a" * 43 not in done.stdout
    assert (tmp_path / "theirs").read_text() == "a" * 43


def test_the_daemon_tells_where_it_serves_and_ends_cleanly(root: Path, serve: Serve) -> None:
    served = serve()
    told = daemon.daemon_status(str(root))
    assert told
    assert told["http"]["url"] == served.url
    assert told["http"]["local"] is True
    shown = subprocess.run([*nacre(root), "serve", "--status"], capture_output=True, text=True, check=True).stdout
    assert served.url in shown
    assert (
        served.url
        in subprocess.run([*nacre(root), "status", "--all"], capture_output=True, text=True, check=True).stdout
    )
    assert served.token not in shown
    with socket.create_connection(("127.0.0.1", served.port), timeout=300):  # one that says nothing
        served.process.send_signal(signal.SIGTERM)
        assert served.process.wait(300) == 0
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", served.port), timeout=5)


def test_a_port_that_is_taken_is_an_error_on_the_command_line_and_a_note_from_the_settings(
    root: Path, serve: Serve
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        asked = subprocess.run(
            [*nacre(root), "serve", "--no-jobs", "--http", str(port)], capture_output=True, text=True, check=False
        )
        assert asked.returncode == 2
        assert "Cannot listen on 127.0.0.1" in asked.stderr
        environment = {**os.environ, "NACRE_SERVE_PORT": str(port)}
        subprocess.run(
            [*nacre(root), "serve", "--no-jobs", "--background"], env=environment, capture_output=True, check=True
        )
        try:
            found = daemon.daemon_status(str(root))
            assert found
            assert "Cannot listen" in found["http"]["trouble"]
            doctor = subprocess.run(
                [*nacre(root), "doctor"], env=environment, capture_output=True, text=True, check=False
            )
            assert "Cannot listen" in doctor.stdout + doctor.stderr
        finally:
            subprocess.run([*nacre(root), "serve", "--stop"], env=environment, capture_output=True, check=True)


def test_beyond_this_machine_it_warns(root: Path, serve: Serve) -> None:
    served = serve(NACRE_SERVE_HOST="0.0.0.0")
    environment = {**os.environ, "NACRE_SERVE_HOST": "0.0.0.0"}
    for command in ("serve --status", "doctor"):
        done = subprocess.run(
            [*nacre(root), *command.split()], env=environment, capture_output=True, text=True, check=False
        )
        assert "not encrypted" in done.stdout + done.stderr
    assert status(sent(served, request(served, host=f"192.0.2.1:{served.port}"))) == 200
    assert status(sent(served, request(served, host=f"evil.example:{served.port}"))) == 403
