"""The socket's side of the daemon: a thread for each connection, a few that answer, and nobody's mistake ends it."""

from __future__ import annotations

import logging
import select
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from nacre.daemon import fast
from nacre.daemon.client import BadMessage, CannotAnswer, pack, unpack
from nacre.errors import CannotRead, NacreError, error_place

_ANSWERING = 4  # threads; each holds the index open for itself
_MOST_CONNECTIONS = 200
_END_WITHIN = 10.0  # seconds for an answer to be read by who asked for it, when the daemon ends
_TICK = 1.0


@dataclass
class Caller:
    """Who asks. The scope is fixed by the first message of a connection and by nothing after it."""

    scope: str = ""
    skew: str | None = None  # why our answers would not be the caller's own


class Server:
    """Listens until it is told to stop; what was asked by then is answered first. `answer` takes a caller, the kind of a message and
    its fields, `carry_out` a command; both return what is sent back."""

    def __init__(
        self,
        listener: socket.socket,
        answer: Callable[[Caller, str, dict[str, Any]], dict[str, Any]],
        carry_out: Callable[[bytes], bytes],
        log: logging.Logger,
    ) -> None:
        self._listener = listener
        self._answer = answer
        self._carry_out = carry_out
        self._log = log
        self._pool = ThreadPoolExecutor(_ANSWERING, thread_name_prefix="answer")
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
            self._listener.shutdown(socket.SHUT_RD)  # wakes who listens

    def serve(self, tick: Callable[[], None]) -> None:
        """Listen; `tick` is called about once a second."""
        ticked = 0.0
        while not self.is_stopping:
            if select.select([self._listener], [], [], _TICK)[0] and not self.is_stopping:
                try:
                    self._accept()
                except OSError as error:  # no descriptors: whoever waits would wake us again and again
                    self._log.warning("cannot accept: %s", error.strerror)
                    time.sleep(_TICK)
            if time.monotonic() - ticked >= _TICK:
                ticked = time.monotonic()
                tick()
        self._listener.close()
        for connection, thread in list(self.connections.items()):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RD)  # what was sent before is still read
            thread.join(_END_WITHIN)
        self._pool.shutdown()

    def _accept(self) -> None:
        connection, _ = self._listener.accept()
        if len(self.connections) >= _MOST_CONNECTIONS or not fast.is_ours(connection):
            connection.close()
        else:
            thread = threading.Thread(target=self._converse, args=(connection,), name="caller", daemon=True)
            self.connections[connection] = thread
            thread.start()

    def _converse(self, connection: socket.socket) -> None:
        """Answer one question after the other until the caller leaves, or sends what cannot be a message."""
        caller = Caller()
        with suppress(OSError), connection, connection.makefile("rb") as stream:
            while len(header := stream.read(fast.HEADER)) == fast.HEADER:
                size = int.from_bytes(header, "big")
                if size > fast.LARGEST_REQUEST:
                    break
                self.last_asked = time.monotonic()
                self.busy.add(connection)
                data = self._pool.submit(self._reply, caller, stream.read(size)).result()
                connection.sendall(len(data).to_bytes(fast.HEADER, "big") + data)
                self.busy.discard(connection)
        self.busy.discard(connection)
        self.connections.pop(connection, None)

    def _reply(self, caller: Caller, body: bytes) -> bytes:
        began = time.monotonic()
        kind, data, error = "?", b"", None
        try:
            if body.startswith(fast.COMMAND):
                kind, data = "command", self._carry_out(body)
            else:
                message = unpack(body)
                asked = str(message.pop("kind", ""))[:40]
                kind = asked if asked.isidentifier() else "?"
                if (asked == "hello") == bool(caller.scope):
                    raise BadMessage("a connection begins with one hello")
                data = pack(self._answer(caller, asked, message))
        except (CannotAnswer, CannotRead) as refusal:  # the caller's own process may have what this one lacks
            data = pack({"skew": str(refusal)})
        except (BadMessage, NacreError) as refusal:
            error = {"error": str(refusal), "name": type(refusal).__name__}
        except Exception as bug:  # noqa: BLE001 - a bug in one answer must not take the others with it
            self._log.error("%s failed: %s", kind, error_place(bug))
            error = {"error": type(bug).__name__, "name": "?"}
        self.asked += 1
        self.failed += error is not None
        self._log.info("%s %.1f ms%s", kind, (time.monotonic() - began) * 1000, " error" if error else "")
        return pack(error) if error else data
