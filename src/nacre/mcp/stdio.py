"""MCP over stdin and stdout: one message a line. Lists are answered at once, work is done in threads beside."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, NoReturn

from nacre.mcp.server import NOT_JSON, WORKING, Server, dump, failure, parse

_AT_ONCE = 4  # calls that are worked on; the others wait
_FINISH_WITHIN = 5.0  # seconds for what is being worked on when the client goes
_LISTENING = (
    "notifications/initialized",
    "tools/list",
)  # the first of these comes when the client has its first answer


def _stop(_number: int, _frame: object) -> NoReturn:
    raise SystemExit


def serve(server: Server, warm: Callable[[], None]) -> NoReturn:
    """Serve one client until its end of input, or until a signal. `warm` loads what the first search waits for."""
    # Nobody else reads the client's words or writes among ours: a child finds its input at the end, stray output goes to stderr.
    lines, output = os.fdopen(os.dup(0), "rb"), os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="nacre mcp: %(levelname)s %(message)s")
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _stop)
    pool = ThreadPoolExecutor(_AT_ONCE)
    writing, turn = threading.Lock(), threading.Lock()  # of the output, and of the two below
    working: dict[Any, Future[None]] = {}  # by the id of the request
    cancelled: set[Any] = set()
    is_warm = False

    def send(message: Any) -> None:
        answer = server.answer(message)
        with turn:
            if answer is None or answer["id"] in cancelled:
                return
        put(answer)

    def put(answer: dict[str, Any]) -> None:
        data = dump(answer) + b"\n"
        with writing, contextlib.suppress(BrokenPipeError):
            while data:
                data = data[os.write(output, data) :]

    def work(message: dict[str, Any]) -> None:
        try:
            send(message)
        finally:
            with turn:
                working.pop(message["id"], None)
                cancelled.discard(message["id"])

    with contextlib.suppress(SystemExit):
        for line in lines:
            try:
                message = parse(line)
            except ValueError:
                put(failure(None, NOT_JSON, "Parse error"))
                continue
            method = message.get("method") if isinstance(message, dict) else None
            if method == "notifications/cancelled":
                params = message.get("params")
                request = params.get("requestId") if isinstance(params, dict) else None
                with turn:
                    cancelled.update(other for other in working if other == request)
            elif method in WORKING and isinstance(message.get("id"), str | int):
                with turn:  # or work that ends at once would be noted after its end
                    working[message["id"]] = pool.submit(work, message)
            else:
                send(message)
            if method in _LISTENING and not is_warm:
                is_warm = True
                threading.Thread(target=warm, name="warm", daemon=True).start()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    wait(list(working.values()), _FINISH_WITHIN)
    os._exit(0)  # whatever still searches would only keep the process from its end
