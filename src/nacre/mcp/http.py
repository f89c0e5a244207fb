"""MCP over HTTP, stateless: one response for each request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from nacre.http import Headers, Message, Receive, Reply, Send, has_token, send_reply
from nacre.mcp.server import HANDSHAKE_VERSIONS, STATELESS_VERSION, Server, dump, parse

PATH = b"/mcp"


@dataclass(frozen=True)
class McpEndpoint:
    """Answers requests that bring the current token."""

    server: Server
    token: Callable[[], str]

    def takes(self, path: bytes) -> bool:
        return path == PATH

    def refusal(self, scope: Message, headers: Headers) -> Reply | None:
        if not has_token(headers, self.token()):
            return Reply(401, b"Unauthorized", (b"www-authenticate", b'Bearer realm="nacre"'))
        if scope["method"] != "POST":  # every question is answered in its own response: nothing to stream or delete
            return Reply(405, b"Method Not Allowed", (b"allow", b"POST"))
        if headers.get(b"content-type", [""])[0].partition(";")[0].strip().lower() != "application/json":
            return Reply(415, b"Unsupported Media Type")
        if not {*headers.get(b"mcp-protocol-version", [])} <= {*HANDSHAKE_VERSIONS, STATELESS_VERSION}:
            return Reply(400, b"Unsupported MCP-Protocol-Version")
        return None

    async def answer(
        self, _scope: Message, body: bytes, _receive: Receive, send: Send, pool: ThreadPoolExecutor
    ) -> None:
        try:
            message = parse(body)
        except ValueError:
            await send_reply(send, Reply(400, b"Bad Request"))
            return
        answer = await asyncio.get_running_loop().run_in_executor(pool, self.server.answer, message)
        await send_reply(send, Reply(202, b"") if answer is None else Reply(200, dump(answer)))

    def stop(self) -> None:
        """There is nothing to end: no request outlives its answer."""
