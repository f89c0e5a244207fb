"""The socket's side of the daemon: one thread listens to everybody, a few answer, nobody's mistake ends it."""

from __future__ import annotations

import logging
import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from nacre.daemon import client
from nacre.daemon.log import error_place
from nacre.daemon.requests import CannotAnswer
from nacre.errors import CannotRead, NacreError
from nacre.i18n import say

_THREADS = 4
_MOST_CALLERS = 200
_WITHIN = 30.0  # seconds until a question is given up
_SEND_WITHIN = 10.0
_TICK = 1.0


@dataclass(eq=False)
class Caller:
    """One connection. Its scope is fixed by its first message and by nothing after it."""

    connection: socket.socket
    scope: str | None = None
    skew: str | None = None
    received: bytearray = field(default_factory=bytearray)
    since: float | None = None  # when the question was taken that is being answered
    given_up: bool = False
    closing: bool = False
    sending: threading.Lock = field(default_factory=threading.Lock)


class Server:
    """Listens until it is told to stop; what is being answered then is answered first."""

    def __init__(
        self,
        listener: socket.socket,
        greet: Callable[[dict[str, Any]], tuple[str, str | None, dict[str, Any]]],
        answer: Callable[[Caller, str, dict[str, Any]], dict[str, Any]],
        log: logging.Logger,
        *,
        within: float = _WITHIN,
    ) -> None:
        self._listener = listener
        self._greet = greet
        self._answer = answer
        self._log = log
        self._within = within
        self._selector = selectors.DefaultSelector()
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="answer")
        self._wake, self._woken = socket.socketpair()
        self._callers: set[Caller] = set()
        self._finished: deque[Caller] = deque()
        self._stopping = False
        self._deaf = False  # nobody new is heard until the next tick
        self.asked = 0
        self.failed = 0
        self.last_asked = time.monotonic()

    @property
    def busy(self) -> int:
        """How many questions are being answered."""
        return sum(caller.since is not None for caller in tuple(self._callers))

    @property
    def connected(self) -> int:
        return len(self._callers)

    @property
    def is_stopping(self) -> bool:
        return self._stopping

    def stop(self) -> None:
        """End when everything that was asked is answered. May be called from anywhere, also by a signal."""
        self._stopping = True
        self._nudge()

    def _nudge(self) -> None:
        with suppress(OSError):  # full: it is awake already
            self._wake.send(b"\0")

    def serve(self, tick: Callable[[], None]) -> None:
        """Listen; `tick` is called about once a second."""
        self._wake.setblocking(False)
        self._woken.setblocking(False)
        self._listener.setblocking(False)
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._selector.register(self._listener, selectors.EVENT_READ)
        ticked = 0.0
        try:
            while not self._stopping:
                for key, _ in self._selector.select(_TICK):
                    self._attend(key)
                self._take_back()
                if time.monotonic() - ticked >= _TICK:
                    ticked = time.monotonic()
                    if self._deaf:
                        self._selector.register(self._listener, selectors.EVENT_READ)
                        self._deaf = False
                    self._give_up_late_ones()
                    tick()
        finally:
            self._close()

    def _attend(self, key: selectors.SelectorKey) -> None:
        if key.fileobj is self._woken:
            with suppress(BlockingIOError):
                self._woken.recv(4096)
        elif key.fileobj is self._listener:
            self._welcome()
        else:
            self._listen(key.data)

    def _welcome(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except BlockingIOError:
                return
            except OSError as error:
                # No descriptors left. The callers that wait would wake us again and again: the next tick listens anew.
                self._log.warning("cannot accept: %s", error.strerror)
                self._selector.unregister(self._listener)
                self._deaf = True
                return
            if len(self._callers) >= _MOST_CALLERS or not client.is_ours(connection):
                connection.close()
                continue
            connection.settimeout(_SEND_WITHIN)
            caller = Caller(connection)
            self._callers.add(caller)
            self._selector.register(connection, selectors.EVENT_READ, caller)

    def _listen(self, caller: Caller) -> None:
        try:
            data = caller.connection.recv(65536)
        except OSError:
            data = b""
        if not data:
            self._part(caller)
            return
        caller.received += data
        self._next(caller)

    def _next(self, caller: Caller) -> None:
        """Take the next whole question, if it is there, and hear nothing more from its caller until it is answered."""
        try:
            if len(caller.received) < client.HEADER:
                return
            size = client.HEADER + client.body_length(bytes(caller.received[: client.HEADER]), client.LARGEST_REQUEST)
            if len(caller.received) < size:
                return
            body = bytes(caller.received[client.HEADER : size])
            del caller.received[:size]
        except client.BadMessage as trouble:
            self._refuse(caller, str(trouble))
            caller.closing = True  # what follows cannot be told apart any more
            self._part(caller)
            return
        self._selector.unregister(caller.connection)
        caller.since = self.last_asked = time.monotonic()
        self._pool.submit(self._work, caller, body)

    def _work(self, caller: Caller, body: bytes) -> None:
        began = time.monotonic()
        kind = "?"
        try:
            message = client.unpack(body)
            kind = str(message.pop("kind", ""))[:40]
            answer = self._reply(caller, kind, message)
        except client.BadMessage as trouble:
            answer = {"error": str(trouble), "name": "BadMessage"}
        except (CannotAnswer, CannotRead) as trouble:  # the caller's own process may have what this one lacks
            answer = {"skew": str(trouble)}
        except NacreError as trouble:
            self.failed += 1
            answer = {"error": str(trouble), "name": type(trouble).__name__, "code": trouble.exit_code}
        except Exception as trouble:  # noqa: BLE001 - a bug in one answer must not take the others with it
            self.failed += 1
            self._log.error("%s failed: %s", kind if kind.isidentifier() else "?", error_place(trouble))
            answer = {"error": type(trouble).__name__, "name": "?"}
        self.asked += 1
        self._send(caller, answer)
        took = (time.monotonic() - began) * 1000
        self._log.info("%s %.1f ms%s", kind if kind.isidentifier() else "?", took, " error" * ("error" in answer))
        self._finished.append(caller)
        self._nudge()

    def _reply(self, caller: Caller, kind: str, message: dict[str, Any]) -> dict[str, Any]:
        if caller.scope is None:
            if kind != "hello":
                raise client.BadMessage("say hello first")
            caller.scope, caller.skew, answer = self._greet(message)
            return answer
        if kind == "hello":
            raise client.BadMessage("who listens is said once")
        if caller.since is not None and time.monotonic() - caller.since > self._within:
            raise CannotAnswer("too late")
        return self._answer(caller, kind, message)

    def _send(self, caller: Caller, answer: dict[str, Any]) -> None:
        data = client.pack(answer)
        if len(data) > client.LARGEST_ANSWER + client.HEADER:
            data = client.pack({"skew": "the answer is too long"})
        with caller.sending:
            if caller.given_up:
                return
            try:
                caller.connection.sendall(data)
            except OSError:
                caller.closing = True

    def _refuse(self, caller: Caller, reason: str) -> None:
        with suppress(OSError):
            caller.connection.sendall(client.pack({"error": reason, "name": "BadMessage"}))

    def _take_back(self) -> None:
        """Listen again to those who have their answer."""
        while self._finished:
            caller = self._finished.popleft()
            caller.since = None
            if caller.closing or caller.given_up:
                caller.connection.close()
                self._callers.discard(caller)
                continue
            self._selector.register(caller.connection, selectors.EVENT_READ, caller)
            self._next(caller)

    def _give_up_late_ones(self) -> None:
        now = time.monotonic()
        for caller in self._callers:
            late = caller.since is not None and now - caller.since > self._within
            if late and not caller.given_up and caller.sending.acquire(blocking=False):
                try:
                    caller.given_up = True
                    self._refuse(caller, say("This took too long.", "耗时过长。"))
                    with suppress(OSError):
                        caller.connection.shutdown(socket.SHUT_RDWR)
                finally:
                    caller.sending.release()

    def _part(self, caller: Caller) -> None:
        with suppress(KeyError, ValueError):
            self._selector.unregister(caller.connection)
        caller.connection.close()
        self._callers.discard(caller)

    def _close(self) -> None:
        """Nobody new; whoever waits gets the answer first."""
        self._listener.close()
        self._pool.shutdown(wait=True)
        for caller in list(self._callers):
            caller.connection.close()
        self._callers.clear()
        self._selector.close()
        self._wake.close()
        self._woken.close()
