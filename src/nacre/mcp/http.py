"""MCP over HTTP in a thread of the daemon: one answer for each question, no session, nothing that outlives a request."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from nacre.errors import BadSetting
from nacre.i18n import say
from nacre.mcp.gate import LONGEST_HEAD, MOST_BODY, Gate, guarded
from nacre.mcp.server import Face, made

if TYPE_CHECKING:
    import logging

    from uvicorn import Server as WebServer

_CONNECTIONS = 64
_HEADERS_WITHIN = 10.0  # seconds for the head of a request
_KEPT_ALIVE = 30  # seconds that a quiet connection stays open
_FINISH_WITHIN = 5  # seconds for what is being answered when the daemon ends


class Listener:
    """Listens from its making on; answers once started."""

    def __init__(self, host: str, port: int, face: Face, token: str | Callable[[], str], log: logging.Logger) -> None:
        self._socket = _bound(host, port)
        self._face = face
        self._log = log
        self.gate = Gate(host, self._socket.getsockname()[1], token)
        self._web: WebServer | None = None
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="http", daemon=True)
        self.trouble: str | None = None

    @property
    def url(self) -> str:
        host = self.gate.host.strip("[]")
        return f"http://{f'[{host}]' if ':' in host else host}:{self.gate.port}/mcp"

    @property
    def busy(self) -> int:
        return self._face.busy.count

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Nobody new; whoever waits gets the answer, then the thread ends."""
        self._stopping = True
        if self._web is not None:
            self._web.should_exit = True
        if self._thread.is_alive():
            self._thread.join(_FINISH_WITHIN * 2)
        self._face.busy.wait(_FINISH_WITHIN)
        self._socket.close()

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except Exception as trouble:  # noqa: BLE001 - the daemon answers on its socket whatever becomes of HTTP
            self.trouble = type(trouble).__name__
            self._log.error("http ended by %s", type(trouble).__name__)

    async def _serve(self) -> None:
        import uvicorn
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        began = time.monotonic()
        manager = StreamableHTTPSessionManager(
            made(self._face), json_response=True, stateless=True, max_request_body_size=MOST_BODY
        )
        config = uvicorn.Config(
            guarded(self.gate, manager.handle_request),
            http=_protocol(),
            loop="asyncio",
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            log_level="critical",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            limit_concurrency=_CONNECTIONS,
            timeout_keep_alive=_KEPT_ALIVE,
            timeout_graceful_shutdown=_FINISH_WITHIN,
            h11_max_incomplete_event_size=LONGEST_HEAD,
        )
        self._web = uvicorn.Server(config)
        self._web.should_exit = self._stopping
        async with manager.run():
            self._log.info("http after %.0f ms", (time.monotonic() - began) * 1000)
            await self._web.serve(sockets=[self._socket])


def _bound(host: str, port: int) -> socket.socket:
    bare = host.strip("[]")
    try:
        family, _, _, _, address = socket.getaddrinfo(bare, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family, backlog=_CONNECTIONS)
    except (OSError, UnicodeError, OverflowError) as trouble:
        reason = getattr(trouble, "strerror", None) or trouble
        raise BadSetting(
            say(
                f'Nothing can listen on {bare} port {port}: {reason}. Choose another with "nacre config set --user serve.port" or --http PORT.',
                f"无法在 {bare} 端口 {port} 上监听：{reason}。请用“nacre config set --user serve.port”或 --http 端口 另选一个。",
            )
        ) from trouble


def _protocol() -> Any:
    """The web server's protocol with a limit on how long the head of a request may take: a slow one holds a connection for nobody."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Patient(H11Protocol):
        _late: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._wait_for_head()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._wait_for_head()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._wait_for_head(anew=True)

        def connection_lost(self, exc: Exception | None) -> None:
            self._hurry_no_more()
            super().connection_lost(exc)

        def _wait_for_head(self, *, anew: bool = False) -> None:
            answering = self.cycle is not None and not self.cycle.response_complete
            if answering or anew:  # after an answer the connection may be quiet; the keep-alive has its own limit
                self._hurry_no_more()
            elif self._late is None and not self.transport.is_closing():
                self._late = self.loop.call_later(_HEADERS_WITHIN, self.transport.close)

        def _hurry_no_more(self) -> None:
            if self._late is not None:
                self._late.cancel()
                self._late = None

    return Patient
