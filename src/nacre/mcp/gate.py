"""Who may speak over HTTP: checked before the SDK sees a byte. A web page that a browser opens is never one of them."""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass, field
from typing import Any

PATH = b"/mcp"
MOST_BODY = 1_000_000  # bytes
LONGEST_HEAD = 16_384  # bytes
MOST_HEADERS = 64
BODY_WITHIN = 30.0  # seconds
_METHODS = ("POST",)  # every question is answered in its own response, so there is nothing to stream or to delete

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]


@dataclass(frozen=True)
class Refusal:
    """An answer of ours in the place of the SDK's."""

    status: int
    reason: str
    headers: tuple[tuple[bytes, bytes], ...] = ()


@dataclass(frozen=True)
class Gate:
    """The rules of one listener: where it listens, and the token that it wants, or who tells it at that moment."""

    host: str
    port: int
    token: str | Callable[[], str]
    names: frozenset[str] = field(default_factory=lambda: frozenset({socket.gethostname().lower()}))

    @property
    def is_local(self) -> bool:
        return is_loopback(self.host)

    def refusal(self, scope: Message) -> Refusal | None:
        """Why this request is turned away; None when it may pass."""
        headers: list[tuple[bytes, bytes]] = list(scope["headers"])
        if len(headers) > MOST_HEADERS or sum(len(name) + len(value) for name, value in headers) > LONGEST_HEAD:
            return Refusal(431, "Request Header Fields Too Large")
        hosts = _values(headers, b"host")
        if len(hosts) != 1 or not self._is_us(hosts[0]):
            return Refusal(403, "Host")  # a name that leads here by somebody else's DNS
        origins = _values(headers, b"origin")
        if len(origins) > 1 or not all(self._is_ours(one) for one in origins):
            return Refusal(403, "Origin")
        if scope["raw_path"] != PATH:  # as it was sent: no other spelling of it
            return Refusal(404, "Not Found")
        if not self._knows_token(_values(headers, b"authorization")):
            return Refusal(401, "Unauthorized", ((b"www-authenticate", b'Bearer realm="nacre"'),))
        if scope["method"] not in _METHODS:
            return Refusal(405, "Method Not Allowed", ((b"allow", ", ".join(_METHODS).encode()),))
        lengths = _values(headers, b"content-length")
        if lengths and _values(headers, b"transfer-encoding"):  # two answers to where the body ends
            return Refusal(400, "Bad Request")
        if not all(map(_is_sound, lengths)):
            return Refusal(413, "Content Too Large")
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
        return name in ("127.0.0.1", "[::1]") if self.is_local else name in self.names or _is_address(name)

    def _is_ours(self, origin: str) -> bool:
        scheme, _, host = origin.partition("://")
        return scheme == "http" and self._is_us(host)

    def _knows_token(self, given: list[str]) -> bool:
        if len(given) != 1:
            return False
        scheme, _, word = given[0].partition(" ")
        told = word.strip().encode("utf-8", "surrogateescape")
        wanted = (self.token if isinstance(self.token, str) else self.token()).encode()
        return bool(wanted) and hmac.compare_digest(told, wanted) and scheme.lower() == "bearer"


def guarded(gate: Gate, application: Application) -> Application:
    """The application behind the gate: it gets a whole body of a sound size, or nothing."""

    async def guard(scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        refusal = gate.refusal(scope)
        if refusal is None:
            try:
                body = await asyncio.wait_for(_body(receive), BODY_WITHIN)
            except TimeoutError:
                refusal = Refusal(408, "Request Timeout")
            else:
                refusal = Refusal(413, "Content Too Large") if body is None else None
        if refusal is not None:
            await _refuse(refusal, send)
            return
        await application(scope, _replay(body or b"", receive), send)

    return guard


async def _body(receive: Receive) -> bytes | None:
    """The whole body; None as soon as it is too large, however it is sent."""
    parts = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":  # the client went away
            return bytes(parts)
        parts += message.get("body", b"")
        if len(parts) > MOST_BODY:
            return None
        if not message.get("more_body", False):
            return bytes(parts)


def _replay(body: bytes, receive: Receive) -> Receive:
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_one() -> Message:
        return waiting.pop() if waiting else await receive()

    return next_one


async def _refuse(refusal: Refusal, send: Send) -> None:
    body = refusal.reason.encode()
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
        *refusal.headers,
    ]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True


def _is_sound(length: str) -> bool:
    return length.isascii() and length.isdigit() and len(length) < 20 and int(length) <= MOST_BODY


def _values(headers: Iterable[tuple[bytes, bytes]], wanted: bytes) -> list[str]:
    return [value.decode("latin-1").strip() for name, value in headers if name.lower() == wanted]
