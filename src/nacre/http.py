"""HTTP of the daemon: the tokens, the gate that checks the head of every request, and the one listener, with an endpoint for MCP
and one for the page. A request under another host name, or from a page of another origin, is refused."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import ipaddress
import os
import re
import secrets
import shutil
import socket
import threading
import time
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from nacre.config.settings import user_folder
from nacre.disk import hold, writing_to
from nacre.errors import BadSetting

if TYPE_CHECKING:
    import logging

    from uvicorn import Server as WebServer

_TOKEN = re.compile(rb"[A-Za-z0-9_-]{43}")
MOST_BODY = 1_000_000  # bytes
LONGEST_HEAD = 16_384  # bytes
MOST_HEADERS = 64
_BODY_WITHIN = 30.0  # seconds
_HEAD_WITHIN = 10.0
_CONNECTIONS = 64
_AT_ONCE = 4  # requests that are worked on; the others wait
_KEPT_ALIVE = 30  # seconds that a quiet connection stays open
_FINISH_WITHIN = 5  # seconds for what is being answered when the daemon ends

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Headers = dict[bytes, list[str]]


def _token_folder(root: Path) -> Path:
    return user_folder("state") / "http" / _name(os.path.realpath(root))


def _name(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()


def token_file(root: Path, scope: str = "main") -> Path:
    """The file with the token of a workspace and scope. It lies in the user's own state folder, because a workspace may be
    shared or cloned. Each scope has its own: a client that was admitted to a group must not become the owner when the server
    is restarted."""
    return _token_folder(root) / f"{_name(scope)}.token"


def forget_tokens(root: Path) -> None:
    """Remove the tokens of a workspace, for every scope. Its servers must have ended."""
    folder = _token_folder(root)
    with writing_to(folder), contextlib.suppress(FileNotFoundError):
        shutil.rmtree(folder)


def token(root: Path, scope: str = "main") -> str:
    """The token, made where there is none; one that others could have read is made anew."""
    path = token_file(root, scope)
    with hold(path.parent.with_suffix(".lock")):
        if word := read_token(path):
            return word
        word = secrets.token_urlsafe(32)
        with writing_to(path):
            path.unlink(missing_ok=True)
            path.parent.mkdir(mode=0o700, exist_ok=True)
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
                file.write(f"{word}\n")
    return word


def read_token(path: Path) -> str:
    """The token in a file of this user's alone; empty where there is none that can be used: it was removed, cut short, or is a link."""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)), "rb") as file:
            about, data = os.fstat(file.fileno()), file.read(100).strip()
    except OSError:
        return ""
    is_private = not hasattr(os, "getuid") or (about.st_uid == os.getuid() and not about.st_mode & 0o077)
    return data.decode("ascii") if is_private and _TOKEN.fullmatch(data) else ""


class Reply(NamedTuple):
    status: int
    body: bytes
    header: tuple[bytes, bytes] | None = None


class Endpoint(Protocol):
    """What answers behind the gate: MCP, or the page."""

    def takes(self, path: bytes) -> bool:
        """Whether a path, as it was sent, is one of its own."""

    def refusal(self, scope: Message, headers: Headers) -> Reply | None:
        """Why this request is turned away before its body is read; None when it may pass."""

    async def answer(self, scope: Message, body: bytes, receive: Receive, send: Send, pool: ThreadPoolExecutor) -> None:
        """Answer a request whose body was read; `receive` tells when the client goes away."""

    def stop(self) -> None:
        """End what would go on for ever."""


def headers_of(scope: Message) -> Headers:
    headers: Headers = {}
    for name, value in scope["headers"]:
        headers.setdefault(name.lower(), []).append(value.decode("latin-1").strip())
    return headers


def has_token(headers: Headers, expected: str) -> bool:
    """Whether a request brings the token, once."""
    values = headers.get(b"authorization", [])
    scheme, _, word = values[0].partition(" ") if len(values) == 1 else ("", "", "")
    same = hmac.compare_digest(word.strip().encode("utf-8", "surrogateescape"), expected.encode())
    return bool(expected) and same and scheme.lower() == "bearer"


@dataclass(frozen=True)
class Gate:
    """The rules for everything that one listener answers."""

    host: str
    port: int
    names: frozenset[str] = field(default_factory=lambda: frozenset({socket.gethostname().lower()}))

    @property
    def is_local(self) -> bool:
        return self.host.lower() == "localhost" or is_address(self.host, loopback=True)

    def refusal(self, scope: Message, headers: Headers) -> Reply | None:
        """Why this request is turned away; None when it may pass."""
        size = sum(len(name) + len(value) for name, value in scope["headers"])
        if len(scope["headers"]) > MOST_HEADERS or size > LONGEST_HEAD:
            return Reply(431, b"Request Header Fields Too Large")
        hosts, origins = headers.get(b"host", []), headers.get(b"origin", [])
        if len(hosts) != 1 or not self._is_us(hosts[0]):
            return Reply(403, b"Host")  # a name that leads here by somebody else's DNS
        if len(origins) > 1 or not all(
            origin.startswith("http://") and self._is_us(origin.removeprefix("http://")) for origin in origins
        ):
            return Reply(403, b"Origin")
        lengths = headers.get(b"content-length", [])
        if lengths and b"transfer-encoding" in headers:  # two answers to where the body ends
            return Reply(400, b"Bad Request")
        if not all(re.fullmatch("[0-9]{1,19}", length) and int(length) <= MOST_BODY for length in lengths):
            return Reply(413, b"Content Too Large")
        return None

    def _is_us(self, host: str) -> bool:
        """Whether a Host names us: on this machine by its three names, elsewhere also by an address, which no DNS can turn."""
        name, _, port = host.lower().rpartition(":")
        if not name or port.endswith("]"):  # without a port: the one that a browser would mean
            name, port = host.lower(), "80"
        if port != str(self.port):
            return False
        if name in ("localhost", self.host.lower()):
            return True
        return name in ("127.0.0.1", "[::1]") if self.is_local else name in self.names or is_address(name)


