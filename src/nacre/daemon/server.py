"""The socket's side of the daemon: a thread for each connection, a few that answer, and nobody's mistake ends it."""

from __future__ import annotations

import logging
import os
import select
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from nacre.daemon import client
from nacre.errors import CannotRead, NacreError, error_place
from nacre.i18n import say

_ANSWERING = 4  # threads; each holds the index open for itself
_MOST_CONNECTIONS = 200
_ANSWER_WITHIN = 30.0  # seconds until a question is given up
_SEND_WITHIN = 10.0
_TICK = 1.0


class CannotAnswer(Exception):
    """A question that the client can answer itself, and the daemon cannot."""


@dataclass
class Caller:
    """Who asks. The scope is fixed by the first message of a connection and by nothing after it."""

    scope: str = ""
    skew: str | None = None  # why our answers would not be the caller's own


class Server:
    """Listens until it is told to stop; what was asked by then is answered first. `greet` takes a caller and its hello,
    `answer` a caller, the kind of a question and its fields; both return what is sent back."""

    def __init__(
        self,
        listener: socket.socket,
        greet: Callable[[Caller, dict[str, Any]], dict[str, Any]],
        answer: Callable[[Caller, str, dict[str, Any]], dict[str, Any]],
        log: logging.Logger,
    ) -> None:
        self._listener = listener
        self._greet = greet
        self._answer = answer
        self._log = log
        self._pool = ThreadPoolExecutor(_ANSWERING, thread_name_prefix="answer")
        self._woken, self._wake = os.pipe()
        self.connections: dict[socket.socket, threading.Thread] = {}
        self.busy: set[socket.socket] = set()  # those whose question is being answered
        self.is_stopping = False
        self.asked = 0
        self.failed = 0
        self.last_asked = time.monotonic()

    def stop(self) -> None:
        """May be called from anywhere, also by a signal."""
        self.is_stopping = True
        with suppress(OSError):
            os.write(self._wake, b"\0")

    def serve(self, tick: Callable[[], None]) -> None:
        """Listen; `tick` is called about once a second."""
        ticked = 0.0
        accepts = True
        while not self.is_stopping:
            waiting = [self._woken, self._listener.fileno()] if accepts else [self._woken]
            if self._listener.fileno() in select.select(waiting, [], [], _TICK)[0]:
                try:
                    self._accept()
                except (
                    OSError
                ) as error:  # no descriptors: whoever waits would wake us again and again before the next tick
                    self._log.warning("cannot accept: %s", error.strerror)
                    accepts = False
            if time.monotonic() - ticked >= _TICK:
                ticked, accepts = time.monotonic(), True
                tick()
        self._listener.close()
        for connection, thread in list(self.connections.items()):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RD)  # what was sent before is still read
            thread.join()
        self._pool.shutdown()
        os.close(self._woken)
        os.close(self._wake)

    def _accept(self) -> None:
        connection, _ = self._listener.accept()
        if len(self.connections) >= _MOST_CONNECTIONS or not client.is_ours(connection):
            connection.close()
        else:
            thread = threading.Thread(target=self._converse, args=(connection,), name="caller", daemon=True)
            self.connections[connection] = thread
            thread.start()

    def _converse(self, connection: socket.socket) -> None:
        """Answer one question after the other until the caller leaves."""
        caller = Caller()
        with suppress(OSError), connection, connection.makefile("rb") as stream:
            while len(header := stream.read(client.HEADER)) == client.HEADER:
                failed = None
                try:
                    body = stream.read(client.body_length(header, client.LARGEST_REQUEST))
                    self.last_asked = time.monotonic()
                    self.busy.add(connection)
                    answer = self._pool.submit(self._reply, caller, body).result(_ANSWER_WITHIN)
                except client.BadMessage as error:  # what follows cannot be told apart any more
                    failed = str(error)
                except TimeoutError:
                    failed = say("This took too long.", "耗时过长。")
                data = client.pack({"error": failed, "name": "BadMessage"} if failed else answer)
                if len(data) > client.LARGEST_ANSWER + client.HEADER:
                    data = client.pack({"skew": "the answer is too long"})
                connection.settimeout(_SEND_WITHIN)
                connection.sendall(data)
                connection.settimeout(None)
                self.busy.discard(connection)
                if failed:
                    break
        self.busy.discard(connection)
        self.connections.pop(connection, None)

    def _reply(self, caller: Caller, body: bytes) -> dict[str, Any]:
        began = time.monotonic()
        kind = "?"
        try:
            message = client.unpack(body)
            kind = str(message.pop("kind", ""))[:40]
            if (kind == "hello") == bool(caller.scope):
                raise client.BadMessage("a connection begins with one hello")
            answer = self._greet(caller, message) if kind == "hello" else self._answer(caller, kind, message)
        except client.BadMessage as error:
            answer = {"error": str(error), "name": "BadMessage"}
        except (CannotAnswer, CannotRead) as error:  # the caller's own process may have what this one lacks
            answer = {"skew": str(error)}
        except NacreError as error:
            self.failed += 1
            answer = {"error": str(error), "name": type(error).__name__, "code": error.exit_code}
        except Exception as error:  # noqa: BLE001 - a bug in one answer must not take the others with it
            self.failed += 1
            self._log.error("%s failed: %s", kind if kind.isidentifier() else "?", error_place(error))
            answer = {"error": type(error).__name__, "name": "?"}
        self.asked += 1
        took = (time.monotonic() - began) * 1000
        self._log.info("%s %.1f ms%s", kind if kind.isidentifier() else "?", took, " error" * ("error" in answer))
        return answer
