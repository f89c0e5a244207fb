"""nacre mcp: memory for any MCP client, over stdin and stdout."""

from __future__ import annotations

import copy
import threading
from typing import TYPE_CHECKING, Any

import click

from nacre.cli.base import Command, Invocation, open_memory

if TYPE_CHECKING:
    from nacre.mcp.server import Face
    from nacre.memory import Memory


@click.command(cls=Command, epilog="Example:  nacre mcp --workspace ~/.nacre/workspace")
@click.pass_obj
def mcp(invocation: Invocation) -> None:
    """Serve memory to an MCP client over stdin and stdout: six tools, resources and prompts.

    Who listens is fixed here: with --scope group:NAME only what is that group's own or public exists, and nothing is written. Asks the
    daemon where one runs, and does the work itself where none does.
    """
    memory = open_memory(invocation, for_groups=True)
    from nacre.mcp.stdio import serve

    serve(_face(memory))


def _face(memory: Memory) -> Face:
    from nacre.daemon.requests import current_folder
    from nacre.mcp.server import Face

    place = current_folder()

    def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        from nacre.daemon.requests import call_tool_by_daemon
        from nacre.mcp.calls import call

        answered = call_tool_by_daemon(memory, name, arguments, place)
        # A copy for each call: trouble that is noted in one must not be told in the next.
        return answered if answered is not None else call(copy.copy(memory), name, arguments, here=place)

    group = memory.scope.group is not None
    return Face(lambda: copy.copy(memory), group=group, call=call, begun=_Warmth(memory).begin)


class _Warmth:
    """Loads what the first search waits for, once the client has its first answer; nothing where a daemon has it loaded."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._begun = False

    def begin(self) -> None:
        if not self._begun:
            self._begun = True
            threading.Thread(target=self._load, name="warm", daemon=True).start()

    def _load(self) -> None:
        import contextlib

        from nacre.daemon.requests import call_tool_by_daemon
        from nacre.errors import NacreError

        with contextlib.suppress(NacreError, OSError):  # whoever searches first is told
            if call_tool_by_daemon(self._memory, "memory_status", {}, None) is None:
                copy.copy(self._memory).ask("warm", 1)
