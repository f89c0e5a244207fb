"""The daemon's side towards HTTP: MCP for clients that reach memory by an address, where the user wants that."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from nacre.daemon.desk import Desk, NotHere
from nacre.errors import BadSetting, Locked
from nacre.words import say

if TYPE_CHECKING:
    from nacre.mcp.http import Listener
    from nacre.memory import Memory


class Http:
    """One listener for one scope, fixed when the daemon is started. Where it cannot be, the daemon goes on without."""

    def __init__(
        self, memory: Memory, desk: Desk, log: logging.Logger, may_answer: Callable[[], bool], *, port: int, scope: str
    ) -> None:
        from nacre.mcp.http import Listener
        from nacre.mcp.server import Face
        from nacre.mcp.token import watched
        from nacre.tools import prompts, resources

        self._desk = desk
        self._scope = scope
        self._may_answer = may_answer
        self.asked = 0
        self.last_asked = time.monotonic()
        desk.check(scope)
        face = Face(
            self._call,
            lambda uri: resources.read(self._listening(), uri),
            lambda name: prompts.give(self._listening(), name),
            group=scope != "main",
        )
        word = watched(memory.workspace.root, scope)
        self.listener: Listener = Listener(memory.config.serve.host, port, face, word, log)
        self.log = log

    def start(self) -> None:
        if not self.listener.gate.is_local:
            self.log.warning("http beyond this machine")
        self.listener.start()

    def stop(self) -> None:
        self.listener.stop()

    def status(self) -> dict[str, Any]:
        told = self.listener
        return {
            "url": told.url,
            "scope": self._scope,
            "local": told.gate.is_local,
            "questions": self.asked,
            "trouble": told.trouble,
        }

    def _call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        self._count()
        try:
            answer = self._desk.answer(self._scope, "tool", {"name": name, "arguments": arguments})
        except NotHere as trouble:
            raise _not_now() from trouble
        result: dict[str, Any] = answer["result"]
        return result

    def _listening(self) -> Memory:
        self._count()
        return self._desk.memory_of(self._scope)

    def _count(self) -> None:
        self.asked += 1
        self.last_asked = time.monotonic()
        if not self._may_answer():
            raise _not_now()


def _not_now() -> Locked:
    return Locked(
        say("Nacre starts anew with other settings; ask again in a moment.", "Nacre 正在按新设置重新启动；请稍后再试。")
    )


def opened(make: Callable[[], Http], log: logging.Logger, *, must: bool) -> tuple[Http | None, str | None]:
    """The HTTP side, or why there is none. Who asked for it on the command line is told by an error."""
    try:
        return make(), None
    except BadSetting as trouble:
        if must:
            raise
        log.warning("no http: %s", type(trouble.__cause__).__name__)
        return None, str(trouble)
