"""MCP over stdin and stdout: nothing but the protocol goes out there, and the end of the input is the end."""

from __future__ import annotations

import logging
import os
import signal
import sys
from typing import Any

from nacre.mcp.server import Face, made

_FINISH_WITHIN = 5.0  # seconds for what is being worked on when the client goes


def serve(face: Face) -> None:
    """Serve one client until its end of input, or until a signal."""
    import gc

    import anyio

    from nacre.mcp.loading import load

    load()
    # Threads of our own write nowhere else: the SDK turns stray output away from the wire, and logging goes to stderr.
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="nacre mcp: %(levelname)s %(message)s")
    gc.freeze()  # what was loaded stays; looking through it for rubbish again and again would only cost
    anyio.run(_serve, face)
    face.busy.wait(_FINISH_WITHIN)


async def _serve(face: Face) -> None:
    import anyio
    from mcp.server.stdio import stdio_server

    server = made(face)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_heed_signals, face)
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())
        tasks.cancel_scope.cancel()


async def _heed_signals(face: Face) -> None:
    """A thread that waits for the next line of input cannot be called back, so the process ends here, its work whole."""
    import anyio

    signals: list[Any] = [signal.SIGTERM, signal.SIGINT]
    try:
        with anyio.open_signal_receiver(*signals) as told:
            async for _ in told:
                face.busy.wait(_FINISH_WITHIN)
                os._exit(0)
    except NotImplementedError:  # Windows: there the client ends us
        await anyio.sleep_forever()
