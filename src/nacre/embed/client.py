"""JSON over HTTP to one service: retries where it is busy or hangs up, no redirects, no proxy for this machine, no key in any message."""

from __future__ import annotations

import ipaddress
import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    import httpx2

_TRY_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504, 529})
_LONGEST_WAIT = 30.0  # seconds that a service may ask to be left alone; longer than that is for another run
_LARGEST = 64_000_000  # bytes of an answer
_A_DAY = 86_400.0


class Unreachable(Exception):
    """The service gave no answer at all; the words say why, without the key."""


class Client:
    """Safe to share between threads; `close` when done."""

    def __init__(
        self,
        base_url: str,
        headers: Callable[[str], Mapping[str, str]],
        key: str | None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.base_url = base_url.rstrip("/")
        self._key: Callable[[], str | None] = lambda: key  # a closure: no repr and no traceback with locals shows it
        self._headers = headers
        self._sleep = sleep

    @property
    def host(self) -> str:
        """Without a user or password in the address."""
        parts = urlsplit(self.base_url)
        host = parts.hostname or self.base_url
        return f"{host}:{parts.port}" if parts.port else host

    def post(
        self, path: str, body: Mapping[str, Any], *, timeout: float, pauses: Sequence[float], largest: int = _LARGEST
    ) -> httpx2.Response:
        """The service's answer, of at most so many bytes, within so many seconds in all; a busy service and a connection that breaks get another chance after each pause."""
        import httpx2

        end = time.monotonic() + timeout
        left = iter(pauses)
        while True:
            pause = next(left, math.inf)
            try:
                answer = self._within(end, largest, path, body)
                wait = retry_after(answer)
                pause = max(pause, wait)
                if answer.status_code not in _TRY_AGAIN or wait > _LONGEST_WAIT or time.monotonic() + pause > end:
                    return answer
            # No cause is chained: the exceptions of the client hold the request, and the request holds the key.
            except (httpx2.HTTPError, httpx2.InvalidURL) as error:
                broke = isinstance(error, httpx2.ReadError | httpx2.WriteError | httpx2.RemoteProtocolError)
                if not broke or time.monotonic() + pause > end:
                    raise Unreachable(self.clean(str(error) or type(error).__name__)) from None
            self._sleep(pause)

    def _within(self, end: float, largest: int, path: str, body: Mapping[str, Any]) -> httpx2.Response:
        """One exchange that ends in time: the client counts its timeout anew with each piece that comes."""
        from concurrent.futures import Future

        import httpx2

        done: Future[httpx2.Response] = Future()
        left = max(end - time.monotonic(), 0.001)

        def exchange() -> None:
            try:
                done.set_result(self._exchange(left, largest, path, body))
            except BaseException as error:  # noqa: BLE001 - raised again by who waits
                done.set_exception(error)

        threading.Thread(target=exchange, daemon=True).start()
        try:
            return done.result(left)
        except TimeoutError:
            raise httpx2.ReadTimeout("timed out") from None

    def _exchange(self, timeout: float, largest: int, path: str, body: Mapping[str, Any]) -> httpx2.Response:
        import httpx2

        data = bytearray()
        with self._client.stream("POST", f"{self.base_url}{path}", timeout=timeout, json=body) as answer:
            for piece in answer.iter_bytes():
                data += piece
                if len(data) > largest:
                    raise Unreachable("its answer is too long")
        # The data is unpacked already.
        headers = [(name, value) for name, value in answer.headers.multi_items() if not name.startswith("content-e")]
        return httpx2.Response(answer.status_code, headers=headers, content=bytes(data))

    def clean(self, text: str) -> str:
        """Words of a service as a message may quote them."""
        if key := self._key():
            text = text.replace(key, "…")
        text = text.replace(self.base_url, self.host)  # it may hold a user and a password
        return " ".join(text.split())[:200]

    def close(self) -> None:
        if client := vars(self).pop("_client", None):
            client.close()

    @cached_property
    def _client(self) -> httpx2.Client:
        import httpx2

        key = self._key()
        headers = self._headers(key) if key else {}
        # A proxy of the environment is for the network, not for a server on this machine.
        return httpx2.Client(headers=headers, follow_redirects=False, trust_env=not is_local(self.base_url))


def retry_after(answer: httpx2.Response) -> float:
    """How many seconds a service asks to be left alone; a date is taken for a long time, and nothing for more than a day."""
    value = answer.headers.get("Retry-After", "")
    if not value:
        return 0.0
    try:
        return min(max(0.0, float(value)), _A_DAY)
    except ValueError:
        return 600.0


def is_local(base_url: str) -> bool:
    host = urlsplit(base_url).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