def is_address(host: str, *, loopback: bool = False) -> bool:
    """Whether a host is an IP address and, where that is asked for, one of this machine alone."""
    try:
        address = ipaddress.ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return not loopback or address.is_loopback


class Listener:
    """Listens from its making on; answers once started."""

    def __init__(self, host: str, port: int, log: logging.Logger) -> None:
        self._socket = _bind(host, port)
        self._log = log
        self._pool = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="http")
        self.endpoints: Sequence[Endpoint] = ()
        self.gate = Gate(host, self._socket.getsockname()[1])
        self._web: WebServer | None = None
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="http", daemon=True)
        self.error: str | None = None
        self.working = 0  # requests that are being answered
        self.questions = 0
        self.last_asked = 0.0

    @property
    def url(self) -> str:
        host = self.gate.host.strip("[]")
        return f"http://{f'[{host}]' if ':' in host else host}:{self.gate.port}"

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping = True
        for endpoint in self.endpoints:
            endpoint.stop()
        if self._web is not None:
            self._web.should_exit = True
        if self._thread.is_alive():
            self._thread.join(_FINISH_WITHIN * 2)
        self._pool.shutdown(wait=False, cancel_futures=True)  # what still searches ends with the process
        self._socket.close()

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except Exception as error:  # noqa: BLE001 - the daemon answers on its socket whatever becomes of HTTP
            self.error = type(error).__name__
            self._log.error("http ended by %s", self.error)

    async def _serve(self) -> None:
        import uvicorn
        from uvicorn.protocols.http.h11_impl import H11Protocol

        class Protocol(H11Protocol):
            """With a limit on how long the first head may take: a slow one holds a connection for nobody."""

            def connection_made(self, transport: Any) -> None:
                super().connection_made(transport)
                self.loop.call_later(_HEAD_WITHIN, lambda: self.cycle or transport.close())

        config = uvicorn.Config(
            self._answer,
            http=Protocol,
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
        await self._web.serve(sockets=[self._socket])

    async def _answer(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request: a whole body of a sound size behind the gate, or a refusal."""
        if scope["type"] != "http":
            return
        headers, path = headers_of(scope), scope["raw_path"]  # as it was sent: no other spelling of it
        endpoint = next((endpoint for endpoint in self.endpoints if endpoint.takes(path)), None)
        reply = self.gate.refusal(scope, headers)
        if endpoint is None:
            await send_reply(send, reply or Reply(404, b"Not Found"))
            return
        body, reply = b"", reply or endpoint.refusal(scope, headers)
        if reply is None:
            try:
                body = await asyncio.wait_for(_read_body(receive), _BODY_WITHIN)
            except TimeoutError:
                reply = Reply(408, b"Request Timeout")
        if len(body) > MOST_BODY:
            reply = Reply(413, b"Content Too Large")
        if reply:
            await send_reply(send, reply)
            return
        self.working += 1
        self.questions += 1
        self.last_asked = time.monotonic()
        try:
            await endpoint.answer(scope, body, receive, send, self._pool)
        finally:
            self.working -= 1


async def send_reply(send: Send, reply: Reply) -> None:
    headers = [
        (b"content-type", b"text/plain; charset=utf-8" if reply.status >= 400 else b"application/json"),
        (b"content-length", str(len(reply.body)).encode()),
        *([(b"connection", b"close")] if reply.status >= 400 else []),
        *([reply.header] if reply.header else []),
    ]
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": reply.body})


async def _read_body(receive: Receive) -> bytes:
    """The whole body, or as much of it as shows that it is too large, however it is sent."""
    body = bytearray()
    while len(body) <= MOST_BODY:
        message = await receive()
        if message["type"] != "http.request":  # the client went away
            break
        body += message.get("body", b"")
        if not message.get("more_body", False):
            break
    return bytes(body)


def _bind(host: str, port: int) -> socket.socket:
    bare = host.strip("[]")
    try:
        family, _, _, _, address = socket.getaddrinfo(bare, port, type=socket.SOCK_STREAM)[0]
        server = socket.create_server(address[:2], family=family, backlog=_CONNECTIONS)
    except (OSError, UnicodeError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise BadSetting(
            f'Cannot listen on {bare} port {port}: {reason}. Choose another port with "nacre config set --user serve.port" or --http PORT.',
            f"无法监听 {bare} 端口 {port}：{reason}。请用“nacre config set --user serve.port”或 --http 端口 换一个端口。",
        ) from error
    # Else the body of an answer waits 40 ms until its head is acknowledged: asyncio sees to it only where the protocol is named.
    server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return server
