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
from nacre.i18n import say

_ANSWERING = 4  # threads; each holds the index open for itself
_MOST_CONNECTIONS = 200
_ANSWER_WITHIN = 30.0  # seconds until a question is given up
_SEND_WITHIN = 10.0
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
            thread.join()
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
        """Answer one question after the other until the caller leaves."""
        caller = Caller()
        with suppress(OSError), connection, connection.makefile("rb") as stream:
            while len(header := stream.read(fast.HEADER)) == fast.HEADER:
                size = int.from_bytes(header, "big")
                failed = f"{size} bytes are too many" if size > fast.LARGEST_REQUEST else None
                if not failed:
                    self.last_asked = time.monotonic()
                    self.busy.add(connection)
                    try:
                        data = self._pool.submit(self._reply, caller, stream.read(size)).result(_ANSWER_WITHIN)
                    except TimeoutError:
                        failed = say("This took too long.", "耗时过长。")
                if failed:
                    data = pack({"error": failed, "name": "BadMessage"})
                elif len(data) > fast.LARGEST_ANSWER:
                    data = pack({"skew": "the answer is too long"})
                connection.settimeout(_SEND_WITHIN)
                connection.sendall(len(data).to_bytes(fast.HEADER, "big") + data)
                connection.settimeout(None)
                self.busy.discard(connection)
                if failed:  # what follows cannot be told apart any more
                    break
        self.busy.discard(connection)
        self.connections.pop(connection, None)

    def _reply(self, caller: Caller, body: bytes) -> bytes:
        began = time.monotonic()
        kind, answer = "?", {}
        data = b""
        try:
            if body.startswith(fast.COMMAND):
                kind, data = "command", self._carry_out(body)
            else:
                message = unpack(body)
                kind = str(message.pop("kind", ""))[:40]
                if (kind == "hello") == bool(caller.scope):
                    raise BadMessage("a connection begins with one hello")
                answer = self._answer(caller, kind, message)
        except BadMessage as error:
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
        return data or pack(answer)
